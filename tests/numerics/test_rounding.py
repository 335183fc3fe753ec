"""The variance of rounding."""

import numpy as np
import pytest

from skbayesnn.numerics.rounding import rounding_variance


def test_it_is_that_of_what_rounding_adds(rng):
    y = rng.normal(size=200_000)
    rounded = np.round(y, 1)
    # Four standard errors of a variance of uniform errors: 0.9 of it over the root of the rows.
    error = 4 * 0.9 / np.sqrt(len(y))
    assert np.var(rounded - y) == pytest.approx(rounding_variance(rounded), rel=error)


def test_targets_that_differ_are_not_rounded(rng):
    assert rounding_variance(rng.normal(size=100)) == 0
    assert rounding_variance(np.repeat(1.0, 100)) == 0

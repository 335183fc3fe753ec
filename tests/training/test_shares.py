"""The posterior mean of a share, beside numerical integration and closed forms."""

import numpy as np
import pytest
from scipy.stats import beta

from skbayesnn.training.shares import posterior_share


@pytest.mark.parametrize(("mean", "rows"), [(0.5, 2.0), (0.25, 4.0)])
def test_it_is_the_integral_over_the_prior(mean, rows):
    own, others, counts = np.array([0.3, -1.0, 0.2]), np.array([0.0, -0.2, -1.0]), [2.0, 1.0, 3.0]
    share = (np.arange(100_000) + 0.5) / 100_000
    each = share[:, None] * np.exp(own) + (1 - share[:, None]) * np.exp(others)
    density = np.prod(each**counts, axis=1) * beta.pdf(share, rows * mean, rows * (1 - mean))
    expected = np.sum(share * density) / np.sum(density)
    assert posterior_share(own, others, counts, mean, rows) == pytest.approx(expected, abs=1e-4)


def test_six_rows_for_one_prediction_are_a_beta_distribution():
    """However large the differences are: Beta(1, 7)."""
    counts, even = np.array([2.0, 1.0, 3.0]), np.zeros(3)
    assert posterior_share(even - 1e25, even, counts) == pytest.approx(1 / 8, abs=1e-3)
    assert posterior_share(even, even - 1e25, counts) == pytest.approx(7 / 8, abs=1e-3)

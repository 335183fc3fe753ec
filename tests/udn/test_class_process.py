"""The Gaussian process of classes: its evidence, and where the search for its settings starts."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from skbayesnn.udn import class_process
from skbayesnn.udn.class_process import (
    ClassProcess,
    indicator_lengths,
    label_evidence,
    label_settings,
)


@pytest.fixture
def rows(rng):
    X = rng.uniform(-2, 2, size=(150, 2))
    return X, (np.sin(2 * X[:, 0]) > 0).astype(int)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_gradient_in_the_settings(rng, n_classes):
    X, codes = rng.normal(size=(30, 2)), rng.integers(0, n_classes, 30)
    settings, weights = np.array([0.2, -0.3, 1.0]), rng.integers(1, 3, 30).astype(float)

    def value(settings):
        return label_evidence(settings, X, codes, weights, n_classes)[0]

    found = label_evidence(settings, X, codes, weights, n_classes)[1]
    # The evidence is known to 1e-6, as the mode to 1e-5, so that a step of 1e-3 errs by 1e-3.
    expected = 0.5 * (approx_fprime(settings, value, 1e-3) + approx_fprime(settings, value, -1e-3))
    np.testing.assert_allclose(found, expected, atol=5e-3, rtol=1e-3)


def test_inputs_that_matter_have_short_scales(rows):
    X, codes = rows
    settings = label_settings([np.zeros(2)], X, codes, np.ones(150), 2)
    assert settings[0] < settings[1] - 1.0
    assert settings[2] > 2.0  # labels without noise ask for large functions


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_inputs_of_which_two_matter(n_classes):
    """The search from all inputs ends 20 to 90 nats lower, whatever the seed."""
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(150, 60)), np.ones(150)
    f = np.cos(2 * X[:, 0]) + np.sin(X[:, 0]) * np.cos(2 * X[:, 1])
    codes = np.searchsorted([0.0] if n_classes == 2 else [-0.5, 0.5], f)
    starts = indicator_lengths(X, codes, weights, rng)
    data = X, codes, weights, n_classes
    found = label_settings(starts, *data)
    assert set(np.argsort(found[:-1])[:2]) == {0, 1}
    other = label_settings(starts[:1], *data)
    assert label_evidence(found, *data)[0] > label_evidence(other, *data)[0] + 10.0


def test_blocks_of_rows_change_nothing(rows, monkeypatch):
    X, codes = rows
    process = ClassProcess(np.array([0.0, 1.0, 2.0]), X, codes, np.ones(150), 2)
    whole = process.probabilities(X)
    monkeypatch.setattr(class_process, "ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(process.probabilities(X), whole, rtol=1e-9)

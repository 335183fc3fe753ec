"""Weights that say which rows matter more, such as those of a survey: only their ratios count."""

import numpy as np
import pytest

from skbayesnn import (
    DeepWishartClassifier,
    DeepWishartRegressor,
    SIPRegressor,
    StableNNRegressor,
    UDNClassifier,
    UDNRegressor,
)
from skbayesnn.pooling.forest import ForestDistributionRegressor

REGRESSORS = {
    "stable": StableNNRegressor(
        n_chains=1, n_warmup=20, n_posterior_draws=20, cells="additive", random_state=0
    ),
    "udn": UDNRegressor(max_iter=5, random_state=0),
    "sip": SIPRegressor(max_iter=5, n_draws=20, n_networks=2, random_state=0),
    "dwp": DeepWishartRegressor(max_iter=5, n_posterior_draws=10, random_state=0),
    "forest": ForestDistributionRegressor(10, random_state=0),
}
CLASSIFIERS = {
    "udn": UDNClassifier(max_iter=5, random_state=0),
    "dwp": DeepWishartClassifier(max_iter=5, n_posterior_draws=10, random_state=0),
}


def table(n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_of_a_constant_weight_are_rows(name):
    """Above ten, too, where repeats would be taken for cells of a table."""
    X, y = table()
    model = REGRESSORS[name]
    # By 16, so that rounding is the same.
    one, many = (
        model.fit(X, y, weights).predict(X + 0.1) for weights in (None, np.full(120, 16.0))
    )
    np.testing.assert_allclose(many, one, rtol=1e-12)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_of_a_constant_weight_are_labels(name):
    X, y = table()
    model = CLASSIFIERS[name]
    one, many = (
        model.fit(X, y > 0, weights).predict_proba(X) for weights in (None, np.full(120, 16.0))
    )
    np.testing.assert_allclose(many, one, rtol=1e-12)


@pytest.mark.parametrize("name", REGRESSORS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_weight_too_small_for_a_digit_is_none(name):
    X, y = table(60)
    model, weights = REGRESSORS[name], np.repeat([1e-320, 1.0], 30)
    found = model.fit(X, y, weights).predict(X)
    np.testing.assert_array_equal(found, model.fit(X[30:], y[30:]).predict(X))
    with pytest.raises(ValueError, match="sample_weight is up to"):
        model.fit(X, y, np.full(60, 1e300))

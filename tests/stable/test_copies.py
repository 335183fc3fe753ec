"""Copies of rows do not deny the noise, and weights are numbers of rows."""

import numpy as np
import pytest

from skbayesnn import StableNNRegressor, StableNNRegressorCV
from skbayesnn.numerics.copies import find_copies

QUICK = {"n_warmup": 100, "n_posterior_draws": 200, "n_chains": 2, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def noisy(n, n_features):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, n_features))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("options", [{}, {"cells": "additive"}])
def test_a_table_three_times_is_the_table(options):
    X, y = noisy(60, 1)
    model = StableNNRegressor(**QUICK, **options)
    one = model.fit(X, y).predict_quantiles(X)
    three = model.fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    np.testing.assert_allclose(three.predict_quantiles(X), one, rtol=1e-6, atol=1e-6)
    assert three.noise_variance_ > 0.03
    weighted = model.fit(X, y, sample_weight=np.full(60, 3.0))
    np.testing.assert_allclose(weighted.predict_quantiles(X), one, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("n_features", [1, 3])
def test_weights_are_repeated_rows_to_the_last_bit(n_features):
    X, y = noisy(40, n_features)
    counts = np.random.default_rng(1).integers(0, 4, 40)
    model = StableNNRegressor(**QUICK)
    repeated = model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).predict_quantiles(X)
    weighted = model.fit(X, y, sample_weight=counts).predict_quantiles(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=1e-9)


def test_ratios_stay_and_few_rows_stay_few():
    X, y = noisy(10, 2)
    weights = np.array([3.0, 1, 1, 1, 1, 1, 1, 1, 1, 4])
    found = find_copies(X, y, weights).weights
    assert 8 < found.sum() < 10
    np.testing.assert_allclose(found / found[1], weights)
    np.testing.assert_array_equal(find_copies(X, y, 0.1 * weights).weights, 0.1 * weights)


def test_counts_may_agree_by_chance():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (60, 2)).astype(float), rng.poisson(2.0, 60).astype(float)
    np.testing.assert_array_equal(find_copies(X, y, np.ones(60)).weights, np.ones(60))


def test_folds_of_cross_validation_have_no_copies_either():
    X, y = noisy(20, 1)
    X, y = np.tile(X, (2, 1)), np.tile(y, 2)
    model = StableNNRegressorCV((1.1,), (1.0,), cv=2, **QUICK).fit(X, y)
    alone = StableNNRegressor(1.1, 1.0, **QUICK).fit(X[:20], y[:20])
    np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-6)

"""Weights that say which rows matter more, such as those of a survey: only their ratios count."""

import numpy as np
import pytest
from quick import CLASSIFIERS, REGRESSORS, name
from sklearn.base import is_classifier

from skbayesnn import DeepWishartRegressor, StackingDistributionRegressor
from skbayesnn.pooling.forest import ForestDistributionRegressor

# What weights mean to a stack depends on its members.
MODELS = [m for m in REGRESSORS if not isinstance(m, StackingDistributionRegressor)]
MODELS += [*CLASSIFIERS, ForestDistributionRegressor(10, random_state=0)]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fitted(model, rows, weights):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=120)
    y = y > 0 if is_classifier(model) else y
    model.fit(X[rows], y[rows], weights)
    return (model.predict_proba if is_classifier(model) else model.predict)(X + 0.1)


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_rows_of_a_constant_weight_are_rows(model):
    """Above ten, too, where repeats would be taken for cells of a table."""
    whole = slice(None)
    many = fitted(model, whole, np.full(120, 16.0))  # a power of two: rounding is the same
    np.testing.assert_allclose(many, fitted(model, whole, None), rtol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_a_weight_too_small_for_a_digit_is_none(model):
    found = fitted(model, slice(None), np.repeat([1e-320, 1.0], 60))
    np.testing.assert_array_equal(found, fitted(model, slice(60, None), None))
    with pytest.raises(ValueError, match="sample_weight is up to"):
        fitted(model, slice(None), np.full(120, 1e300))


def test_uneven_weights_do_not_deny_the_noise():
    """With mean one, too. If they are numbers of rows, this fit finds next to no noise."""
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(2, 250, 2))
    wave, spread = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1], np.exp(1.5 * rng.normal(size=250))
    y = wave + 0.5 * rng.normal(size=250)
    with pytest.warns(UserWarning, match="fewer than half of the rows would count"):
        model = DeepWishartRegressor(random_state=0).fit(X, y, spread / spread.mean())
    assert 0.1 < model.noise_variance_ < 0.5
    truth = np.sin(2 * new[:, 0]) + 0.5 * new[:, 1] + 0.5 * rng.normal(size=250)
    low, high = model.predict_quantiles(new, [0.05, 0.95]).T
    assert 0.84 < np.mean((low < truth) & (truth < high)) < 0.97


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
def test_a_table_of_counts_is_its_rows(model):
    rng = np.random.default_rng(0)
    cells = np.repeat(np.array([[i, j] for i in range(2) for j in range(4)], float), 2, axis=0)
    labels, counts = np.arange(16) % 2, rng.integers(1, 12, 16)
    found = model.fit(cells, labels, sample_weight=counts).predict_proba(cells)
    whole = model.fit(np.repeat(cells, counts, axis=0), np.repeat(labels, counts))
    np.testing.assert_array_equal(found, whole.predict_proba(cells))

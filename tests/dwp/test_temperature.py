"""How certain class probabilities are: the temperature against a grid, and what it mends."""

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import norm
from sklearn.metrics import log_loss

from skbayesnn import DeepWishartClassifier
from skbayesnn.dwp.temperature import (
    STANDARD_ERROR,
    STD,
    best_temperature,
    left_out_log_probabilities,
)


def quick(**options):
    defaults = {"max_iter": 30, "n_inducing": 15, "n_posterior_draws": 10, "random_state": 0}
    return DeepWishartClassifier(**{**defaults, **options})


def table(n, seed, n_classes=3, noise=0.0):
    """Classes in strips along one of two inputs; part of them drawn anew."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    y = np.floor(n_classes * X[:, 0]).astype(int)
    return X, np.where(rng.random(n) < noise, rng.integers(n_classes, size=n), y)


@pytest.mark.parametrize("n", [0, 7, 300])
def test_temperature_is_the_nearest_to_one_that_is_probable(n):
    rng = np.random.default_rng(n)
    log_p = log_softmax(rng.normal(size=(n, 3)), axis=1)
    codes, weights = rng.integers(3, size=n), rng.integers(1, 4, size=n)
    found = best_temperature(log_p, np.eye(3)[codes], weights)

    def log_posterior(t):
        own = log_softmax(log_p / t, axis=1)[np.arange(n), codes]
        return weights @ own + norm.logpdf(np.log(t), scale=STD)

    grid = np.exp(np.linspace(-2.0, 2.0, 401))
    values = np.array([log_posterior(t) for t in grid])
    near = grid[values > values.max() - STANDARD_ERROR]
    best = near[np.argmin(np.abs(np.log(near)))]
    assert found == pytest.approx(best, rel=0.01)  # the step of the grid
    assert n > 7 or found == 1.0  # too few to say anything


def test_probabilities_have_the_temperature():
    X, y = table(80, 0)
    model = quick().fit(X, y)
    p, t = model.predict_proba(X), model.temperature_
    model._model.temperature = 1.0
    raw = model.predict_proba(X) ** (1.0 / t)
    np.testing.assert_allclose(p, raw / raw.sum(axis=1, keepdims=True), rtol=1e-9)


def test_rows_are_left_out_once_and_copies_together():
    X, y = table(60, 0)
    model = quick().fit(X, y)
    again = np.concatenate([X, X[:20]])
    rows, log_p = left_out_log_probabilities(
        model._model,
        model._model.scales.inputs(again),
        np.eye(3)[np.append(y, y[:20])],
        np.ones(80),
    )
    np.testing.assert_array_equal(np.sort(rows), np.arange(80))
    place = np.argsort(rows)
    # A copy among the others would say what the row is.
    np.testing.assert_allclose(log_p[place[60:]], log_p[place[:20]], rtol=1e-9)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1.0)


def test_clear_classes_are_more_certain_and_noisy_ones_no_less_right():
    for noise, low, high in ((0.0, 0.3, 0.95), (0.9, 0.8, 2.0)):
        X, y = table(150, 1, noise=noise)
        new, truth = table(500, 2, noise=noise)
        model = quick().fit(X, y)
        assert low < model.temperature_ < high
        loss = log_loss(truth, model.predict_proba(new))
        model._model.temperature = 1.0
        assert loss < log_loss(truth, model.predict_proba(new)) + 0.005


def test_tables_without_a_row_to_leave_out():
    model = quick().fit([[1.0], [1.0]], ["a", "b"])
    assert model.temperature_ == 1.0
    np.testing.assert_allclose(model.predict_proba([[1.0]]).sum(), 1.0)
    assert quick().fit([[1.0], [2.0], [3.0]], ["a", "a", "a"]).predict([[5.0]]) == "a"

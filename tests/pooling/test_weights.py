"""Stacking weights against brute force, closed forms, and members whose mixture is the truth."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from skbayesnn.pooling.weights import crps_matrix, crps_weights, log_score_weights
from skbayesnn.predictive import PredictiveMixture, linear_pool


def members(n=400, seed=0):
    """Three Gaussian members, and targets from a mixture of the first two, 0.3 to 0.7."""
    rng = np.random.default_rng(seed)
    centre = rng.normal(size=(n, 1))
    laws = [
        PredictiveMixture([1.0], centre - 1.0, np.full((n, 1), 0.25)),
        PredictiveMixture([1.0], centre + 1.0, np.full((n, 1), 0.25)),
        PredictiveMixture([0.5, 0.5], np.hstack([centre, centre + 3.0]), np.full((n, 2), 4.0)),
    ]
    first = rng.uniform(size=n) < 0.3
    y = np.where(first, laws[0].means[:, 0], laws[1].means[:, 0]) + 0.5 * rng.normal(size=n)
    return laws, y


def simplex(steps=40):
    """All weights of three members on a grid."""
    a, b = np.meshgrid(np.arange(steps + 1), np.arange(steps + 1))
    grid = np.stack([a, b, steps - a - b], axis=-1).reshape(-1, 3) / steps
    return grid[grid[:, 2] >= 0]


def test_log_score_weights_are_within_the_tolerance_of_the_best():
    laws, y = members()
    log_densities = np.stack([law.logpdf(y) for law in laws])

    def objective(w):
        return np.log(np.exp(log_densities.T) @ w).mean()

    weights = log_score_weights(log_densities)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert objective(weights) >= max(map(objective, simplex())) - 1e-6
    solved = minimize(
        lambda w: -objective(w), np.full(3, 1 / 3), bounds=[(1e-9, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
    ).x  # fmt: skip
    np.testing.assert_allclose(weights, solved, atol=2e-3)


def test_the_weights_of_a_true_mixture_are_found():
    # The maximum likelihood estimate of a share of 0.3 from 20,000 rows: four standard errors,
    # of √(0.3 · 0.7/n) for components that hardly overlap.
    laws, y = members(20_000)
    weights = log_score_weights(np.stack([law.logpdf(y) for law in laws]))
    np.testing.assert_allclose(weights, [0.3, 0.7, 0.0], atol=4 * np.sqrt(0.21 / 20_000))


def test_a_weight_is_so_many_rows():
    laws, y = members(60)
    log_densities = np.stack([law.logpdf(y) for law in laws])
    counts = np.arange(60) % 3
    again = np.repeat(np.arange(60), counts)
    np.testing.assert_allclose(
        log_score_weights(log_densities, counts), log_score_weights(log_densities[:, again])
    )
    np.testing.assert_allclose(
        crps_matrix(laws, y, counts), crps_matrix([law[again] for law in laws], y[again])
    )


def test_the_crps_matrix_gives_the_crps_of_every_pool():
    laws, y = members(100)
    matrix = crps_matrix(laws, y)
    for weights in ([1.0, 0.0, 0.0], [0.2, 0.5, 0.3], [0.0, 0.1, 0.9]):
        exact = linear_pool(laws, weights).crps(y).mean()
        # The error that the docstring tells.
        assert np.array(weights) @ matrix @ weights == pytest.approx(exact, rel=2e-3)


def test_crps_weights_are_the_best_of_all():
    laws, y = members()
    matrix = crps_matrix(laws, y)
    weights = crps_weights(matrix)
    best = min(w @ matrix @ w for w in simplex())
    assert weights @ matrix @ weights <= best * (1 + 1e-6)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(weights >= 0)


def test_members_that_do_not_differ_share_alike():
    same = np.log(np.full((4, 10), 0.2))
    np.testing.assert_allclose(log_score_weights(same), 0.25)


def test_what_has_not_converged_is_told(monkeypatch):
    monkeypatch.setattr("skbayesnn.pooling.weights._MAX_STEPS", 2)
    monkeypatch.setattr("skbayesnn.pooling.weights._TOLERANCE", -1.0)
    laws, y = members()
    with pytest.warns(ConvergenceWarning, match="Leave out members"):
        log_score_weights(np.stack([law.logpdf(y) for law in laws]))

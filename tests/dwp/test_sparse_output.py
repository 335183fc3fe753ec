"""The output through some of the rows: predictions, noise, and what they are worth."""

import pickle

import numpy as np
import pytest
from deep_wishart import quick, random_model
from scipy.stats import multivariate_normal

from skbayesnn.dwp.collapsed import (
    SPARSE_JITTER,
)
from skbayesnn.dwp.passes import Pass
from skbayesnn.dwp.prediction import ExactOutput
from skbayesnn.dwp.sizes import LayerSizes
from skbayesnn.dwp.sparse_output import SparseOutput, sparse_loss
from skbayesnn.gaussian_process.kernels import squared_exponential


def sparse_model(n_layers=2):
    """Two targets, nine rows, four of which stand for the others."""
    a = LayerSizes(2, 2, 5, 3, n_layers, "ab-gw")
    theta, X, Y, noise = random_model(a, n_rows=9, n_draws=3)
    return a, theta, X, Y, noise, np.array([0, 3, 4, 7])


def test_sparse_output_by_dense_algebra(monkeypatch):
    monkeypatch.setattr("skbayesnn.dwp.sparse_output.BLOCK", 4)  # several blocks of rows
    a, theta, X, Y, noise, points = sparse_model()
    new = np.random.default_rng(1).normal(size=(6, 2))
    output = SparseOutput(a, theta, noise, X, Y, np.ones(9), points)
    means, variances = output.predict(new)
    p = a.views(theta)
    run = Pass(a, p, np.vstack([X, new]), noise)
    height = np.exp(p["log_heights"][-1])
    for d in range(3):
        features = run.hidden(d).right
        gram = squared_exponential(features, features, p["log_heights"][-1])
        K, Kn, k = gram[np.ix_(points, points)], gram[points][:, :9], gram[9:][:, points]
        K = K + SPARSE_JITTER * height * np.eye(4)
        low_rank = Kn.T @ np.linalg.solve(K, Kn)
        parts = output._decompose(features[:9], p)
        for t in range(2):
            sigma2 = np.exp(p["log_noise"][t])
            B = K + Kn @ Kn.T / sigma2
            expected = k @ np.linalg.solve(B, Kn @ Y[:, t]) / sigma2
            np.testing.assert_allclose(means[d, t], expected, rtol=1e-6, atol=1e-8)
            left = np.linalg.solve(K, k.T) - np.linalg.solve(B, k.T)
            expected = height - np.einsum("ij,ji->i", k, left)
            np.testing.assert_allclose(variances[d, t], expected, rtol=1e-6)
            covariance = low_rank + sigma2 * np.eye(9)
            bound = multivariate_normal.logpdf(Y[:, t], np.zeros(9), covariance)
            bound -= (9 * height - low_rank.trace()) / (2 * sigma2)
            _, _, values, _, totals, rest = parts
            args = len(X), Y[:, t] @ Y[:, t], values, totals[:, t], rest
            np.testing.assert_allclose(-sparse_loss(p["log_noise"][t], *args), bound, rtol=1e-6)


@pytest.mark.parametrize("n_layers", [0, 2])
def test_sparse_output_through_all_rows_is_exact(n_layers, monkeypatch):
    monkeypatch.setattr("skbayesnn.dwp.sparse_output.SPARSE_JITTER", 1e-10)
    a, theta, X, Y, noise, _ = sparse_model(n_layers)
    new = np.random.default_rng(1).normal(size=(6, 2))
    sparse = SparseOutput(a, theta, noise, X, Y, np.ones(9), np.arange(9)).predict(new)
    exact = ExactOutput(a, theta, noise, X, Y, np.ones(9)).predict(new)
    # Features that nearly coincide make the most of the jitter.
    np.testing.assert_allclose(sparse, exact, rtol=1e-4, atol=1e-5)


def test_best_noise_maximises_the_bound():
    a, theta, X, Y, noise, points = sparse_model()
    Y[:, 1] *= 0.3
    output = SparseOutput(a, theta, noise, X, Y, np.ones(9), points)
    found = output.best_noise()
    parameters = a.views(theta)
    run = Pass(a, parameters, X, noise)
    parts = [output._decompose(run.hidden(d).right, parameters) for d in range(3)]
    for t in range(2):
        losses = [
            sum(
                sparse_loss(found[t] + e, 9, Y[:, t] @ Y[:, t], values, totals[:, t], rest)
                for _, _, values, _, totals, rest in parts
            )
            for e in (-0.01, 0.0, 0.01)
        ]
        assert np.argmin(losses) == 1


def test_sparse_output_knows_more_than_the_inducing_points(monkeypatch):
    monkeypatch.setattr("skbayesnn.dwp.model.SPARSE_ROWS", 60)
    rng = np.random.default_rng(0)
    X = rng.uniform(-6, 6, (200, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=200)
    new = np.linspace(-5.5, 5.5, 50)[:, None]
    truth = np.sin(3 * new[:, 0])
    fits = [
        quick(output=output, n_inducing=11, n_layers=1, max_iter=100).fit(X, y)
        for output in ("sparse", "inducing")
    ]
    errors = [np.sqrt(np.mean((fit.predict(new) - truth) ** 2)) for fit in fits]
    assert errors[0] < 0.5 * errors[1]
    assert fits[0].noise_variance_ < fits[1].noise_variance_
    before = fits[0].predict(new)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fits[0])).predict(new), before)
    fits[0].partial_fit(X[:50], y[:50])
    assert fits[0]._model.rows == ()

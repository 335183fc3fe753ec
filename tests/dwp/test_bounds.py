"""What is a bound and what is not: objectives beside the evidence of three rows by brute force."""

from functools import lru_cache

import numpy as np
import pytest

from skbayesnn.dwp import objective as ob
from skbayesnn.dwp import wishart
from skbayesnn.dwp.collapsed import collapsed_loss_and_gradient
from skbayesnn.dwp.sizes import LayerSizes, draw_noise

N_DRAWS = 20_000
POSTERIORS = [*wishart.POSTERIORS, "dgp"]


def model(posterior, n_layers=1, freedom=2, seed=0):
    """Three rows close together and one inducing point far away; the posterior is the prior."""
    a = LayerSizes(1, 1, 1, freedom, n_layers, posterior)
    theta = np.zeros(a.size())
    p = a.views(theta)
    for k in range(n_layers):
        for name, value in a.family.prior_parameters(posterior, 1, freedom).items():
            p[f"{name}_{k}"][:] = value
    p["inducing"][:] = 10.0
    p["log_noise"][:] = np.log(0.01)
    X = np.array([[-2.0], [0.0], [2.0]])
    return a, theta, X, np.array([[0.6], [0.5], [0.6]]), np.random.default_rng(seed)


@lru_cache
def evidence_of_the_hidden_layer():
    """That of the model above, whatever its posterior."""
    return log_evidence(*model("gw"))


def log_evidence(a, theta, X, y, rng):
    """The mean over draws of the prior of all rows' Gram matrices, and its standard error."""
    p, n = a.views(theta), len(X)
    features = np.broadcast_to(X * np.exp(-p["log_length_scales"]), (N_DRAWS, n, 1))
    for k in range(a.n_layers + 1):
        squares = ((features[:, :, None] - features[:, None]) ** 2).sum(axis=3)
        gram = np.exp(p["log_heights"][k] - 0.5 * squares)
        if k < a.n_layers:
            root = np.linalg.cholesky(gram / a.freedom + 1e-8 * np.eye(n))
            features = root @ rng.normal(size=(N_DRAWS, n, a.freedom))
            features = features * np.exp(-p["log_lengths"][k])
    covariance = gram + np.exp(p["log_noise"][0]) * np.eye(n)
    quadratic = (y[:, 0] * np.linalg.solve(covariance, np.tile(y, (N_DRAWS, 1, 1)))[:, :, 0]).sum(1)
    terms = -0.5 * (quadratic + np.linalg.slogdet(2 * np.pi * covariance)[1])
    weights = np.exp(terms - terms.max())
    return terms.max() + np.log(weights.mean()), weights.std() / weights.mean() / N_DRAWS**0.5


def bound(a, theta, X, y, rng, n_draws=150):
    """Mean of the bound over draws, in all, and its standard error."""
    values = [
        -len(X) * ob.loss_and_gradient(a, theta, X, y, np.ones(3), draw_noise(a, rng, 1, 3), 3)[0]
        for _ in range(n_draws)
    ]
    return np.mean(values), np.std(values) / n_draws**0.5


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_the_bound_of_pseudo_observations_is_below_the_evidence(posterior):
    """At the prior, and at parameters that come close: trained on these rows for a while."""
    a, theta, X, y, rng = model(posterior)
    p = a.views(theta)
    evidence, error = evidence_of_the_hidden_layer()
    assert error < 0.05
    p["root"][0], p["values"][0] = 0.1, 0.0
    bounds = [bound(a, theta, X, y, rng)]
    p["inducing"][:] = 0.0  # among the rows, with the pseudo-observation that they make
    p["root"][0], p["values"][0] = 10.0, 5.0
    bounds.append(bound(a, theta, X, y, rng))
    for value, spread in bounds:
        assert value < evidence + 4 * (error + spread)


def test_no_hidden_layer_leaves_no_gap():
    """The collapsed objective is then the evidence: the brute force agrees with it."""
    a, theta, X, y, rng = model("gw", n_layers=0)
    noise = draw_noise(a, rng, 1, 1)
    value = -3 * collapsed_loss_and_gradient(a, theta, X, y, np.ones(3), noise)[0]
    np.testing.assert_allclose(value, log_evidence(a, theta, X, y, rng)[0], rtol=1e-6)


@pytest.mark.parametrize("points", [None, np.array([0, 2])])
def test_the_collapsed_objective_is_no_bound(points):
    """Why nothing calls it one: rows that share their noise agree more than the prior lets them."""
    a, theta, X, y, rng = model("ab-gw")
    evidence, error = evidence_of_the_hidden_layer()
    noise = draw_noise(a, rng, 300, 1)
    loss = collapsed_loss_and_gradient(a, theta, X, y, np.ones(3), noise, points=points)[0]
    assert -3 * loss > evidence + 1.0 + 4 * error

"""Draws of settings by Hamiltonian Monte Carlo: density, sampler, and the rows that it sees."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import polygamma
from scipy.stats import multivariate_normal, norm

from skbayesnn.gaussian_process.drawn_settings import (
    Length,
    chain,
    merged,
    negative_log_posterior,
)
from skbayesnn.gaussian_process.evidence import relevance_prior
from skbayesnn.gaussian_process.kernels import squared_exponential

COUNTS = np.array([2.0, 1.0, 3.0, 1.0, 1.0, 1.0])


def rows(n=6, n_inputs=2, n_targets=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_inputs)), rng.normal(size=(n, n_targets))


def posterior_by_hand(state, X, Y):
    """Minus the log of normal densities and of the prior's, from scipy."""
    settings, log_scale, p = state[:-1], state[-1], X.shape[1]
    gram = squared_exponential(*[X * np.exp(-settings[:p])] * 2, settings[p])
    total = 1.5 * np.log(np.cosh(settings[:p] + log_scale)).sum()
    total -= norm.logpdf(log_scale, -np.log(p), 2.0)
    total -= norm.logpdf(settings[p], 0.0, 3.0) + norm.logpdf(settings[p + 1 :], -2.0, 3.0).sum()
    for y, log_noise in zip(Y.T, settings[p + 1 :], strict=True):
        covariance = gram + np.exp(log_noise) * np.eye(len(X))
        total -= multivariate_normal.logpdf(y, np.zeros(len(X)), covariance)
    return total


def test_density_and_gradient():
    X, Y = rows()
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 6))
    ones = np.ones(6)
    difference = posterior_by_hand(a, X, Y) - posterior_by_hand(b, X, Y)
    own = [negative_log_posterior(each, X, Y, ones)[0] for each in (a, b)]
    np.testing.assert_allclose(own[0] - own[1], difference, rtol=1e-7)
    numerical = approx_fprime(a, lambda t: negative_log_posterior(t, X, Y, COUNTS)[0], 1e-6)
    gradient = negative_log_posterior(a, X, Y, COUNTS)[1]
    np.testing.assert_allclose(gradient, numerical, rtol=1e-4, atol=1e-4)
    times = COUNTS.astype(int)
    copies = np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0), np.ones(times.sum())
    np.testing.assert_allclose(gradient, negative_log_posterior(a, *copies)[1], rtol=1e-7)


def test_no_density_beyond_all_reason():
    X, Y = rows()
    for i in range(6):
        state = np.zeros(6)
        state[i] = 26.0
        assert negative_log_posterior(state, X, Y, np.ones(6))[0] == np.inf


def test_chain_has_the_moments():
    """Two settings that are correlated and normal, and one with the prior's heavy tails."""
    mean, covariance = np.array([1.0, -2.0]), np.array([[1.0, 0.6], [0.6, 0.5]])
    precision = np.linalg.inv(covariance)

    def target(state):
        distance = state[:2] - mean
        value, gradient = relevance_prior(state[2:], 1.0)
        pull = precision @ distance
        return value + 0.5 * distance @ pull, np.concatenate([pull, gradient])

    states = chain(target, np.zeros(3), np.random.default_rng(0), Length(200, 6000, 1, 12))
    np.testing.assert_allclose(states.mean(axis=0), [*mean, 0.0], atol=0.1)
    np.testing.assert_allclose(np.cov(states[:, :2].T), covariance, atol=0.1)
    # Half the log of an F variable of 1.5 and 1.5 degrees of freedom.
    np.testing.assert_allclose(states[:, 2].var(), 0.5 * polygamma(1, 0.75), rtol=0.15)


def test_chain_thins():
    def target(state):
        return 0.5 * state @ state, state

    long, thin = (
        chain(target, np.zeros(2), np.random.default_rng(0), Length(5, 12, k, 4)) for k in (1, 3)
    )
    np.testing.assert_array_equal(long[2::3], thin)


@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e-9, 0.0), (1e7, 1e9)])
def test_merging_keeps_what_rows_say(scale, offset):
    """In any units: inputs need not be standardised."""
    X, Y = rows(20, 3, 2)
    X[:, 1] = 2.0
    X = scale * X + offset
    some = np.random.default_rng(1).permutation(np.repeat(np.arange(20), 2))
    x, y, weights, _ = merged(X[some], Y[some], np.full(40, 0.5))
    assert len(x) == 20
    np.testing.assert_allclose(weights, 1.0)
    order = np.argsort(X[:, 0])
    np.testing.assert_allclose(x, X[order], atol=1e-6 * scale * np.ptp(X / scale))
    np.testing.assert_allclose(y, Y[order], atol=1e-5)

"""Settings that are drawn where rows are few: density, sampler, and predictions."""

import pickle

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone

from skbayesnn import DeepWishartRegressor
from skbayesnn.dwp.few_rows import (
    LONG,
    SettingsOutput,
    chance_of_settings,
    log_densities_left_out,
)
from skbayesnn.gaussian_process.drawn_settings import FEW_ROWS
from skbayesnn.gaussian_process.kernels import squared_exponential
from skbayesnn.gaussian_process.tails import MASSES

COUNTS = np.array([2.0, 1.0, 3.0, 1.0, 1.0, 1.0])
N_V = len(MASSES)
"""Gaussians of a draw in predictions."""


def rows(n=6, n_inputs=2, n_targets=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_inputs)), rng.normal(size=(n, n_targets))


def wide(n=30, n_inputs=60, seed=0):
    """Two of many inputs matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_inputs))
    return X, X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize(("n", "n_inputs", "chance"), [(1, 3, 0.99), (60, 3, 0.4), (100, 50, 0.0)])
def test_chance(n, n_inputs, chance):
    assert chance_of_settings(np.ones(n), n_inputs) == pytest.approx(chance)
    # Weights count as rows, but many rows of little weight cost what many rows do.
    assert chance_of_settings(np.array([float(n)]), n_inputs) == pytest.approx(chance)
    assert chance_of_settings(np.full(n, 1e-3), n_inputs) == pytest.approx(chance)


def test_predictions_are_regression_given_each_draw():
    X, Y = rows(10, 2, 2)
    weights = np.repeat(COUNTS[:5], 2)
    output = SettingsOutput(X, Y, weights, np.zeros(4), np.random.default_rng(0))
    assert output.settings.shape == (2 * LONG.n_states // LONG.thinning, 5)
    new = np.random.default_rng(1).normal(size=(4, 2))
    means, variances = output.functions(new)
    variances += np.exp(output.log_noise)[:, :, None]
    for i in (0, 7):
        s = output.settings[i]
        x, z = X * np.exp(-s[:2]), new * np.exp(-s[:2])
        cross = squared_exponential(z, x, s[2])
        for t in range(2):
            noise = np.exp(s[3 + t])
            covariance = squared_exponential(x, x, s[2]) + np.diag(noise / weights)
            solved = np.linalg.solve(covariance, cross.T)
            np.testing.assert_allclose(means[i, t], solved.T @ Y[:, t], rtol=1e-5, atol=1e-7)
            variance = np.exp(s[2]) - np.sum(cross.T * solved, axis=0) + noise
            np.testing.assert_allclose(variances[i, t], variance, rtol=1e-5)


def test_left_out_densities_are_those_of_the_process_without_the_row():
    X, Y = rows(7, 2, 1)
    output = SettingsOutput(X, Y, np.ones(7), np.zeros(4), np.random.default_rng(0))
    some, expected = slice(3, 5), np.zeros(7)
    for settings in output.settings[some]:
        x = X * np.exp(-settings[:2])
        covariance = squared_exponential(x, x, settings[2]) + np.exp(settings[3]) * np.eye(7)
        for i in range(7):
            others = np.delete(np.arange(7), i)
            solved = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, i])
            variance = covariance[i, i] - solved @ covariance[others, i]
            expected[i] += norm(solved @ Y[others, 0], np.sqrt(variance)).pdf(Y[i, 0]) / 2
    found = log_densities_left_out(output.processes[some], output.settings[some, -1])
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-4)


def test_of_many_inputs_the_few_that_matter_are_found(rng):
    """Two of 300 inputs matter, which chains that begin anywhere do not find; or none does."""
    X = rng.normal(size=(90, 300))
    for function, shares in ((X[:, 0] * X[:, 1], (0.8, 1.0)), (0.0 * X[:, 0], (0.0, 0.8))):
        Y = (function + 0.3 * rng.normal(size=90))[:, None]
        Y = (Y - Y.mean()) / Y.std()
        few = np.append(np.full(300, 6.0), [0.0, -2.5])
        few[:2] = 0.3
        output = SettingsOutput(X, Y, np.ones(90), few, np.random.default_rng(0))
        assert len(output.settings) == len(output.processes) == 50
        # Of the draws from the few inputs, these two have the shortest length scales by far.
        of_few = np.mean(output.settings[:, :2].max(axis=1) < output.settings[:, 2:-2].min(axis=1))
        assert shares[0] <= of_few <= shares[1]


def test_joint_draws_have_the_moments():
    X, Y = rows(10, 2, 1)
    rng = np.random.default_rng(0)
    output = SettingsOutput(X, Y, np.ones(10), np.zeros(4), rng)
    new = np.random.default_rng(1).normal(size=(3, 2))
    means, variances = (part[:, 0] for part in output.functions(new))
    draws, noise = output.sample(new, rng, 20_000)
    assert noise.mean() == pytest.approx(output.noise.mean(), rel=0.1)
    variance = variances.mean(axis=0) + means.var(axis=0)
    np.testing.assert_allclose(draws.mean(axis=1), means.mean(axis=0), atol=0.05)
    np.testing.assert_allclose(draws.var(axis=1), variance, rtol=0.1)


@pytest.fixture(scope="module")
def fitted():
    model = DeepWishartRegressor(
        likelihood="gaussian", max_iter=20, n_posterior_draws=10, random_state=0
    )
    return model.fit(*wide())


def test_few_rows_of_many_inputs_are_covered(fitted):
    X, y = wide(1000, seed=1)
    low, high = fitted.predict_interval(X).T
    # The hidden layers alone, whose length scales are one estimate, cover less.
    alone = clone(fitted).fit(*wide())
    alone._model.settings = None
    narrow_low, narrow_high = alone.predict_interval(X).T
    covered = np.mean((low <= y) & (y <= high))
    assert covered > 0.84
    assert covered > np.mean((narrow_low <= y) & (y <= narrow_high))


def test_pool_and_joint_draws_of_the_estimator(fitted):
    X, _ = wide(4, seed=2)
    mixture = fitted.predict_distribution(X)
    assert mixture.means.shape == (4, N_V * (10 + LONG.n_states * 2 // LONG.thinning))
    # Half as many rows as two an input: three quarters.
    share = np.broadcast_to(mixture.weights, mixture.means.shape)[0, 10 * N_V :].sum()
    assert share == pytest.approx(0.75)
    draws = fitted.sample_y(X, 4000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=1), mixture.mean(), atol=0.15)
    np.testing.assert_allclose(draws.std(axis=1), mixture.std(), rtol=0.1)
    np.testing.assert_array_equal(draws, fitted.sample_y(X, 4000, random_state=0))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


def test_many_rows_and_other_outputs_have_hidden_layers_alone():
    X, y = wide(30, 2)
    options = {"max_iter": 3, "n_posterior_draws": 10, "random_state": 0}
    options["gaussian_process"] = False
    for output in ("inducing", "sparse"):
        model = DeepWishartRegressor(output=output, **options).fit(X, y)
        assert model.predict_distribution(X).means.shape == (30, 10 * N_V)
    X, y = wide(FEW_ROWS, 2)
    model = DeepWishartRegressor(**options).fit(X, y)
    assert model.predict_distribution(X).means.shape == (FEW_ROWS, 10 * N_V)
    # A stream forgets its rows.
    X, y = wide(30, 2)
    model = DeepWishartRegressor(**options).fit(X, y).partial_fit(X, y)
    assert model.predict_distribution(X).means.shape == (30, 10 * N_V)


def test_several_targets():
    X, y = wide(20, 3)
    model = DeepWishartRegressor(max_iter=3, n_posterior_draws=10, random_state=0)
    mixtures = model.fit(X, np.column_stack([y, -y])).predict_distribution(X)
    assert [m.means.shape for m in mixtures] == [(20, 60 * N_V)] * 2
    np.testing.assert_allclose(mixtures[0].mean(), -mixtures[1].mean(), atol=0.1)

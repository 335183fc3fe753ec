"""Noise whose scale depends on the inputs: its columns, its density, and draws of its slopes."""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.stats import kstest, norm, t

from skbayesnn import StableNNRegressor
from skbayesnn.stable.additive.partition import AdditiveCells
from skbayesnn.stable.noise.slopes import (
    BOUND,
    NoiseBasis,
    bounded,
    expected_moves,
    log_density_along,
    log_density_of_scale,
    update_slopes,
)
from skbayesnn.stable.samplers.problem import Prior

QUICK = {"n_warmup": 150, "n_posterior_draws": 200, "n_chains": 2, "random_state": 0}
QUICK |= {"gaussian_process": False}


def test_columns_are_standardised_and_held_beyond_the_rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(9, 2)), np.full(9, 0.3)])
    weights = rng.exponential(size=9)
    basis = NoiseBasis(X, weights)
    np.testing.assert_allclose(basis.train @ weights, 0.0, atol=1e-12)
    np.testing.assert_allclose(basis.train[:2] ** 2 @ weights, weights.sum())
    assert (basis.train[2] == 0).all()
    slopes = rng.normal(size=(4, 3))
    # The function as its docstring has it.
    eta = basis.train.T @ slopes.T
    expected = eta / np.sqrt(1 + eta**2 / BOUND**2)
    np.testing.assert_allclose(basis.log_factors(X, slopes), expected, atol=1e-12)
    low, high = X.min(axis=0), X.max(axis=0)
    far = basis.log_factors(np.array([low - 5.0, high + 7.0]), slopes)
    np.testing.assert_allclose(far, basis.log_factors(np.array([low, high]), slopes))


def test_the_mean_that_is_known_is_a_column():
    class Limit:
        noise_slopes = np.array([0.7])

        def mean_at_rows(self, X):
            return X[:, 0] ** 2

        def mean(self, X):
            return X[:, 0] ** 2 + 100.0

    X = np.array([[1.0], [2.0], [4.0]])
    basis = NoiseBasis(X, np.ones(3), Limit())
    only_last = np.array([[0.0, 1.0]])
    # Beyond the largest mean of a row the noise is as there.
    np.testing.assert_allclose(
        basis.log_factors(X, only_last)[:, 0], np.repeat(bounded(basis.train[1, 2]), 3)
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_values_of_an_input_are_columns_where_they_decide():
    """Noise of a category with codes of no order, and the same with noise that is alike."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 300)
    X = np.column_stack([rng.normal(size=(300, 2)), codes])
    for sizes, n_columns in (([1.0, 0.05, 1.0, 0.05], 4 + 4), ([0.3] * 4, 4)):
        y = X[:, 0] + np.array(sizes)[codes] * rng.normal(size=300)
        cells = AdditiveCells(X, y, rng=np.random.default_rng(1))
        basis = cells.noise_basis
        assert basis.train.shape == (n_columns, 300)
        assert (basis.first[3:] == 0).all()
    # The same noise at all rows of a code.
    y = X[:, 0] + np.array([1.0, 0.05, 1.0, 0.05])[codes] * rng.normal(size=300)
    model = StableNNRegressor(**QUICK).fit(X, y)
    at = np.column_stack([np.zeros((4, 2)), np.arange(4)])
    low, high = model.predict_interval(at, coverage=0.9).T
    wide = (high - low) / (2 * 1.645)
    assert (wide[[0, 2]] > 0.7).all()
    assert (wide[[1, 3]] < 0.4).all()


def test_chains_begin_with_the_noise_of_the_gaussian_limit():
    rng = np.random.default_rng(0)
    X, y, _ = growing(200, rng)
    X = np.column_stack([3.0 * X, np.full(200, 0.3)])
    cells = AdditiveCells(X, y, rng=rng)
    state = cells.start(Prior(1.1, None, None, None), rng)
    # Of log σ² twice 0.6 for each unit of the input, which is three here.
    assert 0.25 < state.slopes[0] / X[:, 0].std() < 0.6
    np.testing.assert_allclose(state.slopes[2:], 0.0)
    found = np.log(state.precisions / cells.weights)
    np.testing.assert_allclose(found, -state.log_factors)
    eta = state.slopes @ cells.noise_basis.train
    np.testing.assert_allclose(state.log_factors, eta / np.sqrt(1 + eta**2 / 9))


@pytest.mark.parametrize("degrees", [2.5, np.inf])
def test_density_is_that_of_students_law_and_the_prior(degrees):
    rng = np.random.default_rng(1)
    z, e, weights = rng.normal(size=(2, 6)), rng.normal(size=6), np.array([1, 1, 2, 0.5, 1, 3.0])
    slopes, u, spread = np.array([0.7, -1.2]), np.array([0.3, 2.0]), np.array([0.5, 2.0])
    sigma = 0.6
    law = norm if np.isinf(degrees) else t(degrees)
    prior = spread**-2.0
    arguments = (
        slopes @ z, u @ z, e**2 / sigma**2, weights, degrees, (u * slopes * prior).sum(),
        (u**2 * prior).sum(),
    )  # fmt: skip
    found, expected = [], []
    for step in (-1.0, 0.0, 0.4, 3.0):
        moved = slopes + step * u
        scale = sigma * np.exp(0.5 * bounded(moved @ z))
        value = weights @ (law.logpdf(e / scale) - np.log(scale))
        expected.append(value + norm.logpdf(moved, scale=spread).sum())
        found.append(log_density_along(step, *arguments))
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-9)


def test_density_of_the_scales_of_the_prior():
    x, numbers, crowd = np.linspace(-3, 3, 7), np.array([0.5, -2.0, 0.1]), 0.8
    tau = np.exp(x)
    expected = -np.log(1 + (tau * np.exp(crowd)) ** 2) + x
    expected += norm.logpdf(numbers, scale=tau[:, None]).sum(axis=1)
    found = [log_density_of_scale(value, 3.0, numbers @ numbers, crowd) for value in x]
    np.testing.assert_allclose(np.diff(found), np.diff(expected), rtol=1e-10)


@pytest.mark.parametrize("degrees", [3.0, np.inf])
def test_draws_of_a_slope_have_its_posterior(degrees):
    rng = np.random.default_rng(2)
    z = rng.normal(size=(1, 12))
    e, weights = np.exp(0.8 * z[0]) * rng.standard_normal(12), np.ones(12)
    slopes, log_local, log_tau, draws = np.zeros(1), np.zeros(1), -1.0, []
    for sweep in range(24000):
        log_tau = update_slopes(z, e, weights, degrees, 0.0, slopes, log_local, log_tau, 1.5, rng)
        if sweep % 12 == 0:
            draws.append(slopes[0])
    # The horseshoe by quadrature: over both scales, each half-Cauchy; and what makes it regular.
    x = np.linspace(-9.0, 9.0, 181)
    spread = np.exp(x[:, None] + x).ravel()
    mass = np.exp(x) / (1.0 + np.exp(2.0 * x))
    grid = np.linspace(-18.0, 18.0, 2002)
    mass = np.outer(mass, mass).ravel()
    prior = np.array([mass @ norm.pdf(b, scale=spread) for b in grid])
    law = norm if np.isinf(degrees) else t(degrees)
    scale = np.exp(0.5 * bounded(np.outer(grid, z[0])))
    log_density = np.log(prior) - grid**2 / 18 + (law.logpdf(e / scale) - np.log(scale)).sum(axis=1)
    cdf = cumulative_trapezoid(np.exp(log_density - log_density.max()), grid, initial=0.0)
    # Draws are not quite independent.
    test = kstest(draws, lambda b: np.interp(b, grid, cdf / cdf[-1]))
    assert test.statistic < 0.05


def test_moves_are_fewer_with_more_rows():
    assert expected_moves(100, 8) == 10.0
    assert expected_moves(100, 1) == 2.0
    assert expected_moves(2500, 8) == 2.4
    assert expected_moves(10**6, 8) == 1.0


def growing(n, rng):
    """Rows with noise that grows tenfold along the first of two inputs."""
    X = rng.uniform(-2, 2, (n, 2))
    sd = 0.3 * np.exp(0.6 * X[:, 0])
    return X, np.sin(X[:, 1]) + sd * rng.standard_normal(n), sd


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_noise_that_grows_is_found_and_predicted():
    rng = np.random.default_rng(3)
    X, y, _ = growing(300, rng)
    model = StableNNRegressor(**QUICK).fit(X, y)
    X_new, y_new, sd = growing(1000, rng)
    low, high = model.predict_interval(X_new, coverage=0.9).T
    ratio = (high - low) / (2 * 1.645 * sd)
    for part in (X_new[:, 0] < -1.2, np.abs(X_new[:, 0]) < 0.4, X_new[:, 0] > 1.2):
        assert 0.8 < np.median(ratio[part]) < 1.4
        assert 0.75 < np.mean((low <= y_new) & (y_new <= high), where=part) < 0.98
    # Of log σ² twice 0.6; the bound bends it at both ends, so that in the middle it is larger.
    slopes = np.median(model.noise_slopes_draws_, axis=0)
    assert slopes.shape == (3,)
    assert 1.0 < slopes[0] / X[:, 0].std() < 2.2
    # The other input and the mean, which it makes, stand for each other: sd 0.4 or more each.
    assert np.abs(slopes[1:]).max() < 0.5
    drawn = model.sample_y(X_new[:50], 2000, random_state=0)
    at = model.predict_distribution(X_new[:50]).cdf(np.quantile(drawn, [0.1, 0.9], axis=1).T)
    np.testing.assert_allclose(at, np.tile([0.1, 0.9], (50, 1)), atol=0.05)
    # One scale for all rows, where it is asked for.
    same = StableNNRegressor(likelihood="gaussian", **QUICK).fit(X, y)
    assert same.noise_slopes_draws_.shape == (200, 0)
    assert "noise_at_rows" not in same.parameter_r_hat_
    gain = model.log_predictive_density(X_new, y_new) - same.log_predictive_density(X_new, y_new)
    assert gain.mean() > 0.15

"""Axis units: distinct values, levels, and the prior of their scales; length scales of g."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist
from scipy.stats import halfcauchy, multivariate_normal

from skbayesnn.gaussian_process.evidence import relevance_scale
from skbayesnn.numerics.stable_laws import log_density_by_quadrature, positive_stable_table
from skbayesnn.stable.additive.axes import (
    Axis,
    log_prior_of_variances,
    most_values,
    move_levels,
)
from skbayesnn.stable.additive.dense_kernel import DenseKernel, log_squared_factors
from skbayesnn.stable.additive.limit_objective import LimitObjective, log_crowd, on_circle
from skbayesnn.stable.additive.scales import (
    GaussianLimit,
    axes_covariance,
    fit_gaussian_limits,
)
from skbayesnn.stable.samplers.scales import log_half_cauchy


@pytest.mark.parametrize(
    ("n_inputs", "most"), [(1, 5000), (20, 5000), (50, 2000), (1000, 100), (10**6, 20)]
)
def test_all_inputs_together_have_a_bounded_number_of_values(n_inputs, most):
    assert most_values(n_inputs) == most


def test_many_values_are_taken_in_runs():
    x = np.random.default_rng(0).normal(size=40)
    axis = Axis(x, 7)
    assert axis.cells.x.size == 7
    assert (np.diff(axis.cells.x) > 0).all()
    order = np.argsort(x)
    assert (np.diff(axis.index[order]) >= 0).all()
    counts = np.bincount(axis.index)
    assert counts.min() >= 5
    assert counts.max() <= 6
    # Each value is one of its own run.
    assert (np.isin(axis.cells.x, x)).all()
    assert all(v in x[axis.index == j] for j, v in enumerate(axis.cells.x))


def test_half_cauchy():
    x = np.array([-30.0, -1.0, 0.0, 2.0, 800.0])
    found = [log_half_cauchy(v) for v in x]
    np.testing.assert_allclose(found, -np.logaddexp(x, -x), rtol=1e-14)


def test_levels_move_along_their_sum():
    first, last = np.array([0.3, -1.0, 2.0]), np.array([0.5, 1.0, 1.0])
    log_outer = np.log([0.5, 2.0, 0.1])
    rng, shifts, draws = np.random.default_rng(0), np.empty(3), []
    for _ in range(20000):
        move_levels(first, last, log_outer, rng, shifts)
        draws.append(shifts.copy())
    draws = np.array(draws)
    np.testing.assert_allclose(draws.sum(axis=1), 0.0, atol=1e-12)
    # c ~ N(-(first + last)/2, diag v) given 1'c = 0.
    mean, v = -0.5 * (first + last), np.exp(log_outer)
    gain = v / v.sum()
    covariance = np.diag(v) - np.outer(gain, v)
    np.testing.assert_allclose(draws.mean(axis=0), mean - gain * mean.sum(), atol=0.03)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.03)


def test_prior_of_all_scales():
    rng = np.random.default_rng(1)
    log_masses, starts = np.log(rng.uniform(size=7)), np.array([0, 3])
    log_nus, t = np.array([0.3, -2.0]), rng.normal(size=7)
    units = np.repeat(log_nus, [3, 4]) + 2.0 / 1.4 * log_masses
    found = log_prior_of_variances(
        units + t, log_masses, starts, log_nus, 1.4, positive_stable_table(0.7)
    )
    np.testing.assert_allclose(found, log_density_by_quadrature(t, 0.7).sum(), rtol=1e-7)


def test_covariance_of_axis_units_is_that_of_sign_units():
    """E sgn(w'(1, x)) sgn(w'(1, x')) = 1 - 2θ/π for Gaussian w."""
    rng = np.random.default_rng(9)
    X, nus = rng.normal(size=(4, 2)), np.array([0.7, 0.2])
    w = rng.standard_normal((200_000, 2))
    units = [np.sign(w[:, :1] + w[:, 1:] * x) for x in X.T]
    brute = sum(nu * unit.T @ unit / len(w) for nu, unit in zip(nus, units, strict=True))
    # Four standard errors of a mean of signs.
    found = axes_covariance(nus, on_circle(X), on_circle(X))
    np.testing.assert_allclose(found, brute, atol=4.0 * nus.sum() / np.sqrt(len(w)))


def test_of_many_inputs_the_evidence_finds_the_few_that_matter():
    """Two inputs with an effect together, one with its own, and 57 with none."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(150, 60))
    y = np.sin(X[:, 0]) * X[:, 1] + X[:, 2] + 0.1 * rng.standard_normal(150)
    limit = fit_gaussian_limits(X, (y - y.mean()) / y.std(), np.ones(150), rng)[0]
    scales = limit.kernel.inverse_lengths
    assert scales[:3].min() > 5.0 * scales[3:].max()


@pytest.mark.parametrize("seed", range(3))
def test_an_input_that_matters_only_together_with_another(seed):
    """From the starts with all inputs, the search ends where all sixty matter equally."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 60))
    f = np.cos(2 * X[:, 0]) + np.sin(X[:, 0]) * np.cos(2 * X[:, 1])
    y = f + 0.2 * rng.normal(size=150)
    limit = fit_gaussian_limits(X, (y - y.mean()) / y.std(), np.ones(150), rng)[0]
    scales = limit.kernel.inverse_lengths
    assert scales[:2].min() > 3.0 * scales[2:].max()
    assert (limit.left_out_errors**2).mean() < 0.25


def test_inputs_without_effect_cost_little():
    """Errors of rows that are left out, with 98 inputs of no effect over those without them.

    With priors that fall like one over the number of inputs, the ratio is 1.38.
    """
    squares = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, noise = rng.normal(size=(200, 100)), 0.5 * rng.normal(size=200)
        y = np.sin(X[:, 0]) + X[:, 1] + noise
        z = (y - y.mean()) / y.std()
        limits = [fit_gaussian_limits(x, z, np.ones(200), rng)[0] for x in (X, X[:, :2])]
        squares.append([np.mean(limit.left_out_errors**2) for limit in limits])
    with_all, without = np.sum(squares, axis=0)
    assert with_all < 1.15 * without


@pytest.mark.parametrize("roughness", [0.0, 0.3])
def test_gradient_of_the_gaussian_limit(roughness):
    """Two of the rows are equal."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(15, 2)), rng.normal(size=15)
    X[4] = X[9]
    parameters = np.concatenate([rng.normal(-1, 0.5, 6), rng.normal(size=4), [roughness]])
    objective = LimitObjective(X, y, rng.exponential(size=15))
    numerical = approx_fprime(parameters, lambda p: objective(p)[0], 1e-6)
    np.testing.assert_allclose(objective(parameters)[1], numerical, atol=1e-4)


def test_objective_of_the_gaussian_limit_is_a_normal_density_times_the_prior():
    rng = np.random.default_rng(12)
    X, y, weights = rng.normal(size=(9, 4)), rng.normal(size=9), rng.exponential(size=9)
    lengths, nus, slopes, of_noise = rng.normal(size=(4, 4))
    a, noise = 0.7, 0.2
    kernel = DenseKernel(np.exp(lengths), 0.3, slopes)
    h = log_squared_factors(X, of_noise)[0]
    covariance = a * kernel(X, X) + np.diag(noise * np.exp(h) / weights)
    covariance += axes_covariance(np.exp(nus), on_circle(X), on_circle(X))
    expected = multivariate_normal(np.zeros(9), covariance).logpdf(y) + 4.5 * np.log(2 * np.pi)
    x = np.concatenate(
        [lengths - np.log(relevance_scale(4)), nus + log_crowd(4), np.log([a, noise])]
    )
    expected += (halfcauchy.logpdf(np.exp(x)) + x - np.log(2.0 / np.pi)).sum()
    expected -= 2.0 * (slopes @ slopes + of_noise @ of_noise)
    parameters = np.concatenate([lengths, nus, np.log([a, noise]), slopes, of_noise, [0.3]])
    assert LimitObjective(X, y, weights)(parameters)[0] == pytest.approx(-expected)


@pytest.mark.parametrize("rough", [False, True])
def test_evidence_finds_how_rough_the_dense_part_is(rough):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(250, 2))
    distance = np.sqrt(3.0) * 0.7 * cdist(X, X)
    kernel = np.exp(-distance) if rough else (1.0 + distance) * np.exp(-distance)
    y = np.linalg.cholesky(kernel + 1e-10 * np.eye(250)) @ rng.standard_normal(250)
    y += 0.05 * rng.standard_normal(250)
    limit = fit_gaussian_limits(X, y, np.ones(250), rng)[0]
    assert limit.kernel.roughness > 0.5 if rough else limit.kernel.roughness == 0.0
    assert np.abs(np.log(limit.kernel.inverse_lengths / 0.7)).max() < 0.7
    smooth = fit_gaussian_limits(X, y, np.ones(250), rng, may_be_rough=False)[0]
    assert smooth.kernel.roughness == 0.0


@pytest.mark.parametrize("grows", ["nothing", "function", "noise"])
def test_evidence_finds_where_the_dense_part_is_large(grows):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(250, 2))
    distance = np.sqrt(3.0) * cdist(X, X)
    root = np.linalg.cholesky((1.0 + distance) * np.exp(-distance) + 1e-10 * np.eye(250))
    g, noise = root @ rng.standard_normal(250), 0.1 * rng.standard_normal(250)
    factor = np.exp(X[:, 0])
    y = factor * g + noise if grows == "function" else g + noise
    if grows == "noise":
        y = g + factor * noise
    limit = fit_gaussian_limits(X, (y - y.mean()) / y.std(), np.ones(250), rng)[0]
    # The bound bends large slopes.
    slope = 2.0 if grows == "function" else 0.0
    np.testing.assert_allclose(limit.kernel.slopes, [slope, 0.0], atol=0.7)
    assert (limit.kernel.slopes == 0.0).all() == (grows == "nothing")


def test_mean_of_the_gaussian_limit_with_each_row_left_out():
    rng = np.random.default_rng(4)
    X, y, weights = rng.normal(size=(12, 2)), rng.normal(size=12), rng.exponential(size=12)
    p = np.concatenate([rng.normal(-1, 0.5, 6), [0.8, -1.3, -0.5, 0.7], [0.2]])
    edges = X.min(axis=0), X.max(axis=0)
    limit = GaussianLimit(p, X, y, weights, np.arange(12), edges)
    at_rows, new = limit.mean_at_rows(X), rng.normal(size=(3, 2))

    def kernel(A, B):
        k = np.exp(p[4]) * DenseKernel(np.exp(p[:2]), 0.2, p[6:8], edges)(A, B)
        for j in range(2):
            a, b = np.arctan(A[:, j]), np.arctan(B[:, j])
            k += np.exp(p[2 + j]) * (1 - 2 * np.abs(a[:, None] - b) / np.pi)
        return k

    def mean(rows, X_new):
        eta = X[rows] @ p[8:10]
        noise = np.exp(p[5] + eta / np.sqrt(1 + eta**2 / 9)) / weights[rows]
        covariance = kernel(X[rows], X[rows]) + np.diag(noise)
        return kernel(X_new, X[rows]) @ np.linalg.solve(covariance, y[rows])

    np.testing.assert_allclose(limit.mean(new), mean(np.arange(12), new), rtol=1e-6)
    left_out = [mean(np.delete(np.arange(12), i), X[i : i + 1])[0] for i in range(12)]
    np.testing.assert_allclose(at_rows, left_out, rtol=1e-6)
    # The density of a row left out is that of all rows over that of the others.
    eta = X @ p[8:10]
    noise = np.exp(p[5] + eta / np.sqrt(1 + eta**2 / 9)) / weights
    covariance = kernel(X, X) + np.diag(noise)

    def log_density(rows):
        return multivariate_normal(cov=covariance[np.ix_(rows, rows)]).logpdf(y[rows])

    rows = np.arange(12)
    expected = [log_density(rows) - log_density(np.delete(rows, i)) for i in rows]
    np.testing.assert_allclose(limit.left_out_log_densities, expected, rtol=1e-6)
    # Rows that it is not given, of a large table, have the mean of new ones.
    some = GaussianLimit(p, X[3:], y[3:], weights[3:], np.arange(3, 12), edges)
    np.testing.assert_allclose(some.mean_at_rows(X)[:3], mean(np.arange(3, 12), X[:3]), rtol=1e-6)

"""The summed kernel: parts given variances, and predictions, are those of a Gaussian process."""

import numpy as np
import pytest
from kernels import arc_cosine_kernel
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import Matern

from skbayesnn.stable.additive.chain import AdditiveChain
from skbayesnn.stable.additive.dense import DenseBasis
from skbayesnn.stable.additive.dense_kernel import DenseKernel
from skbayesnn.stable.additive.joint import (
    TargetCovariance,
    add_axes_covariance,
    add_axes_products,
    draw_axes_prior,
    parts_given_variances,
)
from skbayesnn.stable.additive.partition import AdditiveCells, AdditiveDraws
from skbayesnn.stable.samplers.problem import Prior

NUS, AMPLITUDE, NONE = np.array([0.7, 0.3]), 1.4, np.zeros(0, int)
# Short enough that the Gram matrix of g can be inverted for comparison.
INVERSE_LENGTH, SLOPES = 4.0, np.array([0.4, -0.7])


def smooth_kernel(A, B):
    eta = [rows @ SLOPES for rows in (A, B)]
    factors = [np.exp(0.5 * x / np.sqrt(1 + x**2 / 9)) for x in eta]
    return AMPLITUDE * np.outer(*factors) * Matern(1.0 / INVERSE_LENGTH, nu=1.5)(A, B)


def table(n, seed):
    """Two inputs, one with ties, in the order in which rows are held, and unequal noise."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(-2, 3, n) / 1.5, rng.normal(size=n)])
    X = X[np.lexsort(X.T[::-1])]
    return X, rng.normal(size=n), np.exp(rng.normal(-2, 0.5, n))


def summed_kernel(A, B):
    k = smooth_kernel(A, B)
    for nu, a, b in zip(NUS, A.T, B.T, strict=True):
        k += nu * arc_cosine_kernel(a[:, None], b[:, None])
    return k


def two_parts(X, y):
    cells = AdditiveCells(X, y, dense=False, same_noise=True)
    kernel = DenseKernel(np.full(2, INVERSE_LENGTH), slopes=SLOPES)
    cells.set_basis(DenseBasis(X, kernel, None))
    return cells


def sign_matrix(n):
    """T: f_j - f_{j-1} = 2 w_j and f_0 + f_{n-1} = 2 w_0."""
    return np.where(np.arange(n)[:, None] < np.arange(n), -1.0, 1.0)


def axes(sizes, n, rng):
    """Variances, and the ranges, of axes with these numbers of values; T V T' of all values."""
    v, ends = rng.exponential(size=sum(sizes)), np.cumsum(sizes)
    index = np.stack([rng.integers(0, size, n) for size in sizes]).astype(np.int32)
    prior = np.zeros((v.size, v.size))
    for start, end in zip(ends - sizes, ends, strict=True):
        signs = sign_matrix(end - start)
        prior[start:end, start:end] = signs @ np.diag(v[start:end]) @ signs.T
    return v, (index, ends - sizes, ends), prior


@pytest.mark.parametrize("sizes", [[1], [2], [9], [1, 9, 2]])
def test_covariance_and_products_of_axes(sizes):
    rng = np.random.default_rng(0)
    v, ranges, prior = axes(sizes, 12, rng)
    places = ranges[0] + ranges[1][:, None]
    at_rows = sum(np.eye(v.size)[rows] for rows in places)
    s, covariance, products = rng.normal(size=12), np.zeros((12, 12)), np.ones(v.size)
    add_axes_covariance(v, *ranges, covariance)
    add_axes_products(v, *ranges, s, products)
    np.testing.assert_allclose(covariance, np.triu(at_rows @ prior @ at_rows.T), atol=1e-12)
    np.testing.assert_allclose(products, 1.0 + prior @ at_rows.T @ s, atol=1e-12)


def test_prior_draws_of_axes():
    rng = np.random.default_rng(0)
    v, ranges, prior = axes([4, 3], 5, rng)
    f = np.empty((40000, 7))
    for row in f:
        rest = np.ones(5)
        draw_axes_prior(v, *ranges, rng, row, rest)
    np.testing.assert_allclose(rest, 1.0 - f[-1][ranges[0][0]] - f[-1][4 + ranges[0][1]])
    # The standard error of an entry is at most √2 Σv/√40000, and no axis knows of another.
    np.testing.assert_allclose(np.cov(f.T), prior, atol=4.5 * np.sqrt(2.0) * v.sum() / 200.0)


def test_two_is_the_gaussian_process_with_the_summed_kernel():
    X, y, noise = table(40, 0)
    new = np.column_stack([[-5.0, -0.2, 2 / 3, 4.0, 0.1], [0.3, -9.0, 0.0, 7.0, X[3, 1]]])
    cells, log_nu = two_parts(X, y), np.log(NUS)
    log_variances = cells.log_units(2.0, log_nu)
    covariance = TargetCovariance(
        cells, cells.gram(), log_variances, np.log(AMPLITUDE), noise, NONE
    )
    f, theta = parts_given_variances(cells, covariance, y)
    inverse = np.linalg.inv(summed_kernel(X, X) + np.diag(noise))
    fitted = sum(f[part][axis.index] for axis, part in cells.parts()) + cells.basis.train @ theta
    np.testing.assert_allclose(fitted, summed_kernel(X, X) @ inverse @ y, atol=1e-8)

    numbers = ([0.0], [2.0], [np.inf], [np.log(AMPLITUDE)])
    arrays = (log_nu, f, log_variances, theta, np.empty((1, 0)), np.full(2, 0.5))
    draws = AdditiveDraws(
        *(np.array(value) for value in numbers),
        *(np.atleast_2d(value) for value in arrays),
        np.full(1, 0.5),
        np.zeros(1, int),
    )
    means, variances = cells.predict(draws, new)
    np.testing.assert_allclose(means[:, 0], summed_kernel(new, X) @ inverse @ y, atol=1e-8)

    # Given all parts at the training rows: the variances of three independent processes.
    expected = np.diag(smooth_kernel(new, new)) - np.sum(
        (smooth_kernel(new, X) @ np.linalg.inv(smooth_kernel(X, X))) * smooth_kernel(new, X), axis=1
    )
    for nu, x, old in zip(NUS, new.T, X.T, strict=True):
        values = np.unique(old)[:, None]
        k = arc_cosine_kernel(x[:, None], values)
        weights = k @ np.linalg.inv(arc_cosine_kernel(values, values))
        expected += nu * (1.0 - np.sum(weights * k, axis=1))
    np.testing.assert_allclose(variances[:, 0], expected, atol=1e-8)

    # Joint draws have these moments, and the covariances of three processes between rows.
    many = draws.take(np.zeros(20000, int))
    drawn = cells.sample(many, new, np.random.default_rng(1))
    # Four and a half standard errors of a mean, and of a covariance.
    spread = np.sqrt(expected)
    assert (np.abs(drawn.mean(axis=1) - means[:, 0]) < 4.5 * spread / np.sqrt(20000)).all()
    joint = smooth_kernel(new, new) - smooth_kernel(new, X) @ np.linalg.inv(
        smooth_kernel(X, X)
    ) @ smooth_kernel(X, new)
    for nu, x, old in zip(NUS, new.T, X.T, strict=True):
        values, x = np.unique(old)[:, None], x[:, None]
        k = arc_cosine_kernel(x, values)
        joint += nu * arc_cosine_kernel(x, x)
        joint -= nu * k @ np.linalg.inv(arc_cosine_kernel(values, values)) @ k.T
    assert (np.abs(np.cov(drawn) - joint) < 0.045 * np.outer(spread, spread)).all()


def test_log_density_of_targets():
    X, y, noise = table(9, 3)
    cells = two_parts(X, y)
    log_variances = cells.log_units(2.0, np.log(NUS))
    covariance = TargetCovariance(
        cells, cells.gram(), log_variances, np.log(AMPLITUDE), noise, NONE
    )
    expected = multivariate_normal.logpdf(y, np.zeros(9), summed_kernel(X, X) + np.diag(noise))
    found = covariance.log_density(y) - 4.5 * np.log(2.0 * np.pi)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_draws_have_the_moments_of_the_process():
    X, y, noise = table(7, 1)
    cells, rng = two_parts(X, y), np.random.default_rng(2)
    log_variances = cells.log_units(2.0, np.log(NUS))
    covariance = TargetCovariance(
        cells, cells.gram(), log_variances, np.log(AMPLITUDE), noise, NONE
    )
    fits = []
    for _ in range(8000):
        f, theta = parts_given_variances(cells, covariance, y, rng)
        first = f[: cells.ends[0]][cells.axes[0].index]
        second = f[cells.starts[1] :][cells.axes[1].index]
        fits.append(np.concatenate([first, second, cells.basis.train @ theta]))
    fits = np.array(fits)
    parts = [nu * arc_cosine_kernel(x[:, None], x[:, None]) for nu, x in zip(NUS, X.T, strict=True)]
    parts.append(smooth_kernel(X, X))
    inverse = np.linalg.inv(sum(parts) + np.diag(noise))
    stacked = np.vstack(parts)
    prior = np.zeros((21, 21))
    for i, part in enumerate(parts):
        prior[7 * i : 7 * i + 7, 7 * i : 7 * i + 7] = part
    covariance = prior - stacked @ inverse @ stacked.T
    z = (fits.mean(axis=0) - stacked @ inverse @ y) / np.sqrt(np.diag(covariance) / 8000)
    assert np.abs(z).max() < 4.5
    # The relative error of a sample covariance is about √(2/8000) of the variances.
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.abs((np.cov(fits.T) - covariance) / scale).max() < 0.08


@pytest.mark.parametrize("rows", [[7, 0, 3], [8, 6, 7], range(9)])
def test_noise_of_some_rows_is_changed_in_the_inverse(rows):
    X, y, noise = table(9, 3)
    cells, rows = two_parts(X, y), np.array(rows)
    log_variances = cells.log_units(2.0, np.log(NUS))
    covariance = TargetCovariance(
        cells, cells.gram(), log_variances, np.log(AMPLITUDE), noise, rows
    )
    before = np.linalg.inv(summed_kernel(X, X) + np.diag(noise))
    assert sorted(covariance.some) == sorted(rows)
    rows = covariance.some
    inverse, solved = covariance.inverse_at_some(y)
    np.testing.assert_allclose(inverse, before[np.ix_(rows, rows)], atol=1e-9)
    np.testing.assert_allclose(solved, before[rows] @ y, atol=1e-9)
    expected = multivariate_normal.logpdf(y, np.zeros(9), summed_kernel(X, X) + np.diag(noise))
    assert covariance.log_density(y) - 4.5 * np.log(2.0 * np.pi) == pytest.approx(expected)
    np.testing.assert_allclose(covariance.solve(y), before @ y, atol=1e-9)
    other = noise.copy()
    other[rows[:3]] *= [1e6, 0.1, 2.0]
    covariance.change_noise(other[rows])
    np.testing.assert_array_equal(covariance.noise, other)
    expected = np.linalg.solve(summed_kernel(X, X) + np.diag(other), y)
    np.testing.assert_allclose(covariance.solve(y), expected, atol=1e-9)


def to_one(inverse, solved, precisions, *_):
    """A move of the precisions in place of the random one."""
    precisions[:] = 1.0


@pytest.mark.parametrize("precision", [2.0, 1e-13])
def test_covariance_follows_the_precisions(monkeypatch, precision):
    """Of the noise of a row that is an outlier no more next to nothing is left."""
    monkeypatch.setattr("skbayesnn.stable.additive.chain.move_precisions", to_one)
    X, y, _ = table(9, 3)
    cells, rng, prior = two_parts(X, y), np.random.default_rng(0), Prior(1.5, None, None)
    state = cells.start(prior, rng)
    state.precisions[4] = precision
    chain = AdditiveChain(cells, prior, state, None, rng)
    covariance = chain._move_precisions(chain._covariance(np.array([2, 4])))
    assert state.precisions[4] == 1.0
    np.testing.assert_allclose(covariance.noise, np.exp(state.log_noise) / state.precisions)
    np.testing.assert_allclose(covariance.solve(y), chain._covariance(NONE).solve(y), rtol=1e-9)


def test_precisions_are_as_before_where_the_covariance_cannot_be_factored(monkeypatch):
    def fail(*_):
        raise np.linalg.LinAlgError

    X, y, _ = table(9, 3)
    cells, rng, prior = two_parts(X, y), np.random.default_rng(0), Prior(1.5, None, None)
    state = cells.start(prior, rng)
    state.precisions[4] = 1e-13
    chain, before = AdditiveChain(cells, prior, state, None, rng), state.precisions.copy()
    covariance = chain._covariance(np.array([2, 4]))
    monkeypatch.setattr("skbayesnn.stable.additive.chain.move_precisions", to_one)
    monkeypatch.setattr(chain, "_covariance", fail)
    assert chain._move_precisions(covariance) is covariance
    np.testing.assert_array_equal(state.precisions, before)

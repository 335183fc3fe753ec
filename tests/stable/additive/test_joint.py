"""The summed kernel: parts given variances, and predictions, are those of a Gaussian process."""

import numpy as np
import pytest
from kernels import arc_cosine_kernel

from skbayesnn.numerics.stable_laws import positive_stable_table
from skbayesnn.stable.additive.axes import Axis
from skbayesnn.stable.additive.chain import Model, Prior
from skbayesnn.stable.additive.dense import DenseBasis, dense_kernel
from skbayesnn.stable.additive.joint import (
    add_axis_covariance,
    add_axis_product,
    draw_axis_prior,
    parts_given_variances,
)
from skbayesnn.stable.additive.posterior import AdditivePosterior, Draws
from skbayesnn.stable.additive.prediction import axis_moments

NUS, AMPLITUDE = np.array([0.7, 0.3]), 1.4
# Short enough that the Gram matrix of g can be inverted for comparison.
INVERSE_LENGTH = 4.0


def smooth_kernel(A, B):
    return AMPLITUDE * dense_kernel(INVERSE_LENGTH * A, INVERSE_LENGTH * B)


def table(n, seed):
    """Two inputs, one with ties, and unequal noise."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(-2, 3, n) / 1.5, rng.normal(size=n)])
    return X, rng.normal(size=n), np.exp(rng.normal(-2, 0.5, n))


def summed_kernel(A, B):
    k = smooth_kernel(A, B)
    for nu, a, b in zip(NUS, A.T, B.T, strict=True):
        k += nu * arc_cosine_kernel(a[:, None], b[:, None])
    return k


def two_model(X, y):
    axes = [Axis(x) for x in X.T]
    basis = DenseBasis(INVERSE_LENGTH * X, np.random.default_rng(0))
    return Model(axes, basis, y, np.ones(y.size), Prior(alpha=2.0))


def sign_matrix(n):
    """T: f_j - f_{j-1} = 2 w_j and f_0 + f_{n-1} = 2 w_0."""
    return np.where(np.arange(n)[:, None] < np.arange(n), -1.0, 1.0)


@pytest.mark.parametrize("n", [1, 2, 9])
def test_covariance_and_product_of_an_axis(n):
    rng = np.random.default_rng(n)
    v, s, index = rng.exponential(size=n), rng.normal(size=n), rng.integers(0, n, 12)
    prior = sign_matrix(n) @ np.diag(v) @ sign_matrix(n).T
    covariance, product = np.zeros((12, 12)), np.zeros(n)
    add_axis_covariance(v, index, covariance)
    add_axis_product(v, s, product)
    np.testing.assert_allclose(covariance, np.tril(prior[np.ix_(index, index)]), atol=1e-12)
    np.testing.assert_allclose(product, prior @ s, atol=1e-12)


def test_prior_draws_of_an_axis():
    v, rng = np.array([0.5, 2.0, 0.1, 1.0]), np.random.default_rng(0)
    f = np.empty((40000, 4))
    for row in f:
        draw_axis_prior(v, rng, row)
    expected = sign_matrix(4) @ np.diag(v) @ sign_matrix(4).T
    # The standard error of an entry is at most √2 Σv/√40000 = 0.026.
    np.testing.assert_allclose(np.cov(f.T), expected, atol=0.1)


def test_two_is_the_gaussian_process_with_the_summed_kernel():
    X, y, noise = table(40, 0)
    new = np.column_stack([[-5.0, -0.2, 2 / 3, 4.0, 0.1], [0.3, -9.0, 0.0, 7.0, X[3, 1]]])
    model = two_model(X, y)
    log_nu = np.log(NUS)
    log_variances = model.log_units(2.0, log_nu)
    f, theta = parts_given_variances(model, np.exp(log_variances), np.log(AMPLITUDE), noise, y)
    inverse = np.linalg.inv(summed_kernel(X, X) + np.diag(noise))
    fitted = sum(f[part][axis.index] for axis, part in model.parts()) + model.basis.train @ theta
    np.testing.assert_allclose(fitted, summed_kernel(X, X) @ inverse @ y, atol=1e-8)

    one = [np.atleast_2d(values) for values in (f, log_variances, theta, log_nu)]
    draws = Draws(*one, *np.array([[np.log(AMPLITUDE)], [0.0], [2.0], [np.inf]]))
    posterior = AdditivePosterior(model, np.full(2, INVERSE_LENGTH), draws, {})
    means, variances = posterior.predict(new)
    np.testing.assert_allclose(means[:, 0], summed_kernel(new, X) @ inverse @ y, atol=1e-8)

    # Given all parts at the training rows: the variances of three independent processes.
    expected = 1.0 + AMPLITUDE * np.ones(len(new))
    k = smooth_kernel(new, X)
    expected -= np.sum((k @ np.linalg.inv(smooth_kernel(X, X))) * k, axis=1)
    for nu, x, old in zip(NUS, new.T, X.T, strict=True):
        values = np.unique(old)[:, None]
        k = arc_cosine_kernel(x[:, None], values)
        weights = k @ np.linalg.inv(arc_cosine_kernel(values, values))
        expected += nu * (1.0 - np.sum(weights * k, axis=1))
    np.testing.assert_allclose(variances[:, 0], expected, atol=1e-8)


def test_draws_have_the_moments_of_the_process():
    X, y, noise = table(7, 1)
    model, rng = two_model(X, y), np.random.default_rng(2)
    variances = np.exp(model.log_units(2.0, np.log(NUS)))
    fits = []
    for _ in range(8000):
        f, theta = parts_given_variances(model, variances, np.log(AMPLITUDE), noise, y, rng)
        first = f[: model.ends[0]][model.axes[0].index]
        second = f[model.starts[1] :][model.axes[1].index]
        fits.append(np.concatenate([first, second, model.basis.train @ theta]))
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


def test_nothing_is_split_at_old_values():
    rng = np.random.default_rng(3)
    model = two_model(*table(30, 4)[:2])
    axis, alpha = model.axes[1], 1.2
    f = rng.normal(size=(50, axis.values.size))
    units = 2.0 / alpha * axis.log_masses
    means, variances = axis_moments(
        axis, f, units + f, f, positive_stable_table(0.6), axis.values[[4, 0, 4]],
        (rng.permutation(50) + 0.5) / 50,
    )  # fmt: skip
    np.testing.assert_allclose(means, f[:, [4, 0, 4]].T, atol=1e-12)
    np.testing.assert_array_equal(variances, 0.0)

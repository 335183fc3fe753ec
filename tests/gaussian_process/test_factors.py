"""Factorisations with jitter, their adjoint, gamma quantiles, the fast exponential."""

import numpy as np
import pytest
from gradients import difference
from scipy.linalg import LinAlgError
from scipy.stats import gamma

from skbayesnn.dwp.gamma import gamma_quantile
from skbayesnn.dwp.triangular import multiply_lower
from skbayesnn.gaussian_process.exponential import capped_exp
from skbayesnn.gaussian_process.factors import cholesky, cholesky_adjoint, inverse


def regular(n=5, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + np.eye(n)


def test_cholesky_and_inverse():
    K = regular()
    L, added, failures = cholesky(K, 0.0)
    np.testing.assert_allclose(L, np.linalg.cholesky(K), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(inverse(L) @ L, np.eye(5), atol=1e-12)
    assert (added, failures) == (0.0, 0)
    np.testing.assert_array_equal(K, regular())  # not changed


def test_jitter_grows_until_there_is_a_factor():
    K = np.ones((4, 4)) - 1e-7 * np.eye(4)
    L, added, failures = cholesky(K, 1e-9)
    assert failures == 2 or failures == 3
    np.testing.assert_allclose(L @ L.T, K + added * np.eye(4), atol=1e-12)


@pytest.mark.parametrize("bad", [-np.eye(3), np.full((3, 3), np.nan)])
def test_hopeless_matrices_raise(bad):
    with pytest.raises(LinAlgError):
        cholesky(bad, 1e-6)


def test_cholesky_adjoint():
    K, weights = regular(), np.tril(np.random.default_rng(1).normal(size=(5, 5)))
    L, _, _ = cholesky(K, 0.0)
    found = cholesky_adjoint(L, inverse(L), weights + 7 * np.triu(np.ones((5, 5)), 1))
    for i in range(5):
        for j in range(i + 1):
            change = np.zeros((5, 5))
            change[i, j] = change[j, i] = 1.0
            both = found[i, j] + (found[j, i] if i != j else 0)
            slope = difference(lambda: (weights * np.linalg.cholesky(K)).sum(), K, change)
            np.testing.assert_allclose(both, slope, atol=1e-8)


def test_multiply_lower():
    L, rows = np.asfortranarray(np.tril(regular())), np.random.default_rng(0).normal(size=(7, 5))
    np.testing.assert_allclose(multiply_lower(L, rows.copy()), rows @ L.T)
    np.testing.assert_allclose(multiply_lower(L, rows.copy(), transposed=True), rows @ L)
    for factor, wrong in ((np.ascontiguousarray(L), rows), (L, rows.T), (L, rows[:, :4])):
        with pytest.raises(ValueError, match="Fortran order"):
            multiply_lower(factor, wrong)


def test_gamma_quantile_and_its_slope():
    shape = np.array([0.3, 0.5, 1.0, 7.0, 400.0])[:, None]
    level = np.array([0.01, 0.3, 0.9])
    value, slope = gamma_quantile(shape, level)
    np.testing.assert_allclose(gamma.cdf(value, shape), np.broadcast_to(level, (5, 3)))
    # The implicit derivative: that of the distribution function, over the density.
    step = 1e-5 * shape
    rise = (gamma.cdf(value, shape + step) - gamma.cdf(value, shape - step)) / (2 * step)
    # The distribution function near 1e-14 / 1e-5 is what limits the reference.
    np.testing.assert_allclose(slope, -rise / gamma.pdf(value, shape), rtol=1e-6)


def test_capped_exp():
    x = np.random.default_rng(0).uniform(-705, 2, (50, 40))
    x[0, :4] = [1.0, 0.0, -1e-300, -np.inf]
    out = x.copy()
    capped_exp(out, 1.0)
    expected = np.exp(np.minimum(x, 1.0))
    np.testing.assert_allclose(out, expected, rtol=4e-16, atol=1e-306)
    bad = np.array([[np.nan]])
    capped_exp(bad, 0.0)
    assert np.isnan(bad[0, 0])

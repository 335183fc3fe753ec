"""Precisions of rows with the function integrated out."""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.stats import gamma, kstest, norm

from skbayesnn.stable.noise.outliers import log_target, move_precisions


@pytest.mark.parametrize("gap", [0.3, 6.0])
def test_target_is_prior_times_likelihood(gap):
    x, degrees, noise, spread = np.linspace(-8, 3, 50), 2.5, 0.4, 0.2
    expected = gamma.logpdf(np.exp(x), degrees / 2, scale=2 / degrees) + x
    expected += norm.logpdf(gap, 0.0, np.sqrt(spread + noise * np.exp(-x)))
    found = [log_target(value, 1.0, degrees, noise, gap**2, spread) for value in x]
    np.testing.assert_allclose(np.diff(found), np.diff(expected), atol=1e-12)


def test_a_row_of_weight_two_is_two_rows_with_one_target():
    # Both precisions of the pair matter by their sum, whose law is that of a convolution.
    degrees, noise, gap, spread = 3.0, 0.5, 1.5, 0.3
    p = np.linspace(1e-4, 40.0, 40001)
    prior = gamma.pdf(p, degrees, scale=2 / degrees)
    both = norm.pdf(gap, 0.0, np.sqrt(spread + noise / p))
    # Two Gaussian terms in place of one of the pooled precision: (p_1 p_2)^½ for (p_1 + p_2)^½,
    # of which the mean given the sum is in proportion to it.
    expected = np.log(prior * both) + 0.5 * np.log(p) + np.log(p)
    found = [log_target(x, 2.0, degrees, noise, gap**2, spread) for x in np.log(p)]
    np.testing.assert_allclose(np.diff(found), np.diff(expected), atol=1e-9)


def test_precisions_have_their_law_given_all_targets():
    rng = np.random.default_rng(0)
    n, degrees, noise = 3, 2.0, 0.3
    root = rng.normal(size=(n, n))
    covariance, y = root @ root.T, np.array([0.2, 4.0, -1.0])
    precisions, draws = np.ones(n), []
    for sweep in range(24000):
        inverse = np.linalg.inv(covariance + np.diag(noise / precisions))
        same = np.ones(n)
        move_precisions(inverse, inverse @ y, precisions, same, noise * same, degrees, rng)
        if sweep % 12 == 0:
            draws.append(np.log(precisions))
    # The law on a grid, all three at once.
    x = np.linspace(-14, 4, 73)
    grid = np.stack(np.meshgrid(x, x, x, indexing="ij"), axis=-1)
    total = covariance + noise * np.exp(-grid)[..., None] * np.eye(n)
    quadratic = (
        np.linalg.solve(total, np.broadcast_to(y[:, None], (*total.shape[:-1], 1)))[..., 0] @ y
    )
    log_density = -0.5 * (np.linalg.slogdet(total)[1] + quadratic)
    log_density += (gamma.logpdf(np.exp(grid), degrees / 2, scale=2 / degrees) + grid).sum(axis=-1)
    density = np.exp(log_density - log_density.max())
    for i in range(n):
        margin = density.sum(axis=tuple({0, 1, 2} - {i}))
        cdf = cumulative_trapezoid(margin, x, initial=0.0)
        test = kstest(np.array(draws)[:, i], lambda v, cdf=cdf: np.interp(v, x, cdf / cdf[-1]))
        assert test.pvalue > 1e-3, i


def test_changes_stay_in_step_with_the_inverse():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(6, 6))
    covariance, y, precisions = root @ root.T, rng.normal(size=6), rng.gamma(1.0, 1.0, 6)
    inverse = np.linalg.inv(covariance + np.diag(0.1 / precisions))
    solved = inverse @ y
    move_precisions(inverse, solved, precisions, np.ones(6), np.full(6, 0.1), 3.0, rng)
    expected = np.linalg.inv(covariance + np.diag(0.1 / precisions))
    np.testing.assert_allclose(inverse, expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(solved, expected @ y, rtol=1e-9, atol=1e-10)

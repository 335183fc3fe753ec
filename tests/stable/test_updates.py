"""Slice updates draw from their targets."""

import numpy as np
import pytest

from skbayesnn.numerics.jit import kernel
from skbayesnn.numerics.stable_laws import log_densities, positive_stable_table
from skbayesnn.stable.samplers import scales

draw_log_noise = kernel(scales.draw_log_noise)
draw_log_variance = kernel(scales.draw_log_variance)
propose_log_variance = kernel(scales.propose_log_variance)


def assert_follows(draws, grid, log_target):
    """Draws, nearly independent, against a density on a grid; 20 cells of equal mass."""
    cdf = np.cumsum(np.exp(log_target - log_target.max()))
    cdf /= cdf[-1]
    edges = np.interp(np.linspace(0, 1, 21)[1:-1], cdf, grid)
    share = np.bincount(np.searchsorted(edges, draws), minlength=20) / len(draws)
    # 4.5 standard errors of a share of 1/20.
    assert np.abs(share - 0.05).max() < 4.5 * np.sqrt(0.05 * 0.95 / len(draws))


@pytest.mark.long
@pytest.mark.parametrize("alpha", [0.2, 1.1, 1.9])
@pytest.mark.parametrize(("b", "delta2"), [(0.5, 0.01), (0.01, 40.0), (0.0, 1.0)])
def test_log_variance(alpha, b, delta2):
    a, log_unit = alpha / 2, -1.0
    table, rng = positive_stable_table(a), np.random.default_rng(0)
    width = max(1.0, np.pi * np.sqrt((1 / a**2 - 1) / 6))
    value, draws = log_unit + 0.5, np.empty(6000)
    for i in range(draws.size):
        for _ in range(8):
            value = draw_log_variance(value, log_unit, b, delta2, table, width, rng)
        draws[i] = value
    t = np.linspace(max(table.t_left, -300), 60 + 40 / a * (alpha < 1), 400_001)
    variance = b + np.exp(np.minimum(log_unit + t, 700))
    prior = log_densities(t, table)
    assert_follows(draws - log_unit, t, prior - 0.5 * np.log(variance) - 0.5 * delta2 / variance)


def test_log_variance_by_proposals_from_the_prior():
    a, log_unit, b, delta2 = 0.55, -1.0, 0.5, 2.0
    table, rng = positive_stable_table(a), np.random.default_rng(0)
    value, draws = log_unit + 0.5, np.empty(6000)
    for i in range(draws.size):
        for _ in range(8):
            value = propose_log_variance(value, log_unit, b, delta2, a, rng)
        draws[i] = value
    t = np.linspace(table.t_left, 80, 400_001)
    variance = b + np.exp(log_unit + t)
    prior = log_densities(t, table)
    assert_follows(draws - log_unit, t, prior - 0.5 * np.log(variance) - 0.5 * delta2 / variance)


@pytest.mark.parametrize(("n", "rss"), [(3, 0.4), (50, 700.0)])
def test_log_noise(n, rss):
    rng = np.random.default_rng(0)
    value, draws = 0.0, np.empty(6000)
    for i in range(draws.size):
        for _ in range(6):
            value = draw_log_noise(value, n, rss, rng)
        draws[i] = value
    x = np.linspace(-12, 22, 400_001)
    variance = np.exp(x)
    # Residuals N(0, σ²), σ² half-Cauchy, and the Jacobian of the logarithm.
    target = -0.5 * n * x - 0.5 * rss / variance - np.log1p(variance**2) + x
    assert_follows(draws, x, target)


def test_noise_stays_within_its_bounds():
    rng = np.random.default_rng(0)
    value = 0.0
    for _ in range(200):
        value = draw_log_noise(value, 50, 0.0, rng)
    assert np.log(1e-10) <= value < np.log(1e-9)

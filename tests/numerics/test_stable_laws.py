"""Positive stable laws against closed forms, the Laplace transform and scipy."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import gamma

from skbayesnn.numerics import stable_laws
from skbayesnn.numerics.jit import kernel
from skbayesnn.numerics.stable_laws import (
    log_density_by_quadrature,
    positive_stable_table,
)

log_density = kernel(stable_laws.log_density)
sample_log_positive_stable = kernel(stable_laws.sample_log_positive_stable)
INDICES = [0.005, 0.05, 0.25, 0.5, 0.55, 0.75, 0.95, 0.995]


def draw(a, n, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([sample_log_positive_stable(a, rng) for _ in range(n)])


def levy_log_density(t):
    """a = 1/2: S is Lévy with density s^-1.5 exp(-1/(4 s))/(2 √π)."""
    return -np.log(2 * np.sqrt(np.pi)) - 0.5 * t - 0.25 * np.exp(-t)


def test_quadrature_is_the_levy_law_at_one_half():
    t = np.linspace(-5, 80, 200)
    np.testing.assert_allclose(
        log_density_by_quadrature(t, 0.5), levy_log_density(t), rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("a", [0.3, 0.6, 0.8])
def test_quadrature_agrees_with_scipy(a):
    # scipy's scale cos(π a/2)^(1/a) with beta = 1 gives E exp(-r S) = exp(-r^a).
    law = stats.levy_stable(a, 1, scale=np.cos(np.pi * a / 2) ** (1 / a))
    t = np.array([-0.5, 0.0, 0.7, 2.0])
    # scipy integrates to a relative accuracy of about 1e-8 only, and less at the edge.
    np.testing.assert_allclose(
        np.exp(log_density_by_quadrature(t, a) - t), law.pdf(np.exp(t)), rtol=1e-5
    )


@pytest.mark.parametrize("a", INDICES)
def test_table_agrees_with_quadrature(a):
    table = positive_stable_table(a)
    t = np.linspace(table.t_left - 0.01 * abs(table.t_left), 2 * table.t_right, 1003)
    exact = log_density_by_quadrature(t, a)
    tabulated = np.array([log_density(x, table) for x in t])
    matters = exact > exact.max() - 40
    np.testing.assert_allclose(tabulated[matters], exact[matters], rtol=0, atol=1e-5)
    np.testing.assert_allclose(tabulated, exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("a", [0.25, 0.5, 0.75, 0.95])
@pytest.mark.parametrize("rate", [0.1, 1.0, 3.0])
def test_laplace_transform_of_the_table(a, rate):
    table = positive_stable_table(a)
    value, _ = quad(
        lambda t: np.exp(log_density(t, table) - rate * np.exp(min(t, 700))),
        table.t_left,
        np.log(50 / rate),
        points=[-0.1, 0.0, 0.1, 1.0],
        limit=400,
    )
    assert value == pytest.approx(np.exp(-(rate**a)), abs=2e-6)


@pytest.mark.parametrize("a", INDICES)
def test_draws_follow_the_table(a):
    table = positive_stable_table(a)
    t = draw(a, 4000, seed=1)
    grid = np.concatenate(
        [
            np.linspace(table.t_left, table.t_middle, 4000),
            np.linspace(table.t_middle, max(t.max(), table.t_right) + 1, 8000)[1:],
        ]
    )
    density = np.exp([log_density(x, table) for x in grid])
    cdf = np.concatenate([[0], np.cumsum(np.diff(grid) * (density[1:] + density[:-1]) / 2)])
    assert stats.kstest(t, lambda x: np.interp(x, grid, cdf)).pvalue > 0.005


def test_draws_are_levy_at_one_half():
    # S = 1/(2 Z²).
    z = np.abs(np.random.default_rng(2).standard_normal(5000))
    assert stats.ks_2samp(draw(0.5, 5000, seed=3), -np.log(2) - 2 * np.log(z)).pvalue > 0.005


def test_fractional_moments():
    # E S^r = Γ(1 - r/a)/Γ(1 - r); its own variance is finite for r < a/2.
    a, r = 0.75, 0.3
    s = np.exp(r * draw(a, 40000, seed=4))
    expected = gamma(1 - r / a) / gamma(1 - r)
    assert abs(s.mean() - expected) < 4 * s.std() / np.sqrt(s.size)


def test_index_one_is_a_constant():
    assert np.all(draw(1.0, 5) == 0.0)

"""The table of the laws of splits against the laws themselves, integrals and simulated children."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma

from skbayesnn.numerics import stable_laws
from skbayesnn.numerics.jit import kernel
from skbayesnn.numerics.stable_laws import log_densities, positive_stable_table
from skbayesnn.stable.partitions import bridge, split_table
from skbayesnn.stable.partitions.bridge import splitting_workspace

sample = kernel(stable_laws.sample_log_positive_stable)
split_share = kernel(bridge.split_share)
t_place = kernel(split_table.t_place)
laws_of_share = kernel(split_table.laws_of_share)
split_from_laws = kernel(split_table.split_from_laws)
spread_of_share = kernel(split_table.spread_of_share)
spread_from_table = kernel(split_table.spread_from_table)


def split_spread(t, table):
    return spread_from_table(t, table.t_first, table.spread_per_unit, table.spread)


def shares(z):
    # Beyond ±700 the share is zero or one to all digits.
    return 1.0 / (1.0 + np.exp(-np.clip(z, -700.0, 700.0)))


@pytest.mark.parametrize("alpha", [0.02, 0.5, 1.1, 1.5, 1.98])
def test_quantiles_against_the_law_itself(alpha):
    a, rng = alpha / 2, np.random.default_rng(0)
    table, workspace = split_table.split_table(a), splitting_workspace()
    laws = np.empty(table.below.shape[1:], dtype=np.float32)
    levels = (np.arange(400) + 0.5) / 400
    distances = []
    for i in range(60):
        # Scales of the prior, and much larger ones, as where f jumps.
        t = sample(a, rng) if i % 2 else table.t_first + rng.random() * 10.0 / a
        odds = -abs(2.0 * rng.normal())
        log_rho, log_rest = -np.log1p(np.exp(-odds)), -np.log1p(np.exp(odds))
        laws_of_share(odds, table.log_odds[0], table.below, laws)
        place = t_place(t, table.t_first, table.t_width, a)
        got = [odds + split_from_laws(u, place, laws, table.y) for u in levels]
        law = [split_share(u, t, log_rho, log_rest, table.law, workspace) for u in levels]
        distances.append(np.abs(shares(np.array(got)) - shares(np.array(law))).mean())
    # The distance of the two laws of R (Wasserstein's). It is 0.0005 on average for most indices
    # and 0.001 near two, and at most 0.007; the levels add up to 1/400 where the law has two modes.
    assert np.mean(distances) < 0.0015
    assert np.max(distances) < 0.01


@pytest.mark.parametrize("alpha", [0.2, 1.1, 1.8])
@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 0.999])
def test_spread_is_the_integral_over_jumps(alpha, level):
    """h(t) = ∫ (x/s)² ν(x) p(s-x)/p(s) dx, ν the density of the jumps of the subordinator."""
    a, rng = alpha / 2, np.random.default_rng(0)
    table = split_table.split_table(a)
    t = float(np.quantile([sample(a, rng) for _ in range(2000)], level))

    def integrand(log_ratio):
        # The jump is x = s r and what else there is s (1-r), r from its log-odds; densities of s
        # are those of log s over s.
        r, rest = shares(log_ratio), shares(-log_ratio)
        log_p = log_densities(np.array([t + np.log(rest), t]), table.law)
        jumps = a / gamma(1.0 - a) * np.exp(-a * t) * r ** (-1.0 - a)
        return r**2 * jumps * np.exp(log_p[0] - log_p[1]) * r

    expected = quad(integrand, -40.0, 400.0 / (1.0 + a), limit=2000, points=[0.0, 10.0])[0]
    # The law of a split in halves says the same to all digits of the density, and between nodes of
    # the table h is linear.
    assert spread_of_share(t, table.law) == pytest.approx(expected, abs=1e-4)
    assert split_spread(t, table) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize("alpha", [0.5, 1.1, 1.9])
@pytest.mark.parametrize("rho", [0.5, 0.1])
def test_moments_of_simulated_children(alpha, rho):
    """E R = ρ and E R (1-R) = ρ (1-ρ) (1 - h), of all parents and of large and small ones."""
    a, n, rng = alpha / 2, 20_000, np.random.default_rng(0)
    table = split_table.split_table(a)
    first = np.array([sample(a, rng) for _ in range(n)]) + np.log(rho) / a
    second = np.array([sample(a, rng) for _ in range(n)]) + np.log1p(-rho) / a
    parents, R = np.logaddexp(first, second), shares(first - second)
    h = np.array([split_spread(t, table) for t in parents])
    for rows in (slice(None), parents < np.median(parents), parents >= np.median(parents)):
        for got, expected in (
            (R[rows] - rho, 0.0), ((R * (1.0 - R) - rho * (1.0 - rho) * (1.0 - h))[rows], 1e-3)
        ):  # fmt: skip
            # Four standard errors, and what the table may be off.
            assert abs(got.mean()) < 4.0 * got.std() / np.sqrt(got.size) + expected


def test_beyond_the_table_it_says_so():
    table = split_table.split_table(0.55)
    laws = np.tile(np.linspace(0.2, 0.8, table.y.size, dtype=np.float32), (3, 1))
    assert np.isnan(split_from_laws(0.1, 1.5, laws, table.y))
    assert np.isnan(split_from_laws(0.9, 1.5, laws, table.y))
    assert split_from_laws(0.5, 1.5, laws, table.y) == pytest.approx(0.0, abs=1e-6)
    for alpha in (0.02, 0.5, 1.1, 1.98):
        other = split_table.split_table(alpha / 2)
        assert 1.0 - 1e-4 < split_spread(2.0 * other.t_last, other) < 1.0
    first = spread_of_share(table.t_first, table.law)
    assert split_spread(table.t_first - 1e9, table) == pytest.approx(first, rel=1e-9)


def test_spread_is_exact_at_both_ends():
    """Next to no scale is shared like the mass; a huge one is one jump."""
    law = positive_stable_table(0.55)
    assert 0.0 < spread_of_share(law.t_left, law) < 0.02
    # 1 - h falls as the scale of what is no jump over that of the jump, about t exp(-t).
    assert 0.0 < 1.0 - spread_of_share(20.0, law) < 1e-4

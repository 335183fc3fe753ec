"""The law of a split against simulated children and against a fine grid."""

import numpy as np
import pytest

from skbayesnn.numerics import stable_laws
from skbayesnn.numerics.jit import kernel
from skbayesnn.numerics.stable_laws import (
    positive_stable_table,
    sample_log_positive_stable,
)
from skbayesnn.stable.partitions import bridge
from skbayesnn.stable.partitions.bridge import split_draws, splitting_workspace

log_density = kernel(stable_laws.log_density)
split_share = kernel(bridge.split_share)

LEVELS = np.array([0.02, 0.25, 0.5, 0.75, 0.98])


@pytest.mark.parametrize("alpha", [0.01, 0.5, 1.1, 1.5, 1.9])
@pytest.mark.parametrize("rho", [0.5, 0.05])
def test_simulated_children_fall_below_each_quantile_as_often_as_they_should(alpha, rho):
    """Children are drawn first, their parent is their sum; then P(R < Q(u | s)) = u."""
    a, n = alpha / 2, 4000
    rng = np.random.default_rng(0)
    table, workspace = positive_stable_table(a), splitting_workspace()
    below = np.empty((n, LEVELS.size))
    parent = np.empty(n)
    for i in range(n):
        first = sample_log_positive_stable(a, rng) + np.log(rho) / a
        second = sample_log_positive_stable(a, rng) + np.log1p(-rho) / a
        parent[i] = np.logaddexp(first, second)
        below[i] = [
            first - second
            < split_share(u, parent[i], np.log(rho), np.log1p(-rho), table, workspace)
            for u in LEVELS
        ]
    # For all parents, and for small and large ones by themselves: 10 numbers a case, and
    # |z| > 4.2 has a probability of 3e-5 for each.
    for rows in (slice(None), parent < np.median(parent), parent >= np.median(parent)):
        share = below[rows]
        z = (share.mean(axis=0) - LEVELS) / np.sqrt(LEVELS * (1 - LEVELS) / len(share))
        assert np.abs(z).max() < 4.2


@pytest.mark.long
@pytest.mark.parametrize("alpha", [0.1, 1.1, 1.5, 1.9, 1.99])
@pytest.mark.parametrize("rho", [0.3, 1e-3])
@pytest.mark.parametrize("t", [-0.02, 0.5, 3.0])
def test_quantiles_against_a_fine_grid(alpha, rho, t):
    a = alpha / 2
    table, workspace = positive_stable_table(a), splitting_workspace()
    edge = (table.t_left - abs(table.t_left)) * 2 - 30 / a
    z = np.linspace(max(edge, -400), min(-edge, 400), 200_001)
    if alpha > 1.5:
        z = np.linspace(np.log(rho) - 8, 8, 200_001)
    log_first, log_second = -np.logaddexp(0, -z), -np.logaddexp(0, z)
    log_weight = np.array(
        [
            log_density(t - np.log(rho) / a + p, table)
            + log_density(t - np.log1p(-rho) / a + q, table)
            for p, q in zip(log_first, log_second, strict=True)
        ]
    )
    cdf = np.cumsum(np.exp(log_weight - log_weight.max()))
    cdf /= cdf[-1]
    got = [split_share(u, t, np.log(rho), np.log1p(-rho), table, workspace) for u in LEVELS]
    np.testing.assert_allclose(np.interp(got, z, cdf), LEVELS, atol=0.016)


def test_a_split_in_halves_is_symmetric():
    table, workspace = positive_stable_table(0.55), splitting_workspace()
    half = np.log(0.5)
    for u in (0.1, 0.3):
        low = split_share(u, 1.0, half, half, table, workspace)
        high = split_share(1 - u, 1.0, half, half, table, workspace)
        assert low == pytest.approx(-high, abs=1e-9)


def test_draws_in_groups_have_nearly_the_quantiles_of_each():
    """Their mean probability below z, which is what predictions average, stays right."""
    rng = np.random.default_rng(0)
    a = 0.55
    table, workspace = positive_stable_table(a), splitting_workspace()
    log_scales = np.array([sample_log_positive_stable(a, rng) for _ in range(4000)])
    levels = (rng.permutation(4000) + 0.5) / 4000
    shares = np.array([0.5, 0.02])
    z = split_draws(levels, log_scales, np.log(shares), np.log1p(-shares), table)
    for i, rho in enumerate(shares):
        each = [
            split_share(u, t, np.log(rho), np.log1p(-rho), table, workspace)
            for u, t in zip(levels, log_scales, strict=True)
        ]
        cuts = np.quantile(each, [0.05, 0.25, 0.5, 0.75, 0.95])
        np.testing.assert_allclose(
            (z[i][:, None] < cuts).mean(axis=0), [0.05, 0.25, 0.5, 0.75, 0.95], atol=0.01
        )

"""A table of the distributions of all splits, for each index.

Let R be the first child's share of the variance of a cell
(:mod:`~skbayesnn.stable.partitions.bridge`). The distribution of z = log R - log(1 - R) depends
only on the share ρ of the mass and on t = log s. Its distribution function is tabulated over t, log
ρ - log(1 - ρ) and y = z - (log ρ - log(1 - ρ)). Between the nodes it is linear in all three, which
makes it a mixture of the distributions at the nodes. Outside the table, the distribution is
computed directly.

Given t, R is the position at time ρ of a pure jump process on [0, 1] with exchangeable increments.
Such a process jumps at independent uniform times (Kallenberg 1973), so that

    E[R | t] = ρ,    E[R (1-R) | t] = ρ (1-ρ) (1 - h(t)),

where h(t) is the mean of the sum of the squared jumps. Two moments of all splits thus depend on a
single function of t.
"""

from functools import lru_cache
from math import exp, log, log1p, nan
from typing import NamedTuple

import numpy as np

from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.numerics.stable_laws import (
    PositiveStableTable,
    log_density,
    positive_stable_table,
)
from skbayesnn.stable.partitions.bridge import split_law, splitting_workspace

# The distance between nodes of t is the harmonic sum of a fraction of the distance from the start
# of the support and a constant over the index. That between nodes of y is a fraction of the
# distance from zero and, near zero, of the width of the distribution. The tests bound the error in
# probability.
_T_GROWTH, _T_SPACING = 0.2, 0.4
_RHO_SPACING = 0.2
_Y_SPACING = 0.12
# Range of the nodes. A larger t has a prior probability of e^-20; a smaller share of the mass is
# computed directly.
_MAX_T = 20.0
_MAX_LOG_ODDS = 10.0
_N_SPREAD = 4096
# Nodes of the sum for h; beyond them, R (1-R) is below e^-40.
_SPREAD_STEP, _SPREAD_REACH = 0.2, 40.0
# Marks values outside the table.
OUTSIDE = -1.0


class SplitTable(NamedTuple):
    """Distributions of splits for one index; see :func:`split_table`.

    Attributes
    ----------
    law : PositiveStableTable
        Stable distribution of the scales for this index.
    t_first, t_last, t_width : float
        First and last node of t, and the distance from the first node beyond which the nodes are
        evenly spaced.
    log_odds : ndarray of shape (n_rho,)
        Nodes of log ρ - log(1 - ρ), evenly spaced from below zero to zero or just above.
    y : ndarray of shape (n_y,)
        Nodes of y.
    below : ndarray of shape (n_rho, n_t, n_y), float32
        Distribution function of y at the nodes.
    spread : ndarray of shape (n_spread,)
        h at evenly spaced t, from the first node to the last.
    spread_per_unit : float
        Number of these values per unit of t.
    """

    law: PositiveStableTable
    t_first: float
    t_last: float
    t_width: float
    log_odds: np.ndarray
    y: np.ndarray
    below: np.ndarray
    spread: np.ndarray
    spread_per_unit: float


@helper
def t_place(t, t_first, t_width, a):
    """Number of the node at t, counted from 0; fractional between nodes.

    Parameters
    ----------
    t : float
        At least ``t_first``.
    t_first, t_width : float
        From the table.
    a : float
        The index.
    """
    x = t - t_first
    return log1p(x / t_width) / _T_GROWTH + a * x / _T_SPACING


@lru_cache(maxsize=128)
def split_table(a):
    """Tabulate the distributions of all splits for one index.

    Parameters
    ----------
    a : float
        Index of the scales in (0, 1), which is half the index of the weights.

    Returns
    -------
    table : SplitTable
        It takes one or two megabytes, and a few hundredths of a second (a fifth of a second if the
        index is near one). It is cached, because predictions with a sampled index need one for each
        value of the index.
    """
    law = positive_stable_table(a)
    scale = (1.0 - a) / a
    first, last, width = law.t_left, _MAX_T / a, 4.0 * scale
    # Find the nodes of t by bisection of their number; the last one is the end of the table.
    n_t = int(np.ceil(t_place(last, first, width, a))) + 1
    low, high = np.full(n_t, first), np.full(n_t, last + 10.0 * _T_SPACING / a)
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = [t_place(t, first, width, a) > i for i, t in enumerate(middle)]
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    t = 0.5 * (low + high)
    n_rho = int(np.ceil(_MAX_LOG_ODDS / _RHO_SPACING))
    log_odds = _RHO_SPACING * np.arange(-n_rho, 1.0)
    # The smaller child has a scale of at least exp(t_left), and R is its share of s.
    farthest = t[-1] - first + _MAX_LOG_ODDS * scale + 1.0
    near = min(1.0, 2.0 * scale)
    half = int(np.ceil(np.arcsinh(farthest / near) / _Y_SPACING))
    y = near * np.sinh(_Y_SPACING * np.arange(-half, half + 1.0))
    below = np.empty((log_odds.size, t.size, y.size), dtype=np.float32)
    spread = np.empty(t.size)
    _tabulate(t, log_odds, y, law, splitting_workspace(), below, spread)
    # Even spacing allows a look-up without a logarithm.
    even = np.linspace(first, t[-1], _N_SPREAD)
    spread_per_unit = (_N_SPREAD - 1) / (t[-1] - first)
    return SplitTable(
        law, first, t[-1], width, log_odds, y, below, np.interp(even, t, spread), spread_per_unit
    )


@kernel
def _tabulate(t, log_odds, y, law, workspace, below, spread):
    z, mass, weight = workspace[0], workspace[2], workspace[1]
    for i in range(t.shape[0]):
        spread[i] = spread_of_share(t[i], law)
        for r in range(log_odds.shape[0]):
            log_rho, log_rest = -log1p(exp(-log_odds[r])), -log1p(exp(log_odds[r]))
            n = split_law(t[i], log_rho, log_rest, law, workspace)
            node = 0
            for k in range(y.shape[0]):
                at = y[k] + log_odds[r]
                while node < n - 1 and z[node + 1] <= at:
                    node += 1
                if at <= z[0]:
                    below[r, i, k] = 0.0
                elif node == n - 1:
                    below[r, i, k] = 1.0
                else:
                    # The density is linear between neighbouring nodes.
                    step = z[node + 1] - z[node]
                    part = at - z[node]
                    slope = (weight[node + 1] - weight[node]) / step
                    under = mass[node] + part * (weight[node] + 0.5 * slope * part)
                    below[r, i, k] = under / mass[n - 1]


@helper
def spread_of_share(t, law):
    """h(t), from the distribution of a split in halves.

    The density of z given t is g(t') g(t'')/g(t), and R (1-R) is negligible unless z is near zero.
    A sum over evenly spaced nodes is therefore accurate to many digits.

    Parameters
    ----------
    t : float
        log s of the parent.
    law : PositiveStableTable

    Returns
    -------
    h : float
        In [0, 1).
    """
    step = min(_SPREAD_STEP, 0.25 * (1.0 - law.a) / law.a)
    shift, log_g, total = t + log(2.0) / law.a, log_density(t, law), 0.0
    for node in range(int(_SPREAD_REACH / step)):
        # The distribution is symmetric.
        z = -step * node
        larger = -log1p(exp(z))
        smaller = z + larger
        log_weight = log_density(shift + smaller, law) + log_density(shift + larger, law) - log_g
        total += (1.0 if node == 0 else 2.0) * exp(smaller + larger + log_weight)
    return 1.0 - 4.0 * step * total


@helper
def spread_from_table(t, t_first, per_unit, spread):
    """h(t), interpolated linearly between evenly spaced nodes.

    Below the first node, where the density of t is less than e^-60 of its maximum, the value at the
    first node is used. Beyond the last node, where 1 - h is below 1e-4 and falls to zero, it is the
    value at the last node.

    Parameters
    ----------
    t : float
        log s of the parent.
    t_first, per_unit, spread
        From the table.
    """
    x = min(max(t - t_first, 0.0) * per_unit, spread.shape[0] - 1.0)
    i = min(int(x), spread.shape[0] - 2)
    return spread[i] + (x - i) * (spread[i + 1] - spread[i])


@helper
def laws_of_share(log_odds, first, below, laws):
    """The distribution functions for one share of the mass, at all nodes of t and y.

    Parameters
    ----------
    log_odds : float
        log ρ - log(1 - ρ), between the first node and zero.
    first, below
        First node of the log odds and the probabilities, both from the table. The table itself is
        not an argument, because a call would copy all of it.
    laws : ndarray of shape (n_t, n_y), float32
        Overwritten.
    """
    place = (log_odds - first) / _RHO_SPACING
    r = min(int(place), below.shape[0] - 2)
    high = np.float32(place - r)
    low = np.float32(1.0) - high
    for i in range(laws.shape[0]):
        for k in range(laws.shape[1]):
            laws[i, k] = low * below[r, i, k] + high * below[r + 1, i, k]


@helper
def split_from_laws(u, place, laws, y):
    """Quantile of y = z - (log ρ - log(1 - ρ)) at level u, or NaN if it is beyond all nodes.

    Parameters
    ----------
    u : float
        In (0, 1).
    place : float
        From :func:`t_place`; must be within the table.
    laws : ndarray of shape (n_t, n_y)
        From :func:`laws_of_share`.
    y : ndarray of shape (n_y,)
        From the table.
    """
    i = min(int(place), laws.shape[0] - 2)
    b = place - i
    a = 1.0 - b
    low, high = 0, laws.shape[1] - 1
    under = a * laws[i, low] + b * laws[i + 1, low]
    over = a * laws[i, high] + b * laws[i + 1, high]
    if not under < u < over:
        return nan
    while high - low > 1:
        m = (low + high) // 2
        at = a * laws[i, m] + b * laws[i + 1, m]
        if at < u:
            low, under = m, at
        else:
            high, over = m, at
    return y[low] + (y[high] - y[low]) * (u - under) / (over - under)

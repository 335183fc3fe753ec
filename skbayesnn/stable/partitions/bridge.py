"""How a new point divides the variance of the cell that it splits: prediction without a chain.

A cell of mass q and scale s is the sum of its two children. Let ρ be the first child's share of the
mass, and let v' + v'' = v be the variances of the weights. Then

    v'/v = R,    R s = ρ^{2/α} s',    (1-R) s = (1-ρ)^{2/α} s'',

where s' and s'' are independent copies of s. R is thus the position at time ρ of a bridge of the
stable subordinator. The data depend on the children only through their parent. Given a posterior
draw of v, the distribution of R is therefore its prior distribution given s. In terms of z = log R
- log(1-R), its density is g(t') g(t''), where g is the density of t = log s. This module inverts
its distribution function numerically.
"""

from math import ceil, exp, inf, log, log1p, sqrt

import numpy as np

from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.numerics.stable_laws import log_density

# Growth of the distance between nodes, chosen by agreement with a fine grid (the tests check that
# the error in probability is below 0.01). Near a = 1, the density has a sharp edge.
_GROWTH, _GROWTH_NEAR_ONE = 0.04, 0.01
_MAX_NODES = 1024
# The distribution of a split changes slowly with the parent's scale. Draws whose log s differ by
# less than this over the index share one. R changes by at most 0.02, with no bias to one side.
_GROUP_WIDTH = 0.05


def splitting_workspace():
    """A work array for :func:`split_share`, which can be reused between calls."""
    return np.empty((3, 2 * _MAX_NODES))


@helper
def split_law(t, log_rho, log_rest, table, workspace):
    """Tabulate the distribution of R, the first child's share of a cell's variance.

    Parameters
    ----------
    t : float
        log s of the parent.
    log_rho, log_rest : float
        log ρ and log(1 - ρ), the logarithms of the shares of the mass.
    table : PositiveStableTable
    workspace : ndarray
        From :func:`splitting_workspace`. Overwritten with the nodes in z = log R - log(1 - R), the
        density of z at the nodes, and the probability below each node.

    Returns
    -------
    n : int
        Number of nodes.
    """
    a = table.a
    z, weight, mass = workspace[0], workspace[1], workspace[2]
    # The halves meet at R = 1/2; the second is stored backwards from the end of the workspace.
    children = (t - log_rho / a, t - log_rest / a)
    width = 4.0 * (1.0 - a) / a
    growth = _GROWTH if a < 0.75 else _GROWTH_NEAR_ONE
    bottom = min(table.t_left, min(children[0], children[1]) - log(2.0) - width)
    n0 = 0
    n = 0
    for half in range(2):
        # Nodes of the half in which this child is the smaller one. Its log scale starts at
        # `bottom`, where its density begins, and rises in steps that grow with the distance from
        # the bulk.
        first, second = children[half], children[1 - half]
        top = first - log(2.0)
        span = log1p((top - bottom) / width)
        n_nodes = min(ceil(span / growth), _MAX_NODES - 1) + 1
        n = n0 + n_nodes
        for node in range(n_nodes):
            smaller = bottom - top + width * (exp(span * node / (n_nodes - 1)) - 1.0)
            smaller = min(smaller, 0.0) - log(2.0)
            larger = log1p(-exp(smaller))
            i = node if half == 0 else n - 1 - node
            z[i] = smaller - larger if half == 0 else larger - smaller
            weight[i] = log_density(first + smaller, table) + log_density(second + larger, table)
        n0 = n

    highest = -inf
    for i in range(n):
        highest = max(highest, weight[i])
    mass[0] = 0.0
    for i in range(n):
        weight[i] = exp(weight[i] - highest)
        if i > 0:
            mass[i] = mass[i - 1] + 0.5 * (weight[i] + weight[i - 1]) * (z[i] - z[i - 1])
    return n


@helper
def split_quantile(u, n, workspace):
    """Quantile of z = log R - log(1 - R) at level u in (0, 1), from a tabulated distribution."""
    z, weight, mass = workspace[0], workspace[1], workspace[2]
    target = u * mass[n - 1]
    low, high = 0, n - 1
    while high - low > 1:
        middle = (low + high) // 2
        if mass[middle] < target:
            low = middle
        else:
            high = middle
    # The density is linear between neighbouring nodes.
    step = z[high] - z[low]
    height = weight[low] * step
    slope = (weight[high] - weight[low]) * step
    rest = target - mass[low]
    root = sqrt(max(height * height + 2.0 * slope * rest, 0.0))
    fraction = 2.0 * rest / (height + root) if height + root > 0.0 else 0.5
    return z[low] + step * min(fraction, 1.0)


@helper
def split_share(u, t, log_rho, log_rest, table, workspace):
    """Quantile of z = log R - log(1 - R) at level u; see :func:`split_law` for the arguments."""
    n = split_law(t, log_rho, log_rest, table, workspace)
    return split_quantile(u, n, workspace)


def groups(cells):
    """Indices of equal entries, for each distinct cell in increasing order.

    Rows that split the same cell share the sorted order of its draws.

    Parameters
    ----------
    cells : ndarray of int, shape (n,)

    Yields
    ------
    cell : int
    places : ndarray of int
        Indices of this cell in ``cells``, in increasing order.
    """
    order = np.argsort(cells, kind="stable")
    distinct, starts = np.unique(cells[order], return_index=True)
    yield from zip(distinct, np.split(order, starts)[1:], strict=True)


def split_draws(levels, log_scales, log_rho, log_rest, table):
    """Split one cell at several points, for all draws of its scale.

    Parameters
    ----------
    levels, log_scales : ndarray of shape (n_draws,)
        Level of the quantile, and log s, for each draw.
    log_rho, log_rest : ndarray of shape (n_splits,)
        Logarithms of the shares of the mass, each share in (0, 1).
    table : PositiveStableTable

    Returns
    -------
    z : ndarray of shape (n_splits, n_draws)
        log R - log(1 - R) for each draw.
    """
    log_scales = log_scales.astype(np.float64)
    order = np.argsort(log_scales, kind="stable")
    z = np.empty((log_rho.size, levels.size))
    _split_draws(levels, log_scales, order, log_rho, log_rest, table, splitting_workspace(), z)
    return z


@kernel
def _split_draws(levels, log_scales, order, log_rho, log_rest, table, workspace, z):
    n_draws = levels.shape[0]
    for i in range(log_rho.shape[0]):
        stop = 0
        while stop < n_draws:
            start, stop = stop, stop + 1
            end = log_scales[order[start]] + _GROUP_WIDTH / table.a
            while stop < n_draws and log_scales[order[stop]] < end:
                stop += 1
            middle = 0.5 * (log_scales[order[start]] + log_scales[order[stop - 1]])
            n = split_law(middle, log_rho[i], log_rest[i], table, workspace)
            for j in range(start, stop):
                z[i, order[j]] = split_quantile(levels[order[j]], n, workspace)

"""How a new point divides the variance of a cell that it splits: prediction without a chain.

A cell of mass q with scale s is the sum of its children: with ρ the share of the mass
that the first child has, and v' + v'' = v the variances of their weights,

    v'/v = R,    R s = ρ^{2/α} s',    (1-R) s = (1-ρ)^{2/α} s'',

s' and s'' independent copies of s: R is the position at time ρ of a bridge of the
stable subordinator. The data depend on the children through the parent alone, so given
a posterior draw of v the law of R is its prior law given s: in z = log R - log(1-R) its
density is g(t') g(t''), with g the density of t = log s. Here it is inverted numerically.
"""

from math import ceil, exp, inf, log, log1p, sqrt

import numpy as np

from skbayesnn.numerics.jit import kernel
from skbayesnn.numerics.stable_laws import log_density

# Growth of the distance between nodes, from the agreement with a fine grid (the tests
# hold the error in probability below 0.01); near a = 1 the density has a sharp edge.
_GROWTH, _GROWTH_NEAR_ONE = 0.04, 0.01
_MAX_NODES = 1024


@kernel
def softplus(z):
    """log(1 + e^z)."""
    return z + log1p(exp(-z)) if z > 0 else log1p(exp(z))


@kernel
def splitting_workspace():
    """An array for :func:`split_share` to work in, to be used again call by call."""
    return np.empty((3, 2 * _MAX_NODES))


@kernel
def split_share(u, t, log_rho, log_rest, table, workspace):
    """Quantile of the share R of a cell's variance that its first child has.

    Parameters
    ----------
    u : float
        Level in (0, 1).
    t : float
        log s of the parent.
    log_rho, log_rest : float
        log ρ and log(1 - ρ): shares of the mass.
    table : PositiveStableTable
    workspace : ndarray
        From :func:`splitting_workspace`.

    Returns
    -------
    z : float
        log R - log(1 - R).
    """
    a = table.a
    z, weight, mass = workspace[0], workspace[1], workspace[2]
    # Both halves meet at R = 1/2, the second from the other end of the workspace.
    children = (t - log_rho / a, t - log_rest / a)
    width = 4.0 * (1.0 - a) / a
    growth = _GROWTH if a < 0.75 else _GROWTH_NEAR_ONE
    bottom = min(table.t_left, min(children[0], children[1]) - log(2.0) - width)
    n0 = 0
    n = 0
    for half in range(2):
        # Nodes of the half where this child is the smaller one.
        first, second = children[half], children[1 - half]
        top = first - log(2.0)
        span = log1p((top - bottom) / width)
        n_nodes = min(int(ceil(span / growth)), _MAX_NODES - 1) + 1
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
    total = 0.0
    for i in range(n):
        weight[i] = exp(weight[i] - highest)
        if i > 0:
            mass[i] = 0.5 * (weight[i] + weight[i - 1]) * (z[i] - z[i - 1])
            total += mass[i]
    target = u * total
    last = 1
    while last < n - 1 and target > mass[last]:
        target -= mass[last]
        last += 1
    # The density is linear between two nodes.
    step = z[last] - z[last - 1]
    height = weight[last - 1] * step
    slope = (weight[last] - weight[last - 1]) * step
    root = sqrt(max(height * height + 2.0 * slope * target, 0.0))
    fraction = 2.0 * target / (height + root) if height + root > 0.0 else 0.5
    return z[last - 1] + step * min(fraction, 1.0)

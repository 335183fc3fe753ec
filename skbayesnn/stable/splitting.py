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
def _place_nodes(bottom, top, width, growth, smaller, larger):
    """Where one child has at most half: log-shares of the smaller and the larger child.

    The log-scale of the smaller child rises from ``bottom``, where its density begins,
    to ``top``, in steps that grow away from the bulk of the density, ``width`` wide.
    """
    span = log1p((top - bottom) / width)
    n = min(int(ceil(span / growth)), _MAX_NODES - 1) + 1
    for i in range(n):
        log_share = min(bottom - top + width * (exp(span * i / (n - 1)) - 1.0), 0.0) - log(2.0)
        smaller[i] = log_share
        larger[i] = log1p(-exp(log_share))
    return n


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
    first, second = t - log_rho / a, t - log_rest / a
    width = 4.0 * (1.0 - a) / a
    growth = _GROWTH if a < 0.75 else _GROWTH_NEAR_ONE
    bottom = min(table.t_left, min(first, second) - log(2.0) - width)
    z, weight, spare = workspace[0], workspace[1], workspace[2]
    # From the smallest share of the first child up to a half, then on to the smallest
    # of the second; z takes the log-shares first and then their difference.
    n0 = _place_nodes(bottom, first - log(2.0), width, growth, z, spare)
    top = -inf
    for i in range(n0):
        weight[i] = log_density(first + z[i], table) + log_density(second + spare[i], table)
        z[i] -= spare[i]
        top = max(top, weight[i])
    n1 = _place_nodes(bottom, second - log(2.0), width, growth, z[n0:], spare)
    n = n0 + n1
    for i in range(n0, n):
        weight[i] = log_density(second + z[i], table) + log_density(first + spare[i - n0], table)
        z[i] = spare[i - n0] - z[i]
        top = max(top, weight[i])
    z[n0:n] = z[n0:n][::-1].copy()
    weight[n0:n] = weight[n0:n][::-1].copy()

    total = 0.0
    for i in range(n):
        weight[i] = exp(weight[i] - top)
        if i > 0:
            spare[i] = 0.5 * (weight[i] + weight[i - 1]) * (z[i] - z[i - 1])
            total += spare[i]
    target = u * total
    for i in range(1, n):
        if target <= spare[i] or i == n - 1:
            # The density is linear between two nodes.
            step = z[i] - z[i - 1]
            slope = (weight[i] - weight[i - 1]) * step
            height = weight[i - 1] * step
            root = sqrt(max(height * height + 2.0 * slope * target, 0.0))
            fraction = 2.0 * target / (height + root) if height + root > 0.0 else 0.5
            return z[i - 1] + step * min(fraction, 1.0)
        target -= spare[i]
    return z[n - 1]

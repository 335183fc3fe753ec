"""Monotone maps between positive stable laws of different index, on a log scale.

If t = log S has index a, then T(t), with T the quantile function of index b after the
distribution function of index a, has index b. A sampler that changes the index moves all
its scales along T, so that the prior has no say in whether the change is accepted. T is
made of broken lines (logit of the distribution function against t), exactly invertible;
what they miss of the true map is made good by the density ratio and the slope of T.
"""

from functools import lru_cache
from math import log

import numpy as np

from skbayesnn.numerics.jit import helper
from skbayesnn.numerics.stable_laws import log_densities, positive_stable_table


@lru_cache(maxsize=128)
def logit_curve(a):
    """Values t of log S, and the logit of the probability below each, for index ``a``.

    Returns
    -------
    t, logit : ndarray of shape (n_nodes,)
        For :func:`transport`.
    """
    table = positive_stable_table(a)
    left = np.linspace(table.t_left, table.t_middle, 700)
    right = np.linspace(table.t_middle, max(table.t_middle, table.t_right) + 5.0 / a, 300)[1:]
    t = np.concatenate([left, right])
    density = np.exp(log_densities(t, table))
    between = 0.5 * (density[1:] + density[:-1]) * np.diff(t)
    # Beyond the ends: the density rises by more than e a node, and falls like exp(-a t).
    below = np.cumsum(np.append(density[0] * (t[1] - t[0]), between))
    above = np.cumsum(np.append(density[-1] / a, between[::-1]))[::-1]
    return t, np.log(below) - np.log(above)


@helper
def _interpolate(x, nodes, values):
    """A broken line, its ends prolonged, at x; and its slope there."""
    low, high = 0, nodes.shape[0] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if nodes[middle] <= x:
            low = middle
        else:
            high = middle
    slope = (values[high] - values[low]) / (nodes[high] - nodes[low])
    return values[low] + slope * (x - nodes[low]), slope


@helper
def transport(t, curve_a, curve_b):
    """Carry a value of log S of one index to one of another.

    Parameters
    ----------
    t : float
    curve_a, curve_b : tuple of ndarray
        Of both indices, from :func:`logit_curve`.

    Returns
    -------
    t_b : float
    log_slope : float
        Logarithm of the derivative of ``t_b`` in ``t``.
    """
    logit, slope_a = _interpolate(t, curve_a[0], curve_a[1])
    t_b, slope_b = _interpolate(logit, curve_b[1], curve_b[0])
    return t_b, log(slope_a * slope_b)

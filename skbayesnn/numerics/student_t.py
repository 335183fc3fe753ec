"""Student's t as a finite mixture of Gaussians.

A Student variable of κ degrees of freedom is Gaussian with variance 1/p, p ~ Gamma(κ/2, rate κ/2).
The distribution of p is cut at the same quantile levels for every κ, and the middle level of each
piece represents it.
"""

import numpy as np
from scipy.special import gammaincinv

LOWEST = [0.0, 1e-13, 1e-10, 1e-8, 1e-6, 1e-5]
LEVELS = np.concatenate([LOWEST, np.geomspace(1e-4, 0.1, 8), np.linspace(0.1, 1.0, 8)[1:]])
"""Quantile levels at which it is cut; finer where p is low, which makes the tails. The lowest are
for rows hundreds of deviations away, where a Gaussian would have no density left."""
MASSES, MIDDLES = np.diff(LEVELS), 0.5 * (LEVELS[1:] + LEVELS[:-1])
N_HALVES = 10
"""How often the lowest of evenly spread levels is halved."""


def student_variances(degrees, levels=MIDDLES):
    """Variances 1/p at quantile levels of the distribution of p.

    Parameters
    ----------
    degrees : float or ndarray
        κ; infinity gives variances of one.
    levels : ndarray, default=MIDDLES
        To be broadcast with ``degrees``. With the default, the Gaussians of these variances have
        the probabilities :data:`MASSES`.

    Returns
    -------
    variances : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> std = np.sqrt(student_variances(4.0))
    >>> round(float(MASSES @ stats.norm.cdf(2.0 / std)), 2), round(float(stats.t.cdf(2.0, 4)), 2)
    (0.94, 0.94)
    """
    degrees, levels = np.broadcast_arrays(degrees, levels)
    variances, finite = np.ones(levels.shape), np.isfinite(degrees)
    half = 0.5 * degrees[finite]
    variances[finite] = half / gammaincinv(half, levels[finite])
    return variances


def with_tail(levels):
    """Evenly spread levels, the lowest of which is replaced by lower ones of smaller mass.

    n levels do not represent events rarer than 1 / n, which the tails of Student's t consist of: a
    mixture of n Gaussians gives a row far outside e⁻¹⁰⁰ times its density. Therefore the lowest
    n-th is halved ten times.

    Parameters
    ----------
    levels : ndarray of shape (n,)
        (k + ½) / n for k below n, in any order.

    Returns
    -------
    levels : ndarray of shape (n + 10,)
    places : ndarray of int of shape (n + 10,)
        Which of the levels given each stands for: the added ones, the lowest in turn.
    masses : ndarray of shape (n + 10,)
        Their sum is one.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> given = (np.arange(100) + 0.5) / 100
    >>> levels, _, masses = with_tail(given)
    >>> exact, deviations = stats.t.logpdf(60.0, 3), np.sqrt(student_variances(3.0, levels))
    >>> float(np.log(masses @ stats.norm.pdf(60.0, scale=deviations)) - exact).__round__(1)
    -0.0
    >>> plain = np.mean(stats.norm.pdf(60.0, scale=np.sqrt(student_variances(3.0, given))))
    >>> float(np.log(plain) - exact).__round__(1)
    -35.2
    """
    n = len(levels)
    places = np.concatenate([np.arange(n), np.resize(np.argsort(levels), N_HALVES)])
    upper = 0.5 ** np.arange(N_HALVES + 1) / n
    lower = np.append(upper[1:], 0.0)
    first = np.argmin(levels)
    levels = np.append(levels, 0.5 * (upper + lower)[1:])
    masses = np.append(np.full(n, 1.0 / n), (upper - lower)[1:])
    levels[first], masses[first] = 0.5 * (upper + lower)[0], upper[0] - lower[0]
    return levels, places, masses

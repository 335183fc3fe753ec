"""Student's t as a finite mixture of Gaussians.

A Student variable of κ degrees of freedom is Gaussian with variance 1/p, p ~ Gamma(κ/2, rate κ/2).
The law of p is cut into pieces at the same levels for every κ, and the middle of each piece stands
for it.
"""

import numpy as np
from scipy.special import gammaincinv

LEVELS = np.concatenate([[0.0], np.geomspace(1e-4, 0.1, 8), np.linspace(0.1, 1.0, 8)[1:]])
"""Where the law of p is cut; finer where p is low, which makes the tails."""
MASSES, MIDDLES = np.diff(LEVELS), 0.5 * (LEVELS[1:] + LEVELS[:-1])


def student_variances(degrees, levels=MIDDLES):
    """Variances 1/p at levels of the law of p.

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

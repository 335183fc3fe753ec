"""The spread of a linear pool, corrected by rows that the members were not fitted to.

A linear pool of calibrated members is too wide where they disagree (Gneiting and Ranjan,
"Combining predictive distributions", Electronic Journal of Statistics 2013, whose spread-adjusted
pool has one factor, too, but scales each member about its own centre). Here the pool is scaled
about its median m: with the factor c, the density of y is f(m + (y - m) / c) / c. A mean would not
do: where the noise is small a component of little weight that lies far away takes it out of the
bulk, which would then move towards it. The factor is that with the best log score over the rows
held out, under the prior log c ~ N(0, 0.2²): a table of 20 rows moves it by little, one of 200 rows
where it wants.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from skbayesnn.predictive import moved

_PRIOR_DEVIATION = 0.2
_LARGEST = np.log(2.0)
_N_STARTS = 17
_TOLERANCE = 1e-4
"""Of log c: the log score is flat there to about its square."""


def median(pool):
    """That of each row, (n_rows,)."""
    return pool.quantile([0.5])[:, 0]


def scaled(pool, factor):
    """The pool with its distances from the median multiplied by a factor.

    Parameters
    ----------
    pool : PredictiveMixture
    factor : float

    Returns
    -------
    scaled : PredictiveMixture
    """
    if factor == 1.0:
        return pool
    centre = median(pool)
    return moved(pool, centre + factor * (pool.mean() - centre), factor)


def spread_factor(pools, targets, weights=None):
    """Factor of the spread with the largest posterior density, between one half and two.

    Parameters
    ----------
    pools : list of PredictiveMixture
        One for each fold, of rows that no member was fitted to.
    targets : list of ndarray
        Of the same rows.
    weights : list of ndarray or None, default=None
        Of the same rows; None for a weight of one.

    Returns
    -------
    factor : float
        One exactly, where no other is better.
    """
    weights = [np.ones(len(y)) for y in targets] if weights is None else weights
    parts = [(pool, median(pool), y, w) for pool, y, w in zip(pools, targets, weights, strict=True)]
    total = sum(w.sum() for w in weights)

    def loss(log_factor):
        score = sum(
            w @ pool.logpdf(centre + (y - centre) * np.exp(-log_factor))
            for pool, centre, y, w in parts
        )
        return total * log_factor - score + 0.5 * (log_factor / _PRIOR_DEVIATION) ** 2

    # Narrow peaks of the pool make several maxima: a grid first. It holds zero.
    grid = np.linspace(-_LARGEST, _LARGEST, _N_STARTS)
    values = np.array([loss(at) for at in grid])
    best = values.argmin()
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, _N_STARTS - 1)]
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": _TOLERANCE})
    at = found.x if found.fun < values[best] else grid[best]
    return 1.0 if loss(0.0) <= loss(at) else float(np.exp(at))

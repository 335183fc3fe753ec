"""Two modes of the kernel of the dense part between which the rows do not decide.

The search for the kernel (:mod:`~skbayesnn.stable.additive.scales`) has two starts and may end at
two places. For example, g may depend on all inputs together or on a few of them. The evidence alone
would choose the larger one, by however little. However, the rows also provide the log density of
each row given all others. If the sum of the differences of these densities is within two standard
errors of zero, the rows do not show which mode predicts better. Half of the chains then use each
mode, and predictions mix both. A chain never changes its mode.
"""

import numpy as np

_ERRORS = 2.0
"""Number of standard errors within which a sum of differences is inconclusive."""

_SAME = 0.05
"""Two modes count as one if their means of left-out rows differ by at most this fraction of the
errors of these means. On 16 real tables, the fraction was up to 0.0001 if the searches ended at the
same place, and at least 0.5 otherwise."""


def are_one(first, second):
    """Whether two Gaussian limits give the same predictions for left-out rows.

    Parameters
    ----------
    first, second : GaussianLimit
    """
    change = first.left_out_means - second.left_out_means
    errors = first.left_out_errors
    return bool(change @ change <= _SAME**2 * (errors @ errors))


def gain_of(one, other):
    """How much more probable one Gaussian limit makes left-out rows, in nats, and its error.

    Parameters
    ----------
    one, other : GaussianLimit
        For the same rows.

    Returns
    -------
    gain, error : float
        The sum of the differences of the log densities, and its standard error.
    """
    difference = one.left_out_log_densities - other.left_out_log_densities
    return difference.sum(), difference.std() * np.sqrt(difference.size)


def not_told_apart(limits):
    """The best limit, then those that left-out rows do not show to be worse.

    Parameters
    ----------
    limits : list of GaussianLimit
        All for the same rows.

    Returns
    -------
    limits : list of GaussianLimit
    """
    best = max(limits, key=lambda limit: limit.left_out_log_densities.sum())
    kept = [best]
    for limit in limits:
        gain, error = gain_of(best, limit)
        if limit is not best and gain <= _ERRORS * error:
            kept.append(limit)
    return kept


def for_each_mode(cells, draws, compute):
    """Evaluate a function of the draws that depends on the mode of each draw.

    Parameters
    ----------
    cells : AdditiveCells
    draws : AdditiveDraws
    compute : callable
        Computes an array of shape (..., n_draws), or a tuple of several, from the cells of one mode
        and the draws of its chains.

    Returns
    -------
    found : ndarray of shape (..., n_draws)
    """
    if not cells.modes:
        return compute(cells, draws)
    found = None
    for number, mode in enumerate(cells.modes):
        here = np.flatnonzero(draws.mode == number)
        if here.size == 0:
            continue
        group = draws.take(here)
        # A smaller basis does not use the last coefficients.
        part = np.asarray(compute(mode, group._replace(theta=group.theta[:, : mode.n_basis])))
        if found is None:
            found = np.empty((*part.shape[:-1], draws.mode.size))
        found[..., here] = part
    return found

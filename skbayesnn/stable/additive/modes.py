"""Two modes of the kernel of the dense part that the rows do not tell apart.

The search for the kernel (:mod:`~skbayesnn.stable.additive.scales`) begins twice, and may end in
two places: what all inputs say together, say, or what a few of them do. The evidence alone would
take the larger one, by however little. But the log densities of the rows, each left out in turn,
are as many numbers: where the sum of their differences is within two standard errors, the rows do
not say which mode predicts better. Half of the chains then have each, and predictions are mixtures
of both. A chain keeps its mode: there is no move between them.
"""

import numpy as np

_ERRORS = 2.0
"""Standard errors of a sum of differences up to which it says nothing."""

_SAME = 0.05
"""Modes are one where the means of left-out rows differ by this share of their errors, or less:
on 16 real tables those of searches that end at one place did by 0.0001, others by 0.5 and more."""


def are_one(first, second):
    """Whether two Gaussian limits predict left-out rows alike.

    Parameters
    ----------
    first, second : GaussianLimit
    """
    change = first.left_out_means - second.left_out_means
    errors = first.left_out_errors
    return bool(change @ change <= _SAME**2 * (errors @ errors))


def not_told_apart(limits):
    """The limits that rows left out do not tell from the best one, which is the first.

    Parameters
    ----------
    limits : list of GaussianLimit
        Of the same rows.

    Returns
    -------
    limits : list of GaussianLimit
    """
    best = max(limits, key=lambda limit: limit.left_out_log_densities.sum())
    kept = [best]
    for limit in limits:
        difference = best.left_out_log_densities - limit.left_out_log_densities
        error = difference.std() * np.sqrt(difference.size)
        if limit is not best and difference.sum() <= _ERRORS * error:
            kept.append(limit)
    return kept


def for_each_mode(cells, draws, compute):
    """What draws have of parts that depend on the mode.

    Parameters
    ----------
    cells : AdditiveCells
    draws : AdditiveDraws
    compute : callable
        An array of shape (..., n_draws), or several in a tuple, from the cells of one mode and the
        draws of its chains.

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
        # Of fewer coefficients the rest is not used.
        part = np.asarray(compute(mode, group._replace(theta=group.theta[:, : mode.n_basis])))
        if found is None:
            found = np.empty((*part.shape[:-1], draws.mode.size))
        found[..., here] = part
    return found

"""The contributions to f of new rows that split cells, for each posterior draw.

A cell of weight w and variance v is split into two parts; one has the share R of v, and the other
the rest. Let a and b be the values that f would have if the whole cell were one part or the other,
and Δ = b - a = 2 w the step between them. Then

    f(x) ~ N((1-R) a + R b, 4 R (1-R) v).

For a step that matters, R is a quantile at the level of its draw, from the table of all splits
(:mod:`~skbayesnn.stable.partitions.split_table`). For a small step, only the first two moments of
f(x) are used: the mean for R = ρ, the share of the mass, and the variance

    ρ (1-ρ) (4 v (1 - h) + Δ² h).
"""

from math import exp, inf, log, log1p, nan

import numpy as np

from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.stable.partitions.bridge import split_draws
from skbayesnn.stable.partitions.split_table import (
    OUTSIDE,
    laws_of_share,
    split_from_laws,
    split_table,
    spread_from_table,
    t_place,
)
from skbayesnn.stable.samplers.line import MAX_LOG_VARIANCE

SMALL = 0.3
"""A step is small if Δ² and v are below this fraction of the noise variance over the root of the
number of splits of a row. The error in the log density of a row is then at most 0.001 with 5 and
with 13 inputs, and 0.003 with 306. The Monte Carlo error of 1000 draws, each with one level per
distribution, is 0.006, 0.002 and 0.04."""


def add_splits(
    place, row, side, log_left, log_right, below, above, log_v, t, alpha, levels, log_least, means,
    variances,
):  # fmt: skip
    """Add the means and variances that splits contribute.

    Parameters
    ----------
    place, row : ndarray of int, shape (n_splits,)
        Index of the cell that each split divides, and of the row of the results that it adds to.
    side : ndarray of shape (n_splits,)
        Factor on its mean.
    log_left, log_right : ndarray of shape (n_splits,)
        Logarithms of the shares ρ and 1 - ρ of the mass.
    below, above, log_v, t : ndarray of shape (n_cells, n_draws)
        a, b, log v and log s.
    alpha : float
    levels : ndarray of shape (n_draws,)
        Level of the quantile at which the distribution of the split is evaluated for each draw.
    log_least : ndarray of shape (n_draws,)
        Logarithm of the bound below which a step counts as small, if it is split in halves: both Δ²
        and v must be below. For other splits they may be larger, such that the fourth cumulant of
        f(x), by which its distribution differs from a Gaussian with the same moments, is equally
        small.
    means, variances : ndarray of shape (n_rows, n_draws)
        Overwritten by their sums with the contributions.
    """
    random = alpha < 2.0
    table = split_table(alpha / 2.0 if random else 0.5)
    # A row at an existing value splits nothing.
    split = np.isfinite(log_left) & np.isfinite(log_right)
    offsets = np.where(split, log(2.0) + 0.5 * (log_left + log_right), -inf)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(t) + 1))
    ends = table.t_first, table.t_last, table.t_width, table.law.a, table.log_odds[0]
    outside = _add_cells(
        starts, order, row, side, log_left, log_right, offsets, below, above, log_v, t, log_least,
        random, levels, ends, table.below, table.y, table.spread, table.spread_per_unit,
        np.empty(table.below.shape[1:], dtype=np.float32), np.empty((4, levels.size)), means,
        variances,
    )  # fmt: skip
    # There are few of these; compiling a loop for them would delay the first prediction by a
    # second.
    for i, d in outside:
        j = place[i]
        z = split_draws(
            levels[d : d + 1], t[j, d : d + 1], log_left[i : i + 1], log_right[i : i + 1], table.law
        )
        left, right, variance = moments_of_split(float(z[0, 0]), log_v[j, d])
        means[row[i], d] += side[i] * (right * below[j, d] + left * above[j, d])
        variances[row[i], d] += variance


@helper
def moments_of_split(z, log_v):
    """R, 1 - R and 4 R (1-R) v from z = log R - log(1 - R) and log v."""
    tail = exp(-abs(z))
    far = 1.0 / (1.0 + tail)
    left, right = (far, tail * far) if z > 0.0 else (tail * far, far)
    if log_v <= MAX_LOG_VARIANCE:
        return left, right, 4.0 * exp(log_v) * left * right
    spread = min(log_v - abs(z) - 2.0 * log1p(tail), MAX_LOG_VARIANCE)
    return left, right, 4.0 * exp(spread)


@kernel
def _add_cells(
    starts, order, row, side, log_left, log_right, offsets, below, above, log_v, t, log_least,
    random, levels, ends, laws, y, spread, per_unit, of_share, of_draws, means, variances,
):  # fmt: skip
    """Add all splits, cell by cell, so that the data of a cell's draws stay in the processor cache.

    Returns
    -------
    outside : ndarray of int, shape (n, 2)
        Split and draw of each step whose distribution is outside the table; these are not added.
    """
    outside, n = np.empty((16, 2), dtype=np.int64), 0
    for j in range(t.shape[0]):
        _prepare(
            below[j], above[j], log_v[j], t[j], log_least, random, ends, spread, per_unit, of_draws
        )
        for i in order[starts[j] : starts[j + 1]]:
            n_row = _add_row(
                side[i], log_left[i], log_right[i], offsets[i], below[j], above[j], log_v[j],
                of_draws, levels, ends[4], laws, y, of_share, means[row[i]], variances[row[i]],
            )  # fmt: skip
            while n + n_row > outside.shape[0]:
                more = np.empty((2 * outside.shape[0], 2), dtype=np.int64)
                for k in range(n):
                    more[k, 0], more[k, 1] = outside[k, 0], outside[k, 1]
                outside = more
            for k in range(n_row):
                outside[n + k, 0], outside[n + k, 1] = i, int(of_draws[3, k])
            n += n_row
    return outside[:n]


@helper
def _prepare(below, above, log_v, t, log_least, random, ends, spread, per_unit, of_draws):
    """For all draws of a cell: the place of t in the table, the size of the step, and its moments.

    These are written to rows of ``of_draws``. For α = 2 (not ``random``), all R equal ρ, and no
    step needs the table.
    """
    places, sizes, moments = of_draws[0], of_draws[1], of_draws[2]
    first, last, width, a, _ = ends
    for d in range(t.shape[0]):
        square = (above[d] - below[d]) ** 2
        v = exp(min(log_v[d], MAX_LOG_VARIANCE))
        if not random:
            places[d], sizes[d], moments[d] = OUTSIDE, -inf, 4.0 * v
            continue
        size = log(square) if square > v else log_v[d]
        sizes[d] = size - log_least[d]
        h = spread_from_table(t[d], first, per_unit, spread)
        moments[d] = 4.0 * v * (1.0 - h) + h * square
        places[d] = OUTSIDE
        # For a split in halves, more steps need the table than for other splits.
        if sizes[d] > 0.0 and first <= t[d] < last:
            places[d] = t_place(t[d], first, width, a)


@helper
def _add_row(
    side, log_left, log_right, offset, below, above, log_v, of_draws, levels, least_odds, laws, y,
    of_share, means, variances,
):  # fmt: skip
    """Add the contributions of all draws at a row; list the draws that are outside the table."""
    places, sizes, moments, outside = of_draws[0], of_draws[1], of_draws[2], of_draws[3]
    share, rest, known, n = exp(log_left), exp(log_right), False, 0
    # Symmetry gives the distribution of the other child's share.
    swapped, odds = share > rest, -abs(log_left - log_right)
    for d in range(levels.shape[0]):
        if not sizes[d] + offset > 0.0:
            means[d] += side * (rest * below[d] + share * above[d])
            variances[d] += share * rest * moments[d]
            continue
        z = nan
        if places[d] != OUTSIDE and odds >= least_odds:
            if not known:
                laws_of_share(odds, least_odds, laws, of_share)
                known = True
            level = 1.0 - levels[d] if swapped else levels[d]
            z = odds + split_from_laws(level, places[d], of_share, y)
            z = -z if swapped else z
        if z != z:
            outside[n] = d
            n += 1
            continue
        left, right, variance = moments_of_split(z, log_v[d])
        means[d] += side * (right * below[d] + left * above[d])
        variances[d] += variance
    return n

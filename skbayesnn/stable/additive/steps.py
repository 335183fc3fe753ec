"""What f_k is between its values, for each posterior draw: a mean and a variance.

With w = w' + w'' the weights of the children of the cell between two values f_{j-1} and f_j,
Δ = 2 w the step between these, and R the share of the cell's variance v to the left of x,

    f(x) ~ N((1-R) f_{j-1} + R f_j, 4 R (1-R) v).

A step that matters has an R of its own, at the level of its draw, from one table of the laws of
all splits (:mod:`~skbayesnn.stable.partitions.split_table`). A small one has the first two moments
of f(x) instead: the mean with R = ρ, the share of the mass, and the variance

    ρ (1-ρ) (4 v (1 - h) + Δ² h).
"""

from math import exp, inf, log, log1p, nan

import numpy as np

from skbayesnn.numerics.jit import kernel
from skbayesnn.stable.partitions.bridge import split_share, splitting_workspace
from skbayesnn.stable.partitions.split_table import (
    OUTSIDE,
    laws_of_share,
    split_from_laws,
    split_spread,
    split_table,
    t_place,
)
from skbayesnn.stable.samplers.line import MAX_LOG_VARIANCE


def add_axis(cells, f, log_variances, log_scales, alpha, x, levels, log_least, means, variances):
    """Add the means and variances of f_k at new values given f_k at the old ones.

    Parameters
    ----------
    cells : LineCells
    f, log_variances, log_scales : ndarray of shape (n_draws, n_values)
        f_k, log v and log s.
    alpha : float
    x : ndarray of shape (n_rows,)
    levels : ndarray of shape (n_draws,)
        The level at which the law of the split is evaluated for each draw.
    log_least : ndarray of shape (n_draws,)
        Logarithm of what a step counts as small below: Δ² and v, where it is split in halves. Where
        it is not, they may be larger, for the fourth cumulant of f(x), by which its law differs
        from the Gaussian one with its moments, to be as small.
    means, variances : ndarray of shape (n_rows, n_draws)
        Added to.
    """
    cell, log_left, log_right, side = cells.locate(x)
    # To the left of x is the share R, and 1 - R is what f_{j-1} is multiplied by.
    hit, place = np.unique(cell, return_inverse=True)
    f, above = f.T, np.ascontiguousarray(f.T[hit], dtype=np.float64)
    below = np.ascontiguousarray(f[hit - 1], dtype=np.float64)
    # Through infinity f changes its sign.
    above[hit == 0] *= -1.0
    log_v = np.ascontiguousarray(log_variances.T[hit])
    t = np.ascontiguousarray(log_scales.T[hit])
    random = alpha < 2.0
    table = split_table(alpha / 2.0 if random else 0.5)
    workspace = splitting_workspace()
    places, sizes, moments, v = (np.empty(t.shape) for _ in range(4))
    _prepare(below, above, log_v, t, log_least, random, table, places, sizes, moments, v)
    # A row at a value splits nothing.
    split = np.isfinite(log_left) & np.isfinite(log_right)
    offsets = np.where(split, log(2.0) + 0.5 * (log_left + log_right), -inf)
    laws = np.empty(table.below.shape[1:], dtype=np.float32)
    _add_steps(
        place, side, log_left, log_right, offsets, below, above, log_v, t, places, sizes, moments,
        v, levels, table, laws, workspace, means, variances,
    )  # fmt: skip


@kernel
def _prepare(
    below, above, log_v, t, log_least, random, table, places, sizes, moments, v
):  # fmt: skip
    """Of each cell and draw: the place of t in the table, the size of the step, its moments, v.

    The last four are written: arrays of shape (n_cells, n_draws). Where α = 2 (not ``random``)
    all R are ρ, and no step has a size.
    """
    for j in range(t.shape[0]):
        for d in range(t.shape[1]):
            square = (above[j, d] - below[j, d]) ** 2
            v[j, d] = exp(min(log_v[j, d], MAX_LOG_VARIANCE))
            if not random:
                places[j, d], sizes[j, d], moments[j, d] = OUTSIDE, -inf, 4.0 * v[j, d]
                continue
            size = log(square) if square > v[j, d] else log_v[j, d]
            sizes[j, d] = size - log_least[d]
            h = split_spread(t[j, d], table)
            places[j, d] = OUTSIDE
            # Steps split in halves are those that are looked at first.
            if sizes[j, d] > 0.0 and table.t_first <= t[j, d] < table.t_last:
                places[j, d] = t_place(t[j, d], table.t_first, table.t_width, table.law.a)
            moments[j, d] = 4.0 * v[j, d] * (1.0 - h) + h * square


@kernel
def _add_steps(
    cell, side, log_left, log_right, offsets, below, above, log_v, t, places, sizes, moments,
    v, levels, table, laws, workspace, means, variances,
):  # fmt: skip
    for i in range(cell.shape[0]):
        j, share, rest = cell[i], exp(log_left[i]), exp(log_right[i])
        product, known = share * rest, False
        # The share of the other child is known by symmetry.
        swapped, odds = share > rest, -abs(log_left[i] - log_right[i])
        for d in range(levels.shape[0]):
            if not sizes[j, d] + offsets[i] > 0.0:
                means[i, d] += side[i] * (rest * below[j, d] + share * above[j, d])
                variances[i, d] += product * moments[j, d]
                continue
            z = nan
            if places[j, d] != OUTSIDE and odds >= table.log_odds[0]:
                if not known:
                    laws_of_share(odds, table, laws)
                    known = True
                level = 1.0 - levels[d] if swapped else levels[d]
                z = odds + split_from_laws(level, places[j, d], laws, table.y)
                z = -z if swapped else z
            if z != z:
                z = split_share(
                    levels[d], t[j, d], log_left[i], log_right[i], table.law, workspace
                )  # fmt: skip
            tail = exp(-abs(z))
            far = 1.0 / (1.0 + tail)
            near = tail * far
            left, right = (far, near) if z > 0.0 else (near, far)
            means[i, d] += side[i] * (right * below[j, d] + left * above[j, d])
            if log_v[j, d] <= MAX_LOG_VARIANCE:
                variances[i, d] += 4.0 * v[j, d] * near * far
            else:
                spread = log_v[j, d] - abs(z) - 2.0 * log1p(tail)
                variances[i, d] += 4.0 * exp(min(spread, MAX_LOG_VARIANCE))

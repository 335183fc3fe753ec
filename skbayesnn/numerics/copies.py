"""Rows that a table has more than once, and weights: they say nothing of the noise.

Noise that is a continuous variable gives no two rows the same target. Rows that come again with
theirs are not new observations, and a model that takes them for such finds that there is no noise:
with a few of them it goes through all targets. A row of weight w is w copies to a model, so uneven
weights do the same, whatever their mean. Suppose that all targets have the noise variance σ², and
that a function of variance s² is independent from row to row. Then, at these variances, the
expected derivative of the log evidence in log σ² is

    ½ Σ (1 − w) w (w + 2r) / (w + r)²,    r = σ²/s².

Weights cannot deny the noise where it is at least 0. For all r, it is so if and only if their sum
is at most Kish's effective number of rows, (Σw)² / Σw² (L. Kish, Survey Sampling, 1965). The larger
r, the more rows that takes, and the less they matter. So weights are scaled until it is so for
noise up to the variance of the function, :data:`MOST_NOISE`. Their sum is then between Kish's
number and the number of rows that differ. Not in the four papers.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from skbayesnn._warnings import warn_user
from skbayesnn.numerics.rounding import rounding_variance

FEW_CELLS = 0.1
"""Where fewer of the rows differ, the table is one of few cells, which repeats fill."""
MOST_NOISE = 1.0
"""Noise variance up to which weights cannot deny it, as a part of the variance of the function."""
LEAST_EFFECTIVE = 0.5
"""The largest weights are cut where less than this part of the rows would count."""


class Copies(NamedTuple):
    """What a table's copies say.

    Attributes
    ----------
    rows : ndarray of int of shape (n_distinct,)
        The first of each of the rows that differ.
    weights : ndarray of shape (n_distinct,)
        How many rows each counts as.
    chance : float
        Probability that a row with the inputs of one of these has its target; 0 without copies.
    groups : ndarray of int of shape (n,)
        Which of these each row of the table is.
    """

    rows: np.ndarray
    weights: np.ndarray
    chance: float
    groups: np.ndarray


def effective_number(weights):
    """Kish's effective number of rows: all of them if their weights are the same."""
    return weights.sum() ** 2 / (weights @ weights)


def cut_weights(weights):
    """Cut the largest weights where less than half of the rows would count.

    Parameters
    ----------
    weights : ndarray of shape (n,)

    Returns
    -------
    cut : ndarray of shape (n,)
        All above a limit are equal to it. The effective number is at least n / 2.

    Examples
    --------
    >>> import numpy as np
    >>> cut_weights(np.array([1.0, 2.0, 3.0, 1000.0])).round(2)
    array([ 1.  ,  2.  ,  3.  , 12.63])
    """
    least = LEAST_EFFECTIVE * len(weights)
    if effective_number(weights) >= least * (1.0 - 1e-9):  # also of weights that were cut before
        return weights
    ordered = np.sort(weights)
    sums, squares = np.cumsum(ordered), np.cumsum(ordered**2)
    n_above = np.arange(len(weights) - 1, -1, -1)
    enough = (sums + n_above * ordered) ** 2 >= least * (squares + n_above * ordered**2)
    last = np.flatnonzero(enough)[-1]
    # The limit c is above this weight: (sum + n_above c)² = least (squares + n_above c²).
    sums, squares, n_above = sums[last], squares[last], n_above[last]
    half, rest = n_above * sums, sums**2 - least * squares
    square = n_above * (least - n_above)
    return np.minimum(weights, (half + np.sqrt(half**2 + square * rest)) / square)


def at_most_rows(weights):
    """Weights, divided by their mean where it is above one: so they sum to their number at most."""
    return weights / max(1.0, weights.mean())


def slope_of_noise(weights, ratio):
    """Twice the expected derivative of the log evidence in log σ², for r = ``ratio``."""
    return np.sum((1.0 - weights) * weights * (weights + 2.0 * ratio) / (weights + ratio) ** 2)


def noisy_counts(weights):
    """How many rows each of some rows that differ counts as, if their targets have noise.

    Parameters
    ----------
    weights : ndarray of shape (n,)

    Returns
    -------
    counts : ndarray of shape (n,)
        Proportional to the weights, but for the largest (:func:`cut_weights`). Their sum is that of
        the weights, or less.

    Examples
    --------
    >>> import numpy as np
    >>> noisy_counts(np.array([100.0, 200.0, 300.0])).round(3)
    array([0.468, 0.935, 1.403])
    """
    total, weights = weights.sum(), cut_weights(weights)
    weights = weights * (total / weights.sum())
    least, most = effective_number(weights), len(weights)
    if least > (1.0 - 1e-9) * most:
        return at_most_rows(weights)
    if slope_of_noise(weights, MOST_NOISE) >= 0:
        return weights
    shares = weights / total
    return shares * brentq(lambda s: slope_of_noise(s * shares, MOST_NOISE), least, most)


def _warn_if_cut(weights):
    """Say that few rows have most of the weight, as the user does not see what they count as."""
    cut = cut_weights(weights)
    n_cut = int((cut < weights).sum())
    if n_cut:
        warn_user(
            f"{n_cut} of {len(weights)} rows have so much weight, or so many copies, that fewer "
            f"than half of the rows would count. Weights above {cut.max():.3g} (the largest is "
            f"{weights.max():.3g}) are taken for {cut.max():.3g}. Give these rows less weight if "
            "each is one observation."
        )


def _groups(X, Y):
    """The first row of each group of equal ones, as they come, and the group of each row."""
    table = np.column_stack([X, Y.reshape(len(Y), -1)])
    _, rows, numbers = np.unique(table, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(rows)
    return rows[order], np.argsort(order)[numbers]


def _has_cells(X, Y, rows):
    """Whether equal rows are to be expected, of which these are the first."""
    # Of the rows, not of their weights: those of a survey are large, and no table's cells.
    if len(rows) < max(2.0, FEW_CELLS * len(X)):
        return True
    repeated = len(np.unique(X[rows], axis=0)) < len(rows)
    return repeated and all(rounding_variance(y) > 0 for y in Y.reshape(len(Y), -1)[rows].T)


def find_copies(X, Y, weights, counts=noisy_counts, cells=False, tell=False):
    """Rows that differ, with weights for each of them.

    Copies are rows that are equal in inputs and targets, and a row of weight k is k copies. Rows
    with more copies have a larger weight, but all together count as no more than differ.

    Where equal rows are to be expected, each row is an observation: where targets have few values
    and rows with the same inputs have different targets, where fewer than a tenth of the rows given
    are distinct, or where all are equal. If all rows of such a table differ and their weights are
    whole numbers, these are taken for the numbers of observations in its cells; other weights say
    which rows matter more.

    Suppose that r rows follow the first row with their inputs, and c of them are copies. Where all
    targets were the same, the next row is assumed to have this target with probability c / (r + 1).
    A row of weight k counts as k of these if all weights are whole numbers, of which the smallest
    is one, as of a table of which copies were counted; otherwise as one.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    Y : ndarray of shape (n,) or (n, n_targets)
    weights : ndarray of shape (n,)
    counts : callable, default=noisy_counts
        Tells from weights of rows that differ how many rows each counts as.
    cells : bool, default=False
        Whether equal rows are to be expected in any case.
    tell : bool, default=False
        Whether to warn of weights that are cut.

    Returns
    -------
    copies : Copies

    Warns
    -----
    UserWarning
        If the largest weights are cut.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0], [2.0], [1.0], [3.0]]), np.array([0.5, 0.7, 0.5, 0.6])
    >>> copies = find_copies(X, y, np.ones(4))
    >>> copies.rows, copies.weights.round(3), round(copies.chance, 3)
    (array([0, 1, 3]), array([1.443, 0.722, 0.722]), 0.5)
    """
    rows, groups = _groups(X, Y)
    whole, chance = (weights == np.round(weights)).all(), 0.0
    if cells or _has_cells(X, Y, rows):
        aggregated = whole and len(rows) == len(X)
        rows = groups = np.arange(len(X))
        if aggregated:
            return Copies(rows, weights, chance, groups)
    else:
        n_rows = weights.sum() if whole and weights.min() == 1 else len(X)
        chance = (n_rows - len(rows)) / (n_rows - len(np.unique(X[rows], axis=0)) + 1.0)
    merged = np.bincount(groups, weights)
    if tell:
        _warn_if_cut(merged)
    return Copies(rows, counts(merged), float(chance), groups)


def counted_once(X, Y, weights, tell=False):
    """Weights of all rows, made smaller so that they count as many as differ.

    The rows may be kept as they are then: equal ones share what one of them would count.

    Parameters
    ----------
    X, Y, weights, tell
        As :func:`find_copies` has them.

    Returns
    -------
    weights : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0], [2.0], [1.0], [3.0]]), np.array([0.5, 0.7, 0.5, 0.6])
    >>> counted_once(X, y, np.ones(4)).round(3)
    array([0.722, 0.722, 0.722, 0.722])
    """
    copies = find_copies(X, Y, weights, tell=tell)
    shares = copies.weights / np.bincount(copies.groups, weights)
    return weights * shares[copies.groups]

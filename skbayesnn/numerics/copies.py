"""Rows that a table has more than once: they say nothing of the noise.

Noise that is a continuous variable gives no two rows the same target. Rows that come again with
theirs are not new observations, and a model that takes them for such finds that there is no noise:
with a few of them it goes through all targets. So rows count as many as differ. Not in the papers.
"""

from typing import NamedTuple

import numpy as np

from skbayesnn.numerics.rounding import rounding_variance

FEW_CELLS = 0.1
"""Where fewer of the rows differ, the table is one of few cells, which repeats fill."""


class Copies(NamedTuple):
    """What a table's copies say.

    Attributes
    ----------
    rows : ndarray of int of shape (n_distinct,)
        The first of each of the rows that differ.
    weights : ndarray of shape (n_distinct,)
        Their sum is n_distinct, or that of the weights of all rows if it is smaller.
    chance : float
        Probability that a row with the inputs of one of these has its target; 0 without copies.
    """

    rows: np.ndarray
    weights: np.ndarray
    chance: float


def find_copies(X, Y, weights):
    """Rows that differ, with weights for each of them.

    Copies are rows that are equal in inputs and targets, and a row of weight k is k copies. The
    weights sum to the number of distinct rows, and rows with more copies still have a larger one.
    Nothing changes where equal rows are to be expected: where targets have few values and rows with
    the same inputs have different targets, where fewer than a tenth of the rows given are distinct,
    or where all are equal.

    Suppose that r rows follow the first row with their inputs, and c of them are copies. Where all
    targets were the same, the next row is assumed to have this target with probability c / (r + 1).

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    Y : ndarray of shape (n,) or (n, n_targets)
    weights : ndarray of shape (n,)

    Returns
    -------
    copies : Copies

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0], [2.0], [1.0], [3.0]]), np.array([0.5, 0.7, 0.5, 0.6])
    >>> copies = find_copies(X, y, np.ones(4))
    >>> copies.rows, copies.weights, round(copies.chance, 3)
    (array([0, 1, 3]), array([1.5 , 0.75, 0.75]), 0.5)
    """
    targets = Y.reshape(len(Y), -1)
    _, rows, numbers = np.unique(
        np.column_stack([X, targets]), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(rows)  # as they come
    merged = np.bincount(numbers, weights)[order]
    rows, total = rows[order], merged.sum()
    unchanged = Copies(np.arange(len(X)), weights, 0.0)
    # Of the rows, not of their weights: those of a survey are large, and no table's cells.
    if len(rows) < max(2.0, FEW_CELLS * len(X)) or total <= len(rows) * (1.0 + 1e-12):
        return unchanged
    places = len(np.unique(X[rows], axis=0))
    if places < len(rows) and all(rounding_variance(column) > 0 for column in targets[rows].T):
        return unchanged
    chance = float((total - len(rows)) / (total - places + 1.0))
    return Copies(rows, merged * (len(rows) / total), chance)


def counted_once(X, Y, weights):
    """Weights of all rows, made smaller so that they sum to the number of rows that differ.

    The rows may be kept as they are then: equal ones share what one of them would count.

    Parameters
    ----------
    X, Y, weights
        As :func:`find_copies` has them.

    Returns
    -------
    weights : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0], [2.0], [1.0], [3.0]]), np.array([0.5, 0.7, 0.5, 0.6])
    >>> counted_once(X, y, np.ones(4))
    array([0.75, 0.75, 0.75, 0.75])
    """
    return weights * (find_copies(X, Y, weights).weights.sum() / weights.sum())

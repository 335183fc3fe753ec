"""Which rows of a table are copies of each other: none may judge a fit to its copies."""

import numpy as np
from scipy.sparse import issparse

from skbayesnn.numerics.copies import FEW_CELLS
from skbayesnn.training.rows import copies


def distinct_rows(X, y):
    """The number of each row among those that differ, in the order of their first appearance.

    Rows that are equal in all inputs and the target are copies, unless rows with the same inputs
    also have other targets: those are repeated measurements. So are all rows where fewer than a
    tenth differ.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or DataFrame
        Of sparse matrices, and of what is no table, all rows count as different.
    y : ndarray of shape (n_samples,)

    Returns
    -------
    numbers : ndarray of int of shape (n_samples,)

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn.pooling.copies import distinct_rows
    >>> distinct_rows([[1.0], [2.0], [1.0], [3.0], [3.0]], np.array([5.0, 6.0, 5.0, 7.0, 8.0]))
    array([0, 1, 0, 2, 3])
    """
    every = np.arange(len(y))
    table = None if issparse(X) else _as_numbers(X)
    if table is None or table.shape[1] == 0:
        return every
    groups = copies(table, y[:, None])
    _, first = np.unique(groups, return_index=True)
    if len(first) < FEW_CELLS * len(y):
        return every
    return np.argsort(np.argsort(first))[groups]


def _as_numbers(X):
    """A table of floats, in which categories are numbered; None for what is no table."""
    try:
        table = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.asarray(X, dtype=object)
        if table.ndim == 2:
            columns = [np.unique(column.astype(str), return_inverse=True)[1] for column in table.T]
            table = np.column_stack(columns)
    return table if table.ndim == 2 else None

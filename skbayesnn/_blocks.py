"""Large tables are predicted and scored a block of rows at a time.

A predictive mixture takes 16 bytes a row and component, and scoring it some times as much:
100,000 rows of 1,000 components would be several gigabytes.
"""

import numpy as np

ROWS_A_BLOCK = 2048


def row_blocks(X):
    """Cut X into blocks of rows.

    Parameters
    ----------
    X : array-like
        What cannot be cut, or is no table at all, is one block: validation is left to others.

    Yields
    ------
    begin : int
        Number of the first row.
    rows : array-like
        Of the type of X.
    """
    rows = X.iloc if hasattr(X, "iloc") else X
    cuttable = isinstance(X, list | np.ndarray) or hasattr(X, "iloc")
    n_rows = len(X) if cuttable and getattr(X, "ndim", 1) > 0 else 0
    if n_rows <= ROWS_A_BLOCK:
        yield 0, X
        return
    for begin in range(0, n_rows, ROWS_A_BLOCK):
        yield begin, rows[begin : begin + ROWS_A_BLOCK]


def in_blocks(function, X):
    """Apply a function of some rows, (n_rows, ...), block by block.

    Parameters
    ----------
    function : callable
        ``function(begin, rows)``, with the number of the first row.
    X : array-like

    Returns
    -------
    result : ndarray
        What the function returned, one below the other.
    """
    parts = [function(begin, rows) for begin, rows in row_blocks(X)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def take_rows(X, rows):
    """Some rows of a table, which stays of its type.

    Parameters
    ----------
    X : array-like of shape (n_samples, ...) or None
    rows : slice or ndarray

    Returns
    -------
    some : array-like or None
    """
    if X is None or (isinstance(rows, slice) and rows == slice(None)):
        return X
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, list | tuple):
        return [X[i] for i in np.arange(len(X))[rows]]
    return X[rows] if hasattr(X, "__getitem__") else np.asarray(X)[rows]

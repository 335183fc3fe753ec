"""Copies of rows: how much they may say together."""

import numpy as np

from skbayesnn.numerics.rounding import rounding_variance


def weights_without_copies(X, y, weights):
    """Weights whose sum is at most the number of distinct rows, unless targets are rounded.

    A weight of k is k equal rows, and k measurements that agree to the last digit deny all noise:
    the likelihood of the rows has no bound as the noise goes to zero. Targets that are no whole
    multiples of a unit do not agree by chance. Rows that do are copies, and together they
    may say what so many distinct rows would; their ratios are as they were.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    y, weights : ndarray of shape (n,)
        Targets, and weights above zero.

    Returns
    -------
    weights : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[0.0], [1.0], [2.0], [2.0]]), np.array([0.13, 0.41, 0.72, 0.72])
    >>> weights_without_copies(X, y, np.ones(4))
    array([0.75, 0.75, 0.75, 0.75])
    """
    pairs = np.unique(np.column_stack([X, y]), axis=0)
    share = len(pairs) / weights.sum()
    if share >= 1.0 or rounding_variance(pairs[:, -1]) > 0.0:
        return weights
    return share * weights

"""Moments of f_k between its values, for each posterior draw.

A new value splits the cell between the old values with f_{j-1} and f_j, as described in
:mod:`~skbayesnn.stable.partitions.splits`.
"""

import numpy as np

from skbayesnn.stable.partitions.splits import add_splits


def add_axis(cells, f, log_variances, log_scales, alpha, x, levels, log_least, means, variances):
    """Add the means and variances of f_k at new values, given f_k at the old ones.

    Parameters
    ----------
    cells : LineCells
    f, log_variances, log_scales : ndarray of shape (n_draws, n_values)
        f_k, log v and log s.
    alpha : float
    x : ndarray of shape (n_rows,)
    levels, log_least : ndarray of shape (n_draws,)
        See :func:`~skbayesnn.stable.partitions.splits.add_splits`.
    means, variances : ndarray of shape (n_rows, n_draws)
        Overwritten by their sums with the contributions.
    """
    cell, log_left, log_right, side = cells.locate(x)
    # R is the share to the left of x; 1 - R is the coefficient of f_{j-1}.
    hit, place = np.unique(cell, return_inverse=True)
    f, above = f.T, np.ascontiguousarray(f.T[hit], dtype=np.float64)
    below = np.ascontiguousarray(f[hit - 1], dtype=np.float64)
    # f changes its sign at infinity.
    above[hit == 0] *= -1.0
    log_v = np.ascontiguousarray(log_variances.T[hit])
    t = np.ascontiguousarray(log_scales.T[hit])
    add_splits(
        place, np.arange(x.size), side, log_left, log_right, below, above, log_v, t, alpha, levels,
        log_least, means, variances,
    )  # fmt: skip

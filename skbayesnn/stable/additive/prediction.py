"""Predictions of the model for tables: a Gaussian component for each posterior draw.

Given a draw of the f_k at the training values and of g, each part at a new row is Gaussian:
f_k by the bridge over the cell that the new value splits (:mod:`skbayesnn.stable.splitting`),
g by its conditional law. Student-t noise is a scale mixture: each draw has one scale of its
law, at levels spread evenly over the draws, so that the mixture over K draws has its tails up
to the level 1 - 1/(2K).
"""

import numpy as np
from scipy.special import gammaincinv

from skbayesnn.stable.line_cells import LineCells
from skbayesnn.stable.splitting import MAX_LOG_VARIANCE, groups, split_draws


def axis_moments(axis, f, log_variances, log_scales, table, x, levels):
    """Means and variances of f_k at new values given f_k at the old ones.

    With w = w' + w'' the weights of the children of the cell between two values,
    f(x) ~ N((1-R) f_{j-1} + R f_j, 4 R (1-R) v).

    Parameters
    ----------
    axis : Axis
    f, log_variances, log_scales : ndarray of shape (n_draws, n_values)
        f_k, log v and log s.
    table : PositiveStableTable or None
        None for α = 2, where a variance is split like the mass.
    x : ndarray of shape (n_rows,)
    levels : ndarray of shape (n_draws,)
        The level at which the law of the split is evaluated for each draw.

    Returns
    -------
    means, variances : ndarray of shape (n_rows, n_draws)
    """
    x, back = np.unique(x, return_inverse=True)
    cell, log_left, log_right, side = LineCells(axis.values[:, None])._locate(x)
    # Where no cell is split R is zero or one.
    with np.errstate(invalid="ignore"):
        z = np.repeat((log_left - log_right)[:, None], len(f), axis=1)
    split = np.flatnonzero(np.isfinite(log_left) & np.isfinite(log_right))
    if table is not None:
        for j, places in groups(cell[split]):
            rows = split[places]
            z[rows] = split_draws(levels, log_scales[:, j], log_left[rows], log_right[rows], table)
    with np.errstate(over="ignore"):
        left, right = 1.0 / (1.0 + np.exp(z)), 1.0 / (1.0 + np.exp(-z))
    # Through infinity f changes its sign.
    sign = np.where(cell > 0, 1.0, -1.0)[:, None]
    means = side[:, None] * (left * f[:, cell - 1].T + sign * right * f[:, cell].T)
    variances = np.zeros_like(means)
    with np.errstate(divide="ignore"):
        spread = log_variances[:, cell[split]].T + np.log(left[split]) + np.log(right[split])
    variances[split] = 4.0 * np.exp(np.minimum(spread, MAX_LOG_VARIANCE))
    return means[back], variances[back]


def noise_scales(degrees, levels):
    """1/p of a new row for each draw, at these levels of its law.

    Parameters
    ----------
    degrees, levels : ndarray of shape (n_draws,)

    Returns
    -------
    scales : ndarray of shape (n_draws,)
    """
    scales, finite = np.ones(degrees.size), np.isfinite(degrees)
    half = degrees[finite] / 2.0
    scales[finite] = half / gammaincinv(half, levels[finite])
    return scales

"""Predictions of the model for tables: a Gaussian component for each posterior draw.

Given a draw of the f_k at the training values and of g, each part at a new row is Gaussian:
f_k by the bridge over the cell that the new value splits
(:mod:`skbayesnn.stable.partitions.bridge`), g by its conditional law. Student-t noise is a
scale mixture: each draw has one scale of its law, at levels spread evenly over the draws, so
that the mixture over K draws has its tails up to the level 1 - 1/(2K).
"""

import numpy as np
from scipy.linalg import eigh
from scipy.special import gammaincinv

from skbayesnn._validation import check_joint_rows
from skbayesnn.numerics.stable_laws import positive_stable_table
from skbayesnn.stable.partitions.base import Draws
from skbayesnn.stable.samplers.line import MAX_LOG_VARIANCE

MAX_JOINT_ROWS = 5000
"""Distinct rows of joint draws where dense units are exact: the eigenvectors of what the training
rows leave of their covariance take seconds up to there, and beyond minutes and gigabytes."""


def student_scales(degrees, levels):
    """1/p of a new row, at these levels of its law.

    Parameters
    ----------
    degrees : ndarray of shape (n_draws,)
    levels : ndarray of shape (..., n_draws)

    Returns
    -------
    scales : ndarray of shape (..., n_draws)
    """
    scales, finite = np.ones(levels.shape), np.isfinite(degrees)
    half = degrees[finite] / 2.0
    scales[..., finite] = half / gammaincinv(half, levels[..., finite])
    return scales


def axis_moments(cells, f, log_variances, log_scales, alpha, x, levels):
    """Means and variances of f_k at new values given f_k at the old ones.

    With w = w' + w'' the weights of the children of the cell between two values,
    f(x) ~ N((1-R) f_{j-1} + R f_j, 4 R (1-R) v).

    Parameters
    ----------
    cells : LineCells
    f, log_variances, log_scales : ndarray of shape (n_draws, n_values)
        f_k, log v and log s.
    alpha : float
    x : ndarray of shape (n_rows,)
    levels : ndarray of shape (n_draws,)
        The level at which the law of the split is evaluated for each draw.

    Returns
    -------
    means, variances : ndarray of shape (n_rows, n_draws)
    """
    x, back = np.unique(x, return_inverse=True)
    table = positive_stable_table(alpha / 2.0) if alpha < 2.0 else None
    cell, side, z = cells.splits(x, levels, log_scales, table)
    with np.errstate(over="ignore"):
        left, right = 1.0 / (1.0 + np.exp(z)), 1.0 / (1.0 + np.exp(-z))
    # Through infinity f changes its sign.
    sign = np.where(cell > 0, 1.0, -1.0)[:, None]
    means = side[:, None] * (left * f[:, cell - 1].T + sign * right * f[:, cell].T)
    with np.errstate(divide="ignore"):
        spread = log_variances[:, cell].T + np.log(left) + np.log(right)
    variances = 4.0 * np.exp(np.minimum(spread, MAX_LOG_VARIANCE))
    return means[back], variances[back]


def effect_moments(partition, draws, k, x):
    """Means and variances (n_rows, n_draws) of f_k at scaled values x."""
    part, cells = slice(partition.starts[k], partition.ends[k]), partition.axes[k].cells
    means, variances = np.empty((2, x.size, draws.alpha.size))
    # Each index has laws of its own.
    for alpha in np.unique(draws.alpha):
        here = np.flatnonzero(draws.alpha == alpha)
        log_variances = draws.log_variances[here, part].astype(np.float64)
        units = draws.log_nu[here, k : k + 1] + 2.0 / alpha * cells.log_masses
        means[:, here], variances[:, here] = axis_moments(
            cells, draws.f[here, part].astype(np.float64), log_variances, log_variances - units,
            alpha, x, draws.levels[here, k],
        )  # fmt: skip
    return means, variances


def smooth_moments(partition, draws, X):
    """Means and variances (n_rows, n_draws) of g at scaled rows."""
    psi, left = partition.basis.features(X * partition.inverse_lengths)
    return psi @ draws.theta.T.astype(np.float64), np.outer(left, np.exp(draws.log_amplitude))


def moments_given_parts(partition, draws, X):
    """Means and variances (n_rows, n_draws) of f at scaled rows."""
    means, variances = np.zeros((2, len(X), draws.alpha.size))
    for k, x in enumerate(X.T):
        found = effect_moments(partition, draws, k, x)
        means += found[0]
        variances += found[1]
    if partition.basis is not None:
        found = smooth_moments(partition, draws, X)
        means += found[0]
        variances += found[1]
    return means, variances


def draw_given_parts(partition, draws, X, rng):
    """Draw f jointly at scaled rows, once for each draw: (n_rows, n_draws)."""
    total, n_draws = np.zeros((len(X), draws.alpha.size)), draws.alpha.size
    none = np.empty((n_draws, 0))
    for k, (axis, part) in enumerate(partition.parts()):
        f, log_variances = draws.f[:, part], draws.log_variances[:, part].astype(np.float64)
        units = 2.0 / draws.alpha[:, None] * axis.cells.log_masses + draws.log_nu[:, k : k + 1]
        of_axis = Draws(
            draws.log_noise, draws.alpha, draws.log_nu[:, k], draws.levels[:, k], none,
            log_variances - units, np.zeros(n_draws, int), none,
        )  # fmt: skip
        total += axis.cells.sample_between(
            X[:, k], lambda i, *_, f=f: f[i].astype(np.float64), of_axis, rng
        )
    if partition.basis is not None:
        rows, place = np.unique(X * partition.inverse_lengths, axis=0, return_inverse=True)
        if partition.basis.exact:
            check_joint_rows(len(rows), MAX_JOINT_ROWS)
        psi, _ = partition.basis.features(rows)
        g = psi @ draws.theta.T.astype(np.float64)
        if partition.basis.exact:
            # What the features leave of the kernel is positive semi-definite but for rounding.
            values, vectors = eigh(partition.basis.kernel(rows, rows) - psi @ psi.T)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            z = rng.standard_normal((values.size, n_draws))
            g += np.exp(0.5 * draws.log_amplitude) * (root @ z)
        total += g[place.reshape(-1)]
    return total

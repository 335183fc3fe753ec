"""Predictions of the model for tables: a Gaussian component for each posterior draw.

Given a draw of the f_k at the training values and of g, each part at a new row is Gaussian:
f_k by the bridge over the cell that the new value splits
(:mod:`skbayesnn.stable.partitions.bridge`), g by its conditional law. Student-t noise is a
scale mixture: each draw has one scale of its law, at levels spread evenly over the draws, so
that the mixture over K draws has its tails up to the level 1 - 1/(2K).
"""

from math import inf

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array

from skbayesnn._validation import check_joint_rows
from skbayesnn.numerics.stable_laws import positive_stable_table
from skbayesnn.stable.partitions.base import Draws
from skbayesnn.stable.partitions.bridge import groups, split_draws
from skbayesnn.stable.samplers.line import MAX_LOG_VARIANCE

MAX_JOINT_ROWS = 5000
"""Distinct rows of joint draws where dense units are exact: the eigenvectors of what the training
rows leave of their covariance take seconds up to there, and beyond minutes and gigabytes."""

_NEGLECTED = 1e-2
"""Where a step has less than this share of the noise's variance, over the root of the number of
inputs, it is split at the mean of its law, which keeps its second moment; errors of different
inputs are independent. Of 300 rows with 100 inputs the log density of a new row changed by 0.006 at
most, with a deviation of 0.001, and on average by less than 0.0001."""


def axis_moments(cells, f, log_variances, log_scales, alpha, x, levels, log_least=-inf):
    """Means and variances of f_k at new values given f_k at the old ones.

    With w = w' + w'' the weights of the children of the cell between two values,
    f(x) ~ N((1-R) f_{j-1} + R f_j, 4 R (1-R) v).

    Where all that R can do is small, it is its mean, the share of the mass. So f and v enter
    by matrices of shares, and the law of R is looked at for the few cells that jump.

    Parameters
    ----------
    cells : LineCells
    f, log_variances, log_scales : ndarray of shape (n_draws, n_values)
        f_k, log v and log s.
    alpha : float
    x : ndarray of shape (n_rows,)
    levels : ndarray of shape (n_draws,)
        The level at which the law of the split is evaluated for each draw.
    log_least : float or ndarray of shape (n_draws,), default=-inf
        What (f_j - f_{j-1})² and v may be, as a logarithm, for R to be its mean.

    Returns
    -------
    means, variances : ndarray of shape (n_rows, n_draws)
    """
    x, back = np.unique(x, return_inverse=True)
    cell, log_left, log_right, side = cells.locate(x)
    # To the left of x is the share R, and 1 - R is what f_{j-1} is multiplied by. Through infinity
    # f changes its sign.
    right, left, sign = np.exp(log_left), np.exp(log_right), np.where(cell > 0, 1.0, -1.0)
    n_values, rows = cells.x.size, np.arange(x.size)
    places = np.tile(rows, 2), np.concatenate([(cell - 1) % n_values, cell])
    shares = csr_array(
        (np.concatenate([side * left, side * sign * right]), places), (x.size, n_values)
    )
    products = csr_array((4.0 * left * right, (rows, cell)), (x.size, n_values))
    f, spreads = np.ascontiguousarray(f.T), np.ascontiguousarray(log_variances.T)
    means = shares @ f
    variances = products @ np.exp(np.minimum(spreads, MAX_LOG_VARIANCE))
    if alpha < 2.0:
        table = positive_stable_table(alpha / 2.0)
        split = np.flatnonzero(np.isfinite(log_left) & np.isfinite(log_right))
        for j, chosen in groups(cell[split]):
            below, above = f[j - 1], f[j] if j > 0 else -f[j]
            # A logarithm of a step of zero.
            with np.errstate(divide="ignore"):
                step = 2.0 * np.log(np.abs(above - below))
            large = np.flatnonzero(np.maximum(step, spreads[j]) > log_least)
            if large.size == 0:
                continue
            chosen, below, above = split[chosen], below[large], above[large]
            z = split_draws(
                levels[large], log_scales[large, j], log_left[chosen], log_right[chosen], table
            )
            here = np.ix_(chosen, large)
            with np.errstate(over="ignore", divide="ignore"):
                near, far = 1.0 / (1.0 + np.exp(z)), 1.0 / (1.0 + np.exp(-z))
                spread = spreads[j, large] + np.log(near) + np.log(far)
            means[here] = side[chosen, None] * (near * below + far * above)
            variances[here] = 4.0 * np.exp(np.minimum(spread, MAX_LOG_VARIANCE))
    return means[back], variances[back]


def effect_moments(partition, draws, k, x, log_least=-inf):
    """Means and variances (n_rows, n_draws) of f_k at scaled values x; see :func:`axis_moments`."""
    part, cells = slice(partition.starts[k], partition.ends[k]), partition.axes[k].cells
    log_least = np.broadcast_to(log_least, draws.alpha.size)
    means, variances = np.empty((2, x.size, draws.alpha.size))
    # Each index has laws of its own.
    for alpha in np.unique(draws.alpha):
        here = np.flatnonzero(draws.alpha == alpha)
        log_variances = draws.log_variances[here, part].astype(np.float64)
        units = draws.log_nu[here, k : k + 1] + 2.0 / alpha * cells.log_masses
        means[:, here], variances[:, here] = axis_moments(
            cells, draws.f[here, part].astype(np.float64), log_variances, log_variances - units,
            alpha, x, draws.levels[here, k], log_least[here],
        )  # fmt: skip
    return means, variances


def smooth_moments(partition, draws, X):
    """Means and variances (n_rows, n_draws) of g at scaled rows."""
    psi, left = partition.basis.features(X)
    return psi @ draws.theta.T.astype(np.float64), np.outer(left, np.exp(draws.log_amplitude))


def moments_given_parts(partition, draws, X):
    """Means and variances (n_rows, n_draws) of f at scaled rows."""
    means, variances = np.zeros((2, len(X), draws.alpha.size))
    # Where the noise is least.
    least_noise = draws.log_noise + partition.log_noise_factors(draws, X).min(axis=0)
    log_least = least_noise + np.log(_NEGLECTED / np.sqrt(X.shape[1]))
    for k, x in enumerate(X.T):
        found = effect_moments(partition, draws, k, x, log_least)
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
        rows, place = np.unique(X, axis=0, return_inverse=True)
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

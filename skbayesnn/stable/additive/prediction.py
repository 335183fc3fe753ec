"""Predictions of the additive model: one Gaussian component for each posterior draw.

Given a draw of g and of the f_k at the training values, each part at a new row is Gaussian: f_k by
the bridge over the cell that the new value splits (:mod:`skbayesnn.stable.additive.steps`), and g
by its conditional distribution. Student-t noise is a scale mixture. Each draw uses one scale from
its distribution, at levels that are spread evenly over the draws, so that the mixture over K draws
has the right tails up to the level 1 - 1/(2K).
"""

from math import inf

import numpy as np
from scipy.linalg import eigh

from skbayesnn._validation import check_joint_rows
from skbayesnn.stable.additive.steps import add_axis
from skbayesnn.stable.partitions.splits import SMALL

MAX_JOINT_ROWS = 5000
"""Largest number of distinct rows of joint draws if dense units are exact. The eigenvectors of
their conditional covariance take seconds up to this number, and minutes and gigabytes beyond."""


def effect_moments(partition, draws, k, x):
    """Means and variances (n_rows, n_draws) of f_k at scaled values x."""
    means, variances = np.zeros((2, x.size, draws.alpha.size))
    # Each index has its own distributions.
    for alpha in np.unique(draws.alpha):
        here = np.flatnonzero(draws.alpha == alpha)
        found = np.zeros((2, x.size, here.size))
        _add_effect(partition, draws.take(here), k, x, np.full(here.size, -inf), *found)
        means[:, here], variances[:, here] = found
    return means, variances


def _add_effect(partition, draws, k, x, log_least, means, variances):
    """Add what :func:`effect_moments` returns, for draws with the same index.

    Steps below ``log_least``, one per draw, use only two moments: see
    :func:`~skbayesnn.stable.additive.steps.add_axis`.
    """
    part, cells = slice(partition.starts[k], partition.ends[k]), partition.axes[k].cells
    alpha, log_variances = float(draws.alpha[0]), draws.log_variances[:, part].astype(np.float64)
    units = draws.log_nu[:, k : k + 1] + 2.0 / alpha * cells.log_masses
    add_axis(
        cells, draws.f[:, part], log_variances, log_variances - units, alpha, x,
        draws.levels[:, k], log_least, means, variances,
    )  # fmt: skip


def smooth_moments(partition, draws, X):
    """Means and variances (n_rows, n_draws) of g at scaled rows."""
    psi, left = partition.basis.features(X)
    return psi @ draws.theta.T.astype(np.float64), np.outer(left, np.exp(draws.log_amplitude))


def moments_given_parts(partition, draws, X):
    """Means and variances (n_rows, n_draws) of f at scaled rows."""
    means, variances = np.zeros((2, len(X), draws.alpha.size))
    # The approximation errors for different inputs are independent.
    log_least = partition.least_log_noises(draws) + np.log(SMALL / np.sqrt(X.shape[1]))
    columns = np.ascontiguousarray(X.T)
    # Each index has its own distributions.
    for alpha in np.unique(draws.alpha):
        here = np.flatnonzero(draws.alpha == alpha)
        group, found = draws.take(here), np.zeros((2, len(X), here.size))
        for k, x in enumerate(columns):
            _add_effect(partition, group, k, x, log_least[here], *found)
        means[:, here], variances[:, here] = found
    if partition.basis is not None:
        found = smooth_moments(partition, draws, X)
        means += found[0]
        variances += found[1]
    return means, variances


def draw_given_parts(partition, draws, X, rng):
    """Draw f jointly at scaled rows, once per draw: (n_rows, n_draws)."""
    total, n_draws = np.zeros((len(X), draws.alpha.size)), draws.alpha.size
    for k, (axis, part) in enumerate(partition.parts()):
        f, log_variances = draws.f[:, part], draws.log_variances[:, part].astype(np.float64)
        units = 2.0 / draws.alpha[:, None] * axis.cells.log_masses + draws.log_nu[:, k : k + 1]
        total += axis.cells.sample_between(
            X[:, k], lambda i, *_, f=f: f[i].astype(np.float64), log_variances - units,
            draws.alpha, draws.log_nu[:, k], rng,
        )  # fmt: skip
    if partition.basis is not None:
        rows, place = np.unique(X, axis=0, return_inverse=True)
        if partition.basis.exact:
            check_joint_rows(len(rows), MAX_JOINT_ROWS)
        psi, _ = partition.basis.features(rows)
        g = psi @ draws.theta.T.astype(np.float64)
        if partition.basis.exact:
            # The conditional covariance given θ is positive semidefinite up to rounding.
            values, vectors = eigh(partition.basis.kernel(rows, rows) - psi @ psi.T)
            root = vectors * np.sqrt(np.maximum(values, 0.0))
            z = rng.standard_normal((values.size, n_draws))
            g += np.exp(0.5 * draws.log_amplitude) * (root @ z)
        total += g[place]
    return total

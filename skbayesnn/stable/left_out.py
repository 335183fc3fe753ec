"""Leave-one-out densities of the training rows, computed from draws given all rows.

Each draw is weighted by the inverse of the density that it gives the row,

    1 / p(y_i | others) = E[1 / p(y_i | draw, others) | all rows],

where p(y_i | draw, others) integrates over everything that the draw does not determine.
"""

import numpy as np
from scipy.special import logsumexp

from skbayesnn.numerics.student_t import MASSES, student_variances

MOST_LEVERAGE = 1.0 - 1e-9
"""Upper limit on the leverage of a row: its own share of the information about f there."""


def average_left_out(log_densities):
    """log p(y_i | others): harmonic mean of the densities given each draw, (n, n_draws)."""
    return np.log(log_densities.shape[1]) - logsumexp(-log_densities, axis=1)


def student_log_densities(gaps, variances, noise, degrees):
    """Log densities of targets where f is Gaussian and the noise is Student's t.

    Parameters
    ----------
    gaps, variances : ndarray of shape (n,)
        What the targets differ from the mean of f by, and its variance.
    noise : ndarray of shape (n,)
        σ².
    degrees : float
        κ.

    Returns
    -------
    log_densities : ndarray of shape (n,)
    """
    spreads = variances[:, None] + np.outer(noise, student_variances(degrees))
    logs = np.log(2.0 * np.pi * spreads) + gaps[:, None] ** 2 / spreads
    return logsumexp(-0.5 * logs, b=MASSES, axis=1)


def gaussian_left_out(means, variances, noise, y, weights):
    """Log density of each target given all other rows, if f and the noise are Gaussian.

    Given the scales of the weights and the noise, f at a row is N(m, v) with the row, and N(m', v')
    without it. Let w be the weight of the row and h = w v/σ². Then

        y | draw, others ~ N(y - (y - m)/(1 - h), σ²/(w (1 - h))).

    Parameters
    ----------
    means, variances : ndarray of shape (n, n_draws)
        Moments of f at the rows, given the scales and the noise of each draw and all targets.
    noise : ndarray of shape (n_draws,)
        σ².
    y, weights : ndarray of shape (n,)

    Returns
    -------
    log_densities : ndarray of shape (n,)
    """
    w = weights[:, None]
    left = 1.0 - np.minimum(w * variances / noise, MOST_LEVERAGE)
    spread = noise / (w * left)
    squares = ((y[:, None] - means) / left) ** 2
    return average_left_out(-0.5 * (np.log(2.0 * np.pi * spread) + squares / spread))

"""Training rows left out: the density of each given all others, by draws given all rows.

A draw given all rows counts with the inverse of the density that it gives the row,

    1 / p(y_i | others) = E[1 / p(y_i | draw, others) | all rows],

where what the draw leaves open is integrated out in p(y_i | draw, others).
"""

import numpy as np
from scipy.special import logsumexp

MOST_LEVERAGE = 1.0 - 1e-9
"""How much of what is known of f at a row that row itself may tell."""


def average_left_out(log_densities):
    """log p(y_i | others) from those given each draw, (n, n_draws): their harmonic mean."""
    return np.log(log_densities.shape[1]) - logsumexp(-log_densities, axis=1)


def gaussian_left_out(means, variances, noise, y, weights):
    """Log-density of each target given all other rows, where f and the noise are Gaussian.

    Given the scales of the weights and the noise, f at a row is N(m, v) with the row and N(m', v')
    without it, so that with h = w v/σ², w the weight of the row,

        y | draw, others ~ N(y - (y - m)/(1 - h), σ²/(w (1 - h))).

    Parameters
    ----------
    means, variances : ndarray of shape (n, n_draws)
        Of f at the rows, given the scales and the noise of each draw and all targets.
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

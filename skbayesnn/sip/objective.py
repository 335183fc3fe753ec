"""The terms of the objective, eq. 12 of the paper, with their gradients.

    (1/α) Σ_i w_i log (1/S) Σ_s E[p(y_i | f_i)^α | u_s] − β · KL(q‖p)

with w_i the weight of a row, one in the paper.

The paper draws f_i from p(f_i | u_s); here that expectation is taken exactly, since f_i given
u_s and y_i given f_i are Gaussian:

    E[N(y; f, σ²)^α] = (2πσ²)^((1−α)/2) α^(−½) N(y; m, v + σ²/α),    f ~ N(m, v).

The divergence, which the paper takes as ½ [KL(q‖p) + KL(p‖q)], is in ``discriminator.py``.
"""

import numpy as np


def power_log_likelihood(y, means, variances, log_noise, alpha, row_weights):
    """First term of eq. 12 for a batch, and its gradient.

    Parameters
    ----------
    y : ndarray of shape (n,)
    means : ndarray of shape (n_u, n)
    variances : ndarray of shape (n,)
    log_noise : float
        Log of the noise variance σ².
    alpha : float
        α in (0, 1].
    row_weights : ndarray of shape (n,)

    Returns
    -------
    total : float
        Sum over the batch.
    d_means, d_variances, d_log_noise : ndarray (n_u, n), ndarray (n,) and float
    """
    noise = np.exp(log_noise)
    total_variances = variances + noise / alpha
    residuals = y - means
    scaled = residuals / total_variances
    log_density = -0.5 * (residuals * scaled + np.log(2 * np.pi * total_variances))
    log_density += 0.5 * ((1 - alpha) * np.log(2 * np.pi * noise) - np.log(alpha))
    top = log_density.max(axis=0)
    weights = np.exp(log_density - top)
    mass = weights.sum(axis=0)
    total = np.sum(row_weights * (top + np.log(mass / len(means)))) / alpha
    weights *= row_weights / (mass * alpha)
    d_means = weights * scaled
    d_variances = 0.5 * (
        np.einsum("si,si->i", d_means, scaled) - weights.sum(axis=0) / total_variances
    )
    d_log_noise = noise / alpha * d_variances.sum() + 0.5 * (1 - alpha) / alpha * row_weights.sum()
    return total, d_means, d_variances, d_log_noise

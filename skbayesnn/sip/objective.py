"""The terms of the objective, eq. 12 of the paper, with their gradients.

    (1/α) Σ_i w_i log (1/S) Σ_s Σ_k π_k E[N(y_i; f_i + o_k, τ_k)^α | u_s] − β · KL(q‖p)

with w_i the weight of a row, one in the paper, and π_k, o_k and τ_k the weights, means and
variances of the Gaussians that the noise is made of (``noise.py``); the paper has one, o_1 = 0.

The paper draws f_i from p(f_i | u_s); here that expectation is taken exactly, since f_i given
u_s and y_i given f_i and k are Gaussian:

    E[N(y; f, τ)^α] = (2πτ)^((1−α)/2) α^(−½) N(y; m, v + τ/α),    f ~ N(m, v).

Like f_i, the scale k of a row has its prior as its posterior given u_s: for α = 1 the objective is
the log-density of the mixture, and for smaller α, by Jensen's inequality, it is below that of
(Σ_k π_k N(y; f + o_k, τ_k))^α, of which there is no closed form.

The divergence, which the paper takes as ½ [KL(q‖p) + KL(p‖q)], is in ``discriminator.py``.
"""

import numpy as np


def power_log_likelihood(y, means, variances, scales, alpha, row_weights):
    """First term of eq. 12 for a batch, and its gradient.

    Parameters
    ----------
    y : ndarray of shape (n,)
    means : ndarray of shape (n_u, n)
    variances : ndarray of shape (n,)
    scales : skbayesnn.sip.noise.Scales
        The Gaussians of the noise.
    alpha : float
        α in (0, 1].
    row_weights : ndarray of shape (n,)

    Returns
    -------
    total : float
        Sum over the batch.
    d_means, d_variances : ndarray (n_u, n) and ndarray (n,)
    d_log_weights, d_offsets, d_log_noises : ndarray of shape (n_scales,)
        In each log weight, mean and log variance of the noise, as if they were independent.
    """
    log_weights, offsets, noises = scales.log_weights, scales.offsets, scales.variances
    offsets = offsets[:, None]
    skewed = offsets.any()
    spreads = variances + noises[:, None] / alpha
    residuals = y - means
    squares = residuals**2
    # Of (residual - offset)², term by term: no array of all scales more than there must be.
    terms = squares * (-0.5 / spreads)[:, None]
    if skewed:
        terms += residuals * (offsets / spreads)[:, None]
    constants = -0.5 * (np.log(2 * np.pi * spreads) + offsets**2 / spreads)
    constants += (
        log_weights + 0.5 * ((1 - alpha) * np.log(2 * np.pi * noises) - np.log(alpha))
    )[:, None]
    terms += constants[:, None]
    top = terms.max(axis=(0, 1))
    terms -= top
    shares = np.exp(terms, out=terms)
    mass = shares.sum(axis=1)
    total_mass = mass.sum(axis=0)
    total = np.sum(row_weights * (top + np.log(total_mass / len(means)))) / alpha
    rows = row_weights / (total_mass * alpha)
    mass *= rows
    second = np.einsum("ksi,si->ki", shares, squares) * rows
    pulls = rows / spreads
    d_means = np.einsum("ksi,ki->si", shares, pulls) * residuals
    first = np.einsum("ksi,si->ki", shares, residuals) * rows
    if skewed:
        second += offsets * (offsets * mass - 2.0 * first)
        d_means -= np.einsum("ksi,ki->si", shares, pulls * offsets)
    d_offsets = np.sum((first - offsets * mass) / spreads, axis=1)
    d_spreads = 0.5 * (second / spreads - mass) / spreads
    d_log_weights = mass.sum(axis=1)
    d_log_noises = noises / alpha * d_spreads.sum(axis=1) + 0.5 * (1 - alpha) * d_log_weights
    return total, d_means, d_spreads.sum(axis=0), d_log_weights, d_offsets, d_log_noises

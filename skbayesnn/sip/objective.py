"""The terms of the objective, eq. 12 of the paper, with their gradients.

    (1/α) Σ_i w_i log (1/S) Σ_s E[p(y_i | f_i)^α | u_s] − β · KL(q‖p)

with w_i the weight of a row, one in the paper. The paper draws f_i from p(f_i | u_s), and its noise
is Gaussian. Here the expectation is taken exactly: f_i given u_s is Gaussian, and with the norm
‖h‖ = E[h(f)^α]^(1/α) for f ~ N(m, v)

    ‖N(y; f, τ)‖ = (2πτ)^(−½) (1 + αv/τ)^(−1/(2α)) exp(−½ (y − m)² / (τ + αv)).

The noise may be a mixture of Gaussians of weights π_k, means o_k and variances τ_k (``noise.py``).
Its norm is that sum's for α = 1; for smaller α, where there is no closed form, the sum of the norms
takes its place, which is no more by Minkowski's inequality:

    E[(Σ_k π_k N(y; f + o_k, τ_k))^α] ≥ (Σ_k π_k ‖N(y; f + o_k, τ_k)‖)^α.

By Jensen's there is Σ_k π_k ‖…‖^α on the right, which is less: with it the noise becomes one
Gaussian while α is small, and stays one.

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
    offsets, noises = scales.offsets[:, None], scales.variances[:, None]
    # Rounding makes variances negative where training has left what is sensible.
    variances = np.maximum(variances, 0.0)
    spreads, residuals = noises + alpha * variances, y - means
    squares = residuals**2
    # Of (residual - offset)², term by term: few passes over arrays of all scales.
    terms = squares * (-0.5 / spreads)[:, None]
    if offsets.any():
        terms += residuals * (offsets / spreads)[:, None]
    constants = scales.log_weights[:, None] - 0.5 * (
        np.log(2 * np.pi * noises) + np.log(spreads / noises) / alpha + offsets**2 / spreads
    )
    terms += constants[:, None]
    top = terms.max(axis=0)
    terms -= top
    shares = np.exp(terms, out=terms)
    of_draws = shares.sum(axis=0)
    powers = alpha * (top + np.log(of_draws))
    most = powers.max(axis=0)
    powers = np.exp(powers - most)
    mass = powers.sum(axis=0)
    total = np.sum(row_weights * (most + np.log(mass / len(means)))) / alpha
    # The part of a row that each draw and scale explains, summed over draws, with the moments of
    # its residuals.
    shares *= powers * (row_weights / mass) / of_draws
    mass = shares.sum(axis=1)
    first = np.einsum("ksi,si->ki", shares, residuals) - offsets * mass
    second = np.einsum("ksi,si->ki", shares, squares) - offsets * (2.0 * first + offsets * mass)
    d_means = np.einsum("ksi,ki->si", shares, 1.0 / spreads) * residuals
    if offsets.any():
        d_means -= np.einsum("ksi,ki->si", shares, offsets / spreads)
    second /= spreads
    d_variances = 0.5 * np.sum((alpha * second - mass) / spreads, axis=0)
    d_offsets = np.sum(first / spreads, axis=1)
    d_log_noises = 0.5 * np.sum((noises * second + variances * mass) / spreads - mass, axis=1)
    return total, d_means, d_variances, mass.sum(axis=1), d_offsets, d_log_noises

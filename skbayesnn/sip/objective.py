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

from skbayesnn.numerics.jit import kernel


@kernel
def explained(residuals, linear, quadratic, constants, out, top):
    """Logs of the parts of rows that draws and scales explain, the largest of each taken off.

    Parameters
    ----------
    residuals : ndarray of shape (n_u, n)
    linear, quadratic, constants : ndarray of shape (n_scales, n)
        Factors of the residuals and of their squares, and what is added.
    out : ndarray of shape (n_u, n_scales, n)
        Set to the logs.
    top : ndarray of shape (n_u, n)
        Set to the largest of a draw.
    """
    for s in range(residuals.shape[0]):
        r, most = residuals[s], top[s]
        most[:] = -np.inf
        for k in range(constants.shape[0]):
            b, a, c, terms = linear[k], quadratic[k], constants[k], out[s, k]
            for i in range(r.shape[0]):
                term = (a[i] * r[i] + b[i]) * r[i] + c[i]
                terms[i] = term
                most[i] = max(most[i], term)
        for k in range(constants.shape[0]):
            terms = out[s, k]
            for i in range(r.shape[0]):
                terms[i] -= most[i]


@kernel
def collect(shares, factors, residuals, linear, quadratic, mass, first, second, d_means):
    """Moments of the residuals that each scale explains, and gradients in the means.

    Parameters
    ----------
    shares : ndarray of shape (n_u, n_scales, n)
        Parts of a row that scales explain, in proportion within a draw.
    factors : ndarray of shape (n_u, n)
        What makes them parts of the row.
    residuals, linear, quadratic : ndarray
        As in :func:`explained`.
    mass, first, second : ndarray of shape (n_scales, n)
        Set to the sums over draws of the parts, and of these times residuals and their squares.
    d_means : ndarray of shape (n_u, n)
        Set.
    """
    mass[:] = 0.0
    first[:] = 0.0
    second[:] = 0.0
    d_means[:] = 0.0
    for s in range(residuals.shape[0]):
        r, f, d = residuals[s], factors[s], d_means[s]
        for k in range(mass.shape[0]):
            p, b, a = shares[s, k], linear[k], quadratic[k]
            zeroth, one, two = mass[k], first[k], second[k]
            for i in range(r.shape[0]):
                part = p[i] * f[i]
                of_residual = part * r[i]
                zeroth[i] += part
                one[i] += of_residual
                two[i] += of_residual * r[i]
                d[i] -= 2.0 * a[i] * of_residual + b[i] * part


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
    # The exponent -(residual - offset)^2 / (2 spread), as a polynomial in the residual.
    quadratic, linear = -0.5 / spreads, offsets / spreads
    constants = scales.log_weights[:, None] - 0.5 * (
        np.log(2 * np.pi * noises) + np.log(spreads / noises) / alpha + offsets * linear
    )
    shares = np.empty((len(means), *spreads.shape))
    top = np.empty_like(residuals)
    explained(residuals, linear, quadratic, constants, shares, top)
    # numpy takes exponentials several at a time, which kernels do not.
    np.exp(shares, out=shares)
    of_draws = shares.sum(axis=1)
    powers = alpha * (top + np.log(of_draws))
    most = powers.max(axis=0)
    powers = np.exp(powers - most)
    mass = powers.sum(axis=0)
    total = np.sum(row_weights * (most + np.log(mass / len(means)))) / alpha
    # The part of a row that each draw and scale explains, summed over draws, with the moments of
    # its residuals.
    factors = powers * (row_weights / mass) / of_draws
    mass, first, second = np.empty((3, *spreads.shape))
    d_means = np.empty_like(residuals)
    collect(shares, factors, residuals, linear, quadratic, mass, first, second, d_means)
    first -= offsets * mass
    second -= offsets * (2.0 * first + offsets * mass)
    second /= spreads
    d_variances = 0.5 * np.sum((alpha * second - mass) / spreads, axis=0)
    d_offsets = np.sum(first / spreads, axis=1)
    d_log_noises = 0.5 * np.sum((noises * second + variances * mass) / spreads - mass, axis=1)
    return total, d_means, d_variances, mass.sum(axis=1), d_offsets, d_log_noises

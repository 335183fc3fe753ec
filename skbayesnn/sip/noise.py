"""Laws of the noise as Gaussians of several scales: one, or a Student's t that may be skewed.

A Student's t is a Gaussian whose precision is λ/σ² with λ ~ Gamma(ν/2, ν/2). The density of log λ
is proportional to exp(ν/2 (log λ − λ)), and the trapezoid rule in log λ makes of it

    Σ_k π_k N(o_k, σ² / λ_k),    log π_k = ν/2 (log λ_k − λ_k) − log Z(ν),    log λ_k evenly spaced,

which is a law by itself, normalised for every ν. With all o_k = 0 it is so near to a Student's t
that their divergence is below 0.01 nats; where ν is large the weight is that of λ = 1 alone, a
Gaussian. What is wide may lie to one side of what is narrow, in proportion to how much wider it is:

    o_k = β (σ / √λ_k − σ),    β = 2 tanh(b/2).

So the two tails differ in their scale and have one power; gamma noise of skewness 1.6 is then 0.07
nats from the nearest such law, and 0.19 from the nearest with β = 0. With |β| of 3 or more the
law has two modes, which are for the draws of functions to find: two branches are not at one
distance everywhere.
"""

from typing import NamedTuple

import numpy as np

STEP = 1.6
"""Distance of the log precisions."""
TRAINING, PREDICTION = STEP * np.arange(1, -4, -1), STEP * np.arange(1, -13, -1)
"""Log precisions log λ_k. Targets of rows to train on are within what five explain, deviations of
up to 11 σ and what lies beyond them; those of other rows may be a thousand times as far."""
LEAST_DEGREES = 2.0
"""The degrees of freedom are ν = 2 + exp(a): predictions have a mean, and a variance that hardly
depends on where the λ end."""
LEAST_VARIANCE = 1e-6
"""Of the target, standardised. Where most targets are equal, their density has no bound without:
the heavy tails explain the others."""
MOST_SKEW = 2.0
"""Of β."""
START = np.zeros(2)
"""Of a and b: three degrees of freedom."""


class Scales(NamedTuple):
    """Gaussians of a noise law.

    Attributes
    ----------
    log_weights, offsets, variances : ndarray of shape (n_scales,)
    slopes : ndarray of shape (n_scales,)
        Derivatives of the log weights in a.
    """

    log_weights: np.ndarray
    offsets: np.ndarray
    variances: np.ndarray
    slopes: np.ndarray


def variance_of(noise):
    """The variance σ² of a Gaussian, or the squared scale of a Student's t.

    Parameters
    ----------
    noise : array-like of shape (1,) or (3,)
        As in :func:`scales_of`.
    """
    return np.exp(float(noise[-1])) + (LEAST_VARIANCE if len(noise) > 1 else 0.0)


def scales_of(noise, log_precisions=TRAINING):
    """The noise model with some parameters.

    Parameters
    ----------
    noise : array-like of shape (1,) or (3,)
        log σ² alone for a Gaussian; a, b and log(σ² − 10⁻⁶) for a Student's t.
    log_precisions : ndarray of shape (n_scales,), default=TRAINING

    Returns
    -------
    scales : Scales

    Examples
    --------
    >>> import numpy as np
    >>> scales_of([0.0]).variances
    array([1.])
    >>> scales = scales_of([0.0, 1.0, 0.0])  # three degrees of freedom, to the right
    >>> np.exp(scales.log_weights).round(2)
    array([0.02, 0.73, 0.22, 0.03, 0.  ])
    >>> scales.offsets[2:].round(1)
    array([1.1, 3.7, 9.3])
    """
    variance = variance_of(noise)
    if len(noise) == 1:
        return Scales(np.zeros(1), np.zeros(1), np.array([variance]), np.zeros(1))
    above, skew = np.exp(float(noise[0])), MOST_SKEW * np.tanh(noise[1] / MOST_SKEW)
    statistics = log_precisions - np.exp(log_precisions)
    logits = 0.5 * (LEAST_DEGREES + above) * statistics
    weights = np.exp(logits - logits.max())
    total = weights.sum()
    log_weights = logits - logits.max() - np.log(total)
    slopes = 0.5 * above * (statistics - weights @ statistics / total)
    offsets = skew * np.sqrt(variance) * np.expm1(-0.5 * log_precisions)
    return Scales(log_weights, offsets, variance * np.exp(-log_precisions), slopes)


def gradient_of(noise, scales, d_log_weights, d_offsets, d_log_variances):
    """Gradient in the parameters from that in the law.

    Parameters
    ----------
    noise : ndarray of shape (1,) or (3,)
    scales : Scales
        Of these parameters, with the log precisions of training.
    d_log_weights, d_offsets, d_log_variances : ndarray of shape (n_scales,)

    Returns
    -------
    gradient : ndarray, as ``noise``
    """
    in_log_variance = d_log_variances.sum()
    if len(noise) == 1:
        return np.array([in_log_variance])
    variance = variance_of(noise)
    slope = np.cosh(noise[1] / MOST_SKEW) ** -2.0
    in_log_variance += 0.5 * d_offsets @ scales.offsets
    return np.array([
        d_log_weights @ scales.slopes,
        d_offsets @ np.expm1(-0.5 * TRAINING) * np.sqrt(variance) * slope,
        in_log_variance * (1.0 - LEAST_VARIANCE / variance),
    ])  # fmt: skip


def penalty_of(noise):
    """Minus the log density of ν under Gamma(2, 1/10) and of b under N(0, 1), and its gradient.

    The first is a weak prior (Juárez and Steel, 2010): where all rows fit a Gaussian, it keeps ν
    from infinity, from where no gradient leads back. Constants are left out.

    Parameters
    ----------
    noise : ndarray of shape (1,) or (3,)
        As in :func:`scales_of`.

    Returns
    -------
    penalty : float
    gradient : ndarray, as ``noise``
    """
    gradient = np.zeros(len(noise))
    if len(noise) == 1:
        return 0.0, gradient
    above, b = np.exp(float(noise[0])), float(noise[1])
    degrees = LEAST_DEGREES + above
    gradient[:2] = (0.1 - 1.0 / degrees) * above, b
    return 0.1 * degrees - np.log(degrees) + 0.5 * b**2, gradient

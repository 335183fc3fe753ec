"""A scale for each input, which maximises the evidence of the Gaussian limit.

If the weights of all inputs have the same scale, hidden units depend on all inputs alike, and
irrelevant inputs mask the relevant ones. The scales λ of the input weights, w_j ~ N(0, λ_j²), are
therefore chosen as Gaussian processes choose length scales: by maximising the marginal likelihood
for α = 2, whose covariance is

    ν k(c) + σ² I,    k(c) = 1 - 2 arccos(c)/π,    c the cosine between (1, λx) and (1, λx'),

over log λ, log ν and log σ², with a wide normal prior on log λ. For the units erf(b + w · x), the
kernel is that of Williams (1998), the same function k of

    c = (λ_0² + λx · λx') / √((½ + λ_0² + |λx|²) (½ + λ_0² + |λx'|²)).

The scale λ_0 of the biases is then estimated, too (the sign is invariant to scale). For cosines, it
is the squared exponential kernel, exp(-|λx - λx'|²/2) (Rahimi and Recht, 2007).
"""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from skbayesnn._validation import location_and_scale
from skbayesnn._warnings import warn_user
from skbayesnn.numerics.random import some_rows
from skbayesnn.numerics.smooth_minimum import minimise_smooth
from skbayesnn.stable.gaussian_evidence import by_log_scales, minus_log_evidence
from skbayesnn.stable.partitions.features import distinct_rows
from skbayesnn.stable.partitions.sampled import BIAS_SCALES

MAX_ROWS = 600
"""If there are more distinct rows, a random subset is used: an evaluation costs O(n³)."""

_PRIOR_VARIANCE = 9.0
_LOG_BOUND = 9.0
# Relative to ν: the arc cosines of nearly equal rows lose half of their digits.
_LEAST_NOISE = 1e-6
_MAX_ITERATIONS = 100


def _sign(X, scales):
    """Kernel for sign units; returns the same values as :func:`_erf`."""
    scaled = X * scales
    norms = np.sqrt(1.0 + (scaled**2).sum(axis=1))
    u = scaled / norms[:, None]
    return _arc_cosine(u, u @ u.T + 1.0 / np.outer(norms, norms))


def _erf(X, scales):
    """Kernel for error-function units, and a function for its gradient.

    Returns
    -------
    k : ndarray of shape (n, n)
    gradient_of : callable
        Maps a gradient with respect to k to that with respect to the logarithms of the scales.
    """
    scaled = np.column_stack([X, np.ones(len(X))]) * scales
    u = scaled / np.sqrt(0.5 + (scaled**2).sum(axis=1))[:, None]
    return _arc_cosine(u, u @ u.T)


def _arc_cosine(u, cosine):
    """1 - 2 arccos(c)/π; `u` are the scaled inputs divided by their norms."""
    # Equal rows: the arc cosine would turn a rounding error into 1e-8.
    cosine[cosine > 1.0 - 1e-14] = 1.0
    cosine = np.maximum(cosine, -1.0)

    def gradient_of(by_k):
        # k'(c) = 2/(π √(1-c²)); for equal rows, c does not depend on the scales.
        sine = np.sqrt(1.0 - cosine**2)
        slope = np.divide(2.0 / np.pi, sine, out=np.zeros_like(sine), where=sine > 1e-7)
        by_cosine = by_k * slope
        # dc/dlog λ_j = 2 u_j u_j' - c (u_j² 1' + 1 u_j²').
        pull = (by_cosine * cosine).sum(axis=1) @ u**2
        return 2.0 * ((u * (by_cosine @ u)).sum(axis=0) - pull)

    return 1.0 - 2.0 / np.pi * np.arccos(cosine), gradient_of


def _cosine(X, scales):
    """Squared exponential kernel for cosine units; returns the same values as :func:`_erf`."""
    scaled = X * scales
    k = np.exp(-0.5 * cdist(scaled, scaled, "sqeuclidean"))
    return k, lambda by_k: by_log_scales(by_k * k, scaled)


_KERNELS = {"sign": _sign, "erf": _erf, "cosine": _cosine}


def negative_log_posterior(parameters, X, y, activation="sign", counts=1.0, within=0.0):
    """Negative log evidence plus negative log prior, and the gradient.

    Parameters
    ----------
    parameters : ndarray of shape (n_scales + 2,)
        log λ of each input (and for "erf" log λ_0), log ν and log σ².
    X : ndarray of shape (n, n_features)
    y : ndarray of shape (n,)
        Standardised.
    activation : {"sign", "erf", "cosine"}, default="sign"
    counts : float or ndarray of shape (n,), default=1.0
        Number of rows that each row of X stands for; y then contains their means.
    within : float, default=0.0
        Sum of squares of the targets about these means.

    Returns
    -------
    value : float
    gradient : ndarray of shape (n_scales + 2,)
    """
    scales, nu, noise = np.exp(parameters[:-2]), *np.exp(parameters[-2:])
    k, gradient_of = _KERNELS[activation](X, scales)
    covariance = nu * k
    covariance.flat[:: len(y) + 1] += noise / counts + nu * _LEAST_NOISE
    value, by_covariance = minus_log_evidence(covariance, y)
    n_repeats = np.broadcast_to(counts, len(y)).sum() - len(y)
    value += 0.5 * (within / noise + n_repeats * parameters[-1])
    gradient = np.empty_like(parameters)
    gradient[:-2] = nu * gradient_of(by_covariance)
    diagonal = np.diag(by_covariance)
    gradient[-2] = nu * ((by_covariance * k).sum() + _LEAST_NOISE * diagonal.sum())
    gradient[-1] = noise * (diagonal / counts).sum() + 0.5 * (n_repeats - within / noise)
    value += 0.5 * (parameters[:-2] ** 2).sum() / _PRIOR_VARIANCE
    gradient[:-2] += parameters[:-2] / _PRIOR_VARIANCE
    return value, gradient


def best_scales(X, y, rng, activation="sign", sample_weight=None):
    """Scales of input weights and biases that maximise the evidence of the Gaussian limit.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    y : ndarray of shape (n,)
    rng : numpy.random.Generator
        Selects rows if there are more than :data:`MAX_ROWS` distinct ones.
    activation : {"sign", "erf", "cosine"}, default="sign"
    sample_weight : ndarray of shape (n,), default=None
        Weight of each row.

    Returns
    -------
    scales : ndarray of shape (n_features,)
    bias_scale : float

    Warns
    -----
    ConvergenceWarning
        If the search does not end at a maximum.
    """
    # Work in units of each input's standard deviation, so that the bounds suit inputs of any scale.
    _, spread = location_and_scale(X, "X", sample_weight)
    location, scale = location_and_scale(y, "y", sample_weight)
    rows, y, counts, squares = distinct_rows(X / spread, (y - location) / scale, sample_weight)
    chosen = some_rows(len(y), MAX_ROWS, rng)
    rows, y, counts, squares = rows[chosen], y[chosen], counts[chosen], squares[chosen]
    n_features = X.shape[1]
    n_scales = n_features + (activation == "erf")
    start = np.concatenate([np.zeros(n_scales), [0.0, np.log(0.1)]])
    found = minimise_smooth(
        negative_log_posterior, start, args=(rows, y, activation, counts, squares.sum()),
        bounds=[(-_LOG_BOUND, _LOG_BOUND)] * start.size, max_iter=_MAX_ITERATIONS,
    )  # fmt: skip
    if not found.success:
        warn_user(
            f"The search for the input scales ended after {found.nit} steps without a maximum "
            f"({found.message.lower().rstrip('.')}). Give input_scale as numbers, or leave out "
            "inputs that repeat each other.",
            ConvergenceWarning,
        )
    scales = np.exp(found.x[:-2])
    bias_scale = float(scales[n_features]) if activation == "erf" else BIAS_SCALES[activation]
    return scales[:n_features] / spread, bias_scale

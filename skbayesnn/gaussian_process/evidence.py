"""Evidence of a Gaussian process, priors of its settings, and the search for the best of them.

The settings are the logs of a length scale for each input, of the height, and of the noise
variance. Weak priors keep a handful of rows from being explained by noise of nothing, and turn
down inputs that do not matter.
"""

import numpy as np
from scipy.linalg import LinAlgError, blas, lapack

from skbayesnn.gaussian_process.factors import cholesky
from skbayesnn.gaussian_process.kernels import squared_exponential
from skbayesnn.numerics.scratch import scratch
from skbayesnn.numerics.smooth_minimum import minimise_smooth

LOG_2PI = np.log(2 * np.pi)
JITTER = 1e-12
"""Least noise variance, as a part of the height: what is added to every noise variance."""
PRIOR_MEANS, PRIOR_STD = (0.0, -2.0), 3.0
"""Of a normal prior of the logs of height and noise variance, of standardised targets."""
ALL_MAY_MATTER = 20
"""Number of inputs up to which all may matter; see :func:`relevance_scale`."""
LENGTH_BOUNDS, HEIGHT_BOUNDS, LARGEST_LOG_NOISE = (-4.0, 12.0), (-4.0, 8.0), 2.0
"""Of the search, on standardised data."""


def evidence(features, Y, weights, log_height, log_noise):
    """−log evidence of all targets of a Gaussian process, with its gradients.

    A row of weight w counts as w equal rows: as one with the noise variance σ²/w, but for
    the factor (2πσ²)^(−(w−1)/2) w^(−1/2) of the density of w equal observations.

    Parameters
    ----------
    features : ndarray of shape (n, k)
        In units of the length scale.
    Y : ndarray of shape (n, n_targets)
    weights : ndarray of shape (n,)
    log_height : float
    log_noise : ndarray of shape (n_targets,)
        Log noise variances.

    Returns
    -------
    loss : float
    d_features : ndarray of shape (n, k)
    d_log_height : float
    d_log_noise : ndarray of shape (n_targets,)
    n_failures : int
        Factorisations that needed more jitter.
    """
    n, n_targets = Y.shape
    repeats = weights.sum() - n
    gram = squared_exponential(features, features, log_height, out=scratch("gram", (n, n)))
    extended = np.column_stack([features, np.ones(n)])
    loss = 0.5 * n_targets * (weights.sum() * LOG_2PI + np.log(weights).sum())
    moved, n_failures = 0.0, 0
    added, d_log_height = JITTER * np.exp(log_height), 0.0
    d_log_noise = np.empty(n_targets)
    # Targets of equal noise share a factor. Few large arrays: new ones cost as much as the sums.
    firsts = np.flatnonzero(np.diff(log_noise, prepend=np.nan) != 0.0)
    for targets in np.split(np.arange(n_targets), firsts[1:]):
        own = np.exp(log_noise[targets[0]])
        noise = own + added
        variances = noise / weights
        # Symmetric: its transpose has the order that LAPACK wants, which is quick to copy.
        factor, _, failures = cholesky(gram.T, 0.0, variances, scratch("factor", (n, n)).T)
        n_failures += failures
        solved, _ = lapack.dpotrs(factor, Y[:, targets], lower=1)
        loss += 0.5 * (np.vdot(solved, Y[:, targets]) + targets.size * repeats * np.log(noise))
        loss += targets.size * np.log(np.diagonal(factor)).sum()
        # Of the inverse of the covariance, C, only the lower half is computed.
        half, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        d_log = 0.5 * (variances @ (np.diagonal(half)[:, None] - solved**2) + repeats)
        d_log_noise[targets] = d_log * own / noise
        d_log_height += d_log.sum() * added / noise
        for w in solved.T:
            moved = moved - w[:, None] * (gram @ (w[:, None] * extended))
        # The gradient in the Gram matrix K is ½ (C⁻¹ − w w'); its products with K by elements are
        # never formed as full matrices.
        half *= targets.size
        half *= gram.T
        moved = moved + blas.dsymm(1.0, half, extended, lower=1)
    moved *= 0.5
    d_features = 2.0 * (moved[:, :-1] - moved[:, -1:] * features)
    d_log_height += moved[:, -1].sum()
    return loss, d_features, d_log_height, d_log_noise, n_failures


def log_evidence(theta, X, Y, weights):
    """−log p(Y) a row and target of an exact Gaussian process, with its gradient.

    Weights are those of :func:`evidence`.

    Parameters
    ----------
    theta : ndarray of shape (n_inputs + 2,)
        Log length scales, log height, log noise variance.
    X : ndarray of shape (n, n_inputs)
    Y : ndarray of shape (n, n_targets)
    weights : ndarray of shape (n,)

    Returns
    -------
    loss : float
    gradient : ndarray of shape (n_inputs + 2,)
    """
    x = X * np.exp(-theta[:-2])
    n_targets = Y.shape[1]
    loss, d_x, d_log_height, d_log_noise, _ = evidence(
        x, Y, weights, theta[-2], np.full(n_targets, theta[-1])
    )
    d_scales = -np.einsum("ij,ij->j", d_x, x)
    count = weights.sum() * n_targets
    gradient = np.concatenate([d_scales, [d_log_height, d_log_noise.sum()]])
    return loss / count, gradient / count


def relevance_scale(n_inputs):
    """Scale of :func:`relevance_prior` for so many inputs, on standardised data.

    It is one over their number up to :data:`ALL_MAY_MATTER` inputs, and falls with the cube of
    the number beyond, to one over the longest length scale of a search. At one over their number,
    a hundred inputs without effect would together explain a fifth of the noise.

    Parameters
    ----------
    n_inputs : int

    Returns
    -------
    scale : float

    Examples
    --------
    >>> [round(relevance_scale(n_inputs), 6) for n_inputs in (1, 20, 40, 100)]
    [1.0, 0.05, 0.00625, 0.0004]
    """
    scale = min(1.0, ALL_MAY_MATTER / n_inputs) ** 2 / n_inputs
    return max(scale, float(np.exp(-LENGTH_BOUNDS[1])))


def relevance_prior(log_length_scales, scale):
    """−log density of the log length scales, but for a constant, with its gradient.

    The squares of the inverse length scales, as parts of that of this scale, follow an F law of
    1.5 and 1.5 degrees of freedom, so u, the log of length scale times ``scale``, has a density
    of cosh(u)^(−1.5). Of many inputs few matter: those few cost one and a half times the log of
    how far they are out, whatever the number of rows, where the evidence alone finds some use for
    every one of a hundred inputs.

    Parameters
    ----------
    log_length_scales : ndarray of shape (n_inputs,)
    scale : float

    Returns
    -------
    value : float
        Zero or more.
    gradient : ndarray of shape (n_inputs,)

    Examples
    --------
    >>> import numpy as np
    >>> value, gradient = relevance_prior(np.array([1.0]), 1.0)
    >>> round(value, 4), gradient.round(4)
    (0.6507, array([1.1424]))
    """
    u = log_length_scales + np.log(scale)
    return 1.5 * float((np.logaddexp(u, -u) - np.log(2.0)).sum()), 1.5 * np.tanh(u)


def settings_prior(settings, n_inputs, scale):
    """−log prior density of the settings, but for a constant, with its gradient.

    Parameters
    ----------
    settings : ndarray of shape (n_inputs + 1 + n_noises,)
        Log length scales, log height, log noise variances.
    n_inputs : int
    scale : float
        Scale of :func:`relevance_prior`.

    Returns
    -------
    value : float
    gradient : ndarray of the shape of ``settings``
    """
    value, gradient = relevance_prior(settings[:n_inputs], scale)
    centre = np.repeat(PRIOR_MEANS, [1, len(settings) - n_inputs - 1])
    distance = (settings[n_inputs:] - centre) / PRIOR_STD
    return value + 0.5 * distance @ distance, np.concatenate([gradient, distance / PRIOR_STD])


def start_of(n_inputs, length, noise):
    """Settings where a search can start.

    Parameters
    ----------
    n_inputs : int
    length : float
        All length scales, as a part of the typical distance of two standardised rows.
    noise : float
        Variance.

    Returns
    -------
    theta : ndarray of shape (n_inputs + 2,)
    """
    lengths = np.full(n_inputs, np.log(length * np.sqrt(n_inputs)))
    return np.concatenate([lengths, [0.0, np.log(noise)]])


def search(start, X, Y, weights, max_iter, least_log_noise, n_candidates=None):
    """The most probable settings, by L-BFGS.

    Their prior is :func:`settings_prior` at the :func:`relevance_scale` of all candidates.

    Parameters
    ----------
    start : ndarray of shape (n_inputs + 2,)
        See :func:`log_evidence`.
    X : ndarray of shape (n, n_inputs)
        Standardised.
    Y : ndarray of shape (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)
    max_iter : int
    least_log_noise : float
        Bound of the log of the noise variance.
    n_candidates : int, optional
        Inputs that these were chosen from; by default these are all.

    Returns
    -------
    found : scipy.optimize.OptimizeResult or None
        ``x`` are the settings, ``fun`` is minus the log posterior density a row and target, but for
        a constant. None where the covariance is singular all the way.
    """
    n_inputs = X.shape[1]
    count = weights.sum() * Y.shape[1]
    scale = relevance_scale(n_candidates or n_inputs)

    def penalised(theta):
        loss, gradient = log_evidence(theta, X, Y, weights)
        prior, d_prior = settings_prior(theta, n_inputs, scale)
        return loss + prior / count, gradient + d_prior / count

    bounds = [LENGTH_BOUNDS] * n_inputs + [HEIGHT_BOUNDS, (least_log_noise, LARGEST_LOG_NOISE)]
    try:
        found = minimise_smooth(penalised, start, bounds=bounds, max_iter=max_iter)
    except LinAlgError:
        return None
    return found if np.isfinite(found.fun) else None

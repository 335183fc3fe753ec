"""Densities of the generalised singular Wishart distributions, and their draws.

The volume is that of :mod:`skbayesnn.dwp.wishart`. Models need the divergence alone, in closed
form: these say whether it is right.
"""

import numpy as np
from scipy.special import gammaln

from skbayesnn.dwp.wishart import Draws, prior_constant


def draw(parameters, generator, n_draws):
    """Draw S from the posterior.

    Parameters
    ----------
    parameters : dict of str to ndarray
    generator : numpy.random.Generator
    n_draws : int

    Returns
    -------
    draws : Draws
    """
    n_points, rank = parameters["mean"].shape
    uniform = generator.uniform(1e-12, 1 - 1e-12, size=(n_draws, rank))
    return Draws(parameters, uniform, generator.standard_normal((n_draws, n_points, rank)))


def log_prior(factors, freedom):
    """Log-density of S S' under the prior with L = I (eq. 11).

    Parameters
    ----------
    factors : ndarray of shape (..., P, r)
        S, any factor of the matrix.
    freedom : int
        ν.

    Returns
    -------
    log_density : ndarray of shape (...)
    """
    n_points, rank = factors.shape[-2:]
    squares = (factors**2).sum(axis=(-2, -1))
    power = freedom - n_points - 1
    constant = prior_constant(n_points, freedom) - rank * np.log(2)
    return constant + power * _log_top(factors) - 0.5 * squares


def _log_top(factors):
    """log |S₁|."""
    return np.linalg.slogdet(factors[..., : factors.shape[-1], :])[1]


def log_posterior(draws):
    """Log-density of S S' under the posterior that the draws come from (eqs 12 to 14).

    Parameters
    ----------
    draws : Draws

    Returns
    -------
    log_density : ndarray of shape (n_draws,)
    """
    p, t = draws.parameters, draws.bartlett
    n_points, rank = p["mean"].shape
    j = np.arange(rank)
    shape, log_rate = draws.shape, p["log_shape"] - p["log_square"]
    log_t = np.log(draws.diagonal)
    # The density of T …
    density = np.log(2) + shape * log_rate - gammaln(shape) + (2 * shape - 1) * log_t
    density = (density - np.exp(log_rate) * draws.diagonal**2).sum(axis=-1)
    standard = np.where(draws.below, (t - p["mean"]) * np.exp(-p["log_std"]), 0.0)
    density -= 0.5 * (standard**2).sum(axis=(-2, -1))
    density -= np.where(draws.below, p["log_std"] + 0.5 * np.log(2 * np.pi), 0.0).sum()
    # … of T B, of T B B' T', and of A T B B' T' A'.
    if draws.right is not None:
        log_b = np.diagonal(p["right"])
        density -= (n_points - j) @ log_b
        log_t = log_t + log_b
    density -= rank * np.log(2) + log_t @ (n_points - j)
    if draws.left is not None:
        density -= rank * np.linalg.slogdet(draws.left)[1]
        power = n_points + 1 - rank
        density -= power * (_log_top(draws.factors) - log_t.sum(axis=-1))
    return density


def log_volume(rank, scale_factor):
    """Log of the volume ratio between L Z L' and Z; log-densities in L Z L' are less by it.

    Parameters
    ----------
    rank : int
        r, that of Z.
    scale_factor : ndarray of shape (P, P)
        L, lower triangular.

    Returns
    -------
    log_volume : float
    """
    log_scale = np.log(np.diagonal(scale_factor))
    power = len(log_scale) + 1 - rank
    return rank * log_scale.sum() + power * log_scale[:rank].sum()

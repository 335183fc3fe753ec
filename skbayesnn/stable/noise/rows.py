"""The noise of all rows: its part of the state of a chain, and its updates given the residuals."""

from dataclasses import dataclass
from math import inf

import numpy as np

from skbayesnn.numerics.rounding import rounding_variance
from skbayesnn.stable.noise.precisions import DEGREES, log_constants, update_noise
from skbayesnn.stable.noise.slopes import bounded, expected_moves, update_slopes


def least_log_noise(targets):
    """Log variance of rounding, the lower limit of log σ²: ties would drive σ² to zero."""
    rounding = rounding_variance(targets)
    return np.log(rounding) if rounding else -inf


@dataclass
class RowNoise:
    """The noise in the state of a chain, except for σ².

    Attributes
    ----------
    degrees : float
        The degrees of freedom κ.
    precisions : ndarray of shape (n,)
        p at the rows: the noise of a row has variance σ²/p.
    slopes, log_local : ndarray of shape (n_slopes,)
        β, and the log λ of its prior.
    log_tau : float
        log τ of the prior of all slopes.
    log_factors : ndarray of shape (n,)
        h at the rows: p is exp(-h) times the precision of the Student-t noise.
    """

    degrees: float
    precisions: np.ndarray
    slopes: np.ndarray
    log_local: np.ndarray
    log_tau: float
    log_factors: np.ndarray


def first_noise(basis, weights, prior, rng):
    """Initial noise of a chain.

    Parameters
    ----------
    basis : NoiseBasis or None
    weights : ndarray of shape (n,)
    prior : Prior
    rng : numpy.random.Generator

    Returns
    -------
    noise : RowNoise
    """
    slopes = np.zeros(0) if basis is None else basis.first.copy()
    log_factors = np.zeros(weights.size)
    if slopes.any():
        log_factors = bounded(slopes @ basis.train)
    return RowNoise(
        degrees=float(rng.choice(DEGREES)) if prior.degrees is None else prior.degrees,
        precisions=weights * np.exp(-log_factors),
        slopes=slopes,
        log_local=np.zeros(slopes.size),
        log_tau=rng.normal(-2.0, 1.0) if slopes.size else 0.0,
        log_factors=log_factors,
    )


class NoiseMoves:
    """Updates of the noise of one chain.

    Parameters
    ----------
    basis : NoiseBasis or None
        What the scale of the noise depends on.
    weights : ndarray of shape (n,)
    prior : Prior
    least_log_noise : float
        Lower limit of log σ².
    n_moves : int
        Number of updates of the degrees of freedom at a time.

    Attributes
    ----------
    least_log_noise : float
        Infinite if σ² is fixed.
    """

    def __init__(self, basis, weights, prior, least_log_noise, n_moves):
        self._basis, self._weights, self._n_rows = basis, weights, float(weights.sum())
        self._move_degrees = prior.degrees is None
        self.least_log_noise = inf if prior.log_noise is not None else least_log_noise
        self._n_moves, self._constants = n_moves, log_constants()
        self._first_sweep = None

    def update(self, state, residuals, log_noise, sweep, rng):
        """Update the noise given the residuals: precisions are integrated out, then drawn.

        In the first half of a warm-up, the slopes of the noise scale keep their initial values:
        otherwise they would explain what f does not explain yet.

        Parameters
        ----------
        state : RowNoise
            Changed in place.
        residuals : ndarray of shape (n,)
            Targets minus f.
        log_noise : float
            log σ².
        sweep : int
            Number of the sweep, negative during the warm-up.
        rng : numpy.random.Generator

        Returns
        -------
        log_noise : float
        """
        if self._first_sweep is None:
            self._first_sweep = sweep
        if self._basis is not None and (sweep >= 0 or 2 * sweep >= self._first_sweep):
            state.log_tau = update_slopes(
                self._basis.train, residuals, self._weights, state.degrees, log_noise,
                state.slopes, state.log_local, state.log_tau,
                expected_moves(residuals.size, state.slopes.size), rng,
            )  # fmt: skip
            state.log_factors = bounded(state.slopes @ self._basis.train)
        state.degrees, log_noise = update_noise(
            residuals, state.log_factors, self._weights, self._n_rows, DEGREES, self._constants,
            state.degrees, log_noise, self._move_degrees, self.least_log_noise, self._n_moves,
            state.precisions, rng,
        )  # fmt: skip
        return log_noise

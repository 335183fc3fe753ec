"""What a chain samples from, and its state."""

from math import inf
from typing import NamedTuple

import numpy as np

from skbayesnn.numerics.stable_laws import PositiveStableTable, positive_stable_table


class Prior(NamedTuple):
    """Index α, scale ν, log σ², and degrees of freedom of the noise; None where sampled.

    The priors are in :mod:`skbayesnn.stable.samplers.hyper`; σ² is half-Cauchy.
    """

    alpha: float | None
    nu: float | None
    log_noise: float | None
    degrees: float | None = inf


class Problem(NamedTuple):
    """What a chain samples from, at given α and ν.

    Attributes
    ----------
    y, counts : ndarray of shape (n,)
        Mean of the targets at each distinct input row, and number of rows there.
    within : float
        Sum of squares of the targets about those means.
    log_units : ndarray of shape (n_cells,)
        log(ν q^{2/α}): the log-variance of a cell's weight where its scale s is one.
    table : PositiveStableTable
        Log-density of log s.
    width : float
        First interval of the slice sampler for log s: about its prior spread.
    move_scales, move_noise : bool
        False where the scales are one (α = 2) or the noise variance is known.
    least_log_noise : float
        Below which log σ² is not let.
    """

    y: np.ndarray
    counts: np.ndarray
    within: float
    log_units: np.ndarray
    table: PositiveStableTable
    width: float
    move_scales: bool
    move_noise: bool
    least_log_noise: float


class State(NamedTuple):
    """The state of a chain, changed in place by its sweeps: all that it needs to go on.

    Attributes
    ----------
    log_variances : ndarray of shape (n_cells,)
        Of the weights.
    f : ndarray of shape (n,)
        The function at the distinct rows, for cells on the line.
    weights : ndarray of shape (n_cells,)
        For other cells.
    planes : ndarray of shape (n_units, n_features + 1)
        Hyperplanes of sampled units; without rows for exact cells.
    log_noise, alpha, log_nu : ndarray of shape (1,)
        log σ², α and log ν.
    """

    log_variances: np.ndarray
    f: np.ndarray
    weights: np.ndarray
    planes: np.ndarray
    log_noise: np.ndarray
    alpha: np.ndarray
    log_nu: np.ndarray


def table_and_width(alpha):
    """The law of the scales that α asks for, and the width of the slices of their logs."""
    # Where all scales are one the table is not looked at, and any will do.
    a = alpha / 2.0 if alpha != 2.0 else 0.5
    return positive_stable_table(a), max(1.0, np.pi * np.sqrt((1.0 / a**2 - 1.0) / 6.0))


def make_problem(y, counts, within, log_masses, alpha, log_nu, move_noise, least_log_noise=-inf):
    """Gather what a chain needs to know; the arguments are as in the classes above."""
    return Problem(
        y,
        counts,
        within,
        log_nu + (2.0 / alpha) * log_masses,
        *table_and_width(alpha),
        alpha != 2.0,
        move_noise,
        least_log_noise,
    )


def problem_at(problem, log_masses, alpha, log_nu):
    """The problem at other values of α and log ν."""
    data = problem.y, problem.counts, problem.within
    limits = problem.move_noise, problem.least_log_noise
    return make_problem(*data, log_masses, alpha, log_nu, *limits)

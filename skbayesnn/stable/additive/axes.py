"""Axis units: for each input, an exact α-stable process on the line.

f_k depends only on input k. Given all other parts, it is the model of
:mod:`skbayesnn.stable.samplers.line`. Its targets are the weighted means of the partial residuals
at the distinct values of the input, and rows have their own noise variances σ²/p_i (because of
sample weights and Student-t noise).
"""

from math import exp, inf

import numpy as np

from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.numerics.stable_laws import log_density
from skbayesnn.stable.partitions.line import LineCells
from skbayesnn.stable.samplers.line import (
    MAX_LOG_VARIANCE,
    draw_function,
    draw_variances,
    exchange_neighbours,
    log_evidence,
    move_log_nu,
)
from skbayesnn.stable.samplers.scales import log_noise_prior, propose_log_noise

_MAX_LOG_OUTER = 25.0

MAX_VALUES, MAX_ALL_VALUES, LEAST_VALUES = 5000, 100_000, 20
"""Limits on the distinct values of an input. Beyond them, neighbouring values are merged into runs,
on each of which f_k is constant. The first limit is for a single input. All inputs together have at
most the second number, unless that leaves fewer than the third for each. Every draw stores a number
per value."""


def most_values(n_inputs):
    """Largest number of distinct values of an input for which f_k has a number each."""
    return min(MAX_VALUES, max(LEAST_VALUES, MAX_ALL_VALUES // n_inputs))


class Axis:
    """Distinct values of one input, and the indices of the rows among them.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Scaled input.
    most : int
        See :func:`most_values`.

    Attributes
    ----------
    cells : LineCells
        Cells of the distinct values; if there are more than ``most``, of the middle value of each
        run of neighbours.
    index : ndarray of int32, shape (n,)
        Index of each row among the values.
    """

    def __init__(self, x, most):
        values, index = np.unique(x, return_inverse=True)
        if values.size > most:
            run = np.arange(values.size) * most // values.size
            starts = np.flatnonzero(np.diff(run, prepend=-1))
            ends = np.append(starts[1:], values.size)
            values, index = values[(starts + ends) // 2], run[index]
        self.cells, self.index = LineCells(values[:, None]), index.astype(np.int32)


@kernel
def update_axes(
    order, index, starts, ends, y, fit, precisions, n_rows, log_masses, log_crowd, log_variances, f,
    log_nu, log_noise, alpha, table, width, move_scales, move_nu, least_log_noise, n_moves, rng,
):  # fmt: skip
    """Update the f_k in turn given all other parts; ν_k and σ² move with f_k integrated out.

    Parameters
    ----------
    order : ndarray of int
        The axes to update, in this order.
    index : ndarray of int32, shape (n_axes, n)
        Index of each row among the values of each axis.
    starts, ends : ndarray of int, shape (n_axes,)
        Range of each axis in arrays of the values of all axes.
    y, fit, precisions : ndarray of shape (n,)
        Targets, the sum of all parts (updated in place), and p.
    n_rows : float
        Sum of the sample weights.
    log_masses, log_variances, f : ndarray of shape (n_values,)
        For the values of all axes; log v and f_k are updated in place.
    log_crowd : float
        The prior of each ν_k has scale exp(-2/α log_crowd).
    log_nu : ndarray of shape (n_axes,)
        Updated in place.
    log_noise, alpha : float
    table, width
        Table of the scales, and width of their slice sampler.
    move_scales, move_nu : bool
        False if the scales are one (α = 2), or if the ν_k are fixed.
    least_log_noise : float
        See :func:`~skbayesnn.stable.noise.precisions.update_noise`; infinite if σ² is fixed.
    n_moves : int
        Number of updates of each ν_k.
    rng : numpy.random.Generator

    Returns
    -------
    log_noise : float
    """
    state, crowd = np.empty(2), 2.0 / alpha * log_crowd
    state[1] = log_noise
    for k in order:
        # Relative to the scale of its prior, as the updates of ν require.
        state[0] = log_nu[k] + crowd
        _update_axis(
            y, fit, precisions, n_rows, index[k], log_masses[starts[k] : ends[k]] - log_crowd,
            log_variances[starts[k] : ends[k]], f[starts[k] : ends[k]], state, alpha, table, width,
            move_scales, move_nu, least_log_noise, n_moves, rng,
        )  # fmt: skip
        log_nu[k] = state[0] - crowd
    return state[1]


@helper
def _update_axis(
    y, fit, precisions, n_rows, index, log_masses, log_variances, f, state, alpha, table, width,
    move_scales, move_nu, least_log_noise, n_moves, rng,
):  # fmt: skip
    """Update one f_k; see :func:`update_axes`. ``state`` is (log ν_k, log σ²)."""
    n, n_values = y.shape[0], f.shape[0]
    totals, target = np.zeros(n_values), np.zeros(n_values)
    within = 0.0
    for i in range(n):
        e = y[i] - fit[i]
        totals[index[i]] += precisions[i]
        target[index[i]] += precisions[i] * e
        within += precisions[i] * e * e
    total = 0.0
    for j in range(n_values):
        mean = target[j] / totals[j]
        within -= totals[j] * mean * mean
        target[j] = mean + f[j]
        total += totals[j]
    within = max(within, 0.0)
    old = f.copy()
    log_units, steps, noise = np.empty(n_values), np.empty(n_values), np.empty(n_values)
    for j in range(n_values):
        log_units[j] = state[0] + 2.0 / alpha * log_masses[j]
        steps[j] = 4.0 * exp(min(log_variances[j], MAX_LOG_VARIANCE))
        noise[j] = exp(state[1]) / totals[j]
    if move_scales:
        draw_variances(
            target, noise, f[0], log_units, log_variances, steps, table, width,
            rng.random() < 0.5, rng,
        )  # fmt: skip
        if n_values == 1:
            # In this case v was drawn without f_0, but the next moves condition on f_0.
            draw_function(target, noise, steps, rng, f)
    if move_nu:
        move_log_nu(
            target, totals, within, f[0], log_units, log_variances, steps, state, table,
            move_scales, n_moves, rng,
        )  # fmt: skip
    if least_log_noise < inf:
        proposal = propose_log_noise(state[1], n_rows, rng)
        # The evidence of the line counts each unit of p as a row.
        log_ratio = (
            log_noise_prior(proposal)
            - log_noise_prior(state[1])
            + log_evidence(target, totals, within, proposal, f[0], steps)
            - log_evidence(target, totals, within, state[1], f[0], steps)
            - 0.5 * (n_rows - total) * (proposal - state[1])
        )
        if proposal >= least_log_noise and -rng.standard_exponential() < log_ratio:
            state[1] = proposal
            for j in range(n_values):
                noise[j] = exp(proposal) / totals[j]
    draw_function(target, noise, steps, rng, f)
    if move_scales:
        exchange_neighbours(target, noise, log_units, log_variances, steps, f, table, rng)
    for i in range(n):
        fit[i] += f[index[i]] - old[index[i]]


@kernel
def add_up(index, starts, f, g):
    """Sum of all parts at the rows, (n,); see :func:`update_axes` for the arguments."""
    fit = g.copy()
    for k in range(starts.shape[0]):
        for i in range(fit.shape[0]):
            fit[i] += f[starts[k] + index[k, i]]
    return fit


@kernel
def move_levels(first, last, log_outer, rng, shifts):
    """Redraw the levels of all f_k with their sum fixed: f_k + c_k with Σ c_k = 0.

    The data depend only on the sum. The prior of each level is that of its outer weight, f_0 +
    f_{n-1} + 2 c ~ N(0, 4 v_0). Levels with so large a v_0 that the sum would lose its digits are
    not changed.

    Parameters
    ----------
    first, last : ndarray of shape (n_axes,)
        f_k at its smallest and largest values.
    log_outer : ndarray of shape (n_axes,)
        log v_0.
    rng : numpy.random.Generator
    shifts : ndarray of shape (n_axes,)
        Overwritten with the c_k.
    """
    total, shares, top = 0.0, 0.0, -inf
    for k in range(first.shape[0]):
        if log_outer[k] < _MAX_LOG_OUTER:
            top = max(top, log_outer[k])
    for k in range(first.shape[0]):
        shifts[k] = 0.0
        if log_outer[k] >= _MAX_LOG_OUTER:
            continue
        # Draw without the constraint, then project the sum out in proportion to the variances.
        shifts[k] = -0.5 * (first[k] + last[k]) + exp(0.5 * log_outer[k]) * rng.standard_normal()
        total += shifts[k]
        shares += exp(log_outer[k] - top)
    for k in range(first.shape[0]):
        if log_outer[k] >= _MAX_LOG_OUTER:
            continue
        shifts[k] -= total * exp(log_outer[k] - top) / shares


@kernel
def log_prior_of_variances(log_variances, log_masses, starts, log_nus, alpha, table):
    """Log density of all log v given α and the ν_k; axis k begins at ``starts[k]``."""
    total, k = 0.0, -1
    for j in range(log_variances.shape[0]):
        if k + 1 < starts.shape[0] and j == starts[k + 1]:
            k += 1
        total += log_density(log_variances[j] - log_nus[k] - 2.0 / alpha * log_masses[j], table)
    return total

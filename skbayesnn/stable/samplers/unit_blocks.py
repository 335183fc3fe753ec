"""Units drawn with all weights integrated out, a block of them at a time.

Given all other weights a unit hardly moves: they have settled around it. With the weights
integrated out the likelihood is that of y ~ N(0, M), M = Σ_l v_l τ_l τ_l' + σ² I, and sees a
unit that is taken out of M through q = τ'M⁻¹τ and p = τ'M⁻¹y alone,

    log evidence = ½ (v p²/(1 + v q) - log(1 + v q)),

so that its scale, and which of two hyperplanes it has, are drawn as in the other sweeps.
Taking units out of M and putting them back are changes of rank one, O(n²) each. But within
a block of units everything follows from the matrix S = Z M⁻¹ Z', where the rows of Z are the
units' values, those of the proposed units, and y: M⁻¹ itself is brought up to date once a
block, by matrix products.
"""

from math import exp, log

import numpy as np

from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.stable.samplers.scales import move_log_variance

_UNITS_A_BLOCK = 32
# Visits of each unit of a block, which cost little beside the products.
_ROUNDS = 2
# Units with v above this many variances of the noise of the mean of all rows are left to
# the other sweeps: what they leave of M when taken out has too few digits.
_LOG_MAX_SIGNAL = log(1e6)
_LEAST_REST = 1e-9


def draw_in_blocks(units, features, proposals, inverse, y, problem, state, n_rows, rng):
    """Draw the scales of units, and accept or reject their proposals, in place.

    Parameters
    ----------
    units : ndarray of int, shape (n_chosen,)
        Different ones, in the order of the draws; chosen whatever their state.
    features : ndarray of shape (n_units, n)
        T'. Accepted proposals are written there.
    proposals : ndarray of shape (n_chosen, n)
        Proposed values of the chosen units, reversible under their prior.
    inverse : ndarray of shape (n, n)
        M⁻¹. Changed in place.
    y : ndarray of shape (n,)
    problem : Problem
    state : State
        Its log-variances are changed in place.
    n_rows : float
        What the sum of squares of a unit's values is at most.
    rng : numpy.random.Generator

    Returns
    -------
    accepted : ndarray of bool, shape (n_chosen,)
    """
    limit = state.log_noise[0] + _LOG_MAX_SIGNAL - log(n_rows)
    accepted = np.zeros(units.size, dtype=bool)
    for start in range(0, units.size, _UNITS_A_BLOCK):
        part = slice(start, start + _UNITS_A_BLOCK)
        block = units[part]
        z = np.concatenate([features[block], proposals[part], y[None]])
        solved = z @ inverse
        products = solved @ z.T
        log_variances = state.log_variances[block]
        chosen = np.arange(block.size)
        _visit_block(
            products.copy(),
            log_variances,
            chosen,
            problem.log_units[block],
            limit,
            problem.table,
            problem.width,
            problem.move_scales,
            rng,
        )
        change = np.zeros(len(z))
        change[: block.size] -= np.exp(state.log_variances[block])
        change[chosen] += np.exp(log_variances)
        _change_inverse(inverse, solved, products, change)
        state.log_variances[block] = log_variances
        accepted[part] = chosen >= block.size
        moved = np.flatnonzero(accepted[part])
        features[block[moved]] = proposals[part][moved]
    return accepted


def _change_inverse(inverse, solved, products, change):
    """M⁻¹ after M has gained Z' diag(c) Z, from Z M⁻¹ and Z M⁻¹ Z', in place."""
    (some,) = np.nonzero(change)
    solved, products, change = solved[some], products[np.ix_(some, some)], change[some]
    core = np.eye(some.size) + change[:, None] * products
    inverse -= solved.T @ np.linalg.solve(core, change[:, None] * solved)


@kernel
def _visit_block(products, log_variances, chosen, log_units, limit, table, width, move_scales, rng):
    """Visit the units of a block in turn; ``products`` follow, scales and choices are drawn.

    ``chosen`` holds for each unit its row of ``products``: the unit's number, or, in the
    second part, that of its proposal. The last row is that of y.
    """
    n_block = chosen.shape[0]
    last = products.shape[0] - 1
    for unit in range(_ROUNDS * n_block):
        unit %= n_block
        if log_variances[unit] > limit:
            continue
        own = chosen[unit]
        v = exp(log_variances[unit])
        rest = 1.0 - v * products[own, own]
        if rest < _LEAST_REST:
            # No digits are left of M without the unit.
            continue
        _add_to_products(products, own, v / rest)
        # Old and new plane are reversible, so that the way back is the same proposal.
        other = unit + n_block if own == unit else unit
        log_ratio = _log_evidence(v, products[other, other], products[other, last])
        log_ratio -= _log_evidence(v, products[own, own], products[own, last])
        if -rng.standard_exponential() < log_ratio:
            own = chosen[unit] = other
        q, p = products[own, own], products[own, last]
        if move_scales:
            delta = p / q
            drawn = move_log_variance(
                log_variances[unit], log_units[unit], 1.0 / q, delta * delta, table, width, rng
            )
            if drawn <= limit:
                log_variances[unit] = drawn
                v = exp(drawn)
        _add_to_products(products, own, -v / (1.0 + v * q))


@helper
def _log_evidence(v, q, p):
    return 0.5 * (v * p * p / (1.0 + v * q) - log(1.0 + v * q))


@helper
def _add_to_products(products, row, factor):
    """S + factor * s s', s a row of S."""
    n = products.shape[0]
    s = products[row].copy()
    for i in range(n):
        scale = factor * s[i]
        for j in range(n):
            products[i, j] += scale * s[j]

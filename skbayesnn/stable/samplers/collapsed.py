"""A pass over the scales with all weights integrated out, by rank-one updates.

With M = Σ_l v_l τ_l τ_l' + σ² I the covariance of y, the likelihood sees a single v_l
through q = τ_l'M⁻¹τ_l and p = τ_l'M⁻¹y alone: it is that of the number δ = p/q, which has
the variance b + v_l with b = 1/q - v_l. So each v_l is drawn like everywhere else
(``updates``), and M⁻¹ follows by Sherman and Morrison in O(n²). The paper's Algorithm
S.2 proposes from the prior in the same place.
"""

from math import exp, log

import numpy as np

from skbayesnn.numerics.jit import kernel
from skbayesnn.numerics.stable_laws import log_density
from skbayesnn.stable.samplers.rank_one import error_growth, is_spent, shift_inverse
from skbayesnn.stable.samplers.scales import move_log_variance
from skbayesnn.stable.samplers.weights import WeightChain

# b is a difference: of v, at least the rounding error is left.
_ROUNDING = 1e-15
# Cells whose variance is below this share of the noise of n rows are idle.
_LEAST_SIGNAL = 0.1
# A collapsed pass takes O(n²) a cell, so that it goes over so many cells at a time.
_CELLS_A_PASS = 2000


class CollapsedChain(WeightChain):
    """The sweeps of one chain in the weights of the exact cells of the plane."""

    def __init__(self, partition, prior, state, record, rng):
        super().__init__(partition, prior, state, record, rng)
        self.pairs, self.next_cell = partition.neighbours(), 0
        self.by_cells = False

    def _sum_of_outer(self, log_variances):
        gram = self.partition.gram(np.exp(log_variances))
        return gram * np.outer(self.root_counts, self.root_counts)

    def _draw_collapsed(self, joint, free, residual):
        """Collapsed draws of the scales of the next cells in turn, and exchanges."""
        if not self.problem.move_scales:
            return joint
        stop = min(self.next_cell + _CELLS_A_PASS, len(self.features))
        while self.next_cell < stop:
            law = self._arguments(joint)
            self.next_cell = collapsed_pass(self.next_cell, stop, *law)
            joint = self._law_anew(free, residual)
        self.next_cell %= len(self.features)
        first = 0
        while first < len(self.pairs):
            first = exchange_pass(self.pairs, first, *self._arguments(joint))
            joint = self._law_anew(free, residual)
        return joint

    def _arguments(self, joint):
        inverse = np.ascontiguousarray(joint.inverse())
        solved = inverse @ joint.y
        # The noise may have moved since the free cells were found: they are the same.
        law = inverse, solved, self.problem, self.state, self.rng
        return self.free_limit(), self.features, *law


@kernel
def collapsed_pass(first, stop, limit, signs, inverse, solved, problem, state, rng):
    """Draw v_l for the cells from ``first`` up to ``stop``.

    Parameters
    ----------
    first, stop : int
    limit : float
        Cells with log v above this are not in M and stay as they are; a draw that would
        take a cell there is turned down.
    signs : ndarray of shape (n_cells, n)
        T', rows scaled by the roots of their counts.
    inverse : ndarray of shape (n, n)
        M⁻¹. Changed in place.
    solved : ndarray of shape (n,)
        M⁻¹y. Changed in place.
    problem : Problem
    state : State
        Its log-variances are changed in place.
    rng : numpy.random.Generator

    Returns
    -------
    cell : int
        The next cell: ``stop``, or where M⁻¹ has to be computed anew.
    """
    n = solved.shape[0]
    n_changes, growth = 0, 1.0
    for cell in range(first, stop):
        if is_spent(n_changes, growth):
            return cell
        if state.log_variances[cell] >= limit:
            continue
        row = signs[cell]
        g = np.dot(inverse, row)
        q = np.dot(row, g)
        p = np.dot(row, solved)
        old = exp(state.log_variances[cell])
        delta = p / q
        drawn = move_log_variance(
            state.log_variances[cell],
            problem.log_units[cell],
            max(1.0 / q - old, _ROUNDING * old),
            delta * delta,
            problem.table,
            problem.width,
            rng,
        )
        if drawn >= limit:
            continue
        state.log_variances[cell] = drawn
        change = exp(drawn) - old
        ratio = 1.0 + change * q
        change /= ratio
        shift_inverse(inverse, g, change)
        for i in range(n):
            solved[i] -= change * p * g[i]
        n_changes += 1
        growth = error_growth(growth, ratio)
    return stop


@kernel
def exchange_pass(pairs, first, limit, signs, inverse, solved, problem, state, rng):
    """Propose to exchange the variances of neighbouring cells, all weights integrated out.

    This moves a jump from a cell to one that differs in a single point's sign. Pairs of
    which neither variance can be told from zero are passed over; an exchange does not
    change which these are.

    Parameters
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        Neighbouring cells.
    first : int
        The pair to begin with.
    limit, signs, inverse, solved, problem, state, rng
        As in :func:`collapsed_pass`.

    Returns
    -------
    pair : int
        The next pair: their number, or where M⁻¹ has to be computed anew.
    """
    n = solved.shape[0]
    table, log_units, log_variances = problem.table, problem.log_units, state.log_variances
    least = state.log_noise[0] + log(_LEAST_SIGNAL / n)
    n_changes, growth = 0, 1.0
    for i in range(first, pairs.shape[0]):
        if is_spent(n_changes, growth):
            return i
        k, m = pairs[i, 0], pairs[i, 1]
        v_k, v_m = log_variances[k], log_variances[m]
        if max(v_k, v_m) < least or max(v_k, v_m) >= limit:
            continue
        g_k, g_m = np.dot(inverse, signs[k]), np.dot(inverse, signs[m])
        q_kk, q_km, q_mm = np.dot(signs[k], g_k), np.dot(signs[k], g_m), np.dot(signs[m], g_m)
        p_k, p_m = np.dot(signs[k], solved), np.dot(signs[m], solved)
        # M gains d τ_k τ_k' - d τ_m τ_m'; C = diag(d, -d), and I + QC in full.
        d = exp(v_m) - exp(v_k)
        a, b = 1.0 + d * q_kk, -d * q_km
        c, e = d * q_km, 1.0 - d * q_mm
        determinant = a * e - b * c
        if not determinant > 0.0:
            # Positive but for rounding, where a variance is beyond all digits.
            continue
        # H = C (I + QC)^-1, symmetric.
        h_kk, h_km, h_mm = d * e / determinant, -d * b / determinant, -d * a / determinant
        gain = h_kk * p_k * p_k + 2.0 * h_km * p_k * p_m + h_mm * p_m * p_m
        log_ratio = (
            0.5 * (gain - log(determinant))
            + log_density(v_m - log_units[k], table)
            + log_density(v_k - log_units[m], table)
            - log_density(v_k - log_units[k], table)
            - log_density(v_m - log_units[m], table)
        )
        if -rng.standard_exponential() < log_ratio:
            log_variances[k], log_variances[m] = v_m, v_k
            for i_row in range(n):
                f_k = h_kk * g_k[i_row] + h_km * g_m[i_row]
                f_m = h_km * g_k[i_row] + h_mm * g_m[i_row]
                for j in range(n):
                    inverse[i_row, j] -= f_k * g_k[j] + f_m * g_m[j]
                solved[i_row] -= f_k * p_k + f_m * p_m
            n_changes += 1
            growth = error_growth(growth, determinant)
    return pairs.shape[0]

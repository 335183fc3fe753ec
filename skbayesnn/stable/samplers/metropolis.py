"""Algorithm S.2 of the paper: scales proposed from their prior, all weights integrated out.

The slow reference beside the Gibbs samplers, for any kind of cells: a cell's scale s_l is
proposed from its prior and accepted by the marginal likelihood of y, whose covariance
M = Σ_l v_l τ_l τ_l' + σ² I changes by a rank-one matrix, so that its inverse and
determinant follow in O(n²); then log σ² moves by a Metropolis step of its own. O(L n²) a
sweep. For predictions the weights are drawn at the end of each sweep, which also allows a
second move of σ² given the residuals.

The likelihood sees a single v_l as the variance of a number δ ~ N(0, b + v_l) (see
``collapsed``), b the difference of 1/q and the present v_l. That loses its digits where v_l
is far above the noise. Such cells are kept apart, in precision form, and M⁻¹ is computed
without a cell of this kind before it is moved.
"""

from math import exp, log

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from skbayesnn.numerics.jit import kernel
from skbayesnn.stable.samplers.chain import Chain
from skbayesnn.stable.samplers.joint_weights import factor
from skbayesnn.stable.samplers.rank_one import error_growth, is_spent, shift_inverse
from skbayesnn.stable.samplers.scales import (
    draw_log_noise,
    log_noise_prior,
    propose_log_noise,
    propose_log_variance,
)

# Cells with a variance above this many variances of the noise of the mean of all rows are
# kept in precision form: M then has a condition number of this times the number of cells.
_LOG_MAX_SIGNAL = log(1e4)
_SWEEPS_A_MOVE = 5
# A variance above 1e13 of those is no different from an infinite one to rounding.
_LEAST_PRECISION = 1e-13
_draw_log_noise = kernel(draw_log_noise)
_propose_log_variance = kernel(propose_log_variance)


class MetropolisChain(Chain):
    """The sweeps of one chain by Algorithm S.2."""

    def __init__(self, partition, prior, state, record, rng):
        super().__init__(partition, prior, state, record, rng)
        self.root_counts = np.sqrt(partition.counts)
        # Rows scaled so that the noise is the same for all.
        signs = partition.features(state.planes) * self.root_counts[:, None]
        self.signs = np.ascontiguousarray(signs.T, dtype=float)
        self.y = partition.y * self.root_counts
        self.n_rows = partition.counts.sum()

    def sweep(self, first, n_sweeps):
        """Run sweeps, the first of which has the number ``first``."""
        state, record = self.state, self.record
        for sweep in range(first, first + n_sweeps):
            if sweep % _SWEEPS_A_MOVE == 0:
                self.problem = self.moves.update(self.problem, self._log_evidence)
            problem = self.problem
            if problem.move_scales:
                self._move_scales()
            law = self._law(state.log_noise[0])
            if problem.move_noise:
                law = self._move_noise(law)
            weights = law.draw_weights(self.rng)
            fitted = weights @ self.signs
            if problem.move_noise:
                rss = problem.within + np.sum((self.y - fitted) ** 2)
                state.log_noise[0] = _draw_log_noise(state.log_noise[0], self.n_rows, rss, self.rng)
            self.write_parameters(sweep, 1)
            if sweep >= 0:
                record.log_noise[sweep] = state.log_noise[0]
                record.f[sweep] = (fitted / self.root_counts)[record.monitored]
                if (sweep + 1) % record.thin == 0:
                    draw = sweep // record.thin
                    if record.weights.size:
                        record.weights[draw] = weights
                    if record.log_scales.size:
                        record.log_scales[draw] = state.log_variances - problem.log_units

    def _law(self, log_noise, without=None):
        return MarginalLaw(
            self.signs, self.y, self.state.log_variances, log_noise, self.n_rows, without
        )

    def _log_evidence(self, log_variances):
        """All weights integrated out."""
        noise = self.state.log_noise[0]
        return MarginalLaw(self.signs, self.y, log_variances, noise, self.n_rows).log_evidence

    def _move_scales(self):
        """Propose each scale in turn, with a new factorisation where one is due."""
        log_variances, log_noise = self.state.log_variances, self.state.log_noise[0]
        limit = log_noise + _LOG_MAX_SIGNAL - log(self.n_rows)
        cell = 0
        while cell < log_variances.size:
            if log_variances[cell] > limit:
                self._move_large(cell, log_noise)
                cell += 1
                continue
            inverse, solved = self._law(log_noise).inverse()
            cell = metropolis_pass(
                cell, limit, self.signs, inverse, solved, self.problem, self.state, self.rng
            )

    def _move_large(self, cell, log_noise):
        """Propose the scale of a cell far above the noise, M⁻¹ computed without it."""
        inverse, solved = self._law(log_noise, cell).inverse()
        row = self.signs[cell]
        q, p = row @ inverse @ row, row @ solved
        if not q > _LEAST_PRECISION * self.n_rows * exp(-log_noise):
            # Another cell of this kind has the same signs: the data see their sum alone,
            # and the rounding of one is more than what the other adds.
            return
        self.state.log_variances[cell] = _propose_log_variance(
            self.state.log_variances[cell],
            self.problem.log_units[cell],
            1.0 / q,
            (p / q) ** 2,
            self.problem.table.a,
            self.rng,
        )

    def _move_noise(self, law):
        """A Metropolis step in log σ² with all weights integrated out."""
        within, n_repeats = self.problem.within, self.n_rows - self.y.size
        old = self.state.log_noise[0]
        new = propose_log_noise(old, self.n_rows, self.rng)
        log_ratio = log_noise_prior(new) - log_noise_prior(old)
        if log_ratio > -np.inf:
            proposal = self._law(new)
            log_ratio += proposal.log_evidence - law.log_evidence
            log_ratio -= 0.5 * within * (exp(-new) - exp(-old)) + 0.5 * n_repeats * (new - old)
            if -self.rng.standard_exponential() < log_ratio:
                self.state.log_noise[0] = new
                return proposal
        return law


class MarginalLaw:
    """The law of y with all weights integrated out: N(0, M), M = Σ_l v_l τ_l τ_l' + σ² I.

    M₀ has the cells up to the limit. The others, H, are added to it in precision form:
    M⁻¹ = M₀⁻¹ - M₀⁻¹T_H Q⁻¹ T_H'M₀⁻¹ with Q = V_H⁻¹ + T_H'M₀⁻¹T_H.

    Parameters
    ----------
    signs : ndarray of shape (n_cells, n)
        T'.
    y : ndarray of shape (n,)
    log_variances : ndarray of shape (n_cells,)
    log_noise : float
    n_rows : float
        Sum of the squares of a row of ``signs``.
    without : int, default=None
        A cell to be left out.

    Attributes
    ----------
    log_evidence : float
        Log-density of y, up to a constant.
    """

    def __init__(self, signs, y, log_variances, log_noise, n_rows, without=None):
        self.signs, self.y, self.noise = signs, y, exp(log_noise)
        large = log_variances > log_noise + _LOG_MAX_SIGNAL - log(n_rows)
        small = ~large
        if without is not None:
            large[without] = small[without] = False
        self.large, self.small = large, small
        self.scale = np.exp(0.5 * log_variances[small])
        design = signs[small] * self.scale[:, None]
        system = design.T @ design
        system.flat[:: y.size + 1] += self.noise
        self.factor = factor(system)
        white = solve_triangular(
            self.factor, np.column_stack([signs[large].T, y]), lower=True, check_finite=False
        )
        self.white_signs, white_y = white[:, :-1], white[:, -1]
        precision = self.white_signs.T @ self.white_signs
        precision.flat[:: len(precision) + 1] += (
            np.exp(-log_variances[large]) + _LEAST_PRECISION * n_rows / self.noise
        )
        self.large_factor = factor(precision)
        linear = solve_triangular(
            self.large_factor, self.white_signs.T @ white_y, lower=True, check_finite=False
        )
        self.large_white = linear
        log_determinant = 2.0 * np.log(np.diag(self.factor)).sum()
        log_determinant += 2.0 * np.log(np.diag(self.large_factor)).sum()
        log_determinant += log_variances[large].sum()
        self.log_evidence = -0.5 * (log_determinant + white_y @ white_y - linear @ linear)

    def inverse(self):
        """M⁻¹ of shape (n, n), and M⁻¹y."""
        white = solve_triangular(
            self.factor, np.eye(self.y.size), lower=True, overwrite_b=True, check_finite=False
        )
        inverse = white.T @ white
        if self.large.any():
            cross = solve_triangular(
                self.large_factor, self.white_signs.T @ white, lower=True, check_finite=False
            )
            inverse -= cross.T @ cross
        return inverse, inverse @ self.y

    def draw_weights(self, rng):
        """Draw all weights: those far above the noise first, the others by Matheron's rule."""
        weights = np.empty(self.small.size)
        z = self.large_white + rng.standard_normal(self.large_white.size)
        weights[self.large] = solve_triangular(
            self.large_factor, z, lower=True, trans=1, check_finite=False
        )
        prior = self.scale * rng.standard_normal(self.scale.size)
        error = self.y - weights[self.large] @ self.signs[self.large]
        error -= prior @ self.signs[self.small]
        error -= np.sqrt(self.noise) * rng.standard_normal(self.y.size)
        solved = cho_solve((self.factor, True), error, check_finite=False)
        weights[self.small] = prior + self.scale**2 * (self.signs[self.small] @ solved)
        return weights


@kernel
def metropolis_pass(first, limit, signs, inverse, solved, problem, state, rng):
    """Propose the scales of the cells in turn until the inverse has to be computed anew.

    Parameters
    ----------
    first : int
    limit : float
        Stop before a cell with log v above this, and after one that has gone there.
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
        The next cell.
    """
    n_changes, growth = 0, 1.0
    for cell in range(first, signs.shape[0]):
        log_variance = state.log_variances[cell]
        if log_variance > limit or is_spent(n_changes, growth):
            return cell
        row = signs[cell]
        g = np.dot(inverse, row)
        q, p = np.dot(row, g), np.dot(row, solved)
        old = exp(log_variance)
        delta = p / q
        proposal = propose_log_variance(
            log_variance,
            problem.log_units[cell],
            1.0 / q - old,
            delta * delta,
            problem.table.a,
            rng,
        )
        if proposal == log_variance:
            continue
        state.log_variances[cell] = proposal
        if proposal > limit:
            return cell + 1
        change = exp(proposal) - old
        ratio = 1.0 + change * q
        factor = change / ratio
        shift_inverse(inverse, g, factor)
        for i in range(solved.shape[0]):
            solved[i] -= factor * p * g[i]
        n_changes += 1
        growth = error_growth(growth, ratio)
    return signs.shape[0]

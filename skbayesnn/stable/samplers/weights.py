"""A chain in the weights of cells that have an explicit matrix T of hidden-unit values.

Such are sampled units, which may move, and the exact cells of the plane.

A sweep draws each (v_l, w_l) in turn given all other weights, w_l integrated out for the
draw of v_l: two BLAS-1 calls a unit, O(n M) a sweep. Units that agree on most rows trade
their weights slowly in this way, so every few sweeps all weights are drawn at once.

With τ the unit's values at the rows and r the residuals without it, the likelihood sees the
unit through q = τ'τ and p = τ'r alone: w = p/q fits best, with a noise variance of σ²/q, and
the evidence of r, w integrated out, is up to what does not depend on the unit

    -½ log(σ²/v + q) + p²/(2σ² (σ²/v + q)) + ½ log(σ²/v).

By this a new hyperplane for the unit is accepted, v given, before (v, w) is drawn.
"""

from functools import partial
from math import exp, log, sqrt

import numpy as np

from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.stable.samplers.chain import Chain
from skbayesnn.stable.samplers.joint_weights import JointByRows, JointByUnits
from skbayesnn.stable.samplers.scales import (
    draw_log_noise,
    log_noise_prior,
    move_log_variance,
    propose_log_noise,
)

# Weights with a prior variance above this many noise variances stay as they are in a
# joint draw (they have been drawn one by one): the matrix would lose its digits.
_LOG_MAX_SIGNAL = log(1e9)
# A unit that is zero at all rows: the share of the rows' number that q is at least.
_LEAST_SQUARES = 1e-30


class WeightChain(Chain):
    """The sweeps of one chain in the weights of units that stay.

    Rows are scaled by the square root of their counts, so that the rows of ``features``
    (one a cell) and the residuals are those of the model with the same noise for all.
    """

    sweeps_a_joint_draw = 10

    def __init__(self, partition, prior, state, record, rng):
        super().__init__(partition, prior, state, record, rng)
        self.n_rows = float(partition.counts.sum())
        self.root_counts = np.sqrt(partition.counts)
        features = partition.features(state.planes) * self.root_counts[:, None]
        self.features = np.ascontiguousarray(features.T)
        self.squares = self.squares_of(self.features)
        self.y = partition.y * self.root_counts
        self.weights = state.weights
        n_cells, n = self.features.shape
        self.by_cells = n_cells < n
        self.gram = self.features @ self.features.T if self.by_cells else None
        self.first_gram = None

    def squares_of(self, features):
        """q of each unit."""
        least = _LEAST_SQUARES * self.partition.counts.sum()
        return np.maximum(np.einsum("ij,ij->i", features, features), least)

    def sweep(self, first, n_sweeps):
        """Run sweeps, a joint draw of the weights every few (every one where α = 2)."""
        stride = self.sweeps_a_joint_draw if self.problem.move_scales else 1
        for start in range(first, first + n_sweeps, stride):
            self._draw_jointly()
            n = min(stride, first + n_sweeps - start)
            self.write_parameters(start, n)
            self._draw_one_by_one(start, n)

    def _draw_one_by_one(self, first, n_sweeps):
        """Sweeps over the units in turn."""
        still = np.empty((0, self.y.size))
        self._sweep(first, n_sweeps, still, np.empty(0), np.empty(0, dtype=bool))

    def _sweep(self, first, n_sweeps, proposals, squares, accepted):
        _sweep_units(
            first,
            n_sweeps,
            self.features,
            self.squares,
            proposals,
            squares,
            accepted,
            self.y,
            self.y - self.weights @ self.features,
            self.root_counts,
            self.n_rows,
            self.weights,
            self.problem,
            self.state,
            self.record,
            self.rng,
        )

    def _draw_jointly(self):
        """Draw log σ² and some scales with the weights integrated out, then all weights."""
        # Weights far above the noise are given: they leave the matrices no digits.
        free = self.is_free(self.state.log_variances)
        residual = self.y - self.weights[~free] @ self.features[~free]
        self.problem = self.moves.update(self.problem, partial(self._log_evidence, free, residual))
        joint = self.joint(free, self.state.log_variances, residual)
        if self.problem.move_noise:
            self._move_noise(joint, free)
        joint.set_noise(exp(self.state.log_noise[0]))
        joint = self._draw_collapsed(joint, free, residual)
        scale = np.exp(0.5 * self.state.log_variances[free])
        self.weights[free] = scale * joint.draw(self.rng)

    def free_limit(self):
        """The log-variance up to which a joint draw draws weights, at the present noise."""
        return self.state.log_noise[0] + _LOG_MAX_SIGNAL

    def is_free(self, log_variances):
        """Which weights a joint draw draws, at the present noise."""
        return log_variances < self.free_limit()

    def _draw_collapsed(self, joint, free, residual):
        """More draws with the free weights integrated out, and their law thereafter.

        Frozen units gain as much by them as they cost.
        """
        return joint

    def _law_anew(self, free, residual):
        """The law of the free weights after such draws."""
        joint = self.joint(free, self.state.log_variances, residual)
        joint.set_noise(exp(self.state.log_noise[0]))
        return joint

    def _log_evidence(self, free, residual, log_variances):
        """Free weights integrated out, the others given; both have to stay what they are."""
        if (self.is_free(log_variances) != free).any():
            return -np.inf
        fixed = log_variances[~free]
        given = -0.5 * (fixed + self.weights[~free] ** 2 * np.exp(-fixed)).sum()
        joint = self.joint(free, log_variances, residual)
        return given + joint.set_noise(exp(self.state.log_noise[0]))

    def joint(self, free, log_variances, residual):
        """The law of the free weights given the residual, by the smaller linear system."""
        scale = np.exp(0.5 * log_variances[free])
        if self.by_cells:
            gram = self.gram[np.ix_(free, free)] * np.outer(scale, scale)
            return JointByUnits(gram, scale * (self.features[free] @ residual), residual)
        features = self.features if free.all() else self.features[free]
        gram = self._gram_of_rows(free, log_variances)
        return JointByRows(features, scale, residual, gram)

    def _gram_of_rows(self, free, log_variances):
        """Σ v τ τ' of the free units, (n, n)."""
        if free.all() and not self.problem.move_scales:
            # α = 2: all variances change together, by ν.
            if self.first_gram is None:
                self.first_gram = log_variances[0], self._sum_of_outer(log_variances)
            first, gram = self.first_gram
            return exp(log_variances[0] - first) * gram
        return self._sum_of_outer(np.where(free, log_variances, -np.inf))

    def _sum_of_outer(self, log_variances):
        design = self.features * np.exp(0.5 * log_variances)[:, None]
        return design.T @ design

    def _move_noise(self, joint, free):
        """A Metropolis step in log σ² with the free weights integrated out."""
        within, n_repeats = self.problem.within, self.n_rows - self.y.size
        old = self.state.log_noise[0]
        new = propose_log_noise(old, self.n_rows, self.rng)
        if new < self.problem.least_log_noise:
            return
        log_ratio = log_noise_prior(new) - log_noise_prior(old)
        # The same weights have to be free on the way back.
        if ((self.state.log_variances < new + _LOG_MAX_SIGNAL) != free).any():
            log_ratio = -np.inf
        if log_ratio > -np.inf:
            log_ratio += joint.set_noise(exp(new)) - joint.set_noise(exp(old))
            log_ratio -= 0.5 * within * (exp(-new) - exp(-old)) + 0.5 * n_repeats * (new - old)
        if -self.rng.standard_exponential() < log_ratio:
            self.state.log_noise[0] = new


@helper
def _log_evidence_of_unit(q, p, ratio, noise):
    """Of the residuals without a unit, from q, p and σ²/v, less what the unit has no part in."""
    return 0.5 * (p * p / (noise * (ratio + q)) - log(ratio + q))


@kernel
def _sweep_units(
    first,
    n_sweeps,
    features,
    squares,
    proposals,
    proposed_squares,
    accepted,
    y,
    residual,
    root_counts,
    n_rows,
    weights,
    problem,
    state,
    record,
    rng,
):
    """Draw plane and (v_l, w_l) unit by unit, then the noise; record f and the weights.

    With rows in ``proposals`` (n_units, n), new values of each unit, there is one sweep;
    those that are ``accepted`` are marked there and written to ``features``. ``residual`` is
    ``y`` less the units, and follows them; ``n_rows`` is the sum of the rows' weights.
    """
    n_units, n = features.shape
    moving = proposals.shape[0] > 0
    for sweep in range(first, first + n_sweeps):
        noise = exp(state.log_noise[0])
        for unit in range(n_units if moving or problem.move_scales else 0):
            row = features[unit]
            weight, q = weights[unit], squares[unit]
            p = np.dot(row, residual) + weight * q
            if moving:
                new = proposals[unit]
                new_q = proposed_squares[unit]
                new_p = np.dot(new, residual) + weight * np.dot(new, row)
                ratio = noise * exp(min(-state.log_variances[unit], 600.0))
                log_ratio = _log_evidence_of_unit(new_q, new_p, ratio, noise)
                log_ratio -= _log_evidence_of_unit(q, p, ratio, noise)
                if -rng.standard_exponential() < log_ratio:
                    accepted[unit] = True
                    # The old values leave with their weight; the new ones start at zero.
                    for i in range(n):
                        residual[i] += weight * row[i]
                        row[i] = new[i]
                    squares[unit] = new_q
                    weight, q, p = 0.0, new_q, new_p
            # The weight that fits best, given all others, and its noise variance.
            best, error = p / q, noise / q
            if problem.move_scales:
                state.log_variances[unit] = move_log_variance(
                    state.log_variances[unit],
                    problem.log_units[unit],
                    error,
                    best * best,
                    problem.table,
                    problem.width,
                    rng,
                )
            gain = 1.0 / (1.0 + error * exp(-state.log_variances[unit]))
            drawn = gain * best + sqrt(gain * error) * rng.standard_normal()
            change = weight - drawn
            weights[unit] = drawn
            for i in range(n):
                residual[i] += change * row[i]
        if problem.move_noise:
            rss = problem.within + np.dot(residual, residual)
            log_noise = draw_log_noise(state.log_noise[0], n_rows, rss, rng)
            if log_noise >= problem.least_log_noise:
                state.log_noise[0] = log_noise
        if sweep >= 0:
            record.log_noise[sweep] = state.log_noise[0]
            for i in range(record.monitored.shape[0]):
                j = record.monitored[i]
                record.f[sweep, i] = (y[j] - residual[j]) / root_counts[j]
            if (sweep + 1) % record.thin == 0:
                draw = sweep // record.thin
                for unit in range(n_units):
                    record.weights[draw, unit] = weights[unit]
                    # Cells that new points split need their scales, too.
                    if record.log_scales.shape[1] > 0:
                        log_scale = state.log_variances[unit] - problem.log_units[unit]
                        record.log_scales[draw, unit] = log_scale

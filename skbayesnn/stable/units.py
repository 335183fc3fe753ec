"""Sampled cells for any number of inputs: hyperplanes drawn from their prior.

M hyperplanes, each with mass 1/M, are a network of M hidden units with random input
weights and stable output weights; it tends to the infinite network as M grows. A unit is
a cell of its own and a new point never splits it, so a draw of the weights is all that a
prediction needs: f(x) = Σ_l w_l sign(b_l + w_l · x).

A sweep draws each (v_l, w_l) in turn given all other weights, w_l integrated out for the
draw of v_l: two BLAS-1 calls a unit, O(n M) a sweep. Units that agree on most rows trade
their weights slowly in this way, so every few sweeps all weights are drawn at once.
"""

from functools import partial
from math import exp, log, sqrt

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from skbayesnn.numerics.jit import kernel
from skbayesnn.stable.chain import new_record, start_state
from skbayesnn.stable.updates import (
    draw_log_noise,
    draw_log_variance,
    log_noise_prior,
    propose_log_noise,
)

_SWEEPS_A_JOINT_DRAW = 10
# Weights with a prior variance above this many noise variances stay as they are in a
# joint draw (they have been drawn one by one): the matrix would lose its digits.
_LOG_MAX_SIGNAL = log(1e9)
_ROWS_A_BLOCK = 4096


class UnitCells:
    """Hidden units with input weights drawn from their prior.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Distinct rows.
    n_units : int
    rng : numpy.random.Generator

    Attributes
    ----------
    input_weights : ndarray of shape (n_features, n_units)
    biases : ndarray of shape (n_units,)
    log_masses : ndarray of shape (n_units,)
    """

    def __init__(self, X, n_units, rng):
        self.input_weights = rng.standard_normal((X.shape[1], n_units))
        self.biases = rng.standard_normal(n_units)
        self.log_masses = np.full(n_units, -log(n_units))
        self._signs = self.signs(X)

    def signs(self, X):
        """sign(b + w · x), (n_rows, n_units), never zero."""
        return np.where(X @ self.input_weights + self.biases >= 0, 1.0, -1.0)

    def separating_mass(self):
        """Share of the units that tell any two rows apart."""
        return np.mean(self._signs.min(axis=0) < self._signs.max(axis=0))

    def new_chain(self, problem, prior, monitored, n_draws, thin, rng):
        """A function that runs sweeps of a new chain, and the record that it fills."""
        state = start_state(problem, prior, rng)
        record = new_record(self.biases.size, monitored, n_draws, thin)
        chain = _UnitChain(self._signs, problem, state, record, rng)
        return chain.sweep, record

    def predict(self, problem, weights, log_noise, levels, X):
        """Means and variances (all zero) of f given each draw, (n_rows, n_draws)."""
        means = np.empty((X.shape[0], log_noise.size))
        weights = weights.T.astype(np.float64)
        for start in range(0, X.shape[0], _ROWS_A_BLOCK):
            rows = slice(start, start + _ROWS_A_BLOCK)
            means[rows] = self.signs(X[rows]) @ weights
        return means, np.zeros_like(means)


class _UnitChain:
    """The sweeps of one chain.

    Rows are scaled by the square root of their counts, so that the rows of ``signs``
    (one a unit) and the residuals are those of the model with the same noise for all.
    """

    def __init__(self, signs, problem, state, record, rng):
        self.root_counts = np.sqrt(problem.counts)
        self.signs = np.ascontiguousarray((signs * self.root_counts[:, None]).T)
        self.y = problem.y * self.root_counts
        self.problem, self.state, self.record, self.rng = problem, state, record, rng
        n_units, n = self.signs.shape
        self.gram = self.signs @ self.signs.T if n_units < n else None
        self.weights = np.zeros(n_units)

    def sweep(self, first, n_sweeps):
        """Run sweeps, a joint draw of the weights every few (every one where α = 2)."""
        stride = _SWEEPS_A_JOINT_DRAW if self.problem.move_scales else 1
        for start in range(first, first + n_sweeps, stride):
            self._draw_weights()
            _sweep_units(
                start,
                min(stride, first + n_sweeps - start),
                self.signs,
                self.y,
                self.root_counts,
                self.weights,
                self.problem,
                self.state,
                self.record,
                self.rng,
            )

    def _draw_weights(self):
        """Draw log σ² with the weights integrated out, then all weights at once.

        By the smaller of two linear systems, n x n or M x M.
        """
        log_noise = self.state.log_noise
        free = self.state.log_variances < log_noise[0] + _LOG_MAX_SIGNAL
        residual = self.y - self.weights[~free] @ self.signs[~free]
        scale = np.exp(0.5 * self.state.log_variances[free])
        if self.gram is None:
            joint = _JointByRows(self.signs[free] * scale[:, None], residual)
        else:
            gram = self.gram[np.ix_(free, free)] * np.outer(scale, scale)
            joint = _JointByUnits(gram, scale * (self.signs[free] @ residual), residual)
        evidence = joint.set_noise(exp(log_noise[0]))
        if self.problem.move_noise:
            within, n_rows = self.problem.within, self.problem.counts.sum()
            n_repeats = n_rows - residual.size
            proposal = propose_log_noise(log_noise[0], n_rows, self.rng)
            log_ratio = log_noise_prior(proposal) - log_noise_prior(log_noise[0])
            if log_ratio > -np.inf:
                log_ratio += joint.set_noise(exp(proposal)) - evidence
                log_ratio -= 0.5 * within * (exp(-proposal) - exp(-log_noise[0]))
                log_ratio -= 0.5 * n_repeats * (proposal - log_noise[0])
            if -self.rng.standard_exponential() < log_ratio:
                log_noise[0] = proposal
            else:
                joint.set_noise(exp(log_noise[0]))
        self.weights[free] = scale * joint.draw(self.rng)


class _JointByRows:
    """Standardised weights z ~ N(0, I) given y = A'z + noise, by the n x n system.

    Parameters
    ----------
    design : ndarray of shape (n_units, n)
        A.
    y : ndarray of shape (n,)
    """

    def __init__(self, design, y):
        self.design, self.y = design, y
        self.gram = design.T @ design

    def set_noise(self, noise):
        """Factor the system for this noise variance; return the log evidence of y."""
        self.noise = noise
        system = self.gram.copy()
        system.flat[:: system.shape[0] + 1] += noise
        self.factor = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
        white = solve_triangular(self.factor, self.y, lower=True, check_finite=False)
        return -np.log(np.diag(self.factor)).sum() - 0.5 * white @ white

    def draw(self, rng):
        """Matheron's rule: a draw from the prior, corrected by what y says."""
        z = rng.standard_normal(self.design.shape[0])
        error = self.y - z @ self.design - sqrt(self.noise) * rng.standard_normal(self.y.size)
        return z + self.design @ cho_solve((self.factor, True), error, check_finite=False)


class _JointByUnits:
    """The same by the M x M system, the posterior precision of z.

    Parameters
    ----------
    gram : ndarray of shape (n_units, n_units)
        A A'.
    linear : ndarray of shape (n_units,)
        A y.
    y : ndarray of shape (n,)
    """

    def __init__(self, gram, linear, y):
        self.gram, self.linear, self.y = gram, linear, y

    def set_noise(self, noise):
        """Factor the system for this noise variance; return the log evidence of y."""
        system = self.gram / noise
        system.flat[:: system.shape[0] + 1] += 1.0
        self.factor = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
        self.white = solve_triangular(
            self.factor, self.linear / noise, lower=True, check_finite=False
        )
        quadratic = self.y @ self.y / noise - self.white @ self.white
        log_determinant = np.log(np.diag(self.factor)).sum() + 0.5 * self.y.size * log(noise)
        return -log_determinant - 0.5 * quadratic

    def draw(self, rng):
        """The posterior mean and a draw of the posterior's deviation in one solve."""
        z = self.white + rng.standard_normal(self.white.size)
        return solve_triangular(self.factor, z, lower=True, trans=1, check_finite=False)


@kernel
def _sweep_units(first, n_sweeps, signs, y, root_counts, weights, problem, state, record, rng):
    """Draw (v_l, w_l) unit by unit, then the noise; record f and the weights."""
    n_units, n = signs.shape
    n_rows = problem.counts.sum()
    residual = y - np.dot(weights, signs)
    for sweep in range(first, first + n_sweeps):
        if problem.move_scales:
            noise = exp(state.log_noise[0]) / n_rows
            for unit in range(n_units):
                row = signs[unit]
                # The weight that fits best, given all others, and its noise variance.
                best = weights[unit] + np.dot(row, residual) / n_rows
                state.log_variances[unit] = draw_log_variance(
                    state.log_variances[unit],
                    problem.log_units[unit],
                    noise,
                    best * best,
                    problem.table,
                    problem.width,
                    rng,
                )
                gain = 1.0 / (1.0 + noise * exp(-state.log_variances[unit]))
                weight = gain * best + sqrt(gain * noise) * rng.standard_normal()
                change = weights[unit] - weight
                weights[unit] = weight
                for i in range(n):
                    residual[i] += change * row[i]
        if problem.move_noise:
            rss = problem.within + np.dot(residual, residual)
            state.log_noise[0] = draw_log_noise(state.log_noise[0], n_rows, rss, rng)
        if sweep >= 0:
            record.log_noise[sweep] = state.log_noise[0]
            for i in range(record.monitored.shape[0]):
                j = record.monitored[i]
                record.f[sweep, i] = (y[j] - residual[j]) / root_counts[j]
            if (sweep + 1) % record.thin == 0:
                record.cells[sweep // record.thin] = weights

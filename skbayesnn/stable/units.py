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
from scipy.linalg import cho_solve, cholesky, inv, solve_triangular

from skbayesnn.numerics.jit import kernel
from skbayesnn.stable.chain import new_record, start_state
from skbayesnn.stable.collapsed import collapsed_pass, exchange_pass
from skbayesnn.stable.hyper import HyperMoves
from skbayesnn.stable.updates import (
    draw_log_noise,
    log_noise_prior,
    move_log_variance,
    propose_log_noise,
)

_SWEEPS_A_JOINT_DRAW = 10
# A collapsed pass takes O(n²) a cell, so that it goes over so many cells at a time.
_CELLS_A_PASS = 2000
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

    # What a record keeps of each draw.
    kept = ("weights",)

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

    def sign_matrix(self):
        """T, (n, n_units)."""
        return self._signs

    def new_chain(self, problem, prior, monitored, n_draws, thin, rng):
        """A function that runs sweeps of a new chain, and the record that it fills."""
        moves = HyperMoves(prior, self.log_masses, rng)
        problem = moves.start(problem)
        state = start_state(problem, prior, rng)
        record = new_record(prior, self.biases.size, monitored, n_draws, thin)
        return WeightChain(self._signs, problem, moves, state, record, rng).sweep, record

    def predict(self, problem, weights, log_noise, levels, X, log_gain):
        """Means and variances (all zero) of f given each draw, (n_rows, n_draws)."""
        means = np.empty((X.shape[0], log_noise.size))
        weights = weights.T.astype(np.float64)
        for start in range(0, X.shape[0], _ROWS_A_BLOCK):
            rows = slice(start, start + _ROWS_A_BLOCK)
            means[rows] = self.signs(X[rows]) @ weights
        return means, np.zeros_like(means)

    def sample(self, problem_of, weights, log_noise, chosen, X, rng):
        """The function at all new inputs, jointly: given a draw of the weights it is known.

        Parameters
        ----------
        problem_of, weights, log_noise, X, rng
            As in the exact cells.
        chosen : ndarray of int, shape (n_samples,)
            The posterior draw of each sample.

        Returns
        -------
        f : ndarray of shape (n_rows, n_samples)
        """
        distinct, place = np.unique(chosen, return_inverse=True)
        values, _ = self.predict(None, weights[distinct], log_noise[distinct], None, X, None)
        return values[:, place]


class WeightChain:
    """The sweeps of one chain in the weights, for cells with an explicit sign matrix.

    Rows are scaled by the square root of their counts, so that the rows of ``signs``
    (one a cell) and the residuals are those of the model with the same noise for all.

    Parameters
    ----------
    signs : ndarray of shape (n, n_cells)
        T.
    problem, moves, state, record, rng
        As everywhere.
    row_gram : callable, default=None
        T diag(v) T' from v, where there is a faster way than a matrix product. Scales
        are then also drawn with all weights integrated out (``collapsed``).
    pairs : ndarray of shape (n_pairs, 2), default=None
        With ``row_gram``: neighbouring cells, for exchanges of their variances.
    """

    def __init__(self, signs, problem, moves, state, record, rng, row_gram=None, pairs=None):
        self.root_counts = np.sqrt(problem.counts)
        self.signs = np.ascontiguousarray((signs * self.root_counts[:, None]).T)
        self.y = problem.y * self.root_counts
        self.problem, self.moves, self.state = problem, moves, state
        self.record, self.rng = record, rng
        self.row_gram, self.pairs, self.next_cell = row_gram, pairs, 0
        n_cells, n = self.signs.shape
        by_cells = row_gram is None and n_cells < n
        self.gram = self.signs @ self.signs.T if by_cells else None
        self.weights = np.zeros(n_cells)

    def sweep(self, first, n_sweeps):
        """Run sweeps, a joint draw of the weights every few (every one where α = 2)."""
        stride = _SWEEPS_A_JOINT_DRAW if self.problem.move_scales else 1
        for start in range(first, first + n_sweeps, stride):
            self._draw_jointly()
            n = min(stride, first + n_sweeps - start)
            self.moves.write(self.record, start, n)
            _sweep_units(
                start,
                n,
                self.signs,
                self.y,
                self.root_counts,
                self.weights,
                self.problem,
                self.state,
                self.record,
                self.rng,
            )

    def _draw_jointly(self):
        """Draw log σ² and some scales with the weights integrated out, then all weights."""
        # Weights far above the noise are given: they leave the matrices no digits.
        limit = self.state.log_noise[0] + _LOG_MAX_SIGNAL
        free = self.state.log_variances < limit
        residual = self.y - self.weights[~free] @ self.signs[~free]
        self.problem = self.moves.update(
            self.problem, self.state, partial(self._log_evidence, free, residual)
        )
        joint = self._joint(free, self.state.log_variances, residual)
        if self.problem.move_noise:
            self._move_noise(joint, free)
        noise = exp(self.state.log_noise[0])
        if self.row_gram is not None and self.problem.move_scales:
            self._draw_scales(joint, noise, limit)
            joint = self._joint(free, self.state.log_variances, residual)
        joint.set_noise(noise)
        scale = np.exp(0.5 * self.state.log_variances[free])
        self.weights[free] = scale * joint.draw(self.rng)

    def _log_evidence(self, free, residual, log_variances):
        """Free weights integrated out, the others given; both have to stay what they are."""
        if ((log_variances < self.state.log_noise[0] + _LOG_MAX_SIGNAL) != free).any():
            return -np.inf
        fixed = log_variances[~free]
        given = -0.5 * (fixed + self.weights[~free] ** 2 * np.exp(-fixed)).sum()
        joint = self._joint(free, log_variances, residual)
        return given + joint.set_noise(exp(self.state.log_noise[0]))

    def _joint(self, free, log_variances, residual):
        """The law of the free weights given the residual, by the smaller linear system."""
        scale = np.exp(0.5 * log_variances[free])
        if self.gram is not None:
            gram = self.gram[np.ix_(free, free)] * np.outer(scale, scale)
            return _JointByUnits(gram, scale * (self.signs[free] @ residual), residual)
        signs = self.signs if free.all() else self.signs[free]
        if self.row_gram is None:
            design = signs * scale[:, None]
            return _JointByRows(signs, scale, residual, design.T @ design)
        gram = self.row_gram(np.exp(np.where(free, log_variances, -np.inf)))
        gram *= np.outer(self.root_counts, self.root_counts)
        return _JointByRows(signs, scale, residual, gram)

    def _move_noise(self, joint, free):
        """A Metropolis step in log σ² with the free weights integrated out."""
        within, n_rows = self.problem.within, self.problem.counts.sum()
        n_repeats = n_rows - self.y.size
        old = self.state.log_noise[0]
        new = propose_log_noise(old, n_rows, self.rng)
        log_ratio = log_noise_prior(new) - log_noise_prior(old)
        # The same weights have to be free on the way back.
        if ((self.state.log_variances < new + _LOG_MAX_SIGNAL) != free).any():
            log_ratio = -np.inf
        if log_ratio > -np.inf:
            log_ratio += joint.set_noise(exp(new)) - joint.set_noise(exp(old))
            log_ratio -= 0.5 * within * (exp(-new) - exp(-old)) + 0.5 * n_repeats * (new - old)
        if -self.rng.standard_exponential() < log_ratio:
            self.state.log_noise[0] = new

    def _draw_scales(self, joint, noise, limit):
        """Collapsed draws of the scales of the next cells in turn, and exchanges."""
        inverse = inv(joint.gram + noise * np.eye(self.y.size), check_finite=False)
        inverse = np.ascontiguousarray(inverse)
        solved = inverse @ joint.y
        arguments = (limit, self.signs, inverse, solved, self.problem, self.state, self.rng)
        stop = min(self.next_cell + _CELLS_A_PASS, len(self.signs))
        collapsed_pass(self.next_cell, stop, *arguments)
        self.next_cell = stop % len(self.signs)
        exchange_pass(self.pairs, *arguments)


class _JointByRows:
    """Standardised weights z ~ N(0, I) given y = A'z + noise, by the n x n system.

    Parameters
    ----------
    signs : ndarray of shape (n_units, n)
    scale : ndarray of shape (n_units,)
        A is ``signs`` with its rows times these.
    y : ndarray of shape (n,)
    gram : ndarray of shape (n, n)
        A'A.
    """

    def __init__(self, signs, scale, y, gram):
        self.signs, self.scale, self.y, self.gram = signs, scale, y, gram

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
        z = rng.standard_normal(self.scale.size)
        prior = (self.scale * z) @ self.signs
        error = self.y - prior - sqrt(self.noise) * rng.standard_normal(self.y.size)
        solved = cho_solve((self.factor, True), error, check_finite=False)
        return z + self.scale * (self.signs @ solved)


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
def _sweep_units(
    first,
    n_sweeps,
    signs,
    y,
    root_counts,
    weights,
    problem,
    state,
    record,
    rng,
):
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
                state.log_variances[unit] = move_log_variance(
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
                kept = record.cells[sweep // record.thin]
                for unit in range(n_units):
                    kept[unit] = weights[unit]
                    # Cells that new points split need their scales, too.
                    if kept.shape[0] > n_units:
                        kept[n_units + unit] = state.log_variances[unit] - problem.log_units[unit]

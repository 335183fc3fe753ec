"""Exact cells of two inputs, in the form that the estimator uses: chains, and predictions.

The circle of a new point crosses some of the cells; the other cells contribute their weight with a
sign. Let w' + w'' = w be the weights of the children of a crossed cell, where w' belongs to the
child in which the new point has the sign +1. The cell then contributes w' - w'' to f(x), and w' | w
~ N(R w, R (1-R) v).
"""

import numpy as np
from scipy import stats
from scipy.linalg import cho_solve, solve_triangular

from skbayesnn.stable.left_out import average_left_out
from skbayesnn.stable.noise.rows import first_noise, least_log_noise
from skbayesnn.stable.noise.slopes import NoiseBasis
from skbayesnn.stable.partitions.base import AS_IT_IS, distinct_pairs
from skbayesnn.stable.partitions.families import Families
from skbayesnn.stable.partitions.features import FeaturePartition
from skbayesnn.stable.partitions.plane import cells as plane
from skbayesnn.stable.partitions.plane import split as plane_split
from skbayesnn.stable.partitions.splits import SMALL, add_splits
from skbayesnn.stable.samplers.collapsed import CollapsedChain
from skbayesnn.stable.samplers.joint_weights import factor
from skbayesnn.stable.samplers.row_noise import RowNoiseChain, RowNoiseState

# Joint draws at m new points need the cells of all n + m points: about (n + m)²/2 of them, each
# taking some 1000 bytes and 4 µs per draw.
MAX_JOINT_POINTS = 1000
# A cell stores four numbers per draw.
_CELLS_A_BLOCK = 500


class FaceCells(FeaturePartition):
    """Exact cells of distinct points of the plane.

    Parameters
    ----------
    X, y, sample_weight, inputs
        See the base class.
    same_noise : bool, default=True
        Whether the noise is Gaussian with the same variance everywhere. Otherwise it is Student-t,
        with a scale that depends on the inputs.

    Attributes
    ----------
    arrangement : PlaneCells
        The faces of the arrangement of the points' circles.
    place : ndarray of int, shape (n_pairs,)
        For each distinct pair of a row and a target, the index of the row; not with ``same_noise``.
    targets, weights : ndarray of shape (n_pairs,)
        Targets of these pairs, and the sums of their weights.
    least_log_noise : float
        Log variance of rounding errors, the lower limit for log σ²; not with ``same_noise``.
    """

    recorded = ("weights", "log_scales")
    chain = CollapsedChain
    may_be_stacked = may_have_process = True

    def __init__(self, X, y=None, sample_weight=None, inputs=AS_IT_IS, same_noise=True):
        super().__init__(X, y, sample_weight, inputs)
        self.same_noise = same_noise
        if not same_noise:
            rows, self.targets, self.weights = distinct_pairs(inputs.scaled(X), y, sample_weight)
            self.place = np.cumsum(np.append(False, np.diff(rows, axis=0).any(axis=1)))
            self.noise_basis = NoiseBasis(rows, self.weights)
            self.least_log_noise = least_log_noise(self.targets)
            self.chain = RowNoiseChain
        self.arrangement = plane.plane_cells(self.rows)
        self.log_masses = np.log(self.arrangement.masses)

    def is_of(self, X, y, sample_weight):
        """Whether the partition was made from these data."""
        if self.same_noise:
            return super().is_of(X, y, sample_weight)
        rows, *theirs = distinct_pairs(self.inputs.scaled(X), y, sample_weight)
        ours = self.rows[self.place], self.targets, self.weights
        return all(np.array_equal(a, b) for a, b in zip(ours, (rows, *theirs), strict=True))

    def start(self, prior, rng):
        """A random state, overdispersed so that R-hat is meaningful."""
        cells = super().start(prior, rng)
        if self.same_noise:
            return cells
        if prior.log_noise is None:
            cells.log_noise[:] = np.maximum(cells.log_noise, self.least_log_noise)
        return RowNoiseState(cells, first_noise(self.noise_basis, self.weights, prior, rng))

    def separating_mass(self):
        """Probability that a hidden unit separates any two rows."""
        n = len(self.rows)
        alike = np.abs(plane.signs_transposed_times(self.arrangement, np.ones(n))) == n
        return 1.0 - self.arrangement.masses[alike].sum()

    def features(self, planes):
        """T, (n, n_cells)."""
        return plane.signs(self.arrangement).astype(np.float64)

    def gram(self, variances):
        """T diag(v) T', (n, n)."""
        return plane.signs_gram(self.arrangement, variances)

    def neighbours(self):
        """Pairs of cells that differ in the sign of one row, (n_pairs, 2)."""
        return np.ascontiguousarray(plane.neighbours(self.arrangement)[:, :2])

    def _predict(self, problem, draws, X):
        location = plane_split.locate(self.arrangement, X)
        if self.same_noise and not problem.move_scales:
            return self._predict_gaussian(problem, draws, location)
        means = location.signs.astype(np.float32) @ draws.weights.T
        means = np.ascontiguousarray(means, dtype=np.float64)
        variances = np.zeros_like(means)
        rows = np.repeat(np.arange(len(X)), np.diff(location.start))
        # A row splits about as many cells as there are rows.
        log_least = self.least_log_noises(draws) + np.log(SMALL / np.sqrt(len(self.rows)))
        order = np.argsort(location.crossed, kind="stable")
        _, first = np.unique(location.crossed[order], return_index=True)
        for part in np.split(order, first[_CELLS_A_BLOCK::_CELLS_A_BLOCK]):
            hit, place = np.unique(location.crossed[part], return_inverse=True)
            weights = np.ascontiguousarray(draws.weights[:, hit].T, dtype=np.float64)
            log_s = np.ascontiguousarray(draws.log_scales[:, hit].T, dtype=np.float64)
            log_v = log_s + problem.log_units[hit, None] + draws.log_nu
            share = location.share[part]
            add_splits(
                place, rows[part], np.ones(part.size), np.log(share), np.log1p(-share), -weights,
                weights, log_v, log_s, float(draws.alpha[0]), draws.levels, log_least, means,
                variances,
            )  # fmt: skip
        return means, variances

    def log_densities_left_out(self, draws, X, y, weights):
        """Log density of each (scaled) training row given all others.

        With Student-t noise, the function is not integrated out: each draw of its value at a row is
        weighted by the inverse of the density that it gives the target.
        """
        if self.same_noise:
            return super().log_densities_left_out(draws, X, y, weights)
        means, _ = self.predict_scaled(draws, X)
        log_noise = draws.log_noise + self.log_noise_factors(draws, X) - np.log(weights)[:, None]
        scales = np.exp(0.5 * log_noise)
        return average_left_out(stats.t.logpdf(y[:, None], draws.degrees, means, scales))

    def _sample(self, draws, X, rng):
        new, place = np.unique(X, axis=0, return_inverse=True)
        n = len(self.rows)
        if n + len(new) > MAX_JOINT_POINTS:
            raise ValueError(
                "In the plane sample_y draws the function jointly over the rows of X, through "
                "the cells that they make together with the training rows: up to "
                f"{MAX_JOINT_POINTS} distinct rows, but there are {n} + {len(new)}. Use fewer "
                "rows, or predict_distribution(X).sample(n_samples) for draws that are "
                "independent from row to row."
            )
        children, parent, sense = plane_split.refine(self.arrangement, new)
        families = Families(parent, children.masses, self.log_masses.size)
        out = np.empty((len(new), draws.alpha.size))
        for i, (weights, log_scales) in enumerate(
            zip(draws.weights.astype(float), draws.log_scales.astype(float), strict=True)
        ):
            problem = self.problem(draws.alpha[i], draws.log_nu[i])
            weights = sense * families.draw(weights, log_scales, problem, rng)
            out[:, i] = plane.signs_times(children, weights)[children.rows[n:]]
        return out[place]

    def _predict_gaussian(self, problem, draws, location):
        """Predictions for α = 2, a Gaussian process, for each draw of the noise variance."""
        variances = np.exp(problem.log_units)
        signs = location.signs.astype(np.float64)
        rows = np.repeat(np.arange(len(signs)), np.diff(location.start))
        # R = ρ: the difference of the children is 2ρ - 1 times the parent.
        signs[rows, location.crossed] = 2.0 * location.share - 1.0
        cross = np.stack(
            [plane.signs_times(self.arrangement, row * variances) for row in signs], axis=1
        )
        gram = self.gram(variances)
        means = np.empty((len(signs), draws.log_nu.size))
        out = np.empty_like(means)
        for d, log_nu in enumerate(draws.log_nu):
            # ν is a common factor of all variances, so the noise is expressed in units of ν.
            noise = np.exp(draws.log_noise[d] - log_nu)
            lower = factor(gram + np.diag(noise / problem.counts))
            means[:, d] = cross.T @ cho_solve((lower, True), problem.y)
            explained = solve_triangular(lower, cross, lower=True)
            # Negative only because of rounding.
            out[:, d] = np.exp(log_nu) * np.maximum(
                variances.sum() - (explained**2).sum(axis=0), 0.0
            )
        return means, out

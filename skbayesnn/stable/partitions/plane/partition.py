"""The exact cells of two inputs as the estimator uses them: chains, predictions by splitting.

A new point's circle crosses some of the cells, the others give it their weight with a
sign. With w' + w'' = w the weights of the children of a crossed cell, w' where the new
point is positive, f(x) has w' - w'' and w' | w ~ N(R w, R (1-R) v).
"""

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from skbayesnn.stable.partitions.base import AS_IT_IS, FeaturePartition
from skbayesnn.stable.partitions.bridge import groups, split_draws
from skbayesnn.stable.partitions.families import Families
from skbayesnn.stable.partitions.plane import cells as plane
from skbayesnn.stable.partitions.plane import split as plane_split
from skbayesnn.stable.samplers.collapsed import CollapsedChain
from skbayesnn.stable.samplers.joint_weights import factor
from skbayesnn.stable.samplers.line import MAX_LOG_VARIANCE

# Joint draws at m new points need the n + m points' cells: about (n + m)²/2, some 1000 bytes
# and 4 µs a draw each.
MAX_JOINT_POINTS = 1000


class FaceCells(FeaturePartition):
    """Exact cells of distinct points of the plane; the parameters are those of its base.

    Attributes
    ----------
    arrangement : PlaneCells
        The faces of the arrangement of the points' circles.
    """

    recorded = ("weights", "log_scales")
    chain = CollapsedChain
    may_be_stacked = True

    def __init__(self, X, y=None, sample_weight=None, inputs=AS_IT_IS):
        super().__init__(X, y, sample_weight, inputs)
        self.arrangement = plane.plane_cells(self.rows)
        self.log_masses = np.log(self.arrangement.masses)

    def separating_mass(self):
        """Probability that a hidden unit tells any two rows apart."""
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
        """Pairs of cells that differ in one row's sign, (n_pairs, 2)."""
        return np.ascontiguousarray(plane.neighbours(self.arrangement)[:, :2])

    def _predict(self, problem, draws, X):
        location = plane_split.locate(self.arrangement, X)
        if not problem.move_scales:
            return self._predict_gaussian(problem, draws, location)
        means = location.signs.astype(np.float32) @ draws.weights.T
        means = np.ascontiguousarray(means, dtype=np.float64)
        variances = np.zeros_like(means)
        rows = np.repeat(np.arange(len(X)), np.diff(location.start))
        for cell, part in groups(location.crossed):
            share = location.share[part]
            log_scales = draws.log_scales[:, cell]
            shares = np.log(share), np.log1p(-share)
            z = split_draws(draws.levels, log_scales, *shares, problem.table)
            # A row splits a cell once: 2R - 1, and 4 R (1-R) v; the odds of R are exp(z).
            distance = np.abs(z)
            odds = np.exp(-distance)
            larger = 1.0 / (1.0 + odds)
            means[rows[part]] += draws.weights[:, cell] * np.copysign((1.0 - odds) * larger, z)
            log_variances = problem.log_units[cell] + log_scales + draws.log_nu
            spread = np.exp(np.minimum(log_variances - distance, MAX_LOG_VARIANCE))
            variances[rows[part]] += 4.0 * larger**2 * spread
        return means, variances

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
        return out[place.reshape(-1)]

    def _predict_gaussian(self, problem, draws, location):
        """The Gaussian process that α = 2 is, for each draw of the noise variance."""
        variances = np.exp(problem.log_units)
        signs = location.signs.astype(np.float64)
        rows = np.repeat(np.arange(len(signs)), np.diff(location.start))
        # R = ρ: the children differ by 2ρ - 1 of the parent's variance.
        signs[rows, location.crossed] = 2.0 * location.share - 1.0
        cross = np.stack(
            [plane.signs_times(self.arrangement, row * variances) for row in signs], axis=1
        )
        gram = self.gram(variances)
        means = np.empty((len(signs), draws.log_nu.size))
        out = np.empty_like(means)
        for d, log_nu in enumerate(draws.log_nu):
            # A common factor of all variances: the noise is seen in its units.
            noise = np.exp(draws.log_noise[d] - log_nu)
            lower = factor(gram + np.diag(noise / problem.counts))
            means[:, d] = cross.T @ cho_solve((lower, True), problem.y)
            explained = solve_triangular(lower, cross, lower=True)
            # Below zero by rounding at most.
            out[:, d] = np.exp(log_nu) * np.maximum(
                variances.sum() - (explained**2).sum(axis=0), 0.0
            )
        return means, out

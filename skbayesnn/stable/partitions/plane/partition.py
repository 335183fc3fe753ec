"""The exact cells of two inputs as the estimator uses them: chains, predictions by splitting.

A new point's circle crosses some of the cells, the others give it their weight with a
sign. With w' + w'' = w the weights of the children of a crossed cell, w' where the new
point is positive, f(x) has w' - w'' and w' | w ~ N(R w, R (1-R) v).
"""

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from skbayesnn.stable.partitions.bridge import MAX_LOG_VARIANCE, groups, split_draws
from skbayesnn.stable.partitions.families import Families
from skbayesnn.stable.partitions.plane import cells as plane
from skbayesnn.stable.partitions.plane import split as plane_split
from skbayesnn.stable.partitions.sampled import WeightChain
from skbayesnn.stable.samplers.chain import new_record, start_state
from skbayesnn.stable.samplers.hyper import HyperMoves

# Joint draws at m new points need the n + m points' cells: about (n + m)²/2, some 1000 bytes
# and 4 µs a draw each.
MAX_JOINT_POINTS = 1000


class FaceCells:
    """Exact cells of distinct points of the plane.

    Parameters
    ----------
    X : ndarray of shape (n, 2)
        Distinct rows in lexicographic order.

    Attributes
    ----------
    arrangement : PlaneCells
        The faces of the arrangement of the points' circles.
    log_masses : ndarray of shape (n_cells,)
    """

    # What a record keeps of each draw.
    kept = ("weights", "log_scales")

    def __init__(self, X):
        self.arrangement = plane.plane_cells(X)
        self.log_masses = np.log(self.arrangement.masses)

    def separating_mass(self):
        """Probability that a hidden unit tells any two rows apart."""
        n = len(self.arrangement.points)
        alike = np.abs(plane.signs_transposed_times(self.arrangement, np.ones(n))) == n
        return 1.0 - self.arrangement.masses[alike].sum()

    def sign_matrix(self):
        """T, (n, n_cells)."""
        return plane.signs(self.arrangement).astype(np.float64)

    def new_chain(self, problem, prior, monitored, n_draws, thin, rng):
        """A function that runs sweeps of a new chain, and the record that it fills."""
        moves = HyperMoves(prior, self.log_masses, rng)
        problem = moves.start(problem)
        state = start_state(problem, prior, rng)
        record = new_record(prior, 2 * self.log_masses.size, monitored, n_draws, thin)
        pairs = np.ascontiguousarray(plane.neighbours(self.arrangement)[:, :2])
        law = problem, moves, state, record, rng
        return WeightChain(self.sign_matrix(), *law, self._gram, pairs).sweep, record

    def _gram(self, variances):
        return plane.signs_gram(self.arrangement, variances)

    def predict(self, problem, draws, log_noise, levels, X, log_gain):
        """Means and variances of f at new inputs, a Gaussian component a draw.

        Parameters
        ----------
        problem : Problem
        draws : ndarray of shape (n_draws, 2 * n_cells), float32
            Weights, then log s.
        log_noise : ndarray of shape (n_draws,)
        levels : ndarray of shape (n_draws,)
            The level at which the law of the split of a cell is evaluated for each draw.
        X : ndarray of shape (n_rows, 2)
        log_gain : ndarray of shape (n_draws,)
            What each draw adds to ``problem.log_units``.

        Returns
        -------
        means, variances : ndarray of shape (n_rows, n_draws)
        """
        location = plane_split.locate(self.arrangement, X)
        if not problem.move_scales:
            return self._predict_gaussian(problem, log_noise, location, log_gain)
        n_cells = self.log_masses.size
        means = location.signs.astype(np.float32) @ draws[:, :n_cells].T
        means = np.ascontiguousarray(means, dtype=np.float64)
        variances = np.zeros_like(means)
        rows = np.repeat(np.arange(len(X)), np.diff(location.start))
        for cell, part in groups(location.crossed):
            share = location.share[part]
            log_scales = draws[:, n_cells + cell]
            z = split_draws(levels, log_scales, np.log(share), np.log1p(-share), problem.table)
            # A row splits a cell once: 2R - 1, and 4 R (1-R) v; the odds of R are exp(z).
            distance = np.abs(z)
            odds = np.exp(-distance)
            larger = 1.0 / (1.0 + odds)
            means[rows[part]] += draws[:, cell] * np.copysign((1.0 - odds) * larger, z)
            log_variances = problem.log_units[cell] + log_scales + log_gain
            spread = np.exp(np.minimum(log_variances - distance, MAX_LOG_VARIANCE))
            variances[rows[part]] += 4.0 * larger**2 * spread
        return means, variances

    def sample(self, problem_of, draws, log_noise, chosen, X, rng):
        """Draw the function jointly at all new inputs.

        Parameters
        ----------
        problem_of : callable
            The problem at α and ν of a posterior draw, from its number.
        draws, log_noise, X
            As in :meth:`predict`.
        chosen : ndarray of int, shape (n_samples,)
            The posterior draw that each sample is a draw of the function of.
        rng : numpy.random.Generator

        Returns
        -------
        f : ndarray of shape (n_rows, n_samples)

        Raises
        ------
        ValueError
            If old and new points together are too many for their joint cells.
        """
        new, place = np.unique(X, axis=0, return_inverse=True)
        n, n_cells = len(self.arrangement.points), self.log_masses.size
        if n + len(new) > MAX_JOINT_POINTS:
            raise ValueError(
                "In the plane sample_y draws the function jointly over the rows of X, through "
                "the cells that they make together with the training rows: up to "
                f"{MAX_JOINT_POINTS} distinct rows, but there are {n} + {len(new)}. Use fewer "
                "rows, or predict_distribution(X).sample(n_samples) for draws that are "
                "independent from row to row."
            )
        children, parent, sense = plane_split.refine(self.arrangement, new)
        families = Families(parent, children.masses, n_cells)
        out = np.empty((len(new), chosen.size))
        for i, d in enumerate(chosen):
            weights, log_scales = draws[d].astype(np.float64).reshape(2, n_cells)
            weights = sense * families.draw(weights, log_scales, problem_of(d), rng)
            out[:, i] = plane.signs_times(children, weights)[children.rows[n:]]
        return out[place.reshape(-1)]

    def _predict_gaussian(self, problem, log_noise, location, log_gain):
        """The Gaussian process that α = 2 is, for each draw of the noise variance."""
        variances = np.exp(problem.log_units)
        signs = location.signs.astype(np.float64)
        rows = np.repeat(np.arange(len(signs)), np.diff(location.start))
        # R = ρ: the children differ by 2ρ - 1 of the parent's variance.
        signs[rows, location.crossed] = 2.0 * location.share - 1.0
        cross = np.stack(
            [plane.signs_times(self.arrangement, row * variances) for row in signs], axis=1
        )
        gram = self._gram(variances)
        means = np.empty((len(signs), log_noise.size))
        out = np.empty_like(means)
        for d, gain in enumerate(np.exp(log_gain)):
            # A common factor of all variances: the noise is seen in its units.
            noise = np.exp(log_noise[d] - log_gain[d])
            factor = cholesky(gram + np.diag(noise / problem.counts), lower=True)
            means[:, d] = cross.T @ cho_solve((factor, True), problem.y)
            explained = solve_triangular(factor, cross, lower=True)
            # Below zero by rounding at most.
            out[:, d] = gain * np.maximum(variances.sum() - (explained**2).sum(axis=0), 0.0)
        return means, out

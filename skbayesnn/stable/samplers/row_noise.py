"""The exact cells of the plane with a noise variance for each row.

Given the precisions of all rows (:mod:`skbayesnn.stable.noise`), a distinct point of the plane
counts as much as those of its rows together, at their mean target weighted by them. So the chain is
that of the same noise for all rows with these numbers in place of the rows' counts, and every few
sweeps it renews them: given the function, all of the noise is moved with the precisions integrated
out; and at each joint draw some of the precisions, with the function integrated out.
"""

from math import exp, inf
from typing import NamedTuple

import numpy as np

from skbayesnn.stable.noise.outliers import N_ROWS, move_precisions
from skbayesnn.stable.noise.rows import NoiseMoves, RowNoise
from skbayesnn.stable.samplers.collapsed import CollapsedChain
from skbayesnn.stable.samplers.problem import State

# A renewal costs less than a sweep over the cells.
_SWEEPS_A_RENEWAL = 2
# Moves of the degrees of freedom at a renewal.
_MOVES = 10


class RowNoiseState(NamedTuple):
    """The state of a chain, changed in place: that of the cells, and that of the noise."""

    cells: State
    noise: RowNoise


class RowNoiseChain(CollapsedChain):
    """The sweeps of one chain; its parameters are those of its base.

    Parameters
    ----------
    partition : FaceCells
        Made without ``same_noise``.
    state : RowNoiseState
    """

    def __init__(self, partition, prior, state, record, rng):
        super().__init__(partition, prior, state.cells, record, rng)
        least, weights = partition.least_log_noise, partition.weights
        self.noise = state.noise
        self.noise_moves = NoiseMoves(partition.noise_basis, weights, prior, least, _MOVES)
        self.problem = self.problem._replace(least_log_noise=least)
        # Rows whose point is theirs alone.
        self.single = np.flatnonzero(np.bincount(partition.place)[partition.place] == 1)
        # One of the rows of each point that is followed: h is that of all of them.
        self.monitored = np.searchsorted(partition.place, record.monitored)
        self._count_rows()

    def _count_rows(self):
        """Let each row count as its precision says."""
        place, targets = self.partition.place, self.partition.targets
        precisions = self.noise.precisions
        counts = np.bincount(place, precisions)
        means = np.bincount(place, precisions * targets) / counts
        within = float(precisions @ (targets - means[place]) ** 2)
        self.problem = self.problem._replace(y=means, counts=counts, within=within)
        self.root_counts = np.sqrt(counts)
        self.y = means * self.root_counts
        np.copysign(self.root_counts, self.features, out=self.features)
        self.squares.fill(counts.sum())
        self.first_gram = None

    def _draw_one_by_one(self, first, n_sweeps):
        """Sweeps over the cells in turn, the noise renewed before every few."""
        for start in range(first, first + n_sweeps, _SWEEPS_A_RENEWAL):
            n = min(_SWEEPS_A_RENEWAL, first + n_sweeps - start)
            self._renew_noise(start)
            super()._draw_one_by_one(start, n)
            for sweep in range(max(start, 0), start + n):
                self._write_noise(sweep)

    def _renew_noise(self, sweep):
        """Move all of the noise given the function."""
        f = self.weights @ self.features / self.root_counts
        residuals = self.partition.targets - f[self.partition.place]
        log_noise = self.state.log_noise
        log_noise[0] = self.noise_moves.update(self.noise, residuals, log_noise[0], sweep, self.rng)
        self._count_rows()

    def _write_noise(self, sweep):
        record, noise = self.record, self.noise
        record.inverse_degrees[sweep] = 1.0 / noise.degrees
        record.log_factors[sweep] = noise.log_factors[self.monitored]
        if (sweep + 1) % record.thin == 0:
            record.slopes[sweep // record.thin] = noise.slopes

    def _draw_collapsed(self, joint, free, residual):
        """Draws of precisions and of scales, the free weights integrated out."""
        if self.noise.degrees < inf and self.single.size:
            self._move_precisions(joint)
            self._count_rows()
            residual = self.y - self.weights[~free] @ self.features[~free]
            joint = self._law_anew(free, residual)
        return super()._draw_collapsed(joint, free, residual)

    def _move_precisions(self, joint):
        """Draw the precisions of some rows that have their point alone."""
        noise, inverse = self.noise, joint.inverse()
        rows = self.rng.permutation(self.single)[:N_ROWS]
        at, factors = self.partition.place[rows], np.exp(noise.log_factors[rows])
        roots, chosen = self.root_counts[at], noise.precisions[rows] * factors
        move_precisions(
            inverse[np.ix_(at, at)] * np.outer(roots, roots), (inverse[at] @ joint.y) * roots,
            chosen, self.partition.weights[rows], exp(self.state.log_noise[0]) * factors,
            noise.degrees, self.rng,
        )  # fmt: skip
        noise.precisions[rows] = chosen / factors

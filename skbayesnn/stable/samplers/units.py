"""Moves of the hyperplanes of hidden units: proposals that leave their prior as it is.

A plane (w, b) has the prior N(0, I), in units of the scales of inputs and biases. Proposed
is a rotation of some of its coordinates towards a new draw from the prior (preconditioned
Crank and Nicolson),

    u' = √(1-δ²) u + δ ξ,    ξ ~ N(0, I),    0 < δ ≤ 1,

which is reversible under the prior, so that it is accepted by the likelihood alone: that
of the residuals without the unit, its weight integrated out given the variance v (see
``weights``). Which coordinates are rotated and how far is drawn at random for each
unit, whatever its state: all coordinates far (δ = 1 is a new unit), or a little, or one.

A proposal depends on the unit's own plane only: those of all units are made at once.
"""

import numpy as np

from skbayesnn.stable.samplers.unit_blocks import draw_in_blocks
from skbayesnn.stable.samplers.weights import WeightChain

# The smallest angle, in radians: a hyperplane turned by less passes hardly any row.
_LEAST_STEP = 0.01
# Shares of proposals of all coordinates anew, and of one coordinate; others rotate all.
_NEW, _ONE = 0.25, 0.25
# Units that move with all weights integrated out take an n x n matrix: so many rows at most.
_MAX_ROWS_IN_BLOCKS = 1500


class MovingChain(WeightChain):
    """The sweeps of one chain in the weights and the hyperplanes of units."""

    # The weights hold units in their places: where these move, they are drawn more often.
    sweeps_a_joint_draw = 3

    def __init__(self, partition, prior, state, record, rng):
        super().__init__(partition, prior, state, record, rng)
        n_cells, n = self.features.shape
        # Few units on many rows are cheaper to move one by one, given the others.
        self.in_blocks = n <= min(_MAX_ROWS_IN_BLOCKS, 2 * n_cells)
        self.by_cells = self.by_cells and not self.in_blocks

    def propose(self, units):
        """A new plane for each of some units, and its values at the rows.

        Parameters
        ----------
        units : ndarray of int or slice

        Returns
        -------
        planes : ndarray of shape (n_chosen, n_features + 1)
        features : ndarray of shape (n_chosen, n)
            Scaled by the roots of the counts.
        """
        planes = propose_planes(self.state.planes[units], self.rng)
        features = self.partition.features(planes).T * self.root_counts
        return planes, np.ascontiguousarray(features)

    def _draw_one_by_one(self, first, n_sweeps):
        """Sweeps in which new hyperplanes are proposed for all units."""
        record, state = self.record, self.state
        for sweep in range(first, first + n_sweeps):
            planes, features = self.propose(slice(None))
            accepted = np.zeros(len(planes), dtype=bool)
            self._sweep(sweep, 1, features, self.squares_of(features), accepted)
            state.planes[accepted] = planes[accepted]
            if sweep >= 0 and (sweep + 1) % record.thin == 0:
                record.planes[sweep // record.thin] = state.planes
        if self.by_cells:
            self.gram = self.features @ self.features.T

    def _draw_collapsed(self, joint, free, residual):
        """Draws of scales and hyperplanes of all units, all weights integrated out."""
        if not self.in_blocks:
            return joint
        order = self.rng.permutation(len(self.features))
        planes, proposals = self.propose(order)
        law = joint.inverse(), joint.y, self.problem, self.state, self.n_rows
        accepted = draw_in_blocks(order, self.features, proposals, *law, self.rng)
        moved = order[accepted]
        self.state.planes[moved] = planes[accepted]
        self.squares[moved] = self.squares_of(proposals[accepted])
        return self._law_anew(free, residual)

    def _gram_of_rows(self, free, log_variances):
        return self._sum_of_outer(np.where(free, log_variances, -np.inf))


def propose_planes(planes, rng):
    """Rotate rows of standard normal numbers, reversibly."""
    n_units, size = planes.shape
    kind = rng.random(n_units)
    step = np.exp(rng.uniform(np.log(_LEAST_STEP), 0.0, size=n_units))
    step[kind < _NEW] = 1.0
    step = np.repeat(step[:, None], size, axis=1)
    one = np.flatnonzero(kind > 1.0 - _ONE)
    place = rng.integers(size, size=one.size)
    step_of_one = step[one, place]
    step[one] = 0.0
    step[one, place] = step_of_one
    return np.sqrt(1.0 - step**2) * planes + step * rng.standard_normal(planes.shape)

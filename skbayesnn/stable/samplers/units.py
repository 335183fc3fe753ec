"""Moves of the hyperplanes of hidden units: proposals that leave their prior as it is.

A plane (w, b) has the prior N(0, I), in units of the scales of inputs and biases. Proposed
is a rotation of some of its coordinates towards a new draw from the prior (preconditioned
Crank and Nicolson),

    u' = √(1-δ²) u + δ ξ,    ξ ~ N(0, I),    0 < δ ≤ 1,

which is reversible under the prior, so that it is accepted by the likelihood alone: that
of the residuals without the unit, its weight integrated out given the variance v (see
``weight_chain``). Which coordinates are rotated and how far is drawn at random for each
unit, whatever its state: all coordinates far (δ = 1 is a new unit), or a little, or one.

A proposal depends on the unit's own plane only: those of all units are made at once.
"""

import numpy as np

# The smallest angle, in radians: a hyperplane turned by less passes hardly any row.
_LEAST_STEP = 0.01
# Shares of proposals of all coordinates anew, and of one coordinate; others rotate all.
_NEW, _ONE = 0.25, 0.25


class UnitMoves:
    """The hyperplanes of one chain, and proposals for them.

    Parameters
    ----------
    cells : UnitCells
    X : ndarray of shape (n, n_features)
    root_counts : ndarray of shape (n,)
    rng : numpy.random.Generator

    Attributes
    ----------
    planes : ndarray of shape (n_units, n_features + 1)
        The present ones; at first a draw from the prior.
    """

    def __init__(self, cells, X, root_counts, rng):
        self.cells, self.X, self.root_counts, self.rng = cells, X, root_counts, rng
        self.planes = rng.standard_normal(cells.planes.shape)

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
        planes = propose_planes(self.planes[units], self.rng)
        features = self.cells.features(self.X, planes).T * self.root_counts
        return planes, np.ascontiguousarray(features)


def propose_planes(planes, rng):
    """Rotate rows of standard normal numbers, reversibly; the arguments are as above."""
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

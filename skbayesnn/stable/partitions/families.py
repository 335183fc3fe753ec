"""Joint draws of the function at many new points: a cell that splits into several.

Given a draw of a cell's weight and scale, the first child is split off the rest, then the second
child off what remains, and so on. Let ρ be a child's share of the remaining mass, and let R have
the distribution in :mod:`~skbayesnn.stable.partitions.bridge`. Then v' = R v and w' | w ~ N(R w, R
(1-R) v), and the rest is again a cell, with the weight w - w', the variance (1-R) v and the scale

    s'' = (1-R) (1-ρ)^{-2/α} s.
"""

from math import exp, inf, log1p

import numpy as np

from skbayesnn.numerics.jit import kernel
from skbayesnn.stable.partitions.bridge import split_share, splitting_workspace
from skbayesnn.stable.samplers.line import MAX_LOG_VARIANCE


class Families:
    """Children of each cell, and their shares of the remaining mass.

    Parameters
    ----------
    parent : ndarray of int, shape (n_children,)
        The cell to which each child belongs.
    masses : ndarray of shape (n_children,)
    n_parents : int

    Attributes
    ----------
    order : ndarray of int, shape (n_children,)
        Indices of the children, grouped by cell and otherwise in the original order.
    start : ndarray of int, shape (n_parents + 1,)
        The children of cell k are ``order[start[k]:start[k + 1]]``.
    log_masses, log_rests : ndarray of shape (n_children,)
        In the grouped order: log mass of the child, and of the child together with those after it.
    """

    def __init__(self, parent, masses, n_parents):
        self.order = np.argsort(parent, kind="stable")
        self.start = np.searchsorted(parent[self.order], np.arange(n_parents + 1))
        masses = masses[self.order]
        rests = np.empty_like(masses)
        for begin, end in zip(self.start[:-1], self.start[1:], strict=True):
            # Summing from the last child avoids cancellation.
            rests[begin:end] = np.cumsum(masses[begin:end][::-1])[::-1]
        with np.errstate(divide="ignore"):
            self.log_masses, self.log_rests = np.log(masses), np.log(rests)

    def draw(self, weights, log_scales, problem, rng):
        """Draw the weights of the children given those of their cells, (n_children,).

        Parameters
        ----------
        weights, log_scales : ndarray of shape (n_parents,)
        problem : Problem
        rng : numpy.random.Generator
        """
        drawn = np.empty(self.order.size)
        split_families(
            self.start,
            self.log_masses,
            self.log_rests,
            weights,
            log_scales,
            problem.log_units,
            problem.table,
            problem.move_scales,
            rng,
            splitting_workspace(),
            drawn,
        )
        children = np.empty_like(drawn)
        children[self.order] = drawn
        return children


@kernel
def split_families(
    start,
    log_masses,
    log_rests,
    weights,
    log_scales,
    log_units,
    table,
    random_shares,
    rng,
    workspace,
    children,
):
    """Draw the weights of all children of all cells into ``children``.

    Parameters
    ----------
    start, log_masses, log_rests
        See :class:`Families`.
    weights, log_scales, log_units : ndarray of shape (n_parents,)
    table : PositiveStableTable
    random_shares : bool
        False for α = 2, where the variance is split in proportion to the mass.
    rng : numpy.random.Generator
    workspace : ndarray
        From :func:`~skbayesnn.stable.partitions.bridge.splitting_workspace`.
    children : ndarray of shape (n_children,)
        Overwritten.
    """
    for k in range(weights.shape[0]):
        weight, t = weights[k], log_scales[k]
        log_variance = log_units[k] + t
        for c in range(start[k], start[k + 1]):
            last = c == start[k + 1] - 1 or log_rests[c + 1] == -inf
            if last or log_masses[c] == -inf:
                children[c] = weight if last and log_masses[c] > -inf else 0.0
                if last:
                    weight = 0.0
                continue
            log_rho, log_rest = log_masses[c] - log_rests[c], log_rests[c + 1] - log_rests[c]
            if random_shares:
                z = split_share(rng.random(), t, log_rho, log_rest, table, workspace)
            else:
                z = log_rho - log_rest
            log_share, log_left = -log1p(exp(-z)), -log1p(exp(z))
            spread = min(log_variance + log_share + log_left, MAX_LOG_VARIANCE)
            noise = exp(0.5 * spread) * rng.standard_normal()
            children[c] = exp(log_share) * weight + noise
            weight = exp(log_left) * weight - noise
            log_variance += log_left
            t += log_left - log_rest / table.a

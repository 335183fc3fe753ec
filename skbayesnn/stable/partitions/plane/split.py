"""Stable, two inputs: how new points split the cells, so that predictions need no new chain.

The circle of a new point crosses about n of the n^2/2 cells, and splits each in two. Given the
weight w and the variance v of a cell, the weights of its children satisfy w' + w'' = w and w' | w ~
N(R w, R (1 - R) v), where the distribution of R = v'/v depends on the share of the mass. ``locate``
computes the shares for one new point at a time, and ``refine`` finds the joint cells of the old and
new points.
"""

from typing import NamedTuple

import numpy as np

from skbayesnn.stable.partitions.plane.areas import positive_shares
from skbayesnn.stable.partitions.plane.cells import keep_cells, plane_cells, signs_transposed_times


class Location(NamedTuple):
    """Position of the circles of new points among the cells; made by ``locate``.

    Attributes
    ----------
    signs : ndarray of int8, shape (n_new, n_cells)
        Sign of the new point in each cell, relative to the cell's column of the sign matrix. 0 if
        its circle crosses the cell.
    start : ndarray of int64, shape (n_new + 1,)
        New point j crosses the cells ``crossed[start[j]:start[j + 1]]``.
    crossed : ndarray of int64, shape (n_crossed,)
        Indices of the crossed cells.
    share : ndarray of shape (n_crossed,)
        Share of the cell's mass for which the new point has the sign +1, between 0 and 1.
    """

    signs: np.ndarray
    start: np.ndarray
    crossed: np.ndarray
    share: np.ndarray


def locate(cells, X_new):
    """Find the cells that each new point splits, and its signs in the others.

    A point equal to an old one splits nothing. For other points, a corner of a cell counts as on
    the new point's circle if its distance is under 2e-15, and a cell is not split if a child would
    have a mass below ``SMALLEST_MASS``.

    Parameters
    ----------
    cells : PlaneCells
    X_new : array-like of shape (n_new, 2)
        Finite points; they may be equal to points of ``cells`` or collinear with them.

    Returns
    -------
    location : Location
    """
    X_new = np.array(X_new, float, order="C")
    shares = np.empty(len(cells.masses))
    signs = np.empty((len(X_new), len(shares)), np.int8)
    crossed, share = [], []
    for j, new in enumerate(X_new):
        same = np.all(cells.points == new, axis=1)
        if same.any():  # exactly a row of the sign matrix, whatever is nearby
            shares[:] = signs_transposed_times(cells, same.astype(float)) > 0
        else:
            positive_shares(*cells.polygons, cells.points, cells.masses, new, shares)
        signs[j] = np.where(shares == 1, 1, -1)
        split = np.flatnonzero((shares > 0) & (shares < 1))
        signs[j, split] = 0
        crossed.append(split)
        share.append(shares[split])
    start = np.concatenate([[0], np.cumsum([len(split) for split in crossed], dtype=np.int64)])
    return Location(signs, start, np.concatenate(crossed), np.concatenate(share))


def refine(cells, X_new):
    """Find the joint cells of the old and new points, and the old cell that contains each.

    Parameters
    ----------
    cells : PlaneCells
    X_new : array-like of shape (n_new, 2)

    Returns
    -------
    children : PlaneCells
        Its ``rows`` list those of ``cells.points`` first, then those of ``X_new``.
    parent : ndarray of int64, shape (n_children,)
        The cell of ``cells`` that contains each child. A cell that is hardly larger than
        ``SMALLEST_MASS`` may have no child that is large enough to be kept.
    sense : ndarray of int8, shape (n_children,)
        -1 if the child's column of signs has the signs of the old points negated.
    """
    n = len(cells.points)
    children = plane_cells(np.concatenate([cells.points, np.asarray(X_new, float)]))
    # Cells are matched by two sums of random integers over their signs. The sums stay below 2^53
    # and are therefore exact; a false match has a probability of L^2 n^2 2^-106.
    integers = np.random.default_rng(0).integers(1, 2**53 // n, size=(2, n)).astype(float)
    old, old_sense = _sign_keys(cells, integers)
    spread = np.zeros((2, len(children.points)))
    spread[:, children.rows[:n]] = integers
    new, sense = _sign_keys(children, spread)
    order = np.argsort(old)
    place = np.minimum(np.searchsorted(old, new, sorter=order), len(old) - 1)
    parent = order[place]
    # Children of dropped cells are dropped as well.
    known = old[parent] == new
    parent = parent[known]
    return keep_cells(children, known), parent, sense[known] * old_sense[parent]


def _sign_keys(cells, integers):
    """Complex keys of the cells' sign vectors up to sign, and the sign that was divided out."""
    real, imaginary = (signs_transposed_times(cells, row) for row in integers)
    sense = np.where((real < 0) | ((real == 0) & (imaginary < 0)), -1, 1).astype(np.int8)
    return sense * (real + 1j * imaginary), sense

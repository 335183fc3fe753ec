"""Stable, two inputs: the exact cells of a one-hidden-layer sign network and their masses.

Section S.2 of the paper needs a multivariate normal integral for each cell. Here, a hyperplane
sign(b + w1 x1 + w2 x2) with (b, w) iid N(0, 1) is a direction (b, w1, w2) that is uniform on the
sphere. A data point is the great circle of the directions orthogonal to (1, x1, x2). A cell is a
face between such circles, identified with its antipode, and its mass is its area over 2 pi. All n(n
- 1)/2 + 1 cells take O(n^2 log n).

Degenerate points: points that are exactly or nearly collinear (grids) give faces without area,
which are dropped. A cell has a mass of at least 1e-22, and the dropped cells together have less
than n^2 1e-22. Nothing else depends on how close points are to collinear: the faces are consistent
for any input (see :mod:`~skbayesnn.stable.partitions.plane.arrangement`).
"""

from typing import NamedTuple

import numpy as np

from skbayesnn.stable.partitions.plane import products
from skbayesnn.stable.partitions.plane.areas import (
    SMALLEST_MASS,
    polygon_areas,
)
from skbayesnn.stable.partitions.plane.arrangement import (
    CLOSED,
    HIGH,
    LOW,
    OPENED,
    corner_table,
    pairs_by_slope,
    sweep,
)


class Polygons(NamedTuple):
    """The cells as spherical polygons; those of cell k are at ``start[k]:start[k + 1]``.

    Attributes
    ----------
    start : ndarray of int64, shape (n_cells + 1,)
    corners : ndarray of shape (n_corners, 3)
        Unit vectors (b, w1, w2), clockwise as seen from outside the sphere.
    bends : ndarray of shape (n_corners,)
        Signed angle between the circles at the corner, as in
        :mod:`~skbayesnn.stable.partitions.plane.areas`.
    line : ndarray of int32, shape (n_corners,)
        The point on whose circle the edge from this corner to the next lies.
    side : ndarray of int8, shape (n_corners,)
        The sign of that point in the cell.
    """

    start: np.ndarray
    corners: np.ndarray
    bends: np.ndarray
    line: np.ndarray
    side: np.ndarray


class PlaneCells(NamedTuple):
    """The cells that n distinct points of the plane form; made by ``plane_cells``.

    Attributes
    ----------
    points : ndarray of shape (n, 2)
        The distinct points, sorted by the first coordinate, then by the second.
    rows : ndarray of int64, shape (n_rows,)
        For each row given to ``plane_cells``, its index in ``points``.
    masses : ndarray of shape (n_cells,)
        Probability of each cell, for both signs together.
    first : ndarray of int32, shape (n,)
        The cell in which each gap begins, -1 for none; used by the products.
    swaps : ndarray of int32, shape (n * (n - 1) / 2, 5)
        The sweep over the cells, see :func:`~skbayesnn.stable.partitions.plane.arrangement.sweep`;
        used by the products.
    polygons : Polygons
        The shapes of the cells.
    """

    points: np.ndarray
    rows: np.ndarray
    masses: np.ndarray
    first: np.ndarray
    swaps: np.ndarray
    polygons: Polygons


def plane_cells(X):
    """Find the cells, that is, the labellings of the rows of X by hyperplanes, up to sign.

    Parameters
    ----------
    X : array-like of shape (n_rows, 2)
        At least one point, with absolute values up to 1e75. Equal rows are one point.

    Returns
    -------
    cells : PlaneCells
    """
    # Adding zero turns -0.0 into 0.0: ``unique`` may compare bytes.
    points, rows = np.unique(np.asarray(X, float) + 0.0, axis=0, return_inverse=True)
    n = len(points)
    swaps = sweep(n, pairs_by_slope(points))
    start, corner, lift, end, line, side = corner_table(n, swaps)
    directions, angles = _crossings(points, swaps)
    polygons = Polygons(
        start,
        directions[corner] * lift[:, None],
        np.where(end, 1.0, -1.0) * angles[corner],
        line,
        side,
    )
    masses = np.empty(len(start) - 1)
    polygon_areas(start, polygons.corners, polygons.bends, masses)
    masses /= 2 * np.pi
    # The faces that the sweep opens last are those in which it began, which are listed already.
    swaps[swaps[:, OPENED] < n, OPENED] = -1
    first = np.arange(n, dtype=np.int32)
    cells = PlaneCells(points, rows, masses, first, swaps, polygons)
    cells = keep_cells(cells, masses >= SMALLEST_MASS)
    return cells._replace(polygons=_with_midpoints(cells.points, cells.polygons))


def _crossings(points, swaps):
    """Unit vectors at which the circles of two points cross, with w2 >= 0, and their angles."""
    low, high = points[swaps[:, LOW]], points[swaps[:, HIGH]]
    step1, step2 = (high - low).T
    # Relative to the point nearer to the origin, where cancellation is smaller.
    nearer = np.where((low**2).sum(1, keepdims=True) < (high**2).sum(1, keepdims=True), low, high)
    offset = step2 * nearer[:, 0] - step1 * nearer[:, 1]
    directions = np.column_stack([offset, -step2, step1])
    # Scale first, because squares of differences such as 1e-200 would underflow.
    scales = np.abs(directions).max(axis=1, keepdims=True, initial=0.0)
    directions /= scales
    norms = np.linalg.norm(directions, axis=1, keepdims=True)
    angles = np.arctan2((scales * norms)[:, 0], 1.0 + np.einsum("ij,ij->i", low, high))
    return directions / norms, angles


def keep_cells(cells, kept):
    """Drop the cells where ``kept`` is false.

    Parameters
    ----------
    cells : PlaneCells
    kept : ndarray of bool, shape (n_cells,)

    Returns
    -------
    cells : PlaneCells
    """
    number = np.where(kept, np.cumsum(kept, dtype=np.int32) - 1, -1).astype(np.int32)
    number = np.append(number, np.int32(-1))  # for entries that are already -1
    swaps = cells.swaps.copy()
    swaps[:, CLOSED] = number[swaps[:, CLOSED]]
    swaps[:, OPENED] = number[swaps[:, OPENED]]
    start, *corner_arrays = cells.polygons
    sizes = np.diff(start)
    of_kept = np.repeat(kept, sizes)
    start = np.concatenate([[0], np.cumsum(sizes[kept])])
    return cells._replace(
        masses=cells.masses[kept],
        first=number[cells.first],
        swaps=swaps,
        polygons=Polygons(start, *(array[of_kept] for array in corner_arrays)),
    )


def _with_midpoints(points, polygons):
    """Insert a corner without bend on each edge that is longer than a quarter of a circle.

    Then no circle crosses an edge twice, or passes through all corners of a lune.
    """
    start, corners, bends, line, side = polygons
    following = np.arange(1, len(corners) + 1)
    following[start[1:][np.diff(start) > 0] - 1] = start[:-1][np.diff(start) > 0]
    long = np.flatnonzero(np.einsum("ij,ij->i", corners, corners[following]) < 0)
    inward = side[long, None] * np.insert(points[line[long]], 0, 1.0, axis=1)
    midpoints = np.cross(corners[long], inward)  # clockwise walk: the inside is on the right
    midpoints /= np.linalg.norm(midpoints, axis=1, keepdims=True)
    return Polygons(
        start + np.searchsorted(long, start),
        np.insert(corners, long + 1, midpoints, axis=0),
        np.insert(bends, long + 1, 0.0),
        np.insert(line, long + 1, line[long]),
        np.insert(side, long + 1, side[long]),
    )


def signs_times(cells, u):
    """Product T u of the sign matrix and a vector, in O(n^2).

    Parameters
    ----------
    cells : PlaneCells
    u : ndarray of shape (n_cells,)

    Returns
    -------
    product : ndarray of shape (n,)
        In the order of ``cells.points``; ``product[cells.rows]`` is in the order of the rows.
    """
    product = np.empty(len(cells.points))
    products.signs_times(cells.first, cells.swaps, u, product)
    return product


def signs_transposed_times(cells, a):
    """Product T'a of the transposed sign matrix and a vector, in O(n^2).

    Parameters
    ----------
    cells : PlaneCells
    a : ndarray of shape (n,)
        In the order of ``cells.points``.

    Returns
    -------
    product : ndarray of shape (n_cells,)
    """
    product = np.empty(len(cells.masses))
    products.signs_transposed_times(cells.first, cells.swaps, a, product)
    return product


def signs_gram(cells, v):
    """Kernel matrix T diag(v) T', in O(n^2).

    Parameters
    ----------
    cells : PlaneCells
    v : ndarray of shape (n_cells,)
        Variances of the cells' weights.

    Returns
    -------
    gram : ndarray of shape (n, n)
    """
    n = len(cells.points)
    gram = np.empty((n, n))
    products.signs_gram(cells.first, cells.swaps, v, gram)
    return gram


def neighbours(cells):
    """List the pairs of cells whose signs differ, up to a global sign, at exactly one point.

    Parameters
    ----------
    cells : PlaneCells

    Returns
    -------
    pairs : ndarray of int32, shape (n_pairs, 3)
        The two cells and the point; each pair is an edge of the arrangement. A cell is in no pair
        if all cells around it were dropped because of their masses.
    """
    table = np.empty((2 * len(cells.swaps), 3), np.int32)
    count = products.neighbour_pairs(cells.first, cells.swaps, table)
    return table[:count]


def signs(cells):
    """The sign matrix T.

    Parameters
    ----------
    cells : PlaneCells

    Returns
    -------
    signs : ndarray of int8, shape (n, n_cells)
        One of the two sign vectors of each cell.
    """
    T = np.empty((len(cells.points), len(cells.masses)), np.int8)
    products.signs_explicit(cells.first, cells.swaps, T)
    return T

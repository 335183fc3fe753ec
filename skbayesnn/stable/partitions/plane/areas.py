"""Stable, two inputs: areas of spherical polygons, whole or cut by one more great circle.

The masses of the cells in section S.2 of the paper are areas over 2 pi. A polygon is a list of
corners, which are unit vectors in the order of a walk around it. Each corner has a *bend*: the
angle t > 0 between the normals of the two circles that meet there. It is negative if the polygon
lies on the same side of both (its interior angle is then pi - t), and positive if it lies between
them (interior angle t). By Girard's formula, the area is the sum of the bends plus (2 - number of
positive bends) pi. This is exact for every shape, including lunes and half spheres, but has an
absolute error of about 1e-16. Small polygons are therefore divided into triangles (Van Oosterom and
Strackee 1983), which preserves relative accuracy.
"""

import numpy as np

from skbayesnn.numerics.jit import helper, kernel

# Cells with a smaller mass are treated as rounding errors and dropped. Lines that fail to meet in
# one point because of rounding enclose about the square of the error, 1e-32.
SMALLEST_MASS = 1e-22

# Largest distance at which a corner counts as lying on a great circle.
ON_CIRCLE = 8 * np.finfo(float).eps


@helper
def angle_between(x1, x2, z1, z2):
    """Angle between (1, x1, x2) and (1, z1, z2), with a small relative error if tiny."""
    step1, step2 = z1 - x1, z2 - x2
    # x1 z2 - x2 z1, relative to the point nearer to the origin, where cancellation is smaller.
    if x1 * x1 + x2 * x2 < z1 * z1 + z2 * z2:
        twist = step2 * x1 - step1 * x2
    else:
        twist = step2 * z1 - step1 * z2
    cross = np.hypot(np.hypot(step1, step2), twist)  # does not underflow
    return np.arctan2(cross, 1.0 + x1 * z1 + x2 * z2)


@helper
def polygon_area(corners, bends, begin, end):
    """Area of a convex spherical polygon.

    Parameters
    ----------
    corners : ndarray of shape (n, 3)
        Unit vectors, clockwise as seen from outside the sphere.
    bends : ndarray of shape (n,)
        See the module docstring.
    begin, end : int
        The polygon has the corners ``begin`` to ``end - 1``.

    Returns
    -------
    area : float
        Nonnegative; zero if rounding has put the corners in the wrong order.
    """
    small = end - begin > 2
    area = 0.0
    k = begin + 1
    while small and k < end:
        p0, p1, p2 = corners[begin, 0], corners[begin, 1], corners[begin, 2]
        b0, b1, b2 = corners[k, 0], corners[k, 1], corners[k, 2]
        small = p0 * b0 + p1 * b1 + p2 * b2 > 0.5
        if k > begin + 1:
            a0, a1, a2 = corners[k - 1, 0], corners[k - 1, 1], corners[k - 1, 2]
            # Differences first: the determinant of three nearby vectors would suffer cancellation.
            u0, u1, u2 = a0 - p0, a1 - p1, a2 - p2
            v0, v1, v2 = b0 - p0, b1 - p1, b2 - p2
            determinant = (
                p0 * (u2 * v1 - u1 * v2) + p1 * (u0 * v2 - u2 * v0) + p2 * (u1 * v0 - u0 * v1)
            )
            rest = 1.0 + (p0 + b0) * a0 + (p1 + b1) * a1 + (p2 + b2) * a2
            rest += p0 * b0 + p1 * b1 + p2 * b2
            area += 2.0 * np.arctan2(determinant, rest)
        k += 1
    if not small:
        area = 2.0 * np.pi
        for k in range(begin, end):
            area += bends[k]
            if bends[k] > 0.0:
                area -= np.pi
    return max(area, 0.0)


@kernel
def polygon_areas(start, corners, bends, areas):
    """Write the area of each polygon into ``areas``; ``start`` gives its first corner."""
    for k in range(len(areas)):
        areas[k] = polygon_area(corners, bends, start[k], start[k + 1])


@helper
def _part_area(
    begin, end, corners, bends, line, side, points, star, heights, sense, part, part_bends
):
    """Area of the part of a polygon where the point ``star`` has the sign ``sense``.

    ``heights`` are the heights of the corners above the circle of ``star``; ``part`` and
    ``part_bends`` have room for the corners of the part, which are at most two more.
    """
    n_corners = end - begin
    inner = 0  # will be the first corner inside
    while not (
        sense * heights[inner] > ON_CIRCLE and sense * heights[(inner - 1) % n_corners] <= ON_CIRCLE
    ):
        inner += 1
        if inner == n_corners:
            return 0.0
    outer = (inner - 1) % n_corners
    edge = outer
    count = 0
    for cut in range(2):
        # The point where the circle cuts the edge between a corner inside and one outside, or the
        # corner outside if it is on the circle.
        norm = 0.0
        for axis in range(3):
            value = corners[begin + outer, axis]
            if abs(heights[outer]) > ON_CIRCLE:
                value = value * heights[inner] - corners[begin + inner, axis] * heights[outer]
                value *= sense
            part[count, axis] = value
            norm += value * value
        for axis in range(3):
            part[count, axis] /= np.sqrt(norm)
        i = line[begin + edge]
        angle = angle_between(points[i, 0], points[i, 1], star[0], star[1])
        part_bends[count] = -angle if side[begin + edge] == sense else angle
        count += 1
        if cut == 0:  # walk on to the second cut
            outer = inner
            while sense * heights[outer] > ON_CIRCLE:
                for axis in range(3):
                    part[count, axis] = corners[begin + outer, axis]
                part_bends[count] = bends[begin + outer]
                count += 1
                inner = edge = outer
                outer = (outer + 1) % n_corners
    return polygon_area(part, part_bends, 0, count)


@kernel
def positive_shares(start, corners, bends, line, side, points, masses, star, shares):
    """Write the share of each cell's mass for which ``star`` has the sign +1.

    Parameters
    ----------
    start, corners, bends, line, side : ndarrays
        The polygons; see ``skbayesnn.stable.partitions.plane.cells.Polygons``.
    points : ndarray of shape (n, 2)
        The points whose circles bound the polygons.
    masses : ndarray of shape (n_cells,)
        Masses of the cells.
    star : ndarray of shape (2,)
        The new point.
    shares : ndarray of shape (n_cells,)
        Overwritten; exactly 0 or 1 for a cell that the circle of ``star`` does not cross.
    """
    if len(corners) == 0:  # a single point: its circle has no corners
        shares[0] = angle_between(points[0, 0], points[0, 1], star[0], star[1]) / np.pi
        return
    norm = np.sqrt(1.0 + star[0] ** 2 + star[1] ** 2)
    normal0, normal1, normal2 = 1.0 / norm, star[0] / norm, star[1] / norm
    largest = 0
    for k in range(len(masses)):
        largest = max(largest, start[k + 1] - start[k])
    heights, part = np.empty(largest), np.empty((largest + 2, 3))
    part_bends = np.empty(largest + 2)
    for k in range(len(masses)):
        begin, end = start[k], start[k + 1]
        inside = outside = False
        for c in range(begin, end):
            height = normal0 * corners[c, 0] + normal1 * corners[c, 1] + normal2 * corners[c, 2]
            heights[c - begin] = height
            inside |= height > ON_CIRCLE
            outside |= height < -ON_CIRCLE
        shares[k] = 1.0 if inside else 0.0
        if not inside and not outside:
            # All corners are on the circle: the cell is a sliver, or a half sphere on one side of
            # its edges.
            cosine = 0.0
            for c in range(begin, end):
                if bends[c] == 0.0:
                    i = line[c]
                    cosine += side[c] * (1.0 + points[i, 0] * star[0] + points[i, 1] * star[1])
            shares[k] = 1.0 if cosine > 0.0 else 0.0
        elif inside and outside:
            area = np.zeros(2)
            for below in range(2):
                area[below] = _part_area(
                    begin, end, corners, bends, line, side, points, star,
                    heights, 1.0 - 2.0 * below, part, part_bends,
                )  # fmt: skip
            share = area[0] / (area[0] + area[1])
            if masses[k] * share < SMALLEST_MASS:
                share = 0.0
            elif masses[k] * (1.0 - share) < SMALLEST_MASS:
                share = 1.0
            shares[k] = share

"""Stable, two inputs: areas of spherical polygons, whole or cut by one more great circle.

The masses of the cells in the paper's section S.2, as areas over 2 pi. A polygon is a
list of corners, unit vectors in the order of a walk around it, each with its *bend*: the
angle t > 0 between the normals of the two circles that meet there, negative where the
polygon lies on the same side of both (its interior angle is then pi - t) and positive
where it lies between them (interior angle t). By Girard's formula the area is the sum of
the bends plus (2 - number of positive bends) pi. That is exact for every shape, lunes and
half spheres too, but has an absolute error of about 1e-16; small polygons are summed up
of triangles instead (Van Oosterom and Strackee 1983), which keeps a relative accuracy.
"""

import numpy as np

from skbayesnn.numerics.jit import kernel

# Cells with a smaller mass are taken for the traces of rounding, and for no cells. Lines
# which rounding keeps from meeting in one point enclose about its square, 1e-32.
SMALLEST_MASS = 1e-22

# A corner is on a great circle where its unit vector is no farther from it.
ON_CIRCLE = 8 * np.finfo(float).eps


@kernel
def angle_between(x1, x2, z1, z2):
    """Angle between (1, x1, x2) and (1, z1, z2), with a small relative error if tiny."""
    step1, step2 = z1 - x1, z2 - x2
    # x1 z2 - x2 z1, from the point nearer to the origin, where less cancels.
    if x1 * x1 + x2 * x2 < z1 * z1 + z2 * z2:
        twist = step2 * x1 - step1 * x2
    else:
        twist = step2 * z1 - step1 * z2
    cross = np.sqrt(step1 * step1 + step2 * step2 + twist * twist)
    return np.arctan2(cross, 1.0 + x1 * z1 + x2 * z2)


@kernel
def polygon_area(corners, bends):
    """Area of a convex spherical polygon.

    Parameters
    ----------
    corners : ndarray of shape (n_corners, 3)
        Unit vectors, clockwise as seen from outside the sphere.
    bends : ndarray of shape (n_corners,)
        See the head of this file.

    Returns
    -------
    area : float
        Not negative, and zero for corners that rounding has put in a wrong order.
    """
    n_corners = len(corners)
    small = n_corners > 2
    area = 0.0
    k = 1
    while small and k < n_corners:
        p0, p1, p2 = corners[0, 0], corners[0, 1], corners[0, 2]
        b0, b1, b2 = corners[k, 0], corners[k, 1], corners[k, 2]
        small = p0 * b0 + p1 * b1 + p2 * b2 > 0.5
        if k > 1:
            a0, a1, a2 = corners[k - 1, 0], corners[k - 1, 1], corners[k - 1, 2]
            # Differences first: the determinant of three near vectors would cancel.
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
        for k in range(n_corners):
            area += bends[k]
            if bends[k] > 0.0:
                area -= np.pi
    return max(area, 0.0)


@kernel
def polygon_areas(start, corners, bends, areas):
    """Write the area of each polygon, ``start`` giving its first corner, into ``areas``."""
    for k in range(len(areas)):
        here = slice(start[k], start[k + 1])
        areas[k] = polygon_area(corners[here], bends[here])


@kernel
def _part_area(corners, bends, line, side, heights, points, star, positive, buffer):
    """Area of the part of a polygon on one side of the circle of the point ``star``.

    ``buffer``, of shape (n_corners + 2, 4), is for the corners of the part and its bends.
    """
    n_corners = len(heights)
    sense = 1.0 if positive else -1.0
    first = 0
    while not (
        sense * heights[first] > ON_CIRCLE and sense * heights[first - 1] <= ON_CIRCLE
    ):
        first += 1
        if first == n_corners:
            return 0.0
    count = 1
    last = first
    while sense * heights[last] > ON_CIRCLE and count <= n_corners:
        buffer[count, :3] = corners[last]
        buffer[count, 3] = bends[last]
        count += 1
        last = (last + 1) % n_corners
    # The cut corners: on the edge into the first of these corners, and on that out of the
    # last. An edge with an end on the circle is cut at that end.
    for into in (True, False):
        outer = first - 1 if into else last
        inner = first if into else last - 1
        edge = outer if into else inner
        slot = 0 if into else count
        norm = 0.0
        for axis in range(3):
            value = corners[outer, axis]
            if abs(heights[outer]) > ON_CIRCLE:
                value = sense * (
                    value * heights[inner] - corners[inner, axis] * heights[outer]
                )
            buffer[slot, axis] = value
            norm += value * value
        for axis in range(3):
            buffer[slot, axis] /= np.sqrt(norm)
        i = line[edge]
        angle = angle_between(points[i, 0], points[i, 1], star[0], star[1])
        buffer[slot, 3] = -angle if side[edge] == sense else angle
    return polygon_area(buffer[: count + 1, :3], buffer[: count + 1, 3])


@kernel
def positive_shares(start, corners, bends, line, side, masses, points, star, shares):
    """Write the share of each cell's mass in which ``star`` has the sign +1.

    Parameters
    ----------
    start, corners, bends, line, side : ndarrays
        The polygons, see ``skbayesnn.stable.plane.Polygons``.
    masses : ndarray of shape (n_cells,)
        Their masses.
    points : ndarray of shape (n, 2)
        The points whose circles they lie between.
    star : ndarray of shape (2,)
        The new point.
    shares : ndarray of shape (n_cells,)
        The result: 0 or 1 exactly for a cell that the circle of ``star`` does not cross.
    """
    if len(corners) == 0:  # one point: its circle has no corners
        shares[0] = angle_between(points[0, 0], points[0, 1], star[0], star[1]) / np.pi
        return
    norm = np.sqrt(1.0 + star[0] ** 2 + star[1] ** 2)
    normal0, normal1, normal2 = 1.0 / norm, star[0] / norm, star[1] / norm
    largest = 0
    for k in range(len(masses)):
        largest = max(largest, start[k + 1] - start[k])
    heights = np.empty(largest)
    buffer = np.empty((largest + 2, 4))
    for k in range(len(masses)):
        any_positive = any_negative = False
        for c in range(start[k], start[k + 1]):
            height = normal0 * corners[c, 0] + normal1 * corners[c, 1] + normal2 * corners[c, 2]
            heights[c - start[k]] = height
            any_positive |= height > ON_CIRCLE
            any_negative |= height < -ON_CIRCLE
        shares[k] = 1.0 if any_positive else 0.0
        if not any_positive and not any_negative:
            # As thin as rounding, or else a half sphere, on the side of its long edges.
            cosine = 0.0
            for c in range(start[k], start[k + 1]):
                if bends[c] == 0.0:
                    i = line[c]
                    cosine += side[c] * (1.0 + points[i, 0] * star[0] + points[i, 1] * star[1])
            shares[k] = 1.0 if cosine > 0.0 else 0.0
        elif any_positive and any_negative:
            here = slice(start[k], start[k + 1])
            polygon = (corners[here], bends[here], line[here], side[here])
            local = heights[: start[k + 1] - start[k]]
            above = _part_area(*polygon, local, points, star, True, buffer)
            below = _part_area(*polygon, local, points, star, False, buffer)
            share = above / (above + below)
            if masses[k] * share < SMALLEST_MASS:
                share = 0.0
            elif masses[k] * (1.0 - share) < SMALLEST_MASS:
                share = 1.0
            shares[k] = share

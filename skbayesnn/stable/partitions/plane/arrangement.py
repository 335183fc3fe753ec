"""Stable, two inputs: the arrangement that the data points cut into the hyperplanes.

A hidden unit sign(b + w1 x1 + w2 x2) with w2 = 1 is a point (s, c) = (-w1, -b) of a plane,
and a data point (x1, x2) is the line c = x2 - s x1 in it: units below the line answer +1,
those above it -1. The cells of the paper's section S.2 are the faces between these lines,
units with w2 = -1 being the same faces with both signs changed. So the plane is the
projective one: what leaves it at s = +infinity comes back, negated, at s = -infinity.

The faces are found by sweeping s from left to right. The lines start in the order of x1,
and each pair of them swaps places once, where their slopes say so. Only swaps of lines
that lie next to each other are ever made, so the result is the arrangement of some curves
which pairwise cross once, whatever rounding does to the slopes: no case is special. Several
lines through one point swap pair by pair, which makes faces without area, and
``cells`` drops them. The sweep has each cell in turn, with one sign
changed against the cell above: the products with the sign matrix only follow the sweep.
"""

import numpy as np

from skbayesnn.numerics.jit import kernel

# Columns of the table of swaps.
GAP, LOW, HIGH, CLOSED, OPENED = range(5)


def pairs_by_slope(points):
    """List the pairs of points by the slope of the line through them.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Distinct points, sorted by their first coordinate, then by their second.

    Returns
    -------
    codes : ndarray of int64, shape (n * (n - 1) / 2,)
        ``i * n + j`` for each pair i < j. Equal slopes stay in the order of (i, j), in
        which collinear points can swap without another pair being in the way.
    """
    n = len(points)
    low, high = np.triu_indices(n, 1)
    step = points[high] - points[low]
    with np.errstate(divide="ignore", over="ignore"):
        slope = step[:, 1] / step[:, 0]  # points one above the other: +infinity, the last
    order = np.argsort(slope, kind="stable")
    return low[order] * np.int64(n) + high[order]


def sweep(n, codes):
    """Swap all pairs of lines, neighbours only, as nearly as possible in the given order.

    Parameters
    ----------
    n : int
        Number of lines.
    codes : ndarray of int64
        The pairs, from ``pairs_by_slope``.

    Returns
    -------
    swaps : ndarray of int32, shape (len(codes), 5)
        For each swap in turn: the gap that is pinched (gap g lies under the g-th line from
        below, counted from zero), the line that was below and rises, the line that was
        above and sinks, and the faces that it closes and opens in that gap. The last swap
        in gap g opens the face in which the sweep began at gap n - g.
    """
    # numpy makes the arrays: each kind of them would take numba a tenth of a second to compile.
    rank = np.empty(n * n, np.int64)
    rank[codes] = np.arange(codes.size)
    swaps = np.empty((codes.size, 5), np.int32)
    last, stack = np.zeros(n + 1, np.int64), np.empty(2 * codes.size + 1, np.int64)
    _sweep(codes, rank, np.arange(n), np.arange(n), last, stack, np.arange(n + 1), swaps)
    return swaps


@kernel
def _sweep(codes, rank, line_at, place_of, last, stack, face, swaps):
    """What :func:`sweep` does in its arrays."""
    n, n_pairs = line_at.shape[0], codes.shape[0]
    t = 0
    for e in range(n_pairs):
        stack[0] = codes[e]
        top = 1
        while top > 0:
            top -= 1
            low = stack[top] // n
            high = stack[top] % n
            gap = place_of[high]
            # Not neighbours: rounding has put this pair too early. It comes back to the
            # stack as soon as they are.
            if gap - place_of[low] != 1:
                continue
            line_at[gap - 1], line_at[gap] = high, low
            place_of[high], place_of[low] = gap - 1, gap
            swaps[t, GAP], swaps[t, LOW], swaps[t, HIGH] = gap, low, high
            last[gap] = t
            t += 1
            for beside in (gap - 1, gap + 1):
                if 0 < beside < n:
                    below, above = line_at[beside - 1], line_at[beside]
                    if below < above and rank[below * n + above] < e:
                        stack[top] = below * n + above
                        top += 1
    n_faces = n
    for t in range(n_pairs):
        gap = swaps[t, GAP]
        swaps[t, CLOSED] = face[gap]
        if t == last[gap]:
            face[gap] = n - gap
        else:
            face[gap] = n_faces
            n_faces += 1
        swaps[t, OPENED] = face[gap]


def corner_table(n, swaps):
    """List the corners of every face in cyclic order.

    A face is walked along its lower boundary to the right and back along its upper one.
    A face that passes through infinity is walked as it is on the right side; on the left
    side it is then the negated face, whose upper and lower boundaries change roles. The
    face under and over all lines is of that kind, and has neither first nor last corner.

    Parameters
    ----------
    n : int
        Number of lines.
    swaps : ndarray of int32, shape (n_swaps, 5)
        From ``sweep``.

    Returns
    -------
    start : ndarray of int64, shape (n_faces + 1,)
        Face k has the corners ``start[k]`` to ``start[k + 1] - 1``.
    corner : ndarray of int32, shape (n_corners,)
        The swap that is the corner.
    lift : ndarray of int8, shape (n_corners,)
        -1 where the corner is to be negated.
    end : ndarray of bool, shape (n_corners,)
        Whether it is the first or the last corner of its face, where it pinches.
    line : ndarray of int32, shape (n_corners,)
        The line of the edge from this corner to the next.
    side : ndarray of int8, shape (n_corners,)
        The sign of that line's point on the face: -1 on the lower boundary.
    """
    n_swaps = len(swaps)
    n_faces = n_swaps + 1
    start, front, back = (np.zeros(n_faces + k, np.int64) for k in (1, 0, 0))
    corner = np.empty(4 * n_swaps, np.int32)
    lift = np.empty(4 * n_swaps, np.int8)
    end = np.empty(4 * n_swaps, np.bool_)
    line = np.empty(4 * n_swaps, np.int32)
    side = np.empty(4 * n_swaps, np.int8)
    face, begun = np.empty(n + 1, np.int64), np.empty(n + 1, np.bool_)
    _list_corners(swaps, start, front, back, face, begun, corner, lift, end, line, side)
    return start, corner, lift, end, line, side


@kernel
def _list_corners(swaps, start, front, back, face, begun, corner, lift, end, line, side):
    """What :func:`corner_table` does in its arrays."""
    n, n_swaps, n_faces = face.shape[0] - 1, swaps.shape[0], front.shape[0]
    # Round 0 counts the corners, round 1 places those that are not negated, round 2 the
    # others, which come after them on a walk to the right.
    for placing in range(3):
        for gap in range(n + 1):
            face[gap] = gap % n
            begun[gap] = gap == n
        if placing == 1:
            for k in range(n_faces):
                start[k + 1] += start[k]
                front[k] = start[k]
                back[k] = start[k + 1] - 1
        for t in range(n_swaps):
            gap, low, high = swaps[t, GAP], swaps[t, LOW], swaps[t, HIGH]
            for where in range(4):  # below, above, closed, opened
                at = gap + (where == 1) - (where == 0)
                if where == 3:
                    face[gap] = swaps[t, OPENED]
                    begun[gap] = True
                k = face[at]
                if placing == 0:
                    start[k + 1] += 1
                    continue
                if begun[at] != (placing == 1):
                    continue
                upper = (where == 0) == begun[at] and where < 2
                if upper:
                    slot = back[k]
                    back[k] -= 1
                else:
                    slot = front[k]
                    front[k] += 1
                corner[slot] = t
                lift[slot] = 1 if begun[at] else -1
                end[slot] = where >= 2
                line[slot] = low if (where < 2) == begun[at] else high
                side[slot] = 1 if upper or where == 2 else -1

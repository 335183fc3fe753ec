"""Stable, two inputs: the arrangement of lines that the data points form among hyperplanes.

A hidden unit sign(b + w1 x1 + w2 x2) with w2 = 1 is a point (s, c) = (-w1, -b) of a plane. A data
point (x1, x2) is the line c = x2 - s x1 in this plane: units below the line output +1, and those
above it -1. The cells of section S.2 of the paper are the faces between these lines. Units with w2
= -1 give the same faces with both signs reversed. The plane is therefore projective: what leaves it
at s = +infinity returns, negated, at s = -infinity.

The faces are found by sweeping s from left to right. The lines start in the order of x1, and each
pair swaps places once, in the order of the slopes. Only adjacent lines are ever swapped. Whatever
rounding does to the slopes, the result is therefore the arrangement of some curves that cross
pairwise once, so there are no special cases. Several lines through one point swap pair by pair,
which makes faces of zero area; ``cells`` drops them. The sweep visits the cells in turn, and each
differs in one sign from the cell above, so products with the sign matrix follow the sweep.
"""

import numpy as np

from skbayesnn.numerics.jit import kernel

# Columns of the table of swaps.
GAP, LOW, HIGH, CLOSED, OPENED = range(5)


def pairs_by_slope(points):
    """List the pairs of points in the order of the slope of the line through them.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Distinct points, sorted by their first coordinate, then by their second.

    Returns
    -------
    codes : ndarray of int64, shape (n * (n - 1) / 2,)
        ``i * n + j`` for each pair i < j. Pairs with equal slopes stay in the order of (i, j), in
        which collinear points can swap without another pair in between.
    """
    n = len(points)
    low, high = np.triu_indices(n, 1)
    step = points[high] - points[low]
    with np.errstate(divide="ignore", over="ignore"):
        slope = step[:, 1] / step[:, 0]  # vertical pairs: +infinity, the last
    order = np.argsort(slope, kind="stable")
    return low[order] * np.int64(n) + high[order]


def sweep(n, codes):
    """Swap all pairs of lines, adjacent ones only, as nearly as possible in the given order.

    Parameters
    ----------
    n : int
        Number of lines.
    codes : ndarray of int64
        The pairs, from ``pairs_by_slope``.

    Returns
    -------
    swaps : ndarray of int32, shape (len(codes), 5)
        For each swap in turn: the gap that is pinched (gap g lies under the g-th line from below,
        counted from zero), the line that was below and rises, the line that was above and sinks,
        and the faces that the swap closes and opens in that gap. The last swap in gap g opens the
        face in which the sweep began at gap n - g.
    """
    # numpy creates the arrays: numba would need a tenth of a second to compile each kind.
    rank = np.empty(n * n, np.int64)
    rank[codes] = np.arange(codes.size)
    swaps = np.empty((codes.size, 5), np.int32)
    last, stack = np.zeros(n + 1, np.int64), np.empty(2 * codes.size + 1, np.int64)
    _sweep(codes, rank, np.arange(n), np.arange(n), last, stack, np.arange(n + 1), swaps)
    return swaps


@kernel
def _sweep(codes, rank, line_at, place_of, last, stack, face, swaps):
    """Implements :func:`sweep` with given arrays."""
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
            # Not adjacent: rounding has put this pair too early. It returns to the stack when they
            # are.
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
    """List the corners of each face in cyclic order.

    The walk around a face follows its lower boundary to the right and its upper boundary back. A
    face that passes through infinity is walked as it is on the right side; on the left side, it is
    the negated face, whose upper and lower boundaries swap roles. The face below and above all
    lines is of this kind, and has neither a first nor a last corner.

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
        The swap at this corner.
    lift : ndarray of int8, shape (n_corners,)
        -1 if the corner is negated.
    end : ndarray of bool, shape (n_corners,)
        Whether it is the first or last corner of its face, where the face is pinched.
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
    """Implements :func:`corner_table` with given arrays."""
    n, n_swaps, n_faces = face.shape[0] - 1, swaps.shape[0], front.shape[0]
    # Round 0 counts the corners, round 1 places those that are not negated, and round 2 places the
    # others, which follow them on a walk to the right.
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

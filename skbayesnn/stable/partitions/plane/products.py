"""Stable, two inputs: products with the sign matrix T, computed along the sweep.

The swap of two lines in gap g replaces one of the lines below that gap by another. A running sum
over the lines below each gap therefore costs O(1) per swap, and T'a, Tu and even T diag(v) T' cost
as much as there are swaps, n(n - 1)/2. T itself is never stored.

The signs of a cell are those in the gap where the sweep opens it: -1 for the lines below, and +1
for those above. A cell in which the sweep begins has the opposite signs, because it is the other
end of a face that the sweep opens last.
"""

import numpy as np

from skbayesnn.numerics.jit import kernel
from skbayesnn.stable.partitions.plane.arrangement import CLOSED, GAP, HIGH, LOW, OPENED


@kernel
def signs_transposed_times(first, swaps, a, product):
    """Write T'a, of shape (n_cells,), into ``product``."""
    n = first.size
    below = np.zeros(n + 1)  # sum of a over the lines below each gap
    for gap in range(1, n + 1):
        below[gap] = below[gap - 1] + a[gap - 1]
    total = below[n]
    for gap in range(n):
        if first[gap] >= 0:
            product[first[gap]] = 2.0 * below[gap] - total
    for t in range(len(swaps)):
        gap = swaps[t, GAP]
        below[gap] += a[swaps[t, HIGH]] - a[swaps[t, LOW]]
        if swaps[t, OPENED] >= 0:
            product[swaps[t, OPENED]] = total - 2.0 * below[gap]


@kernel
def signs_times(first, swaps, u, product):
    """Write Tu, of shape (n,), into ``product``: the adjoint of T'a, computed backwards."""
    n = first.size
    below = np.zeros(n + 1)
    product[:] = 0.0
    total = 0.0
    for t in range(len(swaps) - 1, -1, -1):
        gap = swaps[t, GAP]
        if swaps[t, OPENED] >= 0:
            below[gap] -= 2.0 * u[swaps[t, OPENED]]
            total += u[swaps[t, OPENED]]
        product[swaps[t, HIGH]] += below[gap]
        product[swaps[t, LOW]] -= below[gap]
    for gap in range(n):
        if first[gap] >= 0:
            below[gap] += 2.0 * u[first[gap]]
            total -= u[first[gap]]
    running = total
    for gap in range(n, 0, -1):
        running += below[gap]
        product[gap - 1] += running


@kernel
def signs_gram(first, swaps, v, gram):
    """Write T diag(v) T', of shape (n, n), into ``gram``.

    An entry is the sum of v minus twice its sum over the cells between the two lines. Let C_i be
    the sum over the cells under line i that have been closed so far; the algorithm stores the
    differences of C between neighbouring lines. When lines i and j swap, C_j - C_i is the sum over
    the cells between them to the left. The sum to the right follows from C_j - C_i at the end of
    the sweep.
    """
    n = first.size
    total = 0.0
    for k in range(v.size):
        total += v[k]
    step = np.zeros(n + 2)  # step[g]: C of the line over gap g minus C of the line under it
    for t in range(len(swaps)):
        gap = swaps[t, GAP]
        if swaps[t, CLOSED] >= 0:
            step[gap] += v[swaps[t, CLOSED]]
        left = step[gap]
        gram[swaps[t, LOW], swaps[t, HIGH]] = left
        step[gap - 1] += left
        step[gap] = -left
        step[gap + 1] += left
    under = np.zeros(n)
    for gap in range(1, n):
        under[n - 1 - gap] = under[n - gap] + step[gap]
    for i in range(n):
        gram[i, i] = total
        for j in range(i + 1, n):
            between = 2.0 * gram[i, j] + under[i] - under[j]
            gram[i, j] = total - 2.0 * between
            gram[j, i] = gram[i, j]


@kernel
def signs_explicit(first, swaps, signs):
    """Write T, of shape (n, n_cells), into ``signs``."""
    n = first.size
    place = np.zeros(n, np.int64)
    for i in range(n):
        place[i] = i
    for gap in range(n):
        if first[gap] >= 0:
            for i in range(n):
                signs[i, first[gap]] = 1 if i < gap else -1
    for t in range(len(swaps)):
        gap = swaps[t, GAP]
        place[swaps[t, LOW]], place[swaps[t, HIGH]] = gap, gap - 1
        if swaps[t, OPENED] >= 0:
            for i in range(n):
                signs[i, swaps[t, OPENED]] = 1 if place[i] >= gap else -1


@kernel
def neighbour_pairs(first, swaps, pairs):
    """Write the two cells at each edge, and its line; return the number of edges."""
    n = first.size
    last, cell = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    for gap in range(n + 1):
        cell[gap] = first[gap % n]
    for t in range(len(swaps)):
        last[swaps[t, GAP]] = t
    count = 0
    for t in range(len(swaps)):
        gap = swaps[t, GAP]
        cell[gap] = first[n - gap] if last[gap] == t else swaps[t, OPENED]
        # Each edge begins at one swap, and two edges begin at this one.
        for edge in range(2):
            lower, upper = cell[gap - 1 + edge], cell[gap + edge]
            if lower >= 0 and upper >= 0:
                pairs[count, 0], pairs[count, 1] = lower, upper
                pairs[count, 2] = swaps[t, LOW] if edge else swaps[t, HIGH]
                count += 1
    return count

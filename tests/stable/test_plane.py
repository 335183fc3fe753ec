"""The exact cells of sign networks with two inputs, against closed forms and brute force."""

from fractions import Fraction

import numpy as np
import pytest

from skbayesnn.stable.partitions.plane import cells as plane
from skbayesnn.stable.partitions.plane.arrangement import HIGH, LOW, OPENED, corner_table, sweep
from skbayesnn.stable.partitions.plane.split import locate, refine


def square(ends, n):
    """A square grid of n x n points."""
    side = np.linspace(*ends, n)
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def line(n, origin, step):
    """Points on a line, as collinear as rounding leaves them."""
    return np.array(origin) + np.linspace(-1, 1.3, n)[:, None] * np.array(step)


def normals(points):
    """The rows (1, x1, x2)."""
    return np.insert(np.asarray(points, float), 0, 1.0, axis=1)


def arcsine_kernel(points, others):
    """1 - 2 angle / pi, the kernel of the network with independent weights.

    The angle is that between (1, x) and (1, x'); its sine is a norm of 2 x 2 determinants,
    which are taken exactly, in rational arithmetic, where doubles would cancel.
    """
    kernel = np.empty((len(points), len(others)))
    for i, p in enumerate(points):
        p1, p2 = map(Fraction, map(float, p))
        for j, q in enumerate(others):
            q1, q2 = map(Fraction, map(float, q))
            cross = np.linalg.norm([float(q1 - p1), float(q2 - p2), float(p1 * q2 - p2 * q1)])
            kernel[i, j] = 1 - 2 / np.pi * np.arctan2(cross, float(1 + p1 * q1 + p2 * q2))
    return kernel


TRAINING_GRID, TEST_GRID = square((-2, 2), 7), square((-2, 2), 9)
SCATTERED = np.random.default_rng(0).normal(size=(15, 2))
NEAR = np.concatenate([SCATTERED[:8], np.nextafter(SCATTERED[:8], 9), SCATTERED[:8] + 1e-12])
POINTS = {
    "one": [[0.3, -0.7]],
    "two": [[0.3, -0.7], [0.3, 1.2]],
    "three": [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
    "underflow": [[0.0, 0.0], [1e-200, 0.0], [0.0, 3e-320], [1.0, 1.0], [1e-200, 1.0]],
    "huge": TRAINING_GRID * 1e75,
    "opposite": [[1e9, 2e9], [-1e9, -2e9], [1.0, 0.0]],
    "scattered": SCATTERED,
    "grid": TRAINING_GRID,
    "grid, rounding": square((-0.3, 0.7), 5) @ [[0.1, 0.7], [-1 / 3, 0.3]] + 0.1,
    "grid, noise": square((-1, 1), 5) + 1e-15 * np.random.default_rng(1).normal(size=(25, 2)),
    "grid, large": TRAINING_GRID * 1e8,
    "grid, small": TRAINING_GRID * 1e-8,
    "grid, stretched": TRAINING_GRID * [1e8, 1e-8],
    "grid, shifted": TRAINING_GRID + 1e6,
    "line, through the origin": line(12, (0, 0), (1, 0)),
    "line, vertical": line(12, (0, 0), (0, 1)),
    "line, oblique": line(12, (0.1, 0.2), (0.3, 1 / 3)),
    "line, and one point": np.concatenate([line(12, (0.1, 0.2), (0.3, 1 / 3)), [[0.5, -1.0]]]),
    "duplicates": np.repeat(SCATTERED, 3, axis=0)[::-1],
    "near": NEAR,
    "all scales": SCATTERED * 10.0 ** np.random.default_rng(2).uniform(-10, 10, size=(15, 2)),
}


@pytest.fixture(params=POINTS)
def points(request):
    """Points in general position, and in all kinds of special ones."""
    return np.array(POINTS[request.param], dtype=float)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 11, 40])
def test_number_of_cells_in_general_position(n):
    cells = plane.plane_cells(np.random.default_rng(n).normal(size=(n, 2)))
    assert len(cells.masses) == n * (n - 1) // 2 + 1
    assert len(plane.neighbours(cells)) == n * (n - 1)


def test_number_of_cells_of_the_papers_grids():
    assert len(plane.plane_cells(TRAINING_GRID).masses) == 749
    both = np.concatenate([TRAINING_GRID, TEST_GRID])
    assert len(plane.plane_cells(both).masses) == 4849


def test_masses_are_a_distribution_and_give_the_arcsine_kernel(points):
    cells = plane.plane_cells(points)
    assert abs(cells.masses.sum() - 1) < 1e-12
    assert cells.masses.min() > 0
    np.testing.assert_array_equal(cells.points[cells.rows], points)
    gram = plane.signs_gram(cells, cells.masses)
    np.testing.assert_allclose(gram, arcsine_kernel(cells.points, cells.points), atol=1e-12)


def test_cells_are_distinct_and_their_corners_satisfy_their_signs(points):
    cells = plane.plane_cells(points)
    T = plane.signs(cells)
    assert len(np.unique((T * T[0]).T, axis=0)) == len(cells.masses)
    unit = normals(cells.points)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    of_corner = np.repeat(np.arange(len(cells.masses)), np.diff(cells.polygons.start))
    heights = (unit @ cells.polygons.corners.T) * T[:, of_corner]
    assert heights.min(initial=0) > -1e-14
    on_edge = heights[cells.polygons.line, np.arange(len(of_corner))]
    assert np.abs(on_edge).max(initial=0) < 1e-14
    np.testing.assert_array_equal(T[cells.polygons.line, of_corner], cells.polygons.side)


def test_products_equal_those_with_the_explicit_matrix(points):
    cells = plane.plane_cells(points)
    T = plane.signs(cells).astype(float)
    rng = np.random.default_rng(0)
    u, a, v = (
        rng.normal(size=T.shape[1]),
        rng.normal(size=T.shape[0]),
        rng.gamma(0.5, size=T.shape[1]),
    )
    np.testing.assert_allclose(plane.signs_times(cells, u), T @ u, atol=1e-11)
    np.testing.assert_allclose(plane.signs_transposed_times(cells, a), T.T @ a, atol=1e-11)
    np.testing.assert_allclose(plane.signs_gram(cells, v), (T * v) @ T.T, atol=1e-10)


@pytest.mark.parametrize("name", ["scattered", "grid", "line, oblique", "line, and one point"])
def test_frequencies_of_sampled_sign_patterns(name):
    points = np.array(POINTS[name])
    cells = plane.plane_cells(points)
    rng = np.random.default_rng(0)
    integers = rng.integers(1, 2**45, size=len(cells.points)).astype(float)  # exact sums
    keys = np.abs(plane.signs_transposed_times(cells, integers))
    n_samples, counts = 400_000, np.zeros(len(keys))
    order = np.argsort(keys)
    for _ in range(4):
        hyperplanes = rng.normal(size=(n_samples // 4, 3))
        sampled = np.abs(np.sign(hyperplanes @ normals(cells.points).T) @ integers)
        place = np.searchsorted(keys, sampled, sorter=order)
        np.testing.assert_array_equal(keys[order[place]], sampled)  # no pattern is missing
        counts += np.bincount(order[place], minlength=len(keys))
    expected = n_samples * cells.masses
    error = np.sqrt(expected * (1 - cells.masses))
    # The 2 is for the skewness of counts of cells that are hardly ever hit.
    assert np.all(np.abs(counts - expected) < 4 * error + 2)


@pytest.mark.parametrize("step", [(1, 0), (0, 1), (0.3, -1 / 3)])
@pytest.mark.parametrize("n", [1, 2, 3, 17])
def test_collinear_points_make_lunes(n, step):
    points = line(n, (0.4, 0.1), step)
    kernel = arcsine_kernel(points, points)
    inner = (1 - np.diagonal(kernel, 1)) / 2  # angles between neighbours, over pi
    masses = np.append(inner, 1 - inner.sum())
    np.testing.assert_allclose(
        np.sort(plane.plane_cells(points).masses), np.sort(masses), rtol=1e-12
    )


@pytest.mark.parametrize("size", [1e-3, 1e-5, 1e-7])
def test_a_tiny_cell_keeps_its_relative_accuracy(size):
    # The lines c = s, c = -s and c = size enclose a triangle of the area size^2.
    cells = plane.plane_cells([[-1.0, 0.0], [1.0, 0.0], [0.0, size]])
    np.testing.assert_allclose(cells.masses.min(), size**2 / (2 * np.pi), rtol=2 * size)


def test_sweep_is_an_arrangement_whatever_the_order_of_the_pairs():
    n = 12
    low, high = np.triu_indices(n, 1)
    codes = low * np.int64(n) + high
    for seed in range(5):
        swaps = sweep(n, np.random.default_rng(seed).permutation(codes))
        np.testing.assert_array_equal(np.sort(swaps[:, LOW] * n + swaps[:, HIGH]), codes)
        assert len(np.unique(swaps[:, OPENED])) == len(codes)
        start, *_, end, _, _ = corner_table(n, swaps)
        assert start[-1] == 4 * len(codes)
        assert np.diff(start).min() >= 3
        ends = np.add.reduceat(end.astype(int), start[:-1])
        assert sorted(ends) == [0] + [2] * len(codes)


def test_neighbours_differ_in_one_point(points):
    cells = plane.plane_cells(points)
    T = plane.signs(cells).astype(int)
    pairs = plane.neighbours(cells)
    n = len(T)
    alone = np.setdiff1d(np.arange(len(cells.masses)), pairs[:, :2])
    # At extreme scales, all the neighbours of a cell can be too thin to be kept.
    assert len(alone) == 0 or n == 1 or np.abs(points).max() > 1e6
    for one, other, point in pairs:
        change = T[:, one] * T[:, other]
        assert np.all(np.delete(change, point) == -change[point])


def new_points(points):
    """Points in general position, and on the lines through given ones."""
    rng = np.random.default_rng(3)
    a, b = points[rng.integers(len(points), size=(2, 4))]
    scale = np.abs(points).max()
    return np.concatenate([points[:2], (a + b) / 2, 2 * a - b, scale * rng.normal(size=(3, 2))])


def shares_of(location, j):
    """Share of each cell where new point j has the sign +1."""
    shares = (location.signs[j] == 1).astype(float)
    here = slice(location.start[j], location.start[j + 1])
    assert np.all(location.signs[j, location.crossed[here]] == 0)
    shares[location.crossed[here]] = location.share[here]
    return shares


def test_location_gives_the_kernel_at_new_points(points):
    cells = plane.plane_cells(points)
    new = new_points(points)
    location = locate(cells, new)
    assert np.all((location.share > 0) & (location.share < 1))
    assert np.diff(location.start).max() <= len(cells.points)
    assert np.count_nonzero(location.signs == 0) == len(location.crossed)
    T = plane.signs(cells)
    kernel = [(T * cells.masses) @ (2 * shares_of(location, j) - 1) for j in range(len(new))]
    np.testing.assert_allclose(kernel, arcsine_kernel(new, cells.points), atol=1e-12)


def test_old_points_split_nothing(points):
    cells = plane.plane_cells(points)
    location = locate(cells, points)
    np.testing.assert_array_equal(location.signs, plane.signs(cells)[cells.rows])
    assert len(location.crossed) == 0


def test_refinement_splits_the_masses_as_location_does(points):
    cells = plane.plane_cells(points)
    new = new_points(points)
    children, parent, sense = refine(cells, new)
    n, n_cells = len(cells.points), len(cells.masses)
    T = plane.signs(children)[children.rows] * sense
    np.testing.assert_array_equal(T[:n], plane.signs(cells)[:, parent])
    np.testing.assert_allclose(
        np.bincount(parent, children.masses, n_cells), cells.masses, rtol=0, atol=1e-14
    )
    location = locate(cells, new)
    for j in range(len(new)):
        positive = np.bincount(parent, children.masses * (T[n + j] > 0), n_cells)
        np.testing.assert_allclose(
            positive, shares_of(location, j) * cells.masses, rtol=0, atol=1e-14
        )


def test_refinement_of_the_papers_grid():
    cells = plane.plane_cells(TRAINING_GRID)
    children, parent, _ = refine(cells, TEST_GRID)
    assert len(children.masses) == 4849
    np.testing.assert_array_equal(np.unique(parent), np.arange(749))

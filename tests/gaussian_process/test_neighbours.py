"""Gaussian processes given the nearest rows: against whole processes and numerical derivatives."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal
from scipy.stats import t as student
from sklearn.gaussian_process.kernels import Matern

from skbayesnn.gaussian_process import neighbours as module
from skbayesnn.gaussian_process.neighbours import (
    DEGREES,
    JITTER,
    SMOOTHNESS,
    Blocks,
    LeftOut,
    NearRows,
    matern,
    search,
    squared_distances,
)

SETTINGS = np.array([0.3, -0.5, 0.4, -1.5])


def covariance(X, Z, smoothness):
    """That of the function, by scikit-learn."""
    kernel = Matern(length_scale=np.exp(SETTINGS[:2]), nu=smoothness)
    return np.exp(SETTINGS[2]) * kernel(X, Z)


def noise(weights):
    return np.exp(SETTINGS[3]) / weights + JITTER * np.exp(SETTINGS[2])


@pytest.fixture
def table(rng):
    X = rng.normal(size=(40, 2))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=40), rng.integers(1, 4, 40).astype(float)


@pytest.mark.parametrize("smoothness", SMOOTHNESS)
def test_correlations_and_their_slopes(smoothness):
    points = np.array([[0.0], [0.3], [1.0], [4.0]])
    squares = squared_distances(points[None])[0]
    found, slopes = matern(squares, smoothness)
    np.testing.assert_allclose(found, Matern(nu=smoothness)(points), rtol=1e-10)
    apart, step = squares[squares > 0], 1e-6
    difference = matern(apart + step, smoothness)[0] - matern(apart - step, smoothness)[0]
    np.testing.assert_allclose(slopes[squares > 0], -difference / step, rtol=1e-6, atol=1e-9)
    assert np.isfinite(slopes).all()


def test_distances_do_not_suffer_from_large_inputs(rng):
    points = 1e6 + rng.normal(size=(3, 7, 2))
    for own, found in zip(points, squared_distances(points), strict=True):
        np.testing.assert_allclose(found, cdist(own, own) ** 2, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("smoothness", SMOOTHNESS)
def test_with_all_rows_near_it_is_the_whole_process(table, smoothness, rng):
    X, y, weights = table
    known = NearRows(SETTINGS, smoothness, X, y, weights)
    new = rng.normal(size=(5, 2))
    C = covariance(X, X, smoothness) + np.diag(noise(weights))
    solved = np.linalg.solve(C, covariance(X, new, smoothness))
    means, variances = known.predict(new)
    np.testing.assert_allclose(means, y @ solved, rtol=1e-8)
    expected = np.exp(SETTINGS[2]) - (covariance(X, new, smoothness) * solved).sum(axis=0)
    np.testing.assert_allclose(variances, expected, rtol=1e-7)


def test_a_row_is_left_out_of_its_own_prediction(table):
    X, y, weights = table
    some, known = np.array([3, 17]), NearRows(SETTINGS, 1.5, X, y, weights)
    means, variances = known.predict(X[some], known.whole(some))
    for i, row in enumerate(some):
        others = [np.delete(part, row, axis=0) for part in table]
        expected = NearRows(SETTINGS, 1.5, *others).predict(X[[row]])
        np.testing.assert_allclose((means[i], variances[i]), np.ravel(expected), rtol=1e-8)


def test_of_a_row_that_stands_for_several_a_part_can_be_left_out(table):
    """The row 5 becomes two with the same inputs, and one of them is left out."""
    X, y, weights = table
    known = NearRows(SETTINGS, 1.5, X, y, weights)
    out = LeftOut(np.array([5]), np.array([2.0]), np.ones(1), np.array([-0.3]), np.array([0.7]))
    found = known.predict(X[[5]], out)
    rest, left = y.copy(), weights.copy()
    rest[5], left[5] = -0.3, 0.7
    expected = NearRows(SETTINGS, 1.5, X, rest, left).predict(X[[5]])
    np.testing.assert_allclose(found, expected, rtol=1e-7)
    near = known.nearest(X[[5]], 8)
    assert near[0, -1] == 5
    blocks = Blocks(SETTINGS, 1.5, *known.members(X[[5]], near, out.targets, out))
    assert blocks.residuals[0] != pytest.approx(2.0 - expected[0][0], abs=1e-3)  # few rows are near


def test_near_rows_are_the_nearest_in_units_of_the_length_scales(table, rng):
    X, y, weights = table
    known = NearRows(SETTINGS, 0.5, X, y, weights)
    new, scales = rng.normal(size=(6, 2)), np.exp(SETTINGS[:2])
    expected = np.argsort(cdist(new / scales, X / scales), axis=1)[:, :8]
    np.testing.assert_array_equal(known.nearest(new, 8), expected[:, ::-1])


@pytest.mark.parametrize("smoothness", SMOOTHNESS)
def test_the_loss_is_a_density_given_the_near_rows(table, smoothness):
    X, y, weights = table
    known = NearRows(SETTINGS, smoothness, X, y, weights)
    near, counts = known.nearest(X[:3], 7), np.array([1.0, 2.0, 0.5])
    np.testing.assert_array_equal(near[:, -1], [0, 1, 2])
    out = known.whole(np.arange(3))
    blocks = Blocks(SETTINGS, smoothness, *known.members(X[:3], near, y[:3], out))
    expected = 0.0
    for row, others, count in zip(range(3), near[:, :-1], counts, strict=True):
        C = covariance(X[others], X[others], smoothness) + np.diag(noise(weights[others]))
        pulls = np.linalg.solve(C, covariance(X[others], X[[row]], smoothness)[:, 0])
        left = covariance(X[others], X[[row]], smoothness)[:, 0] @ pulls
        std = np.sqrt(np.exp(SETTINGS[2]) - left + noise(1.0))
        expected -= count * student.logpdf(y[row], DEGREES, pulls @ y[others], std)
    constant = counts.sum() * student.logpdf(0.0, DEGREES)
    found = blocks.loss_and_gradient(counts)[0]
    assert found - constant == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("smoothness", SMOOTHNESS)
def test_the_gradient_is_that_of_the_loss(table, smoothness, rng):
    X, y, weights = table
    known = NearRows(SETTINGS, smoothness, X, y, weights)
    out = known.whole(np.arange(20))
    near, counts = known.nearest(X[:20], 11), rng.uniform(size=20)
    members = known.members(X[:20], near, y[:20], out)

    def loss(settings):
        return Blocks(settings, smoothness, *members).loss_and_gradient(counts)

    steps = 1e-5 * np.eye(4)
    expected = [(loss(SETTINGS + e)[0] - loss(SETTINGS - e)[0]) / 2e-5 for e in steps]
    np.testing.assert_allclose(loss(SETTINGS)[1], expected, rtol=1e-6, atol=1e-7)


def test_blocks_are_solved_in_parts_with_the_same_results(table, monkeypatch):
    X, y, weights = table
    known = NearRows(SETTINGS, 1.5, X, y, weights)
    out = known.whole(np.arange(40))
    whole, found = known.predict(X), search(known, out, 10, 5)
    monkeypatch.setattr(module, "AT_ONCE", 7)
    np.testing.assert_allclose(known.predict(X), whole, rtol=1e-9)
    np.testing.assert_allclose(search(known, out, 10, 5)[0], found[0], rtol=1e-4)


def test_draws_have_the_joint_distribution_of_the_process(table):
    """All rows and earlier points are near, so that draws are exact."""
    X, y, weights = table
    known = NearRows(SETTINGS, 1.5, X, y, weights)
    new = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.2], [3.0, 3.0]])
    C = covariance(X, X, 1.5) + np.diag(noise(weights))
    cross = covariance(X, new, 1.5)
    mean = y @ np.linalg.solve(C, cross)
    expected = covariance(new, new, 1.5) - cross.T @ np.linalg.solve(C, cross)
    means, variances, gaps = known.draws(new, 40_000, np.random.default_rng(0))
    np.testing.assert_allclose(variances, np.diag(expected), rtol=1e-6)
    draws = means[:, None] + gaps
    # Squared Mahalanobis distances have a mean of 4 with a standard error of 0.014.
    gaps = draws.T - mean
    squares = (gaps @ np.linalg.inv(expected) * gaps).sum(axis=1)
    assert squares.mean() == pytest.approx(4, abs=0.06)
    np.testing.assert_allclose(np.cov(draws), expected, atol=0.03 * expected.max())
    law = multivariate_normal(mean, expected)
    entropy = -law.logpdf(draws.T).mean()
    assert entropy == pytest.approx(law.entropy(), abs=0.03)


def test_settings_are_found_again():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, size=(600, 2))
    C = covariance(X, X, 0.5) + 1e-10 * np.eye(600)
    y = np.linalg.cholesky(C) @ rng.standard_normal(600)
    y += np.exp(0.5 * SETTINGS[3]) * rng.standard_normal(600)
    start = np.array([1.0, 1.0, 0.0, 0.0])
    known = NearRows(SETTINGS, 0.5, X, y, np.ones(600))
    out = known.whole(np.arange(600))
    found, _ = search(NearRows(start, 0.5, X, y, np.ones(600)), out, 30, 60)
    rows = NearRows(found, 0.5, X, y, np.ones(600))
    errors = [np.mean((y - each.predict(X, out)[0]) ** 2) for each in (rows, known)]
    assert errors[0] < 1.02 * errors[1]
    # Height and length scales of rough functions are known by their ratio alone.
    np.testing.assert_allclose(found[2] - found[:2], SETTINGS[2] - SETTINGS[:2], atol=0.5)

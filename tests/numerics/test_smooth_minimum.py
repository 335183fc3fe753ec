"""The search for a minimum that remembers all steps."""

import numpy as np
import pytest

from skbayesnn.numerics.smooth_minimum import MOST_KEPT, minimise_smooth


def valley(x, curvatures):
    """A quadratic function with these curvatures along random directions."""
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(x.size, x.size)))[0]
    slope = rotation @ (curvatures * (rotation.T @ x))
    return 0.5 * x @ slope, slope


def test_minimum_is_found_with_fewer_evaluations_than_with_ten_steps():
    curvatures, start = np.geomspace(1.0, 1000.0, 30), np.ones(30)
    found, few = (
        minimise_smooth(
            valley, start, args=(curvatures,), max_iter=500, ftol=0.0, gtol=1e-6, **options
        )
        for options in ({}, {"maxcor": 10})
    )
    # A slope of 1e-6 in any direction, and the least curvature is one.
    np.testing.assert_allclose(found.x, 0.0, atol=1e-5)
    np.testing.assert_allclose(few.x, 0.0, atol=1e-5)
    assert found.nfev < few.nfev / 2


def test_bounds_and_iterations_are_kept():
    start = np.ones(3)
    found = minimise_smooth(valley, start, args=(np.ones(3),), bounds=[(0.5, 2.0)] * 3)
    np.testing.assert_array_equal(found.x, 0.5)
    assert minimise_smooth(valley, start, args=(np.full(3, 9.0),), max_iter=2).nit == 2


@pytest.mark.parametrize("max_iter", [1, MOST_KEPT + 1])
def test_any_number_of_iterations_is_possible(max_iter):
    found = minimise_smooth(valley, np.ones(2), args=(np.ones(2),), max_iter=max_iter)
    assert found.fun < valley(np.ones(2), np.ones(2))[0]

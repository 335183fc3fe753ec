"""Rank-one changes against numpy.linalg, one by one and over thousands."""

import numpy as np
import pytest

from skbayesnn.numerics.jit import kernel
from skbayesnn.stable.samplers import rank_one

shift_inverse = kernel(rank_one.shift_inverse)
error_growth = kernel(rank_one.error_growth)
is_spent = kernel(rank_one.is_spent)

DRIFT_BOUND = 1e-8


def random_matrix(n, rng, condition=1e3):
    """Symmetric and positive definite."""
    directions, _ = np.linalg.qr(rng.standard_normal((n, n)))
    return (directions * np.geomspace(1.0, condition, n)) @ directions.T


def change_by(inverse, u, size):
    """What the samplers do: follow M + size u u' in M⁻¹; the gain of log det M."""
    g = inverse @ u
    ratio = 1.0 + size * (u @ g)
    shift_inverse(inverse, g, size / ratio)
    return np.log(ratio)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e4])
def test_one_change_is_that_of_numpy(n, size):
    rng = np.random.default_rng(n)
    matrix, u = random_matrix(n, rng), rng.standard_normal(n)
    changed = matrix + size * np.outer(u, u)
    inverse = np.linalg.inv(matrix)
    log_ratio = change_by(inverse, u, size)
    np.testing.assert_allclose(inverse, np.linalg.inv(changed), atol=1e-12)
    expected = np.linalg.slogdet(changed)[1] - np.linalg.slogdet(matrix)[1]
    assert log_ratio == pytest.approx(expected, abs=1e-11)
    # And back, which multiplies the errors of about 1e-14 by (1 + c q)².
    error = 1e-14 * np.exp(2 * log_ratio)
    assert change_by(inverse, u, -size) == pytest.approx(-log_ratio, abs=error)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrix), atol=error)


def drift_of(n, n_changes, rng, refactor):
    """Largest drift over many changes of the coefficients of n_terms rank-one terms."""
    terms = np.sign(rng.standard_normal((3 * n, n)))
    sizes = np.zeros(3 * n)
    noise = 0.1
    inverse = np.eye(n) / noise
    worst, since, growth = 0.0, 0, 1.0
    for i in range(n_changes):
        k = rng.integers(3 * n)
        # From far below to far above the noise, and back.
        new = noise * np.exp(rng.normal(-3, 4))
        change = new - sizes[k]
        g = inverse @ terms[k]
        ratio = 1 + change * (terms[k] @ g)
        shift_inverse(inverse, g, change / ratio)
        sizes[k] = new
        since, growth = since + 1, error_growth(growth, ratio)
        spent = is_spent(since, growth)
        if spent or i % 20 == 0:
            exact = np.linalg.inv((terms.T * sizes) @ terms + noise * np.eye(n))
            drift = np.abs(inverse - exact).max() / np.abs(exact).max()
            if refactor and spent:
                inverse, since, growth = exact, 0, 1.0
            else:
                worst = max(worst, drift)
    return worst


@pytest.mark.parametrize("n", [5, 30])
def test_drift_stays_below_its_bound_over_thousands_of_changes(n):
    assert drift_of(n, 6000, np.random.default_rng(n), True) < DRIFT_BOUND


def test_drift_passes_its_bound_where_nothing_is_computed_anew():
    """The bound is no empty promise: the same changes without the rule."""
    assert drift_of(5, 6000, np.random.default_rng(5), False) > 10 * DRIFT_BOUND

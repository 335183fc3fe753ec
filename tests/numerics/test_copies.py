"""How many rows weighted rows count as, so that no weights deny the noise."""

import numpy as np
import pytest

from skbayesnn.gaussian_process.evidence import evidence
from skbayesnn.numerics.copies import (
    MOST_NOISE,
    counted_once,
    cut_weights,
    effective_number,
    find_copies,
    noisy_counts,
    slope_of_noise,
)


def uneven(seed, n=40):
    return np.exp(1.5 * np.random.default_rng(seed).normal(size=n))


def slope(weights, r, height=1.7):
    """Expected derivative of the log evidence in the log noise variance, rows far apart."""
    noise = r * height
    far = 1e3 * np.arange(len(weights))[:, None]
    # Means of squares: the loss is linear in the squares of targets of independent rows.
    targets = np.full((len(weights), 1), np.sqrt(height + noise))
    found = evidence(far, targets, weights, np.log(height), np.array([np.log(noise)]))
    return -float(found[3][0])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("r", [1e-4, 1e-2, 1.0, 30.0])
def test_the_expected_slope_of_the_evidence(seed, r):
    w = uneven(seed)
    assert slope(w, r) == pytest.approx(0.5 * slope_of_noise(w, r), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_weights_cannot_deny_noise_up_to_the_variance_of_the_function(seed):
    w = noisy_counts(uneven(seed))
    assert effective_number(w) < w.sum() < len(w)
    assert min(slope_of_noise(w, r) for r in np.geomspace(1e-6, 1.0, 50)) > -1e-9
    assert slope_of_noise(w, MOST_NOISE) == pytest.approx(0, abs=1e-9)
    assert slope(1.001 * w, MOST_NOISE) < 0


@pytest.mark.parametrize("seed", range(5))
def test_kish_s_number_is_the_largest_at_which_weights_can_deny_no_noise(seed):
    w = uneven(seed)
    w *= w.sum() / (w @ w)
    assert w.sum() == pytest.approx(effective_number(w))
    assert min(slope_of_noise(w, r) for r in np.geomspace(1e-6, 1e4, 200)) > 0
    assert slope(1.001 * w, 1e4) < 0


@pytest.mark.parametrize("seed", range(20))
def test_weights_are_cut_as_little_as_half_of_the_rows_need(seed):
    w = uneven(seed, n=30) ** np.random.default_rng(seed).uniform(0, 4)
    cut = cut_weights(w)
    assert effective_number(cut) == pytest.approx(max(effective_number(w), 15.0))
    np.testing.assert_array_equal(cut[cut < cut.max()], w[cut < cut.max()])
    assert (w[cut == cut.max()] >= cut.max()).all()
    np.testing.assert_array_equal(cut_weights(cut), cut)


def test_one_row_that_came_a_thousand_times_leaves_the_others():
    counts = noisy_counts(np.append(np.ones(99), 1000.0))
    assert counts[:99] == pytest.approx(0.87, abs=0.01)
    assert 50 < counts.sum() < 100


def test_a_cut_is_told():
    X, y = np.arange(20.0)[:, None], np.sin(np.arange(20.0))
    heavy = np.where(np.arange(20) == 3, 500.0, 1.0)
    with pytest.warns(UserWarning, match=r"1 of 20 rows .* \(the largest is 500\)"):
        find_copies(X, y, heavy, tell=True)
    find_copies(X, y, np.linspace(1, 3, 20), tell=True)  # warnings are errors


def test_rows_count_however_large_the_largest_weight_is():
    w = np.random.default_rng(0).lognormal(0.0, 4.0, 60)
    np.testing.assert_allclose(noisy_counts(w / w.mean()), noisy_counts(1e3 * w))
    assert 30 < noisy_counts(w / w.mean()).sum() < 60


def test_light_weights_keep_their_sum():
    w = uneven(0)
    w /= w.max()
    light = noisy_counts(0.1 * w)
    assert light.sum() == pytest.approx(0.1 * w.sum())
    np.testing.assert_allclose(light / light.max(), cut_weights(w) / cut_weights(w).max())
    np.testing.assert_array_equal(noisy_counts(np.full(7, 0.3)), np.full(7, 0.3))


def test_equal_rows_share_what_one_counts():
    X = np.arange(40.0)[:, None]
    times = np.repeat(np.arange(40), 1 + np.arange(40) % 3)
    w = np.random.default_rng(1).uniform(1, 9, len(times))
    shared = counted_once(X[times], np.sin(X[times, 0]), w)
    known = find_copies(X[times], np.sin(X[times, 0]), w)
    np.testing.assert_allclose(np.bincount(times, shared), known.weights)
    first = times == 1
    np.testing.assert_allclose(shared[first] / shared[first][0], w[first] / w[first][0])


def survey(n=200):
    """Rounded targets, and inputs that repeat."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(20, 40, n), rng.integers(0, 2, n)]).astype(float)
    return X, np.round(X[:, 0] + 5 * rng.normal(size=n))


def test_weights_of_a_survey_are_no_counts():
    X, y = survey()
    w = 50 * uneven(2, n=200)
    for weights in (w, np.ceil(w)):
        copies = find_copies(X, y, weights)
        np.testing.assert_array_equal(copies.rows, np.arange(200))
        np.testing.assert_allclose(copies.weights, noisy_counts(weights))
        assert copies.chance == 0


def test_counts_of_an_aggregated_table_are_counts():
    cells, counts = np.unique(np.column_stack(survey()), axis=0, return_counts=True)
    counts = counts.astype(float)
    copies = find_copies(cells[:, :-1], cells[:, -1], counts)
    np.testing.assert_array_equal(copies.weights, counts)
    np.testing.assert_array_equal(counted_once(cells[:, :-1], cells[:, -1], counts), counts)


@pytest.mark.parametrize(
    ("weights", "n_copies"),
    [
        (np.ones(30), 0),
        (np.full(30, 2.0), 0),
        (np.linspace(1.0, 1.9, 30), 0),
        (np.repeat([1.0, 2.0], 15), 15),
    ],
)
def test_only_counts_say_that_a_new_row_may_be_a_copy(weights, n_copies):
    X = np.arange(30.0)[:, None]
    found = find_copies(X, np.sin(X[:, 0]), weights)
    assert found.chance == n_copies / (n_copies + 1)

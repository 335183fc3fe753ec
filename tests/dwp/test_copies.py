"""Rows that come again: how many they count as, and what they say of their copies."""

import pickle

import numpy as np
import pytest
from scipy.stats import norm

from skbayesnn import DeepWishartRegressor
from skbayesnn.dwp.copies import NARROW, KnownRows
from skbayesnn.numerics.copies import FEW_CELLS, find_copies, noisy_counts
from skbayesnn.predictive import PredictiveMixture


def quick(**options):
    defaults = {"max_iter": 60, "n_inducing": 15, "n_posterior_draws": 20, "random_state": 0}
    return DeepWishartRegressor(**{**defaults, **options})


def wave(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)


def counts(n=60, seed=1):
    return 1 + np.random.default_rng(seed).poisson(0.7, n)


def test_copies_count_as_no_more_than_differ():
    X, y = wave()
    times = np.repeat(np.arange(60), counts())
    shuffled = np.random.default_rng(2).permutation(times)
    for rows, weights in [
        (times, np.ones(len(times))),
        (np.arange(60), counts().astype(float)),
        (shuffled, np.ones(len(times))),
    ]:
        copies = find_copies(X[rows], y[rows], weights)
        kept = rows[copies.rows]
        np.testing.assert_array_equal(kept[copies.groups], rows)
        assert sorted(kept) == list(range(60))
        np.testing.assert_allclose(copies.weights, noisy_counts(counts())[kept])
        again = counts().sum() - 60
        assert copies.chance == pytest.approx(again / (again + 1))
    assert (np.diff(find_copies(X[times], y[times], np.ones(len(times))).rows) > 0).all()


@pytest.mark.parametrize(
    "case",
    [
        lambda X, y: (X, y, np.ones(60)),  # no copies
        lambda X, y: (X, y, np.full(60, 0.5)),  # less than a row each
        lambda X, y: (np.repeat(X[:5], 12, axis=0), np.repeat(y[:5], 12), np.ones(60)),  # few cells
        # Few values, which rows with the same inputs have by chance.
        lambda X, y: (np.round(X), np.round(y), np.ones(60)),
        lambda X, y: (np.round(X), y, np.ones(60)),  # measurements at the same inputs
    ],
)
def test_other_tables_stay_as_they_are(case):
    X, y, weights = case(*wave())
    copies = find_copies(X, y, weights)
    np.testing.assert_array_equal(copies.rows, np.arange(60))
    np.testing.assert_array_equal(copies.weights, weights)
    assert copies.chance == 0
    assert FEW_CELLS * 60 > 5


def test_copies_among_measurements_at_the_same_inputs():
    """Targets without ties: equal ones are copies, but those at the same inputs may differ."""
    X, y = wave()
    X = np.round(X, 1)
    assert len(np.unique(X)) < 60
    copies = find_copies(np.vstack([X, X[:20]]), np.append(y, y[:20]), np.ones(80))
    assert len(copies.rows) == 60
    twice = np.arange(60) < 20
    np.testing.assert_allclose(copies.weights, noisy_counts(np.where(twice, 2.0, 1.0)))
    assert copies.chance == pytest.approx(20 / (80 - len(np.unique(X)) + 1))
    known = KnownRows(X, y[:, None], copies.chance, np.array([0.1]))
    places, times = np.unique(X, return_counts=True)
    np.testing.assert_array_equal(known.find(places[:, None])[0], times == 1)


def test_known_rows_by_hand():
    X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0], [8.0, 9.0]])
    Y = np.array([[0.5], [0.7], [0.8], [0.65], [0.2]])
    known = pickle.loads(pickle.dumps(KnownRows(X, Y, 0.8, np.array([0.04]))))
    new = np.array([[2.0, 3.0], [2.0, 3.0000001], [-0.0, 1.0]])
    before = PredictiveMixture([0.5, 0.5], [[0.0, 1.0]] * 3, [[1.0, 2.0]] * 3)
    (after,) = known.pool(new, [before], np.array([10.0]), np.array([2.0]))
    y = np.array([11.5, 11.0, 10.9])
    spikes = norm.pdf(y, [11.4, 0.0, 11.0], 2.0 * np.sqrt(NARROW * 0.04))
    chance = np.array([0.8, 0.0, 0.8])
    truth = (1 - chance) * np.exp(before.logpdf(y)) + chance * spikes
    np.testing.assert_allclose(np.exp(after.logpdf(y)), truth)
    rounded = KnownRows(X, np.array([[0.0], [1.0], [1.0], [0.0], [0.0]]), 0.8, np.array([0.04]))
    np.testing.assert_allclose(rounded.variances, 1 / 12)
    draws = np.zeros((3, 20_000))
    known.replace(new, draws, 10.0, 2.0, np.random.default_rng(0))
    assert (draws[1] == 0).all()
    np.testing.assert_allclose((draws[[0, 2]] != 0).mean(axis=1), 0.8, atol=0.02)
    taken = draws[0][draws[0] != 0]
    np.testing.assert_allclose([taken.mean(), taken.std()], [11.4, 0.04], atol=0.002)


def test_copies_do_not_deny_the_noise():
    X, y = wave()
    X_test, y_test = wave(500, seed=5)
    times = np.repeat(np.arange(60), counts())
    once, again = quick().fit(X, y), quick().fit(X[times], y[times])
    weighed = quick().fit(X, y, sample_weight=counts())
    known, repeated, by_weight = (
        model.log_predictive_density(X_test, y_test) for model in (once, again, weighed)
    )
    np.testing.assert_allclose(by_weight, repeated, atol=1e-9)
    # Without this, 60 rows with such copies have less by 0.9.
    assert repeated.mean() > known.mean() - 0.15
    assert again.n_samples_seen_ == pytest.approx(noisy_counts(counts()).sum())
    # A copy is known, and draws agree with that.
    mean, std = again.predict(X, return_std=True)
    again_ = counts().sum() - 60
    assert np.abs(mean - y).max() < 2.0 / (again_ + 1)
    assert std.mean() < 0.5 * once.predict(X, return_std=True)[1].mean()
    draws = again.sample_y(X, 2000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.05)

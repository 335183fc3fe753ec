"""The law of smooth functions that speaks where no row is near."""

import pickle

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_t

from skbayesnn.training import unseen
from skbayesnn.training.effects import LEAST, distance_units
from skbayesnn.training.unseen import FACTORS, LENGTHS, NOISES, SHARES, SmoothLaw
from skbayesnn.udn import UDNRegressor


def brute_force(X, y, X_new):
    """Every setting by Cholesky factors, weighed by the multivariate t density of the targets."""
    location, scale = y.mean(), y.std()
    z = (y - location) / scale
    spread = np.sqrt(np.median(np.sum((X - np.median(X, axis=0)) ** 2, axis=1)))
    logs, moments = [], []
    for length in LENGTHS * spread:
        C, C_new = (np.exp(-0.5 * cdist(Z, X, "sqeuclidean") / length**2) for Z in (X, X_new))
        for r in NOISES:
            K = (C + r * np.eye(len(X))) / (1 + r)
            # An inverse gamma variance of shape and rate 1 makes a t law of two degrees.
            logs.append(multivariate_t(shape=K, df=2).logpdf(z))
            factor = cho_factor(K)
            size = (1 + 0.5 * z @ cho_solve(factor, z)) / (0.5 * len(z))
            k = C_new / (1 + r)
            explained = np.sum(k * cho_solve(factor, k.T).T, axis=1)
            function = size * (1 / (1 + r) - explained)
            moments.append((k @ cho_solve(factor, z), function, size * r / (1 + r)))
    p = np.exp(np.array(logs) - max(logs))
    p[p < unseen.LEAST_PROBABILITY] = 0
    p /= p.sum()
    mean = sum(w * m for w, (m, _, _) in zip(p, moments, strict=True))
    second = sum(w * (m**2 + f) for w, (m, f, _) in zip(p, moments, strict=True))
    noise = sum(w * n for w, (_, _, n) in zip(p, moments, strict=True))
    return location + scale * mean, scale**2 * (second - mean**2), scale**2 * noise


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(30, 2))
    return X, 5 + np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=30)


def test_moments_against_brute_force(rows, monkeypatch):
    monkeypatch.setattr(unseen, "LEAST_ERROR", 0.0)
    X, y = rows
    X_new = np.array([[0.1, 0.2], [1.5, 0.5], [9.0, 9.0]])
    targets = np.column_stack([y, 1000 * X[:, 1]])  # the second does not change the first
    found = SmoothLaw(X, targets, np.ones(30)).moments(X_new)
    for part, expected in zip(found, brute_force(X, y, X_new), strict=True):
        np.testing.assert_allclose(part[:, 0], expected, rtol=1e-5, atol=1e-8)
    weights, means, variances = SmoothLaw(X, targets, np.ones(30))(X_new)
    np.testing.assert_array_equal(weights, SHARES)
    for i, factor in enumerate(FACTORS):
        np.testing.assert_allclose(means[..., i], found[0])
        np.testing.assert_allclose(variances[..., i], factor * found[1] + found[2])


def test_weights_are_copies(rng):
    # On a circle, with the row opposite to each, so that medians and distances from them are
    # the same with copies.
    angles = rng.uniform(0, np.pi, 30)
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    X, times = np.vstack([X, -X]), np.tile(rng.integers(1, 4, 30), 2)
    y = (np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=60))[:, None]
    X_new = np.array([[0.1, 0.2], [9.0, 9.0]])
    few = SmoothLaw(X, y, times.astype(float)).moments(X_new)
    copies = np.repeat(np.arange(60), times)
    many = SmoothLaw(X[copies], y[copies], np.ones(len(copies))).moments(X_new)
    for one, other in zip(few, many, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4)


def test_a_smooth_function_is_followed_across_a_gap_and_not_for_ever(rng):
    X = rng.uniform(1, 3, (300, 1)) * rng.choice([-1, 1], (300, 1))
    y = np.cos(1.5 * X) + 0.1 * rng.normal(size=X.shape)
    mean, function, noise = SmoothLaw(X, y, np.ones(300)).moments(np.array([[0.0], [2.0], [50.0]]))
    assert abs(mean[0, 0] - 1) < 3 * np.sqrt(function[0, 0]) < 1  # no row is above 0.4
    assert function[1, 0] < 0.001 < 0.5 * y.var() < function[2, 0]
    np.testing.assert_allclose(noise, 0.01, rtol=0.2)
    np.testing.assert_allclose(mean[2], y.mean())
    # Without noise the rows tell the function, and no less that its variance is not small.
    mean, function, _ = SmoothLaw(X, np.cos(1.5 * X), np.ones(300)).moments(np.array([[0], [50]]))
    np.testing.assert_allclose(mean[0], 1, atol=0.05)
    assert function[0, 0] < 0.01 < 0.5 * y.var() < function[1, 0]


def test_pickles_are_small_and_a_constant_target_has_a_law(rng):
    X = rng.normal(size=(300, 3))
    law = SmoothLaw(X, np.full((300, 1), 7.0), np.ones(300))
    _, means, variances = law(X[:5] + 9)
    np.testing.assert_allclose(means, 7)
    assert np.all(variances > 0)
    assert np.all(variances < 1)
    stored = pickle.dumps(law)
    assert len(stored) < 20_000
    np.testing.assert_array_equal(pickle.loads(stored)(X[:5] + 9)[2], variances)


def test_distances_count_by_what_inputs_do():
    units = distance_units([np.array([3.0, 0.0, 0.004, 4.0]), np.array([4.0, 0.0, 0.003, 3.0])])
    np.testing.assert_allclose(units, [1, 1, LEAST, 1])
    assert distance_units([]) == 1


def test_an_input_that_does_nothing_may_go_far():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    y = 2 * X[:, 0] + 0.1 * rng.normal(size=300)
    model = UDNRegressor(max_iter=60, n_networks=1, random_state=0).fit(X, y)
    _, std = model.predict(np.array([[0.5, 0.0], [0.5, 4.0], [4.0, 0.0]]), return_std=True)
    assert std[1] < 3 * std[0] < 0.5 * std[2]


def test_rows_among_others_have_the_networks_law_alone():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, (200, 1)) * rng.choice([-1, 1], (200, 1))
    Y = np.column_stack([np.sin(X[:, 0]), 1000 * X[:, 0]]) + 0.05 * rng.normal(size=(200, 2))
    model = UDNRegressor(max_iter=30, n_networks=1, gaussian_process=False, random_state=0)
    model.fit(X, Y)
    at = np.array([[2.0], [0.0], [-1.5]])
    alone = model._own_mixtures(at)
    for t, law in enumerate(model.predict_distribution(at)):
        np.testing.assert_allclose(law.mean()[[0, 2]], alone[t].mean()[[0, 2]])
        np.testing.assert_allclose(law.var()[[0, 2]], alone[t].var()[[0, 2]])
        (chance,), (weights, means, variances) = model._unseen(model._placed(at[1:2]))
        assert 0.9 < chance <= 1
        y = law.mean()[1] + law.std()[1] * np.array([-1.0, 0.0, 2.0])
        density = weights * np.exp(-0.5 * (y[:, None] - means[0, t]) ** 2 / variances[0, t])
        density = chance * (density / np.sqrt(2 * np.pi * variances[0, t])).sum(axis=1)
        own = (1 - chance) * np.exp([alone[t].logpdf(np.full(3, v))[1] for v in y])
        found = [law.logpdf(np.full(3, v))[1] for v in y]
        np.testing.assert_allclose(found, np.log(density + own))

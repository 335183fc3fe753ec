"""Waves of the one input, and when they are taken."""

import pickle

import numpy as np

from skbayesnn.udn import UDNRegressor
from skbayesnn.udn.inputs import FREQUENCIES, waves


def turns(n, seed=0):
    """Ten turns within the range of the input."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    return X, 3 + np.sin(16 * X[:, 0]) + 0.1 * rng.normal(size=n)


def test_waves_of_an_input(rng):
    x = rng.normal(size=5)
    expected = [x] + [g(f * x) for g in (np.sin, np.cos) for f in FREQUENCIES]
    np.testing.assert_allclose(waves(x[:, None]), np.transpose(expected))


def test_a_function_of_many_turns_is_found_by_every_network():
    X, y = turns(250)
    model = UDNRegressor(max_iter=150, random_state=0).fit(X, y)
    assert [member._X_waves for member in model._members()] == [True] * 4
    X_test, y_test = turns(500, seed=1)
    assert model.score(X_test, y_test) > 0.95
    assert model.input_relevance_.shape == (1,)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X_test), model.predict(X_test))
    before = model.predict(X_test)
    model.partial_fit(*turns(100, seed=2))  # goes on with the same inputs
    assert 0 < np.abs(model.predict(X_test) - before).max() < 1


def test_a_line_and_noise_are_learned_from_the_input_alone():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (200, 1))
    for y in (X[:, 0] + rng.normal(size=200), rng.normal(size=200)):
        model = UDNRegressor(max_iter=60, random_state=0).fit(X, y)
        assert not any(member._X_waves for member in model._members())


def test_waves_are_not_tried_where_units_are_the_users_or_nothing_is_held_out():
    X, y = turns(100)
    for options in ({"normalize_X": False}, {"early_stopping": False}):
        model = UDNRegressor(max_iter=5, random_state=0, **options).fit(X, y)
        assert not any(member._X_waves for member in model._members())
    assert not UDNRegressor(max_iter=5).partial_fit(X, y)._X_waves

"""Relevance of inputs in a pool: effects in closed form, and what networks make of them."""

import numpy as np
import pytest

from skbayesnn import UDNClassifier, UDNRegressor
from skbayesnn.training.effects import LEAST, LEAST_UNEXPLAINED, input_effects
from skbayesnn.udn.relevance import HALF, relevances


def test_effects_of_a_linear_and_of_a_quadratic_mean(rng):
    X = rng.normal(size=(300, 3)) * [1.0, 5.0, 0.2] + [0.0, 3.0, -1.0]
    noise = rng.permutation(np.repeat([-0.5, 0.5], 150))
    spreads = X.std(axis=0)

    def mean(X):
        return (2 * X[:, 0] - 0.3 * X[:, 1] ** 2)[:, None]

    effects = input_effects(mean, X, mean(X) + noise[:, None], np.ones(300))
    slope = 0.6 * np.sqrt(np.mean(X[:, 1] ** 2))  # central differences of a square are exact
    unexplained = np.hypot(0.5 / 0.6745, LEAST_UNEXPLAINED)
    np.testing.assert_allclose(effects, [2 * spreads[0], slope * spreads[1], 0] / unexplained)


@pytest.mark.parametrize("most_entries", [1, 2_000_000])
def test_many_inputs_are_shifted_several_at_once(rng, monkeypatch, most_entries):
    """Four of 450 in each call, unless there may be only one."""
    monkeypatch.setattr("skbayesnn.training.effects.MOST_ENTRIES", most_entries)
    X, slopes = rng.normal(size=(11, 450)), rng.normal(size=(450, 2))
    X[:, [0, 7, 449]] = 3.0
    n_rows = []

    def mean(X):
        n_rows.append(len(X))
        return X @ slopes

    effects = input_effects(mean, X, X @ slopes + [0.0, 0.6745], np.ones(11))
    expected = X.std(axis=0) * np.max(np.abs(slopes) / [LEAST_UNEXPLAINED, 1.0], axis=1)
    np.testing.assert_allclose(effects, expected, rtol=1e-5)
    assert max(n_rows) == (11 if most_entries == 1 else 44)


def test_the_largest_effect_on_any_target_counts(rng):
    X = rng.normal(size=(200, 2))
    slopes = np.array([[1.0, 0.1], [0.0, 0.7]])
    targets = X @ slopes + rng.choice([-1.0, 1.0], (200, 2)) * [1.0, 0.1]
    effects = input_effects(lambda X: X @ slopes, X, targets, np.ones(200))
    noise = np.hypot(np.array([1.0, 0.1]) / 0.6745, LEAST_UNEXPLAINED)
    expected = X.std(axis=0) * np.max(slopes / noise, axis=1)
    np.testing.assert_allclose(effects, expected)


def test_weights_of_rows_are_repeats(rng):
    X, counts = rng.normal(size=(40, 3)), rng.integers(1, 4, 40)
    targets = rng.normal(size=(40, 1))

    def mean(X):
        return np.sin(X @ [1.0, 2.0, 0.0])[:, None]

    repeated = [np.repeat(a, counts, axis=0) for a in (X, targets)]
    np.testing.assert_allclose(
        input_effects(mean, X, targets, counts.astype(float)),
        input_effects(mean, *repeated, np.ones(counts.sum())),
    )


def test_constant_inputs_and_no_noise(rng):
    X = np.column_stack([rng.normal(size=50), np.full(50, 7.0)])
    effects = input_effects(lambda X: X @ np.ones((2, 1)), X, X @ np.ones((2, 1)), np.ones(50))
    np.testing.assert_allclose(effects, [X[:, 0].std() / LEAST_UNEXPLAINED, 0.0])


def test_relevances():
    effects = [np.array([3.0, HALF / 20, 0.0]), np.array([1.0, HALF / 20, 0.0])]
    first = 5.0 / (5.0 + HALF**2 / 400)
    np.testing.assert_allclose(relevances(effects, 400.0), [1.0, 0.5 / first, LEAST])
    np.testing.assert_array_equal(relevances([np.zeros(3)], 100.0), np.ones(3))


def two_of_eight(n=300, seed=0):
    """Two inputs matter; one is constant."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 8))
    X[:, 3] = 1e3
    return X, np.sin(3 * X[:, 1]) + X[:, 5] ** 2 + 0.3 * rng.normal(size=n)


class Alike(UDNRegressor):
    """Does not look at what inputs do."""

    def _calibrate(self, X, targets, weights):
        pass


def test_a_pool_finds_the_inputs_that_matter():
    X, y = two_of_eight()
    X_test = two_of_eight(500, 1)[0]
    truth = np.sin(3 * X_test[:, 1]) + X_test[:, 5] ** 2
    settings = {"max_iter": 150, "n_networks": 3, "gaussian_process": False, "random_state": 0}
    model = UDNRegressor(**settings).fit(X, y)
    rest = np.delete(model.input_relevance_, [1, 5])
    assert model.input_relevance_[[1, 5]].min() > 0.9
    assert rest.max() < 0.8  # the first network has all inputs alike
    np.testing.assert_allclose(model.input_relevance_[3], (1 + 2 * LEAST) / 3)
    alike = Alike(**settings).fit(X, y)
    np.testing.assert_array_equal(alike.input_relevance_, np.ones(8))
    error, error_alike = (np.mean((m.predict(X_test) - truth) ** 2) for m in (model, alike))
    assert error < 0.85 * error_alike


@pytest.mark.parametrize(
    "model",
    [
        UDNRegressor(n_networks=1),
        UDNRegressor(n_networks=2, early_stopping=False),
        UDNClassifier(n_networks=2),
    ],
)
def test_all_inputs_are_alike(model):
    X, y = two_of_eight(100)
    y = y > np.median(y) if isinstance(model, UDNClassifier) else y
    model.set_params(max_iter=5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.input_relevance_, np.ones(8))


def test_units_of_the_inputs_do_not_matter():
    X, y = two_of_eight(100)
    Z = 1e3 * X - 5
    a, b = (
        UDNRegressor(max_iter=20, n_networks=2, random_state=0).fit(inputs, y) for inputs in (X, Z)
    )
    np.testing.assert_allclose(a.input_relevance_, b.input_relevance_, atol=1e-3)
    np.testing.assert_allclose(a.predict(X), b.predict(Z), atol=1e-2)

"""How certain class probabilities are: the calibration against a grid, and what it mends."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from scipy.stats import norm
from sklearn.metrics import log_loss

from skbayesnn import DeepWishartClassifier
from skbayesnn.dwp.calibration import STD, best_calibration, left_out_log_probabilities
from skbayesnn.training.label_noise import CHANCE, RATE


def quick(**options):
    defaults = {"max_iter": 30, "n_inducing": 15, "n_posterior_draws": 10, "random_state": 0}
    return DeepWishartClassifier(**{**defaults, **options})


def table(n, seed, n_classes=3, noise=0.0):
    """Classes in strips along one of two inputs; part of them drawn anew."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    y = np.floor(n_classes * X[:, 0]).astype(int)
    return X, np.where(rng.random(n) < noise, rng.integers(n_classes, size=n), y)


@pytest.mark.parametrize(("n", "flipped"), [(0, 0.0), (7, 0.0), (300, 0.5), (300, 0.0), (300, 0.1)])
def test_calibration_is_a_posterior_mean(n, flipped):
    """By brute force over a finer grid of temperatures and shares of random labels."""
    rng = np.random.default_rng(n)
    log_p = log_softmax(3.0 * rng.normal(size=(n, 3)), axis=1)
    codes = np.array([rng.choice(3, p=row) for row in np.exp(log_p)], dtype=int)
    codes = np.where(rng.random(n) < flipped, rng.integers(3, size=n), codes)
    weights = rng.integers(1, 4, size=n)
    temperature, label_noise = best_calibration(log_p, np.eye(3)[codes], weights)

    log_ts, es = np.linspace(-1.45, 1.45, 146), np.linspace(0.001, 0.999, 600)
    own = np.array([softmax(log_p / np.exp(t), axis=1)[np.arange(n), codes] for t in log_ts])
    exponential = np.exp(-RATE * es)
    masses = np.append(1.0 - CHANCE, CHANCE * exponential / exponential.sum())
    es = np.append(0.0, es)
    likelihood = np.log((1.0 - es[:, None]) * own[:, None] + es[:, None] / 3) @ weights
    prior = norm.pdf(log_ts, scale=STD)
    chances = np.exp(likelihood - likelihood.max()) * prior[:, None] * masses
    chances /= chances.sum()
    # The steps of the coarser grid are 0.1, and up to 0.1 of the share.
    assert np.log(temperature) == pytest.approx(chances.sum(axis=1) @ log_ts, abs=0.03)
    assert label_noise == pytest.approx(chances.sum(axis=0) @ es, rel=0.05, abs=0.005)


def test_weights_of_the_calibration_are_copies():
    rng = np.random.default_rng(0)
    log_p = log_softmax(4.0 * rng.normal(size=(200, 3)), axis=1)
    Y, weights = np.eye(3)[rng.integers(3, size=200)], rng.integers(1, 4, size=200)
    again = np.repeat(np.arange(200), weights)
    found = best_calibration(log_p, Y, weights)
    np.testing.assert_allclose(
        found, best_calibration(log_p[again], Y[again], np.ones(len(again))), rtol=1e-4
    )


def test_probabilities_are_calibrated():
    X, y = table(400, 1, noise=0.1)
    model = quick().fit(X, y)
    p, t, e = model.predict_proba(X), model.temperature_, model.label_noise_
    assert e > 0
    model._model.temperature, model._model.label_noise = 1.0, 0.0
    raw = model.predict_proba(X) ** (1.0 / t)
    raw /= raw.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(p, (1.0 - e) * raw + e / 3, rtol=1e-9)


def test_random_labels_are_no_surprise():
    """A tenth of the labels are any class: a share of them is found, and new ones cost less."""
    X, y = table(400, 1, noise=0.1)
    new, truth = table(2000, 2, noise=0.1)
    model = quick().fit(X, y)
    assert 0.03 < model.label_noise_ < 0.15
    loss = log_loss(truth, model.predict_proba(new))
    model._model.temperature, model._model.label_noise = 1.0, 0.0
    assert loss < log_loss(truth, model.predict_proba(new)) - 0.005


def test_rows_are_left_out_once_and_copies_together():
    X, y = table(60, 0)
    model = quick().fit(X, y)
    again = np.concatenate([X, X[:20]])
    rows, log_p = left_out_log_probabilities(
        model._model,
        model._model.scales.inputs(again),
        np.eye(3)[np.append(y, y[:20])],
        np.ones(80),
    )
    np.testing.assert_array_equal(np.sort(rows), np.arange(80))
    place = np.argsort(rows)
    # A copy among the others would say what the row is.
    np.testing.assert_allclose(log_p[place[60:]], log_p[place[:20]], rtol=1e-9)
    np.testing.assert_allclose(np.exp(log_p).sum(axis=1), 1.0)


def test_clear_classes_are_more_certain_and_noisy_ones_no_less_right():
    for noise, low, high in ((0.0, 0.3, 0.95), (0.9, 0.8, 2.0)):
        X, y = table(150, 1, noise=noise)
        new, truth = table(500, 2, noise=noise)
        model = quick().fit(X, y)
        assert low < model.temperature_ < high
        loss = log_loss(truth, model.predict_proba(new))
        model._model.temperature, model._model.label_noise = 1.0, 0.0
        assert loss < log_loss(truth, model.predict_proba(new)) + 0.005


def test_tables_without_a_row_to_leave_out():
    model = quick().fit([[1.0], [1.0]], ["a", "b"])
    assert model.temperature_ == pytest.approx(1.0, abs=0.01)  # by weight of two rows of a hundred
    assert model.label_noise_ < 0.01
    np.testing.assert_allclose(model.predict_proba([[1.0]]).sum(), 1.0)
    assert quick().fit([[1.0], [2.0], [3.0]], ["a", "a", "a"]).predict([[5.0]]) == "a"


def test_categories_are_not_left_out_as_a_whole():
    """Without a row of a category all classes look alike there, and temperatures would be low."""
    rng = np.random.default_rng(0)
    category, chances = rng.integers(0, 10, 400), rng.uniform(0.1, 0.9, 10)
    X, y = np.eye(10)[category], (rng.uniform(size=400) < chances[category]).astype(int)
    model = DeepWishartClassifier(random_state=0).fit(X, y)
    assert 0.8 < model.temperature_ < 1.3
    frequencies = np.bincount(category, y) / np.bincount(category)
    np.testing.assert_allclose(model.predict_proba(np.eye(10))[:, 1], frequencies, atol=0.1)

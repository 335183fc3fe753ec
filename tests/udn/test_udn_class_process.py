"""The Gaussian process of classes in the pool of ``UDNClassifier``."""

import pickle

import numpy as np
import pytest
from sklearn.metrics import log_loss

from skbayesnn import UDNClassifier
from skbayesnn.training import process
from skbayesnn.udn import classes_beside

QUICK = {"max_iter": 20, "n_networks": 2, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(150, 3))
    return X, np.array(["no", "yes"])[(np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)]


@pytest.fixture(scope="module")
def fitted(rows):
    return UDNClassifier(**QUICK).fit(*rows)


def test_probabilities_are_products_by_depth(rows, fitted):
    X, _ = rows
    assert 0.2 < fitted.gaussian_process_weight_ < 1  # few epochs make poor networks
    a, b = fitted._process.exponents
    assert fitted.gaussian_process_weight_ == pytest.approx(b / (a + b))
    alone = UDNClassifier(gaussian_process=False, **QUICK).fit(*rows)
    assert alone.gaussian_process_weight_ == 0
    g = fitted._process.process.probabilities(fitted._X_map.placed(X))
    by_depth, q = alone._depth_probabilities(X)
    both = by_depth**a * g**b
    expected = np.tensordot(q, both / both.sum(axis=-1, keepdims=True), axes=1)
    expected = (1.0 - fitted.label_noise_) * expected + fitted.label_noise_ / 2
    np.testing.assert_allclose(fitted.predict_proba(X), expected, rtol=1e-8)
    low, high = np.moveaxis(fitted.predict_quantiles(X, [1e-6, 1 - 1e-6]), -1, 0)
    assert np.all(low <= expected + 1e-9)
    assert np.all(high >= expected - 1e-9)


def test_a_stored_one_predicts_the_same(rows, fitted):
    stored = pickle.loads(pickle.dumps(fitted))
    assert stored._process.process.known is None
    np.testing.assert_array_equal(stored.predict_proba(rows[0]), fitted.predict_proba(rows[0]))


def test_smooth_boundaries_gain_and_others_lose_little():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(1200, 2))
    train, test = slice(300), slice(300, 1200)
    smooth = (np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1]) + 0.2 * rng.normal(size=1200) > 0) + 0
    squares = np.floor(2 * X).sum(axis=1).astype(int) % 2
    noise = rng.integers(0, 3, 1200)
    gains = []
    for y in (smooth, squares, noise):
        losses = []
        for gaussian_process in (True, False):
            model = UDNClassifier(gaussian_process=gaussian_process, n_networks=1, random_state=0)
            losses.append(log_loss(y[test], model.fit(X[train], y[train]).predict_proba(X[test])))
        gains.append(losses[1] - losses[0])
    assert gains[0] > 0.01
    assert gains[1] > -0.05
    assert gains[2] > -0.02


def test_weights_of_rows_are_numbers_of_rows(rows):
    """With the same rows held out; that these are the same is tested elsewhere."""
    X, y = rows
    codes = (y == "yes").astype(int)
    weights = np.random.default_rng(1).integers(1, 4, 150)
    many = np.repeat(np.arange(150), weights)
    found = []
    for rows_of, own in ((np.arange(150), weights.astype(float)), (many, np.ones(len(many)))):
        other = np.flatnonzero(rows_of >= 120)
        held = classes_beside.HeldOutClasses(
            np.flatnonzero(rows_of < 120), other, np.full((1, len(other), 2), 0.5), np.ones(1)
        )
        data = X[rows_of], codes[rows_of], own
        found.append(classes_beside.ClassesBeside(*data, [held], np.random.default_rng(0)))
    # Races and searches end where steps are small, not at the same digit.
    assert found[0].weight == pytest.approx(found[1].weight, abs=0.02)
    p = [each.process.probabilities(X) for each in found]
    np.testing.assert_allclose(p[0], p[1], atol=0.02)


@pytest.mark.parametrize(
    "settings", [{"normalize_X": False}, {"early_stopping": False}, {"gaussian_process": False}]
)
def test_where_there_is_none(rows, settings):
    model = UDNClassifier(**QUICK, **settings).fit(*rows)
    assert model.gaussian_process_weight_ == 0
    assert model._process is None


def test_images_one_class_and_very_many_have_none(rows):
    X, _ = rows
    few = {"max_iter": 1, "n_networks": 1, "random_state": 0}
    images = UDNClassifier(layer_generator="convolutional", image_shape=(3, 1), width=2, **few)
    assert images.fit(X, X[:, 0] > 0).gaussian_process_weight_ == 0
    assert UDNClassifier(**few).fit(X, np.zeros(150)).gaussian_process_weight_ == 0
    assert UDNClassifier(**few).fit(X, np.arange(150) % 21).gaussian_process_weight_ == 0
    assert UDNClassifier(**few).fit(X, np.arange(150) % 20)._process is not None


def test_a_class_that_no_network_is_trained_on(rows):
    X, _ = rows
    y = np.zeros(150, dtype=int)
    y[:60], y[0] = 1, 2
    model = UDNClassifier(**QUICK).fit(X, y)
    assert np.isfinite(model.predict_log_proba(X)).all()


def test_a_stream_takes_it_away(rows):
    X, y = rows
    model = UDNClassifier(**QUICK).fit(X, y)
    assert model.gaussian_process_weight_ > 0
    model.partial_fit(X, y)
    assert model.gaussian_process_weight_ == 0
    stream = UDNClassifier(**QUICK).partial_fit(X, y, classes=["no", "yes"])
    assert stream.gaussian_process_weight_ == 0


@pytest.mark.parametrize("value", [None, "yes", 2])
def test_it_is_on_or_off(rows, value):
    with pytest.raises(ValueError, match="'gaussian_process' parameter of UDNClassifier"):
        UDNClassifier(gaussian_process=value).fit(*rows)


def test_where_no_process_can_be_fitted_the_networks_are_alone(rows, monkeypatch):
    monkeypatch.setattr(process, "search", lambda *_: None)
    model = UDNClassifier(**QUICK).fit(*rows)
    assert model.gaussian_process_weight_ == 0
    assert np.isfinite(model.predict_proba(rows[0])).all()


def test_inputs_of_any_scale(rows):
    X, y = rows
    X = np.column_stack([1e6 * X, np.ones(150), X[:, 0]])
    p = UDNClassifier(**QUICK).fit(X, y).predict_proba(X + 1e9)
    assert np.isfinite(p).all()

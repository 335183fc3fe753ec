"""`partial_fit`, and what a pickle goes on from."""

import pickle

import numpy as np
import pytest
from toy_tables import spiral, wave

from skbayesnn.udn import UDNClassifier, UDNRegressor


def test_partial_fit_in_batches():
    model = UDNClassifier(learning_rate=0.005, random_state=0)
    for seed in range(60):
        X, y = spiral(2, 500, seed)
        model.partial_fit(X, y, classes=[0, 1])
    assert model.score(*spiral(2, 500, 999)) > 0.97
    assert model.n_samples_seen_ == 30_000
    assert model.n_iter_ == len(model.loss_curve_) == 60
    size = len(pickle.dumps(model))
    for seed in range(5):
        model.partial_fit(*spiral(2, 500, seed))
    assert len(pickle.dumps(model)) < size + 50_000  # bounded memory


def test_partial_fit_of_regression():
    model = UDNRegressor(learning_rate=0.005, random_state=0)
    for seed in range(60):
        model.partial_fit(*wave(300, seed))
    X, y = wave(300, 99)
    assert model.score(X, y) > 0.97
    assert np.median(model.predict(X, return_std=True)[1]) < 0.5
    with pytest.raises(ValueError, match="2 targets"):
        model.partial_fit(X, np.column_stack([y, y]))


def test_partial_fit_asks_for_classes():
    X, y = spiral(1, 20, 0)
    with pytest.raises(ValueError, match="classes must be passed"):
        UDNClassifier().partial_fit(X, y)
    with pytest.raises(ValueError, match="balanced"):
        UDNClassifier(class_weight="balanced").partial_fit(X, y, classes=[0, 1])
    model = UDNClassifier(random_state=0).partial_fit(X, y, classes=[0, 1, 2])
    assert model.predict_proba(X).shape == (20, 3)
    with pytest.raises(ValueError, match="labels that are not"):
        model.partial_fit(X, y + 2)
    with pytest.raises(ValueError, match="not the same"):
        model.partial_fit(X, y, classes=[0, 1])


def test_pickle_predicts_and_goes_on():
    X, y = spiral(2, 200, 0)
    model = UDNClassifier(max_iter=10, random_state=0).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))
    for m in (model, copy):
        m.partial_fit(X, y)
    np.testing.assert_array_equal(copy.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("n_networks", [1, 2])
def test_a_batch_that_diverges_leaves_the_networks_as_they_were(n_networks):
    X, y = wave(100)
    model = UDNRegressor(max_iter=10, n_networks=n_networks, random_state=0).fit(X, y)
    before, seen = model.predict(X), model.n_samples_seen_
    with pytest.raises(FloatingPointError, match="unchanged"):
        model.partial_fit(X, 1e30 * y)
    assert model.n_samples_seen_ == seen
    assert model.gaussian_process_weight_ > 0
    np.testing.assert_array_equal(model.predict(X), before)
    assert np.isfinite(model.partial_fit(X, y).predict(X)).all()


def test_a_first_batch_that_is_refused_leaves_nothing():
    X, y = spiral(1, 20, 0)
    model = UDNClassifier(random_state=0)
    with pytest.raises(ValueError, match="labels that are not"):
        model.partial_fit(X, y + 2, classes=[0, 1])
    assert model.partial_fit(X, y, classes=[0, 1]).predict(X).shape == (20,)

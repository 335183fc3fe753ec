"""The Gaussian process in the pool of ``UDNRegressor``."""

import pickle

import numpy as np
import pytest

from skbayesnn import UDNRegressor

QUICK = {"max_iter": 20, "n_networks": 2, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(150, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=150)


def test_predictions_are_the_pool_of_networks_and_processes(rows):
    X, y = rows
    model = UDNRegressor(**QUICK).fit(X, y)
    alone = UDNRegressor(gaussian_process=False, **QUICK).fit(X, y)
    weight = model.gaussian_process_weight_
    assert weight > 0.5  # few epochs make poor networks of a smooth function
    assert alone.gaussian_process_weight_ == 0
    known = (1 - weight) * np.exp(alone.log_predictive_density(X, y))
    members = model._members()
    for m in members:
        for taken in m._process.taken[0]:
            law = taken.law(m._X_map.placed(X), m._own_mixtures(X)[0].mean())
            known += taken.part / len(members) * np.exp(law.logpdf(y))
    seen = model._unseen(model._placed(X))[0] == 0
    assert seen.mean() > 0.9
    found = model.log_predictive_density(X, y)
    np.testing.assert_allclose(found[seen], np.log(known)[seen], rtol=1e-8)
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(stored.predict(X), model.predict(X))


def test_smooth_functions_gain_and_two_modes_lose_nothing():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(600, 2))
    train, test = slice(300), slice(300, 600)
    f = np.sin(3 * X[:, 0]) * np.cos(2 * X[:, 1])
    smooth = f + 0.1 * rng.normal(size=600)
    modes = f + rng.choice([-1.0, 1.0], size=600) + 0.1 * rng.normal(size=600)
    gains = []
    for y in (smooth, modes):
        scores = []
        for gaussian_process in (True, False):
            model = UDNRegressor(gaussian_process=gaussian_process, n_networks=1, random_state=0)
            model.fit(X[train], y[train])
            scores.append(model.log_predictive_density(X[test], y[test]).mean())
        gains.append(scores[0] - scores[1])
    assert gains[0] > 0.1
    assert gains[1] > -0.05


def test_each_target_has_its_own_weight(rows):
    X, y = rows
    rng = np.random.default_rng(1)
    branches = rng.choice([-1.0, 1.0], 150) * (2 + X[:, 0]) + 0.05 * rng.normal(size=150)
    model = UDNRegressor(**QUICK).fit(X, np.column_stack([y, branches]))
    weights = model.gaussian_process_weight_
    assert weights.shape == (2,)
    assert weights[0] > 0.9
    assert weights[1] < 0.8
    assert [len(law) for law in model.predict_distribution(X[:4])] == [4, 4]


@pytest.mark.parametrize(
    "settings", [{"normalize_X": False}, {"early_stopping": False}, {"gaussian_process": False}]
)
def test_where_there_is_none(rows, settings):
    X, y = rows
    model = UDNRegressor(**QUICK, **settings).fit(X, y)
    assert model.gaussian_process_weight_ == 0
    assert all(member._process is None for member in model._members())


def test_images_have_none():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 16))
    model = UDNRegressor(
        layer_generator="convolutional", image_shape=(4, 4), width=4, max_iter=1, random_state=0
    )
    assert model.fit(X, X[:, 0]).gaussian_process_weight_ == 0


def test_a_stream_has_none_and_takes_it_away(rows):
    X, y = rows
    model = UDNRegressor(**QUICK)
    assert model.partial_fit(X, y).gaussian_process_weight_ == 0
    model.fit(X, y)
    assert model.gaussian_process_weight_ > 0
    model.partial_fit(X, y)
    assert model.gaussian_process_weight_ == 0
    networks = np.mean([m._own_mixtures(X)[0].mean() for m in model._members()], axis=0)
    inside = np.abs(X).max(axis=1) < 1
    np.testing.assert_allclose(model.predict(X)[inside], networks[inside], rtol=1e-6)


@pytest.mark.parametrize("value", [None, "yes", 2])
def test_it_is_on_or_off(rows, value):
    with pytest.raises(ValueError, match="'gaussian_process' parameter of UDNRegressor"):
        UDNRegressor(gaussian_process=value).fit(*rows)


@pytest.fixture(scope="module")
def many_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(2000, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=2000)


def test_the_network_before_its_refit_keeps_a_part_of_large_tables(many_rows):
    X, y = many_rows
    settings = {"max_iter": 2, "width": 4, "gaussian_process": False, "random_state": 0}
    model = UDNRegressor(**settings).fit(X, y)
    before = UDNRegressor(refit=False, **settings).fit(X, y)
    assert before._before is None
    now = model._mixtures_of_network(model._scaled(X))[0]
    seen = model._unseen(model._placed(X))[0] == 0
    expected = 0.7 * now.cdf(y) + 0.3 * before._own_mixtures(X)[0].cdf(y)
    found = model.predict_distribution(X).cdf(y)
    np.testing.assert_allclose(found[seen], expected[seen], rtol=1e-5)
    assert np.mean(seen) > 0.9
    assert np.abs(now.cdf(y) - found).max() > 1e-3
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(stored.predict(X), model.predict(X))
    model.partial_fit(X, y)
    assert model._before is None
    assert model.fit(X[:1999], y[:1999])._before is None

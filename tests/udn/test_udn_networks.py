"""Several networks in one estimator, pooled in equal parts."""

import pickle
import warnings

import numpy as np
import pytest
from callbacks import StopAfter
from sklearn.base import clone
from toy_tables import spiral, wave

from skbayesnn._extremes import FarTargets
from skbayesnn._validation import InvalidParameterError
from skbayesnn.udn import UDNClassifier, UDNRegressor


def test_the_number_of_networks_goes_by_the_rows_alone():
    model = UDNRegressor()
    numbers = [len(wave(n)[0]) and model._number_of_networks(n) for n in (1, 499, 500, 999, 1000)]
    assert numbers == [4, 4, 3, 3, 2]
    assert [model._number_of_networks(n) for n in (1999, 2000, 10**6)] == [2, 1, 1]
    images = UDNClassifier(layer_generator="convolutional", image_shape=(8, 8))
    assert images._number_of_networks(100) == 1
    assert UDNRegressor(n_networks=7)._number_of_networks(10**6) == 7
    X, y = wave(60)
    with pytest.raises(InvalidParameterError, match="n_networks"):
        UDNRegressor(n_networks=0).fit(X, y)


def test_densities_of_a_pool_are_the_mean_of_its_networks():
    X, y = wave(80)
    settings = {"max_iter": 8, "gaussian_process": False, "random_state": 0}
    pool = UDNRegressor(n_networks=3, **settings).fit(X, y)
    own = [member._own_mixtures(X)[0].logpdf(y) for member in pool._members()]
    np.testing.assert_allclose(
        pool.log_predictive_density(X, y), np.log(np.mean(np.exp(own), axis=0))
    )
    assert len(own) == 3
    assert min(np.abs(own[0] - own[1]).max(), np.abs(own[1] - own[2]).max()) > 0.01
    one = UDNRegressor(n_networks=1, **settings).fit(X, y)
    np.testing.assert_array_equal(one.log_predictive_density(X, y), own[0])
    assert one.loss_curve_ == pool.loss_curve_
    assert one.n_iter_ == pool.n_iter_
    depths = [member._depth.probabilities() for member in pool._members()]
    posterior = np.zeros(pool.n_layers_)
    for q in depths:
        posterior[: len(q)] += q / 3
    np.testing.assert_allclose(pool.depth_posterior_, posterior)
    np.testing.assert_allclose(pool.expected_depth_, posterior @ np.arange(1, len(posterior) + 1))


def test_probabilities_of_a_pool_are_the_mean_of_its_networks():
    X, y = spiral(2, 120, 0)
    pool = UDNClassifier(gaussian_process=False, n_networks=2, max_iter=10, random_state=0)
    pool.fit(X, y)
    p = []
    for member in pool._members():
        logits = member._network.outputs(member._scaled(X), len(member._depths()))
        odds = np.exp((logits[..., 1] - logits[..., 0]) / member._temperature)
        p.append(member._depths() @ (odds / (1 + odds)))
    np.testing.assert_allclose(pool.predict_proba(X)[:, 1], np.mean(p, axis=0))
    np.testing.assert_allclose(
        pool.temperature_, np.mean([member._temperature for member in pool._members()])
    )


def test_noise_of_a_pool_is_the_mean_by_depth():
    X, y = wave(80)
    model = UDNRegressor(
        likelihood="gaussian", n_networks=2, max_iter=8, depth_prior="point", max_depth=2,
        random_state=0,
    ).fit(X, 10 * y)  # fmt: skip
    own = [
        np.exp(member._network.shared(2)[1, 0]) * member._y_scale[0] ** 2
        for member in model._members()
    ]
    np.testing.assert_allclose(model.noise_variance_[1], np.mean(own))


def test_a_pool_goes_on_and_is_pickled_whole():
    X, y = wave(80)
    model = UDNRegressor(n_networks=2, max_iter=5, random_state=0).fit(X, y)
    before = [member._network.theta.copy() for member in model._members()]
    copy = pickle.loads(pickle.dumps(model))
    for m in (model, copy):
        m.partial_fit(X, y)
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    for theta, member in zip(before, model._members(), strict=True):
        assert not np.array_equal(theta, member._network.theta[: len(theta)])
        assert member.n_samples_seen_ == 160
    stream = clone(model).partial_fit(X, y)
    assert len(stream._members()) == 2
    assert len(UDNRegressor().partial_fit(X, y)._members()) == 1


def test_callbacks_stop_a_pool_in_any_network():
    X, y = wave(60)
    options = {"n_networks": 3, "max_iter": 10, "refit": False, "n_iter_no_change": 10}
    stop = StopAfter(35)  # the first network is trained twice, without waves of the input and with
    model = UDNRegressor(random_state=0, **options).set_callbacks(stop).fit(X, y)
    assert stop.seen == 35
    assert [member.n_iter_ for member in model._members()] == [20, 10, 5]
    assert np.isfinite(model.predict(X)).all()


def test_an_outlier_among_the_rows_held_out_leaves_what_was_learned_before(monkeypatch):
    monkeypatch.setattr("skbayesnn.udn.regressor.clipped_targets", lambda y, *_: (y, FarTargets()))
    X, y = wave(60)
    scales = np.abs(y).max()
    for row in range(60):  # until one is held out, and refitting to it cannot work
        far = y.copy()
        far[row] = 1e12 * scales
        model = UDNRegressor(n_networks=1, max_iter=20, random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, far)
        if any("network as it was before is kept" in str(w.message) for w in caught):
            break
    else:
        pytest.fail("no refit failed")
    assert np.abs(model.predict(X)).max() < 10 * scales

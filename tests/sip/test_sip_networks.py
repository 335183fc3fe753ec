"""Several networks of one target: what is pooled, how they start, and what streams do."""

import pickle

import numpy as np
import pytest
from sip_models import SMALL, wave
from sklearn.base import clone
from sklearn.callback import ScoringMonitor

from skbayesnn._validation import InvalidParameterError
from skbayesnn.predictive import linear_pool
from skbayesnn.sip import SIPRegressor

MODEL = SIPRegressor(**{**SMALL, "n_networks": 3}, max_iter=40, random_state=0)


@pytest.fixture(scope="module")
def pool():
    X, y = wave(80)
    return clone(MODEL).fit(X, y), X, y


def test_networks_are_pooled_in_equal_parts(pool):
    model, X, y = pool
    assert len(model.estimators_) == 3
    parts = [member.predict_distribution(X) for member in model.estimators_]
    # 100 draws in all, or as few more as make equal shares.
    assert [len(member._predictor.w) for member in model.estimators_] == [34, 34, 34]
    expected = linear_pool(parts, [1 / 3, 1 / 3, 1 / 3])
    found = model.predict_distribution(X)
    np.testing.assert_allclose(found.logpdf(y), expected.logpdf(y))
    assert model.noise_variance_ == pytest.approx(
        np.mean([member.noise_variance_ for member in model.estimators_])
    )
    assert model.n_samples_seen_ == 80
    assert model.n_iter_ == len(model.loss_curve_) == 40
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_the_first_is_the_network_of_a_fit_of_one(pool):
    model, X, y = pool
    one = clone(MODEL).set_params(n_networks=1, n_posterior_draws=34).fit(X, y)
    np.testing.assert_array_equal(model.estimators_[0].predict(X), one.predict(X))
    np.testing.assert_array_equal(model.inducing_inputs_, one.inducing_inputs_)
    assert model.loss_curve_ == one.loss_curve_
    assert len({tuple(member.loss_curve_) for member in model.estimators_}) == 3


def test_priors_take_turns(pool):
    model, X, y = pool
    assert [member.prior for member in model.estimators_] == ["bnn", "smooth", "bnn"]
    chosen = clone(MODEL).set_params(prior="smooth", max_iter=2).fit(X, y)
    assert [member.prior for member in chosen.estimators_] == ["smooth"] * 3


def test_draws_are_of_one_network_each(pool):
    model, X, _ = pool
    draws = model.sample_y(X[:3], 6000, random_state=1)
    levels = np.array([0.1, 0.5, 0.9])
    expected = model.predict_quantiles(X[:3], levels)
    found = (draws[:, :, None] <= expected[:, None, :]).mean(axis=1)
    # The mixture has 102 components itself: four standard errors of both.
    error = 4 * np.sqrt(levels * (1 - levels) * (1 / 6000 + 1 / 102))
    assert np.all(np.abs(found - levels) < error)
    # The same input twice: functions are joint, noise is not.
    twice = model.sample_prior(X[[0, 0]], 7, random_state=2)
    np.testing.assert_allclose(twice[0], twice[1], rtol=1e-12)
    # One draw alone is of any network: not always of the first.
    lone = [model.sample_prior(X[:1], random_state=seed)[0, 0] for seed in range(60)]
    seeds = [np.random.RandomState(seed) for seed in range(60)]
    assert 8 < sum(rng.uniform() < 1 / 3 for rng in seeds) < 35
    of_the_first = [
        value == model.estimators_[0].sample_prior(X[:1], 1, rng.randint(2**31 - 1))[0, 0]
        for value, rng in zip(lone, _after_the_choice(60), strict=True)
    ]
    assert 8 < sum(of_the_first) < 35


def _after_the_choice(n):
    """The generators of ``n`` seeds, as the first network finds them."""
    for seed in range(n):
        rng = np.random.RandomState(seed)
        rng.uniform()
        rng.permutation(1)
        yield rng


def test_the_number_of_cores_changes_nothing(pool):
    model, X, y = pool
    other = clone(MODEL).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_several_targets_pool_networks_each(pool):
    model, X, y = pool
    both = clone(MODEL).fit(X, np.column_stack([y, 2.0 * y]))
    np.testing.assert_array_equal(both.predict(X)[:, 0], model.predict(X))
    assert both.noise_variance_[0] == model.noise_variance_
    assert [len(target.estimators_) for target in both.estimators_] == [3, 3]


def test_streams(pool):
    _, X, y = pool
    # By "auto" a stream has one network.
    one = clone(MODEL).set_params(n_networks="auto").partial_fit(X, y)
    assert not hasattr(one, "estimators_")
    several = clone(MODEL).partial_fit(X, y).partial_fit(X, y)
    assert several.n_samples_seen_ == 160
    assert [member.n_iter_ for member in several.estimators_] == [2, 2, 2]
    # After a fit all networks go on.
    model = clone(MODEL).fit(X, y).partial_fit(X, y)
    assert [member.n_iter_ for member in model.estimators_] == [41, 41, 41]
    before = model.predict(X)
    model.estimators_[2]._inference.settings.kl_weight = np.nan
    with pytest.raises(FloatingPointError, match="unchanged"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)
    with pytest.raises(ValueError, match="y has 2 targets, but 1 at the first call"):
        model.partial_fit(X, np.column_stack([y, y]))


def test_a_later_fit_forgets_the_networks(pool):
    _, X, y = pool
    model = clone(MODEL).set_params(max_iter=2).fit(X, y)
    model.set_params(n_networks=1).fit(X, y)
    assert not hasattr(model, "estimators_")
    assert model.predict(X).shape == (80,)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_callbacks_see_every_epoch_of_every_network(pool, n_jobs):
    _, X, y = pool
    monitor = ScoringMonitor(scoring="r2")
    model = clone(MODEL).set_params(max_iter=10, n_jobs=n_jobs).set_callbacks(monitor).fit(X, y)
    scores = monitor.get_logs().data_as_pandas["r2"]
    assert scores.nunique() == 30
    # That of a network as it stands: at its end the score of the member.
    for member in model.estimators_:
        assert np.isclose(scores, member.score(X, y), rtol=1e-9).any()


def test_the_number_is_checked():
    with pytest.raises(InvalidParameterError, match="n_networks"):
        SIPRegressor(n_networks=0).fit(*wave(20))

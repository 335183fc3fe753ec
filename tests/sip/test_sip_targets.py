"""Several targets: each has the law of a fit to it alone."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sip_models import SMALL, wave
from sklearn.base import clone
from sklearn.callback import ScoringMonitor
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags

from skbayesnn import EnsembleRegressor
from skbayesnn.numerics.copies import noisy_counts
from skbayesnn.sip import SIPRegressor

MODEL = SIPRegressor(**SMALL, max_iter=60, random_state=0)


def targets(n=60):
    X, y = wave(n)
    return X, np.column_stack([y, 100.0 - 30.0 * X[:, 0] + np.random.default_rng(1).normal(size=n)])


def summaries(model, X):
    d = model.predict_distribution(X)
    return np.array([[one.mean(), one.std()] for one in (d if isinstance(d, list) else [d])])


def test_each_target_has_the_law_of_a_fit_to_it_alone():
    X, Y = targets()
    weights = np.random.default_rng(2).integers(1, 4, len(X)).astype(float)
    model = clone(MODEL).set_params(early_stopping=True).fit(X, Y, sample_weight=weights)
    for t, member in enumerate(model.estimators_):
        alone = clone(MODEL).set_params(early_stopping=True).fit(X, Y[:, t], sample_weight=weights)
        expected = summaries(alone, X)[0]
        np.testing.assert_array_equal(summaries(model, X)[t], expected)
        np.testing.assert_array_equal(summaries(member, X)[0], expected)
        assert model.noise_variance_[t] == alone.noise_variance_
    assert model.n_samples_seen_ == pytest.approx(noisy_counts(weights).sum())
    assert model.n_iter_ == max(member.n_iter_ for member in model.estimators_)


def test_shapes_and_scores():
    X, Y = targets()
    model = clone(MODEL).fit(X, pd.DataFrame(Y, columns=["a", "b"]))
    assert get_tags(model).target_tags.multi_output
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == Y.shape
    assert model.predict_interval(X).shape == (60, 2, 2)
    assert model.predict_quantiles(X, [0.1, 0.5, 0.9]).shape == (60, 2, 3)
    assert model.score(X, Y) > 0.8
    assert not hasattr(model, "loss_curve_")
    for call in (model.sample_y, model.sample_prior, lambda X: model.log_predictive_density(X, Y)):
        with pytest.raises(ValueError, match="not available with several targets"):
            call(X)
    assert model.estimators_[1].sample_y(X, 3).shape == (60, 3)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict(X), mean)


def test_the_number_of_cores_changes_nothing():
    X, Y = targets()
    a, b = (clone(MODEL).set_params(n_jobs=n).fit(X, Y).predict(X) for n in (None, 2))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", [None, np.random.RandomState(0)])
def test_without_a_seed_all_targets_have_a_common_one(seed):
    X, Y = targets()
    model = clone(MODEL).set_params(random_state=seed, max_iter=2)
    seeds = [[m.random_state for m in model.fit(X, Y).estimators_] for _ in range(2)]
    assert seeds[0][0] == seeds[0][1]
    assert seeds[0] != seeds[1]


def test_one_column_is_one_target():
    X, Y = targets()
    with pytest.warns(DataConversionWarning):
        model = clone(MODEL).fit(X, Y[:, :1])
    np.testing.assert_array_equal(model.predict(X), clone(MODEL).fit(X, Y[:, 0]).predict(X))


def test_a_later_fit_forgets_the_number_of_targets():
    X, Y = targets()
    model = clone(MODEL).fit(X, Y).fit(X, Y[:, 0])
    assert model.predict(X).shape == (60,)
    assert model.sample_y(X).shape == (60, 1)
    assert not hasattr(model, "estimators_")
    model.fit(X, Y)
    assert model.predict(X).shape == (60, 2)
    with pytest.raises(ValueError, match="'alpha_divergence'"):
        model.set_params(alpha_divergence=2.0).fit(X, Y[:, 0])
    assert model.predict(X).shape == (60, 2)


def test_streams():
    X, Y = targets(300)
    model, alone = clone(MODEL), clone(MODEL)
    for _ in range(3):
        model.partial_fit(X, Y)
        alone.partial_fit(X, Y[:, 1])
    np.testing.assert_array_equal(model.predict(X)[:, 1], alone.predict(X))
    assert model.n_samples_seen_ == 900
    with pytest.raises(ValueError, match="y has 1 targets, but 2 at the first call"):
        model.partial_fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="y has 2 targets, but 1 at the first call"):
        alone.partial_fit(X, Y)
    before = model.predict(X)
    model.estimators_[1]._inference.settings.kl_weight = np.nan
    with pytest.raises(FloatingPointError, match="unchanged"):
        model.partial_fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_callbacks_searches_and_ensembles():
    X, Y = targets()
    monitor = ScoringMonitor(scoring="r2")
    clone(MODEL).set_params(max_iter=5).set_callbacks(monitor).fit(X, Y)
    search = GridSearchCV(
        clone(MODEL).set_params(max_iter=5), {"kl_weight": [0.5, 1.0]}, cv=2, error_score="raise"
    ).fit(X, Y)
    assert np.isfinite(search.best_score_)
    pooled = EnsembleRegressor(clone(MODEL).set_params(max_iter=5), n_estimators=2, random_state=0)
    assert pooled.fit(X, Y).predict(X).shape == (60, 2)

"""The ensemble: its mixture, its seeds, and scikit-learn's checks, whole."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn import EnsembleRegressor, UDNRegressor
from skbayesnn.ensemble import linear_pool
from skbayesnn.predictive import PredictiveMixture

MEMBER = UDNRegressor(max_iter=10)


def data(n=60, n_targets=1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.sin(X @ rng.normal(size=(2, n_targets))) + 0.1 * rng.normal(size=(n, n_targets))
    return X, y[:, 0] if n_targets == 1 else y


@parametrize_with_checks([EnsembleRegressor(MEMBER, n_estimators=2)])
def test_sklearn(estimator, check):
    check(estimator)


def test_pool_of_mixtures_with_different_weights_is_their_average():
    rng = np.random.default_rng(0)
    by_row = PredictiveMixture([[0.2, 0.8], [0.5, 0.5]], rng.normal(size=(2, 2)), np.ones((2, 2)))
    shared = PredictiveMixture([1.0], rng.normal(size=(2, 1)), np.full((2, 1), 0.5))
    y = np.array([0.3, -0.2])
    expected = np.log(0.5 * np.exp(by_row.logpdf(y)) + 0.5 * np.exp(shared.logpdf(y)))
    np.testing.assert_allclose(linear_pool([by_row, shared]).logpdf(y), expected, rtol=1e-12)


def test_density_is_the_mean_of_the_members():
    X, y = data()
    model = EnsembleRegressor(MEMBER, n_estimators=3, random_state=0).fit(X, y)
    members = [np.exp(m.log_predictive_density(X, y)) for m in model.estimators_]
    np.testing.assert_allclose(np.exp(model.log_predictive_density(X, y)), np.mean(members, axis=0))
    np.testing.assert_allclose(
        model.predict(X), np.mean([m.predict(X) for m in model.estimators_], axis=0)
    )
    assert len({m.random_state for m in model.estimators_}) == 3


def test_same_seed_same_result_whatever_n_jobs():
    X, y = data()
    models = [
        EnsembleRegressor(
            make_pipeline(StandardScaler(), MEMBER), n_estimators=2, n_jobs=jobs, random_state=3
        ).fit(X, y)
        for jobs in (None, 2)
    ]
    np.testing.assert_array_equal(*[model.predict(X) for model in models])
    # Members of a pipeline have no sample_y of their own.
    assert models[0].sample_y(X, 3).shape == (60, 3)


def test_samples_take_turns_among_the_members():
    X, y = data()
    model = EnsembleRegressor(MEMBER, n_estimators=2, random_state=0).fit(X, y)
    draws = model.sample_y(X[:5], 4000, random_state=0)
    mixture = model.predict_distribution(X[:5])
    # Four standard errors of a mean of 4000 draws.
    assert np.all(np.abs(draws.mean(axis=1) - mixture.mean()) < 4 * mixture.std() / np.sqrt(4000))
    with pytest.raises(ValueError, match="n_samples must be a positive int"):
        model.sample_y(X, 0)


def test_several_targets():
    X, y = data(n_targets=2)
    model = EnsembleRegressor(MEMBER, n_estimators=2, random_state=0).fit(X, y)
    assert model.predict(X).shape == (60, 2)
    assert [len(m) for m in model.predict_distribution(X)] == [60, 60]
    with pytest.raises(ValueError, match="sample_y: not available with several targets"):
        model.sample_y(X)


def test_partial_fit_goes_on_with_the_same_members():
    X, y = data()
    model = EnsembleRegressor(MEMBER, n_estimators=2, random_state=0).partial_fit(X, y)
    first, before = model.estimators_, model.predict(X)
    model.partial_fit(X, y)
    assert all(a is b for a, b in zip(first, model.estimators_, strict=True))
    assert np.abs(model.predict(X) - before).max() > 0


def test_an_estimator_without_distributions_is_refused():
    X, y = data()
    model = EnsembleRegressor(RandomForestRegressor())
    assert not hasattr(model, "partial_fit")
    with pytest.raises(ValueError, match=r"'estimator' parameter .* must be a regressor of skb"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        EnsembleRegressor(MEMBER).predict(X)

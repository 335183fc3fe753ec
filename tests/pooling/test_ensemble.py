"""The ensemble: its mixture, its seeds, and scikit-learn's checks, whole."""

import warnings

import numpy as np
import pytest
import sklearn
from linear import BayesianLinear
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn import EnsembleRegressor, SIPRegressor, UDNRegressor
from skbayesnn._validation import InvalidParameterError
from skbayesnn.predictive import PredictiveMixture, linear_pool

MEMBER = UDNRegressor(max_iter=10)


def data(n=60, n_targets=1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    y = np.sin(X @ rng.normal(size=(2, n_targets))) + 0.1 * rng.normal(size=(n, n_targets))
    return X, y[:, 0] if n_targets == 1 else y


@parametrize_with_checks(
    [EnsembleRegressor(MEMBER, n_estimators=2)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": "a weight of k and k rows are shuffled "
        "into other batches: see the members' own tests of weights"
    },
)
def test_sklearn(estimator, check):
    check(estimator)


def test_pool_of_mixtures_with_different_weights_is_their_average():
    rng = np.random.default_rng(0)
    by_row = PredictiveMixture([[0.2, 0.8], [0.5, 0.5]], rng.normal(size=(2, 2)), np.ones((2, 2)))
    shared = PredictiveMixture([1.0], rng.normal(size=(2, 1)), np.full((2, 1), 0.5))
    y = np.array([0.3, -0.2])
    expected = np.log(0.5 * np.exp(by_row.logpdf(y)) + 0.5 * np.exp(shared.logpdf(y)))
    np.testing.assert_allclose(
        linear_pool([by_row, shared], [0.5, 0.5]).logpdf(y), expected, rtol=1e-12
    )


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
    with pytest.raises(ValueError, match="sample_y is not available with several targets"):
        model.sample_y(X)


def test_partial_fit_goes_on_with_every_member():
    X, y = data()
    model = EnsembleRegressor(MEMBER, n_estimators=2, random_state=0).partial_fit(X, y)
    single = clone(MEMBER).set_params(random_state=model.estimators_[1].random_state)
    model.partial_fit(X, y)
    single.partial_fit(X, y).partial_fit(X, y)
    np.testing.assert_array_equal(model.estimators_[1].predict(X), single.predict(X))


def test_a_partial_fit_that_fails_leaves_every_member_as_it_was(monkeypatch):
    X, y = data()
    model = EnsembleRegressor(MEMBER, n_estimators=2, random_state=0).partial_fit(X, y)
    before = model.predict(X)
    go_on, calls = UDNRegressor.partial_fit, []

    def fails_at_the_second(self, *args):
        calls.append(self)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return go_on(self, *args)

    monkeypatch.setattr(UDNRegressor, "partial_fit", fails_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_the_point_is_the_members_unless_it_is_given():
    X, y = data()
    member = clone(MEMBER).set_params(point_estimate="median")
    model = EnsembleRegressor(member, n_estimators=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.predict_quantiles(X, 0.5)[:, 0])
    model.set_params(point_estimate="mean")
    np.testing.assert_array_equal(model.predict(X), model.predict_distribution(X).mean())


@pytest.mark.parametrize("routing", [False, True])
def test_weights_reach_the_members(routing):
    X, y = data()
    weights = np.arange(60) % 3
    pipeline = make_pipeline(StandardScaler(), clone(MEMBER))
    with sklearn.config_context(enable_metadata_routing=routing):
        if routing:
            pipeline[-1].set_fit_request(sample_weight=True)
            pipeline[0].set_fit_request(sample_weight=False)
        model = EnsembleRegressor(pipeline, n_estimators=2, random_state=0)
        model.fit(X, y, sample_weight=weights)
    scaled = StandardScaler().fit_transform(X)
    seed = model.estimators_[0][-1].random_state
    single = clone(MEMBER).set_params(random_state=seed).fit(scaled, y, sample_weight=weights)
    np.testing.assert_array_equal(model.estimators_[0].predict(X), single.predict(scaled))


class Counter:
    """Counts the tasks that begin."""

    def __init__(self):
        self.names = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        self.names.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        return False


def test_callbacks_see_the_members():
    X, y = data()
    counter = Counter()
    EnsembleRegressor(MEMBER, n_estimators=3).set_callbacks(counter).fit(X, y)
    assert counter.names.count("member") == 3


@pytest.mark.parametrize("estimator", [None, SIPRegressor, "SIPRegressor"])
def test_what_is_no_estimator_is_refused_by_name(estimator):
    with pytest.raises(InvalidParameterError, match=r"'estimator' parameter .* must be a regress"):
        EnsembleRegressor(estimator).fit(*data())


def test_an_estimator_without_distributions_is_refused():
    X, y = data()
    model = EnsembleRegressor(RandomForestRegressor())
    assert not hasattr(model, "partial_fit")
    with pytest.raises(ValueError, match=r"'estimator' parameter .* must be a regressor of skb"):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        EnsembleRegressor(MEMBER).predict(X)


class Wary(BayesianLinear):
    def fit(self, X, y):
        warnings.warn("no end in sight", ConvergenceWarning, stacklevel=2)
        return super().fit(X, y)


class WaryNetworks(SIPRegressor):
    def fit(self, X, y, sample_weight=None):
        if self.n_networks == 1:  # one of those that are pooled
            warnings.warn("no end in sight", ConvergenceWarning, stacklevel=2)
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("kind", ["ensemble", "networks"])
@pytest.mark.filterwarnings("always")
def test_warnings_of_members_arrive_once_from_any_process(kind, n_jobs):
    X, y = data()
    if kind == "ensemble":
        model, name = EnsembleRegressor(Wary(), n_estimators=3, n_jobs=n_jobs), "Wary"
    else:
        model, name = WaryNetworks(n_networks=3, max_iter=2, n_jobs=n_jobs), "WaryNetworks"
    with pytest.warns(ConvergenceWarning) as told:
        model.fit(X, y)
    (only,) = (warning for warning in told if warning.category is ConvergenceWarning)
    assert str(only.message) == f"The member '{name}' warned in 3 of 3 fits, first: no end in sight"
    assert only.filename == __file__

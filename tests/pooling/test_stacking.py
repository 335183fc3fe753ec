"""The stack: its weights, members of every kind, members that fail, and scikit-learn's checks."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from linear import BayesianLinear
from quantiles import Quantiles
from scipy import stats
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit, cross_validate
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn import StackingDistributionRegressor
from skbayesnn.metrics import crps_scorer, log_predictive_density_scorer
from skbayesnn.pooling import member_fits
from skbayesnn.pooling.copies import distinct_rows
from skbayesnn.pooling.default_members import default_members, default_splitter
from skbayesnn.pooling.laws import kind_of
from skbayesnn.pooling.out_of_fold import folds_of
from skbayesnn.pooling.weights import log_score_weights
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.training.members import recorded_warnings

LINES = [("bayes", BayesianRidge()), ("ols", LinearRegression())]


def data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, X @ [1.0, -2.0] + 0.3 * rng.normal(size=n)


class Mean(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class Broken(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        raise ArithmeticError("out of luck")

    def predict(self, X):
        return np.zeros(len(X))


@parametrize_with_checks(
    [StackingDistributionRegressor([("ols", LinearRegression()), ("ridge", Ridge())], cv=2)]
)
def test_sklearn(estimator, check):
    check(estimator)


def test_the_better_member_has_the_weight():
    X, y = data()
    members = [*LINES, ("mean", Mean())]
    model = StackingDistributionRegressor(members, random_state=0).fit(X, y)
    assert model.weights_[2] == 0
    assert len(model.estimators_) == np.sum(model.weights_ > 0)
    assert model.cv_log_densities_.shape == (3, 200)
    assert model.cv_log_densities_[0].mean() > model.cv_log_densities_[2].mean() + 1
    new, y_new = data(1000, 1)
    # The truth has N(0, 0.3²) errors; 200 rows cost a few hundredths of a nat.
    truth = stats.norm.logpdf(y_new, new @ [1.0, -2.0], 0.3).mean()
    assert truth - 0.05 < log_predictive_density_scorer(model, new, y_new) < truth


@pytest.mark.parametrize("objective", ["log_score", "crps"])
@pytest.mark.parametrize("refit", [True, False])
def test_the_pool_is_that_of_its_members(objective, refit):
    X, y = data()
    members = [("a", BayesianLinear((0.1, 10.0))), ("b", KNeighborsRegressor(20))]
    model = StackingDistributionRegressor(
        members, objective=objective, adjust_spread=False, refit=refit, cv=3, random_state=0
    ).fit(X, y)
    fits = [model.estimators_[0]] if refit else model.estimators_[0]
    share = model.member_weights(X[:9])[:, 0]
    density = np.mean([np.exp(m.predict_distribution(X[:9]).logpdf(y[:9])) for m in fits], axis=0)
    got = np.exp(model.log_predictive_density(X[:9], y[:9]))
    if model.weights_[0] == 1.0:
        np.testing.assert_allclose(got, density, rtol=1e-12)
    else:
        assert np.all(got >= share * density * (1 - 1e-12))
    assert model.weights_.sum() == pytest.approx(1.0)


def test_out_of_fold_densities_are_those_of_fits_to_the_other_rows():
    X, y = data(60)
    splitter = KFold(3)
    model = StackingDistributionRegressor([("a", BayesianLinear())], cv=splitter).fit(X, y)
    for train, test in splitter.split(X):
        expected = BayesianLinear().fit(X[train], y[train]).log_predictive_density(X[test], y[test])
        np.testing.assert_array_equal(model.cv_log_densities_[0, test], expected)
    np.testing.assert_array_equal(model.weights_, [1.0])


def test_rows_of_little_weight_do_not_widen_a_point_regressor():
    X, y = data(400)
    few = np.arange(400) % 4 == 0
    y = y + np.where(few, 50.0, 0.0) * np.random.default_rng(1).normal(size=400)
    weights = np.where(few, 1e-6, 1.0)
    members = [("ols", LinearRegression())]
    stack = StackingDistributionRegressor(members, random_state=0).fit(X, y, weights)
    # The noise of the others is 0.3.
    assert stack.predict(X, return_std=True)[1].max() < 0.5


def test_a_single_test_row_cannot_judge_points():
    X, y = data(20)
    cv = [(np.arange(19), np.array([19]))]
    stack = StackingDistributionRegressor([("ols", LinearRegression())], cv=cv, random_state=0)
    with pytest.raises(ValueError, match="two test rows at least"):
        stack.fit(X, y)


@pytest.mark.parametrize(
    ("member", "kind"),
    [
        (BayesianLinear(), "distribution"),
        (BayesianRidge(), "std"),
        (make_pipeline(StandardScaler(), BayesianRidge()), "std"),
        (Quantiles(), "quantiles"),
        (make_pipeline(StandardScaler(), make_pipeline(BayesianRidge())), "std"),
        (GridSearchCV(BayesianRidge(), {"tol": [0.1, 0.01]}), "std"),
        (make_pipeline(StandardScaler(), GridSearchCV(BayesianLinear(), {})), "distribution"),
        (LinearRegression(), "point"),
        # Theirs do not pass keywords on to the regressors inside.
        (BaggingRegressor(BayesianRidge(), 3), "point"),
        (AdaBoostRegressor(n_estimators=3), "point"),
        (StackingRegressor([("a", LinearRegression())]), "point"),
    ],
)
@pytest.mark.parametrize("refit", [True, False])
def test_kinds_of_members(member, kind, refit):
    X, y = data(60)
    assert kind_of(clone(member).fit(X, y)) == kind
    model = StackingDistributionRegressor([("one", member)], cv=3, refit=refit).fit(X, y)
    assert model.failures_ == {}
    assert np.isfinite(model.predict_interval(X)).all()


class Modest(BaseEstimator):
    """A regressor that does not say that it is one."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_a_regressor_need_not_say_that_it_is_one():
    X, y = data(60)
    members = [("a", Modest()), ("b", make_pipeline(StandardScaler(), Modest()))]
    model = StackingDistributionRegressor(members, cv=3, random_state=0).fit(X, y)
    assert model.failures_ == {}
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.member_weights(X[0])


class Column(LinearRegression):
    """Predicts a column, as some regressors from elsewhere do."""

    def predict(self, X):
        return super().predict(X)[:, None]


def test_points_may_be_a_column():
    X, y = data(60)
    flat, column = [
        StackingDistributionRegressor([("m", member)], cv=3, random_state=0).fit(X, y)
        for member in (LinearRegression(), Column())
    ]
    np.testing.assert_array_equal(column.predict_interval(X), flat.predict_interval(X))


def test_weights_reach_the_last_step_of_pipelines_in_pipelines():
    X, y = data(60)
    weights = np.arange(60) % 3 + 1.0
    nested = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LinearRegression()))
    flat = make_pipeline(StandardScaler(), LinearRegression())
    fits = [
        StackingDistributionRegressor([("m", member)], cv=3, random_state=0).fit(X, y, weights)
        for member in (nested, flat)
    ]
    np.testing.assert_allclose(*[model.predict_interval(X) for model in fits], rtol=1e-9)


@pytest.mark.parametrize("cv", [3, default_splitter(10_000, 0)])
def test_every_kind_of_member_in_one_stack(cv):
    X, y = data()
    members = [
        ("ours", BayesianLinear()), ("std", BayesianRidge()), ("quantiles", Quantiles()),
        ("point", KNeighborsRegressor(5)), ("pipe", make_pipeline(LinearRegression())),
    ]  # fmt: skip
    for objective in ("log_score", "crps"):
        model = StackingDistributionRegressor(members, cv=cv, objective=objective).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
    scored = np.isfinite(model.cv_log_densities_).all(axis=0)
    assert scored.sum() == (200 if cv == 3 else 20)


def test_a_member_that_fails_is_told_and_left_out():
    X, y = data()
    members = [("good", BayesianRidge()), ("bad", Broken())]
    with pytest.warns(FitFailedWarning, match="'bad' failed and is left out: out of luck"):
        model = StackingDistributionRegressor(members).fit(X, y)
    np.testing.assert_array_equal(model.weights_, [1.0, 0.0])
    assert model.failures_ == {"bad": "ArithmeticError: out of luck"}
    assert np.isnan(model.cv_log_densities_[1]).all()
    with pytest.raises(ArithmeticError, match="out of luck"):
        StackingDistributionRegressor([("bad", Broken())]).fit(X, y)


class FailsWithAllRows(Mean):
    """Fits to parts, and no others."""

    def fit(self, X, y):
        if len(X) == 200:
            raise ArithmeticError("too many")
        return super().fit(X, y)


def test_a_member_that_fails_with_all_rows_is_told_and_left_out():
    X, y = data()
    # Constant, so that the mean has a part of the weight.
    y = np.r_[y[:100], np.zeros(100)]
    members = [("mean", FailsWithAllRows()), *LINES]
    with pytest.warns(FitFailedWarning, match="'mean' failed and is left out: too many") as told:
        model = StackingDistributionRegressor(members, random_state=0).fit(X, y)
    assert told[0].filename == __file__
    assert model.failures_ == {"mean": "ArithmeticError: too many"}
    without = log_score_weights(model.cv_log_densities_[1:])
    assert np.isfinite(model.cv_log_densities_).all()
    assert log_score_weights(model.cv_log_densities_)[0] > 0.05
    np.testing.assert_allclose(model.weights_, [0.0, *without], atol=1e-3)
    assert len(model.estimators_) == np.sum(model.weights_ > 0)
    with pytest.raises(ArithmeticError, match="too many"):
        StackingDistributionRegressor(members[:1]).fit(X, y)


class Wary(Mean):
    """Warns in each of its fits, each time of another number."""

    def fit(self, X, y):
        warnings.warn(f"no end after {np.sum(y):.6f}", ConvergenceWarning, stacklevel=2)
        return super().fit(X, y)


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.filterwarnings("always")
def test_warnings_of_members_arrive_once_from_any_process(n_jobs):
    X, y = data(60)
    members = [("wary", Wary()), ("line", BayesianRidge())]
    model = StackingDistributionRegressor(members, cv=3, n_jobs=n_jobs)
    with pytest.warns(ConvergenceWarning) as told:
        model.fit(X, y)
    kinds = [warning for warning in told if warning.category is ConvergenceWarning]
    n_fits = 3 + (model.weights_[0] > 0)
    assert len(kinds) == 1
    assert f"'wary' warned in {n_fits} of {n_fits} fits, first: no end" in str(kinds[0].message)
    assert kinds[0].filename == __file__
    # The first fold leaves out the first twenty rows.
    assert f"{np.sum(y[20:]):.6f}" in str(kinds[0].message)


@pytest.mark.filterwarnings("always")
def test_other_threads_keep_their_warnings():
    # Recording is of a whole process: a thread must not switch it on for the others.
    shown = warnings.showwarning
    with ThreadPoolExecutor(1) as pool, recorded_warnings() as here:
        said = pool.submit(_warned_in_a_thread).result()
    assert said == []
    assert here == [(UserWarning, "of a thread")]
    assert warnings.showwarning is shown


def _warned_in_a_thread():
    with recorded_warnings() as said:
        warnings.warn("of a thread", UserWarning, stacklevel=1)
    return said


def test_the_same_result_from_any_number_of_cores():
    X, y = data(80)
    members = [("forest", RandomForestRegressor(10)), ("line", BayesianRidge())]
    model = StackingDistributionRegressor(members, random_state=1)
    one, two = [clone(model).set_params(n_jobs=jobs).fit(X, y) for jobs in (None, 2)]
    with parallel_config(backend="threading", n_jobs=2):
        threads = clone(model).fit(X, y)
    again = pickle.loads(pickle.dumps(one))
    for other in (two, threads, again):
        np.testing.assert_array_equal(other.weights_, one.weights_)
        np.testing.assert_array_equal(other.cv_log_densities_, one.cv_log_densities_)
        np.testing.assert_array_equal(other.predict(X), one.predict(X))
        np.testing.assert_array_equal(other.predict_interval(X), one.predict_interval(X))
        np.testing.assert_array_equal(other.sample_y(X, 3), one.sample_y(X, 3))


def test_few_fits_to_folds_and_those_to_all_rows_are_sent_out_together(monkeypatch):
    """The result is the same; a member that is left out has been fitted in vain."""
    X, y = data()
    members, split = [*LINES[:1], ("mean", Mean())], ShuffleSplit(1, test_size=0.2, random_state=0)
    models, passes, send = [], [], member_fits.run_longest_first

    def counted(tasks, costs, n_jobs):
        passes.append(len(tasks))
        return send(tasks, costs, n_jobs)

    monkeypatch.setattr(member_fits, "run_longest_first", counted)
    for few in (2, 1):
        monkeypatch.setattr(member_fits, "FEW_FITS", few)
        model = StackingDistributionRegressor(members, cv=split, random_state=0)
        models.append(model.fit(X, y))
    assert passes == [4, 2, 1]
    assert models[0].weights_[1] == 0
    assert len(models[0].estimators_) == 1
    first, second = (model.predict_distribution(X).logpdf(y) for model in models)
    np.testing.assert_array_equal(first, second)


def test_a_frame_with_categories_in_a_search():
    X, y = data(90)
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(c=np.tile(["x", "y", "z"], 30))
    encode = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    model = StackingDistributionRegressor(
        [("pipe", make_pipeline(encode, BayesianRidge())), ("mean", Mean())], cv=3
    )
    search = GridSearchCV(
        model, {"objective": ["log_score", "crps"]}, scoring=crps_scorer, cv=2, n_jobs=2
    )
    search.fit(frame, pd.Series(y))
    assert list(search.best_estimator_.feature_names_in_) == ["a", "b", "c"]
    assert cross_validate(model, frame, y, scoring=crps_scorer, cv=2)["test_score"].min() > -0.3


def test_weights_of_rows_count_in_the_fits_and_in_the_score():
    X, y = data()
    y[100:] += 50.0  # another world, without weight
    weights = np.r_[np.ones(100), np.zeros(100)]
    model = StackingDistributionRegressor(LINES, cv=3, random_state=0).fit(X, y, weights)
    alone = StackingDistributionRegressor(LINES, cv=3, random_state=0).fit(X[:100], y[:100])
    np.testing.assert_allclose(model.weights_, alone.weights_, atol=1e-6)
    np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-6)
    assert np.isnan(model.cv_log_densities_[:, 100:]).all()
    with pytest.raises(ValueError, match="KNeighborsRegressor does not accept sample_weight"):
        StackingDistributionRegressor([("k", KNeighborsRegressor())]).fit(X, y, weights)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"estimators": []}, "'estimators' parameter .* at least one"),
        ({"estimators": [("a", "b")]}, "'estimators' parameter"),
        ({"estimators": [*LINES, LINES[0]]}, "names in 'estimators' must all differ"),
        ({"estimators": [("a", Ridge)]}, "'estimators' parameter"),
        ({"estimators": [("a", LogisticRegression())]}, "'estimators' parameter"),
        ({"estimators": [("a", StandardScaler())]}, "'estimators' parameter"),
        ({"estimators": [("a", "drop")]}, "'estimators' parameter .* at least one"),
        ({"estimators": Ridge()}, "'estimators' parameter"),
        ({"estimators": [("a__b", Ridge())]}, "must not contain '__'"),
        ({"estimators": [("cv", Ridge())]}, "be the name of a parameter of the stack"),
        ({"objective": "mse"}, "'objective' parameter"),
        ({"cv": []}, "'cv' parameter .* a fold with rows"),
        ({"cv": [([0, 1], [2]), ([0], [2])]}, "no row into two test folds"),
    ],
)
def test_bad_parameters_are_named(parameters, told):
    X, y = data(20)
    with pytest.raises(ValueError, match=told):
        StackingDistributionRegressor(**{"estimators": LINES, **parameters}).fit(X, y)


def test_members_and_their_parameters_by_name():
    X, y = data(60)
    model = StackingDistributionRegressor([("a", Ridge()), ("b", BayesianRidge())], cv=3)
    assert model.get_params()["a__alpha"] == 1.0
    assert "a" not in model.get_params(deep=False)
    assert StackingDistributionRegressor().get_params()["estimators"] is None
    grid = {"a__alpha": [0.1, 1e6], "b": [Mean(), "drop"]}
    search = GridSearchCV(model, grid, scoring=crps_scorer, cv=2, error_score="raise").fit(X, y)
    assert search.best_params_["a__alpha"] == 0.1
    assert model.estimators[0][1].alpha == 1.0
    without = clone(model).set_params(b="drop", random_state=0).fit(X, y)
    alone = StackingDistributionRegressor([("a", Ridge())], cv=3, random_state=0).fit(X, y)
    assert without.names_ == ["a"]
    np.testing.assert_array_equal(without.predict_interval(X), alone.predict_interval(X))


def test_folds_as_masks_and_folds_without_weight():
    X, y = data(60)
    fold = np.arange(60) // 20
    masks = [(fold != f, fold == f) for f in range(3)]
    numbers = [(np.flatnonzero(train), np.flatnonzero(test)) for train, test in masks]
    given, expected = [
        StackingDistributionRegressor(LINES, cv=cv, random_state=0).fit(X, y)
        for cv in (masks, numbers)
    ]
    np.testing.assert_array_equal(given.cv_log_densities_, expected.cv_log_densities_)
    # The rows of the last fold have no weight: nothing is to be predicted there.
    model = StackingDistributionRegressor(LINES, cv=numbers, random_state=0)
    model.fit(X, y, 1.0 * (fold < 2))
    assert model.n_splits_ == 2
    assert np.isfinite(model.cv_log_densities_[:, fold < 2]).all()


def test_targets_whose_squares_no_float_holds_are_refused():
    X, y = data(30)
    for scale in (1e-170, 1e170):
        with pytest.raises(ValueError, match=r"y has a standard deviation .* multiply y"):
            StackingDistributionRegressor(LINES).fit(X, scale * y)


def test_one_row_has_nobody_to_judge_it():
    X, y = data(20)
    with pytest.raises(ValueError, match=r"1 sample\(s\) of positive weight .* minimum of 2"):
        StackingDistributionRegressor(LINES).fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="minimum of 2 is required by Stacking"):
        StackingDistributionRegressor(LINES).fit(X, y, np.arange(20) == 7)
    few = StackingDistributionRegressor(LINES, random_state=0).fit(X[:3], y[:3])
    assert few.n_splits_ == 3


def test_draws_have_the_law_of_the_pool():
    X, y = data(60)
    members = [("a", BayesianRidge()), ("b", KNeighborsRegressor(5))]
    model = StackingDistributionRegressor(members, random_state=0).fit(X, y)
    law, draws = model.predict_distribution(X[:3]), model.sample_y(X[:3], 4000, random_state=0)
    for row in range(3):
        uniform = law[[row] * 4000].cdf(draws[row])
        # Systematic draws among the members lie closer to the law than independent ones.
        assert stats.kstest(uniform, "uniform").pvalue > 1e-3


def test_the_default_stack_depends_on_the_number_of_rows_alone():
    small, large = ([name for name, _ in default_members(n)] for n in (500, 50_000))
    assert set(large) < set(small)
    members = [dict(default_members(n)) for n in (500, 501, 2000, 2001)]
    assert [each["sip"].n_networks for each in members] == [2, 1, 1, 1]
    assert [each["udn"].n_networks for each in members] == ["auto", 2, 2, "auto"]
    sizes = (3, 500, 501, 2000, 4000, 50_000)
    folds = [default_splitter(n, 0).get_n_splits(np.zeros((n, 1))) for n in sizes]
    assert folds == [3, 5, 4, 4, 3, 1]


def test_copies_are_in_the_same_fold():
    X, y = data(80)
    X, y = np.concatenate([X, X[:60]]), np.concatenate([y, y[:60]])
    splits = folds_of(None, X, y, np.arange(140), 0)
    assert len(splits) == 5
    for train, test in splits:
        assert not set(map(tuple, X[train])) & set(map(tuple, X[test]))
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(140))
    # One neighbour remembers rows: it is worth nothing for others.
    members = [("memory", KNeighborsRegressor(1)), ("mean", Mean())]
    rng = np.random.default_rng(0)
    noise = np.tile(rng.normal(size=100), 2)
    table = np.tile(rng.normal(size=(100, 2)), (2, 1))
    model = StackingDistributionRegressor(members, random_state=0).fit(table, noise)
    assert model.weights_[0] < 0.2
    # The same with folds by number of rows, where copies judge each other.
    splits = KFold(5, shuffle=True, random_state=0)
    model = StackingDistributionRegressor(members, cv=splits, random_state=0).fit(table, noise)
    assert model.weights_[0] > 0.8


def test_what_is_a_copy():
    y = np.array([0.0, 0.0, 1.0, 1.0])
    np.testing.assert_array_equal(distinct_rows([[1], [1], [2], [3]], y), [0, 0, 1, 2])
    # The same inputs with another target: measured again.
    np.testing.assert_array_equal(distinct_rows([[1], [1], [1], [3]], y), [0, 1, 2, 3])
    frame = pd.DataFrame({"kind": ["a", "a", "b", "b"], "size": [1.0, 1.0, 1.0, 1.0]})
    np.testing.assert_array_equal(distinct_rows(frame, y), [0, 0, 1, 1])
    np.testing.assert_array_equal(distinct_rows(csr_array(np.ones((4, 1))), y), [0, 1, 2, 3])
    np.testing.assert_array_equal(distinct_rows(["a", "a", "b", "b"], y), [0, 1, 2, 3])
    # Two cells with a hundred rows each are no copies, a hundred cells with two each are.
    assert distinct_rows(np.repeat([[0], [1]], 100, axis=0), np.repeat([0, 1], 100)).max() == 199
    assert distinct_rows(np.tile(np.arange(100), 2)[:, None], np.tile(np.ones(100), 2)).max() == 99


def test_infinite_densities_are_a_failure():
    class Certain(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.value_ = np.median(y)
            return self

        def predict(self, X, return_std=False):
            return np.full(len(X), self.value_), np.zeros(len(X))

    X, y = data(30)
    y = np.round(y)
    with pytest.warns(FitFailedWarning, match="a predicted spread is zero"):
        model = StackingDistributionRegressor([("sure", Certain()), *LINES]).fit(X, y)
    assert model.weights_[0] == 0
    assert isinstance(model.predict_distribution(X), PredictiveMixture)

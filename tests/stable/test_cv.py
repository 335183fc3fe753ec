"""StableNNRegressorCV: the grid, its folds, its backends, and the estimator's interface."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from short_chains import unconverged
from sklearn import config_context
from sklearn.callback import ProgressBar
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn import StableNNRegressor, StableNNRegressorCV
from skbayesnn.metrics import crps_scorer, log_predictive_density_scorer
from skbayesnn.stable.partitions import choice
from skbayesnn.stable.partitions.line import LineCells

SHORT = {
    "n_warmup": 40,
    "n_posterior_draws": 40,
    "thin": 2,
    "n_chains": 2,
    "n_units": 30,
    "random_state": 0,
}


def short(alphas=(1.1, 2.0), nus=(0.5, 2.0), **parameters):
    """A grid that is quick to fit."""
    return StableNNRegressorCV(alphas, nus, **{"cv": 3, **SHORT, **parameters})


def jumps(n=40, n_features=1):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(n, n_features))
    truth = np.select([X[:, 0] < -1, X[:, 0] < 0, X[:, 0] < 1], [10.0, 50.0, -30.0], 20.0)
    return X, truth + 5 * rng.standard_normal(n)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The rows of X are nearly the same")
@parametrize_with_checks(
    [
        StableNNRegressorCV(
            (1.0, 2.0),
            (1.0,),
            cv=2,
            n_units=20,
            n_warmup=20,
            n_posterior_draws=20,
            thin=1,
            n_chains=1,
        )
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@unconverged
@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_the_grid_is_that_of_grid_search(n_features):
    """Same folds, seed and scorer: the same numbers, to the last bit."""
    X, y = jumps(24, n_features)
    folds = KFold(3)
    model = short(cv=folds, scoring=crps_scorer, gaussian_process=False).fit(X, y)
    search = GridSearchCV(
        StableNNRegressor(**SHORT, gaussian_process=False),
        {"alpha": [1.1, 2.0], "nu": [0.5, 2.0]},
        scoring=crps_scorer,
        cv=folds,
    ).fit(X, y)
    theirs = search.cv_results_
    assert set(model.cv_results_) == set(theirs) | {"max_r_hat"}
    for name, values in theirs.items():
        if "time" in name:
            assert (model.cv_results_[name] >= 0).all()
        elif name == "params":
            assert list(values) == model.cv_results_[name]
        else:
            np.testing.assert_array_equal(model.cv_results_[name], values)
    assert model.best_params_ == search.best_params_
    assert model.best_score_ == search.best_score_
    assert model.best_index_ == search.best_index_
    assert (model.alpha_, model.nu_) == (search.best_params_["alpha"], search.best_params_["nu"])
    new = X + 0.1
    np.testing.assert_array_equal(model.predict(new), search.predict(new))
    np.testing.assert_array_equal(model.sample_y(new, 3), search.best_estimator_.sample_y(new, 3))


@unconverged
def test_cells_are_found_once_a_fold(monkeypatch):
    made = []

    def count(X, *rest):
        made.append(len(X))
        return LineCells(X, *rest)

    monkeypatch.setattr(choice, "LineCells", count)
    short(likelihood="gaussian").fit(*jumps(30))
    # Three folds of 20 rows, and the refit; not twelve of them.
    assert made == [20, 20, 20, 30]


@unconverged
def test_a_number_of_folds_is_in_the_order_of_the_rows_and_the_default_score_the_crps():
    X, y = jumps()
    expected = short(cv=KFold(3), scoring=crps_scorer).fit(X, y)
    model = short().fit(X, y)
    np.testing.assert_array_equal(
        model.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
    assert repr(model.scorer_) == repr(crps_scorer)
    assert model.n_splits_ == 3
    for scoring in ("neg_mean_absolute_error", log_predictive_density_scorer):
        assert np.isfinite(short(scoring=scoring).fit(X, y).best_score_)


@unconverged
def test_by_default_the_rows_are_dealt_to_five_folds_at_random():
    X, y = jumps()
    model = short(cv=None).fit(X, y)
    expected = short(cv=KFold(5, shuffle=True, random_state=0)).fit(X, y)
    np.testing.assert_array_equal(
        model.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


@unconverged
def test_jumps_are_given_a_heavy_tail():
    X, y = jumps(60)
    model = StableNNRegressorCV((1.0, 2.0), (1.0,), cv=3, random_state=0).fit(X, y)
    assert model.alpha_ == 1.0
    assert model.cv_results_["max_r_hat"].max() < 1.05
    assert model.best_estimator_.alpha == 1.0
    assert model.best_estimator_.r_hat_.max() < 1.05
    assert model.predict_interval(X).shape == (60, 2)
    assert np.isfinite(model.log_predictive_density(X, y)).all()
    assert model.score(X, y) > 0.8


def outcome(model, X, y):
    model.fit(X, y)
    scores = [model.cv_results_[f"split{k}_test_score"] for k in range(3)]
    return np.concatenate([*scores, model.predict(X)])


@unconverged
# Workers that shut down leave sockets for the collector.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("n_features", [1, 3])
def test_the_result_does_not_depend_on_the_backend(n_features):
    """Chains in other processes have copies of their generators, those in threads have none."""
    X, y = jumps(30, n_features)
    expected = outcome(short(), X, y)
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            np.testing.assert_array_equal(outcome(short(), X, y), expected)
    np.testing.assert_array_equal(outcome(short(n_jobs=2), X, y), expected)


@unconverged
# Workers that shut down leave sockets for the collector.
@pytest.mark.long
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_grid_runs_on_a_dask_cluster():
    from dask.distributed import Client, LocalCluster

    X, y = jumps(30, 2)
    expected = outcome(short(), X, y)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        ran_on = client.run(lambda dask_worker: dask_worker.address)
        assert len(ran_on) == 2
        with joblib.parallel_config(backend="dask"):
            np.testing.assert_array_equal(outcome(short(), X, y), expected)

        def n_done(dask_worker):
            return dask_worker.state.executed_count

        # Twelve fits, on both workers.
        done = client.run(n_done)
        assert all(count > 0 for count in done.values())
        assert sum(done.values()) >= 12


def test_one_warning_tells_about_the_chains_of_the_grid():
    with pytest.warns(ConvergenceWarning) as told:
        short(n_posterior_draws=4).fit(*jumps(30))
    texts = [str(w.message) for w in told]
    assert sum("12 of 12 fits of the grid" in text for text in texts) == 1
    # And the refit tells about its own.
    assert len(texts) == 2


def test_it_has_the_parameters_of_the_network():
    network, grid = StableNNRegressor().get_params(), StableNNRegressorCV().get_params()
    assert set(network) - {"alpha", "nu", "warm_start"} == set(grid) - {
        "alphas",
        "nus",
        "cv",
        "scoring",
    }
    for name in set(network) & set(grid):
        assert network[name] == grid[name]


@unconverged
def test_containers_pickles_and_pipelines():
    X, y = jumps(30, 2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = short((1.1,), (1.0,)).fit(frame, pd.Series(y, index=np.arange(30) + 7))
    assert list(model.feature_names_in_) == ["a", "b"]
    expected = short((1.1,), (1.0,)).fit(X.tolist(), y.tolist()).predict(X)
    np.testing.assert_array_equal(model.predict(frame), expected)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a"]])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), expected)
    pipeline = make_pipeline(StandardScaler(), short()).fit(frame, y)
    assert pipeline.predict(frame, quantiles=[0.1, 0.9]).shape == (30, 2)


@unconverged
def test_progress_bar_shows_the_grid(capfd):
    short((1.1,), (1.0,)).set_callbacks(ProgressBar(None)).fit(*jumps(20))
    shown = capfd.readouterr().out
    assert "StableNNRegressorCV - fit" in shown
    assert "refit" in shown
    assert "chain" in shown


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alphas": []}, r"'alphas'.*list of numbers, each a float in the range \(0, 2\]"),
        ({"alphas": 1.1}, "'alphas'.*Got 1.1"),
        ({"alphas": [1.1, 2.5]}, "'alphas'.*Got"),
        ({"alphas": "high"}, "'alphas'.*Got 'high'"),
        ({"nus": (0.0,)}, r"'nus'.*in the range \(0, inf\)"),
        ({"cv": 1}, "k-fold cross-validation requires at least one train/test split"),
        ({"cv": 31}, "n_splits=31 greater than the number of samples"),
        ({"cv": []}, "'cv' parameter.*at least one fold"),
        ({"scoring": "accuracy_of_taste"}, "scoring"),
        ({"scoring": {"a": "r2"}}, "'scoring'.*a str, a callable or None"),
        ({"input_scale": -1.0}, "'input_scale' parameter of StableNNRegressor must be"),
        (
            {"likelihood": "student_t", "cells": "sampled"},
            "likelihood='student_t' is for cells='line'",
        ),
        ({"n_jobs": "all"}, "'n_jobs'.*StableNNRegressorCV"),
        ({"thin": 0}, "'thin'"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        short(**parameters).fit(*jumps(30))


@unconverged
def test_bad_input():
    X, y = jumps(30)
    with pytest.raises(NotFittedError):
        short().predict(X)
    with pytest.raises(ValueError, match="NaN"):
        short().fit(np.where(X > 0, X, np.nan), y)
    with pytest.raises(ValueError, match="could not convert string to float"):
        short().fit(X, np.full(30, "high"))
    # One row is left to fit to: what a fit says of it is told.
    with pytest.warns(FitFailedWarning), pytest.raises(ValueError, match=r"fold: .*minimum of 2"):
        short(cv=2).fit(X[:2], y[:2])
    with pytest.raises(ValueError, match="fold: scores are NaN; use another scoring"):
        short(scoring=lambda estimator, X, y: np.nan).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        short((1.1,), (1.0,)).fit(X, y).predict(np.column_stack([X, X]))


@unconverged
def test_groups_stay_together():
    X, y = jumps(30)
    groups = np.arange(30) % 5
    expected = short(cv=list(GroupKFold(3).split(X, y, groups))).fit(X, y)
    model = short(cv=GroupKFold(3)).fit(X, y, groups=groups)
    scores = model.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(scores, expected.cv_results_["mean_test_score"])
    with pytest.raises(ValueError, match="groups"):
        short(cv=GroupKFold(3)).fit(X, y)
    with config_context(enable_metadata_routing=True):
        network = short(cv=GroupKFold(3), scoring=crps_scorer.set_score_request(sample_weight=True))
        network.set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), network)
        pipeline.fit(X, y, groups=groups, sample_weight=np.ones(30))
        routed = pipeline[-1].cv_results_["mean_test_score"]
        # A group that no splitter asks for is an error, as everywhere.
        with pytest.raises(TypeError, match="groups"):
            short().fit(X, y, groups=groups)
    np.testing.assert_allclose(routed, scores, rtol=1e-6)


@unconverged
@pytest.mark.parametrize("cv", [None, 3])
def test_rows_without_weight_are_in_no_fold(cv):
    """They left folds without a row to score: then no pair had a score on all folds."""
    X, y = jumps(30)
    weights = np.zeros(30)
    weights[20:] = 2.0
    model = short((1.1,), (0.5, 2.0), cv=cv).fit(X, y, weights)
    without = short((1.1,), (0.5, 2.0), cv=cv).fit(X[20:], y[20:], weights[20:])
    np.testing.assert_array_equal(
        model.cv_results_["mean_test_score"], without.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(model.predict(X), without.predict(X))


@unconverged
def test_weights_go_to_the_fits_and_to_the_scorer():
    X, y = jumps(24)
    weights = np.where(np.arange(24) % 4 == 0, 3.0, 1.0)
    seen = []

    def scorer(estimator, X, y, sample_weight=None):
        seen.append(sample_weight)
        return crps_scorer(estimator, X, y, sample_weight)

    model = short((1.1,), (1.0,), scoring=scorer).fit(X, y, weights)
    np.testing.assert_array_equal(np.concatenate(seen), weights)
    expected = StableNNRegressor(1.1, 1.0, **SHORT).fit(X, y, weights)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    # A scorer without weights is not given them.
    short((1.1,), (1.0,), scoring=lambda e, X, y: e.score(X, y)).fit(X, y, weights)


@unconverged
def test_a_fit_that_fails_does_not_stop_the_grid(monkeypatch):
    X, y = jumps(24)
    fit = StableNNRegressor.fit

    def fail_at_two(self, *data, **weights):
        if self.alpha == 2.0:
            raise np.linalg.LinAlgError("no factor")
        return fit(self, *data, **weights)

    monkeypatch.setattr(StableNNRegressor, "fit", fail_at_two)
    with pytest.warns(FitFailedWarning, match="6 fits or scores of the grid failed") as told:
        model = short().fit(X, y)
    assert "no factor" in str(told[0].message)
    assert model.alpha_ == 1.1
    assert np.isnan(model.cv_results_["mean_test_score"]).sum() == 2
    with (
        pytest.warns(FitFailedWarning),
        pytest.raises(ValueError, match="has a score other than NaN"),
    ):
        short(alphas=(2.0,)).fit(X, y)


@unconverged
def test_the_kind_of_cells_is_decided_on_all_rows(monkeypatch):
    """Folds of 144 rows could be exact, the refit of 180 could not."""

    def refuse(*data):
        raise AssertionError("exact cells")

    monkeypatch.setattr(choice, "FaceCells", refuse)
    model = short((1.1,), (1.0,), cv=5).fit(*jumps(180, 2))
    assert isinstance(model.best_estimator_.cells_, choice.AdditiveCells)
    assert np.isfinite(model.best_score_)

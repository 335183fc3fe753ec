"""StableNNRegressor as a scikit-learn estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from short_chains import short, three_jumps, unconverged
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn import StableNNRegressor
from skbayesnn.metrics import crps_scorer, log_predictive_density_scorer


# Scikit-learn's checks scale no inputs and set short chains; both are warned about.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:The rows of X are nearly the same")
@parametrize_with_checks(
    [
        StableNNRegressor(n_warmup=60, n_posterior_draws=60, thin=1, n_chains=1),
        # One of the checks sets alpha to 0.01, at which chains need some time to find a jump.
        StableNNRegressor(
            0.6, cells="sampled", n_units=200, n_warmup=150, n_posterior_draws=50, n_chains=1
        ),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_median_finds_three_jumps(jumps):
    model = StableNNRegressor(random_state=0).fit(*jumps)
    assert model.r_hat_.max() < 1.01
    assert model.effective_sample_size_.min() > 1000
    # Away from the gaps that hold the jumps.
    x = np.linspace(-1.9, 1.9, 200)
    x = x[np.abs(x - np.round(x)) > 0.06]
    assert np.abs(model.predict(x[:, None]) - three_jumps(x)).mean() < 0.3
    for jump, size in ((-1, 4), (0, -8), (1, 5)):
        left, right = model.predict([[jump - 0.1], [jump + 0.1]])
        assert (right - left) / size > 0.75


@unconverged
def test_outliers_and_noise_by_input_leave_three_jumps_alone():
    """One input: by default neither a wild row nor noise that grows takes the jumps' places."""
    rng = np.random.default_rng(0)
    x = np.linspace(-2, 2, 120)
    sd = 0.5 * np.exp(0.5 * x)
    y = three_jumps(x) + sd * rng.standard_normal(120)
    y[10::25] += 15 * rng.choice([-1, 1], 5)
    away = np.abs(x - np.round(x)) > 0.06
    errors = {}
    for likelihood in ("auto", "gaussian"):
        model = StableNNRegressor(likelihood=likelihood, random_state=0)
        model.fit(x[:, None], y)
        errors[likelihood] = np.abs(model.predict(x[:, None]) - three_jumps(x))[away].mean()
        if likelihood == "auto":
            widths = np.diff(model.predict_interval(x[[5, -5], None], coverage=0.9))[:, 0]
            # The standard deviation of the noise grows 6.6 times between these rows.
            assert 3.0 < widths[1] / widths[0] < 14.0
    assert errors["auto"] < 0.2 < 2.0 * errors["auto"] < errors["gaussian"]


@unconverged
def test_intervals_cover_fresh_observations():
    """Section 4.1, forty data sets: 90 % intervals of new noisy observations."""
    rng = np.random.default_rng(0)
    x = np.linspace(-2, 2, 40)
    new = rng.uniform(-2, 2, 100)
    inside = []
    for seed in range(40):
        y = three_jumps(x) + 0.5 * rng.standard_normal(40)
        model = short(random_state=seed, n_warmup=200, n_posterior_draws=200).fit(x[:, None], y)
        low, high = model.predict_interval(new[:, None]).T
        fresh = three_jumps(new) + 0.5 * rng.standard_normal(new.size)
        inside.append(np.mean((low <= fresh) & (fresh <= high)))
    # The standard error over data sets is about 0.01.
    assert 0.85 < np.mean(inside) < 0.95


@unconverged
def test_the_same_seed_gives_the_same_result_whatever_n_jobs(jumps, table):
    for X, y in (jumps, table):
        serial = short().fit(X, y).predict_quantiles(X)
        np.testing.assert_array_equal(short(n_jobs=2).fit(X, y).predict_quantiles(X), serial)
        assert np.any(short(random_state=1).fit(X, y).predict_quantiles(X) != serial)


@unconverged
def test_input_containers_agree(table):
    X, y = table
    expected = short().fit(X, y).predict(X)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = short().fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(frame), expected)
    np.testing.assert_array_equal(short().fit(X.tolist(), y.tolist()).predict(X), expected)
    X32, y32 = X.astype(np.float32), y.astype(np.float32)
    single = short().fit(X32, y32)
    double = short().fit(X32.astype(float), y32.astype(float))
    np.testing.assert_array_equal(single.predict(X32), double.predict(X32.astype(float)))


@unconverged
def test_input_is_not_changed(jumps):
    X, y = jumps
    X0, y0 = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    short().fit(X, y).predict(X)
    np.testing.assert_array_equal(X, X0)
    np.testing.assert_array_equal(y, y0)


@unconverged
def test_row_order_and_duplicates_do_not_matter(jumps):
    X, y = jumps
    order = np.random.default_rng(0).permutation(len(X))
    expected = short().fit(X, y).predict(X)
    np.testing.assert_allclose(short().fit(X[order], y[order]).predict(X), expected, rtol=1e-9)
    # A test row's prediction does not depend on the others, but for rounding in matrix products of
    # the processes beside the network.
    model = short().fit(X, y)
    np.testing.assert_allclose(model.predict(X[7:9]), model.predict(X)[7:9], rtol=1e-14)
    model = short(gaussian_process=False).fit(X, y)
    np.testing.assert_array_equal(model.predict(X[7:9]), model.predict(X)[7:9])


@unconverged
@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e140])
@pytest.mark.parametrize(("beside", "tolerance"), [(False, 1e-6), (True, 5e-4)])
def test_units_of_y_go_through(jumps, scale, beside, tolerance):
    """The search for the settings of the process ends a little elsewhere: up to 1.6e-4 was seen."""
    X, y = jumps
    model, scaled = (short(gaussian_process=beside).fit(X, factor * y) for factor in (1.0, scale))
    np.testing.assert_allclose(scaled.predict(X), scale * model.predict(X), rtol=tolerance)
    np.testing.assert_allclose(
        scaled.predict_interval(X), scale * model.predict_interval(X), rtol=tolerance
    )
    np.testing.assert_allclose(
        scaled.log_predictive_density(X, scale * y),
        model.log_predictive_density(X, y) - np.log(scale),
        atol=10.0 * tolerance,
    )
    np.testing.assert_allclose(scaled.noise_variance_ / scale, scale * model.noise_variance_)


@unconverged
def test_cells_follow_the_inputs(jumps, table):
    X, y = table
    assert short().fit(*jumps).cells_.alone
    assert type(short(likelihood="gaussian").fit(*jumps).cells_).__name__ == "LineCells"
    assert type(short(sampler="metropolis").fit(*jumps).cells_).__name__ == "LineCells"
    assert type(short().fit(X[:, :2], y).cells_).__name__ == "FaceCells"
    assert type(short().fit(X, y).cells_).__name__ == "AdditiveCells"
    assert type(short(activation="erf").fit(X, y).cells_).__name__ == "UnitCells"
    many = np.random.default_rng(0).normal(size=(151, 2))
    assert type(short().fit(many, many[:, 0]).cells_).__name__ == "AdditiveCells"
    assert type(short(cells="sampled").fit(*jumps).cells_).__name__ == "UnitCells"


@unconverged
def test_fixed_noise_variance_is_in_the_units_of_y(jumps):
    model = short(noise_variance=0.25).fit(*jumps)
    np.testing.assert_allclose(model.noise_variance_draws_, 0.25)


@unconverged
def test_pickle_and_clone(jumps, table):
    for X, y in (jumps, table):
        model = short(cells="line" if X.shape[1] == 1 else "sampled").fit(X, y)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), model.predict(X))
    # 60 draws of 60 weights, and little else.
    assert len(pickle.dumps(model)) < 100_000
    assert "StableNNRegressor" in model._repr_html_()


@unconverged
def test_grid_search_and_cross_validate_in_a_pipeline(jumps):
    X, y = jumps
    pipeline = make_pipeline(StandardScaler(), short())
    search = GridSearchCV(
        pipeline,
        {"stablennregressor__alpha": [0.8, 2.0], "stablennregressor__nu": [0.5, 2.0]},
        scoring=crps_scorer,
        cv=3,
    ).fit(pd.DataFrame(X, columns=["x"]), y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.predict(
        pd.DataFrame(X, columns=["x"]), quantiles=[0.1, 0.9]
    ).shape == (40, 2)
    scores = cross_validate(pipeline, X, y, scoring=log_predictive_density_scorer, cv=3)
    assert np.isfinite(scores["test_score"]).all()


@unconverged
def test_progress_bar_shows_chains_and_sweeps(jumps, capfd):
    model = short(n_warmup=250).set_callbacks(ProgressBar())
    model.fit(*jumps)
    shown = capfd.readouterr().out
    assert "StableNNRegressor - fit" in shown
    assert "chain" in shown
    pipeline = make_pipeline(StandardScaler(), short()).set_callbacks(ProgressBar(2))
    pipeline.fit(*jumps)
    assert "chain" in capfd.readouterr().out
    search = GridSearchCV(
        pipeline.set_callbacks(), {"stablennregressor__alpha": [1.0, 1.5]}, cv=2, n_jobs=2
    )
    search.set_callbacks(ProgressBar(None)).fit(*jumps)
    assert "chain" in capfd.readouterr().out


@unconverged
def test_callbacks_score_the_fit_so_far_and_may_stop_it(jumps):
    X, y = jumps
    monitor = ScoringMonitor(scoring="r2")
    model = short(n_posterior_draws=300, thin=1, n_chains=1).set_callbacks(monitor).fit(X, y)
    scores = monitor.get_logs(select="most_recent").data_as_pandas
    assert scores["r2"].iloc[-1] == pytest.approx(model.score(X, y), abs=0.02)

    class StopAtOnce:
        """Ask to stop after every block."""

        def setup(self, estimator, context):
            """Nothing to prepare."""

        def on_fit_task_begin(self, estimator, context):
            """Nothing to do."""

        def on_fit_task_end(self, estimator, context):
            return context.task_name == "sweeps"

        def teardown(self, estimator, context):
            """Nothing to clean up."""

    model = short(n_warmup=150, n_posterior_draws=400).set_callbacks(StopAtOnce()).fit(X, y)
    # A block of 100 sweeps after the warm-up: 50 draws of each of two chains.
    assert model.noise_variance_draws_.shape == (100,)
    assert np.isfinite(model.predict(X)).all()


def test_sample_y_follows_the_quantiles(jumps):
    X, y = jumps
    model = StableNNRegressor(random_state=0).fit(X, y)
    draws = model.sample_y(X, 4000, random_state=1)
    quantiles = model.predict_quantiles(X, [0.2, 0.7])
    share = [(draws < quantiles[:, [j]]).mean() for j in range(2)]
    # 160,000 draws in 4,000 functions: the standard error is below 0.5/√4000.
    np.testing.assert_allclose(share, [0.2, 0.7], atol=0.02)


@unconverged
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alpha": "sample", "nu": "sample"},
        {"input_scale": "evidence", "n_units": 20},
        {"cells": "additive"},
    ],
)
def test_a_weight_is_a_number_of_rows(options):
    rng = np.random.default_rng(0)
    n_features = 3 if "n_units" in options else 1 + ("alpha" not in options)
    X = rng.normal(size=(15, n_features))
    y = X[:, 0] + 0.3 * rng.normal(size=15)
    weights = rng.integers(0, 4, size=15)
    weighted = short(**options).fit(X, y, weights)
    repeated = short(**options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        weighted.predict_quantiles(X), repeated.predict_quantiles(X), rtol=1e-6, atol=1e-6
    )
    assert np.any(weighted.predict(X) != short(**options).fit(X, y).predict(X))


@unconverged
def test_a_warm_start_goes_on_where_the_chains_ended(jumps):
    """Two fits of 30 draws a chain are one of 60: to the last bit."""
    whole = short(n_posterior_draws=120).fit(*jumps)
    model = short(warm_start=True).fit(*jumps)
    before = pickle.loads(pickle.dumps(model))
    model.fit(*jumps)
    draws = whole.noise_variance_draws_.reshape(2, 60)
    np.testing.assert_array_equal(before.noise_variance_draws_, draws[:, :30].ravel())
    np.testing.assert_array_equal(model.noise_variance_draws_, draws[:, 30:].ravel())
    # Also from a pickle; and the fit that failed has changed nothing.
    with pytest.raises(ValueError, match=r"the parameters \['alpha'\] have changed"):
        before.set_params(alpha=1.5).fit(*jumps)
    with pytest.raises(ValueError, match="X, y or sample_weight have changed"):
        before.set_params(alpha="auto").fit(jumps[0], jumps[1] + 1.0)
    before.fit(*jumps)
    np.testing.assert_array_equal(before.noise_variance_draws_, model.noise_variance_draws_)


@unconverged
@pytest.mark.parametrize("options", [{}, {"move_units": True}, {"sampler": "metropolis"}])
def test_other_chains_can_be_continued(table, options):
    model = short(n_units=20, warm_start=True, **options).fit(*table)
    before = model.predict(table[0])
    after = model.fit(*table).predict(table[0])
    assert np.isfinite(after).all()
    assert np.any(after != before)


@unconverged
def test_each_chain_has_units_of_its_own(table):
    """So that R-hat sees what so many units cannot say."""
    few = short(cells="sampled", n_units=4, n_warmup=200, n_posterior_draws=400).fit(*table)
    planes = few._draws.planes
    assert planes.shape == (2, 4, 4)
    assert np.all(planes[0] != planes[1])
    assert few.r_hat_.max() > 1.5


@unconverged
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_units_of_the_inputs_do_not_matter(table, scale):
    X, y = table
    shift = np.array([3.0, 0.0, -2.0])
    expected = short().fit(X, y).predict(X)
    np.testing.assert_allclose(
        short().fit(scale * (X + shift), y).predict(scale * (X + shift)), expected, rtol=1e-6
    )


@unconverged
@pytest.mark.parametrize("options", [{"alpha": "sample", "nu": "sample"}, {"alpha": 0.5}, {}])
def test_predictive_quantiles_are_those_of_many_draws(jumps, options):
    """Splits have laws of their own where draws differ: grouped they made intervals too wide."""
    model = short(n_warmup=300, n_posterior_draws=1000, **options).fit(*jumps)
    new = np.array([-2.2, -1.03, -0.51, 0.03, 0.3, 1.02, 1.5])[:, None]
    levels = [0.005, 0.05, 0.5, 0.95, 0.995]
    draws = np.quantile(model.sample_y(new, 10_000, random_state=1), levels, axis=1).T
    quantiles = model.predict_quantiles(new, levels)
    # 10,000 draws fix a width of 99 % to some 2 % a row, 4 % beyond the data; with
    # groups of sixteen draws the mean ratio was 1.06 where alpha is sampled.
    for low, high, most in ((0, 4, 0.03), (1, 3, 0.02)):
        ratio = (quantiles[:, high] - quantiles[:, low]) / (draws[:, high] - draws[:, low])
        assert abs(ratio.mean() - 1.0) < most

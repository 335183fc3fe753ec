"""Scores against their definitions, and scorers where scikit-learn uses them."""

import pickle
from functools import partial

import numpy as np
import pytest
import sklearn
from linear import BayesianLinear, linear_data
from scipy import stats
from scipy.integrate import quad
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_pinball_loss as sklearn_pinball
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayesnn import metrics
from skbayesnn.predictive import PredictiveMixture

SCORERS = {
    "density": metrics.log_predictive_density_scorer,
    "crps": metrics.crps_scorer,
    "pinball": metrics.pinball_scorer,
    "interval": metrics.interval_scorer,
    "coverage": metrics.interval_coverage_scorer,
    "width": metrics.interval_width_scorer,
}


@pytest.fixture
def data():
    return linear_data()


@pytest.fixture
def model(data):
    return BayesianLinear((0.1, 10.0, 100.0)).fit(*data)


def standard_normal(n):
    return PredictiveMixture([1.0], np.zeros((n, 1)), np.ones((n, 1)))


def test_scores_of_a_distribution():
    y = np.array([-1.0, 0.3, 2.5])
    normal = standard_normal(3)
    expected = stats.norm.logpdf(y).mean()
    assert metrics.mean_log_predictive_density(y, normal) == pytest.approx(expected, rel=1e-12)
    closed = y * (2 * stats.norm.cdf(y) - 1) + 2 * stats.norm.pdf(y) - 1 / np.sqrt(np.pi)
    assert metrics.mean_crps(y, normal) == pytest.approx(closed.mean(), rel=1e-12)


def test_the_crps_is_twice_the_pinball_loss_over_all_levels():
    mixture = PredictiveMixture([0.3, 0.7], [[-1.0, 2.0]], [[0.5, 1.0]])

    def loss(level):
        return metrics.mean_pinball_loss([0.4], mixture.quantile(level), level)

    crps = metrics.mean_crps([0.4], mixture)
    assert 2 * quad(loss, 0, 1)[0] == pytest.approx(crps, rel=1e-6)


def test_scores_of_quantiles_and_intervals(model, data):
    X, y = data
    distribution = model.predict_distribution(X)
    levels = (0.7, 0.1, 0.5)
    quantiles = distribution.quantile(levels)
    each = [sklearn_pinball(y, q, alpha=p) for q, p in zip(quantiles.T, levels, strict=True)]
    loss = metrics.mean_pinball_loss(y, quantiles, levels)
    assert loss == pytest.approx(np.mean(each), rel=1e-12)
    interval = distribution.interval(0.5)
    inside = [low <= v <= high for v, (low, high) in zip(y, interval, strict=True)]
    assert 0 < metrics.interval_coverage(y, interval) == np.mean(inside) < 1
    width = metrics.mean_interval_width(interval)
    assert width == pytest.approx(np.mean([high - low for low, high in interval]), rel=1e-12)


def test_interval_score():
    # 1 below and 3 above an interval of width 2, at coverage 0.9, and one on its end.
    interval = np.tile([-1.0, 1.0], (3, 1))
    y = np.array([-2.0, 4.0, 1.0])
    expected = np.mean([2 + 20 * 1, 2 + 20 * 3, 2])
    assert metrics.mean_interval_score(y, interval) == pytest.approx(expected, rel=1e-12)
    # It is the sum of the pinball losses at the ends, times 2/(1 - coverage).
    loss = 2 * metrics.mean_pinball_loss(y, interval, [0.05, 0.95])
    assert metrics.mean_interval_score(y, interval) == pytest.approx(20 * loss, rel=1e-12)


def test_proper_scores_are_best_for_the_truth():
    y = np.random.default_rng(0).standard_normal(20_000)
    # The expected losses grow by at least nine standard errors of their difference.
    others = [(0.2, 1.0), (-0.2, 1.0), (0.0, 1.25), (0.0, 0.8)]

    def losses(mean, sd):
        mixture = standard_normal(y.size).scaled(mean, sd)
        interval = mixture.interval(0.8)
        return np.array(
            [
                -metrics.mean_log_predictive_density(y, mixture),
                metrics.mean_crps(y, mixture),
                metrics.mean_interval_score(y, interval, 0.8),
                metrics.mean_pinball_loss(y, interval, [0.1, 0.9]),
            ]
        )

    best = losses(0.0, 1.0)
    for other in others:
        assert (losses(*other) > best).all()


def test_bad_score_arguments():
    normal = standard_normal(2)
    with pytest.raises(ValueError, match="2 columns"):
        metrics.interval_coverage([1.0], [[0.0, 1.0, 2.0]])
    with pytest.raises(ValueError, match="inconsistent with 1"):
        metrics.interval_coverage([1.0, 2.0], [[0.0, 1.0]])
    with pytest.raises(ValueError, match="lower end above"):
        metrics.mean_interval_width([[1.0, 0.0]])
    with pytest.raises(ValueError, match="Input interval contains NaN"):
        metrics.mean_interval_width([[1.0, np.nan]])
    with pytest.raises(ValueError, match="coverage must be"):
        metrics.mean_interval_score([1.0], [[0.0, 1.0]], coverage=1)
    with pytest.raises(ValueError, match="y_quantiles must have 2 columns"):
        metrics.mean_pinball_loss([1.0], [[0.0]], [0.1, 0.9])
    with pytest.raises(ValueError, match="quantiles must be"):
        metrics.mean_pinball_loss([1.0], [[0.0]], [1.1])
    for score in (metrics.mean_crps, metrics.mean_log_predictive_density):
        with pytest.raises(ValueError, match="Input y contains NaN"):
            score([0.0, np.nan], normal)
        with pytest.raises(ValueError, match="y has 1 observations, inconsistent with 2"):
            score([0.0], normal)
        with pytest.raises(TypeError, match=r"Expected a PredictiveMixture. Got ndarray"):
            score([0.0], np.zeros(1))
    with pytest.raises(ValueError, match="kind must be"):
        metrics.IntervalScorer("best")
    with pytest.raises(ValueError, match="coverage must be"):
        metrics.IntervalScorer(coverage=90)
    with pytest.raises(ValueError, match="quantiles must be a number in the range"):
        metrics.PinballScorer((0.0, 0.5))
    with pytest.raises(ValueError, match=r"sign must be 1 or -1. Got 'loss'"):
        metrics.DistributionScorer(PredictiveMixture.crps, "loss")


def test_scorers_are_scores_with_greater_better(model, data):
    X, y = data
    distribution = model.predict_distribution(X)
    interval = distribution.interval(0.9)
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    expected = {
        "density": metrics.mean_log_predictive_density(y, distribution),
        "crps": -metrics.mean_crps(y, distribution),
        "pinball": -metrics.mean_pinball_loss(y, distribution.quantile(levels), levels),
        "interval": -metrics.mean_interval_score(y, interval, 0.9),
        "coverage": metrics.interval_coverage(y, interval),
        "width": -metrics.mean_interval_width(interval),
    }
    assert {name: scorer(model, X, y) for name, scorer in SCORERS.items()} == expected
    half = distribution.interval(0.5)
    coverage = metrics.interval_coverage(y, half)
    assert metrics.IntervalScorer("coverage", 0.5)(model, X, y) == coverage
    assert coverage < expected["coverage"]
    median = metrics.PinballScorer((0.5,))(model, X, y)
    assert median == -0.5 * np.mean(np.abs(y - distribution.quantile(0.5)[:, 0]))


def test_scorers_of_functions_of_ones_own(model, data):
    def below_the_median(distribution, y):
        return distribution.cdf(y) < 0.5

    X, y = data
    expected = np.mean(y < model.predict_quantiles(X, 0.5)[:, 0])
    assert metrics.DistributionScorer(below_the_median)(model, X, y) == expected


WEIGHTS = np.arange(60) % 3


def test_a_weight_is_so_many_rows_in_every_scorer(model, data):
    X, y = data
    again = np.repeat(np.arange(60), WEIGHTS)
    for name, scorer in SCORERS.items():
        weighted = scorer(model, X, y, sample_weight=WEIGHTS)
        assert weighted == pytest.approx(scorer(model, X[again], y[again]), rel=1e-12), name
        assert weighted != scorer(model, X, y), name


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_only_ratios_of_weights_count_in_scores(model, data, factor):
    for name, scorer in SCORERS.items():
        expected = scorer(model, *data, sample_weight=WEIGHTS)
        scaled = scorer(model, *data, sample_weight=factor * WEIGHTS)
        assert scaled == pytest.approx(expected, rel=1e-12), name


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        (-np.ones(60), "must not be negative"),
        (np.zeros(60), "at least one weight must be positive"),
        (np.ones(59), "inconsistent numbers of samples"),
        (np.full(60, np.nan), "sample_weight contains NaN"),
    ],
)
def test_bad_weights_are_refused(model, data, weights, told):
    with pytest.raises(ValueError, match=told):
        metrics.crps_scorer(model, *data, sample_weight=weights)


def test_weights_are_routed_to_scorers_that_ask_for_them(data):
    X, y = data
    with sklearn.config_context(enable_metadata_routing=True):
        asking = {n: s.set_score_request(sample_weight=True) for n, s in SCORERS.items()}
        scores = cross_validate(
            BayesianLinear(), X, y, scoring=asking, cv=3, params={"sample_weight": WEIGHTS},
            return_estimator=True, return_indices=True,
        )  # fmt: skip
        for fold, rows in enumerate(scores["indices"]["test"]):
            fitted = scores["estimator"][fold]
            for name, scorer in SCORERS.items():
                expected = scorer(fitted, X[rows], y[rows], sample_weight=WEIGHTS[rows])
                assert scores[f"test_{name}"][fold] == expected
        with pytest.raises(ValueError, match="not explicitly set as requested or not requested"):
            cross_validate(
                BayesianLinear(), X, y, scoring=metrics.crps_scorer, cv=3,
                params={"sample_weight": WEIGHTS}, error_score="raise",
            )  # fmt: skip


def test_scorers_predict_in_blocks(model, data, monkeypatch):
    X, y = data
    expected = {name: scorer(model, X, y) for name, scorer in SCORERS.items()}
    monkeypatch.setattr("skbayesnn._blocks.ROWS_A_BLOCK", 7)
    sizes, predict = [], model.predict_distribution
    model.predict_distribution = lambda rows: sizes.append(len(rows)) or predict(rows)
    for name, scorer in SCORERS.items():
        assert scorer(model, X, y) == pytest.approx(expected[name], rel=1e-12)
    assert max(sizes) == 7


def test_scorers_pickle_and_say_what_they_are():
    for scorer in SCORERS.values():
        assert pickle.loads(pickle.dumps(scorer)) == scorer
    assert repr(metrics.crps_scorer) == "DistributionScorer(row_score=crps, sign=-1)"
    nameless = metrics.DistributionScorer(partial(PredictiveMixture.crps))
    assert repr(nameless).startswith("DistributionScorer(row_score=functools.partial(")


@pytest.mark.parametrize("routing", [False, True])
def test_in_cross_validate_and_grid_search(data, routing):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), BayesianLinear())
    grid = {"bayesianlinear__precisions": [(1.0,), (1e4,)]}
    with sklearn.config_context(enable_metadata_routing=routing):
        scores = cross_validate(pipeline, X, y, scoring=SCORERS, n_jobs=2, cv=3)
        search = GridSearchCV(pipeline, grid, scoring=SCORERS, refit="crps", n_jobs=2, cv=3)
        search.fit(X, y)
        # A search as the estimator: its best estimator is scored.
        nested = cross_val_score(search.set_params(n_jobs=None), X, y, cv=3, scoring="r2")
        nested_crps = cross_val_score(search, X, y, cv=3, scoring=metrics.crps_scorer)
    # Heavy shrinkage is the worse of the two by far; the other is the default.
    assert search.best_params_ == {"bayesianlinear__precisions": (1.0,)}
    for name in SCORERS:
        np.testing.assert_allclose(
            np.mean(scores[f"test_{name}"]),
            search.cv_results_[f"mean_test_{name}"][search.best_index_],
            rtol=1e-12,
        )
    assert nested.min() > 0.9
    # The CRPS of N(0, 0.3²) noise under its own law is 0.3/√π = 0.169.
    assert np.all((nested_crps < -0.1) & (nested_crps > -0.3))
    distribution = search.best_estimator_.predict(X, return_distribution=True)
    assert metrics.crps_scorer(search, X, y) == -metrics.mean_crps(y, distribution)


def test_a_search_that_ends_a_pipeline(data):
    X, y = data
    search = GridSearchCV(BayesianLinear(), {"precisions": [(1.0,)]}, cv=2)
    pipeline = Pipeline([("scale", StandardScaler()), ("none", "passthrough"), ("search", search)])
    pipeline.fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    best = pipeline["search"].best_estimator_
    expected = metrics.crps_scorer(best, scaled, y)
    assert metrics.crps_scorer(pipeline, X, y) == expected
    # The best estimator may be a pipeline of its own.
    inner = GridSearchCV(make_pipeline(StandardScaler(), BayesianLinear()), {}, cv=2)
    nested = make_pipeline(StandardScaler(), inner).fit(X, y)
    assert metrics.crps_scorer(nested, X, y) == pytest.approx(expected, rel=1e-10)
    # The search may end a pipeline that ends a pipeline.
    assert metrics.crps_scorer(make_pipeline("passthrough", pipeline), X, y) == expected
    alone = make_pipeline(make_pipeline(search)).fit(scaled, y)
    assert metrics.crps_scorer(alone, scaled, y) == expected


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("scorer", [metrics.crps_scorer, metrics.pinball_scorer])
def test_other_estimators_are_refused_clearly(data, scorer, routing):
    line = LinearRegression()
    searched = GridSearchCV(line, {"fit_intercept": [True]}, cv=2)
    with sklearn.config_context(enable_metadata_routing=routing):
        for estimator in (line, make_pipeline(StandardScaler(), line), searched):
            name = type(estimator).__name__
            with pytest.raises(TypeError, match=f"predict of {name} does not accept"):
                scorer(estimator.fit(*data), *data)


class Broken(RegressorMixin, BaseEstimator):
    def __init__(self, fails=False):
        self.fails = fails

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X, **ignored):
        if self.fails:
            raise TypeError("unsupported operand")
        return np.zeros(len(X))


def test_errors_inside_predict_are_not_disguised(data):
    with pytest.raises(TypeError, match=r"^unsupported operand"):
        metrics.crps_scorer(Broken(fails=True), *data)
    # Keywords that are swallowed leave a point prediction in place of a distribution.
    with pytest.raises(TypeError, match="Expected a PredictiveMixture"):
        metrics.crps_scorer(Broken(), *data)


@pytest.mark.parametrize("scorer", [metrics.crps_scorer, metrics.pinball_scorer])
def test_scorers_take_a_single_target(model, data, scorer):
    X, y = data
    with pytest.raises(ValueError, match="single target, but y has 2"):
        scorer(model, X, np.column_stack([y, y]))

"""Scores against their definitions, and scorers where scikit-learn uses them."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_pinball_loss as sklearn_pinball
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn import metrics
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.predictive import PredictiveMixture


class RidgeMixture(ProbabilisticRegressorMixin, RegressorMixin, BaseEstimator):
    """Ridge regression whose noise is a mixture of two scales: the mixin's least user."""

    def __init__(self, ridge=1.0):
        self.ridge = ridge

    def fit(self, X, y):
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self.center_, self.mean_ = X.mean(axis=0), y.mean()
        Z = X - self.center_
        gram = Z.T @ Z + self.ridge * np.eye(X.shape[1])
        self.coef_ = np.linalg.solve(gram, Z.T @ (y - self.mean_))
        self.noise_ = np.var(y - self.mean_ - Z @ self.coef_) + 1e-12
        return self

    def predict_distribution(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        mean = self.mean_ + (X - self.center_) @ self.coef_
        means = np.repeat(mean[:, None], 2, axis=1)
        return PredictiveMixture([0.5, 0.5], means, np.full_like(means, 1.0) * self.noise_ * [0.5, 1.5])


@parametrize_with_checks([RidgeMixture()])
def test_the_mixin_passes_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=60)


@pytest.fixture
def model(data):
    return RidgeMixture().fit(*data)


def test_predict_and_its_keywords(model, data):
    X, y = data
    distribution = model.predict(X, return_distribution=True)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, distribution.mean())
    np.testing.assert_array_equal(mean, model.predict(X))
    np.testing.assert_array_equal(std, distribution.std())
    quantiles = model.predict(X, quantiles=(0.9, 0.1))
    np.testing.assert_array_equal(quantiles, model.predict_quantiles(X, (0.9, 0.1)))
    np.testing.assert_allclose(quantiles[:, ::-1], model.predict_interval(X, 0.8), rtol=1e-12)
    assert model.predict_quantiles(X).shape == (60, 3)
    assert model.predict_quantiles(X, 0.5).shape == (60, 1)
    np.testing.assert_array_equal(model.log_predictive_density(X, y), distribution.logpdf(y))
    assert model.sample_y(X, 5, random_state=1).shape == (60, 5)
    model.point_estimate = "median"
    np.testing.assert_array_equal(model.predict(X), distribution.quantile(0.5)[:, 0])


def test_bad_predict_arguments(model, data):
    X, y = data
    with pytest.raises(ValueError, match="only one of"):
        model.predict(X, return_std=True, quantiles=[0.5])
    with pytest.raises(ValueError, match="quantiles must be"):
        model.predict_quantiles(X, [0.0])
    with pytest.raises(ValueError, match="inconsistent"):
        model.log_predictive_density(X, y[:-1])
    with pytest.raises(ValueError, match="NaN"):
        model.log_predictive_density(X, np.where(y > 0, y, np.nan))


def test_scores_are_their_definitions(model, data):
    X, y = data
    distribution = model.predict_distribution(X)
    assert metrics.mean_log_predictive_density(y, distribution) == np.mean(distribution.logpdf(y))
    assert metrics.mean_crps(y, distribution) == np.mean(distribution.crps(y))
    levels = (0.1, 0.5, 0.7)
    quantiles = distribution.quantile(levels)
    expected = np.mean([sklearn_pinball(y, q, alpha=a) for q, a in zip(quantiles.T, levels, strict=True)])
    assert metrics.mean_pinball_loss(y, quantiles, levels) == pytest.approx(expected, rel=1e-12)
    interval = distribution.interval(0.5)
    inside = [low <= v <= high for v, (low, high) in zip(y, interval, strict=True)]
    assert metrics.interval_coverage(y, interval) == np.mean(inside)
    assert metrics.mean_interval_width(interval) == np.mean(interval[:, 1] - interval[:, 0])


def test_interval_score_is_least_at_the_true_quantiles():
    y = np.random.default_rng(0).standard_normal(200_000)
    true = stats.norm.ppf([0.1, 0.9])

    def score(interval):
        return metrics.mean_interval_score(y, np.tile(interval, (y.size, 1)), 0.8)

    assert all(score(true) < score(true + d) for d in ([0.2, 0], [-0.2, 0], [0, 0.2], [0, -0.2]))
    # An observation 1 below an interval of width 2, at coverage 0.9: 2 + 20.
    assert metrics.mean_interval_score([-2.0], [[-1.0, 1.0]]) == pytest.approx(22.0)


def test_bad_score_arguments():
    with pytest.raises(ValueError, match="2 columns"):
        metrics.interval_coverage([1.0], [[0.0, 1.0, 2.0]])
    with pytest.raises(ValueError, match="inconsistent"):
        metrics.interval_coverage([1.0, 2.0], [[0.0, 1.0]])
    with pytest.raises(ValueError, match="coverage"):
        metrics.mean_interval_score([1.0], [[0.0, 1.0]], coverage=1)
    with pytest.raises(ValueError, match="kind"):
        metrics.IntervalScorer("best")(RidgeMixture().fit([[0.0], [1.0]], [0, 1]), [[0.0]], [0])


SCORERS = {
    "density": metrics.log_predictive_density_scorer,
    "crps": metrics.crps_scorer,
    "pinball": metrics.pinball_scorer,
    "interval": metrics.interval_scorer,
    "coverage": metrics.interval_coverage_scorer,
    "width": metrics.interval_width_scorer,
}


@pytest.mark.parametrize("routing", [False, True])
def test_scorers_in_cross_validate_and_grid_search(data, routing):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), RidgeMixture())
    with sklearn.config_context(enable_metadata_routing=routing):
        scores = cross_validate(pipeline, X, y, scoring=SCORERS, n_jobs=2, cv=3)
        for name in SCORERS:
            assert np.isfinite(scores[f"test_{name}"]).all()
        search = GridSearchCV(
            pipeline,
            {"ridgemixture__ridge": [0.1, 1e4]},
            scoring=metrics.crps_scorer,
            n_jobs=2,
            cv=3,
        ).fit(X, y)
    # Heavy shrinkage is the worse of the two by far.
    assert search.best_params_ == {"ridgemixture__ridge": 0.1}
    distribution = search.best_estimator_.predict(X, return_distribution=True)
    assert metrics.crps_scorer(search, X, y) == -metrics.mean_crps(y, distribution)


def test_signs_and_pickles(model, data):
    X, y = data
    distribution = model.predict_distribution(X)
    assert SCORERS["density"](model, X, y) == metrics.mean_log_predictive_density(y, distribution)
    assert SCORERS["crps"](model, X, y) == -metrics.mean_crps(y, distribution)
    assert SCORERS["width"](model, X, y) < 0 < SCORERS["coverage"](model, X, y)
    for scorer in SCORERS.values():
        assert pickle.loads(pickle.dumps(scorer)) == scorer


def test_other_estimators_are_refused_clearly(data):
    with pytest.raises(TypeError, match=r"LinearRegression cannot be scored.*return_distribution"):
        metrics.crps_scorer(LinearRegression().fit(*data), *data)

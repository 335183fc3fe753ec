"""The displays draw what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color
from scipy.stats import norm
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayesnn import StackingDistributionRegressor, UDNRegressor
from skbayesnn.plotting import (
    CalibrationDisplay,
    DepthPosteriorDisplay,
    PredictionIntervalDisplay,
    PredictiveDensityDisplay,
    StackingWeightsDisplay,
)
from skbayesnn.predictive import PredictiveMixture


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(-2, 2, size=60)})
    y = np.sin(frame["age"].to_numpy()) + 0.1 * rng.normal(size=60)
    pipe = make_pipeline(StandardScaler(), UDNRegressor(max_iter=10, random_state=0))
    return pipe.fit(frame, y), frame, y


def normals(n, std=1.0):
    return PredictiveMixture([1.0], np.arange(float(n))[:, None], np.full((n, 1), std**2))


def test_intervals_along_a_feature(fitted):
    model, frame, y = fitted
    _, ax = plt.subplots()
    display = PredictionIntervalDisplay.from_estimator(model, frame, y, coverages=0.8, ax=ax)
    assert display.ax_ is ax
    assert ax.get_xlabel() == "age"
    np.testing.assert_array_equal(display.line_.get_xdata(), np.sort(frame["age"]))
    expected = model.predict(frame, quantiles=[0.1, 0.9])
    np.testing.assert_allclose(display.intervals[0], expected)
    order = np.argsort(frame["age"].to_numpy())
    np.testing.assert_array_equal(display.points_.get_ydata(), y[order])


def test_intervals_of_several_features_follow_the_median():
    display = PredictionIntervalDisplay.from_predictions(normals(5)[[3, 0, 4, 1, 2]], np.zeros(5))
    np.testing.assert_allclose(display.line_.get_ydata(), np.arange(5))
    np.testing.assert_allclose(display.intervals[1][1], [norm.ppf(0.05), norm.ppf(0.95)], atol=1e-9)
    assert len(display.bands_) == 2


class Table:
    """Takes any table; a pipeline that imputes and encodes does, too."""

    def predict(self, X, return_distribution):
        return normals(len(X))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"age": [1.0, np.nan, 3.0]}),
        pd.DataFrame({"shop": ["a", None, "b"]}),
        pd.DataFrame({"day": pd.date_range("2026-01-01", periods=3)}),
        pd.DataFrame({"age": [1.0, np.nan, 3.0], "shop": ["a", None, "b"]}),
    ],
)
def test_tables_that_only_a_pipeline_reads(frame):
    display = PredictionIntervalDisplay.from_estimator(Table(), frame, np.zeros(3))
    assert display.x is None
    assert display.ax_.get_xlabel() == "rows, by predicted median"
    assert len(PredictiveDensityDisplay.from_estimator(Table(), frame).lines_) == 3


def test_intervals_of_two_models_share_axes():
    first = PredictionIntervalDisplay.from_predictions(normals(3), color="C1")
    second = PredictionIntervalDisplay.from_predictions(normals(3), ax=first.ax_, coverages=0.5)
    for display, color in ((first, "C1"), (second, "C0")):
        for band in display.bands_:
            assert same_color(band.get_facecolor()[0][:3], color)
        assert same_color(display.line_.get_color(), color)


def test_density_curves_and_image(fitted):
    model, frame, y = fitted
    curves = PredictiveDensityDisplay.from_predictions(normals(3), [0.0, 1.0, 2.0])
    assert len(curves.lines_) == 3
    np.testing.assert_allclose(curves.density[1], norm.pdf(curves.grid, loc=1.0), rtol=1e-10)
    image = PredictiveDensityDisplay.from_estimator(model, frame, y, n_points=50)
    assert image.lines_ is None
    assert image.image_.get_array().max() == 1.0
    few = PredictiveDensityDisplay.from_estimator(model, frame[:2])
    assert few.lines_[0].get_label().startswith("age = ")


@pytest.mark.parametrize(
    "draw",
    [
        PredictionIntervalDisplay.from_predictions,
        PredictiveDensityDisplay.from_predictions,
        lambda given: CalibrationDisplay.from_predictions(np.zeros(3), given),
    ],
)
def test_what_is_no_distribution_is_refused(draw):
    with pytest.raises(TypeError, match=r"Expected a PredictiveMixture. Got list"):
        draw([normals(3)])


def test_bad_numbers_are_named():
    with pytest.raises(ValueError, match=r"n_points must be an int, at least 2. Got 0"):
        PredictiveDensityDisplay.from_predictions(normals(3), n_points=0)
    for bad in (0, 2.5):
        with pytest.raises(ValueError, match=r"n_bins must be a positive int. Got"):
            CalibrationDisplay.from_predictions(np.zeros(3), normals(3), n_bins=bad)
    with pytest.raises(ValueError, match="coverages must have at least one number"):
        PredictionIntervalDisplay.from_predictions(normals(3), coverages=[])


def test_too_many_densities_are_refused():
    with pytest.raises(ValueError, match="choose up to 10 rows"):
        PredictiveDensityDisplay.from_predictions(normals(11))
    with pytest.raises(ValueError, match="lower 'n_points'"):
        PredictiveDensityDisplay.from_predictions(normals(11), x=np.arange(11), n_points=10**6)
    with pytest.raises(ValueError, match="All rows have the same input"):
        PredictiveDensityDisplay.from_predictions(normals(11), x=np.zeros(11))
    with pytest.raises(ValueError, match="x has 3 values"):
        PredictiveDensityDisplay.from_predictions(normals(11), x=np.zeros(3))


def test_depth(fitted):
    model, frame, y = fitted
    display = DepthPosteriorDisplay.from_estimator(model)
    heights = [bar.get_height() for bar in display.bars_]
    np.testing.assert_allclose(heights, model[-1].depth_posterior_)
    assert display.mean_line_.get_xdata()[0] == pytest.approx(model[-1].expected_depth_)
    search = GridSearchCV(model, {"udnregressor__width": [4]}, cv=2).fit(frame, y)
    DepthPosteriorDisplay.from_estimator(search)
    DepthPosteriorDisplay.from_estimator(make_pipeline(StandardScaler(), search).fit(frame, y))
    with pytest.raises(TypeError, match="StandardScaler has no depth_posterior_"):
        DepthPosteriorDisplay.from_estimator(StandardScaler().fit(frame))


def test_calibration_histogram_counts_the_transform():
    y = np.arange(4.0) + norm.ppf([0.05, 0.15, 0.17, 0.95])
    display = CalibrationDisplay.from_predictions(y, normals(4))
    np.testing.assert_allclose(display.pit, [0.05, 0.15, 0.17, 0.95])
    heights = [bar.get_height() for bar in display.bars_]
    np.testing.assert_allclose(heights, np.array([1, 2, 0, 0, 0, 0, 0, 0, 0, 1]) * 10 / 4)


def test_reliability_is_the_share_below_each_quantile(fitted):
    model, frame, y = fitted
    display = CalibrationDisplay.from_estimator(model, frame, y, kind="reliability")
    share = np.mean(y <= model.predict(frame, quantiles=[0.3])[:, 0])
    assert display.line_.get_ydata()[30] == pytest.approx(share)
    with pytest.raises(ValueError, match="kind must be 'pit' or 'reliability'"):
        CalibrationDisplay.from_estimator(model, frame, y, kind="qq")


@pytest.mark.parametrize("kind", ["pit", "reliability"])
def test_calibration_of_two_models_shares_one_range(kind):
    y = np.arange(40.0) + norm.ppf((np.arange(40) + 0.5) / 40)
    first = CalibrationDisplay.from_predictions(y, normals(40, 0.3), kind=kind, name="too sure")
    top = first.ax_.get_ylim()[1]
    CalibrationDisplay.from_predictions(y, normals(40), kind=kind, name="right", ax=first.ax_)
    texts = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert sorted(texts) == ["95 % if calibrated", "right", "too sure"]
    assert first.ax_.get_ylim()[1] == top


def test_several_targets_are_refused(fitted):
    _, frame, y = fitted
    model = UDNRegressor(max_iter=5, random_state=0).fit(frame, np.column_stack([y, -y]))
    with pytest.raises(ValueError, match="several targets"):
        PredictionIntervalDisplay.from_estimator(model, frame)


def test_stacking_weights():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1))
    members = [("bayes", BayesianRidge()), ("ols", LinearRegression())]
    model = StackingDistributionRegressor(members, cv=2).fit(X, X[:, 0] + rng.normal(size=60))
    display = StackingWeightsDisplay.from_estimator(make_pipeline(model))
    np.testing.assert_allclose([bar.get_width() for bar in display.bars_], model.weights_)
    assert display.labels_[0].get_text() == f" {model.cv_log_densities_[0].mean():.3f}"
    with pytest.raises(TypeError, match="LinearRegression has no cv_log_densities_"):
        StackingWeightsDisplay.from_estimator(LinearRegression().fit(X, X[:, 0]))

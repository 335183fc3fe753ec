"""The display of partial effects draws what the network says, for the inputs asked for."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayesnn import StableNNRegressor
from skbayesnn.plotting import PartialEffectsDisplay

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1, 1, size=(80, 3)), columns=["age", "dose", "rate"])
    return frame, 3.0 * (frame["dose"] > 0.2) + frame["rate"] + 0.1 * rng.normal(size=80)


def fit(X, y, steps=(), **parameters):
    network = StableNNRegressor(
        n_chains=2, n_warmup=100, n_posterior_draws=60, thin=2, random_state=0, **parameters
    )
    return make_pipeline(*steps, network).fit(X, y) if steps else network.fit(X, y)


@pytest.fixture(scope="module")
def model(data):
    return fit(*data)


def test_panels_have_the_effects_in_the_order_of_their_shares(model, data):
    X = data[0]
    display = PartialEffectsDisplay.from_estimator(model, X)
    effects = model.partial_effects(X)
    assert next(ax.get_xlabel() for ax in display.axes_) == "dose"
    shares = [int(ax.get_title().split(" %")[0]) for ax in display.axes_]
    assert shares[:3] == sorted(shares[:3], reverse=True)
    assert sum(shares) == pytest.approx(100, abs=2)
    x, first = np.unique(X["dose"], return_index=True)
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), x)
    np.testing.assert_allclose(display.lines_[0].get_ydata(), effects.mean[first, 1])
    np.testing.assert_allclose(display.lines_[-1].get_ydata(), np.sort(effects.smooth_mean))
    # The band goes along the lower end and back along the upper one.
    corners = display.bands_[0].get_paths()[0].vertices[:, 1]
    assert corners.min() == pytest.approx(effects.lower[:, 1].min())
    assert corners.max() == pytest.approx(effects.upper[:, 1].max())


def test_features_by_name_and_number_on_axes_that_are_given(model, data):
    figure, axes = plt.subplots(3)
    display = PartialEffectsDisplay.from_estimator(model, data[0], features=["rate", 0], ax=axes)
    assert display.figure_ is figure
    assert [ax.get_xlabel() for ax in axes[:2]] == ["rate", "age"]
    for alone in ("dose", 1, np.int64(1)):
        display = PartialEffectsDisplay.from_estimator(model, data[0], features=alone)
        assert [ax.get_xlabel() for ax in display.axes_[:-1]] == ["dose"]
    for bad in (-1, 0.5, True):
        with pytest.raises(ValueError, match=f"there are 3 inputs, so there is no number {bad}"):
            PartialEffectsDisplay.from_estimator(model, data[0], features=[bad])
    with pytest.raises(ValueError, match="ax has 3 axes, but 2 panels"):
        PartialEffectsDisplay.from_estimator(model, data[0], features=[1], ax=axes)
    with pytest.raises(ValueError, match="no input 'height'"):
        PartialEffectsDisplay.from_estimator(model, data[0], features=["height"])
    with pytest.raises(ValueError, match="there are 3 inputs, so there is no number 3"):
        PartialEffectsDisplay.from_estimator(model, data[0], features=[3])


def test_a_pipeline_shows_what_the_network_sees(data):
    X, y = data
    pipe = fit(X, y, [StandardScaler()], dense_units=False)
    display = PartialEffectsDisplay.from_estimator(pipe, X)
    assert len(display.axes_) == 3
    scaled = pipe[0].transform(X)
    np.testing.assert_allclose(display.lines_[0].get_xdata(), np.unique(scaled[:, 1]))
    # Or pipelines in a pipeline, or one of a single step.
    for outer in (make_pipeline(pipe), make_pipeline("passthrough", pipe)):
        again = PartialEffectsDisplay.from_estimator(outer, X)
        assert again.lines_[0].get_xydata().tolist() == display.lines_[0].get_xydata().tolist()


def test_other_estimators_have_no_effects(data):
    X, y = data
    with pytest.raises(TypeError, match="has no partial_effects"):
        PartialEffectsDisplay.from_estimator(StandardScaler().fit(X), X)
    line = StableNNRegressor(
        likelihood="gaussian", n_warmup=10, n_posterior_draws=50, n_chains=1, random_state=0
    )
    line.fit(X[["age"]], y)
    with pytest.raises(ValueError, match="needs cells='additive'"):
        PartialEffectsDisplay.from_estimator(line, X[["age"]])

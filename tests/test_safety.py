"""Pickles know their version, and a fit that is stopped leaves the estimator as it was."""

import pickle

import joblib
import numpy as np
import pytest
from quick import CLASSIFIERS, REGRESSORS
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

import skbayesnn
from skbayesnn import StableNNRegressor

ESTIMATORS = [*CLASSIFIERS, *REGRESSORS]
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def data(n):
    X = np.linspace(-1, 1, n)[:, None]
    return X, (X[:, 0] > 0).astype(float)


class CtrlC:
    """A callback that interrupts the fit after its first task."""

    def setup(self, estimator, context):
        """Nothing to prepare."""

    def teardown(self, estimator, context):
        """Nothing to clean up."""

    def on_fit_task_begin(self, estimator, context):
        """Nothing to do."""

    def on_fit_task_end(self, estimator, context):
        raise KeyboardInterrupt


def named(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=named)
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(estimator):
    X, y = data(20)
    inner = estimator
    if isinstance(estimator, skbayesnn.EnsembleRegressor):
        inner = estimator.estimator
    model = estimator.fit(X, y)
    before = model.predict(X)
    inner.set_callbacks(CtrlC())
    try:
        with pytest.raises(KeyboardInterrupt):
            # Other rows and features, so that anything left of them would show.
            model.fit(np.tile(data(30)[0], 2), data(30)[1])
        np.testing.assert_array_equal(model.predict(X), before)
    finally:
        inner.set_callbacks()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=named)
def test_a_pickle_of_another_version_says_so(estimator, monkeypatch):
    X, y = data(20)
    stored = pickle.dumps(estimator.fit(X, y))
    np.testing.assert_array_equal(pickle.loads(stored).predict(X), estimator.predict(X))
    monkeypatch.setattr(skbayesnn, "__version__", "99.0")
    with pytest.warns(UserWarning, match=r"pickled by skbayesnn .* and is read by 99\.0"):
        pickle.loads(stored)


def test_a_first_fit_that_is_interrupted_leaves_it_unfitted():
    model = skbayesnn.UDNRegressor(max_iter=5).set_callbacks(CtrlC())
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data(20))
    with pytest.raises(NotFittedError):
        model.predict(data(20)[0])
    assert not hasattr(model, "n_features_in_")


@pytest.mark.filterwarnings("always::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=named)
def test_warnings_name_the_line_of_the_user(estimator, wrapped):
    X, y = data(40)
    model = make_pipeline(clone(estimator)) if wrapped else clone(estimator)
    key = f"{model.steps[0][0]}__sample_weight" if wrapped else "sample_weight"
    with pytest.warns(UserWarning, match="Multiply sample_weight") as told:
        model.fit(X, y, **{key: np.full(40, 1 / 40)})
    # Weights that sum to one are asked about, and short chains do not converge.
    ours = [warning for warning in told if "Multiply sample_weight" in str(warning.message)]
    ours += [warning for warning in told if "chains may not" in str(warning.message)]
    assert {warning.filename for warning in ours} == {__file__}


def test_a_warning_of_effects_names_the_line_of_the_user():
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = StableNNRegressor(n_warmup=5, n_posterior_draws=8, thin=1, random_state=0)
    model.fit(X, X[:, 0])
    with pytest.warns(UserWarning, match="for the parts of the function") as told:
        model.partial_effects(X)
    assert told[0].filename == __file__


@pytest.mark.parametrize(
    "estimator", [each for each in ESTIMATORS if hasattr(each, "partial_fit")], ids=named
)
def test_a_stream_goes_on_from_a_file_that_is_mapped_into_memory(estimator, tmp_path):
    """Its arrays are read-only."""
    X, y = data(20)
    told = {"classes": [0, 1]} if is_classifier(estimator) else {}
    own = clone(estimator).partial_fit(X, y, **told)
    joblib.dump(own, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r").partial_fit(X, y)
    np.testing.assert_array_equal(mapped.predict(X), own.partial_fit(X, y).predict(X))

"""Pickles know their version, and a fit that is stopped leaves the estimator as it was."""

import pickle

import numpy as np
import pytest
from quick import CLASSIFIERS, REGRESSORS
from sklearn.exceptions import NotFittedError

import skbayesnn

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

"""What has to hold for any finite data, whatever its shape, scale or repetitions."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from quick import CLASSIFIERS, REGRESSORS, name
from sklearn.base import clone, is_classifier

LEVELS = [0.05, 0.5, 0.95]
# Few examples of short fits: what breaks is a shape or a scale, and each has a size of its own.
few = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)


@st.composite
def tables(draw):
    """Rows from a small grid, so that duplicates and constant columns are common."""
    n, p = draw(st.integers(4, 12)), draw(st.integers(1, 3))
    cells = st.integers(-2, 2)
    X = np.array(draw(st.lists(st.lists(cells, min_size=p, max_size=p), min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.integers(-9, 9), min_size=n, max_size=n)), dtype=float)
    X = 10.0 ** draw(st.integers(-3, 3)) * X + draw(st.sampled_from([0.0, 1.0, -50.0]))
    y = 10.0 ** draw(st.integers(-8, 8)) * y + draw(st.sampled_from([0.0, 3.0]))
    return X.astype(draw(st.sampled_from([np.float64, np.float32]))), y


def fitted(estimator, X, y):
    """Fit, without the warnings that short fits and nearly equal rows deserve."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return estimator.fit(X, y)


@pytest.mark.parametrize("estimator", REGRESSORS, ids=name)
def test_regressors(estimator):
    @few
    @given(tables(), st.integers(-20, 20), st.randoms(use_true_random=False))
    def check(table, power, random):
        X, y = table
        model = fitted(clone(estimator), X, y)
        quantiles = model.predict_quantiles(X, LEVELS)
        assert np.isfinite(quantiles).all()
        assert (np.diff(quantiles, axis=1) >= 0).all()
        assert np.isfinite(model.log_predictive_density(X, y)).all()
        # Rows are predicted one by one, to the digits of products in single precision.
        rows = random.sample(range(len(X)), len(X))
        np.testing.assert_allclose(
            model.predict_quantiles(X[rows], LEVELS),
            quantiles[rows],
            rtol=1e-5,
            atol=1e-6 * np.ptp(quantiles),
        )
        for copy in (pickle.loads(pickle.dumps(model)), fitted(clone(model), X, y)):
            np.testing.assert_array_equal(copy.predict_quantiles(X, LEVELS), quantiles)
        # Units of y: a power of two, which changes no digit. Nothing tells those of a constant.
        if np.ptp(y) == 0:
            return
        scaled = fitted(clone(estimator), X, y * 2.0**power)
        np.testing.assert_allclose(
            scaled.predict_quantiles(X, LEVELS), quantiles * 2.0**power, rtol=1e-9
        )

    check()


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name)
def test_classifier(estimator):
    assert is_classifier(estimator)

    @few
    @given(tables(), st.integers(1, 4), st.randoms(use_true_random=False))
    def check(table, n_classes, random):
        X, y = table
        y = np.argsort(np.argsort(y, kind="stable")) % n_classes
        model = fitted(clone(estimator), X, y)
        p = model.predict_proba(X)
        assert p.shape == (len(X), len(np.unique(y)))
        np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-9)
        rows = random.sample(range(len(X)), len(X))
        np.testing.assert_allclose(model.predict_proba(X[rows]), p[rows], rtol=1e-9, atol=1e-12)
        for copy in (pickle.loads(pickle.dumps(model)), fitted(clone(model), X, y)):
            np.testing.assert_array_equal(copy.predict_proba(X), p)

    check()

"""A row of weight k is k equal rows, and one of weight 0 is none."""

import numpy as np
import pytest
import sklearn
from sip_models import SMALL, wave
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skbayesnn.numerics.copies import noisy_counts
from skbayesnn.sip import SIPRegressor


def weighted_pair(n=40):
    """A sine, and rows of another function that the weights take out."""
    X, y = wave(3 * n, seed=3)
    weights = np.repeat([3.0, 1.0, 0.0], n)
    return X, np.where(weights > 0, y, -y), weights


def test_weights_are_numbers_of_rows():
    X, y, weights = weighted_pair()
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    options = {**SMALL, "max_iter": 150, "batch_size": 1000}
    grid = np.linspace(-2, 2, 30)[:, None]
    fits = [
        [
            SIPRegressor(**options, random_state=seed).fit(*data).predict_distribution(grid)
            for seed in range(2)
        ]
        for data in ((X, y, weights), (X[rows], y[rows]))
    ]
    mean, std = (
        np.array([[getattr(d, what)() for d in part] for part in fits]) for what in ("mean", "std")
    )
    # The two differ in the inducing inputs at the start and all draws, as two seeds do.
    between_seeds = mean.std(axis=1, ddof=1).mean()
    assert np.abs(mean[0].mean(0) - mean[1].mean(0)).mean() < 2 * between_seeds
    assert abs(std[0].mean() / std[1].mean() - 1) < 0.2
    # Without the weights the fit is another one.
    plain = SIPRegressor(**options, random_state=0).fit(X, y).predict(grid)
    assert np.abs(plain - mean[1].mean(0)).mean() > 4 * between_seeds


def test_rows_without_weight_do_not_exist():
    X, y, weights = weighted_pair()
    some = weights > 0
    options = {**SMALL, "early_stopping": True, "max_iter": 5, "random_state": 0}
    a = SIPRegressor(**options).fit(X, y, weights)
    b = SIPRegressor(**options).fit(X[some], y[some], sample_weight=weights[some])
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    assert a.n_samples_seen_ == pytest.approx(noisy_counts(weights[some]).sum())
    c = SIPRegressor(**options).partial_fit(X, y, weights).partial_fit(X, y)
    assert c.n_samples_seen_ == weights.sum() + len(X)


def test_weights_through_a_pipeline():
    X, y, weights = weighted_pair()
    with sklearn.config_context(enable_metadata_routing=True):
        model = SIPRegressor(**SMALL, max_iter=5, random_state=0, normalize_X=False)
        alone = clone(model).fit(X, y, sample_weight=weights)
        pipe = make_pipeline(FunctionTransformer(), model.set_fit_request(sample_weight=True))
        pipe.fit(X, y, sample_weight=weights)
        np.testing.assert_array_equal(pipe.predict(X), alone.predict(X))

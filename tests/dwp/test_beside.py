"""The Gaussian processes without hidden layers that take part in predictions."""

import pickle

import numpy as np
import pytest

from skbayesnn import DeepWishartRegressor
from skbayesnn.training.neighbour_process import PooledSearches


def smooth(X):
    return np.exp(X[:, 0]) * np.sin(2 * X[:, 1])


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (150, 2))
    return DeepWishartRegressor(random_state=0).fit(X, smooth(X)), rng.uniform(-1, 1, (200, 2))


def test_a_smooth_function_without_noise_is_predicted_by_the_process(fitted):
    model, X = fitted
    assert 0.5 < model.gaussian_process_weight_ < 1.0
    law = model.predict_distribution(X)
    low, high = law.quantile([0.05, 0.95]).T
    assert 0.8 < np.mean((low <= smooth(X)) & (smooth(X) <= high)) < 1.0
    alone = pickle.loads(pickle.dumps(model))
    alone._model.beside = None
    gain = law.logpdf(smooth(X)).mean() - alone.predict_distribution(X).logpdf(smooth(X)).mean()
    assert gain > 0.5


def test_joint_draws_agree_with_the_distributions(fitted):
    model, X = fitted
    X, levels = X[:20], [0.1, 0.3, 0.5, 0.7, 0.9]
    law, draws = model.predict_distribution(X), model.sample_y(X, 4000, random_state=1)
    below = np.mean(draws[:, :, None] <= law.quantile(levels)[:, None], axis=1)
    # Five standard errors of a share of 4000 draws; distributions merge draws of the hidden layers.
    np.testing.assert_allclose(below, np.tile(levels, (20, 1)), atol=5 * 0.5 / np.sqrt(4000))


def test_hidden_layers_output_and_number_of_rows_decide_whether_there_is_one():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (150, 2))
    y = smooth(X)
    for parameters, rows, targets in (
        ({"gaussian_process": False}, slice(None), y),
        ({"n_layers": 0}, slice(None), y),
        ({"output": "inducing"}, slice(None), y),
        ({}, slice(60), y),
        ({}, slice(None), np.column_stack([y, -y])),
    ):
        model = DeepWishartRegressor(max_iter=5, random_state=0, **parameters)
        assert model.fit(X[rows], targets[rows]).gaussian_process_weight_ == 0.0


def test_with_noise_only_the_process_of_near_rows_takes_part():
    """On a function that is rough along one input, and that hidden layers are too smooth for."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (300, 2))
    y = np.floor(8 * X[:, 0]) % 2 + 0.05 * rng.normal(size=300)
    model = DeepWishartRegressor(max_iter=5, random_state=0).fit(X, y)
    (taken,) = model._model.beside.taken[0]
    assert isinstance(taken.process, PooledSearches)
    assert model.gaussian_process_weight_ == taken.part > 0.3


def test_the_seed_alone_decides_whatever_the_number_of_workers():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (120, 2))
    model = DeepWishartRegressor(max_iter=20, random_state=0)
    first = model.fit(X, smooth(X)).predict_distribution(X[:5])
    second = model.set_params(n_jobs=2).fit(X, smooth(X)).predict_distribution(X[:5])
    np.testing.assert_array_equal(first.quantile([0.1, 0.9]), second.quantile([0.1, 0.9]))


def test_a_stream_forgets_the_process(fitted):
    model, X = pickle.loads(pickle.dumps(fitted[0])), fitted[1]
    model.partial_fit(X, smooth(X))
    assert model.gaussian_process_weight_ == 0.0

"""Oblique directions: gradients, which are found and where none are, and what sees them."""

import pickle

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skbayesnn import StableNNRegressor
from skbayesnn.stable.additive import directions
from skbayesnn.stable.additive.directions import (
    fit_limits_and_directions,
    leading_directions,
    smooth_gradients,
    with_directions,
    without_small_weights,
)
from skbayesnn.stable.additive.partition import AdditiveCells

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
NORMAL = np.array([0.9, -0.3, 0.3])
QUICK = {"n_chains": 2, "n_warmup": 60, "n_posterior_draws": 60, "random_state": 0}


def oblique_step(n, rng):
    X = rng.normal(size=(n, 3))
    return X, np.where(X @ NORMAL > 0.2, 1.0, -1.0) + 0.1 * rng.normal(size=n)


def standardised(y):
    return (y - y.mean()) / y.std()


def test_gradients_are_those_of_the_posterior_mean(rng, monkeypatch):
    """Of scikit-learn's process with the same settings, by numerical differentiation."""
    X, y, weights = rng.normal(size=(12, 3)), rng.normal(size=12), rng.integers(1, 4, 12)
    settings = np.array([0.3, -0.2, 1.0, 0.4, -2.0])

    class Found:
        x = settings

    monkeypatch.setattr(directions, "search", lambda *_: Found)
    gradients = smooth_gradients(X, y, weights)
    kernel = ConstantKernel(np.exp(0.4)) * RBF(np.exp(settings[:3]))
    process = GaussianProcessRegressor(kernel, alpha=np.exp(-2.0) / weights, optimizer=None)
    process.fit(X, y)
    for x, gradient in zip(X[:4], gradients, strict=False):
        numerical = approx_fprime(x, lambda x: process.predict(x[None])[0], 1e-6)
        np.testing.assert_allclose(gradient, numerical, atol=1e-5)


def test_leading_directions_are_those_of_steepest_change(rng):
    """f = sin(3 a·x) + b·x / 2 for orthogonal a and b: nothing changes along the third."""
    X = rng.normal(size=(500, 3))
    a, b = np.array([2.0, 1.0, 0.0]) / np.sqrt(5.0), np.array([0.0, 0.0, 1.0])
    gradients = 3.0 * np.cos(3.0 * X @ a)[:, None] * a + 0.5 * b
    found = leading_directions(X, gradients)
    np.testing.assert_allclose((X @ found).std(axis=0), 1.0, atol=0.01)
    found /= np.linalg.norm(found, axis=0)
    # The mean of the cosine is not quite zero, so that the two are mixed a little.
    np.testing.assert_allclose(found[:, 0], a, atol=0.05)
    np.testing.assert_allclose(found[:, 1], b, atol=0.1)
    assert leading_directions(X[:, :1], gradients[:, :1]).shape == (1, 1)
    # In other units of the inputs they are the same.
    far = leading_directions(1e-6 * X, gradients)
    np.testing.assert_allclose(1e-6 * X @ far, X @ leading_directions(X, gradients), rtol=1e-9)


def test_a_flat_function_has_finite_directions(rng):
    X = np.column_stack([rng.normal(size=20), np.ones(20)])
    assert np.isfinite(leading_directions(X, np.zeros((20, 2)))).all()


def test_a_row_has_the_same_digits_wherever_it_is(rng):
    X, w = rng.normal(size=(101, 7)), rng.normal(size=(7, 2))
    whole = with_directions(X, w)
    np.testing.assert_allclose(whole[:, 7:], X @ w, rtol=1e-12, atol=1e-14)
    for i in range(0, 101, 10):
        np.testing.assert_array_equal(with_directions(X[i : i + 1], w)[0], whole[i])


def test_weights_that_break_ties_are_left_out(rng):
    """y depends on the twelve combinations of two discrete inputs, and a third one does nothing."""
    X = np.column_stack([rng.integers(0, k, 300) for k in (3, 4, 5)]).astype(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    w = np.array([[0.8], [0.5], [0.002]])
    levels = np.unique(X[:, :2] @ w[:2], return_inverse=True)[1].ravel()
    y = standardised(rng.normal(size=12)[levels] + 0.1 * rng.normal(size=300))
    w = directions.of_unit_spread(X, w)
    found, first = without_small_weights(X, y, np.ones(300), w)
    assert w[2, 0] > 0.0
    assert found[2, 0] == 0.0
    np.testing.assert_allclose(found[:2], w[:2], atol=1e-3)
    # The search that decided is the first one for these rows.
    told = with_directions(X, found), y, np.ones(300)
    one, other = (
        directions.fit_gaussian_limits(*told, np.random.default_rng(0), True, known)[0]
        for known in (first, None)
    )
    np.testing.assert_array_equal(one.left_out_means, other.left_out_means)
    # Without recurring values there is nothing to decide.
    X, told = rng.normal(size=(50, 3)), (rng.normal(size=50), np.ones(50))
    np.testing.assert_array_equal(without_small_weights(X, *told, w)[0], w)


def test_an_oblique_border_is_found(rng):
    X, y = oblique_step(300, rng)
    limits, found = fit_limits_and_directions(X, standardised(y), np.ones(300), rng)
    assert found.shape == (3, 2)
    cosine = found[:, 0] @ NORMAL / np.linalg.norm(found[:, 0]) / np.linalg.norm(NORMAL)
    assert cosine > 0.995
    assert len(limits[0].log_nus) == 5


@pytest.mark.parametrize(
    "function",
    [
        lambda X: np.sign(X[:, 0]) + np.sign(X[:, 1] - 0.3),
        lambda X: np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2],
        lambda X: 0.0 * X[:, 0],
    ],
    ids=["axis steps", "smooth", "noise"],
)
def test_there_are_none_without_need(rng, function):
    X = rng.normal(size=(200, 3))
    y = standardised(function(X) + 0.2 * rng.normal(size=200))
    _, found = fit_limits_and_directions(X, y, np.ones(200), rng)
    assert found.shape == (3, 0)


@pytest.mark.parametrize("n_features", [1, 51])
def test_one_input_and_very_many_have_none(rng, n_features):
    X = rng.normal(size=(40, n_features))
    y = standardised(np.sign(X.sum(axis=1)) + 0.1 * rng.normal(size=40))
    _, found = fit_limits_and_directions(X, y, np.ones(40), rng)
    assert found.shape == (n_features, 0)


def test_the_cells_are_those_of_a_table_with_further_columns(rng):
    X, y = oblique_step(100, rng)
    y, w = standardised(y), np.round(rng.normal(size=(3, 2)), 2)
    none, told = np.empty((5, 0)), (y, np.ones(100))
    ours = AdditiveCells(X, *told, rng=np.random.default_rng(0), directions=w)
    table = with_directions(X, w)
    table = AdditiveCells(table, *told, rng=np.random.default_rng(0), directions=none)
    np.testing.assert_array_equal(ours.index, table.index)
    np.testing.assert_array_equal(ours.gram(), table.gram())
    np.testing.assert_array_equal(ours.first_log_nu, table.first_log_nu)
    assert ours.rows.shape == (100, 3)
    assert ours.is_of(X, y, np.ones(100))


@pytest.fixture(scope="module")
def fitted():
    X, y = oblique_step(250, np.random.default_rng(0))
    return X, y, StableNNRegressor(**QUICK).fit(X, y)


def test_an_oblique_step_is_predicted_better(fitted):
    X, y, model = fitted
    new, truth = oblique_step(1000, np.random.default_rng(1))
    assert model.cells_.directions.shape == (3, 2)
    none = np.empty((3, 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "skbayesnn.stable.additive.partition.fit_limits_and_directions",
            lambda *told: (directions.fit_gaussian_limits(*told[:5]), none),
        )
        without = StableNNRegressor(**QUICK).fit(X, y)
    scores = [m.predict_distribution(new).crps(truth).mean() for m in (model, without)]
    assert scores[0] < 0.9 * scores[1]


def test_effects_are_of_the_inputs_and_the_rest_has_the_directions(fitted):
    X, _, model = fitted
    effects = model.partial_effects(X)
    assert effects.mean.shape == (250, 3)
    assert effects.scales.shape == (3,)
    assert effects.variance_shares.shape == (4,)
    # The step is in the rest, not in the effect of an input alone.
    assert effects.variance_shares[-1] > 0.3
    total = effects.mean.sum(axis=1) + effects.smooth_mean
    network = model.cells_.predict(model._draws, X)[0].mean(axis=1) * model._scale
    np.testing.assert_allclose(total, network - network.mean(), atol=1e-6)


def test_joint_draws_see_the_directions(fitted):
    X, _, model = fitted
    law, draws = model.predict_distribution(X[:40]), model.sample_y(X[:40], 4000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=1), law.mean(), atol=0.05)
    # Quantiles, since tails are heavy (kurtosis 57): four thousand draws do not tell the variance.
    width = np.quantile(draws, 0.9, axis=1) - np.quantile(draws, 0.1, axis=1)
    expected = law.quantile(0.9) - law.quantile(0.1)
    assert np.median(width / expected) == pytest.approx(1.0, abs=0.05)


def test_a_stored_model_predicts_the_same(fitted):
    X, _, model = fitted
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(stored.predict(X), model.predict(X))
    assert model.monitored_rows_.shape[1] == 3

"""Scales of the inputs: gradient, irrelevant inputs, and what they are worth to a fit."""

import numpy as np
import pytest
from kernels import arc_cosine_kernel, erf_kernel
from scipy import stats
from scipy.optimize import approx_fprime
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF

from skbayesnn import StableNNRegressor
from skbayesnn.stable import input_scales
from skbayesnn.stable.input_scales import best_scales, negative_log_posterior
from skbayesnn.stable.partitions.features import distinct_rows


def oblique(n, n_features, seed):
    """A jump across an oblique plane of the first two inputs; the others do not matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return X, np.where(X[:, 0] + X[:, 1] > 0.3, 1.0, -1.0) + 0.1 * rng.normal(size=n)


def test_value_is_the_evidence():
    X, y = oblique(12, 3, 0)
    X[3] = X[2]
    parameters = np.array([0.3, -0.4, 0.1, 0.2, -1.0])
    scaled = X * np.exp(parameters[:3])
    covariance = np.exp(0.2) * arc_cosine_kernel(scaled, scaled)
    covariance += (np.exp(-1.0) + 1e-6 * np.exp(0.2)) * np.eye(12)
    expected = -stats.multivariate_normal(cov=covariance).logpdf(y) - 6 * np.log(2 * np.pi)
    expected += (parameters[:3] ** 2).sum() / 18
    # On equal rows an arc cosine keeps half of the digits.
    assert negative_log_posterior(parameters, X, y)[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("activation", ["erf", "cosine"])
def test_value_is_the_evidence_of_smooth_units(activation):
    X, y = oblique(12, 3, 0)
    parameters = np.array([0.3, -0.4, 0.1, 0.7, 0.2, -1.0])
    scaled = X * np.exp(parameters[:3])
    if activation == "erf":
        kernel = erf_kernel(scaled, scaled, np.exp(parameters[3]))
    else:
        parameters, kernel = np.delete(parameters, 3), RBF()(scaled)
    covariance = np.exp(0.2) * kernel
    covariance += (np.exp(-1.0) + 1e-6 * np.exp(0.2)) * np.eye(12)
    expected = -stats.multivariate_normal(cov=covariance).logpdf(y) - 6 * np.log(2 * np.pi)
    expected += (parameters[:-2] ** 2).sum() / 18
    value, _ = negative_log_posterior(parameters, X, y, activation)
    assert value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("activation", ["sign", "erf", "cosine"])
def test_gradient(activation):
    X, y = oblique(15, 3, 0)
    X[3] = X[2]
    parameters = np.array([0.3, -0.4, 0.1, 0.2, -1.0])
    if activation == "erf":
        parameters = np.insert(parameters, 3, 0.5)
    numeric = approx_fprime(
        parameters, lambda p: negative_log_posterior(p, X, y, activation)[0], 1e-6
    )
    gradient = negative_log_posterior(parameters, X, y, activation)[1]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-4)


def test_inputs_that_do_not_matter_are_turned_down():
    X, y = oblique(200, 6, 1)
    units = np.array([1e3, 1.0, 1e-3, 1.0, 1.0, 1.0])
    scales = best_scales(X * units, y, np.random.default_rng(0))[0] * units
    assert scales[:2].min() > 10 * scales[2:].max()


def test_extreme_scales_can_be_evaluated():
    """Without noise, with a few distinct values an input and nearly equal rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(200, 6)).astype(float)
    X[100:] = X[:100] + 1e-7 * rng.normal(size=(100, 6))
    y = np.where(X[:, 0] > 1.5, 1.0, -1.0)
    for size in (-9.0, 0.0, 9.0):
        parameters = np.array([size] * 6 + [9.0, -9.0])
        value, gradient = negative_log_posterior(parameters, X, y)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
    assert np.isfinite(best_scales(X, y, rng)[0]).all()


def test_scales_of_the_inputs_help_the_fit():
    X, y = oblique(260, 6, 0)
    train, test = slice(0, 160), slice(160, None)
    errors = []
    for scale in (1.0, "evidence"):
        model = StableNNRegressor(
            input_scale=scale,
            cells="sampled",
            n_units=300,
            n_chains=2,
            n_warmup=200,
            n_posterior_draws=100,
            random_state=0,
        )
        with pytest.warns(match="converged"):
            model.fit(X[train], y[train])
        errors.append(model.predict_distribution(X[test]).crps(y[test]).mean())
    # In eight seeds the ratio lay between 0.27 and 0.61.
    assert errors[1] < 0.7 * errors[0]
    assert model.input_scale_.shape == (6,)


def test_given_scales_are_scales_of_the_inputs():
    X, y = oblique(30, 2, 3)
    scale = [2.0, 0.5]
    options = {"n_chains": 1, "n_warmup": 20, "n_posterior_draws": 20, "random_state": 0}
    options["normalize_X"] = False
    with pytest.warns(match="converged"):
        model = StableNNRegressor(input_scale=scale, **options).fit(X, y)
    with pytest.warns(match="converged"):
        other = StableNNRegressor(**options).fit(X * scale, y)
    np.testing.assert_array_equal(model.predict(X), other.predict(X * scale))
    np.testing.assert_array_equal(model.sample_y(X, 2), other.sample_y(X * scale, 2))
    np.testing.assert_allclose(model.monitored_rows_ * scale, other.monitored_rows_)


@pytest.mark.parametrize("scale", [-1.0, [1.0, 2.0, 3.0], [1.0, 0.0], "learn", [1.0, np.nan]])
def test_bad_scales(scale):
    X, y = oblique(10, 2, 0)
    with pytest.raises(ValueError, match="input_scale"):
        StableNNRegressor(input_scale=scale).fit(X, y)


def test_rows_that_are_gathered_have_the_same_evidence():
    X, y = oblique(12, 3, 0)
    X[6:9] = X[3]
    parameters = np.array([0.3, -0.4, 0.1, 0.5, 0.2, -1.0])
    rows, means, counts, squares = distinct_rows(X, y)
    value, gradient = negative_log_posterior(parameters, X, y, "erf")
    gathered = negative_log_posterior(parameters, rows, means, "erf", counts, squares.sum())
    # But for a millionth of ν, which stands for rounding and is one a row.
    shift = value - gathered[0]
    other = parameters + np.array([0.2, 0.1, -0.3, 0.0, 0.4, 0.5])
    changed = negative_log_posterior(other, X, y, "erf")[0]
    changed -= negative_log_posterior(other, rows, means, "erf", counts, squares.sum())[0]
    assert changed == pytest.approx(shift, abs=1e-3)
    np.testing.assert_allclose(gathered[1], gradient, atol=1e-3)


def test_a_search_that_ends_early_says_so(monkeypatch):
    monkeypatch.setattr(input_scales, "_MAX_ITERATIONS", 1)
    with pytest.warns(ConvergenceWarning, match="ended after 1 steps .* Give input_scale as"):
        best_scales(*oblique(20, 3, 0), np.random.default_rng(0))

"""Every adjoint against numerical differentiation, in float64."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import log_softmax
from scipy.stats import norm

from skbayesnn.udn import adjoints


def numerical(function, x):
    """Gradient of a scalar function of an array."""
    flat = approx_fprime(x.ravel(), lambda v: function(v.reshape(x.shape)), 1e-7)
    return flat.reshape(x.shape)


@pytest.mark.parametrize("activation", [False, True])
def test_affine(activation, rng):
    x, w, b = rng.normal(size=(5, 3)), rng.normal(size=(3, 4)), rng.normal(size=4)
    seed = rng.normal(size=(5, 4))

    def loss(x, w, b):
        z = x @ w + b
        return np.sum(seed * (np.maximum(z, 0) if activation else z))

    out, d_x, d_w, d_b = np.empty((5, 4)), np.empty((5, 3)), np.empty((3, 4)), np.empty(4)
    d_out = seed.copy()
    if activation:
        adjoints.affine_relu(x, w, b, out)
        np.testing.assert_allclose(out, np.maximum(x @ w + b, 0))
        adjoints.affine_relu_adjoint(x, out, d_out, d_w, d_b)
    else:
        adjoints.affine(x, w, b, out)
        np.testing.assert_allclose(out, x @ w + b)
        adjoints.affine_adjoint(x, d_out, d_w, d_b)
    adjoints.product_nt(d_out, w, d_x)
    np.testing.assert_allclose(d_x, numerical(lambda v: loss(v, w, b), x), atol=1e-5)
    np.testing.assert_allclose(d_w, numerical(lambda v: loss(x, v, b), w), atol=1e-5)
    np.testing.assert_allclose(d_b, numerical(lambda v: loss(x, w, v), b), atol=1e-5)


def test_relu_lets_nan_through():
    out = np.empty((1, 2))
    adjoints.affine_relu(np.array([[np.nan]]), np.ones((1, 2)), np.zeros(2), out)
    assert np.isnan(out).all()


def test_softmax(rng):
    logits, weights = 3 * rng.normal(size=(6, 4)), rng.uniform(0.5, 2, 6)
    labels = rng.integers(4, size=(6, 1)).astype(float)

    def total(z):
        return weights @ log_softmax(z, axis=1)[np.arange(6), labels[:, 0].astype(int)]

    gradient = np.empty_like(logits)
    value = adjoints.softmax_log_loss(logits, labels, weights, 0.3, gradient)
    np.testing.assert_allclose(value, total(logits))
    np.testing.assert_allclose(gradient, -0.3 * numerical(total, logits), atol=1e-6)
    extreme = np.array([[1000.0, -1000.0]])
    assert adjoints.softmax_log_loss(extreme, np.ones((1, 1)), np.ones(1), 1.0, extreme) == -2000
    np.testing.assert_array_equal(extreme, [[1.0, -1.0]])


def test_gaussian(rng):
    means, targets = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    log_variances, weights = np.array([0.4, -1.0]), rng.uniform(0.5, 2, 6)

    def total(m, s):
        return weights @ norm.logpdf(targets, m, np.exp(s / 2)).sum(axis=1)

    d_means, d_s = means.copy(), np.empty(2)
    value = adjoints.gaussian_log_loss(d_means, targets, log_variances, weights, 0.3, d_s)
    np.testing.assert_allclose(value, total(means, log_variances))
    expected = -0.3 * numerical(lambda m: total(m, log_variances), means)
    np.testing.assert_allclose(d_means, expected, atol=1e-6)
    expected = -0.3 * numerical(lambda s: total(means, s), log_variances)
    np.testing.assert_allclose(d_s, expected, atol=1e-6)

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


ACTIVATIONS = {
    "affine": lambda z: z,
    "affine_relu": lambda z: np.maximum(z, 0),
    "affine_bend": lambda z: 0.5 * (z + np.sqrt(z**2 + adjoints.CURVATURE)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_affine(name, rng):
    x, w, b = rng.normal(size=(5, 3)), rng.normal(size=(3, 4)), rng.normal(size=4)
    seed = rng.normal(size=(5, 4))

    def loss(x, w, b):
        return np.sum(seed * ACTIVATIONS[name](x @ w + b))

    out, d_x, d_w, d_b = np.empty((5, 4)), np.empty((5, 3)), np.empty((3, 4)), np.empty(4)
    d_out = seed.copy()
    getattr(adjoints, name)(x, w, b, out)
    np.testing.assert_allclose(out, ACTIVATIONS[name](x @ w + b))
    given = (x,) if name == "affine" else (x, out)
    getattr(adjoints, name + "_adjoint")(*given, d_out, d_w, d_b)
    adjoints.product_nt(d_out, w, d_x)
    np.testing.assert_allclose(d_x, numerical(lambda v: loss(v, w, b), x), atol=1e-5)
    np.testing.assert_allclose(d_w, numerical(lambda v: loss(x, v, b), w), atol=1e-5)
    np.testing.assert_allclose(d_b, numerical(lambda v: loss(x, w, v), b), atol=1e-5)


@pytest.mark.parametrize("name", ["affine_relu", "affine_bend"])
def test_activations_let_nan_through(name):
    out = np.empty((1, 2))
    getattr(adjoints, name)(np.array([[np.nan]]), np.ones((1, 2)), np.zeros(2), out)
    assert np.isnan(out).all()


def test_bend_keeps_its_digits_far_from_zero():
    z, out = np.array([[-3e4, -1.0, 3e4]], dtype=np.float32), np.empty((1, 3), dtype=np.float32)
    adjoints.affine_bend(z, np.eye(3, dtype=np.float32), np.zeros(3, dtype=np.float32), out)
    root = np.hypot(z, adjoints.CURVATURE**0.5, dtype=float)
    exact = np.where(z > 0, 0.5 * (root + z), 0.5 * adjoints.CURVATURE / (root + np.abs(z)))
    np.testing.assert_allclose(out, exact, rtol=1e-6)
    d_out = np.ones((1, 3), dtype=np.float32)
    adjoints.affine_bend_adjoint(
        z, out, d_out, np.empty((3, 3), dtype=np.float32), np.empty(3, dtype=np.float32)
    )
    np.testing.assert_allclose(d_out[0, [0, 2]], [0, 1], atol=1e-6)


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

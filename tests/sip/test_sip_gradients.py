"""Every hand-written gradient of eq. 12 against numerical differentiation, in float64."""

import numpy as np
import pytest

from skbayesnn.sip.conditional import EmpiricalConditional
from skbayesnn.sip.discriminator import Discriminator
from skbayesnn.sip.leaky_network import LeakyNetwork
from skbayesnn.sip.model import SparseImplicitProcess
from skbayesnn.sip.objective import power_log_likelihood
from skbayesnn.sip.priors import BNNPrior, SamplerPrior

# Central differences with a step of 1e-6: truncation 1e-12, rounding 1e-10 of the value.
STEP, TOLERANCE = 1e-6, 1e-7


def numerical(function, x):
    """Gradient of a number in every entry of x, which is changed and put back."""
    gradient = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        kept = x[index]
        x[index] = kept + STEP
        above = function()
        x[index] = kept - STEP
        below = function()
        x[index] = kept
        gradient[index] = (above - below) / (2 * STEP)
    return gradient


def assert_gradient(found, function, x):
    expected = numerical(function, x)
    assert np.abs(expected).max() > 0.0
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=TOLERANCE * (1 + abs(function())))


def test_leaky_network():
    rng = np.random.default_rng(0)
    network = LeakyNetwork([3, 4, 5, 2])
    theta, x, d_out = network.start(rng), rng.normal(size=(6, 3)), rng.normal(size=(6, 2))

    def value():
        return float(np.sum(d_out * network.forward(theta, x)[-1]))

    gradient = np.empty_like(theta)
    d_x = network.adjoint(theta, network.forward(theta, x), d_out, gradient)
    assert_gradient(gradient, value, theta)
    assert_gradient(d_x, value, x)


@pytest.mark.parametrize("kind", [BNNPrior, SamplerPrior])
def test_priors(kind):
    rng = np.random.default_rng(0)
    prior = kind(2, 4)
    X, noise = rng.normal(size=(5, 2)), rng.normal(size=(6, prior.n_noise))
    theta = prior.start(X, rng)
    d_f = rng.normal(size=(6, 5))

    def value():
        return float(np.sum(d_f * prior.forward(theta, X, noise)))

    gradient = np.empty_like(theta)
    value()
    d_last = prior.adjoint(theta, d_f, gradient, 2).copy()
    assert_gradient(gradient, value, theta)
    assert_gradient(d_last, value, X[3:])


@pytest.mark.parametrize("n_inducing", [3, 9])  # fewer and more than the draws
def test_conditional(n_inducing):
    rng = np.random.default_rng(0)
    f_x, f_z = rng.normal(size=(6, 4)), rng.normal(size=(6, n_inducing))
    u, d_means, d_variances = (
        rng.normal(size=(5, n_inducing)), rng.normal(size=(5, 4)), rng.normal(size=4),
    )  # fmt: skip

    def value():
        conditional = EmpiricalConditional(f_z, 0.05)
        means, variances = conditional.moments(f_x, conditional.coefficients(u))
        return float(np.sum(d_means * means) + np.sum(d_variances * variances))

    conditional = EmpiricalConditional(f_z, 0.05)
    coefficients = conditional.coefficients(u)
    conditional.moments(f_x, coefficients)
    d_f_x, d_f_z, d_u = conditional.adjoint(u, coefficients, d_means, d_variances)
    assert_gradient(d_f_x, value, f_x)
    assert_gradient(d_f_z, value, f_z)
    assert_gradient(d_u, value, u)


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_likelihood(alpha):
    rng = np.random.default_rng(0)
    y, means, variances = rng.normal(size=4), rng.normal(size=(3, 4)), rng.uniform(0.1, 1, 4)
    log_noise, weights = np.array([-0.7]), rng.uniform(0.5, 2, 4)

    def value():
        return power_log_likelihood(y, means, variances, log_noise[0], alpha, weights)[0]

    _, d_means, d_variances, d_log_noise = power_log_likelihood(
        y, means, variances, log_noise[0], alpha, weights
    )
    assert_gradient(d_means, value, means)
    assert_gradient(d_variances, value, variances)
    assert_gradient(np.array([d_log_noise]), value, log_noise)


def new_discriminator(rng, n_inducing):
    discriminator = Discriminator(n_inducing, 5, rng, np.float64)
    discriminator.theta[:] += rng.normal(size=discriminator.theta.size)
    for _ in range(3):
        discriminator.learn_moments(
            rng.normal(size=(20, n_inducing)), 1 + 2 * rng.normal(size=(20, n_inducing)), 0.3
        )
    return discriminator


def gaussian_kl(u, v, blur):
    """KL of the Gaussians with the moments of u and of v."""
    identity = blur**2 * np.eye(u.shape[1])
    c_u, c_v = (np.cov(a.T, ddof=0) + identity for a in (u, v))
    shift = u.mean(axis=0) - v.mean(axis=0)
    inner = np.trace(np.linalg.solve(c_v, c_u + np.outer(shift, shift))) - u.shape[1]
    return 0.5 * (inner + np.linalg.slogdet(c_v)[1] - np.linalg.slogdet(c_u)[1])


def test_gaussian_divergence():
    # Moments of these draws alone: the divergences are functions of the draws.
    rng = np.random.default_rng(0)
    u_q, u_p = rng.normal(size=(8, 3)), 1 + 2 * rng.normal(size=(8, 3))
    d = Discriminator(3, 5, rng, np.float64)
    d.learn_moments(u_q, u_p, 0.3)
    value, d_u_q, d_u_p = d.gaussian_divergence(u_q, u_p)

    def both():
        return 0.5 * (gaussian_kl(u_q, u_p, 0.3) + gaussian_kl(u_p, u_q, 0.3))

    np.testing.assert_allclose(value, both(), rtol=1e-9)
    assert_gradient(d_u_p, both, u_p)
    assert_gradient(d_u_q, lambda: 0.5 * gaussian_kl(u_q, u_p, 0.3), u_q)


def test_network_of_the_discriminator():
    rng = np.random.default_rng(0)
    d = new_discriminator(rng, 3)
    u = rng.normal(size=(12, 3))
    seen = u, rng.normal(size=12)
    d.loss_and_gradient(seen)
    assert_gradient(d.gradient.copy(), lambda: d.loss_and_gradient(seen), d.theta)
    # What the network adds, at draws without blur; the moments do not change with them.
    d.gaussian_divergence = lambda u_q, u_p: (0.0, np.zeros(u_q.shape), np.zeros(u_p.shape))
    _, d_u_q, d_u_p = d.divergence(seen, u[:6], u[6:])
    assert_gradient(np.concatenate([d_u_q, d_u_p]), lambda: d.divergence(seen, u[:6], u[6:])[0], u)


@pytest.mark.parametrize("prior", ["bnn", "sampler"])
def test_objective(prior):
    rng = np.random.default_rng(0)
    X, Z, y = rng.normal(size=(7, 2)), rng.normal(size=(4, 2)), rng.normal(size=7)
    model = SparseImplicitProcess(prior, Z, X, 4, 0.3, 0.7, 1e-2, rng, np.float64)
    model.theta += 0.1 * rng.normal(size=model.theta.size)
    # Blur and jitter are held fixed in the gradient. The divergence of the test has a gradient
    # that is all its own.
    model.blur, model.jitter_at = 0.3, lambda _: 0.01
    weights, row_weights = rng.normal(size=(2, 9, 4)), rng.uniform(0.5, 2, 7)

    class SomeDivergence(Discriminator):
        def divergence(self, seen, u_q, u_p):
            value = float(np.sum(weights[0] * u_q**2) + np.sum(weights[1] * u_p**2))
            return value, 2 * weights[0] * u_q, 2 * weights[1] * u_p

    d = SomeDivergence(4, 5, rng, np.float64)

    def value():
        # The same draws every time.
        return model.loss_and_gradient(
            X, y, row_weights, 50.0, 0.8, 9, np.random.default_rng(1), d, lambda *_: None
        )[0]

    value()
    assert_gradient(model.gradient.copy(), value, model.theta)

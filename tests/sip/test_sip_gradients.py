"""Every hand-written gradient of eq. 12 against numerical differentiation, in float64."""

import numpy as np
import pytest

from skbayesnn.sip.conditional import FeatureConditional
from skbayesnn.sip.discriminator import Discriminator
from skbayesnn.sip.leaky_network import LeakyNetwork
from skbayesnn.sip.model import SparseImplicitProcess
from skbayesnn.sip.noise import Scales
from skbayesnn.sip.objective import power_log_likelihood
from skbayesnn.sip.priors import BNNPrior, SmoothPrior
from skbayesnn.sip.sampler import SamplerPrior

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


@pytest.mark.parametrize("kind", [BNNPrior, SmoothPrior, SamplerPrior])
def test_priors(kind):
    rng = np.random.default_rng(0)
    prior = kind(2, 4)
    X, noise = rng.normal(size=(5, 2)), rng.normal(size=(6, prior.n_noise))
    theta = prior.start(X, rng)
    # Scales of inputs, where there are some, are one at the start.
    theta[-2:] += [0.4, -0.7]
    shapes = [part.shape for part in prior.moments(theta, X, noise)]
    weights = [rng.normal(size=shape) for shape in shapes]

    def value():
        moments = prior.moments(theta, X, noise)
        return float(sum(np.sum(w * part) for w, part in zip(weights, moments, strict=True)))

    gradient = np.empty_like(theta)
    value()
    d_last = prior.adjoint(theta, *weights, 2, gradient).copy()
    assert_gradient(gradient, value, theta)
    assert_gradient(d_last, value, X[3:])


@pytest.mark.parametrize("n_features", [3, 9])  # fewer and more than the inducing values
def test_conditional(n_features):
    rng = np.random.default_rng(0)
    mean, features = rng.normal(size=9), rng.normal(size=(9, n_features))
    w, d_means, d_variances = (
        rng.normal(size=(6, 5)), rng.normal(size=(6, 4)), rng.normal(size=4),
    )  # fmt: skip

    def moments():
        conditional = FeatureConditional(mean[4:], features[4:], 0.05)
        return conditional, conditional.moments(mean[:4], features[:4], w)

    def value():
        _, (means, variances) = moments()
        return float(np.sum(d_means * means) + np.sum(d_variances * variances))

    conditional, _ = moments()
    d_mean, d_features, d_w = conditional.adjoint(w, d_means, d_variances)
    assert_gradient(np.concatenate([d_mean, np.zeros(5)]), value, mean)
    assert_gradient(d_features, value, features)
    assert_gradient(d_w, value, w)


@pytest.mark.parametrize("n_scales", [1, 3])
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_likelihood(alpha, n_scales):
    rng = np.random.default_rng(0)
    y, means, variances = rng.normal(size=4), rng.normal(size=(3, 4)), rng.uniform(0.1, 1, 4)
    law = rng.normal(size=(3, n_scales))
    weights = rng.uniform(0.5, 2, 4)

    def terms():
        log_weights, offsets, log_noises = law
        scales = Scales(log_weights, offsets, np.exp(log_noises), None)
        return power_log_likelihood(y, means, variances, scales, alpha, weights)

    _, *found = terms()
    for gradient, x in zip(found, (means, variances, *law), strict=True):
        assert_gradient(gradient, lambda: terms()[0], x)


def new_discriminator(rng, n_inducing):
    discriminator = Discriminator(n_inducing, 5, rng, np.float64)
    discriminator.theta[:] += rng.normal(size=discriminator.theta.size)
    for _ in range(3):
        discriminator.learn_moments(
            rng.normal(size=(20, n_inducing)), np.ones(n_inducing), 4 * np.eye(n_inducing), 0.3
        )
    return discriminator


def gaussian_kl(m_u, c_u, m_v, c_v):
    """KL of two Gaussians."""
    shift = m_u - m_v
    inner = np.trace(np.linalg.solve(c_v, c_u + np.outer(shift, shift))) - len(m_u)
    return 0.5 * (inner + np.linalg.slogdet(c_v)[1] - np.linalg.slogdet(c_u)[1])


def test_gaussian_divergence():
    # Moments of these draws alone: the divergence is a function of the draws.
    rng = np.random.default_rng(0)
    u_q, mean_p, root = rng.normal(size=(8, 3)), rng.normal(size=3), rng.normal(size=(3, 3))
    covariance_p = root @ root.T + np.eye(3)
    d = Discriminator(3, 5, rng, np.float64)
    d.learn_moments(u_q, mean_p, covariance_p, 0.3)
    value, d_u_q = d.gaussian_divergence(u_q)

    def expected():
        blur = 0.09 * np.eye(3)
        q = u_q.mean(axis=0), np.cov(u_q.T, ddof=0) + blur
        return gaussian_kl(*q, mean_p, covariance_p + blur)

    np.testing.assert_allclose(value, expected(), rtol=1e-9)
    assert_gradient(d_u_q, expected, u_q)


def test_network_of_the_discriminator():
    rng = np.random.default_rng(0)
    d = new_discriminator(rng, 3)
    u = rng.normal(size=(12, 3))
    seen = u, rng.normal(size=12)
    d.loss_and_gradient(seen)
    assert_gradient(d.gradient.copy(), lambda: d.loss_and_gradient(seen), d.theta)
    # What the network adds, at draws without blur; the moments do not change with them.
    d.gaussian_divergence = lambda u_q: (0.0, np.zeros(u_q.shape))
    _, d_u_q = d.divergence(seen, u[:6])
    assert_gradient(np.concatenate([d_u_q, 0 * d_u_q]), lambda: d.divergence(seen, u[:6])[0], u)


@pytest.mark.parametrize("likelihood", ["gaussian", "student_t"])
@pytest.mark.parametrize("prior", ["bnn", "smooth", "sampler"])
def test_objective(prior, likelihood):
    rng = np.random.default_rng(0)
    X, Z, y = rng.normal(size=(7, 2)), rng.normal(size=(4, 2)), rng.normal(size=7)
    model = SparseImplicitProcess(
        prior, Z, X, 4, 0.3, 0.7, 1e-2, 9, rng, hyperprior_weight=0.4, dtype=np.float64,
        likelihood=likelihood,
    )  # fmt: skip
    model.theta += 0.1 * rng.normal(size=model.theta.size)
    # Blur and jitter are held fixed in the gradient, and so is the prior in the divergence: that
    # of the test is a function of whitened values.
    model.blur, model.jitter_at = 0.3, lambda _: 0.01
    scales, row_weights = rng.normal(size=(9, 4)), rng.uniform(0.5, 2, 7)

    class SomeDivergence(Discriminator):
        def learn_moments(self, u_q, mean_p, covariance_p, blur):
            super().learn_moments(u_q, mean_p, covariance_p, blur)
            self.mean_p = mean_p
            self.root = np.linalg.inv(np.linalg.cholesky(covariance_p + 0.01 * np.eye(4)))

        def divergence(self, seen, u_q):
            w = (u_q - self.mean_p) @ self.root.T
            return np.sum(scales * w**2), (2 * scales * w) @ self.root

    d = SomeDivergence(4, 5, rng, np.float64)

    def value():
        # The same draws every time.
        return model.loss_and_gradient(
            X, y, row_weights, 50.0, 0.8, np.random.default_rng(1), d, lambda *_: None
        )[0]

    value()
    assert_gradient(model.gradient.copy(), value, model.theta)

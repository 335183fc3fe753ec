"""Priors, conditional, likelihood and divergence against closed forms and simulation."""

import numpy as np
import pytest
from scipy.stats import kstest, norm

from skbayesnn.numerics.random import quick_normals
from skbayesnn.sip.conditional import EmpiricalConditional
from skbayesnn.sip.discriminator import Discriminator
from skbayesnn.sip.model import SparseImplicitProcess
from skbayesnn.sip.objective import power_log_likelihood
from skbayesnn.sip.priors import BNNPrior, SamplerPrior


def leaky(z):
    return np.where(z > 0, z, 0.1 * z)


def test_bnn_prior_is_a_network_with_random_weights():
    rng = np.random.default_rng(0)
    prior = BNNPrior(2, 3)
    theta, X = rng.normal(size=prior.n_parameters), rng.normal(size=(4, 2))
    noise = rng.normal(size=(5, prior.n_noise))
    f = prior.forward(theta, X, noise)
    for s in range(5):
        w = theta[: prior.n_noise] + np.exp(theta[prior.n_noise :]) * noise[s]
        w_1, b_1, w_2, b_2, v, c = np.split(w, np.cumsum([6, 3, 9, 3, 3]))
        first = leaky(X @ w_1.reshape(2, 3) + b_1)
        expected = leaky(first @ w_2.reshape(3, 3) + b_2) @ v + c
        np.testing.assert_allclose(f[s], expected, rtol=1e-12)


def test_sampler_prior_is_a_network_of_inputs_and_noise():
    rng = np.random.default_rng(0)
    prior = SamplerPrior(2, 3, 2)
    theta, X = rng.normal(size=prior.n_parameters), rng.normal(size=(4, 2))
    z = rng.normal(size=(5, 2))
    f = prior.forward(theta, X, z)
    w_1, u, b_1, w_2, b_2, v, c = np.split(theta, np.cumsum([6, 6, 3, 9, 3, 3]))
    for s in range(5):
        both = np.column_stack([X, np.tile(z[s], (4, 1))])
        first = leaky(both @ np.concatenate([w_1, u]).reshape(4, 3) + b_1)
        expected = leaky(first @ w_2.reshape(3, 3) + b_2) @ v + c
        np.testing.assert_allclose(f[s], expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [BNNPrior, SamplerPrior])
@pytest.mark.parametrize("n_inputs", [1, 20])
def test_priors_start_with_variance_one(kind, n_inputs):
    rng = np.random.default_rng(0)
    X, prior = rng.normal(size=(50, n_inputs)), kind(n_inputs, 20)
    theta = prior.start(X, rng)
    f = prior.forward(theta, X, prior.draw_noise(rng, 2000, np.float64))
    # The scale was set from 200 draws: a tenth of error in a standard deviation.
    assert 0.75 < f.var(axis=0).mean() < 1.3
    assert abs(f.mean()) < 0.3


@pytest.mark.parametrize("n_inducing", [3, 40])
def test_conditional_is_the_gaussian_with_the_moments_of_the_draws(n_inducing):
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(6, 6 + n_inducing))
    f = rng.normal(size=(12, 6)) @ mix + rng.normal(size=6 + n_inducing)
    f_x, f_z, jitter = f[:, :6], f[:, 6:], 1e-3
    u = rng.normal(size=(4, n_inducing))
    conditional = EmpiricalConditional(f_z, jitter)
    means, variances = conditional.moments(f_x, conditional.coefficients(u))
    covariance = np.cov(f.T)
    k_zz = covariance[6:, 6:] + jitter * np.eye(n_inducing)
    gain = np.linalg.solve(k_zz, covariance[6:, :6])
    np.testing.assert_allclose(means, f_x.mean(0) + (u - f_z.mean(0)) @ gain, atol=1e-9)
    expected = np.diag(covariance[:6, :6] - covariance[:6, 6:] @ gain)
    np.testing.assert_allclose(variances, expected, atol=1e-9)


def test_joint_functions_have_the_moments_of_the_conditional():
    rng = np.random.default_rng(0)
    f = rng.normal(size=(15, 4)) @ rng.normal(size=(4, 8))
    f_x, f_z, u = f[:, :3], f[:, 3:], rng.normal(size=5)
    conditional = EmpiricalConditional(f_z, 0.5)
    n = 40_000
    coefficients = conditional.coefficients(np.tile(u, (n, 1)))
    drawn = conditional.functions(f_x, coefficients, rng.normal(size=(15, n)))
    means, variances = conditional.moments(f_x, coefficients[:, :1])
    # Five standard errors of a mean, and of a variance.
    np.testing.assert_allclose(drawn.mean(axis=0), means[0], atol=5 * np.sqrt(variances.max() / n))
    np.testing.assert_allclose(drawn.var(axis=0), variances, rtol=5 * np.sqrt(2 / n))
    covariance = np.cov(f.T)
    inner = np.linalg.solve(covariance[3:, 3:] + 0.5 * np.eye(5), covariance[3:, :3])
    expected = covariance[:3, :3] - covariance[:3, 3:] @ inner
    np.testing.assert_allclose(np.cov(drawn.T), expected, atol=5 * variances.max() / np.sqrt(n))


@pytest.mark.parametrize("alpha", [0.2, 0.5, 1.0])
def test_likelihood_is_the_mean_power_over_draws_of_f(alpha):
    rng = np.random.default_rng(0)
    y, means, variances, noise = 0.3, np.array([-0.5, 0.9]), 0.4, 0.2
    total, *_ = power_log_likelihood(
        np.array([y]), means[:, None], np.array([variances]), np.log(noise), alpha, np.ones(1)
    )
    f = means[:, None] + np.sqrt(variances) * rng.normal(size=(2, 200_000))
    powers = norm.pdf(y, f, np.sqrt(noise)) ** alpha
    expected = np.log(powers.mean()) / alpha
    # Five standard errors of the mean, carried through the logarithm.
    error = 5 * powers.std() / np.sqrt(powers.size) / powers.mean() / alpha
    assert abs(total - expected) < error


def test_a_weight_is_so_many_rows():
    rng = np.random.default_rng(0)
    y, means, variances = rng.normal(size=3), rng.normal(size=(4, 3)), rng.uniform(0.1, 1, 3)
    counts = np.array([2, 1, 3])
    value, d_means, d_variances, d_noise = power_log_likelihood(
        y, means, variances, -0.7, 0.6, counts.astype(float)
    )
    rows = np.repeat(np.arange(3), counts)
    expected = power_log_likelihood(y[rows], means[:, rows], variances[rows], -0.7, 0.6, np.ones(6))
    np.testing.assert_allclose(value, expected[0])
    np.testing.assert_allclose(d_means[:, rows], counts[rows] * expected[1])
    np.testing.assert_allclose(d_variances[rows], counts[rows] * expected[2])
    np.testing.assert_allclose(d_noise, expected[3])


def test_divergence_of_gaussians():
    rng = np.random.default_rng(0)
    d, blur = 4, 0.5
    m_q, m_p = np.zeros(d), np.full(d, 1.0)
    s_q, s_p = 0.5, 1.5
    u_q = lambda n: m_q + s_q * rng.normal(size=(n, d))  # noqa: E731
    u_p = lambda n: m_p + s_p * rng.normal(size=(n, d))  # noqa: E731
    discriminator = Discriminator(d, 10, rng, np.float64)
    for _ in range(30):
        discriminator.learn_moments(u_q(20_000), u_p(20_000), blur)
    u = u_q(20_000), u_p(20_000)
    value, _, _ = discriminator.divergence(discriminator.look(*u, rng), *u)
    v_q, v_p = s_q**2 + blur**2, s_p**2 + blur**2
    # ½[KL(q‖p) + KL(p‖q)] of two Gaussians: the logs of the determinants cancel.
    expected = 0.25 * d * (v_q / v_p + v_p / v_q - 2 + (1 / v_p + 1 / v_q))
    assert abs(value / expected - 1) < 0.03


def test_network_learns_what_is_not_gaussian():
    # One value: q at ±1, p normal with the same first two moments. The Gaussian part is zero.
    rng = np.random.default_rng(0)
    discriminator = Discriminator(1, 20, rng, np.float64)
    noise = 0.3

    def draw(n):
        u_q = rng.choice([-1.0, 1.0], (n, 1)) + noise * rng.normal(size=(n, 1))
        return u_q, np.sqrt(1 + noise**2) * rng.normal(size=(n, 1))

    for _ in range(300):
        u_q, u_p = draw(200)
        discriminator.learn_moments(u_q, u_p, 0.0)
        discriminator.step(discriminator.look(u_q, u_p, rng), 0.01)
    u_q, u_p = draw(100_000)
    value, _, _ = discriminator.divergence(discriminator.look(u_q, u_p, rng), u_q, u_p)
    ratio = [
        np.log(0.5 * (norm.pdf(u, -1, noise) + norm.pdf(u, 1, noise)))
        - norm.logpdf(u, 0, np.sqrt(1 + noise**2))
        for u in (u_q, u_p)
    ]
    expected = 0.5 * (ratio[0].mean() - ratio[1].mean())
    # A small network after 300 steps: within a quarter of the truth.
    assert expected > 0.9
    assert abs(value / expected - 1) < 0.25


def test_posterior_starts_with_the_moments_of_the_prior():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(200, 1)), np.linspace(-2, 2, 10)[:, None]
    model = SparseImplicitProcess("bnn", Z, X, 50, 0.3, 1.0, 1e-5, rng)
    theta, phi, Z, _ = model.parts(model.theta.astype(float))
    f = model.prior.forward(theta, Z, model.prior.draw_noise(rng, 4000, np.float64))
    u = model.posterior.forward(phi, rng.normal(size=(4000, 100)))[-1]
    # It starts from 50 draws of the prior: a fifth of error in each variance.
    assert np.abs(u.mean(0) - f.mean(0)).max() < 0.5
    assert 0.4 < u.var(0).mean() / f.var(0).mean() < 1.8
    # As smooth: neighbouring values differ as much as those of the prior.
    ratio = np.diff(u, axis=1).var(0).mean() / np.diff(f, axis=1).var(0).mean()
    assert 0.4 < ratio < 1.8


def test_quick_normals():
    z = quick_normals(np.random.default_rng(0), (400, 501))
    assert z.shape == (400, 501)
    assert z.dtype == np.float32
    # Five standard errors for 200,400 draws; the level of the test is 1e-3.
    assert abs(z.mean()) < 5 / np.sqrt(z.size)
    assert abs(z.var() - 1) < 5 * np.sqrt(2 / z.size)
    assert kstest(z.ravel(), "norm").pvalue > 1e-3
    assert abs(np.mean(z[:, 1:] * z[:, :-1])) < 5 / np.sqrt(z.size)
    assert np.array_equal(z, quick_normals(np.random.default_rng(0), (400, 501)))

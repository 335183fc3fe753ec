"""Priors, conditional, likelihood and divergence against closed forms and simulation."""

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_normal, norm

from skbayesnn.numerics.random import quick_normals
from skbayesnn.sip.conditional import FeatureConditional
from skbayesnn.sip.discriminator import Discriminator
from skbayesnn.sip.inference import Settings, SIPInference
from skbayesnn.sip.model import SparseImplicitProcess
from skbayesnn.sip.noise import scales_of
from skbayesnn.sip.objective import power_log_likelihood
from skbayesnn.sip.priors import BNNPrior, Prior, SmoothPrior
from skbayesnn.sip.sampler import SamplerPrior


def leaky(z):
    return np.where(z > 0, z, 0.1 * z)


def smooth(z):
    return 0.55 * z + 0.45 * np.hypot(z, 1.0)


@pytest.mark.parametrize("kind", [BNNPrior, SmoothPrior])
def test_spread_and_centre_are_those_of_the_features(kind):
    rng = np.random.default_rng(0)
    prior = kind(2, 5)
    theta, X = rng.normal(size=prior.n_parameters), rng.normal(size=(30, 2))
    found = prior._spread_and_centre(theta, X, np.random.default_rng(1))
    expected = Prior._spread_and_centre(prior, theta, X, np.random.default_rng(1))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(("kind", "unit"), [(BNNPrior, leaky), (SmoothPrior, smooth)])
def test_bnn_priors_are_networks_with_random_weights(kind, unit):
    rng = np.random.default_rng(0)
    prior = kind(2, 3)
    theta, X = rng.normal(size=prior.n_parameters), rng.normal(size=(4, 2))
    noise = rng.normal(size=(5, prior.n_noise))
    f = prior.functions(theta, X, noise)
    means, log_stds, log_scales = np.split(theta, [prior.n_noise, 2 * prior.n_noise])
    placed = X * np.exp(log_scales) if len(log_scales) else X
    for s in range(5):
        w = means + np.exp(log_stds) * noise[s]
        w_1, b_1, w_2, b_2, v, c = np.split(w, np.cumsum([6, 3, 9, 3, 3]))
        first = unit(placed @ w_1.reshape(2, 3) + b_1)
        expected = unit(first @ w_2.reshape(3, 3) + b_2) @ v + c
        np.testing.assert_allclose(f[s], expected, rtol=1e-12)


def test_sampler_prior_is_a_network_of_inputs_and_noise():
    rng = np.random.default_rng(0)
    prior = SamplerPrior(2, 3, 2)
    theta, X = rng.normal(size=prior.n_parameters), rng.normal(size=(4, 2))
    z = rng.normal(size=(5, 2))
    f = prior.functions(theta, X, z)
    w_1, u, b_1, w_2, b_2, v, c = np.split(theta, np.cumsum([6, 6, 3, 9, 3, 3]))
    for s in range(5):
        both = np.column_stack([X, np.tile(z[s], (4, 1))])
        first = leaky(both @ np.concatenate([w_1, u]).reshape(4, 3) + b_1)
        expected = leaky(first @ w_2.reshape(3, 3) + b_2) @ v + c
        np.testing.assert_allclose(f[s], expected, rtol=1e-12)


@pytest.mark.parametrize("kind", [BNNPrior, SmoothPrior, SamplerPrior])
@pytest.mark.parametrize("n_inputs", [1, 20])
def test_priors_start_with_variance_one(kind, n_inputs):
    rng = np.random.default_rng(0)
    X, prior = rng.normal(size=(50, n_inputs)), kind(n_inputs, 20)
    theta = prior.start(X, rng)
    f = prior.functions(theta, X, prior.draw_noise(rng, 2000, np.float64))
    # The scale was set from 200 draws: a tenth of error in a standard deviation.
    assert 0.75 < f.var(axis=0).mean() < 1.3
    assert abs(f.mean()) < 0.3


@pytest.mark.parametrize("kind", [BNNPrior, SmoothPrior, SamplerPrior])
def test_moments_are_those_of_the_functions(kind):
    rng = np.random.default_rng(0)
    prior, X = kind(2, 5), rng.normal(size=(4, 2))
    theta = prior.start(X, rng)
    networks = prior.draw_noise(rng, 8, np.float64)
    mean, features = prior.moments(theta, X, networks)
    if kind is SamplerPrior:  # of the eight functions, as an estimate of those of all
        f = prior.functions(theta, X, networks)
        np.testing.assert_allclose(mean, f.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(features @ features.T, np.cov(f.T), atol=1e-12)
        return
    n = 40_000
    covariance = features @ features.T
    draws = prior.draws(theta, 4, n, rng)
    for f in (draws, prior.functions(theta, X, prior.noise_of_functions(rng, n, networks))):
        # Five standard errors; those of the second moments of a mixture of eight normal laws.
        error = 5 * np.sqrt(np.diag(covariance).max() / n)
        np.testing.assert_allclose(f.mean(axis=0), mean, atol=error)
        error = 5 * np.sqrt(3.0 / n) * np.diag(covariance).max()
        np.testing.assert_allclose(np.cov(f.T), covariance, atol=error)


def test_many_networks_have_the_moments_of_the_process():
    rng = np.random.default_rng(0)
    prior, X = BNNPrior(2, 5), rng.normal(size=(3, 2))
    theta = prior.start(X, rng)
    mean, features = prior.moments(theta, X, prior.draw_noise(rng, 4000, np.float64))
    f = prior.functions(theta, X, prior.draw_noise(rng, 40_000, np.float64))
    # Variance one: five standard errors of 4000 networks; of products, with heavier tails.
    np.testing.assert_allclose(f.mean(axis=0), mean, atol=5 / np.sqrt(4000))
    np.testing.assert_allclose(np.cov(f.T), features @ features.T, atol=10 * np.sqrt(2 / 4000))


def gaussian_with_features(rng, n_features):
    """Mean, features and covariance of nine values, and the gain of the first three."""
    mean, features = rng.normal(size=9), rng.normal(size=(9, n_features))
    covariance = features @ features.T
    covariance[3:, 3:] += 0.1 * np.eye(6)
    return mean, features, covariance, np.linalg.solve(covariance[3:, 3:], covariance[3:, :3])


@pytest.mark.parametrize("n_features", [4, 30])
def test_conditional_is_the_gaussian_with_the_moments(n_features):
    rng = np.random.default_rng(0)
    mean, features, covariance, gain = gaussian_with_features(rng, n_features)
    u = rng.normal(size=(5, 6))
    conditional = FeatureConditional(mean[3:], features[3:], 0.1)
    w = np.linalg.solve(np.linalg.cholesky(covariance[3:, 3:]), (u - mean[3:]).T).T
    np.testing.assert_allclose(conditional.values(w), u, atol=1e-12)
    means, variances = conditional.moments(mean[:3], features[:3], w)
    np.testing.assert_allclose(means, mean[:3] + (u - mean[3:]) @ gain, atol=1e-9)
    expected = np.diag(covariance[:3, :3] - covariance[:3, 3:] @ gain)
    np.testing.assert_allclose(variances, expected, atol=1e-9)


def wide_model(factor=70.0):
    """A model of one input in float32 whose smooth prior is so many times as wide as it starts.

    Fits of few rows with little noise have such priors.
    """
    rng = np.random.default_rng(0)
    X, Z = np.linspace(-2, 2, 40)[:, None], np.linspace(-2.1, 2.1, 25)[:, None]
    model = SparseImplicitProcess("smooth", Z, X, 50, 0.05, 1.0, 1e-5, 100, rng)
    means, log_stds = model.prior._means_and_scales(model.theta)
    means[model.prior.n_hidden :] *= factor
    log_stds[model.prior.n_hidden :] += np.float32(np.log(factor))
    return model, X.astype(np.float32), rng


def test_wide_priors_have_the_moments_of_their_rounded_features():
    # A few 10⁻⁴ are left of variances of 5000: products in float32 are not even positive definite.
    model, X, rng = wide_model()
    theta, _, Z, _ = model.parts(model.theta)
    mean, features = model.prior.moments(theta, np.concatenate([X, Z]), model.noise)
    assert features.dtype == np.float32
    w, jitter = rng.normal(size=(4, 25)), model.jitter_at(0.05)
    conditional = FeatureConditional(mean[40:], features[40:], jitter)
    means, variances = conditional.moments(mean[:40], features[:40], w)
    x, z = features[:40].astype(np.float64), features[40:].astype(np.float64)
    # Variances as a sum of squares along the singular vectors of z, and across: nothing cancels.
    _, values, directions = np.linalg.svd(z, full_matrices=False)
    along = x @ directions.T
    expected = np.sum(along**2 * (jitter / (values**2 + jitter)), axis=1)
    expected += np.sum((x - along @ directions) ** 2, axis=1)
    assert expected.max() < 1e-6 * np.sum(z**2, axis=1).max()
    np.testing.assert_allclose(variances, expected, rtol=1e-4)
    factor = np.linalg.cholesky(z @ z.T + jitter * np.eye(25))
    expected = mean[:40] + w @ np.linalg.solve(factor, z @ x.T)
    np.testing.assert_allclose(means, expected, rtol=1e-6, atol=1e-6)

    # Gradients are products in float32, and need not be more.
    slopes = rng.normal(size=(4, 40)), rng.normal(size=40)
    _, d_features, _ = conditional.adjoint(w, *slopes)
    assert d_features.dtype == np.float32
    exact = FeatureConditional(mean[40:], z, jitter)
    exact.moments(mean[:40], x, w)
    expected = exact.adjoint(w, *slopes)[1]
    for part in (slice(0, 40), slice(40, None)):
        error = np.linalg.norm(d_features[part] - expected[part])
        assert error < 1e-3 * np.linalg.norm(expected[part])


def test_a_wide_prior_can_be_trained():
    model, X, rng = wide_model()
    inference = SIPInference(model, Settings(), rng)
    inference.attach(X, np.sin(3.0 * X[:, 0]))
    losses = [inference.epoch(np.arange(40), 40, 1e-3) for _ in range(5)]
    assert np.isfinite(losses).all()


def test_joint_functions_have_the_moments_of_the_conditional():
    rng = np.random.default_rng(0)
    mean, features, covariance, gain = gaussian_with_features(rng, 7)
    n, u = 40_000, rng.normal(size=6)
    w = np.linalg.solve(np.linalg.cholesky(covariance[3:, 3:]), u - mean[3:])
    draw = FeatureConditional(mean[3:], features[3:], 0.1).drawer(np.tile(w, (n, 1)), rng)
    drawn = draw(mean[:3], features[:3])
    np.testing.assert_allclose(draw(mean[:1], features[:1])[:, 0], drawn[:, 0], rtol=1e-9)
    expected = covariance[:3, :3] - covariance[:3, 3:] @ gain
    # Five standard errors of a mean, and of a covariance.
    error = 5 * np.sqrt(np.diag(expected).max() / n)
    np.testing.assert_allclose(drawn.mean(axis=0), mean[:3] + (u - mean[3:]) @ gain, atol=error)
    error = 5 * np.sqrt(2 / n) * np.diag(expected).max()
    np.testing.assert_allclose(np.cov(drawn.T), expected, atol=error)


@pytest.mark.parametrize("kind", [BNNPrior, SmoothPrior, SamplerPrior])
def test_hyperprior_is_a_normal_law(kind):
    rng = np.random.default_rng(0)
    prior = kind(2, 30)
    theta = prior.start(rng.normal(size=(9, 2)), rng)
    n = prior.n_parameters if kind is SamplerPrior else prior.n_noise
    scales = prior.hyper_scales
    assert np.isinf(scales[n:]).all()
    value, _ = prior.hyperprior(theta)
    expected = norm.logpdf(theta[:n], 0, scales[:n]).sum() - norm.logpdf(0, 0, scales[:n]).sum()
    np.testing.assert_allclose(value, -expected)
    # Half of the squares at the start of the one, all of them of the other.
    part = 1.0 if kind is SamplerPrior else 0.5
    assert abs(np.mean((theta[:n] / scales[:n]) ** 2) / part - 1) < 0.15


@pytest.mark.parametrize("alpha", [0.2, 0.5, 1.0])
def test_likelihood_is_the_mean_power_over_draws_of_f(alpha):
    y, means, variances, noise = 0.3, np.array([-0.5, 0.9]), 0.4, 0.2
    total, *_ = power_log_likelihood(
        np.array([y]), means[:, None], np.array([variances]), scales_of([np.log(noise)]), alpha,
        np.ones(1),
    )  # fmt: skip
    f = np.linspace(-8, 8, 20_001)
    of_f = norm.pdf(f, means[:, None], np.sqrt(variances)) * (f[1] - f[0])
    powers = of_f @ norm.pdf(y, f, np.sqrt(noise)) ** alpha
    np.testing.assert_allclose(total, np.log(powers.mean()) / alpha)


def test_a_weight_is_so_many_rows():
    rng = np.random.default_rng(0)
    y, means, variances = rng.normal(size=3), rng.normal(size=(4, 3)), rng.uniform(0.1, 1, 3)
    counts = np.array([2, 1, 3])
    noise = scales_of([0.3, 0.8, -0.7]), 0.6
    value, d_means, d_variances, *d_noise = power_log_likelihood(
        y, means, variances, *noise, counts.astype(float)
    )
    rows = np.repeat(np.arange(3), counts)
    expected = power_log_likelihood(y[rows], means[:, rows], variances[rows], *noise, np.ones(6))
    np.testing.assert_allclose(value, expected[0])
    np.testing.assert_allclose(d_means[:, rows], counts[rows] * expected[1])
    np.testing.assert_allclose(d_variances[rows], counts[rows] * expected[2])
    for found, one_by_one in zip(d_noise, expected[3:], strict=True):
        np.testing.assert_allclose(found, one_by_one)


def test_divergence_of_gaussians():
    rng = np.random.default_rng(0)
    d, blur = 4, 0.5
    m_q, m_p = np.zeros(d), np.full(d, 1.0)
    s_q, s_p = 0.5, 1.5
    u_q = lambda n: m_q + s_q * rng.normal(size=(n, d))  # noqa: E731
    u_p = lambda n: m_p + s_p * rng.normal(size=(n, d))  # noqa: E731
    discriminator = Discriminator(d, 10, rng, np.float64)
    for _ in range(30):
        discriminator.learn_moments(u_q(20_000), m_p, s_p**2 * np.eye(d), blur)
    u = u_q(20_000), u_p(20_000)
    value, _ = discriminator.divergence(discriminator.look(*u, rng), u[0])
    v_q, v_p = s_q**2 + blur**2, s_p**2 + blur**2
    expected = 0.5 * d * (v_q / v_p - 1 + 1 / v_p + np.log(v_p / v_q))
    assert abs(value / expected - 1) < 0.03


def test_log_ratio_of_the_gaussians():
    rng = np.random.default_rng(0)
    d = 4
    discriminator = Discriminator(d, 10, rng, np.float64)
    root = rng.normal(size=(d, d))
    for _ in range(3):
        u_q = 0.3 + rng.normal(size=(50, d)) @ rng.normal(size=(d, d))
        discriminator.learn_moments(u_q, rng.normal(size=d), root @ root.T, 0.4)
    u, found = discriminator.look(u_q, rng.normal(size=(50, d)), rng)
    log_q, log_p = (multivariate_normal(m, c).logpdf(u) for m, c, *_ in discriminator.gaussians)
    np.testing.assert_allclose(found, log_q - log_p, rtol=1e-9, atol=1e-9)


def test_draws_told_apart_leave_no_subnormal_slopes(monkeypatch):
    """Products with them took ten times as long: a quarter of a fit."""
    rng = np.random.default_rng(0)
    discriminator = Discriminator(2, 10, rng)
    u = rng.normal(size=(200, 2)).astype(np.float32)
    # Margins of these sizes: slopes from 1e-3 to 1e-44.
    gaussian = np.append(rng.uniform(1.0, 100.0, 100), -rng.uniform(1.0, 100.0, 100))
    given, adjoint = [], discriminator.network.adjoint
    monkeypatch.setattr(
        discriminator.network, "adjoint",
        lambda *args, **options: given.append(args[2]) or adjoint(*args, **options),
    )  # fmt: skip
    discriminator.loss_and_gradient((u, gaussian))
    slopes = given[0][:, 0]
    expected = -np.sign(gaussian) / (1.0 + np.exp(np.abs(gaussian))) / 200
    np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=1e-19)
    assert (np.abs(slopes[slopes != 0]) > np.finfo(np.float32).tiny).all()
    assert (slopes == 0).any()


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
        discriminator.learn_moments(u_q, np.zeros(1), np.array([[1 + noise**2]]), 0.0)
        discriminator.step(discriminator.look(u_q, u_p, rng), 0.01)
    u_q, u_p = draw(100_000)
    value, _ = discriminator.divergence(discriminator.look(u_q, u_p, rng), u_q)
    q = 0.5 * (norm.pdf(u_q, -1, noise) + norm.pdf(u_q, 1, noise))
    expected = np.mean(np.log(q) - norm.logpdf(u_q, 0, np.sqrt(1 + noise**2)))
    # A small network after 300 steps: within a quarter of the truth.
    assert expected > 0.5
    assert abs(value / expected - 1) < 0.25


@pytest.mark.parametrize("n_inducing", [10, 80])  # fewer and more than the hidden units
def test_posterior_starts_with_the_moments_of_the_prior(n_inducing):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(200, 1)), np.linspace(-2, 2, n_inducing)[:, None]
    model = SparseImplicitProcess("bnn", Z, X, 50, 0.3, 1.0, 1e-5, 100, rng)
    theta, phi, Z, _ = model.parts(model.theta.astype(float))
    mean, features = model.prior.moments(theta, Z, model.networks)
    conditional = FeatureConditional(mean, features, 1e-3)
    u = conditional.values(model.posterior.forward(phi, rng.normal(size=(4000, 100)))[-1])
    # Set from a thousand draws: a twentieth of error in each of up to 50 variances.
    variances = np.diag(conditional.covariance_z)
    assert np.abs(u.mean(0) - mean).max() < 0.25 * np.sqrt(variances.max())
    assert 0.8 < u.var(0).mean() / variances.mean() < 1.2
    # As smooth: values at a distance of 0.4 differ as much as those of the prior.
    step = n_inducing // 10
    far = u[:, step:] - u[:, :-step]
    expected = np.diag(conditional.covariance_z, 0)
    expected = expected[step:] + expected[:-step] - 2 * np.diag(conditional.covariance_z, step)
    ratio = far.var(0).mean() / expected.mean()
    assert 0.7 < ratio < 1.4


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

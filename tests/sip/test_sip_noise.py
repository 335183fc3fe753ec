"""Noise with heavy tails: the law, its objective, and what is predicted with it."""

import pickle

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import logsumexp
from scipy.stats import gamma, kstest, norm, t

from skbayesnn import SIPRegressor
from skbayesnn.sip.noise import (
    PREDICTION,
    TRAINING,
    gradient_of,
    penalty_of,
    scales_of,
    variance_of,
)
from skbayesnn.sip.objective import power_log_likelihood
from skbayesnn.sip.prediction import Predictor

QUICK = {"max_iter": 400, "n_draws": 30, "n_networks": 1, "random_state": 0}


def parameters(degrees, variance=1.0, skew=0.0):
    """Of a law; the skewness is b."""
    return np.array([np.log(degrees - 2.0 + 1e-12), skew, np.log(variance - 1e-6)])


def log_density(x, scales):
    terms = norm.logpdf(x[:, None], scales.offsets, np.sqrt(scales.variances))
    return logsumexp(scales.log_weights + terms, axis=1)


@pytest.mark.parametrize("degrees", [2.0, 3.0, 5.0, 10.0, 30.0])
@pytest.mark.parametrize("precisions", [TRAINING, PREDICTION])
def test_the_law_is_nearly_students(degrees, precisions):
    scale = 0.3
    x = t.ppf((np.arange(20_000) + 0.5) / 20_000, degrees, scale=scale)
    found = log_density(x, scales_of(parameters(degrees, scale**2), precisions))
    # With five scales alone, the farthest of 20,000 targets lie beyond them.
    assert abs(np.mean(t.logpdf(x, degrees, scale=scale) - found)) < 0.015


def test_tails_beyond_the_rows_are_those_of_students_law():
    x = np.geomspace(10.0, 10_000.0, 20)
    found = log_density(x, scales_of(parameters(2.0), PREDICTION))
    np.testing.assert_allclose(found, t.logpdf(x, 2.0), atol=0.1)


def test_skewed_noise_is_described():
    law = gamma(1.5, scale=0.5)
    y = law.ppf((np.arange(2000) + 0.5) / 2000)

    def gap(x):
        return np.mean(law.logpdf(y) - log_density(y - x[3], scales_of(x[:3])))

    start = np.array([1.0, 0.0, -1.0, 0.5])
    straight = minimize(lambda x: gap([x[0], 0.0, *x[1:]]), start[[0, 2, 3]]).fun
    skewed = minimize(gap, [1.0, 0.5, -1.0, 0.5])
    assert straight > 0.17  # what a symmetric law leaves
    assert skewed.fun < 0.09
    assert skewed.x[1] > 0


def test_a_negative_skewness_is_the_mirror_image():
    x = np.linspace(-5, 5, 11)
    right, left = (log_density(x, scales_of(parameters(3.0, 0.5, s))) for s in (0.7, -0.7))
    np.testing.assert_allclose(right, left[::-1])
    assert right[-1] > left[-1]


@pytest.mark.parametrize("degrees", [2.0, 3.0, 10.0])
def test_the_law_has_one_mode_however_skewed(degrees):
    x = np.linspace(-20, 400, 50_000)
    steps = np.sign(np.diff(log_density(x, scales_of(parameters(degrees, skew=50.0), PREDICTION))))
    assert np.sum(steps[:-1] != steps[1:]) == 1
    # And the mass is where the law says it is.
    assert (
        0.99
        < np.exp(log_density(x, scales_of(parameters(degrees, skew=50.0)))).sum() * (x[1] - x[0])
        < 1.0 + 1e-6
    )


def test_many_degrees_of_freedom_are_one_gaussian():
    scales = scales_of([8.0, 1.0, np.log(0.7)])
    largest = scales.log_weights.argmax()
    np.testing.assert_allclose(scales.log_weights[largest], 0.0, atol=1e-12)
    np.testing.assert_allclose(scales.variances[largest], 0.7, rtol=1e-5)
    assert scales.offsets[largest] == 0.0


def test_targets_that_are_equal_leave_a_least_scale():
    np.testing.assert_allclose(variance_of([0.0, 0.0, -50.0]), 1e-6)


@pytest.mark.parametrize("noise", [[-2.0, 0.4, 0.3], [0.0, -1.0, -12.0], [1.5, 0.0, -2.0]])
def test_gradients_in_the_parameters(noise):
    noise, rng = np.array(noise), np.random.default_rng(0)
    scales = scales_of(noise)
    np.testing.assert_allclose(np.exp(scales.log_weights).sum(), 1.0)
    d_law = rng.normal(size=(3, len(scales.variances)))

    def value(x):
        law = scales_of(x)
        parts = law.log_weights, law.offsets, np.log(law.variances)
        return sum(float(d @ part) for d, part in zip(d_law, parts, strict=True))

    numerical = approx_fprime(noise, value, 1e-6)
    found = gradient_of(noise, scales, *d_law)
    np.testing.assert_allclose(found, numerical, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("noise", [[-2.0, 0.4, 0.3], [1.5, 0.0, -2.0]])
def test_prior_of_the_parameters(noise):
    value, gradient = penalty_of(np.array(noise))
    of_degrees, of_skew = gamma(2.0, scale=10.0), norm()
    constant = of_degrees.logpdf(1.0) + 0.1 + of_skew.logpdf(0.0)
    expected = of_degrees.logpdf(2.0 + np.exp(noise[0])) + of_skew.logpdf(noise[1])
    np.testing.assert_allclose(value, constant - expected)
    numerical = approx_fprime(noise, lambda x: penalty_of(x)[0], 1e-6)
    np.testing.assert_allclose(gradient, numerical, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("alpha", [0.2, 0.6, 1.0])
@pytest.mark.parametrize("y", [-4.0, 0.1, 1.3, 5.0])
def test_likelihood_is_between_two_bounds_and_exact_for_alpha_one(alpha, y):
    means, variance = np.array([-0.5, 0.9]), 0.4
    scales = scales_of(parameters(2.5, 0.2, 0.8))
    total, *_ = power_log_likelihood(
        np.array([y]), means[:, None], np.array([variance]), scales, alpha, np.ones(1)
    )
    f = np.linspace(-12, 12, 20_001)
    of_f = norm.pdf(f, means[:, None], np.sqrt(variance)) * (f[1] - f[0])
    exact = of_f @ np.exp(alpha * log_density(y - f, scales))
    each = norm.pdf(y, f[:, None] + scales.offsets, np.sqrt(scales.variances)) ** alpha
    of_jensen = of_f @ each @ np.exp(scales.log_weights)
    exact, of_jensen = (np.log(powers.mean()) / alpha for powers in (exact, of_jensen))
    if alpha == 1.0:
        np.testing.assert_allclose(total, exact)
    else:
        assert of_jensen < total < exact


def heavy(n, seed):
    """A wave with Student noise, and a test set."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    return X, 5.0 + 3.0 * (np.sin(2 * X[:, 0]) + 0.1 * rng.standard_t(2.0, size=n))


@pytest.fixture(scope="module")
def fitted():
    X, y = heavy(300, 0)
    return SIPRegressor(gaussian_process=False, **QUICK).fit(X, y), X, y


def test_heavy_tails_are_learned(fitted):
    model, X, y = fitted
    X_test, y_test = heavy(2000, 1)
    truth = t.logpdf(y_test, 2.0, 5.0 + 3.0 * np.sin(2 * X_test[:, 0]), 0.3).mean()
    found = model.log_predictive_density(X_test, y_test).mean()
    assert truth - found < 0.1
    gaussian = SIPRegressor(gaussian_process=False, likelihood="gaussian", **QUICK).fit(X, y)
    assert found - gaussian.log_predictive_density(X_test, y_test).mean() > 0.3
    # Of the rows' noise it is the squared scale, 0.3².
    assert 0.5 < model.noise_variance_ / 0.09 < 2.0


def test_every_scale_has_its_share_of_the_draws(fitted):
    model, X, _ = fitted
    predictor = model._predictor
    law, (means, variances) = predictor.mixture(X[:5]), predictor.moments(X[:5])
    weights, offsets, factors = predictor.scales
    np.testing.assert_allclose(law.weights.sum(), 1.0)
    assert len(law.weights) <= len(predictor.w) + 2 * len(PREDICTION)
    noise = predictor.noise_variance[predictor.draws]
    shifts = np.sqrt(noise) * predictor.offsets
    np.testing.assert_allclose(law.means, means[:, predictor.draws] + shifts)
    np.testing.assert_allclose(law.variances, variances[:, None] + noise * predictor.factors)
    for weight, offset, factor in zip(weights, offsets, factors, strict=True):
        own = predictor.factors == factor
        np.testing.assert_allclose(law.weights[own].sum(), weight, atol=1e-9)
        np.testing.assert_array_equal(predictor.offsets[own], offset)
        assert weight < 1e-10 or own.sum() >= 2
        assert len(set(predictor.draws[own])) == own.sum()


@pytest.mark.parametrize("of_draws", [1.0, np.geomspace(0.5, 2.0, 40)])
def test_scores_are_those_of_the_mixture(fitted, of_draws):
    """Far rows, too, whose densities underflow."""
    model, X, y = fitted
    scaled = model._scaled(X[:8])
    targets = model._scaled_target(y[:8]) + np.array([0, 0, 0, 0, 1, -3, 1e2, -1e5])

    def predictor(factor):
        return Predictor(
            model._inference.model, model._inference.average, 40, 3, 1.3, factor * of_draws
        )

    factors = np.array([1.0, 2.5, 1e4])
    found = predictor(1.0).log_densities(scaled, targets, factors)
    # The noise variance of a mixture is a parameter of the predictor: another way there.
    expected = [predictor(c).mixture(scaled).logpdf(targets) for c in factors]
    # Sums of about a hundred terms, of logs of up to 1e6: some 1e-14 of their size. The log of the
    # sum is wrong by as much where it is near zero.
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_rows_of_draws_follow_the_law_of_all_draws_with_all_scales(fitted):
    model = fitted[0]
    X = np.array([[0.3], [-1.0]])
    predictor = model._predictor
    means, variances = predictor.moments(model._scaled(X))
    draws = (model.sample_y(X, n_samples=4000, random_state=1) - model._y_offset) / model._y_scale
    weights, offsets, factors = predictor.scales
    noise = predictor.noise_variance[:, None]

    def cdf(v, i):
        mean = means[i][:, None] + np.sqrt(noise) * offsets
        std = np.sqrt(variances[i] + noise * factors)
        return np.array([np.mean(norm.cdf(each, mean, std) @ weights) for each in v])

    for i in range(2):
        assert kstest(draws[i], lambda v, i=i: cdf(v, i)).pvalue > 1e-3
    # A function has one scale of noise at one row, and another at the next.
    sizes = np.abs(draws - np.median(draws, axis=1, keepdims=True))
    large = sizes > np.quantile(sizes, 0.98, axis=1, keepdims=True)
    assert (large[0] & large[1]).mean() < 0.005


def test_pickled_it_predicts_alike(fitted):
    model, X, y = fitted
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        stored.log_predictive_density(X, y), model.log_predictive_density(X, y)
    )


def test_the_paper_has_gaussian_noise():
    X, y = heavy(100, 0)
    model = SIPRegressor(likelihood="gaussian", gaussian_process=False, **QUICK).fit(X, y)
    law = model.predict_distribution(X[:3])
    assert law.means.shape[1] == model.n_posterior_draws
    np.testing.assert_allclose(law.weights, 1 / model.n_posterior_draws)


def test_unknown_likelihood():
    with pytest.raises(ValueError, match="'likelihood' parameter of SIPRegressor"):
        SIPRegressor(likelihood="cauchy").fit([[0.0], [1.0]], [0.0, 1.0])

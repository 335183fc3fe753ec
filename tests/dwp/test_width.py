"""Tails of predictions, and predictions without noise: both against Student's law."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import approx_fprime

from skbayesnn import DeepWishartRegressor
from skbayesnn.dwp.width import GIVEN, Width, best_width, loss_and_gradient
from skbayesnn.gaussian_process.tails import DEGREES, with_tails


def left_out(n=200, seed=0, function=0.05, noise=0.01):
    """Errors of rows whose variances are these factors times what is said."""
    rng = np.random.default_rng(seed)
    of_function, of_noise = np.exp(rng.normal(-4.0, 3.0, n)), np.exp(-4.0)
    scales = np.sqrt(function * of_function + noise * of_noise)
    return scales * rng.standard_t(DEGREES, n), of_function, of_noise, rng.integers(1, 4, n) * 1.0


def test_gradient_is_that_of_the_loss():
    errors, *rest = left_out()
    given = errors**2, *rest
    for logs in (np.array([-1.0, -2.0]), np.array([-6.0, -0.5])):
        expected = approx_fprime(logs, lambda at: loss_and_gradient(at, *given)[0], 1e-6)
        # A difference over 1e-6 of a loss of some hundreds is known to about 1e-4.
        np.testing.assert_allclose(loss_and_gradient(logs, *given)[1], expected, atol=1e-3)


def test_factors_are_the_most_probable_under_student_noise():
    errors, of_function, of_noise, weights = left_out()
    width = best_width(errors, of_function, of_noise, weights)

    def log_posterior(a, b):
        scales = np.sqrt(np.exp(a) * of_function + np.exp(b) * of_noise)
        logs = stats.t.logpdf(errors, DEGREES, scale=scales)
        return weights @ logs + stats.norm.logpdf([a, b]).sum()

    found = np.log(width[:2])
    best = log_posterior(*found)
    for a in np.arange(-8.0, 0.1, 0.25):
        for b in np.arange(-8.0, 0.1, 0.25):
            assert log_posterior(a, b) <= best + 1e-6
    # 400 rows of one of two parts tell a scale to some tenths.
    np.testing.assert_allclose(found, np.log([0.05, 0.01]), atol=0.5)


def test_factors_are_at_most_one():
    errors, of_function, of_noise, weights = left_out(function=5.0, noise=5.0)
    assert best_width(errors, of_function, of_noise, weights) == Width(1.0, 1.0)


def test_law_is_students_around_the_mean_of_all_draws():
    """One draw of the function: exactly Student's t but for the few values of its variance."""
    width = Width(0.25, 0.5)
    weights, means, variances = width.law(np.array([[1.0]]), np.array([[2.0]]), np.array([0.6]))
    assert weights.sum() == pytest.approx(1.0)
    scale = np.sqrt(0.25 * 2.0 + 0.5 * 0.6)
    at = 1.0 + scale * np.array([-3.0, -1.0, 0.2, 2.0])
    cdf = [weights @ stats.norm.cdf(x, means[0], np.sqrt(variances[0])) for x in at]
    np.testing.assert_allclose(cdf, stats.t.cdf(at, DEGREES, 1.0, scale), atol=2e-3)


def test_law_narrows_what_draws_differ_by():
    rng = np.random.default_rng(0)
    means, variances, noises = rng.normal(size=(20, 3)), rng.uniform(1, 2, (20, 3)), np.ones(20)
    width = Width(0.3, 0.1)
    weights, centres, totals = width.law(means, variances, noises)
    mean = centres @ weights
    np.testing.assert_allclose(mean, means.mean(axis=0), atol=1e-12)
    variance = (totals + (centres - mean[:, None]) ** 2) @ weights
    factor = width.noise_factor / width.noise
    expected = factor * (0.3 * (variances.mean(axis=0) + means.var(axis=0)) + 0.1)
    np.testing.assert_allclose(variance, expected, rtol=1e-12)


def test_tails_leave_mean_and_variance_as_they_are():
    rng = np.random.default_rng(0)
    means, variances = rng.normal(size=(20, 3)), rng.uniform(1, 2, (20, 3))
    noises = rng.uniform(1, 2, 20)
    weights, centres, totals = GIVEN.law(means, variances, noises)
    mean = centres @ weights
    np.testing.assert_allclose(mean, means.mean(axis=0), atol=1e-12)
    variance = (totals + (centres - mean[:, None]) ** 2) @ weights
    expected = variances.mean(axis=0) + means.var(axis=0) + noises.mean()
    np.testing.assert_allclose(variance, expected, rtol=1e-12)


def test_one_draw_has_the_tails_of_a_process():
    one = np.ones((1, 1))
    found = GIVEN.law(one, 2.0 * one, np.array([0.3]))
    for part, expected in zip(found, with_tails(one[0], 2.0 * one[0], 0.3), strict=True):
        np.testing.assert_allclose(part, expected)


def test_joint_draws_have_the_tails():
    rng = np.random.default_rng(0)
    weights, means, variances = GIVEN.law(np.zeros((1, 1)), np.ones((1, 1)), np.array([0.5]))
    n = 200_000
    draws = GIVEN.draws(rng.standard_normal((1, n)), np.zeros(1), np.full(n, 0.5), rng)[0]
    for at in (0.5, 2.0, 5.0):
        beyond = 2.0 * weights @ stats.norm.sf(at, means[0], np.sqrt(variances[0]))
        # Five standard errors.
        assert np.mean(np.abs(draws) > at) == pytest.approx(beyond, abs=5.0 * np.sqrt(beyond / n))


def test_no_row_beside_a_step_is_out_of_reach():
    """Of Gaussians of these deviations, some rows would be 60 deviations out (−1900 nats)."""
    rng = np.random.default_rng([7, 40, 4])
    X = rng.uniform(-1, 1, (340, 4))
    y = (X[:, 0] > 0.2) * 1.0
    model = DeepWishartRegressor(random_state=0).fit(X[:40], y[:40])
    mixture = model.predict_distribution(X[40:])
    deviations = np.abs(y[40:] - mixture.mean()) / mixture.std()
    assert deviations.max() > 12.0
    assert mixture.logpdf(y[40:]).min() > -200.0


def table(noise, n=60):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, 1))
    new = rng.uniform(-1.8, 1.8, (300, 1))
    return X, np.sin(2 * X[:, 0]) + noise * rng.normal(size=n), new, np.sin(2 * new[:, 0])


def fitted(X, y, **options):
    defaults = {"n_inducing": 20, "max_iter": 60, "n_posterior_draws": 10, "random_state": 0}
    return DeepWishartRegressor(**{**defaults, **options}).fit(X, y)


def test_intervals_are_narrow_where_there_is_no_noise():
    X, y, new, truth = table(0.0)
    model = fitted(X, y)
    width = model._model.width
    assert width is not None
    assert width.noise < 0.5
    low, high = model.predict_interval(new, 0.9).T
    model._model.width = None
    if model._model.settings is not None:
        model._model.settings.width = None
    wide_low, wide_high = model.predict_interval(new, 0.9).T
    assert np.median((high - low) / (wide_high - wide_low)) < 0.8
    assert np.mean((low <= truth) & (truth <= high)) > 0.8


def test_samples_follow_the_law_that_is_predicted():
    X, y, new, _ = table(0.0)
    model = fitted(X, y)
    law = model.predict_distribution(new[:3])
    draws = model.sample_y(new[:3], 4000, random_state=1)
    for level in (0.05, 0.5, 0.95):
        below = np.mean(draws <= law.quantile(level).reshape(3, 1), axis=1)
        # Four standard errors of a part of 4000 draws; the law has its draws in groups.
        np.testing.assert_allclose(below, level, atol=0.04)


def test_noise_that_is_found_is_left_alone():
    X, y, _, _ = table(0.1)
    model = fitted(X, y)
    assert model._model.width is None
    assert model.noise_variance_ == pytest.approx(0.01, rel=0.6)
    X, y, _, _ = table(0.0)
    assert fitted(X, np.column_stack([y, -y]))._model.width is None  # several targets


def test_a_stream_after_a_fit_has_no_width():
    X, y, _, _ = table(0.0)
    model = fitted(X, y)
    assert model._model.width is not None
    assert model.partial_fit(X, y)._model.width is None

"""Student-t noise: its likelihood, precisions, and the scales of predictions."""

import numpy as np
import pytest
from scipy.stats import gamma, kstest, norm, t

from skbayesnn.numerics.student_t import student_variances
from skbayesnn.stable.noise.precisions import (
    DEGREES,
    draw_precisions,
    log_constants,
    log_likelihood,
    update_noise,
)


@pytest.mark.parametrize("place", [0, 3, DEGREES.size - 1])
def test_likelihood_is_that_of_students_law(place):
    rng = np.random.default_rng(place)
    e, weights, k = rng.standard_cauchy(9), rng.exponential(size=9), DEGREES[place]
    law = norm(scale=0.7) if np.isinf(k) else t(k, scale=0.7)
    found = log_likelihood(e**2, weights, weights.sum(), 2 * np.log(0.7), k, log_constants()[place])
    assert found == pytest.approx(weights @ law.logpdf(e), rel=1e-10)


def test_precisions_given_residuals():
    rng = np.random.default_rng(0)
    e, weights, p = np.array([0.0, 3.0]), np.array([1.0, 2.0]), np.ones(2)
    h, draws, alone = np.array([0.3, -0.7]), [], []
    for _ in range(3000):
        update_noise(
            e, h, weights, 3.0, DEGREES, log_constants(), 4.0, np.log(0.5), False, np.inf, 3, p, rng
        )
        draws.append(p.copy())
        alone.append(draw_precisions(e, h, weights, 4.0, np.log(0.5), rng))
    for found in (draws, alone):
        for values, w, factor, square in zip(
            np.transpose(found), weights, np.exp(h), e**2, strict=True
        ):
            law = gamma(w * 5 / 2, scale=2 / (4 + square / (0.5 * factor)) / factor)
            assert kstest(values, law.cdf).pvalue > 1e-4


def test_scale_given_precisions():
    """Gaussian noise, whose precisions are the weights: log σ² against its density on a grid."""
    rng = np.random.default_rng(0)
    e, h, weights = rng.standard_normal(5), rng.standard_normal(5), rng.exponential(size=5)
    grid = np.linspace(-8, 10, 20_001)
    square = (weights * e**2 * np.exp(-h)).sum()
    log_density = grid - np.log1p(np.exp(2 * grid))
    log_density -= 0.5 * (weights.sum() * grid + square * np.exp(-grid))
    chances = np.cumsum(np.exp(log_density - log_density.max()))
    log_noise, p, draws = 0.0, np.ones(5), []
    for _ in range(20_000):
        _, log_noise = update_noise(
            e, h, weights, weights.sum(), DEGREES, log_constants(), np.inf, log_noise, False,
            -np.inf, 3, p, rng,
        )  # fmt: skip
        draws.append(log_noise)
    np.testing.assert_allclose(p, weights * np.exp(-h))
    # Slice sampling of one number: every fifth draw is next to independent.
    law = np.interp(draws[::5], grid, chances / chances[-1])
    assert kstest(law, "uniform").pvalue > 1e-4


def test_degrees_and_noise_against_a_grid():
    # σ² given: the posterior of κ by summing over its grid.
    rng = np.random.default_rng(1)
    e, ones, p = rng.standard_t(3, 60), np.ones(60), np.ones(60)
    logs = [
        log_likelihood(e**2, ones, 60.0, 0.0, k, c)
        for k, c in zip(DEGREES, log_constants(), strict=True)
    ]
    exact = np.exp(logs - np.max(logs))
    exact /= exact.sum()
    degrees, visits = 4.0, np.zeros(DEGREES.size)
    for _ in range(20000):
        degrees, _ = update_noise(
            e, 0 * ones, ones, 60.0, DEGREES, log_constants(), degrees, 0.0, True, np.inf, 3, p, rng
        )
        visits[np.searchsorted(DEGREES, degrees)] += 1
    # Some 2000 independent draws: a standard error of 0.011 at most.
    np.testing.assert_allclose(visits / 20000, exact, atol=0.05)


def test_scales_of_predictions_make_students_law():
    levels = (np.arange(1000) + 0.5) / 1000
    scales = student_variances(np.full(1000, 3.0), levels)
    y = np.array([0.0, 1.0, 3.0, 10.0, 20.0])
    mixture = norm(scale=np.sqrt(scales)).pdf(y[:, None]).mean(axis=1)
    # As far as the 1000 levels reach, a few percent.
    np.testing.assert_allclose(mixture, t(3).pdf(y), rtol=0.03)
    assert (student_variances(np.array([np.inf]), np.array([0.3])) == 1).all()


def test_rows_of_next_to_no_weight_have_a_precision_that_can_be_divided_by():
    rng, n = np.random.default_rng(0), 200
    precisions = np.empty(n)
    weights = np.where(np.arange(n) % 2, 1.0, 1e-6)
    update_noise(
        rng.standard_normal(n), np.zeros(n), weights, weights.sum(), DEGREES, log_constants(), 4.0,
        0.0, False, np.inf, 1, precisions, rng,
    )  # fmt: skip
    assert (precisions > 0).all()
    assert np.isfinite(1.0 / precisions).all()
    assert precisions[::2].max() < 1e-3 < precisions[1::2].min()

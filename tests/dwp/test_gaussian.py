"""The deep Gaussian process's posterior over features."""

import numpy as np

from skbayesnn.dwp import gaussian as ga


def random_parameters(seed=0):
    rng = np.random.default_rng(seed)
    p = ga.parameter_shapes("dgp", 4, 3)
    p = {name: 0.4 * rng.normal(size=shape) for name, shape in p.items()}
    p["left"] += np.eye(4)
    return p


def test_divergence_is_that_of_the_columns():
    p, expected = random_parameters(), 0.0
    for j in range(3):
        mean = p["left"] @ p["mean"][:, j]
        covariance = p["left"] @ np.diag(np.exp(2 * p["log_std"][:, j])) @ p["left"].T
        expected += 0.5 * (covariance.trace() + mean @ mean - 4)
        expected -= 0.5 * np.linalg.slogdet(covariance)[1]
    np.testing.assert_allclose(ga.divergence(p, 3)[0], expected, rtol=1e-12)
    assert abs(ga.divergence(ga.prior_parameters("dgp", 4, 3), 3)[0]) < 1e-12


def test_draws_have_the_posterior_s_moments():
    p, rng = random_parameters(), np.random.default_rng(1)
    factors = ga.Draws(p, None, rng.standard_normal((40_000, 4, 3))).factors
    mean = p["left"] @ p["mean"]
    covariance = p["left"] @ np.diag(np.exp(2 * p["log_std"][:, 1])) @ p["left"].T
    # Four standard errors of 40,000 draws with variances of up to about 3.
    np.testing.assert_allclose(factors.mean(axis=0), mean, atol=4 * np.sqrt(3 / 40_000))
    np.testing.assert_allclose(np.cov(factors[:, :, 1].T), covariance, atol=0.1)

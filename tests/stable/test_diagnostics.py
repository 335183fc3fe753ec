"""R-hat and effective sample size on chains whose answers are known."""

import numpy as np
import pytest

from skbayesnn.stable.diagnostics import (
    effective_sample_size,
    r_hat,
    tail_effective_sample_size,
)


def autoregression(rho, n_chains=4, n_draws=5000, seed=0):
    rng = np.random.default_rng(seed)
    x = np.empty((n_chains, n_draws))
    x[:, 0] = rng.standard_normal(n_chains)
    for i in range(1, n_draws):
        x[:, i] = rho * x[:, i - 1] + np.sqrt(1 - rho**2) * rng.standard_normal(n_chains)
    return x[..., None]


def test_independent_draws():
    draws = np.random.default_rng(0).standard_normal((4, 2000, 3))
    assert np.all(np.abs(r_hat(draws) - 1) < 0.005)
    # The estimate has a relative error of a few percent at this length.
    np.testing.assert_allclose(effective_sample_size(draws), 8000, rtol=0.12)


def test_autoregression_has_its_known_effective_size():
    for rho in (0.5, 0.9, -0.4):
        expected = 20000 * (1 - rho) / (1 + rho)
        got = effective_sample_size(autoregression(rho))[0]
        assert abs(got / expected - 1) < 0.15


def test_chains_apart_are_seen():
    draws = np.random.default_rng(1).standard_normal((4, 1000, 1))
    draws[0] += 3
    assert r_hat(draws)[0] > 1.2
    assert effective_sample_size(draws)[0] < 50


def test_a_drift_within_chains_is_seen():
    draws = np.random.default_rng(2).standard_normal((4, 1000, 1))
    assert r_hat(draws + np.linspace(0, 3, 1000)[:, None])[0] > 1.1


def test_monotone_maps_change_nothing():
    draws = autoregression(0.6, n_draws=500)
    np.testing.assert_allclose(r_hat(np.exp(3 * draws)), r_hat(draws), rtol=1e-12)
    np.testing.assert_allclose(
        effective_sample_size(np.exp(3 * draws)), effective_sample_size(draws), rtol=1e-12
    )


def test_constant_and_short_chains():
    assert r_hat(np.zeros((2, 50, 1)))[0] <= 1.0
    assert np.isnan(r_hat(np.zeros((2, 3, 1)))[0])
    assert np.isnan(effective_sample_size(np.zeros((2, 3, 1)))[0])


def test_chains_that_differ_in_spread_are_told_apart():
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((4, 1000, 2))
    draws[:2, :, 1] *= 3.0
    same, different = r_hat(draws)
    assert same < 1.01
    assert different > 1.05


def test_the_tails_of_a_sticky_chain_are_worth_less():
    """Excursions to the tails that last: the bulk is that of independent draws."""
    rng = np.random.default_rng(0)
    draws = rng.uniform(-1, 1, size=(4, 2000, 1))
    independent = tail_effective_sample_size(draws)[0]
    # The indicator of the largest twentieth has the variance of independent draws.
    assert independent == pytest.approx(8000, rel=0.2)
    for chain in draws:
        chain[100:200] += 3.0
    assert tail_effective_sample_size(draws)[0] < 0.1 * effective_sample_size(draws)[0] + 100
    assert tail_effective_sample_size(np.zeros((2, 100, 1)))[0] == 200

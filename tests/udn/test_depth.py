"""Depth posteriors: theorem 3.2, and that updates end at the maximiser."""

import numpy as np
import pytest
from scipy.stats import poisson

from skbayesnn.udn.depth import CategoricalDepth, PointMass, TruncatedPoisson

VALUES = -700.0 * np.exp(-0.3 * np.arange(60)) - 4.0 * np.arange(60)


@pytest.mark.parametrize("rate", [1e-3, 0.05, 0.5, 1.0, 3.7, 19.0, 92.0, 500.0, 3000.0])
def test_support_obeys_theorem_3_2(rate):
    q = TruncatedPoisson(0.5, rate=rate)
    assert rate - np.log(2) <= q.support <= 1.3 * rate + 5
    p = q.probabilities()
    assert p.shape == (q.support,)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(), 1)
    expected = poisson.pmf(np.arange(q.support), rate)
    np.testing.assert_allclose(p, expected / expected.sum(), rtol=1e-8, atol=1e-300)
    assert poisson.cdf(q.support - 1, rate) >= 0.95
    assert q.support == 1 or poisson.cdf(q.support - 2, rate) < 0.95


def test_log_prior_is_poisson():
    np.testing.assert_allclose(
        TruncatedPoisson(0.7).log_prior(6), poisson.logpmf(np.arange(6), 0.7)
    )


def bruteforce(values, limit):
    rates = np.exp(np.linspace(np.log(0.01), np.log(80), 4000))
    kept = [q for q in (TruncatedPoisson(0.5, rate=r) for r in rates) if q.support <= limit]
    return max(q.elbo(values) for q in kept)


@pytest.mark.parametrize("start", [0.1, 5.0, 30.0])
def test_poisson_updates_end_at_the_best_depth(start):
    q = TruncatedPoisson(0.5, rate=start)
    for _ in range(300):
        before = q.rate
        q.update(VALUES, limit=60)
        assert abs(np.log(q.rate / before)) <= 0.1 + 1e-9
    assert q.elbo(VALUES) > bruteforce(VALUES, 60) - 0.01
    np.testing.assert_allclose(q.rate, 12.4, rtol=0.01)


def test_support_is_limited_by_what_was_evaluated():
    q = TruncatedPoisson(0.5, rate=1.0)
    for _ in range(200):
        q.update(VALUES[:7], limit=60)
    assert q.support == 7
    for _ in range(200):
        q.update(VALUES, limit=9)
    assert q.support == 9


def test_depth_one_is_reachable():
    q = TruncatedPoisson(0.5, rate=3.0)
    for _ in range(200):
        q.update(-500.0 * np.arange(30), limit=30)
    assert q.support == 1
    assert q.expected_depth() == 1


def test_categorical_ends_at_the_exact_posterior():
    q, values = CategoricalDepth(5), np.array([-9.0, -3.0, 0.0, -1.0, -2.0])
    for _ in range(200):
        q.update(values, limit=5)
    np.testing.assert_allclose(q.probabilities(), np.exp(values) / np.exp(values).sum())
    best = q.elbo(values)
    np.testing.assert_allclose(best, np.log(np.mean(np.exp(values))))


def test_point_mass():
    q = PointMass(3)
    q.update([1.0, 2.0, 7.0], limit=3)
    assert q.elbo([1.0, 2.0, 7.0]) == 7
    assert q.expected_depth() == 3
    np.testing.assert_array_equal(q.probabilities(), [0, 0, 1])


@pytest.mark.parametrize("make", [lambda: TruncatedPoisson(0.5), lambda: CategoricalDepth(6)])
def test_state_round_trip(make):
    q = make()
    q.update(VALUES[:6], limit=6)
    state, p = q.state(), q.probabilities()
    q.update(VALUES[:6], limit=6)
    assert not np.array_equal(q.probabilities(), p)
    q.restore(state)
    np.testing.assert_array_equal(q.probabilities(), p)

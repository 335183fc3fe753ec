"""Algorithm S.2: its linear algebra, and its agreement with the Gibbs samplers."""

import numpy as np
import pytest
from chains import FixedUnits, run_chain
from scipy import stats
from threadpoolctl import threadpool_limits

from skbayesnn import StableNNRegressor
from skbayesnn.stable.diagnostics import effective_sample_size
from skbayesnn.stable.partitions.line import LineCells
from skbayesnn.stable.partitions.plane.partition import FaceCells
from skbayesnn.stable.samplers.collapsed import collapsed_pass
from skbayesnn.stable.samplers.metropolis import (
    MarginalLaw,
    MetropolisChain,
    metropolis_pass,
)
from skbayesnn.stable.samplers.problem import Prior


def random_law(rng, n=6, n_cells=15):
    """Variances from idle to far above the noise, so that some are kept in precision form."""
    signs = np.sign(rng.standard_normal((n_cells, n)))
    log_variances = rng.normal(-2, 2, n_cells)
    log_variances[[3, 8]] = np.log([5e3, 2e4])
    y = rng.standard_normal(n)
    return signs, y, log_variances, np.log(0.1)


def test_the_marginal_law_is_the_dense_one():
    signs, y, log_variances, log_noise = random_law(np.random.default_rng(0))
    for without in (None, 2, 8):
        law = MarginalLaw(signs, y, log_variances, log_noise, 6.0, without)
        assert law.large.sum() == (1 if without == 8 else 2)
        variances = np.exp(log_variances)
        if without is not None:
            variances[without] = 0.0
        covariance = (signs.T * variances) @ signs + 0.1 * np.eye(6)
        inverse, solved = law.inverse()
        # The dense inverse is the less accurate one: its condition number is 1e6.
        np.testing.assert_allclose(inverse, np.linalg.inv(covariance), rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(solved, np.linalg.solve(covariance, y), rtol=1e-7, atol=1e-8)
        expected = stats.multivariate_normal(cov=covariance).logpdf(y)
        assert law.log_evidence - 3 * np.log(2 * np.pi) == pytest.approx(expected, abs=1e-7)


def test_drawn_weights_have_the_dense_moments():
    rng = np.random.default_rng(1)
    signs, y, log_variances, log_noise = random_law(rng, 4, 10)
    law = MarginalLaw(signs, y, log_variances, log_noise, 4.0)
    draws = np.array([law.draw_weights(rng) for _ in range(20_000)])
    precision = np.diag(np.exp(-log_variances)) + signs @ signs.T / 0.1
    covariance = np.linalg.inv(precision)
    mean = covariance @ (signs @ y / 0.1)
    z = (draws.mean(axis=0) - mean) / np.sqrt(np.diag(covariance) / 20_000)
    assert np.abs(z).max() < 4
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    # Correlations of 20,000 draws have standard errors of at most 0.01.
    assert np.abs((np.cov(draws.T) - covariance) / scale).max() < 0.04


@pytest.mark.parametrize("noise", [0.25, 1e-6])
def test_drift_of_the_samplers_own_changes_stays_below_its_bound(noise):
    rng = np.random.default_rng(2)
    y = np.where(np.arange(30) > 12, 1.0, -1.0) + np.sqrt(noise) * rng.standard_normal(30)
    cells, prior = LineCells(np.linspace(-2, 2, 30)[:, None], y), Prior(0.5, 1.0, np.log(noise))
    problem, state = cells.problem(0.5, 0.0), cells.start(prior, rng)
    record = cells.new_record(np.arange(1), 1, 1)
    chain = MetropolisChain(cells, prior, state, record, rng)
    limit, compared = np.log(noise * 1e4 / 30), 0
    for first in list(range(30)) * 20:
        if state.log_variances[first] > limit:
            continue
        inverse, solved = chain._law(np.log(noise)).inverse()
        stop = metropolis_pass(first, limit, chain.signs, inverse, solved, problem, state, rng)
        if state.log_variances[stop - 1] <= limit:
            exact, _ = chain._law(np.log(noise)).inverse()
            assert np.abs(inverse - exact).max() < 1e-8 * np.abs(exact).max()
            compared += 1
    assert compared > 100


@pytest.mark.parametrize("noise", [1e-2, 1e-7])
def test_drift_of_the_collapsed_passes_stays_small(noise):
    """Passes end where the inverse is spent; without that it was off by 0.12 at a noise of 1e-7."""
    rng = np.random.default_rng(0)
    side = np.linspace(-1, 1, 5)
    X = np.array([(a, b) for a in side for b in side])
    y = 1.0 * (X[:, 0] > 0.2) + (X[:, 1] > -0.1) + np.sqrt(noise) * rng.standard_normal(25)
    cells, prior = FaceCells(X, y), Prior(0.8, 1.0, np.log(noise))
    record, state = cells.new_record(np.arange(1), 1, 1), cells.start(prior, rng)
    chain = cells.chain(cells, prior, state, record, rng)
    chain.sweep(-100, 100)
    compared = 0
    for first in range(0, len(chain.features) - 10, 10):
        free = chain.is_free(state.log_variances)
        residual = chain.y - chain.weights[~free] @ chain.features[~free]
        law = chain._arguments(chain._law_anew(free, residual))
        done = collapsed_pass(first, first + 10, *law) == first + 10
        exact = chain._law_anew(free, residual).inverse()
        if done:
            assert np.abs(law[2] - exact).max() < 1e-8 * np.abs(exact).max()
            compared += 1
        chain.sweep(-10, 10)
    assert compared > 5


def make_cells(kind, rng):
    if kind == "line":
        return LineCells(np.sort(rng.uniform(-2, 2, 12))[:, None])
    if kind == "plane":
        return FaceCells(np.unique(rng.integers(-2, 3, size=(10, 2)) / 2.0, axis=0))
    return FixedUnits(rng, rng.normal(size=(14, 3)), n_units=20)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "alpha"), [("line", 1.1), ("line", None), ("plane", 1.3), ("sampled", 0.9)]
)
def test_gibbs_and_metropolis_agree_on_every_summary(kind, alpha):
    """Means and quantiles of f at every row and of σ² (α and ν), repeated rows among them."""
    # Twenty units drawn by the fourth seed leave two modes that neither sampler goes between.
    rng = np.random.default_rng(5 if kind == "sampled" else 4)
    cells = make_cells(kind, rng)
    n = len(cells.rows)
    # A jump, so that some cells are far above the noise.
    cells.y = np.where(np.arange(n) > n // 2, 1.0, -1.0) + 0.2 * rng.standard_normal(n)
    cells.within = 0.1
    cells.counts[1] = 3.0
    prior = Prior(alpha, 1.0 if alpha else None, None)

    def chains(sampler, n_draws, thin):
        values = []
        for seed in range(2):
            arguments = (prior, np.arange(n), n_draws, thin, [seed, n_draws], 150)
            record = run_chain(cells, *arguments, sampler)
            followed = [record.f, record.log_noise]
            followed += [] if alpha else [record.alpha, record.log_nu]
            values.append(np.column_stack(followed))
        return np.stack(values)

    with threadpool_limits(1, user_api="blas"):
        gibbs = chains("gibbs", 400, 5 if alpha else 10)
        metropolis = chains("metropolis", 240, 5 if alpha else 10)
    errors = [stats.sem(v.reshape(-1, v.shape[-1])) ** 2 for v in (gibbs, metropolis)]
    effective = [effective_sample_size(v) for v in (gibbs, metropolis)]
    assert min(e.min() for e in effective) > (100 if alpha else 25)
    # Standard errors of correlated draws: those of independent ones, times √(N/N_eff).
    errors = [
        e * v.shape[0] * v.shape[1] / size
        for e, v, size in zip(errors, (gibbs, metropolis), effective, strict=True)
    ]
    z = (gibbs.mean(axis=(0, 1)) - metropolis.mean(axis=(0, 1))) / np.sqrt(sum(errors))
    assert np.abs(z).max() < 4
    both = np.concatenate([v.reshape(-1, v.shape[-1]) for v in (gibbs, metropolis)])
    for level in (0.1, 0.25, 0.5, 0.75, 0.9):
        at = np.quantile(both, level, axis=0)
        shares = [(v < at).mean(axis=(0, 1)) for v in (gibbs, metropolis)]
        spread = np.sqrt(level * (1 - level) * (1 / effective[0] + 1 / effective[1]))
        assert np.abs((shares[0] - shares[1]) / spread).max() < 4


@pytest.mark.parametrize("alpha", [0.5, 1.2, 2.0])
def test_without_noise_the_chain_follows_the_data(alpha):
    """Cells 10^8 noise variances large: the covariance alone would have no digits left."""
    x = np.linspace(-1, 1, 15)
    y = np.where(x > 0.3, 1.0, -1.0)
    cells, prior = LineCells(x[:, None], y), Prior(alpha, 1.0, np.log(1e-8))
    record = run_chain(cells, prior, np.arange(15), 50, 2, 0, 50, "metropolis")
    np.testing.assert_allclose(record.f, np.tile(y, (100, 1)), atol=6e-4)
    assert np.isfinite(record.log_scales).all()


@pytest.mark.parametrize(
    ("n_features", "options"), [(1, {}), (2, {}), (3, {"n_units": 30, "cells": "sampled"})]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_estimator_fits_and_predicts_with_either(n_features, options):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(20, n_features))
    y = np.where(X[:, 0] > 0, 90.0, 40.0) + 4 * rng.standard_normal(20)
    options |= {
        "n_chains": 2,
        "n_warmup": 150,
        "n_posterior_draws": 200,
        "thin": 2,
        "random_state": 0,
    }
    gibbs = StableNNRegressor(**options).fit(X, y)
    metropolis = StableNNRegressor(sampler="metropolis", **options).fit(X, y)
    # 200 draws, of which at least a few tens are independent, fix a median to a fifth of
    # the interval's width.
    width = np.diff(gibbs.predict_interval(X))[:, 0]
    assert (np.abs(gibbs.predict(X) - metropolis.predict(X)) < 0.2 * width).all()
    again = StableNNRegressor(sampler="metropolis", n_jobs=2, **options).fit(X, y)
    np.testing.assert_array_equal(again.predict(X + 0.1), metropolis.predict(X + 0.1))

"""α and ν: calibrated draws, recovery from data, agreement with quadrature."""

import numpy as np
import pytest
from chains import FixedUnits, run_chain
from kernels import arc_cosine_kernel
from scipy import stats

from skbayesnn import StableNNRegressor
from skbayesnn.numerics.stable_laws import (
    log_densities,
    positive_stable_table,
    sample_log_positive_stable,
)
from skbayesnn.stable.partitions.line import LineCells
from skbayesnn.stable.partitions.plane import cells as plane
from skbayesnn.stable.partitions.plane.partition import FaceCells
from skbayesnn.stable.samplers.hyper import ALPHAS, HyperMoves
from skbayesnn.stable.samplers.problem import Prior
from skbayesnn.stable.samplers.transport import logit_curve, transport


def carried(t, a, b):
    pairs = [transport(x, logit_curve(a), logit_curve(b)) for x in t]
    return np.array(pairs).T


@pytest.mark.parametrize(("a", "b"), [(0.05, 0.07), (0.5, 0.6), (0.9, 0.4), (0.99, 0.95)])
def test_transport(a, b):
    rng = np.random.default_rng(0)
    t = np.array([sample_log_positive_stable(a, rng) for _ in range(3000)])
    there, log_slope = carried(t, a, b)
    # Between any two laws the law is right,
    reference = [sample_log_positive_stable(b, rng) for _ in range(3000)]
    assert stats.ks_2samp(there, reference).pvalue > 0.01
    # the way back is exact,
    back, back_slope = carried(there, b, a)
    np.testing.assert_allclose(back, t, atol=1e-9 * np.abs(t).max())
    np.testing.assert_allclose(back_slope, -log_slope, atol=1e-9)
    # the slope is the derivative (but where a node lies in between),
    step = 1e-7 * np.ptp(t)
    change = (carried(t + step, a, b)[0] - carried(t - step, a, b)[0]) / (2 * step)
    assert np.mean(np.abs(change / np.exp(log_slope) - 1) < 1e-4) > 0.99
    # and density is carried along, up to what broken lines miss.
    density = log_densities(t, positive_stable_table(a))
    density_there = log_densities(there, positive_stable_table(b))
    assert np.quantile(np.abs(density_there + log_slope - density), 0.99) < 0.05


def line_function(cells, weights):
    steps = np.concatenate([[0], 2 * np.cumsum(weights[1:])])
    return weights[0] - steps[-1] / 2 + steps


KINDS = {
    "line": (lambda rng: LineCells(np.sort(rng.normal(size=6))[:, None]), line_function, 60, 40),
    "plane": (
        lambda rng: FaceCells(np.unique(rng.integers(0, 3, size=(6, 2)) - 1.0, axis=0)),
        lambda cells, weights: plane.signs_times(cells.arrangement, weights),
        60,
        60,
    ),
    "sampled": (
        lambda rng: FixedUnits(rng, rng.normal(size=(6, 3)), n_units=12),
        lambda cells, weights: cells.features(cells.planes) @ weights,
        60,
        60,
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_simulation_based_calibration_with_alpha_and_nu(kind):
    make_cells, function, n_repeats, thin = KINDS[kind]
    rng = np.random.default_rng(1)
    n_levels = 8
    ranks = np.empty((n_repeats, 4), dtype=int)
    for repeat in range(n_repeats):
        cells = make_cells(rng)
        alpha, log_nu, log_noise = (
            rng.choice(ALPHAS),
            np.log(np.abs(rng.standard_cauchy())),
            np.log(np.abs(rng.standard_cauchy())),
        )
        t = np.array([sample_log_positive_stable(alpha / 2, rng) for _ in cells.log_masses])
        variances = np.exp(log_nu + 2 / alpha * cells.log_masses + t)
        f = function(cells, np.sqrt(variances) * rng.standard_normal(variances.size))
        cells.y = f + np.exp(0.5 * log_noise) * rng.standard_normal(f.size)
        prior = Prior(None, None, None)
        record = run_chain(cells, prior, np.array([0]), n_levels - 1, thin, repeat, 8 * thin)
        kept = np.column_stack([record.f[:, 0], record.log_noise, record.alpha, record.log_nu])
        kept = kept[record.thin - 1 :: record.thin]
        # α is discrete: ties are broken at random.
        kept[:, 2] += 1e-3 * rng.uniform(size=len(kept))
        truth = [f[0], log_noise, alpha + 1e-3 * rng.uniform(), log_nu]
        ranks[repeat] = (kept < truth).sum(axis=0)
    for values in ranks.T:
        counts = np.bincount(values, minlength=n_levels)
        assert stats.chisquare(counts).pvalue > 0.002


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The chains may not:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("alpha", [0.8, 1.2, 1.7])
def test_alpha_is_recovered(alpha):
    rng = np.random.default_rng(1)
    cells = LineCells(np.sort(rng.uniform(-2, 2, 300))[:, None])
    t = np.array([sample_log_positive_stable(alpha / 2, rng) for _ in cells.log_masses])
    scales = np.exp(1.0 / alpha * cells.log_masses + 0.5 * t)
    f = line_function(cells, scales * rng.standard_normal(scales.size))
    y = f + 0.02 * rng.standard_normal(f.size)
    model = StableNNRegressor(
        "sample",
        "sample",
        n_chains=2,
        n_posterior_draws=500,
        thin=12,
        normalize_X=False,
        random_state=0,
    )
    model.fit(cells.x[:, None], y)
    low, high = np.quantile(model.alpha_draws_, [0.005, 0.995])
    assert low <= alpha <= high
    # Three hundred informative steps, and ν unknown: a standard deviation of about 0.15.
    assert 0.2 < high - low < 0.9
    assert model.parameter_effective_sample_size_["alpha"] > 10


@pytest.mark.filterwarnings("ignore:The chains may not:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_features", [1, 2])
def test_nu_of_a_gaussian_process_agrees_with_quadrature(n_features):
    rng = np.random.default_rng(2)
    X = np.sort(rng.normal(size=(12, n_features)), axis=0)
    y = 2.0 * np.sin(X[:, 0]) + 0.3 * rng.normal(size=12)
    model = StableNNRegressor(
        2.0,
        "sample",
        likelihood="gaussian",
        noise_variance=0.09,
        normalize_X=False,
        normalize_y=False,
        n_chains=2,
        n_warmup=100,
        thin=3,
        n_posterior_draws=400,
        random_state=0,
    ).fit(X, y)
    log_nu = np.linspace(-6, 8, 800)
    kernel = arc_cosine_kernel(X, X)
    log_density = np.array(
        [
            stats.multivariate_normal(cov=np.exp(v) * kernel + 0.09 * np.eye(12)).logpdf(y)
            + stats.halfcauchy.logpdf(np.exp(v))
            + v
            for v in log_nu
        ]
    )
    weights = np.exp(log_density - log_density.max())
    cdf = np.cumsum(weights) / weights.sum()
    probabilities = np.interp(np.log(model.nu_draws_), log_nu, cdf)
    n = model.parameter_effective_sample_size_["nu"]
    # The distribution of 400 draws, of fewer effective ones: Kolmogorov's bound.
    assert n > 50
    assert stats.kstest(probabilities, "uniform").statistic < 1.63 / np.sqrt(min(n, 400))
    x_new = np.full((1, n_features), 0.3)
    assert np.isfinite(model.predict_interval(x_new)).all()


def test_values_are_checked():
    X, y = np.arange(10.0)[:, None], np.arange(10.0)
    for name in ("alpha", "nu"):
        with pytest.raises(ValueError, match=name):
            StableNNRegressor(**{name: "learn"}).fit(X, y)


def test_every_proposal_changes_what_is_sampled():
    """Also where ν alone is: two fifths of its proposals used to be the present value."""
    rng = np.random.default_rng(0)
    cells = LineCells(np.linspace(-1, 1, 5)[:, None])
    for alpha, nu in ((1.1, None), (None, 1.0), (None, None)):
        prior = Prior(alpha, nu, 0.0)
        state = cells.start(prior, rng)
        state.alpha[0] = 1.1
        moves = HyperMoves(prior, cells.log_masses, state, rng)
        changed = [moves._propose() != (1.1, state.log_nu[0]) for _ in range(300)]
        # Steps on the grid of α round to zero now and then.
        assert np.mean(changed) > (0.99 if alpha else 0.7)

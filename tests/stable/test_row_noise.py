"""Student's noise, with a scale that depends on the inputs, beside the exact cells of the plane."""

import numpy as np
import pytest
from noise_priors import draw_slopes, ranks_of_slopes
from scipy import stats
from scipy.stats import chi2, halfcauchy, kstest

from skbayesnn import StableNNRegressor
from skbayesnn.numerics.stable_laws import sample_log_positive_stable
from skbayesnn.stable.noise.precisions import DEGREES
from skbayesnn.stable.noise.slopes import bounded
from skbayesnn.stable.partitions.plane.partition import FaceCells
from skbayesnn.stable.samplers import row_noise
from skbayesnn.stable.samplers.problem import Prior
from skbayesnn.stable.samplers.row_noise import RowNoiseChain

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

QUICK = {"n_warmup": 60, "n_posterior_draws": 40, "thin": 2, "n_chains": 2, "random_state": 0}
N_REPLICATES = 400
# A false alarm in one of some hundred comparisons would come once in thousands of changes.
LEAST_P = 1e-5


def new_chain(partition, prior, rng):
    record = partition.new_record(np.arange(len(partition.rows)), 1, 1)
    return RowNoiseChain(partition, prior, partition.start(prior, rng), record, rng)


def draw_from_prior(chain, prior, rng):
    """Everything from the prior, in place; the targets too."""
    partition, cells, noise = chain.partition, chain.state, chain.noise
    cells.log_nu[0] = np.log(np.abs(rng.standard_cauchy()))
    chain.problem = partition.problem(prior.alpha, cells.log_nu[0])
    cells.log_variances[:] = chain.problem.log_units
    if prior.alpha < 2.0:
        a = prior.alpha / 2.0
        cells.log_variances[:] += [sample_log_positive_stable(a, rng) for _ in cells.log_variances]
    spread = np.exp(0.5 * cells.log_variances)
    cells.weights[:] = spread * rng.standard_normal(spread.size)
    cells.log_noise[0] = np.log(np.abs(rng.standard_cauchy()))
    noise.degrees = float(rng.choice(DEGREES)) if prior.degrees is None else prior.degrees
    noise.precisions[:] = 1.0
    if np.isfinite(noise.degrees):
        half = noise.degrees / 2.0
        noise.precisions[:] = rng.gamma(half, 1.0 / half, noise.precisions.size)
    noise.log_tau, noise.log_local, noise.slopes = draw_slopes(partition.n_slopes, rng)
    noise.log_factors = bounded(noise.slopes @ partition.noise_basis.train)
    noise.precisions *= np.exp(-noise.log_factors)
    f = (partition.features(None) @ cells.weights)[partition.place]
    deviations = np.exp(0.5 * cells.log_noise[0]) / np.sqrt(noise.precisions)
    partition.targets[:] = f + deviations * rng.standard_normal(f.size)
    chain._count_rows()


def statistics(chain, rng):
    """Numbers that are uniform under the prior, by name."""
    partition, cells, noise = chain.partition, chain.state, chain.noise
    f = (partition.features(None) @ cells.weights)[partition.place]
    rss = noise.precisions @ (partition.targets - f) ** 2
    out = {
        "noise": halfcauchy.cdf(np.exp(cells.log_noise[0])),
        "nu": halfcauchy.cdf(np.exp(cells.log_nu[0])),
        "residuals": chi2.cdf(rss / np.exp(cells.log_noise[0]), f.size),
        "degrees": (np.searchsorted(DEGREES, noise.degrees) + rng.random()) / DEGREES.size,
        "weights": chi2.cdf(
            (cells.weights**2 * np.exp(-cells.log_variances)).sum(), cells.weights.size
        ),
    }
    return out | ranks_of_slopes(noise)


@pytest.mark.parametrize(
    ("alpha", "degrees"), [(1.1, None), (1.6, 3.0), (1.3, np.inf), (2.0, None)]
)
def test_sweeps_leave_the_prior_as_it_is(alpha, degrees, monkeypatch):
    monkeypatch.setattr(RowNoiseChain, "sweeps_a_joint_draw", 2)
    monkeypatch.setattr(row_noise, "_SWEEPS_A_RENEWAL", 1)
    rng, prior = np.random.default_rng(1), Prior(alpha, None, None, degrees)
    X = rng.normal(size=(7, 2))
    # Two rows of one point, with different targets.
    X[1] = X[0]
    partition = FaceCells(X, np.arange(7.0), same_noise=False)
    partition.least_log_noise = -np.inf
    table = {}
    for _ in range(N_REPLICATES):
        chain = new_chain(partition, prior, rng)
        draw_from_prior(chain, prior, rng)
        for start in (0, 0):
            chain.sweep(start - 3, 3)
        for name, value in statistics(chain, rng).items():
            table.setdefault(name, []).append(value)
    if degrees is not None:
        del table["degrees"]
    p = {name: kstest(values, "uniform").pvalue for name, values in table.items()}
    assert min(p.values()) > LEAST_P, p


def test_evidence_is_that_of_all_rows():
    """Rows of one point, weights, precisions: the law of all targets, in full."""
    rng, prior = np.random.default_rng(0), Prior(1.2, 1.0, None, None)
    X = rng.integers(-1, 2, size=(12, 2)) / 2.0
    y = rng.standard_normal(12)
    partition = FaceCells(X, y, rng.uniform(0.5, 2.0, 12), same_noise=False)
    chain = new_chain(partition, prior, rng)
    chain.noise.precisions[:] = rng.gamma(1.0, 1.0, chain.noise.precisions.size)
    chain._count_rows()
    T = partition.features(None)[partition.place]
    free = np.ones(len(chain.features), dtype=bool)
    ours, expected = [], []
    for scale in (0.5, 2.0):
        log_variances = np.log(scale * rng.gamma(1.0, 1.0, free.size))
        for log_noise in (-1.0, 0.3):
            evidence = chain.joint(free, log_variances, chain.y).set_noise(np.exp(log_noise))
            # What the means leave of the targets, and the rows beyond one a point.
            evidence -= 0.5 * chain.problem.within * np.exp(-log_noise)
            evidence -= 0.5 * (y.size - len(partition.rows)) * log_noise
            ours.append(evidence)
            noise = np.diag(np.exp(log_noise) / chain.noise.precisions)
            covariance = T * np.exp(log_variances) @ T.T + noise
            law = stats.multivariate_normal(cov=covariance)
            expected.append(law.logpdf(partition.targets))
    # They differ by what only the precisions have a say in.
    np.testing.assert_allclose(np.diff(ours), np.diff(expected), atol=1e-8)


def test_rows_left_out_by_hand():
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(9, 2)), rng.standard_t(2, 9), rng.uniform(0.5, 2.0, 9)
    model = StableNNRegressor(**QUICK, normalize_X=False).fit(X, y, sample_weight=w)
    cells, draws = model.cells_, model._draws
    rows, targets = cells.rows[cells.place], cells.targets
    got = cells.log_densities_left_out(draws, rows, targets, cells.weights)
    f = draws.weights.astype(float) @ cells.features(None)[cells.place].T
    z = (rows - cells.weights @ rows / cells.weights.sum()).T
    z /= np.sqrt(cells.weights @ z.T**2 / cells.weights.sum())[:, None]
    eta = draws.slopes.astype(float) @ z
    scales = np.exp(0.5 * (draws.log_noise[:, None] + eta / np.sqrt(1 + eta**2 / 9)))
    densities = stats.t.pdf(
        targets, np.minimum(draws.degrees, 1e9)[:, None], f, scales / np.sqrt(cells.weights)
    )
    np.testing.assert_allclose(got, -np.log(np.mean(1 / densities, axis=0)), atol=1e-4)


def test_outliers_leave_the_function_alone():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(60, 2))
    f = 3.0 * (X[:, 0] > 0)
    y = f + 0.2 * rng.standard_normal(60)
    y[::12] += 15.0
    errors = {}
    for likelihood in ("auto", "gaussian"):
        model = StableNNRegressor(likelihood=likelihood, **QUICK).fit(X, y)
        errors[likelihood] = np.abs(model.predict(X) - f).mean()
        assert type(model.cells_) is FaceCells
    assert errors["auto"] < 0.3 < errors["gaussian"]


def test_noise_by_input_is_found():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(120, 2))
    y = np.exp(0.8 * X[:, 0]) * rng.standard_normal(120)
    model = StableNNRegressor(**QUICK).fit(X, y)
    assert model.noise_slopes_draws_.shape == (40, 2)
    assert np.quantile(model.noise_slopes_draws_[:, 0], 0.1) > 0.5
    widths = np.diff(model.predict_interval([[-1.5, 0.0], [1.5, 0.0]]))[:, 0]
    assert widths[1] > 3 * widths[0]
    assert {"degrees_of_freedom", "noise_at_rows"} <= set(model.parameter_r_hat_)


@pytest.mark.parametrize("alpha", [1.1, 2.0])
def test_predictions_agree_with_joint_draws(alpha):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(25, 2))
    y = 2.0 * (X[:, 0] + X[:, 1] > 0) + 0.3 * rng.standard_t(3, 25)
    new = rng.uniform(-2, 2, size=(4, 2))
    model = StableNNRegressor(alpha, extrapolation="posterior", **QUICK).fit(X, y)
    draws = model.sample_y(new, 20_000, random_state=0)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    found = model.predict_distribution(new).cdf(np.quantile(draws, levels, axis=1).T)
    # Draws have an error of 0.0035 at most; forty posterior draws have one level of each law.
    np.testing.assert_allclose(found, np.broadcast_to(levels, found.shape), atol=0.04)


def test_a_row_alone_has_the_prediction_that_it_has_among_others():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(40, 2))
    y = np.exp(X[:, 0]) * rng.standard_normal(40)
    model = StableNNRegressor(**QUICK).fit(X, y)
    new = rng.uniform(-3, 3, size=(20, 2))
    together = model.predict_distribution(new)
    for i in (0, 7, 19):
        alone = model.predict_distribution(new[i : i + 1])
        assert alone.mean()[0] == pytest.approx(together.mean()[i], abs=1e-6)
        assert alone.std()[0] == pytest.approx(together.std()[i], abs=1e-6)


def test_weights_stand_for_copies():
    """A row of weight two in one fit is two rows of one in the other: the same posterior."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(30, 2))
    y = np.round(X[:, 0] + rng.standard_normal(30), 1)
    weights = rng.integers(1, 3, 30)
    once = StableNNRegressor(**QUICK).fit(X, y, sample_weight=weights)
    twice = StableNNRegressor(**QUICK).fit(np.repeat(X, weights, 0), np.repeat(y, weights))
    np.testing.assert_allclose(once.predict(X), twice.predict(X))


def test_warm_start_goes_on():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(20, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(20)
    model = StableNNRegressor(warm_start=True, **QUICK).fit(X, y)
    before = model.noise_variance_draws_
    model.fit(X, y)
    assert not np.isin(before, model.noise_variance_draws_).any()
    y[0] += 1.0
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X, y)

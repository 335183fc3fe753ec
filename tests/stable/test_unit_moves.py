"""Units that move, smooth units, and blocks of units: reversible, calibrated, exact in a limit."""

import pickle

import numpy as np
import pytest
from chains import run_chain
from kernels import erf_kernel, gaussian_process
from scipy import stats
from short_chains import unconverged
from sklearn.gaussian_process.kernels import RBF
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn import StableNNRegressor
from skbayesnn.numerics.stable_laws import sample_log_positive_stable
from skbayesnn.stable.partitions.sampled import BIAS_SCALES, UnitCells
from skbayesnn.stable.samplers import units as moving_units
from skbayesnn.stable.samplers.problem import Prior
from skbayesnn.stable.samplers.unit_blocks import draw_in_blocks
from skbayesnn.stable.samplers.units import propose_planes

SMOOTH = {"erf": erf_kernel, "cosine": RBF()}


def oblique(n, n_features, seed=0):
    """A jump across a plane that every input has a part in."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    jump = X.sum(axis=1) > 0.3 * np.sqrt(n_features)
    return X, np.where(jump, 5.0, 0.0) + 0.5 * rng.normal(size=n)


def short(**parameters):
    defaults = {"n_chains": 2, "n_warmup": 40, "n_posterior_draws": 40, "thin": 1, "n_units": 30}
    return StableNNRegressor(**{"random_state": 0, **defaults, **parameters})


def test_proposals_are_reversible_under_the_prior():
    rng = np.random.default_rng(0)
    old = rng.standard_normal((20_000, 3))
    new = propose_planes(old, rng)
    assert stats.kstest(new[:, 1], "norm").pvalue > 0.01
    # (old, new) has the law of (new, old): functions that are not symmetric tell.
    half = 10_000
    for function in (
        lambda a, b: a[:, 0] - 2 * b[:, 0],
        lambda a, b: a[:, 0] ** 2 * b[:, 1],
        lambda a, b: np.abs(a[:, 2]) - np.abs(b[:, 2] * b[:, 0]),
    ):
        there, back = function(old[:half], new[:half]), function(new[half:], old[half:])
        assert stats.ks_2samp(there, back).pvalue > 0.01
    # Some change one coordinate only, some all.
    n_changed = (old != new).sum(axis=1)
    assert set(n_changed) == {1, 3}


def calibration_ranks(n_units, activation, alpha, n_repeats, n_levels, thin):
    """Ranks of the true f at a row and at a new one, and log σ², over prior data sets."""
    rng = np.random.default_rng(2)
    ranks = np.empty((n_repeats, 3), dtype=int)
    for repeat in range(n_repeats):
        X, new = rng.normal(size=(6, 2)), rng.normal(size=(1, 2))
        cells = UnitCells(X, n_units=n_units, activation=activation, bias_scale=0.7, moving=True)
        planes = cells.draw_planes(rng)
        log_noise = np.log(np.abs(rng.standard_cauchy()))
        t = [sample_log_positive_stable(alpha / 2, rng) for _ in range(n_units)]
        weights = np.exp(cells.log_masses / alpha + 0.5 * np.array(t))
        weights *= rng.standard_normal(n_units)
        f = cells.features(planes) @ weights
        f_new = cells.values(new, planes) @ weights
        cells.y = f + np.exp(0.5 * log_noise) * rng.standard_normal(6)
        prior = Prior(alpha, 1.0, None)
        record = run_chain(cells, prior, np.array([0]), n_levels - 1, thin, repeat, 6 * thin)
        log_noises = record.log_noise[thin - 1 :: thin]
        drawn, _ = cells.predict(cells.draws_of([record]), new)
        kept = np.column_stack([record.f[thin - 1 :: thin, 0], drawn[0], log_noises])
        ranks[repeat] = (kept < [f[0], f_new[0], log_noise]).sum(axis=0)
    return ranks


@pytest.mark.long
@pytest.mark.parametrize(("n_units", "activation", "alpha"), [(8, "erf", 1.6), (2, "sign", 1.2)])
def test_simulation_based_calibration(n_units, activation, alpha):
    """In blocks of units, and one by one."""
    for values in calibration_ranks(n_units, activation, alpha, 60, 6, 12).T:
        assert stats.chisquare(np.bincount(values, minlength=6)).pvalue > 0.002


def test_a_block_is_what_the_dense_algebra_says():
    rng = np.random.default_rng(0)
    n, n_units = 12, 80
    features, proposals = rng.standard_normal((2, n_units, n))
    y = 2.0 * features[3] + 0.3 * rng.standard_normal(n)
    prior = Prior(1.3, 1.0, np.log(0.09))
    cells = UnitCells(rng.standard_normal((n, 2)), y, n_units=n_units)
    problem, state = cells.problem(1.3, 0.0), cells.start(prior, rng)

    def dense():
        return np.linalg.inv(
            (features.T * np.exp(state.log_variances)) @ features + 0.09 * np.eye(n)
        )

    inverse, before = dense(), features.copy()
    units = rng.permutation(n_units)
    old = state.log_variances.copy()
    law = y, problem, state, float(n), rng
    accepted = draw_in_blocks(units, features, proposals, inverse, *law)
    np.testing.assert_allclose(inverse, dense(), rtol=1e-6, atol=1e-9)
    assert 0.02 < accepted.mean() < 0.98
    np.testing.assert_array_equal(features[units[accepted]], proposals[accepted])
    np.testing.assert_array_equal(features[units[~accepted]], before[units[~accepted]])
    assert (state.log_variances != old).mean() > 0.5


@unconverged
@pytest.mark.parametrize("rows_in_blocks", [1500, 0])
def test_moving_units_agree_with_the_exact_cells_of_the_line(rows_in_blocks, monkeypatch):
    """Both ways of moving, with enough units that the law is that of infinitely many."""
    monkeypatch.setattr(moving_units, "_MAX_ROWS_IN_BLOCKS", rows_in_blocks)
    rng = np.random.default_rng(0)
    x = np.linspace(-2, 2, 15)[:, None]
    y = np.where(x[:, 0] > 0.3, 1.0, -1.0) + 0.2 * rng.standard_normal(15)
    options = {
        "alpha": 1.1,
        "noise_variance": 0.04,
        "normalize_X": False,
        "normalize_y": False,
        "random_state": 0,
    }
    exact = StableNNRegressor(**options).fit(x, y)
    moving = StableNNRegressor(
        move_units=True,
        n_units=150,
        n_chains=4,
        n_warmup=100,
        n_posterior_draws=320,
        thin=3,
        **options,
    ).fit(x, y)
    assert moving.r_hat_.max() < 1.05
    new = np.array([[-2.4], [-1.1], [0.1], [0.4], [1.5], [2.3]])
    levels = np.array([0.1, 0.5, 0.9])
    quantiles = exact.predict_quantiles(new, levels)
    predictive = moving.predict_distribution(new)
    reached = np.column_stack([predictive.cdf(q) for q in quantiles.T])
    # Of 320 draws some 300 are independent: a standard error of at most 0.03. Over four
    # seeds the largest difference was 0.07.
    np.testing.assert_allclose(reached, np.tile(levels, (6, 1)), atol=0.1)


@pytest.mark.parametrize("activation", SMOOTH)
def test_smooth_units_tend_to_their_kernel(activation):
    X = np.unique(np.random.default_rng(0).normal(size=(10, 3)), axis=0)
    bias_scale = {"erf": 1.7, "cosine": BIAS_SCALES["cosine"]}[activation]
    cells = UnitCells(X, n_units=200_000, activation=activation, bias_scale=bias_scale)
    features = cells.features(cells.draw_planes(np.random.default_rng(1)))
    expected = erf_kernel(X, X, 1.7) if activation == "erf" else RBF()(X)
    # The standard error of a mean of 200,000 products of size one is 0.0023 or less.
    np.testing.assert_allclose(features @ features.T / 200_000, expected, atol=4 * 0.0023)


@unconverged
@pytest.mark.parametrize("activation", SMOOTH)
def test_smooth_units_at_alpha_two_are_the_gaussian_process(activation):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(30, 3)), rng.normal(size=(10, 3))
    y = X[:, 0] + 0.2 * rng.normal(size=30)
    model = short(
        alpha=2.0,
        activation=activation,
        noise_variance=0.04,
        normalize_X=False,
        normalize_y=False,
        n_units=10_000,
        n_warmup=0,
        n_posterior_draws=200,
    ).fit(X, y)
    predictive = model.predict_distribution(new)
    mean, var = gaussian_process(X, y, new, 0.04, kernel=SMOOTH[activation])
    # 200 draws leave an error of sd/14; the kernel's own is below 0.01.
    assert np.abs((predictive.mean() - mean) / np.sqrt(var / 200)).max() < 4.5
    np.testing.assert_allclose(predictive.var(), var + 0.04, rtol=0.4)


@unconverged
def test_moving_units_find_what_frozen_ones_miss():
    X, y = oblique(240, 5)
    errors = {}
    for moving in (True, False):
        model = short(
            cells="sampled", move_units=moving, n_units=200, n_warmup=150, n_posterior_draws=80
        )
        model.fit(X[:140], y[:140])
        errors[moving] = model.predict_distribution(X[140:]).crps(y[140:]).mean()
    # In six seeds the ratio lay between 0.45 and 0.73.
    assert errors[True] < 0.8 * errors[False]


# Chains are short, and inputs not scaled.
@unconverged
@pytest.mark.filterwarnings("ignore:The rows of X are nearly the same")
@parametrize_with_checks(
    [short(alpha=1.8, activation="erf", move_units=True, n_warmup=60, n_units=40)]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@unconverged
@pytest.mark.parametrize("activation", ["sign", "erf", "cosine"])
def test_moving_units_in_the_estimator(activation):
    X, y = oblique(30, 3)
    options = {"activation": activation, "move_units": True, "alpha": "sample", "nu": "sample"}
    model = short(**options).fit(X, y)
    expected = model.predict_quantiles(X)
    again = short(n_jobs=2, **options).fit(X, y)
    np.testing.assert_array_equal(again.predict_quantiles(X), expected)
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(stored.predict_quantiles(X), expected)
    # 40 draws of 30 units with 3 inputs, 4 bytes each, and the rest.
    assert len(pickle.dumps(model)) < 40 * 30 * 5 * 4 + 25_000
    # Forty samples of forty draws are those draws, with noise.
    samples = model.sample_y(X, 40, random_state=1)
    z = (samples - model.predict_distribution(X).mean()[:, None]) / samples.std()
    assert np.abs(z.mean()) < 0.2
    assert len(np.unique(model.alpha_draws_)) > 1


@unconverged
def test_scales_are_found_with_that_of_the_biases():
    X, y = oblique(40, 3)
    model = short(activation="erf", input_scale="evidence").fit(X, y)
    assert model.bias_scale_ != 1.0
    assert model.cells_.bias_scale == model.bias_scale_
    assert short().fit(X, y).bias_scale_ == 1.0
    model = short(activation="cosine", input_scale="evidence").fit(X, y)
    assert model.cells_.bias_scale == model.bias_scale_ == np.pi


@unconverged
@pytest.mark.parametrize("options", [{"activation": "erf"}, {"move_units": True}])
def test_units_that_are_no_frozen_signs_are_sampled(options):
    X, y = oblique(20, 1)
    assert isinstance(short(**options).fit(X, y).cells_, UnitCells)
    with pytest.raises(ValueError, match="cells='line' has the exact cells of sign units"):
        short(cells="line", **options).fit(X, y)


def test_what_cannot_be():
    X, y = oblique(20, 3)
    with pytest.raises(ValueError, match="'metropolis' does not move hyperplanes"):
        short(sampler="metropolis", move_units=True).fit(X, y)
    with pytest.raises(ValueError, match=r"'activation' .* must be one of {'sign', 'erf', 'cos"):
        short(activation="relu").fit(X, y)
    with pytest.raises(ValueError, match=r"'move_units' .* must be one of {True, False}"):
        short(move_units=1).fit(X, y)


@unconverged
def test_units_that_are_zero_everywhere_do_no_harm():
    """erf(b + w · x) without a slope: inputs and biases of scales near zero."""
    X, y = oblique(20, 3)
    options = {"n_units": 10, "activation": "erf", "bias_scale": 1e-170, "moving": True}
    cells = UnitCells(1e-170 * X, y, **options)
    record = run_chain(cells, Prior(1.2, 1.0, None), np.arange(20), 20, 1, 0, 20)
    assert np.isfinite(record.f).all()
    assert np.isfinite(record.weights).all()

"""Line cells and their Kalman filter against dense linear algebra and closed forms."""

import numpy as np
import pytest
from chains import draws_at, run_chain
from kernels import arc_cosine_kernel, gaussian_process
from scipy.special import ndtr

from skbayesnn.numerics.jit import kernel
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.stable_laws import log_densities
from skbayesnn.stable.diagnostics import effective_sample_size
from skbayesnn.stable.partitions.line import LineCells
from skbayesnn.stable.samplers import line
from skbayesnn.stable.samplers.problem import Prior

draw_function = kernel(line.draw_function)
function_moments = kernel(line.function_moments)
move_log_noise = kernel(line.move_log_noise)


def sign_matrix(n):
    """T, from the definition: f_j - f_{j-1} = 2 w_j and f_0 + f_{n-1} = 2 w_0."""
    signs = np.ones((n, n))
    for j in range(1, n):
        signs[:j, j] = -1.0
    return signs


def dense_posterior(y, noise, log_variances):
    """Mean and covariance of f given y, by inversion of the n x n matrix."""
    signs = sign_matrix(y.size)
    prior = signs @ np.diag(np.exp(log_variances)) @ signs.T
    gain = prior @ np.linalg.inv(prior + np.diag(noise))
    return gain @ y, prior - gain @ prior


def random_case(n, seed):
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal(n),
        np.exp(rng.normal(-1, 0.5, n)),
        rng.normal(-1, 1.5, n),
    )


@pytest.mark.parametrize("n", [1, 2, 3, 10, 60])
def test_moments_are_those_of_the_dense_posterior(n):
    y, noise, log_variances = random_case(n, n)
    mean, var, lag = function_moments(y, noise, 4 * np.exp(log_variances))
    dense_mean, cov = dense_posterior(y, noise, log_variances)
    np.testing.assert_allclose(mean, dense_mean, atol=1e-10)
    np.testing.assert_allclose(var, np.diag(cov), atol=1e-10)
    expected = [cov[j - 1, j] for j in range(n)]
    np.testing.assert_allclose(lag, expected, atol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_draws_have_the_dense_moments(n):
    y, noise, log_variances = random_case(n, n + 20)
    mean, cov = dense_posterior(y, noise, log_variances)
    rng = np.random.default_rng(0)
    draws = np.empty((20000, n))
    for row in draws:
        draw_function(y, noise, 4 * np.exp(log_variances), rng, row)
    z = (draws.mean(axis=0) - mean) / np.sqrt(np.diag(cov) / len(draws))
    assert np.abs(z).max() < 4.5
    # The relative error of a sample covariance is about √(2/20000) of the variances.
    scale = np.sqrt(np.outer(np.diag(cov), np.diag(cov)))
    assert np.abs((np.cov(draws.T).reshape(n, n) - cov) / scale).max() < 0.05


def test_extreme_variances_stay_finite():
    y, noise, _ = random_case(6, 3)
    steps = np.array([0.0, np.inf, 0.0, 4.0, 1e300, 1e-300])
    mean, var, lag = function_moments(y, noise, steps)
    assert np.isfinite(mean).all()
    assert np.isfinite(lag).all()
    assert (var >= 0).all()
    # Variances of zero tie the inputs on both sides together.
    assert mean[1] == pytest.approx(mean[2], abs=1e-12)
    assert mean[0] == pytest.approx(-mean[5], abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_masses_are_those_of_simulated_units(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.normal(scale=2, size=9))
    masses = np.exp(line.line_log_masses(x))
    assert masses.sum() == pytest.approx(1, abs=1e-14)
    b, w = rng.standard_normal((2, 200_000))
    positive = b + np.outer(x, w) > 0
    changes = positive[1:] != positive[:-1]
    frequency = np.concatenate([[1 - changes.any(axis=0).mean()], changes.mean(axis=1)])
    error = np.sqrt(masses * (1 - masses) / b.size)
    assert np.abs((frequency - masses) / error).max() < 4


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8, 1e150])
def test_masses_at_any_scale(scale):
    x = scale * np.array([-2.0, -1.0, 0.5, 3.0])
    log_masses = line.line_log_masses(x)
    assert np.exp(log_masses).sum() == pytest.approx(1, abs=1e-14)
    # Against the arctangent where it does not cancel.
    if scale <= 1:
        expected = np.diff(np.arctan(x)) / np.pi
        np.testing.assert_allclose(np.exp(log_masses[1:]), expected, rtol=1e-12)


def test_covariance_is_the_arc_cosine_kernel():
    x = np.array([-3.0, -0.4, 0.1, 0.15, 2.0, 40.0])
    signs = sign_matrix(x.size)
    K = signs @ np.diag(np.exp(line.line_log_masses(x))) @ signs.T
    np.testing.assert_allclose(K, arc_cosine_kernel(x[:, None], x[:, None], 1.0), atol=1e-14)


@pytest.mark.parametrize("inputs", [[0.3], [-1.0, 2.0], [-2.0, -1.5, 0.0, 0.2, 3.0]])
def test_gaussian_limit_is_the_gaussian_process(inputs):
    x = np.array(inputs)
    y = np.sin(3 * x) + x
    prior = Prior(2.0, 1.7, np.log(0.05))
    cells = LineCells(x[:, None], y)
    new = np.concatenate([np.linspace(-5, 5, 41), x, [-1e6, 1e6, 0.0]])[:, None]
    mean, var = cells.predict(draws_at(prior, 1, log_scales=np.zeros((1, x.size))), new)
    expected, expected_var = gaussian_process(x[:, None], y, new, 0.05, 1.7)
    np.testing.assert_allclose(mean[:, 0], expected, atol=1e-8)
    np.testing.assert_allclose(var[:, 0], expected_var, atol=1e-8)


def test_predictions_at_the_inputs_are_the_moments():
    rng = spawn_generators(0, 1)[0]
    x = np.sort(rng.normal(size=8))
    y = rng.normal(size=8)
    cells = LineCells(x[:, None], y)
    log_scales = rng.normal(size=(3, 8)).astype(np.float32)
    log_noise = np.array([-2.0, -1.0, 0.0])
    draws = draws_at(Prior(1.1, 1.0, 0.0), 3, log_scales=log_scales, log_noise=log_noise)
    mean, var = cells.predict(draws, x[:, None])
    for d in range(3):
        noise = np.full(8, np.exp(log_noise[d]))
        expected, expected_var, _ = function_moments(
            y, noise, 4 * np.exp(cells.problem(1.1, 0.0).log_units + log_scales[d])
        )
        np.testing.assert_allclose(mean[:, d], expected, atol=1e-12)
        np.testing.assert_allclose(var[:, d], expected_var, atol=1e-12)


def test_the_evidence_is_finite_however_far_the_steps():
    """Two pieces that know nothing of each other: a step of 1e60 is as good as any above."""
    rng = np.random.default_rng(0)
    y, counts = rng.normal(size=8), np.ones(8)

    def change(step):
        steps = np.full(8, 0.3)
        steps[[2, 5]] = step
        assert step < np.inf
        values = [line.log_evidence(y, counts, 0.5, v, y[0], steps) for v in (-1.0, -1.5)]
        return values[1] - values[0]

    largest = 4 * np.exp(line.MAX_LOG_VARIANCE)
    assert change(largest) == pytest.approx(change(1e60), rel=1e-9)
    # A chain there still moves its noise: f_0 far from y keeps all else out of its way.
    cells, prior = LineCells(np.arange(8.0)[:, None], y), Prior(1.1, 1.0, None)
    state = cells.start(prior, rng)
    state.log_variances[:] = 720.0
    steps = 4 * np.exp(np.minimum(state.log_variances, line.MAX_LOG_VARIANCE))
    moved = [move_log_noise(y, counts, 0.5, 8.0, -2.0, y[0], steps, rng) for _ in range(100)]
    assert np.sum(np.array(moved) != -2.0) > 10


@pytest.mark.parametrize("alpha", [0.8, 1.6])
def test_one_distinct_row_has_the_law_of_its_integral(alpha):
    """f_0 and log σ² of five targets at one input, against a sum over log s and log σ²."""
    y, counts, within = 0.7, 5.0, 0.4
    cells, prior = (
        LineCells(np.zeros((1, 1)), np.array([y]), np.array([counts])),
        Prior(alpha, 1.0, None),
    )
    cells.within = within
    record = run_chain(cells, prior, np.zeros(1, int), 30_000, 1, 0, 1000)
    table = cells.problem(alpha, 0.0).table
    t = np.linspace(table.t_left, table.t_left + 60, 1500)
    x = np.linspace(np.log(1e-10), 25, 1200)
    noise, v = np.exp(x)[:, None], np.exp(t)
    log_weight = log_densities(t, table) - 0.5 * (
        np.log(v + noise / counts) + y**2 / (v + noise / counts)
    )
    log_weight = log_weight - 0.5 * (within / noise + (counts - 1) * np.log(noise))
    log_weight = log_weight + (x - np.log1p(np.exp(2 * x)))[:, None]
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    cdf = np.cumsum(weight.sum(axis=1))
    effective = effective_sample_size(np.column_stack([record.log_noise, record.f])[None])
    for level in (0.1, 0.3, 0.5, 0.7, 0.9):
        share = np.mean(record.log_noise < np.interp(level, cdf, x))
        error = np.sqrt(level * (1 - level) / effective[0])
        assert abs(share - level) < 4 * error
    # f_0 given both is Gaussian.
    keep = v / (v + noise / counts)
    for at in (0.0, 0.4, 0.7, 1.0):
        z = (at - keep * y) / np.sqrt(keep * noise / counts)
        expected = (weight * ndtr(z)).sum()
        error = np.sqrt(expected * (1 - expected) / effective[1])
        assert abs(np.mean(record.f[:, 0] < at) - expected) < 4 * error

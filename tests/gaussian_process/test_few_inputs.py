"""Inputs that matter, found one at a time, and the process of those alone."""

import numpy as np
import pytest
from scipy.linalg import LinAlgError
from scipy.stats import multivariate_normal

from skbayesnn.gaussian_process import few_inputs as module
from skbayesnn.gaussian_process import stand_ins
from skbayesnn.gaussian_process.evidence import (
    LENGTH_BOUNDS,
    relevance_scale,
    search,
    settings_prior,
    start_of,
)
from skbayesnn.gaussian_process.few_inputs import FewInputs, fast_along_one, few_inputs, gains
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.training import process as of_process
from skbayesnn.training.beside import ProcessBeside
from skbayesnn.training.process import LEAST_LOG_NOISE, GaussianProcess, processes


def table(seed, n=200, n_inputs=60):
    """Two inputs matter, and the second one only together with the first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_inputs))
    f = np.cos(2 * X[:, 0]) + np.sin(X[:, 0]) * np.cos(2 * X[:, 1])
    return X, f + 0.2 * rng.normal(size=n), rng


def linear(seed, n=60, n_inputs=90):
    """Three inputs matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_inputs))
    return X, X[:, 0] - X[:, 30] + X[:, 60] + 0.3 * rng.normal(size=n), rng


def plain(rows):
    """The law of a network that knows nothing, of so many rows."""
    return PredictiveMixture([1.0], np.zeros((rows, 1)), np.full((rows, 1), 3.0))


@pytest.mark.parametrize("chosen", [[], [4], [0, 2]])
def test_gains_are_log_densities(rng, chosen):
    X, Y = rng.normal(size=(20, 5)), rng.normal(size=(20, 2))
    settings = np.concatenate([rng.normal(size=len(chosen)), [0.3, -1.0]])
    candidates = [(j,) for j in range(5) if j not in chosen] + [(1, 3)]
    found = gains(X, Y, np.ones(20), chosen, settings, 0.8, candidates)
    for more, gain in zip(candidates, found, strict=True):
        scaled = X[:, [*chosen, *more]] / np.exp([*settings[:-2], *[0.8] * len(more)])
        squares = np.square(scaled[:, None] - scaled).sum(axis=-1)
        C = np.exp(0.3 - 0.5 * squares) + np.exp(-1.0) * np.eye(20)
        densities = multivariate_normal(np.zeros(20), C).logpdf(Y.T)
        density = densities.sum() + 20 * np.log(2 * np.pi)
        assert gain == pytest.approx(density, rel=1e-8)


def test_a_weight_is_a_number_of_equal_rows(rng):
    X, Y = rng.normal(size=(20, 5)), rng.normal(size=(20, 1))
    counts, settings = rng.integers(1, 4, size=20), np.array([0.0, -1.0])
    many = np.repeat(np.arange(20), counts)
    candidates = [(j,) for j in range(5)]
    one = gains(X, Y, counts.astype(float), [], settings, 0.8, candidates)
    other = gains(X[many], Y[many], np.ones(len(many)), [], settings, 0.8, candidates)
    # But for what repeats give whatever the inputs.
    np.testing.assert_allclose(one - one[0], other - other[0], atol=1e-6)


def test_the_prior_is_that_of_the_candidates(rng):
    settings = rng.normal(size=5)
    (among,) = FewInputs([3, 7, 8], settings).starts(20)
    # At the others' most probable length scale they cost nothing.
    scale = relevance_scale(20)
    own = settings_prior(settings, 3, scale)[0]
    assert settings_prior(among, 20, scale)[0] == pytest.approx(own)
    np.testing.assert_array_equal(among[[3, 7, 8, 20, 21]], settings)


def test_likely_pairs_are_those_of_the_largest_correlation(rng):
    """By brute force: the correlation, over pairs of rows, of kernel and products of residuals."""
    X, Y, weights = rng.normal(size=(15, 6)), rng.normal(size=(15, 2)), rng.uniform(1, 2, 15)
    settings = np.array([0.2, 0.3, -1.0])
    pairs = module.likely_pairs(X, Y, weights, [5], settings, 0.4, [0, 1, 2, 3, 4])
    own = np.exp(0.3 - 0.5 * np.square((X[:, 5:] - X[:, 5]) * np.exp(-0.2)))
    left = np.linalg.solve(own + np.diag(np.exp(-1.0) / weights), Y)
    rows = np.tril_indices(15, -1)

    def correlation(pair):
        squares = sum(np.square(X[:, [j]] - X[:, j]) for j in pair)
        kernel = own * np.exp(-0.5 * squares * np.exp(-0.8))
        return np.corrcoef(kernel[rows], (left @ left.T)[rows])[0, 1]

    scores = [correlation(pair) for pair in pairs]
    assert len(set(pairs)) == 10
    np.testing.assert_array_equal(np.argsort(scores)[::-1], np.arange(10))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_of_many_inputs(rng, n):
    X, z = rng.normal(size=(n, 30)), rng.normal(size=(n, 1))
    assert len(few_inputs(X, z, np.ones(n), LEAST_LOG_NOISE, 7).inputs) <= 7


@pytest.mark.parametrize("seed", range(3))
def test_two_inputs_that_matter_only_together(seed):
    """A product, of which each factor alone says nothing, beside constant columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 40))
    X[:, 30:] = 0.0
    z = X[:, 7] * X[:, 23] + 0.1 * rng.normal(size=60)
    z = ((z - z.mean()) / z.std())[:, None]
    assert sorted(few_inputs(X, z, np.ones(60), LEAST_LOG_NOISE).inputs) == [7, 23]


@pytest.mark.parametrize("seed", range(3))
def test_a_fast_oscillation_along_one_of_four_inputs(seed):
    """Twenty periods in 200 rows, which long length scales take for noise of 0.6."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-np.sqrt(3), np.sqrt(3), size=(200, 4))
    z = np.sin(20 * np.pi * X[:, 2] / np.sqrt(3)) + 0.2 * rng.normal(size=200)
    z = ((z - z.mean()) / z.std())[:, None]
    rows = X, z, np.ones(200)
    (start,) = fast_along_one(*rows)
    assert np.argmin(start[:4]) == 2
    found = search(start, *rows, 40, LEAST_LOG_NOISE)
    other = search(start_of(4, 1.0, 0.1), *rows, 40, LEAST_LOG_NOISE)
    assert np.exp(found.x[-1]) < 0.2 < np.exp(other.x[-1])
    assert found.fun < other.fun - 0.3
    process = GaussianProcess(X, z[:, 0], np.ones(200), rng)
    assert np.exp(process.settings[-1]) < 0.2


@pytest.mark.parametrize("seed", range(3))
def test_the_evidence_is_that_from_the_inputs_that_matter(seed):
    """Whatever all length scales began with, the best was 120 to 150 nats below.

    An input without effect may explain a nat of noise, from one start and not from another.
    """
    X, y, rng = table(seed)
    z = ((y - y.mean()) / y.std())[:, None]

    def log_posterior(start, max_iter):
        found = search(start, X, z, np.ones(len(y)), max_iter, LEAST_LOG_NOISE)
        return -len(y) * found.fun

    start = start_of(60, np.sqrt(60), 0.1)
    start[:2] = 0.0
    process = GaussianProcess(X, y, np.ones(len(y)), rng)
    assert process.law is None
    assert log_posterior(process.settings, 0) > log_posterior(start, 200) - 2.0
    assert set(process.few.inputs[:2]) == {0, 1}


def test_a_process_of_few_inputs_is_one_of_their_columns():
    X, y, rng = linear(0)
    whole, few = processes(X, y, np.ones(60), rng)
    assert sorted(few.inputs) == [0, 30, 60]
    assert len(whole.settings) == 92
    assert len(few.settings) == 5
    changed = X + rng.normal(size=X.shape)
    changed[:, few.inputs] = X[:, few.inputs]
    np.testing.assert_array_equal(few(changed).mean(), few(X).mean())
    seeds = np.random.default_rng(1), np.random.default_rng(1)
    np.testing.assert_array_equal(few.draws(changed, 2, seeds[0]), few.draws(X, 2, seeds[1]))


def test_where_many_inputs_matter_there_is_one_process(rng):
    X = rng.normal(size=(150, 4))
    y = np.sin(X).sum(axis=1) + 0.1 * rng.normal(size=150)
    assert len(processes(X, y, np.ones(150), rng)) == 1


def test_held_out_rows_choose_the_process_of_few_inputs():
    X, y, rng = linear(1)
    rows, other = np.arange(40), np.arange(40, 60)
    found = ProcessBeside(X, y[:, None], np.ones(60), rows, other, [plain(20)], rng)
    assert len(found.candidates[0][0][0]) == 2
    assert len(found.taken[0][0].process.settings) == 5
    new = rng.normal(size=(500, 90))
    truth = new[:, 0] - new[:, 30] + new[:, 60] + 0.3 * rng.normal(size=500)
    chosen, whole = (
        each(new).logpdf(truth).mean()
        for each in (found.taken[0][0].process, found.candidates[0][0][0][0][0])
    )
    # The process of all inputs takes noise for a function of ninety.
    assert chosen > whole + 0.1


def test_held_out_rows_choose_all_inputs_where_few_predict_worse(monkeypatch):
    X, y, rng = linear(2)
    wrong = FewInputs([5], np.array([0.5, 0.0, -1.0]))
    monkeypatch.setattr(of_process, "few_inputs", lambda *args: wrong)
    rows, other = np.arange(40), np.arange(40, 60)
    found = ProcessBeside(X, y[:, None], np.ones(60), rows, other, [plain(20)], rng)
    assert len(found.candidates[0][0][0]) == 2
    assert len(found.taken[0][0].process.settings) == 92


def test_a_pool_agrees_where_one_network_has_no_process_of_few(monkeypatch):
    X, y, rng = linear(3)
    several = []
    for i in range(2):
        other = np.arange(20) + 20 * i
        rows = np.setdiff1d(np.arange(60), other)
        if i:
            monkeypatch.setattr(of_process, "FEW", 0.0)
        several.append(ProcessBeside(X, y[:, None], np.ones(60), rows, other, [plain(20)], rng))
    ProcessBeside.agree(several)
    assert [len(each.taken[0][0].process.settings) for each in several] == [5, 92]
    assert several[0].taken[0][0].part == several[1].taken[0][0].part


def test_a_singular_covariance_ends_the_search(monkeypatch, rng):
    def fails(covariance):
        raise LinAlgError

    X = rng.normal(size=(10, 3))
    monkeypatch.setattr(module.np.linalg, "cholesky", fails)
    rows = X, X[:, :1], np.ones(10)
    assert few_inputs(*rows, LEAST_LOG_NOISE).inputs == []
    assert fast_along_one(*rows) == []


def test_the_law_of_the_noise_is_learned_with_the_prior_of_all_inputs(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 40))
    y = np.sin(2 * X[:, 7]) + 0.1 * rng.standard_t(1.5, size=200)
    asked = []

    def spy(*args):
        asked.append((args[1].shape[1], args[6]))
        return search(*args)

    monkeypatch.setattr(stand_ins, "search", spy)
    _, few = processes(X, y, np.ones(200), rng)
    assert 7 in few.inputs
    assert few.law is not None
    assert set(asked) == {(40, 40), (len(few.inputs), 40)}


def test_inputs_without_effect_do_not_explain_noise():
    """Noise that is found with 98 inputs of no effect, over that without them.

    At a scale of one over their number (a prior of before), the mean of these four is 0.80.
    """
    ratios, lengths = [], np.full(100, -np.log(relevance_scale(100)))
    lengths[:2] = 0.5
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, noise = rng.normal(size=(200, 100)), 0.5 * rng.normal(size=200)
        y = np.sin(X[:, 0]) + X[:, 1] + noise
        z = ((y - y.mean()) / y.std())[:, None]
        log_noises = [
            search(np.append(lengths[:n_inputs], [0.0, np.log(0.1)]), X[:, :n_inputs], z,
                   np.ones(200), 100, LEAST_LOG_NOISE).x[-1]
            for n_inputs in (100, 2)
        ]  # fmt: skip
        ratios.append(np.exp(log_noises[0] - log_noises[1]))
    assert 0.87 < np.mean(ratios) < 1.1


@pytest.mark.parametrize("n_inputs", [1, 20, 403, 404, 10_000])
def test_a_search_can_reach_the_most_probable_length_scale(n_inputs):
    """Beyond it, the prior of thousands of inputs would look like a loss that diverges."""
    low, high = LENGTH_BOUNDS
    assert low < -np.log(relevance_scale(n_inputs)) <= high

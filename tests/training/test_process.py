"""A Gaussian process beside a network: closed forms, its part, and what becomes of it."""

import pickle

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import LinAlgError
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal, norm
from scipy.stats import t as student

from skbayesnn.gaussian_process import evidence
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.training import process as module
from skbayesnn.training.process import (
    GaussianProcess,
    ProcessBeside,
    expected_part,
    log_chances,
    pooled,
)


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(40, 2))
    return X, 5 + 3 * np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=40)


def covariance(settings, X, other):
    squares = cdist(X / np.exp(settings[:-2]), other / np.exp(settings[:-2]), "sqeuclidean")
    return np.exp(settings[-2] - 0.5 * squares)


def test_moments_are_those_of_the_closed_form(rows, rng):
    X, y = rows
    process = GaussianProcess(X, y, np.ones(40), rng)
    X_new = rng.normal(size=(5, 2))
    C = covariance(process.settings, X, X) + np.exp(process.settings[-1]) * np.eye(40)
    k = covariance(process.settings, X_new, X)
    mean = y.mean() + k @ np.linalg.solve(C, y - y.mean())
    function = np.exp(process.settings[-2]) - np.diag(k @ np.linalg.solve(C, k.T))
    law = process(X_new)
    np.testing.assert_allclose(law.mean(), mean, rtol=1e-8)
    expected = y.var() * (function + np.exp(process.settings[-1]))
    np.testing.assert_allclose(law.std() ** 2, expected, rtol=1e-7)


def test_settings_are_the_most_probable(rows, rng):
    X, y = rows
    settings = GaussianProcess(X, y, np.ones(40), rng).settings
    z = (y - y.mean()) / y.std()

    def log_posterior(s):
        C = covariance(s, X, X) + np.exp(s[-1]) * np.eye(40)
        prior = -1.5 * np.log(np.cosh(s[:-2] - np.log(2))).sum()
        prior += norm.logpdf(s[-2:], [0.0, -2.0], 3.0).sum()
        return multivariate_normal(np.zeros(40), C).logpdf(z) + prior

    for i in range(4):
        step = 1e-3 * np.eye(4)[i]
        slope = (log_posterior(settings + step) - log_posterior(settings - step)) / 2e-3
        assert abs(slope) < 0.02


@pytest.mark.parametrize("seed", [10, 17])
def test_two_inputs_are_found_among_a_hundred(seed):
    """A race of the starts on a hundred rows had lost both: it chose the wrong one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(230, 100))
    y = np.sin(1.5 * X[:, 0]) * np.cos(X[:, 1]) + 0.3 * rng.normal(size=230)
    process = GaussianProcess(X, y, np.ones(230), np.random.default_rng(0))
    assert set(np.argsort(process.settings[:100])[:2]) == {0, 1}


def test_a_weight_is_a_number_of_equal_rows(rows, rng):
    X, y = rows
    weights = rng.integers(1, 4, size=40)
    many = np.repeat(np.arange(40), weights)
    one = GaussianProcess(X, y, weights.astype(float), rng)
    other = GaussianProcess(X[many], y[many], np.ones(len(many)), rng)
    np.testing.assert_allclose(one.settings, other.settings, atol=0.02)
    other.settings = one.settings
    X_new = rng.normal(size=(5, 2))
    for a, b in ((one(X_new).mean(), other(X_new).mean()), (one(X_new).std(), other(X_new).std())):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.fixture(scope="module")
def grown():
    """A process whose noise grows along the input, from 0.07 to 0.6, and has Student's tails."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.5, 1.5, (300, 1))
    y = np.sin(2 * X[:, 0]) + 0.2 * np.exp(0.7 * X[:, 0]) * rng.standard_t(5, 300)
    return GaussianProcess(X, y, np.ones(300), rng)


def test_noise_that_grows_is_learned(grown):
    X = np.array([[-1.3], [1.3]])
    low, high = np.transpose(grown(X).interval(0.5))
    # The rows of half of the range have a standard error of 7 % of their deviation.
    expected = 2 * student.ppf(0.75, 5) * 0.2 * np.exp(0.7 * X[:, 0])
    np.testing.assert_allclose(high - low, expected, rtol=0.25)


def test_draws_have_the_law_of_such_noise(grown, rng):
    X = np.array([[-1.0], [0.0], [1.2]])
    draws = grown.draws(X, 5000, rng)
    for i in range(3):
        law = grown(X[i : i + 1])
        below = np.array([law.cdf(value)[0] for value in np.quantile(draws[i], [0.05, 0.5, 0.95])])
        # Four standard errors of a share of 5000.
        np.testing.assert_allclose(below, [0.05, 0.5, 0.95], atol=4 * 0.5 / np.sqrt(5000))


def test_a_weight_is_a_number_of_equal_rows_with_such_noise(rng):
    X = rng.uniform(-1.5, 1.5, (80, 1))
    y = np.sin(2 * X[:, 0]) + 0.2 * np.exp(X[:, 0]) * rng.standard_t(3, 80)
    counts = rng.integers(1, 3, 80)
    weighted = GaussianProcess(X, y, counts.astype(float), np.random.default_rng(0))
    many = np.repeat(np.arange(80), counts)
    repeated = GaussianProcess(X[many], y[many], np.ones(len(many)), np.random.default_rng(0))
    assert weighted.law is not None
    at = np.linspace(-1.5, 1.5, 7)[:, None]
    np.testing.assert_allclose(weighted(at).mean(), repeated(at).mean(), atol=0.02)
    np.testing.assert_allclose(weighted(at).std(), repeated(at).std(), rtol=0.05)


def test_draws_have_the_moments_of_the_joint_law(rows, rng):
    X, y = rows
    process = GaussianProcess(X, y, np.ones(40), rng)
    X_new = np.array([[3.0, 0.0], [3.2, 0.0], [-3.0, 1.0]])
    draws = process.draws(X_new, 20_000, rng)
    noise = np.exp(process.settings[-1])
    C = covariance(process.settings, X, X) + noise * np.eye(40)
    k = covariance(process.settings, X_new, X)
    expected = covariance(process.settings, X_new, X_new) - k @ np.linalg.solve(C, k.T)
    expected = y.var() * (expected + noise * np.eye(3))
    np.testing.assert_allclose(np.cov(draws), expected, atol=0.05 * expected.max())
    np.testing.assert_allclose(draws.mean(axis=1), process(X_new).mean(), atol=0.1)


def test_blocks_of_rows_change_nothing(rows, rng, monkeypatch):
    X, y = rows
    process = GaussianProcess(X, y, np.ones(40), rng)
    whole = process(X)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 7)
    np.testing.assert_allclose(process(X).mean(), whole.mean(), rtol=1e-9)
    np.testing.assert_allclose(process(X).var(), whole.var(), rtol=1e-9)


def test_draws_of_many_rows_come_in_blocks(rows, rng, monkeypatch):
    X, y = rows
    process = GaussianProcess(X, y, np.ones(40), rng)
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 3)
    X_new = rng.normal(size=(8, 2))
    draws = process.draws(X_new, 20_000, rng)
    law = process(X_new)
    np.testing.assert_allclose(draws.mean(axis=1), law.mean(), atol=0.05 * law.std().max())
    np.testing.assert_allclose(draws.std(axis=1), law.std(), rtol=0.03)


def test_many_rows_are_thinned(rng, monkeypatch):
    monkeypatch.setattr(module, "SEARCH_ROWS", 50)
    monkeypatch.setattr(module, "MOST_ROWS", 80)
    X = rng.uniform(-2, 2, size=(300, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=300)
    process = GaussianProcess(X, y, np.ones(300), rng)
    assert len(process.data[0]) == 80
    law = process(X)
    assert np.sqrt(np.mean((law.mean() - np.sin(2 * X[:, 0])) ** 2)) < 0.06


def test_the_part_is_a_posterior_mean(rng):
    p, q, weights = rng.normal(size=7), rng.normal(size=7), rng.integers(1, 3, size=7)

    def density(v):
        return np.prod(((1 - v) * np.exp(p) + v * np.exp(q)) ** weights)

    expected = quad(lambda v: v * density(v), 0, 1)[0] / quad(density, 0, 1)[0]
    assert expected_part(log_chances(p, q, weights)) == pytest.approx(expected, abs=1e-4)


def test_a_tiny_part_is_none():
    assert expected_part(log_chances(np.zeros(500), np.full(500, -2.0), np.ones(500))) == 0.0


def beside(X, y, network, rng, n_held=100):
    """The process beside a network with this law of the targets, the last rows held out."""
    n, known = len(X), network(X[-n_held:]).logpdf(y[-n_held:])
    rows, other = np.split(np.arange(n), [n - n_held])
    return ProcessBeside(X, y[:, None], np.ones(n), rows, other, known[:, None], rng)


def test_the_better_one_has_the_larger_part(rng):
    X = rng.uniform(-2, 2, size=(300, 1))
    f, signs = np.sin(2 * X[:, 0]), rng.choice([-1.0, 1.0], size=300)

    def plain(X):
        return PredictiveMixture([1.0], np.zeros((len(X), 1)), np.ones((len(X), 1)))

    def two_modes(X):
        means = np.sin(2 * X) + np.array([-1.0, 1.0])
        return PredictiveMixture([0.5, 0.5], means, np.full(means.shape, 0.01))

    smooth = beside(X, f + 0.1 * rng.normal(size=300), plain, rng)
    assert smooth.parts[0] > 0.9
    modes = beside(X, f + signs + 0.1 * rng.normal(size=300), two_modes, rng)
    assert modes.parts[0] < 0.05
    pool = pooled(plain(X), [smooth], [X])
    terms = plain(X).logpdf(f), smooth.processes[0](X).logpdf(f)
    expected = (1 - smooth.parts[0]) * np.exp(terms[0]) + smooth.parts[0] * np.exp(terms[1])
    np.testing.assert_allclose(np.exp(pool.logpdf(f)), expected, rtol=1e-10)


def test_the_process_is_given_the_held_out_rows_in_the_end(rng):
    X = np.linspace(-2, 2, 60)[:, None]
    y = np.sin(2 * X[:, 0]) + 0.05 * rng.normal(size=60)
    rows, other = np.arange(40), np.arange(40, 60)
    known = np.full((20, 1), -1.0)
    found = ProcessBeside(X, y[:, None], np.ones(60), rows, other, known, rng)
    assert len(found.processes[0].data[0]) == 60
    np.testing.assert_allclose(found.processes[0](X[other]).mean(), y[other], atol=0.2)


def test_an_outlier_among_the_held_out_rows_is_not_followed(rng):
    X = np.linspace(-2, 2, 60)[:, None]
    y = np.sin(2 * X[:, 0]) + 0.05 * rng.normal(size=60)
    y[50] = 1e6
    other = np.arange(1, 60, 7)
    rows = np.setdiff1d(np.arange(60), other)
    known = np.full((len(other), 1), -1.0)
    found = ProcessBeside(X, y[:, None], np.ones(60), rows, other, known, rng).processes[0]
    assert len(found.data[0]) == 59
    np.testing.assert_allclose(found(X).mean(), np.sin(2 * X[:, 0]), atol=0.2)


def test_networks_of_a_pool_agree_on_what_all_their_rows_say(rng):
    X = rng.uniform(-2, 2, size=(60, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=60)
    several, known = [], []
    for i in range(2):
        other = np.arange(20) + 20 * i
        rows = np.setdiff1d(np.arange(60), other)
        known.append(rng.normal(-0.3, 0.2, size=(20, 1)))
        several.append(ProcessBeside(X, y[:, None], np.ones(60), rows, other, known[i], rng))
    logs = sum(each.logs[0] for each in several)
    ProcessBeside.agree(several)
    assert several[0].parts == several[1].parts == expected_part(logs)


def test_where_no_process_can_be_fitted_the_network_is_alone(rows, rng, monkeypatch):
    def fail(*_):
        raise LinAlgError

    monkeypatch.setattr(evidence, "log_evidence", fail)
    X, y = rows

    def network(X):
        return PredictiveMixture([1.0], np.zeros((len(X), 1)), np.ones((len(X), 1)))

    found = beside(X, y, network, rng, n_held=10)
    assert found.parts[0] == 0
    law = network(X)
    pool = pooled(law, [found, None], [X, X])
    np.testing.assert_array_equal(pool.logpdf(y), law.logpdf(y))
    draws = np.zeros((40, 3))
    found.replace_draws(draws, X, rng)
    assert not draws.any()


def test_a_pickle_has_no_factor_and_predicts_the_same(rows, rng):
    X, y = rows
    process = GaussianProcess(X, y, np.ones(40), rng)
    expected = process(X).mean()
    stored = pickle.dumps(process)
    assert len(stored) < 8 * 40 * 40
    np.testing.assert_array_equal(pickle.loads(stored)(X).mean(), expected)


def test_constant_targets_and_one_row(rng):
    X = rng.normal(size=(5, 2))
    law = GaussianProcess(X, np.full(5, 7.0), np.ones(5), rng)(X)
    np.testing.assert_allclose(law.mean(), 7.0, atol=1e-6)
    assert (law.std() > 0).all()
    law = GaussianProcess(X[:1], np.array([3.0]), np.ones(1), rng)(X)
    assert np.isfinite(law.mean()).all()

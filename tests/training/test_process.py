"""A Gaussian process beside a network: closed forms, noise, many rows and few."""

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal, norm
from scipy.stats import t as student

from skbayesnn.training import process as module
from skbayesnn.training.process import GaussianProcess


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


def test_a_weight_is_a_number_of_equal_rows_with_such_noise():
    """Nearly: a row of two has one scale, but two rows have two. So on average over tables."""
    at, gaps = np.linspace(-1.5, 1.5, 7)[:, None], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1.5, 1.5, (80, 1))
        y = np.sin(2 * X[:, 0]) + 0.2 * np.exp(X[:, 0]) * rng.standard_t(3, 80)
        counts = rng.integers(1, 3, 80)
        weighted = GaussianProcess(X, y, counts.astype(float), np.random.default_rng(0))
        many = np.repeat(np.arange(80), counts)
        repeated = GaussianProcess(X[many], y[many], np.ones(len(many)), np.random.default_rng(0))
        assert weighted.law is not None
        np.testing.assert_allclose(weighted(at).mean(), repeated(at).mean(), atol=0.05)
        gaps.append(np.abs(np.log(weighted(at).std() / repeated(at).std())).mean())
    assert np.mean(gaps) < 0.05


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


def test_without_noise_the_law_is_as_narrow_as_the_errors(rng):
    X = rng.normal(size=(200, 2))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1])
    process = GaussianProcess(X, y, np.ones(200), rng)
    near = 0.5 * rng.normal(size=(50, 2))
    law, truth = process(near), np.sin(near[:, 0]) + np.cos(near[:, 1])
    assert np.abs(law.mean() - truth).max() < 1e-4
    # A noise of 1e-3 was added to laws before, whatever the errors were.
    assert law.std().max() < 1e-4


def test_without_noise_more_rows_tell_length_scales(monkeypatch):
    """An independent judge: the evidence of all rows, and errors at others."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.7, 1.7, (1500, 3))
    y = np.exp(0.5 * X[:, 0]) * np.sin(X[:, 1]) + X[:, 2] ** 2
    known, told = X[:1000], y[:1000]

    def fitted():
        return GaussianProcess(known, told, np.ones(1000), np.random.default_rng(1))

    def log_evidence(process):
        C = covariance(process.settings, known, known)
        C += (np.exp(process.settings[-1]) + 1e-12 * np.exp(process.settings[-2])) * np.eye(1000)
        root = np.linalg.cholesky(C)
        solved = np.linalg.solve(root, (told - told.mean()) / told.std())
        return -0.5 * solved @ solved - np.log(np.diagonal(root)).sum()

    fine = fitted()
    monkeypatch.setattr(module, "FINE_ROWS", module.SEARCH_ROWS)
    coarse = fitted()
    assert fine.settings[-1] < module.NEXT_TO_NO_NOISE
    assert log_evidence(fine) > log_evidence(coarse)
    errors = [np.abs(each(X[1000:]).mean() - y[1000:]).mean() for each in (fine, coarse)]
    assert errors[0] < errors[1] < 1e-3


def test_copies_say_nothing_of_the_noise(rng):
    X = rng.normal(size=(15, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=15)
    alone = GaussianProcess(X, y, np.ones(15), np.random.default_rng(0))
    thrice = np.tile(np.arange(15), 3)
    copied = GaussianProcess(X[thrice], y[thrice], np.ones(45), np.random.default_rng(0))
    np.testing.assert_allclose(copied.settings, alone.settings, atol=1e-3)
    at = rng.normal(size=(5, 2))
    np.testing.assert_allclose(copied(at).mean(), alone(at).mean(), rtol=1e-3)
    np.testing.assert_allclose(copied(at).std(), alone(at).std(), rtol=1e-3)

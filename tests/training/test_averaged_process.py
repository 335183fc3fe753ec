"""A process that is averaged over its settings: its law, its weight, and where it takes part."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from skbayesnn import SIPRegressor, StableNNRegressor, UDNRegressor
from skbayesnn.gaussian_process.kernels import squared_exponential
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.training.averaged_process import (
    PRIOR_PART,
    PRIOR_ROWS,
    AveragedProcess,
    averaged_part,
    settings_of,
)
from skbayesnn.training.beside import ProcessBeside

SETTINGS = np.log([[0.7, 1.5, 0.8, 0.05], [2.0, 0.4, 1.3, 0.2]])
"""Length scales of two inputs, height and noise variance."""


def rows(rng, n=8):
    return rng.normal(size=(n, 2)), 3.0 + 2.0 * rng.normal(size=n)


def log_density(settings, X, z):
    """Of targets jointly under one process, which sees them rounded to a millionth."""
    gram = squared_exponential(X * np.exp(-settings[:2]), X * np.exp(-settings[:2]), settings[2])
    return multivariate_normal.logpdf(
        z, np.zeros(len(z)), gram + np.exp(settings[3]) * np.eye(len(z))
    )


def expected_log_density(X, y, new, target):
    """Of one more target given others, averaged over the settings, by joint densities."""
    z = (np.append(y, target) - y.mean()) / y.std()
    both = np.vstack([X, new])
    ratios = [log_density(s, both, z) - log_density(s, X, z[:-1]) for s in SETTINGS]
    return np.log(np.mean(np.exp(ratios))) - np.log(y.std())


def test_the_law_is_the_mean_of_conditional_densities(rng):
    X, y = rows(rng)
    process = AveragedProcess(SETTINGS, X, y, np.ones(8))
    new, targets = rows(rng, 5)
    expected = [expected_log_density(X, y, at, t) for at, t in zip(new, targets, strict=True)]
    np.testing.assert_allclose(process(new).logpdf(targets), expected, rtol=1e-4)


def test_a_row_left_out_has_the_law_given_the_others(rng):
    X, y = rows(rng)
    y = (y - y.mean()) / y.std()
    found = AveragedProcess(SETTINGS, X, y, np.ones(8)).left_out().logpdf(y)
    for i in range(8):
        others = np.arange(8) != i
        ratios = [log_density(s, X, y) - log_density(s, X[others], y[others]) for s in SETTINGS]
        assert found[i] == pytest.approx(np.log(np.mean(np.exp(ratios))), rel=1e-4)


def test_draws_follow_the_law(rng):
    X, y = rows(rng)
    process = AveragedProcess(SETTINGS, X, y, np.ones(8))
    new = rng.normal(size=(3, 2))
    draws, law = process.draws(new, 40_000, rng), process(new)
    # Standard errors: 0.005 of a deviation and 0.0025.
    np.testing.assert_allclose(draws.mean(axis=1), law.mean(), atol=0.02 * law.std().max())
    for level in (0.1, 0.5, 0.9):
        quantiles = law.quantile(level).reshape(3, 1)
        np.testing.assert_allclose((draws < quantiles).mean(axis=1), level, atol=0.0125)


def test_equal_rows_are_one(rng):
    X, y = rows(rng)
    many = np.tile(np.arange(8), 3)
    one, three = (AveragedProcess(SETTINGS, X[i], y[i], np.ones(len(i))) for i in (many[:8], many))
    new, targets = rows(rng, 5)
    np.testing.assert_allclose(three(new).logpdf(targets), one(new).logpdf(targets), rtol=1e-9)
    np.testing.assert_allclose(
        three.left_out().logpdf(y[many]), one.left_out().logpdf(y)[many], rtol=1e-9
    )


def test_settings_do_not_depend_on_the_order_of_rows(rng):
    X, y = rows(rng, 12)
    order = rng.permutation(12)
    found = [
        settings_of(X[i], y[i], np.ones(12), np.random.default_rng(0))
        for i in (np.arange(12), order)
    ]
    assert found[0].shape == (50, 4)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("n", [10, 50, 80])
def test_the_part_is_the_mean_of_a_beta_distribution(n):
    """Rows that only one of both explains are successes and failures."""
    mean = PRIOR_PART * (1.0 - n / 100)
    even = np.zeros(6)
    assert averaged_part(np.ones(n), even, even, np.ones(6)) == pytest.approx(mean, abs=2e-3)
    found = averaged_part(np.ones(n), even - 1e25, even - 1e25, np.ones(6))
    assert found == pytest.approx(mean, abs=2e-3)
    for count in (0, 3, 6):
        own = np.where(np.arange(6) < count, 0.0, -np.inf)
        others = np.where(np.arange(6) < count, -np.inf, 0.0)
        expected = (PRIOR_ROWS * mean + count) / (PRIOR_ROWS + 6)
        found = averaged_part(np.ones(n), own, others, np.ones(6))
        assert found == pytest.approx(expected, abs=1e-3)


def beside(X, y, network, n_held=20):
    n = len(X)
    rows, other = np.split(np.arange(n), [n - n_held])
    known = network(X[other])
    rng = np.random.default_rng(0)
    return ProcessBeside(X, y[:, None], np.ones(n), rows, other, [known], rng)


def test_it_takes_part_where_rows_are_few_and_the_network_is_not_better(rng):
    X = rng.uniform(-2, 2, size=(99, 2))
    mean = np.sin(2 * X[:, 0])
    y = mean + 0.2 * rng.normal(size=99)

    def network(offset, variance):
        def law(X):
            means = np.sin(2 * X[:, :1]) + offset
            return PredictiveMixture([1.0], means, np.full((len(X), 1), variance))

        return law

    parts = []
    for offset, variance in ((0.0, 0.04), (3.0, 0.04)):
        found = beside(X[:40], y[:40], network(offset, variance))
        ProcessBeside.agree([found])
        assert isinstance(found.taken[0][-1].process, AveragedProcess)
        assert found.part() < 1.0
        parts.append(found.taken[0][-1].part)
    assert parts[0] < 0.4 < parts[1]
    more = [beside(np.tile(X, (2, 1))[:n], np.tile(y, 2)[:n], network(0.0, 1.0)) for n in (99, 100)]
    for each in more:
        ProcessBeside.agree([each])
    kinds = [[isinstance(taken.process, AveragedProcess) for taken in e.taken[0]] for e in more]
    assert [any(each) for each in kinds] == [True, False]


def test_networks_share_the_draws(rng):
    X, y = rows(rng, 30)
    several = []
    for i in range(2):
        other = np.arange(10) + 10 * i
        held_out = np.setdiff1d(np.arange(30), other)
        known = PredictiveMixture([1.0], np.zeros((10, 1)), np.full((10, 1), 9.0))
        several.append(ProcessBeside(X, y[:, None], np.ones(30), held_out, other, [known], rng))
    many = [deepcopy(several[0]) for _ in range(60)]
    ProcessBeside.agree(several)
    settings = [each.taken[0][-1].process.settings for each in several]
    assert [len(each) for each in settings] == [25, 25]
    assert len(np.unique(np.concatenate(settings), axis=0)) > 25
    ProcessBeside.agree(many)
    assert {len(each.taken[0][-1].process.settings) for each in many} == {1}


@pytest.mark.parametrize("model", [UDNRegressor, SIPRegressor, StableNNRegressor])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_models_of_few_rows_have_it(model, rng):
    X = rng.normal(size=(30, 5))
    y = X @ [1.0, -0.5, 0.0, 0.0, 0.0] + 0.5 * rng.normal(size=30)
    fitted = model(random_state=0).fit(X, y)
    members = (
        getattr(fitted, "estimators_", None) or getattr(fitted, "_members", lambda: [fitted])()
    )
    for member in members:
        beside = vars(member).get("_process") or member._beside
        assert isinstance(beside.taken[0][-1].process, AveragedProcess)
    assert 0.1 < fitted.gaussian_process_weight_ < 1.0
    again = pickle.loads(pickle.dumps(fitted)).predict_distribution(X[:3])
    np.testing.assert_array_equal(again.cdf(y[:3]), fitted.predict_distribution(X[:3]).cdf(y[:3]))


def test_draws_of_many_rows_are_joint_among_a_thousand(rng, monkeypatch):
    X, y = rows(rng)
    process = AveragedProcess(SETTINGS, X, y, np.ones(8))
    new = rng.normal(size=(7, 2))
    whole = process.draws(new, 5, np.random.default_rng(0))
    monkeypatch.setattr("skbayesnn.training.averaged_process.ROWS_AT_ONCE", 3)
    parts = process.draws(new, 20_000, np.random.default_rng(0))
    assert whole.shape == (7, 5)
    law = process(new)
    np.testing.assert_allclose(parts.mean(axis=1), law.mean(), atol=0.03 * law.std().max())
    np.testing.assert_allclose(parts.std(axis=1), law.std(), rtol=0.1)


def test_networks_that_hold_out_every_row_have_no_averaged_process():
    """All rows of this table are held out by a network, as outliers for its process."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 40))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.2 * rng.normal(size=20)
    model = UDNRegressor(max_iter=10, random_state=0, validation_fraction=0.99).fit(X, y)
    assert np.isfinite(model.predict(X)).all()

"""What the nearest rows say, as inputs of a network: honest for the rows of the fit, and of use."""

import pickle

import numpy as np
import pytest
from callbacks import StopAfter

from skbayesnn import UDNRegressor
from skbayesnn.gaussian_process.neighbours import NearRows
from skbayesnn.udn import mixtures as module
from skbayesnn.udn.near_inputs import LEAST_VARIANCE, NearInputs

SETTINGS = {"max_iter": 20, "width": 16, "random_state": 0}


def patches(n, rng, noise=0.1):
    """Each square of a fine grid has a value of its own."""
    X = rng.uniform(0, 12, size=(n, 2))
    values = np.random.default_rng(0).normal(size=(12, 12))
    return X, values[tuple(X.astype(int).T)] + noise * rng.normal(size=n)


@pytest.fixture
def few_are_many(monkeypatch):
    monkeypatch.setattr(module, "MANY_ROWS", 300)


@pytest.mark.parametrize("row", [0, 17, 60])
def test_a_row_is_predicted_by_the_others(row):
    """By hand: all rows but this one and its copies; rows 60 and 61 are equal."""
    rng = np.random.default_rng(1)
    X, y = patches(100, rng)
    X = (X - 6.0) / 3.5
    X[61], y[61] = X[60], y[60]
    inputs = NearInputs(X, y[:, None], np.ones(100), rng)
    process = inputs.processes[0]
    z = (y - process.location) / process.scale
    weights = np.where(np.arange(100) == 60, 2.0, 1.0)
    others = np.delete(np.arange(100), [row, 61])
    settings = process.settings, process.smoothness
    known = NearRows(*settings, X[others], z[others], weights[others])
    mean, variance = known.predict(X[[row]])
    raw = np.array([mean[0], np.log(variance[0] + LEAST_VARIANCE)])
    expected = (raw - inputs.location) / inputs.scale
    np.testing.assert_allclose(inputs.of_rows[row], expected, rtol=1e-4, atol=1e-6)


def test_new_rows_stay_in_the_range_of_the_others():
    rng = np.random.default_rng(2)
    X, y = patches(200, rng)
    inputs = NearInputs(X, np.column_stack([y, -3.0 * y]), np.ones(200), rng)
    assert inputs.of_rows.shape == (200, 4)
    far = inputs(np.array([[1e3, 1e3], [5.0, 5.0]]))
    assert (far <= inputs.of_rows.max(axis=0)).all()
    assert (far >= inputs.of_rows.min(axis=0)).all()
    np.testing.assert_allclose(far[0, 2:], inputs.of_rows.max(axis=0)[2:])
    np.testing.assert_allclose(inputs.of_rows.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(inputs.of_rows.std(axis=0), 1.0)


def test_patches_are_found_with_them(few_are_many, monkeypatch):
    rng = np.random.default_rng(3)
    X, y = patches(1500, rng)
    new, truth = patches(500, rng)
    model = UDNRegressor(**SETTINGS).fit(X, y)
    own = [m._own_mixtures(new)[0].crps(truth).mean() for m in model._members()]
    monkeypatch.setattr(module, "MANY_ROWS", 2000)
    plain = UDNRegressor(**SETTINGS).fit(X, y)
    without = [m._own_mixtures(new)[0].crps(truth).mean() for m in plain._members()]
    assert np.mean(own) < 0.7 * np.mean(without)
    assert all(m._told_parts[0] > 0.9 for m in model._members())
    law = model.predict_distribution(new)
    assert law.crps(truth).mean() < 0.7 * np.mean(without)
    interval = law.interval(0.9)
    covered = np.mean((interval[:, 0] <= truth) & (truth <= interval[:, 1]))
    assert 0.84 < covered < 0.96


def test_noise_is_still_noise(few_are_many):
    """The standard errors of coverage and log density are 0.007 and 0.016."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(2000, 3)), rng.normal(size=2000)
    new, truth = rng.normal(size=(2000, 3)), rng.normal(size=2000)
    law = UDNRegressor(**SETTINGS).fit(X, y).predict_distribution(new)
    interval = law.interval(0.9)
    covered = np.mean((interval[:, 0] <= truth) & (truth <= interval[:, 1]))
    assert 0.87 < covered < 0.93
    ideal = np.mean(-0.5 * np.log(2 * np.pi) - 0.5 * truth**2)
    assert law.logpdf(truth).mean() > ideal - 0.04


def test_only_networks_of_tables_with_held_out_rows_have_them(few_are_many, rng):
    X, y = patches(300, rng)
    short = {"max_iter": 1, "width": 4, "n_networks": 1, "random_state": 0}
    assert UDNRegressor(**short).fit(X, y)._told is not None
    for other in (
        UDNRegressor(**short).fit(X[1:], y[1:]),
        UDNRegressor(**short).fit(X[:, :1], y),
        UDNRegressor(**short).fit(np.hstack([X] * 11), y),
        UDNRegressor(gaussian_process=False, **short).fit(X, y),
        UDNRegressor(early_stopping=False, **short).fit(X, y),
        UDNRegressor(normalize_X=False, **short).fit(X, y),
    ):
        assert other._told is None


def test_weights_are_copies(few_are_many, rng):
    X, y = patches(300, rng)
    weights = rng.integers(1, 3, size=300).astype(float)
    copies = np.repeat(np.arange(300), weights.astype(int))
    one = NearInputs(X, y[:, None], weights, np.random.default_rng(0))
    other = NearInputs(X[copies], y[copies, None], np.ones(len(copies)), np.random.default_rng(0))
    np.testing.assert_allclose(one.of_rows[copies], other.of_rows, rtol=1e-6, atol=1e-8)


def test_it_is_the_same_after_pickling_and_a_stream_goes_on(few_are_many, rng):
    X, y = patches(400, rng)
    targets = np.column_stack([y, X[:, 0]])
    model = UDNRegressor(max_iter=2, width=8, n_networks=2, random_state=0).fit(X, targets)
    assert all(member._told_parts.shape == (2,) for member in model._members())
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(stored.predict(X), model.predict(X))
    stored.partial_fit(X[:100], targets[:100])
    assert stored._told is None
    assert np.isfinite(stored.predict(X)).all()


def test_held_out_rows_are_new_while_networks_are_judged(few_are_many, monkeypatch, rng):
    """By processes that are given the rows to train on alone."""
    X, y = patches(400, rng)
    judged = []

    class Remembered(module.ProcessBeside):
        def __init__(self, *data, workers):
            judged.append(data)
            super().__init__(*data, workers=workers)

    monkeypatch.setattr(module, "ProcessBeside", Remembered)
    model = UDNRegressor(max_iter=30, width=16, n_networks=1, refit=False, random_state=0).fit(X, y)
    standardised, targets, weights, rows, other, known, _ = judged[0]
    told, z = model._told, (targets - model._y_offset) / model._y_scale
    as_new = told._mixtures_of_network(told._scaled(X[other]))[0].logpdf(y[other])
    told._near.give(standardised[rows], z[rows], weights[rows])
    expected = model._own_mixtures(X[other])[0].logpdf(y[other])
    np.testing.assert_allclose(known[0].logpdf(y[other]), expected, rtol=1e-5)
    judged_as = told._mixtures_of_network(told._scaled(X[other]))[0].logpdf(y[other])
    assert judged_as.mean() < as_new.mean() - 0.1


def test_targets_that_can_be_told_from_those_of_equal_rows_are_not_believed(few_are_many):
    """Inputs of few values: the mean of the rows with the same inputs tells which is left out.

    Where held-out rows told it, too, the mean squared error was 0.92; it is 0.03. The standard
    error of the gap in log density is 0.01.
    """
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.integers(0, k, size=3000) for k in (2, 2, 5, 3)]).astype(float)
    rate = np.exp(X @ [0.3, -0.4, 0.2, 0.0] + 0.1 * X[:, 0] * X[:, 3])
    y = rng.poisson(rate).astype(float)
    model = UDNRegressor(max_iter=100, n_networks=1, random_state=0).fit(X[:1000], y[:1000])
    law = model.predict_distribution(X[1000:])
    assert np.mean((law.mean() - rate[1000:]) ** 2) < 0.1
    known = model._with_before(X[1000:])[0].logpdf(y[1000:])
    assert law.logpdf(y[1000:]).mean() > known.mean() - 0.03


def test_it_follows_callbacks_that_stop(few_are_many, rng):
    X, y = patches(400, rng)
    model = UDNRegressor(max_iter=8, width=8, n_networks=1, random_state=0)
    stop = StopAfter(12)
    model.set_callbacks(stop).fit(X, y)
    assert stop.seen == 12
    assert model._told is not None
    assert np.isfinite(model.predict(X)).all()

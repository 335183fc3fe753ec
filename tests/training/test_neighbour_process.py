"""The process of near rows beside networks: what it learns, of which rows, and what it draws."""

import pickle

import numpy as np
import pytest
from scipy.stats import kstest

from skbayesnn.gaussian_process.neighbours import NearRows
from skbayesnn.training import neighbour_process as module
from skbayesnn.training.beside import ProcessBeside
from skbayesnn.training.neighbour_process import (
    NeighbourProcess,
    candidates,
    merged,
    neighbour_processes,
)


def fitted(X, y, weights=None, seed=0):
    weights = np.ones(len(y)) if weights is None else weights
    return NeighbourProcess(X, y, weights, np.random.default_rng(seed))


def test_the_smoothness_is_that_of_the_function():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 1))
    noise = 0.02 * rng.normal(size=300)
    assert fitted(X, np.floor(4 * X[:, 0]) % 2 + noise).smoothness == 0.5
    assert fitted(X, np.sin(5 * X[:, 0]) + noise).smoothness > 0.5


def test_rough_functions_of_many_rows_are_predicted_well():
    """Squares of a checkerboard, 5000 rows: whole processes are given 2000."""
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 1, size=(5000, 2))
    f = (np.floor(6 * X[:, 0]) + np.floor(6 * X[:, 1])) % 2
    process = fitted(X[:4000], f[:4000] + 0.1 * rng.normal(size=4000))
    law, y = process(X[4000:]), f[4000:] + 0.1 * rng.normal(size=1000)
    assert np.mean(np.abs(law.mean() - f[4000:])) < 0.12
    low, high = law.quantile([0.05, 0.95]).T
    assert 0.86 < np.mean((low <= y) & (y <= high)) < 0.97


def test_weights_are_copies_in_any_order():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 2))
    y = np.abs(X[:, 0]) + 0.2 * rng.normal(size=80)
    weights = rng.integers(1, 4, size=80)
    many = rng.permutation(np.repeat(np.arange(80), weights))
    one, other = fitted(X, y, weights.astype(float)), fitted(X[many], y[many])
    np.testing.assert_allclose(one.settings, other.settings, rtol=1e-6)
    np.testing.assert_allclose(one(X).mean(), other(X).mean(), rtol=1e-6)
    np.testing.assert_allclose(one(X).std(), other(X).std(), rtol=1e-6)


def test_equal_inputs_are_one_row_with_the_mean_of_their_targets():
    """Nothing is lost: the process given all rows is the same. 80 rows at 20 places."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(20, 2))[rng.integers(0, 20, size=80)]
    y, weights = np.round(rng.normal(size=80), 1), rng.integers(1, 4, size=80).astype(float)
    *data, _, number = merged(X, y, weights)
    assert len(data[0]) == 20
    np.testing.assert_array_equal(data[0][number], X)
    settings, new = np.array([0.1, -0.2, 0.3, -1.0]), rng.normal(size=(5, 2))
    found = NearRows(settings, 1.5, *data).predict(new)
    expected = NearRows(settings, 1.5, X, y, weights).predict(new)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_one_of_several_rows_with_equal_inputs_is_left_out():
    """By hand: all rows but one. The last two are copies, and left out together."""
    X = np.array([[0.0], [0.0], [0.0], [1.0], [2.0], [2.0]])
    y, settings = np.array([1.0, 1.0, 3.0, 0.5, 7.0, 7.0]), np.array([0.0, 0.0, -1.0])
    *data, out, number = merged(X, y, np.ones(6))
    np.testing.assert_array_equal(number, [0, 0, 0, 1, 2, 2])
    np.testing.assert_array_equal(out.targets, [1.0, 3.0, 0.5, 7.0])
    np.testing.assert_array_equal(out.weights, [2.0, 1.0, 1.0, 2.0])
    means, variances = NearRows(settings, 0.5, *data).predict(data[0][out.rows], out)
    for i, gone in enumerate([[0], [2], [3], [4, 5]]):
        X_rest, y_rest = np.delete(X, gone, axis=0), np.delete(y, gone)
        known = NearRows(settings, 0.5, X_rest, y_rest, np.ones(len(y_rest)))
        mean, variance = known.predict(X[gone[:1]])
        np.testing.assert_allclose([means[i], variances[i]], [mean[0], variance[0]], rtol=1e-6)


def test_many_equal_rows_are_no_copies_where_inputs_have_few_values():
    X, y = np.repeat([[0.0], [1.0]], 5, axis=0), np.repeat([2.0, 3.0], 5)
    _, _, _, out, _ = merged(X, y, np.ones(10))
    np.testing.assert_array_equal(out.rest_weights, [4.0, 4.0])
    np.testing.assert_array_equal(out.rest_targets, [2.0, 3.0])
    _, _, _, out, _ = merged(X[:9], y[:9], np.ones(9))
    np.testing.assert_array_equal(out.rest_weights, [0.0, 0.0])


def test_noise_of_places_with_many_rows_is_found():
    """100 places with ten rows each, noise with a deviation of 0.5 that is rounded to 0.5."""
    rng = np.random.default_rng(12)
    places, f = rng.normal(size=(100, 3)), rng.normal(size=100)
    at = np.repeat(np.arange(100), 12)
    y = np.round(2 * (f[at] + 0.5 * rng.normal(size=1200))) / 2
    known = np.arange(1200) % 12 < 10
    law = fitted(places[at[known]], y[known])(places[at[~known]])
    # Noise, rounding and what ten rows do not tell.
    expected = np.sqrt((0.25 + 0.25 / 12) * 1.1)
    assert np.mean(law.std()) == pytest.approx(expected, rel=0.06)
    assert np.sqrt(np.mean((y[~known] - law.mean()) ** 2)) < 1.1 * expected


def test_heavy_tails_and_units_of_the_target():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(400, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.standard_t(2, size=400)
    one, other = fitted(X, y), fitted(X, 5e6 - 1e6 * y)
    assert one.law is not None
    assert one.law.family.degrees < 5
    np.testing.assert_allclose(other(X).mean(), 5e6 - 1e6 * one(X).mean(), rtol=1e-5)
    assert np.median(np.abs(one(X).mean() - np.sin(3 * X[:, 0]))) < 0.05


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("tails", [False, True])
def test_draws_follow_the_predictions(tails, many, monkeypatch):
    rng = np.random.default_rng(4)
    monkeypatch.setattr(module, "MANY_ROWS", 0 if many else 1000)
    X = rng.uniform(-1, 1, size=(200, 1))
    noise = rng.standard_t(2, size=200) if tails else rng.normal(size=200)
    process = fitted(X, np.abs(X[:, 0]) + 0.1 * noise)
    assert (process.law is not None) == tails
    at = np.array([[-0.5], [0.0], [0.01], [0.7]])
    draws, law = process.draws(at, 4000, rng), process(at)
    for i in range(4):
        assert kstest(draws[i], lambda v, i=i: law[[i] * len(v)].cdf(v)).pvalue > 1e-3


def test_noise_depends_on_how_near_the_rows_are():
    """Pairs of near rows have nearly equal targets, which say little about other rows."""
    rng = np.random.default_rng(9)
    X = np.repeat(rng.uniform(-3, 3, size=(600, 3)), 2, axis=0)
    X += 1e-3 * rng.normal(size=X.shape)
    y = np.repeat(rng.standard_t(2, size=600), 2) + 0.01 * rng.normal(size=1200)
    process = fitted(X, y)
    near, far = process(X[:200] + 1e-3), process(rng.uniform(-3, 3, size=(200, 3)))
    widths = [np.median(np.diff(law.interval(0.9))) for law in (near, far)]
    assert widths[0] < 0.1 * widths[1]
    assert np.mean(near.logpdf(y[:200])) > 1.0


def test_near_rows_are_looked_for_more_often_in_large_tables(monkeypatch):
    rng = np.random.default_rng(10)
    X, seen = rng.normal(size=(200, 2)), []
    monkeypatch.setattr(module, "OFTEN", 200)
    look_for = module.search

    def counted(rows, out, near, steps, workers):
        seen.append((len(out.rows), steps))
        return look_for(rows, out, near, steps, workers)

    monkeypatch.setattr(module, "search", counted)
    fitted(X[1:], X[1:, 0])
    assert seen == [(199, 10)] * 6 + [(199, 10)] * 2
    seen.clear()
    fitted(X, X[:, 0])
    assert seen == [(200, 5)] * 12


def test_it_is_the_same_after_pickling():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(100, 3))
    process = fitted(X, X[:, 0] + 0.1 * rng.normal(size=100))
    before = process(X).mean()
    stored = pickle.loads(pickle.dumps(process))
    assert stored.known is None
    np.testing.assert_array_equal(stored(X).mean(), before)


def test_few_rows_have_none(rng):
    X = rng.normal(size=(module.LEAST_ROWS, 2))
    y, weights = rng.normal(size=len(X)), np.ones(len(X))
    assert len(neighbour_processes(X, y, weights, rng)) == 1
    assert neighbour_processes(X[1:], y[1:], weights[1:], rng) == []


def test_several_searches_are_pooled(rng, monkeypatch):
    """The density is the mean of theirs, draws have this distribution, and all are given rows."""
    X = rng.normal(size=(300, 2))
    y, weights = np.abs(X[:, 0]) + 0.1 * rng.standard_t(3, size=300), np.ones(300)
    rows = X[:250], y[:250], weights[:250]
    (pool,) = neighbour_processes(*rows, rng, n_searches=3)
    first, second, third = pool.processes
    assert not np.array_equal(first.settings, second.settings)  # 200 of the rows begin a search
    laws = [process(X[250:]) for process in (first, second, third)]
    densities = [np.exp(law.logpdf(y[250:])) for law in laws]
    law = pool(X[250:])
    np.testing.assert_allclose(np.exp(law.logpdf(y[250:])), np.mean(densities, axis=0))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(pool))(X[250:]).mean(), law.mean())
    levels = law[:1].cdf(pool.draws(X[250:251], 3000, rng))
    assert kstest(levels.ravel(), "uniform").pvalue > 1e-3
    pool.give(X, y, weights, rng)
    assert all(len(process.number) == 300 for process in pool.processes)
    assert pool.without_noise is False
    few = [part[: module.OF_FEW.race_rows] for part in rows]
    (alone,) = neighbour_processes(*few, rng, n_searches=3)
    assert isinstance(alone, NeighbourProcess)
    monkeypatch.setattr(module, "OFTEN", 250)
    (alone,) = neighbour_processes(*rows, rng, n_searches=3)
    assert isinstance(alone, NeighbourProcess)


def test_searches_of_few_rows_do_not_differ(rng):
    """So that one is enough: all begin with the same rows."""
    n = module.OF_FEW.race_rows
    X = rng.normal(size=(n, 2))
    y = np.abs(X[:, 0]) + 0.1 * rng.normal(size=n)
    np.testing.assert_array_equal(fitted(X, y, seed=1).settings, fitted(X, y, seed=2).settings)


@pytest.mark.parametrize("kind", ["constant", "two values", "one distinct row", "many inputs"])
def test_awkward_rows(kind):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    if kind == "constant":
        y[:] = 7.0
    elif kind == "two values":
        X, y = np.sign(X), np.sign(y)
    elif kind == "one distinct row":
        X[:], y[:] = X[0], y[0]
    else:
        X = rng.normal(size=(60, 90))
    law = fitted(X, y)(X)
    assert np.isfinite(law.logpdf(y)).all()


def test_held_out_rows_choose_it_for_rough_functions():
    rng = np.random.default_rng(7)
    X = rng.uniform(-1, 1, size=(300, 2))
    y = np.floor(4 * X[:, 0]) % 2 + 0.05 * rng.normal(size=300)
    rows, other = np.split(np.arange(300), [240])
    network = fitted(X[rows], rng.normal(size=240))(X[other])
    beside = ProcessBeside(X, y[:, None], np.ones(300), rows, other, [network], rng)
    parts = {type(each.process): each.part for each in beside.taken[0]}
    assert parts[NeighbourProcess] > 0.7
    assert beside.part() == pytest.approx(sum(parts.values()))


def groups(rng, n, n_groups=100):
    """Targets of which most is a number drawn for each group, which the third input names."""
    group, X = rng.permutation(n) % n_groups, rng.normal(size=(n, 5))
    X[:, 2] = (group - group.mean()) / group.std()
    return X, rng.normal(size=n_groups)[group] + 0.1 * X[:, 0] + 0.05 * rng.normal(size=n)


def test_rows_of_groups_are_known_by_the_input_that_names_them(rng, monkeypatch):
    X, y = groups(rng, 400)
    rows = X[:300], y[:300], np.ones(300)
    found = NeighbourProcess(*rows, np.random.default_rng(0))
    assert np.argmin(found.settings[:5]) == 2
    # Each group has three rows on average, and some have none among those that are known.
    assert np.median(np.abs(found(X[300:]).mean() - y[300:])) < 0.1
    monkeypatch.setattr(module, "candidates", lambda X: [])
    without = NeighbourProcess(*rows, np.random.default_rng(0))
    assert found(X[300:]).logpdf(y[300:]).mean() > without(X[300:]).logpdf(y[300:]).mean() + 0.2


def test_a_short_start_is_no_result_where_there_are_no_groups(rng, monkeypatch):
    X = rng.uniform(-2, 2, size=(300, 3))
    rows = X, np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=300), np.ones(300)
    found = NeighbourProcess(*rows, np.random.default_rng(0))
    monkeypatch.setattr(module, "candidates", lambda X: [])
    without = NeighbourProcess(*rows, np.random.default_rng(0))
    assert found.smoothness == without.smoothness
    np.testing.assert_array_equal(found.settings, without.settings)


def test_inputs_of_two_values_are_no_candidates(rng):
    X = np.column_stack(
        [rng.integers(0, 2, 90), rng.normal(size=90), np.ones(90), np.arange(90) % 3]
    )
    assert candidates(X) == [1, 3]
    assert candidates(rng.normal(size=(9, 50))) == list(range(50))
    assert candidates(rng.normal(size=(9, 51))) == []

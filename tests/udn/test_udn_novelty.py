"""The scale of the inputs, and what happens beyond them."""

import pickle

import numpy as np
from sklearn.preprocessing import StandardScaler
from toy_tables import wave

from skbayesnn.training.normal_scores import NormalScores
from skbayesnn.training.novelty import LEVEL, MOST_ROWS, Novelty
from skbayesnn.udn import UDNClassifier, UDNRegressor
from skbayesnn.udn.inputs import REACH, TableScales


def test_columns_are_standardised_unless_tails_are_heavy_or_rows_many(rng):
    X = np.column_stack([rng.uniform(size=400), rng.lognormal(0, 2, 400), np.full(400, 7.0)])
    scales = TableScales(X, np.ones(400))
    found = scales(X)
    np.testing.assert_allclose(found[:, 0], StandardScaler().fit_transform(X[:, :1])[:, 0])
    np.testing.assert_array_equal(scales.heavy, [1])
    np.testing.assert_allclose(found[:, 1:2], NormalScores(X[:, 1:2], np.ones(400))(X[:, 1:2]))
    np.testing.assert_array_equal(found[:, 2], 0)
    weights = rng.integers(1, 4, 400)  # as copies
    copies = TableScales(np.repeat(X, weights, axis=0), np.ones(weights.sum()))
    np.testing.assert_allclose(TableScales(X, weights)(X), copies(X), atol=1e-9)
    Z = rng.uniform(size=(1000, 2))
    many = TableScales(Z, np.ones(1000))
    np.testing.assert_allclose(many(Z), NormalScores(Z, np.ones(1000))(Z))
    np.testing.assert_allclose(many.placed(Z), StandardScaler().fit_transform(Z), atol=1e-12)


def test_inputs_level_off_beyond_the_rows():
    X = np.linspace(-3, 5, 81)[:, None]
    scales = TableScales(X, np.ones(81))
    Z = scales(X)
    np.testing.assert_allclose(Z, StandardScaler().fit_transform(X), atol=1e-12)
    high, step = Z.max(), 1e-6
    slope = (scales(np.array([[5.0 + step]]))[0, 0] - high) / (step / X.std())
    np.testing.assert_allclose(slope, 1, atol=1e-4)  # lines go on without a kink
    far = np.array([[-1e3], [1e3]])
    np.testing.assert_allclose(scales(far)[:, 0], [Z.min() - REACH, high + REACH])
    assert scales.placed(far)[1, 0] > 100
    scales.extend(np.array([[9.0]]))
    more = np.array([[9.0]])
    np.testing.assert_allclose(scales(more), scales.placed(more))


def test_novelty_of_rows_on_a_line():
    rows = np.repeat(np.arange(11.0), 3)[:, None]  # copies are no nearer than one row
    novelty = Novelty(np.random.default_rng(0))
    novelty.add(rows)
    for x, distance in ((4.0, 0.0), (4.5, 0.5), (11.0, 1.0), (12.5, 2.5), (-3.0, 3.0)):
        expected = max(distance - 1.0, 0.0) / 3.0  # the median distance from 5
        np.testing.assert_allclose(novelty.excess(np.array([[x]])), expected, atol=1e-12)


def test_novelty_spares_all_but_a_hundredth_of_rows_like_those_seen(rng):
    for d in (1, 8):
        novelty = Novelty(np.random.default_rng(0))
        novelty.add(rng.normal(size=(800, d)))
        assert np.mean(novelty.excess(rng.normal(size=(4000, d))) > 0) < 3 * (1 - LEVEL)
        assert np.all(novelty.excess(rng.normal(size=(50, d)) + 10) > 1.9)


def test_novelty_of_few_rows_and_of_streams():
    for n in (1, 3):
        alone = Novelty(np.random.default_rng(0))
        alone.add(np.zeros((n, 2)))  # one distinct row has no distance to another
        np.testing.assert_array_equal(alone.excess(np.ones((2, 2))), [0, 0])
    stream = Novelty(np.random.default_rng(0))
    for begin in range(0, 30_000, 3000):
        rows = np.arange(begin, begin + 3000.0)[:, None]
        stream.add(rows, -rows)
    assert len(stream.rows) == MOST_ROWS
    np.testing.assert_array_equal(stream.told, -stream.rows)  # what was told of a row stays with it
    parts = np.histogram(stream.rows, bins=10, range=(0, 30_000))[0]
    assert np.all(np.abs(parts - 100) < 45)  # each batch alike: standard deviation 9.5
    copy = pickle.loads(pickle.dumps(stream))
    X = np.linspace(-1e4, 4e4, 50)[:, None]
    np.testing.assert_array_equal(copy.excess(X), stream.excess(X))


def test_intervals_widen_in_a_gap_and_beyond_the_rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 3, (200, 1)) * rng.choice([-1, 1], (200, 1))
    noise, at = 50 * rng.normal(size=200), np.array([[2.0], [0.0], [6.0]])
    y = 1000 * np.sin(4 * X[:, 0]) + noise
    settings = {"max_iter": 60, "gaussian_process": False, "random_state": 0}
    model = UDNRegressor(**settings).fit(X, y)
    _, std = model.predict(at, return_std=True)
    assert std[1] > 1.5 * y.std()  # more than a period of which nothing is known
    assert std[2] > 1.5 * y.std()
    y = 1000 * np.sin(X[:, 0]) + noise
    model.fit(X, y)
    mean, std = model.predict(at, return_std=True)
    assert abs(mean[1]) < 2 * std[1] < y.std()  # a third of a period: what is at the edges tells
    assert std[2] > 1.5 * y.std()
    plain = UDNRegressor(normalize_y=False, **settings)
    _, plain_std = plain.fit(X, y / 1000).predict(at, return_std=True)
    assert plain_std[2] > 1.5 * y.std() / 1000
    own_units = UDNRegressor(normalize_X=False, **settings).fit(X, y)
    assert own_units.predict(at, return_std=True)[1][2] < std[2] - y.std() / 2
    for _ in range(5):
        model.partial_fit(np.linspace(5.5, 6.5, 100)[:, None], np.zeros(100))
    _, later = model.predict(at, return_std=True)
    assert later[2] < std[2] - y.std() / 2  # there are rows now


def test_predictions_end_at_a_level_beyond_the_rows():
    X, y = wave()
    far = np.array([[50.0], [500.0], [-50.0], [-500.0]])
    mean = UDNRegressor(max_iter=20, random_state=0).fit(X, y).predict(far)
    np.testing.assert_allclose(mean[[0, 2]], mean[[1, 3]])
    p = UDNClassifier(max_iter=20, random_state=0).fit(X, y > 0).predict_proba(far)
    np.testing.assert_allclose(p[[0, 2]], p[[1, 3]])

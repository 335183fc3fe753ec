"""Away from the rows: where another law speaks, in which distances, and in all kinds of answers."""

import pickle

import numpy as np
import pytest

from skbayesnn import DeepWishartRegressor
from skbayesnn.gaussian_process.tails import MASSES
from skbayesnn.training.unseen import SmoothLaw


def gap(n=120, seed=0):
    """One input, none of it in (-1, 1)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(1, 3, (n, 1)) * rng.choice([-1, 1], (n, 1))
    return X, 5 + np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)


def quick(**options):
    defaults = {"max_iter": 30, "n_inducing": 15, "n_posterior_draws": 10, "random_state": 0}
    return DeepWishartRegressor(**{**defaults, **options})


@pytest.fixture(scope="module")
def fitted():
    return quick().fit(*gap())


def test_among_the_rows_nothing_changes(fitted):
    X, _ = gap(seed=1)
    X = X[(np.abs(X[:, 0]) > 1.1) & (np.abs(X[:, 0]) < 2.9)]
    both = fitted.predict_distribution(X)
    other = pickle.loads(pickle.dumps(fitted))
    other._model.elsewhere = None
    alone = other.predict_distribution(X)
    # But for rows next to an end, whose chance is tiny.
    np.testing.assert_allclose(both.mean(), alone.mean(), rtol=1e-5)
    np.testing.assert_allclose(both.quantile(0.05), alone.quantile(0.05), rtol=1e-4)


def test_in_the_middle_of_a_gap_the_other_law_speaks(fitted):
    """Its moments are those of the law given the rows in their own units."""
    X, y = gap()
    units = X.std()
    law = SmoothLaw((X - X.mean()) / units, y[:, None], np.ones(len(y)))
    weights, means, variances = law((np.array([[0.0]]) - X.mean()) / units)
    mixture = fitted.predict_distribution([[0.0]])
    mean = weights @ means[0, 0]
    np.testing.assert_allclose(mixture.mean(), mean, rtol=1e-6)
    variance = weights @ (variances[0, 0] + (means[0, 0] - mean) ** 2)
    # The law is given rows rounded to a millionth of their range.
    np.testing.assert_allclose(mixture.var(), variance, rtol=2e-4)


@pytest.mark.parametrize("normalize_X", [True, False])
def test_an_input_that_does_nothing_may_leave_its_range(normalize_X):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (150, 2))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=150)
    model = quick(normalize_X=normalize_X).fit(X, y)
    near, far = model.predict_distribution([[0.2, 1.3], [1.3, 0.2]]).std()
    assert near < 0.2 < far


def test_more_inputs_than_slopes_are_taken_of():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (150, 25))
    model = quick(max_iter=60).fit(X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=150))
    model.predict(X[:2])
    units = model._model.elsewhere.units * X.std(axis=0)
    assert np.argmax(units) == 0
    assert np.median(units) < 0.3 * units[0]


@pytest.mark.parametrize("output", ["exact", "sparse", "inducing"])
def test_joint_draws_have_the_law_of_each_row(output):
    X, y = gap()
    model = quick(output=output, max_iter=60).fit(X, y)
    new = np.array([[-2.0], [-0.8], [0.0], [4.0]])
    mixture = model.predict_distribution(new)
    draws = model.sample_y(new, 4000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=1), mixture.mean(), atol=0.1)
    np.testing.assert_allclose(draws.std(axis=1), mixture.std(), rtol=0.1)


def test_several_targets_in_units_of_their_own():
    X, y = gap()
    model = quick().fit(X, np.column_stack([y, 1000 * y + 3]))
    first, second = model.predict_distribution([[0.0], [2.0]])
    assert first.std()[0] > 2 * first.std()[1]
    np.testing.assert_allclose(second.mean(), 1000 * first.mean() + 3, rtol=0.05)
    np.testing.assert_allclose(second.std(), 1000 * first.std(), rtol=0.2)


def test_pickles_before_and_after_the_first_prediction_agree():
    model, new = quick().fit(*gap()), np.array([[0.0], [0.5]])
    before = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(new), before.predict(new))
    after = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(new), after.predict(new))


def test_a_stream_has_no_other_law():
    X, y = gap()
    model = quick().fit(X, y)
    model.partial_fit(X, y)
    assert model.predict_distribution([[0.0]]).means.shape == (1, 10 * len(MASSES))

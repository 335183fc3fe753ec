"""Where no row is near, another law speaks, in draws as well."""

import copy

import numpy as np
import pytest
from sip_models import SMALL, wave

from skbayesnn.sip import SIPRegressor
from skbayesnn.training.unseen import Unseen

FAR = np.array([[8.0], [-8.0]])


@pytest.fixture(scope="module", params=[True, False])
def fitted(request):
    X, y = wave()
    y = 3.0 * (y - y.mean())  # so that its variance is not one where its units are kept
    options = {**SMALL, "normalize_y": request.param, "max_iter": 30, "random_state": 0}
    return SIPRegressor(**options).fit(X, y), X, y


def without_rows(model):
    """The same networks, which have seen no rows."""
    near = copy.copy(model)
    near._unseen = Unseen(np.random.default_rng(0))
    return near


def test_far_away_intervals_have_the_spread_of_y(fitted):
    model, _, y = fitted
    _, std = model.predict(FAR, return_std=True)
    assert np.all((std > y.std()) & (std < 5 * y.std()))


def test_among_the_rows_the_networks_speak(fitted):
    model, X, _ = fitted
    law, own = model.predict_distribution(X), without_rows(model).predict_distribution(X)
    np.testing.assert_array_equal(law.means, own.means)
    np.testing.assert_array_equal(law.variances, own.variances)


def test_draws_follow_it_too(fitted):
    model, X, _ = fitted
    at = np.array([[X.max() + 0.05 * np.ptp(X)], [8.0]])  # some of both laws, and one alone
    chance, _ = model._unseen(model._placed(at))
    assert 0.1 < chance[0] < 0.95
    assert chance[1] == 1
    draws = model.sample_y(at, 4000, random_state=0)
    levels = (0.1, 0.5, 0.9)
    quantiles = model.predict_distribution(at).quantile(np.array(levels))
    below = np.mean(draws[:, :, None] < quantiles[:, None], axis=1)
    # Draws of the posterior are new ones, the mixture has 100: 0.05 is a standard error of each.
    np.testing.assert_allclose(below[0], levels, atol=0.15)
    # Four standard errors of 4000 independent draws.
    np.testing.assert_allclose(below[1], levels, atol=4 * np.sqrt(0.25 / 4000))


def test_a_stream_remembers_where_its_rows_were():
    X, y = wave(300)
    left, right = X[:, 0] < 0, X[:, 0] >= 0
    model = SIPRegressor(**SMALL, random_state=0).partial_fit(X[left], y[left])
    at = np.array([[1.5]])
    assert model._unseen(model._placed(at))[0] > 0.99
    model.partial_fit(X[right], y[right])
    assert model._unseen(model._placed(at))[0] == 0


def test_an_input_that_does_nothing_may_go_far():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 2))
    y = 2 * X[:, 0] + 0.1 * rng.normal(size=300)
    model = SIPRegressor(**SMALL, random_state=0).fit(X, y)
    _, std = model.predict(np.array([[0.5, 0.0], [0.5, 2.0], [2.0, 0.0]]), return_std=True)
    assert std[1] < 0.5 * std[2]


def test_inputs_in_units_of_their_own_have_no_distances():
    X, y = wave()
    model = SIPRegressor(**SMALL, max_iter=2, normalize_X=False, random_state=0).fit(X, y)
    law, own = model.predict_distribution(FAR), without_rows(model).predict_distribution(FAR)
    np.testing.assert_array_equal(law.variances, own.variances)

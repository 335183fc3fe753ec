"""Where no row is near, the variance of the target is added, to draws as well."""

import copy

import numpy as np
import pytest
from sip_models import SMALL, wave

from skbayesnn.sip import SIPRegressor
from skbayesnn.training.novelty import Novelty

FAR = np.array([[8.0], [-8.0]])


@pytest.fixture(scope="module", params=[True, False])
def fitted(request):
    X, y = wave()
    y = 3.0 * (y - y.mean())  # so that its variance is not one where its units are kept
    options = {**SMALL, "normalize_y": request.param, "max_iter": 30, "random_state": 0}
    return SIPRegressor(**options).fit(X, y), X, y


def added(model, X):
    """Variance of the prediction above that of the model's own mixture, in the units of y."""
    own = model._mixture(model._predictor, model._scaled(X)).scaled(model._y_offset, model._y_scale)
    return model.predict_distribution(X).variances[:, 0] - own.variances[:, 0]


def test_far_away_it_is_twice_the_variance_of_y(fitted):
    model, _, y = fitted
    np.testing.assert_allclose(added(model, FAR), 2 * y.var(), rtol=1e-6)


def test_among_the_rows_nothing_is_added(fitted):
    model, X, _ = fitted
    np.testing.assert_allclose(added(model, X), 0.0, atol=1e-9)


def test_draws_have_it_too(fitted):
    model, _, y = fitted
    near = copy.copy(model)
    near._novelty = Novelty(np.random.default_rng(0))  # which has seen no rows, and adds nothing
    np.testing.assert_allclose(added(near, FAR), 0.0, atol=1e-9)
    # The same functions and the same normal variables, of another size.
    wider = model.sample_y(FAR, 4000, random_state=0) - near.sample_y(FAR, 4000, random_state=0)
    noise = model.noise_variance_
    expected = np.sqrt(noise + 2 * y.var()) - np.sqrt(noise)
    # Four standard errors of a standard deviation from 4000 draws are 0.045 of it.
    np.testing.assert_allclose(wider.std(axis=1), expected, rtol=0.045)


def test_a_stream_remembers_where_its_rows_were():
    X, y = wave(300)
    left, right = X[:, 0] < 0, X[:, 0] >= 0
    model = SIPRegressor(**SMALL, random_state=0).partial_fit(X[left], y[left])
    at = np.array([[1.5]])
    before = added(model, at)
    assert before > 0.5 * model._y_variance * model._y_scale**2
    model.partial_fit(X[right], y[right])
    assert added(model, at) < 0.01 * before


def test_inputs_in_units_of_their_own_have_no_distances():
    X, y = wave()
    model = SIPRegressor(**SMALL, max_iter=2, normalize_X=False, random_state=0).fit(X, y)
    np.testing.assert_allclose(added(model, FAR), 0.0, atol=1e-9)

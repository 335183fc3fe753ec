"""The Gaussian process in the pool of ``SIPRegressor``."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from scipy.stats import kstest

from skbayesnn import SIPRegressor
from skbayesnn.training.beside import Taken

QUICK = {"max_iter": 20, "n_draws": 20, "width": 10, "n_networks": 2, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(150, 2))
    return X, 100 + 10 * np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=150)


@pytest.fixture(scope="module")
def model(rows):
    return SIPRegressor(**QUICK).fit(*rows)


def test_predictions_are_the_pool_of_networks_and_processes(rows, model):
    X, y = rows
    alone = SIPRegressor(gaussian_process=False, **QUICK).fit(X, y)
    assert alone.gaussian_process_weight_ == 0
    weight = model.gaussian_process_weight_
    assert weight > 0.5  # few epochs make poor networks of a smooth function
    parts = [member.gaussian_process_weight_ for member in model.estimators_]
    assert parts[0] == parts[1] == pytest.approx(weight)
    known = (1 - weight) * np.exp(alone.log_predictive_density(X, y))
    for m in model.estimators_:
        for taken in m._process.taken[0]:
            law = taken.law(m._scaled(X), m._means(m._scaled(X))[:, 0])
            law = law.scaled(m._y_offset, m._y_scale)
            known += taken.part / len(model.estimators_) * np.exp(law.logpdf(y))
    seen = np.max([m._unseen(m._placed(X))[0] for m in model.estimators_], axis=0) == 0
    assert seen.mean() > 0.9
    found = model.log_predictive_density(X, y)
    np.testing.assert_allclose(found[seen], np.log(known)[seen], rtol=1e-6)
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(stored.predict(X), model.predict(X))


def test_each_row_of_the_draws_follows_the_prediction(rows, model):
    X = np.array([[0.3, 0.1], [1.5, -1.0], [4.0, 4.0]])
    draws = model.sample_y(X, n_samples=4000, random_state=1)
    law = model.predict_distribution(X)
    for i in range(3):
        assert kstest(draws[i], lambda v, i=i: law[[i] * len(v)].cdf(v)).pvalue > 1e-3


def test_draws_of_the_process_are_functions(model):
    one = deepcopy(model.estimators_[0])
    process = one._process.taken[0][0].process
    one._process.taken[0] = [Taken(process, 0.0, 1.0, 1.0)]
    one._unseen = lambda X: (np.zeros(len(X)), None)  # it alone speaks, away from the rows, too
    X = np.array([[2.6, 2.6], [2.61, 2.6]])
    noise = process.scale**2 * np.exp(process.settings[-1])
    function = process(one._scaled(X)).var()[0] - noise
    assert function > noise
    draws = one.sample_y(X, n_samples=4000, random_state=0) / one._y_scale
    np.testing.assert_allclose(np.cov(draws)[0, 1], function, rtol=0.1)
    np.testing.assert_allclose(np.var(draws[0] - draws[1]), 2 * noise, rtol=0.1)


def test_each_target_has_its_own_weight(rows):
    X, y = rows
    rng = np.random.default_rng(1)
    model = SIPRegressor(**{**QUICK, "n_networks": 1})
    model.fit(X, np.column_stack([y, rng.choice([-1.0, 1.0], size=150)]))
    assert model.gaussian_process_weight_.shape == (2,)
    assert model.gaussian_process_weight_[0] > model.gaussian_process_weight_[1]


@pytest.mark.parametrize(
    "settings", [{"normalize_X": False}, {"early_stopping": False}, {"gaussian_process": False}]
)
def test_where_there_is_none(rows, settings):
    model = SIPRegressor(**QUICK, **settings).fit(*rows)
    assert model.gaussian_process_weight_ == 0


def test_a_stream_has_none_and_takes_it_away(rows):
    X, y = rows
    one = SIPRegressor(**{**QUICK, "n_networks": 1})
    assert one.partial_fit(X, y).gaussian_process_weight_ == 0
    assert one.fit(X, y).gaussian_process_weight_ > 0
    assert one.partial_fit(X, y).gaussian_process_weight_ == 0


@pytest.mark.parametrize("value", [None, "yes", 2])
def test_it_is_on_or_off(rows, value):
    with pytest.raises(ValueError, match="'gaussian_process' parameter of SIPRegressor"):
        SIPRegressor(gaussian_process=value).fit(*rows)


def test_nothing_is_kept_of_processes_that_were_not_chosen(rows, model):
    X, y = rows
    alone = SIPRegressor(**{**QUICK, "n_networks": 1}).fit(X, y)
    of_targets = SIPRegressor(**{**QUICK, "n_networks": 1}).fit(X, np.column_stack([y, -y]))
    for each in (alone, *of_targets.estimators_, *model.estimators_):
        assert each._process.candidates is None

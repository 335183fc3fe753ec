"""Weights of a stack that vary with the inputs."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import approx_fprime, minimize
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from skbayesnn import StackingDistributionRegressor
from skbayesnn.metrics import log_predictive_density_scorer
from skbayesnn.pooling import varying
from skbayesnn.pooling.varying import VaryingWeights, minus_log_posterior, number_columns
from skbayesnn.pooling.weights import log_score_weights


def of_column(j):
    """A line through one column alone."""
    return make_pipeline(FunctionTransformer(np.take, kw_args={"indices": [j], "axis": 1}), RIDGE)


RIDGE = BayesianRidge()
MEMBERS = [("low", of_column(0)), ("high", of_column(1))]


def two_worlds(n, seed=0):
    """The first column makes the target where the third is below zero, the second elsewhere."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 2] < 0, X[:, 0], X[:, 1]) + 0.1 * rng.normal(size=n)
    return X, y


def densities(n=300, seed=0):
    """Log densities of three members, inputs, and weights of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return rng.normal(size=(3, n)) + 1.5 * np.array([[1.0], [0.0], [-1.0]]) * X[:, 0], X


def fitted(scores, X, rows=None):
    return VaryingWeights(scores, X, number_columns(X), log_score_weights(scores, rows), rows)


def test_the_gradient_is_that_of_the_objective():
    scores, X = densities(20)
    rng = np.random.default_rng(1)
    at, rows = rng.normal(size=9), rng.uniform(0.5, 2.0, 20)
    arguments = scores, X, rows, 2.0
    gradient = minus_log_posterior(at, *arguments)[1]
    numerical = approx_fprime(at, lambda t: minus_log_posterior(t, *arguments)[0], 1e-7)
    np.testing.assert_allclose(gradient, numerical, atol=1e-6)


def test_the_objective_is_the_posterior():
    scores, X = densities(20)
    at = np.random.default_rng(1).normal(size=9)
    b, slopes = at[:3], at[3:].reshape(3, 2)
    total = 0.0
    for i in range(20):
        odds = np.exp([b[k] + slopes[k] @ X[i] for k in range(3)])
        total += np.log(odds / odds.sum() @ np.exp(scores[:, i]))
    total += stats.norm.logpdf(slopes, 0, np.sqrt(1 / 2)).sum()
    total += stats.norm.logpdf(b - b.mean(), 0, np.sqrt(10)).sum()
    # Up to the constants of the two priors.
    total += 6 * 0.5 * np.log(2 * np.pi / 2) + 3 * 0.5 * np.log(2 * np.pi * 10)
    value = minus_log_posterior(at, scores, X, np.ones(20), 2)[0]
    assert -20 * value == pytest.approx(total, rel=1e-12)


def test_the_member_that_is_right_somewhere_has_the_weight_there():
    X, y = two_worlds(400)
    new, y_new = two_worlds(2000, 1)
    model = StackingDistributionRegressor(MEMBERS, random_state=0).fit(X, y)
    constant = StackingDistributionRegressor(MEMBERS, varying_weights=False, random_state=0)
    constant.fit(X, y)
    weights = model.member_weights(new)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert weights[new[:, 2] < -1, 0].min() > 0.8
    assert weights[new[:, 2] > 1, 1].min() > 0.8
    scores = [log_predictive_density_scorer(m, new, y_new) for m in (model, constant)]
    assert scores[0] > scores[1] + 0.1
    np.testing.assert_allclose(model.weights_, model.member_weights(X).mean(axis=0))
    np.testing.assert_array_equal(constant.member_weights(X), np.tile(constant.weights_, (400, 1)))


def test_the_pool_has_the_weights_of_each_row():
    X, y = two_worlds(100)
    for refit in (True, False):
        model = StackingDistributionRegressor(
            MEMBERS, adjust_spread=False, refit=refit, random_state=0
        ).fit(X, y)
        parts = []
        for fits in model.estimators_:
            laws = [m.predict(X[:7], return_std=True) for m in ([fits] if refit else fits)]
            parts.append(np.mean([stats.norm.pdf(y[:7], *law) for law in laws], axis=0))
        expected = np.sum(model.member_weights(X[:7]).T * parts, axis=0)
        got = np.exp(model.log_predictive_density(X[:7], y[:7]))
        np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_draws_follow_the_weights_of_each_row():
    X, y = two_worlds(100)
    model = StackingDistributionRegressor(MEMBERS, random_state=0).fit(X, y)
    rows = X[np.argsort(X[:, 2])[[0, 50, -1]]]
    law, draws = model.predict_distribution(rows), model.sample_y(rows, 4000, random_state=0)
    for row in range(3):
        uniform = law[[row] * 4000].cdf(draws[row])
        assert stats.kstest(uniform, "uniform").pvalue > 1e-3


def test_inputs_that_tell_nothing_leave_the_weights_nearly_constant():
    rng = np.random.default_rng(0)
    scores = rng.normal([[0.5], [0.0], [-0.5]], 1.0, (3, 4000))
    X = rng.normal(size=(4000, 3))
    weights = fitted(scores, X)(X)
    np.testing.assert_allclose(weights.mean(axis=0), log_score_weights(scores), atol=0.02)
    assert weights.std(axis=0).max() < 0.06


def test_widths_of_the_prior_share_by_what_they_predict():
    rng = np.random.default_rng(3)
    x = rng.permutation(30) / 10.0
    z = (x - x.mean()) / x.std()
    scores = np.array([1.5 * z, np.zeros(30)]) + 0.5 * rng.normal(size=(2, 30))
    model = fitted(scores, x[:, None])
    # Two members: the log odds are a line, with a prior variance of slopes of 2 s², and of the
    # intercept of 2 * 2 * 10 / 2, since b - mean(b) counts twice.
    totals = np.zeros(5)
    for fold in range(5):
        test = np.argsort(np.argsort(x)) % 5 == fold
        for i, width in enumerate([10**-0.5, 10**-0.25, 1.0, 10**0.25, 10**0.5]):

            def score(line, rows):
                weight = 1 / (1 + np.exp(-line[0] - line[1] * z[rows]))
                return np.log(
                    weight * np.exp(scores[0, rows]) + (1 - weight) * np.exp(scores[1, rows])
                )

            def loss(line, train=~test, width=width):
                prior = 0.5 * line[1] ** 2 / (2 * width**2) + 0.5 * line[0] ** 2 / 20
                return prior - score(line, train).sum()

            totals[i] += score(minimize(loss, np.zeros(2), tol=1e-8).x, test).sum()
    expected = np.exp(totals - totals.max())
    expected /= expected.sum()
    np.testing.assert_allclose(model.shares_, expected, atol=0.01)
    # The widest of them are wanted here, and none where the inputs tell nothing.
    assert model.shares_[-1] > model.shares_[0]
    useless = fitted(rng.normal(size=(2, 1000)), rng.normal(size=(1000, 1)))
    assert useless.shares_[0] > useless.shares_[-1]


def test_units_of_the_inputs_do_not_matter():
    scores, X = densities()
    moved = X * [1e3, 1e-6] + [5.0, -1e-3]
    np.testing.assert_allclose(fitted(scores, moved)(moved), fitted(scores, X)(X), atol=1e-3)


def test_columns_without_information_change_nothing():
    scores, X = densities()
    wide = np.column_stack([X, np.full(300, 7.0), np.full(300, np.nan)])
    np.testing.assert_allclose(fitted(scores, wide)(wide), fitted(scores, X)(X), atol=1e-3)
    # A value that is missing counts as the mean; beyond three deviations is as three.
    model = fitted(scores, X)
    rows = np.array([[np.nan, 0.0], [X[:, 0].mean(), 0.0], [1e9, 0.0], [1e12, 0.0]])
    weights = model(rows)
    np.testing.assert_allclose(weights[0], weights[1], rtol=1e-12)
    np.testing.assert_array_equal(weights[2], weights[3])


def test_a_weight_is_so_many_rows():
    scores, X = densities(60)
    rows = np.tile([1.0, 2.0, 0.0], 20)
    twice = np.repeat(np.arange(60), rows.astype(int))
    np.testing.assert_allclose(
        fitted(scores, X, rows)(X), fitted(scores[:, twice], X[twice])(X), atol=1e-3
    )


def test_which_columns_are_numbers():
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [0.5, 1.5], "d": [True, False]})
    frame["e"] = pd.Categorical([1, 2])
    frame["f"] = pd.array([1, None], dtype="Int64")
    assert list(number_columns(frame)) == [0, 2, 3, 5]
    assert list(number_columns([[1, 2.0], [3, 4]])) == [0, 1]
    assert number_columns(frame[["b"]]) is None
    assert number_columns(csr_array(np.eye(2))) is None
    assert number_columns(np.array([["a", "b"]])) is None


def test_a_frame_and_what_has_no_numbers():
    X, y = two_worlds(60)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e="x", f=pd.array([None] * 60, "Int64"))
    members = [
        (name, make_pipeline(FunctionTransformer(_named, kw_args={"names": [name]}), RIDGE))
        for name in "ab"
    ]
    model = StackingDistributionRegressor(members, random_state=0).fit(frame, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.member_weights(frame), model.member_weights(frame))
    assert np.ptp(model.member_weights(frame)[:, 0]) > 0.01
    sparse = StackingDistributionRegressor([("a", Ridge()), ("b", Ridge(100.0))], random_state=0)
    sparse.fit(csr_array(X), y)
    assert np.ptp(sparse.member_weights(csr_array(X)), axis=0).max() == 0.0


def _named(frame, names):
    return frame[names].to_numpy()


def test_the_crps_has_constant_weights():
    X, y = two_worlds(100)
    model = StackingDistributionRegressor(MEMBERS, objective="crps", random_state=0).fit(X, y)
    assert np.ptp(model.member_weights(X), axis=0).max() == 0.0


def test_a_search_that_ends_too_early_is_told(monkeypatch):
    scores, X = densities()
    monkeypatch.setattr(varying, "_MAX_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="stacking weights did not converge"):
        fitted(scores, X)

"""The forest's distribution: its weights and moments by hand, its smoothing, awkward data."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.sparse import csr_array
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn import StackingDistributionRegressor
from skbayesnn.metrics import crps_scorer
from skbayesnn.pooling.forest import N_COMPONENTS, ForestDistributionRegressor

_BOOTSTRAP = "rows are drawn at random, as in scikit-learn's forest: equal on average only"


def data(n=150, seed=0):
    """A jump and noise that grows with the second input."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.where(X[:, 0] > 0, 3.0, 0.0) + (0.3 + 0.2 * X[:, 1]) * rng.normal(size=n)


def forest(**parameters):
    return ForestDistributionRegressor(30, random_state=0, **parameters)


@parametrize_with_checks(
    [forest()],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": _BOOTSTRAP,
        "check_sample_weight_equivalence_on_sparse_data": _BOOTSTRAP,
    },
)
def test_sklearn(estimator, check):
    check(estimator)


def weights_by_hand(model, X, y, row, trees):
    """Weights of the training targets of one row: the mean over trees of shares of its leaf."""
    X, row = model._scaled(X), model._scaled(row[None])
    trained, (own,) = model.forest_.apply(X), model.forest_.apply(row)
    weights = np.zeros(len(y))
    for t in trees:
        inside = np.zeros(len(y))
        for i in model.forest_.estimators_samples_[t]:
            inside[i] += trained[i, t] == own[t]
        weights += inside / inside.sum() / len(trees)
    return weights


def test_the_moments_are_those_of_the_weighted_targets():
    X, y = data()
    new = data(5, 1)[0]
    model = forest().fit(X, y)
    model.shrinkage_, model.width_ = 1.0, 0.0  # the least width remains
    law = model.predict_distribution(new)
    stray = 1.0 / (len(y) + 1)
    for row, mean, variance in zip(new, law.mean(), law.var(), strict=True):
        w = weights_by_hand(model, X, y, row, range(30))
        m, v = w @ y, w @ (y - w @ y) ** 2 + (1e-3 * y.std()) ** 2
        expected = (1 - stray) * m + stray * y.mean()
        assert mean == pytest.approx(expected, rel=1e-6)
        v = (1 - stray) * (v + (m - expected) ** 2)
        v += stray * (y.var() + (y.mean() - expected) ** 2)
        assert variance == pytest.approx(v, rel=1e-6)


def test_a_row_far_outside_costs_tens_of_nats_and_not_tens_of_thousands():
    """Cauchy noise: with a Gaussian for what the forest never saw, the least log density was -28112
    and the mean -30.9; they are -34.2 and -1.96."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (1400, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_cauchy(1400)
    law = ForestDistributionRegressor(random_state=0).fit(X[:400], y[:400])
    log_densities = law.predict_distribution(X[400:]).logpdf(y[400:])
    assert np.abs(y[400:]).max() > 100 * y[:400].std()
    assert log_densities.min() > -50
    assert log_densities.mean() > -2.5


def test_parts_are_means_of_sorted_targets_of_equal_weight():
    X, y = data()
    new = data(3, 1)[0]
    model = forest().fit(X, y)
    model.shrinkage_, model.width_ = 1.0, 0.0
    order = np.argsort(y)
    means = model.predict_distribution(new).means[:, :N_COMPONENTS]
    for row, got in zip(new, means, strict=True):
        w = weights_by_hand(model, X, y, row, range(30))[order]
        # The quantile function, averaged over each hundredth by its values on a fine grid.
        levels = (np.arange(N_COMPONENTS * 1000) + 0.5) / (N_COMPONENTS * 1000)
        values = y[order][np.minimum(np.searchsorted(np.cumsum(w), levels), len(y) - 1)]
        expected = values.reshape(N_COMPONENTS, -1).mean(axis=1)
        np.testing.assert_allclose(got, expected, atol=2e-3 * np.ptp(y))


def test_rows_judge_under_trees_that_did_not_see_them():
    X, y = data(60)
    model = forest().fit(X, y)
    drawn = [np.unique(rows) for rows in model.forest_.estimators_samples_]
    z = (y - y.mean()) / y.std()
    scores = []
    for i in range(60):
        trees = [t for t in range(30) if i not in drawn[t]]
        assert trees
        w = weights_by_hand(model, X, z, X[i], trees)
        mean = w @ z
        spread = np.sqrt(w @ (z - mean) ** 2)
        widths = max(model.width_ * max(spread, 1e-3) ** model.exponent_, 1e-3)
        centres = mean + model.shrinkage_ * (z - mean)
        density = w @ stats.norm.pdf(z[i], centres, widths) * 60 / 61 + stats.norm.pdf(z[i]) / 61
        scores.append(np.log(density) - np.log(y.std()))
    # A hundred parts instead of the targets themselves cost next to nothing.
    assert model.oob_log_density_ == pytest.approx(np.mean(scores), abs=0.01)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_judges_are_right_about_new_rows(seed):
    X, y = data(1500, seed)
    model = ForestDistributionRegressor(100, random_state=0).fit(X, y)
    new, y_new = data(4000, seed + 10)
    score = model.log_predictive_density(new, y_new).mean()
    assert score == pytest.approx(model.oob_log_density_, abs=0.1)
    truth = stats.norm.logpdf(y_new, np.where(new[:, 0] > 0, 3.0, 0.0), 0.3 + 0.2 * new[:, 1])
    assert truth.mean() - 0.35 < score < truth.mean()
    low, high = model.predict_interval(new).T
    assert 0.86 < np.mean((low <= y_new) & (y_new <= high)) < 0.95


def test_two_clusters_of_targets_stay_two():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    y = np.where(rng.random(800) < 0.5, -1.0, 1.0) + 0.1 * rng.normal(size=800)
    law = forest(min_samples_leaf=10).fit(X[:600], y[:600]).predict_distribution(X[600:])
    best_gaussian = stats.norm.logpdf(y[600:], y[600:].mean(), y[600:].std()).mean()
    assert law.logpdf(y[600:]).mean() > best_gaussian + 0.8


def test_targets_that_repeat_have_finite_densities():
    X, y = data()
    model = forest().fit(X, np.round(y))
    assert np.isfinite(model.log_predictive_density(X, np.round(y))).all()
    density = np.exp(model.predict_distribution(X).logpdf(np.round(y)))
    assert density.max() < 1 / (1e-3 * np.round(y).std())


def test_copies_of_a_row_do_not_judge_it():
    X, y = data(300)
    new, y_new = data(2000, 1)
    once = forest().fit(X, y).log_predictive_density(new, y_new).mean()
    twice = forest().fit(np.tile(X, (2, 1)), np.tile(y, 2)).log_predictive_density(new, y_new)
    assert twice.mean() > once - 0.15
    # Where there are copies only, they are what there is to go by.
    many = forest().fit(np.repeat([[0.0], [1.0]], 100, axis=0), np.repeat([0.0, 1.0], 100))
    assert many.oob_log_density_ > 4.0


def test_units_do_not_matter():
    X, y = data()
    # A power of two rounds nothing: rounding decides between splits of a tree that are as good.
    model, other = forest().fit(X, y), forest().fit(X, 2.0**40 * y)
    np.testing.assert_allclose(other.predict(X), 2.0**40 * model.predict(X), rtol=1e-12)
    assert other.oob_log_density_ == pytest.approx(model.oob_log_density_ - 40 * np.log(2.0))


@pytest.mark.parametrize(
    "X",
    [[[0.0]], np.zeros((20, 2)), np.repeat([[0.0, 1.0]], 3, axis=0), np.full((5, 1), np.nan)],
    ids=["one row", "constant", "equal rows", "missing"],
)
def test_awkward_tables(X):
    law = forest().fit(X, np.full(len(X), 7.0)).predict_distribution(X)
    np.testing.assert_allclose(law.mean(), 7.0)
    assert np.isfinite(law.logpdf(7.0)).all()
    assert np.isfinite(forest().fit(X, np.arange(len(X))).predict_interval(X)).all()


def test_rows_of_no_weight_are_not_there():
    X, y = data()
    weights = np.where(np.arange(150) < 50, 0.0, 1.0)
    weighted = forest().fit(X, y, weights)
    alone = forest().fit(X[50:], y[50:], weights[50:])
    np.testing.assert_array_equal(weighted.predict(X), alone.predict(X))
    few = forest().fit(X, y, np.where(X[:, 0] > 0, 1.0, 1e-9))
    assert few.predict(X).min() > 1.5  # nearly all trees drew rows beyond the jump
    # Nor do targets of hardly any weight set the scale of what is unlike all targets.
    far = np.r_[y, 100.0 * y]
    weights = np.repeat([1.0, 1e-9], 150)
    ratio = forest().fit(np.r_[X, X], far, weights).predict_distribution(X).std()
    assert (ratio < 2 * forest().fit(X, y).predict_distribution(X).std().max()).all()


def test_frames_sparse_tables_copies_and_cores_change_nothing():
    X, y = data()
    X = np.where(X > 0.5, 0.0, X)
    expected = forest().fit(X, y).predict(X, quantiles=[0.1, 0.9])
    frame = pd.DataFrame(X, columns=["a", "b"])
    sparse = csr_array(X)
    for table, n_jobs in ((frame, None), (sparse, None), (X.tolist(), 2)):
        model = pickle.loads(pickle.dumps(forest(n_jobs=n_jobs).fit(table, y)))
        np.testing.assert_array_equal(model.predict(table, quantiles=[0.1, 0.9]), expected)
    many = np.tile(X, (8, 1))  # more rows than a block
    law = forest().fit(X, y).predict_distribution(many)
    np.testing.assert_array_equal(law.means[:150], law.means[1050:])


def test_in_a_search_and_in_a_stack():
    X, y = data()
    grid = {"min_samples_leaf": [2, 60]}
    search = GridSearchCV(forest(), grid, scoring=crps_scorer, cv=3, n_jobs=2).fit(X, y)
    assert search.best_params_ == {"min_samples_leaf": 2}
    members = [("forest", forest())]
    stack = StackingDistributionRegressor(members, cv=3, adjust_spread=False, random_state=0)
    stack.fit(X, y)
    expected = stack.estimators_[0].predict_distribution(X)
    np.testing.assert_allclose(stack.predict_distribution(X).logpdf(y), expected.logpdf(y))


@pytest.mark.parametrize(
    "parameters",
    [{"n_estimators": 0}, {"min_samples_leaf": 0}, {"point_estimate": "mode"}, {"n_jobs": "two"}],
)
def test_bad_parameters_are_named(parameters):
    X, y = data(20)
    (name,) = parameters
    with pytest.raises(ValueError, match=f"'{name}' parameter"):
        ForestDistributionRegressor(**parameters).fit(X, y)


def test_one_mistyped_target_does_not_widen_all_others():
    X, y = data()
    y[17] = 1e9
    with pytest.warns(UserWarning, match="y has 1 of 150 values so far outside"):
        model = forest().fit(X, y)
    new, truth = data(300, seed=1)
    low, high = model.predict_interval(new).T
    assert np.mean((low <= truth) & (truth <= high)) > 0.8
    # The other targets have a standard deviation of 1.6, given the inputs 0.3.
    assert np.median(high - low) < 3.0


def test_inputs_are_scaled_before_they_lose_digits():
    X, y = data()
    expected = forest().fit(X, y).predict(X)
    # Times in seconds since 1970, of which 1e9 leaves seven digits, and lengths of atoms in metres.
    for moved in (np.round(X, 6) + 1e9, X * 1e-12, X * 1e38):
        np.testing.assert_allclose(forest().fit(moved, y).predict(moved), expected, rtol=1e-3)
    gaps = np.c_[X, np.where(np.arange(150) % 3, np.nan, 1.0), np.full(150, np.nan)]
    assert np.isfinite(forest().fit(gaps, y).predict(gaps)).all()


def test_distributions_at_sparse_rows_are_scored():
    X, y = data()
    model = forest().fit(csr_array(X), y)
    assert model.log_predictive_density(csr_array(X), y).shape == (150,)
    law = model.predict_distribution(csr_array(X))
    np.testing.assert_array_equal(model.predict(X), law.mean())
    dense = forest().fit(X, y)
    np.testing.assert_array_equal(dense.predict(csr_array(X)), dense.predict(X))
    assert crps_scorer(model, csr_array(X), y) == pytest.approx(-law.crps(y).mean())


@pytest.mark.parametrize("name", ["n_estimators", "min_samples_leaf", "n_jobs"])
def test_its_parameters_are_its_own(name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of ForestDistributionRegressor"):
        forest().set_params(**{name: 2.5}).fit(*data())

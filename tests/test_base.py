"""The mixin on the smallest estimator there is."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from linear import BayesianLinear, linear_data
from scipy import stats
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn.metrics import crps_scorer

# Different enough that the components' means are apart.
THREE = (0.1, 30.0, 300.0)


@pytest.fixture
def data():
    return linear_data()


@pytest.fixture
def model(data):
    return BayesianLinear(THREE).fit(*data)


@parametrize_with_checks(
    [BayesianLinear(), BayesianLinear((0.1, 1.0, 10.0)), BayesianLinear(point_estimate="median")]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_one_component_is_the_conjugate_posterior_predictive(data):
    X, y = data
    model = BayesianLinear((2.0,)).fit(X, y)
    new = linear_data(seed=1)[0]
    Z = X - X.mean(axis=0)
    noise = np.mean((y - y.mean() - Z @ model.coefs_[0]) ** 2) + 1e-12
    # The predictive of a Gaussian process with kernel z'z noise / 2: the same model in
    # the space of functions.
    z = new - X.mean(axis=0)
    K = Z @ Z.T / 2.0 + np.eye(len(X))
    mean = y.mean() + z @ Z.T / 2.0 @ np.linalg.solve(K, y - y.mean())
    k = z @ Z.T / 2.0
    relative = 1 + (z * z).sum(axis=1) / 2.0 - (k * np.linalg.solve(K, k.T).T).sum(axis=1)
    got_mean, got_std = model.predict(new, return_std=True)
    np.testing.assert_allclose(got_mean, mean, rtol=1e-9)
    np.testing.assert_allclose(got_std, np.sqrt(noise * relative), rtol=1e-9)
    norm = stats.norm(mean, np.sqrt(noise * relative))
    levels = (0.05, 0.5, 0.99)
    expected = np.stack([norm.ppf(p) for p in levels], axis=1)
    np.testing.assert_allclose(model.predict(new, quantiles=levels), expected, rtol=1e-9)
    np.testing.assert_allclose(
        model.log_predictive_density(new, mean + 1), norm.logpdf(mean + 1), rtol=1e-9
    )


def test_the_keywords_and_the_methods_agree(model, data):
    X, y = data
    distribution = model.predict(X, return_distribution=True)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, distribution.mean())
    np.testing.assert_array_equal(mean, model.predict(X))
    np.testing.assert_array_equal(std, distribution.std())
    quantiles = model.predict(X, quantiles=(0.9, 0.1))
    np.testing.assert_array_equal(quantiles, distribution.quantile([0.9, 0.1]))
    np.testing.assert_array_equal(quantiles, model.predict_quantiles(X, (0.9, 0.1)))
    np.testing.assert_allclose(quantiles[:, ::-1], model.predict_interval(X, 0.8), rtol=1e-12)
    np.testing.assert_array_equal(
        model.predict_quantiles(X), distribution.quantile([0.05, 0.5, 0.95])
    )
    np.testing.assert_array_equal(model.predict_interval(X), distribution.interval(0.9))
    assert model.predict_quantiles(X, 0.5).shape == (60, 1)
    np.testing.assert_array_equal(model.log_predictive_density(X, y), distribution.logpdf(y))
    np.testing.assert_array_equal(model.sample_y(X, 5, 3), distribution.sample(5, 3))
    np.testing.assert_array_equal(model.sample_y(X), distribution.sample(1, 0))


def test_the_point_estimate(model, data):
    X, _ = data
    mean = model.predict(X)
    model.set_params(point_estimate="median")
    median, std = model.predict(X, return_std=True)
    np.testing.assert_array_equal(median, model.predict_quantiles(X, 0.5)[:, 0])
    np.testing.assert_array_equal(std, model.predict_distribution(X).std())
    assert np.abs(mean - median).max() > 0.01


@pytest.mark.parametrize(
    ("keywords", "named"),
    [
        ({"return_std": True, "quantiles": [0.5]}, "return_std and quantiles"),
        ({"quantiles": [0.5], "return_distribution": True}, "quantiles and return_distribution"),
        ({"return_std": True, "return_distribution": True}, "return_std and return_distribution"),
    ],
)
def test_two_keywords_are_refused_by_name(model, data, keywords, named):
    with pytest.raises(ValueError, match=f"only one of {named}"):
        model.predict(data[0], **keywords)


@pytest.mark.parametrize("levels", [0.0, 1, [0.5, np.nan], [], [[0.5]], [-0.1]])
def test_bad_levels(model, data, levels):
    X, _ = data
    with pytest.raises(ValueError, match=r"quantiles must be a number in the range \(0, 1\)"):
        model.predict(X, quantiles=levels)
    with pytest.raises(ValueError, match=r"quantiles must be a number in the range \(0, 1\)"):
        model.predict_quantiles(X, levels)


def test_bad_coverage_and_observations(model, data):
    X, y = data
    with pytest.raises(ValueError, match=r"coverage must be in the range \(0, 1\). Got 1"):
        model.predict_interval(X, 1)
    with pytest.raises(ValueError, match="y has 59 observations, inconsistent with 60"):
        model.log_predictive_density(X, y[:-1])
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="Input y contains"):
            model.log_predictive_density(X, np.where(y > 0, y, bad))
    with pytest.raises(ValueError, match="1d array"):
        model.log_predictive_density(X, np.column_stack([y, y]))


@pytest.mark.parametrize("n_samples", [0, -1, 2.5, True, None])
def test_bad_numbers_of_draws(model, data, n_samples):
    X = data[0]
    for draw in (lambda n: model.sample_y(X, n), model.predict_distribution(X).sample):
        with pytest.raises(ValueError, match=r"n_samples must be a positive int. Got"):
            draw(n_samples)


def test_everything_needs_a_fit(data):
    X, y = data
    model = BayesianLinear()
    for call in (
        model.predict,
        model.predict_quantiles,
        model.predict_interval,
        model.sample_y,
        lambda X: model.log_predictive_density(X, y),
    ):
        with pytest.raises(NotFittedError):
            call(X)


@pytest.mark.parametrize("routing", [False, True])
def test_the_keywords_pass_through_a_pipeline(data, routing):
    X, y = data
    with sklearn.config_context(enable_metadata_routing=routing):
        pipeline = make_pipeline(StandardScaler(), BayesianLinear(THREE)).fit(X, y)
        last, scaled = pipeline[-1], pipeline[0].transform(X)
        _, std = pipeline.predict(X, return_std=True)
        quantiles = pipeline.predict(X, quantiles=(0.1, 0.9))
        distribution = pipeline.predict(X, return_distribution=True)
    np.testing.assert_array_equal(std, last.predict(scaled, return_std=True)[1])
    np.testing.assert_array_equal(quantiles, last.predict_quantiles(scaled, (0.1, 0.9)))
    np.testing.assert_array_equal(distribution.means, last.predict_distribution(scaled).means)


def test_as_part_of_other_estimators(data):
    X, y = data
    target = TransformedTargetRegressor(BayesianLinear(), transformer=StandardScaler())
    assert target.fit(X, y).score(X, y) > 0.9
    with pytest.raises(TypeError, match="TransformedTargetRegressor transforms points"):
        crps_scorer(target, X, y)


def test_feature_names_clone_and_pickle(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = clone(BayesianLinear(THREE)).fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_quantiles(frame), model.predict_quantiles(frame))
    np.testing.assert_array_equal(
        model.log_predictive_density(frame, pd.Series(y)), model.log_predictive_density(frame, y)
    )


@pytest.mark.parametrize("container", [np.asarray, list, pd.DataFrame])
def test_many_rows_are_predicted_in_blocks(model, data, monkeypatch, container):
    X = container(data[0])
    expected = [model.predict(X), *model.predict(X, return_std=True), model.predict_interval(X)]
    monkeypatch.setattr("skbayesnn._blocks.ROWS_A_BLOCK", 7)
    sizes = []
    predict = model.predict_distribution
    model.predict_distribution = lambda rows: sizes.append(len(rows)) or predict(rows)
    got = [model.predict(X), *model.predict(X, return_std=True), model.predict_interval(X)]
    # Draws come block by block: other ones, of as many rows, and the same again from a seed.
    draws = model.sample_y(X, 4)
    assert draws.shape == (60, 4)
    assert np.unique(draws).size == 240
    np.testing.assert_array_equal(draws, model.sample_y(X, 4))
    assert max(sizes) == 7
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_row_does_not_depend_on_the_others(model, data):
    X, _ = data
    some = np.random.default_rng(0).permutation(len(X))[:20]
    # The fake's own products may differ in the last bit with the shape of X.
    for method in (model.predict, model.predict_quantiles, model.predict_interval):
        np.testing.assert_allclose(method(X[some]), method(X)[some], rtol=1e-12)

"""What scikit-learn's tools and users expect of every estimator alike."""

import numpy as np
import pytest
import sklearn
from quick import CLASSIFIERS, REGRESSORS, name
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import skbayesnn
from skbayesnn.metrics import crps_scorer

ALL = [*CLASSIFIERS, *REGRESSORS]
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::sklearn.exceptions.FitFailedWarning",
)
every = pytest.mark.parametrize("estimator", ALL, ids=name)


def data(estimator, n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)
    return X, (y > 0).astype(int) if is_classifier(estimator) else y


def predicted(estimator, X):
    return getattr(estimator, "predict_proba", estimator.predict)(X)


def test_every_public_estimator_is_here():
    assert {name(estimator) for estimator in ALL} == {*skbayesnn.__all__} - {"show_versions"}


@every
def test_options_may_be_scalars_of_numpy(estimator):
    """``ParameterGrid`` turns arrays of options into them."""

    def of_numpy(value):
        kinds = {bool: np.bool_, str: np.str_, int: np.int64, float: np.float64}
        return kinds[type(value)](value) if type(value) in kinds else value

    X, y = data(estimator)
    given = clone(estimator)
    given.set_params(**{k: of_numpy(v) for k, v in estimator.get_params(deep=False).items()})
    expected = predicted(clone(estimator).fit(X, y), X)
    np.testing.assert_array_equal(predicted(given.fit(X, y), X), expected)


@pytest.mark.parametrize(
    ("estimator", "grid"),
    [
        ("StableNNRegressor", {"point_estimate": ["median", "mean"], "normalize_X": [True, False]}),
        ("UDNRegressor", {"layer_generator": ["dense", "residual"], "max_iter": [2, 3]}),
        ("UDNClassifier", {"schedule": ["cosine", "drop"], "early_stopping": [True, False]}),
        ("SIPRegressor", {"prior": ["bnn", "sampler"]}),
        ("DeepWishartClassifier", {"n_layers": [0, 1], "normalize_X": [True, False]}),
        ("DeepWishartRegressor", {"posterior": ["gw", "dgp"], "normalize_y": [True, False]}),
    ],
)
def test_a_grid_search_over_arrays(estimator, grid):
    (model,) = (e for e in ALL if name(e) == estimator)
    arrays = {key: np.array(values) for key, values in grid.items()}
    X, y = data(model)
    search = GridSearchCV(model, arrays, cv=2, error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@every
def test_a_weight_of_zero_is_no_row(estimator):
    X, y = data(estimator)
    weights = np.where(np.arange(40) % 4 == 0, 0.0, 1.0)
    there = weights > 0
    weighted = clone(estimator).fit(X, y, sample_weight=weights)
    alone = clone(estimator).fit(X[there], y[there], sample_weight=weights[there])
    np.testing.assert_allclose(predicted(weighted, X), predicted(alone, X), rtol=1e-9, atol=1e-12)


@every
def test_weights_in_cross_validation_reach_fits_and_scores(estimator):
    X, y = data(estimator)
    weights = np.random.default_rng(0).integers(1, 4, size=40).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        if is_classifier(estimator):
            scorer = sklearn.metrics.make_scorer(
                sklearn.metrics.log_loss, response_method="predict_proba", labels=[0, 1]
            )
        else:
            scorer = crps_scorer
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            clone(estimator).set_fit_request(sample_weight=True),
        )
        scores = cross_validate(
            pipeline, X, y, scoring=scorer.set_score_request(sample_weight=True), cv=2,
            params={"sample_weight": weights}, return_estimator=True, return_indices=True,
            error_score="raise",
        )  # fmt: skip
    for fold in range(2):
        train, test = (scores["indices"][part][fold] for part in ("train", "test"))
        scaler = StandardScaler().fit(X[train])
        model = clone(estimator).fit(scaler.transform(X[train]), y[train], weights[train])
        fitted = scores["estimator"][fold]
        np.testing.assert_array_equal(predicted(fitted, X), predicted(model, scaler.transform(X)))
        expected = scorer(fitted, X[test], y[test], sample_weight=weights[test])
        assert scores["test_score"][fold] == expected


@every
def test_score_takes_weights(estimator):
    X, y = data(estimator)
    model = clone(estimator).fit(X, y)
    counts = np.arange(40) % 3
    again = np.repeat(np.arange(40), counts)
    expected = model.score(X[again], y[again])
    assert model.score(X, y, sample_weight=counts) == pytest.approx(expected, rel=1e-9)


@every
@pytest.mark.parametrize(
    ("weights", "told"),
    [
        (-np.ones(40), "must not be negative"),
        (np.zeros(40), "weight must be positive"),
        (np.ones(39), "inconsistent"),
        (np.full(40, 0.001), "Multiply sample_weight by a constant"),
    ],
)
def test_bad_weights_are_refused(estimator, weights, told):
    with pytest.raises(ValueError, match=told):
        clone(estimator).fit(*data(estimator), sample_weight=weights)


@every
def test_weights_that_sum_to_one_are_asked_about(estimator):
    with pytest.warns(UserWarning, match="rows count as .* Multiply sample_weight"):
        clone(estimator).fit(*data(estimator), sample_weight=np.full(40, 1 / 40))


@pytest.mark.parametrize("estimator", REGRESSORS, ids=name)
@pytest.mark.parametrize("point", ["mean", "median"])
def test_the_point_estimate(estimator, point):
    X, y = data(estimator)
    model = clone(estimator).set_params(point_estimate=point).fit(X, y)
    law = model.predict_distribution(X)
    expected = law.mean() if point == "mean" else law.quantile(0.5)[:, 0]
    np.testing.assert_array_equal(model.predict(X), expected)
    with pytest.raises(ValueError, match="'point_estimate' parameter"):
        clone(estimator).set_params(point_estimate="mode").fit(X, y)


def not_to_the_last_bit(estimator):
    """Checks that rows in random batches fail; the others' weights are exact."""
    member = getattr(estimator, "estimator", estimator)
    if not type(member).__name__.startswith(("UDN", "SIP")):
        return {}
    check = "check_sample_weight_equivalence_on_dense_data"
    return {check: "see the tests of each model without routing"}


@pytest.mark.long
@parametrize_with_checks(ALL, expected_failed_checks=not_to_the_last_bit)
def test_scikit_learns_checks_with_metadata_routing(estimator, check):
    with sklearn.config_context(enable_metadata_routing=True):
        check(estimator)

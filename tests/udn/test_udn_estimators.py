"""The estimators: attributes, guards, streams, callbacks, and hard cases."""

import numpy as np
import pytest
from callbacks import StopAfter
from sklearn.base import clone
from sklearn.callback import ScoringMonitor
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from toy_tables import spiral, wave

from skbayesnn._validation import InvalidParameterError
from skbayesnn.metrics import crps_scorer, log_predictive_density_scorer
from skbayesnn.udn import UDNClassifier, UDNRegressor
from skbayesnn.udn.inference import DepthInference


def test_the_best_parameters_are_put_back_where_an_undone_epoch_left_fewer_layers():
    X, y = wave(60)
    model = UDNRegressor(random_state=0)
    model._initialise(X.shape[1], 60, model._law(1))
    network = model._network
    inference = DepthInference(network, model._depth, X, y[:, None], np.ones(60), 50)
    network.grow(6)
    best, theta = inference.state(), network.theta.copy()
    network.shrink(2)
    inference.restore(best)
    assert network.depth == 6
    np.testing.assert_array_equal(network.theta, theta)


def test_depth_grows_with_difficulty():
    depths, scores = [], []
    for omega in (0, 8):
        X, y = spiral(omega, 700, 0)
        model = UDNClassifier(max_iter=150, refit=False, n_networks=1, random_state=0).fit(X, y)
        depths.append(model.expected_depth_)
        scores.append(model.score(*spiral(omega, 700, 1)))
    assert depths[0] + 1 < depths[1]
    assert min(scores) > 0.97


def test_training_helps_and_so_does_a_hidden_layer_more():
    X, y = spiral(5, 500, 0)
    options = {"depth_prior": "point", "refit": False, "n_networks": 1, "random_state": 0}
    scores = [
        UDNClassifier(gaussian_process=False, max_depth=depth, max_iter=epochs, **options)
        .fit(X, y)
        .score(X, y)
        for depth, epochs in ((3, 1), (1, 120), (3, 120))
    ]
    assert scores[0] < 0.8
    assert scores[1] < 0.9
    assert scores[2] > 0.95


def test_depth_does_not_depend_on_the_number_of_epochs():
    X, y = spiral(3, 400, 0)
    depths = [
        UDNClassifier(
            max_iter=n, batch_size=100, early_stopping=False, n_networks=1, random_state=0
        )
        .fit(X, y)
        .expected_depth_
        for n in (250, 600)
    ]
    assert abs(np.log(depths[1] / depths[0])) < 0.1


def test_classifier_attributes_and_probabilities():
    X, y = make_blobs(150, centers=4, random_state=0, cluster_std=2.0)
    labels = np.array(["a", "b", "c", "d"])[y]
    model = UDNClassifier(max_iter=50, random_state=0).fit(X, labels)
    q = model.depth_posterior_
    np.testing.assert_allclose(q.sum(), 1)
    assert model.n_layers_ == len(q)
    np.testing.assert_allclose(model.expected_depth_, q @ np.arange(1, len(q) + 1))
    assert len(model.validation_scores_) == 50
    assert len(model.loss_curve_) == model.n_iter_ > 50
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    p = model.predict_proba(X)
    assert p.shape == (150, 4)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p)
    assert set(model.predict(X)) <= set(labels)
    by_depth, weights = model._depth_probabilities(X)
    np.testing.assert_allclose(np.tensordot(weights, by_depth, axes=1), p)
    np.testing.assert_allclose(weights.sum(), 1)


def test_probability_quantiles():
    X, y = spiral(5, 300, 0)
    model = UDNClassifier(max_iter=60, random_state=0).fit(X, y)
    levels = [0.9, 0.05, 0.5]
    found = model.predict_quantiles(X[:20], levels)
    assert found.shape == (20, 2, 3)
    p, q = model._depth_probabilities(X[:20])
    for i in range(20):
        for j, level in enumerate(levels):
            order = np.argsort(p[:, i, 1])
            k = np.searchsorted(np.cumsum(q[order]), level)
            assert found[i, 1, j] == p[order[k], i, 1]
    assert np.all(found[..., 1] <= found[..., 2])
    assert np.all(found[..., 2] <= found[..., 0])
    assert model.predict_quantiles(X[:3], 0.5).shape == (3, 2, 1)
    with pytest.raises(ValueError, match=r"range \(0, 1\)"):
        model.predict_quantiles(X, [0.5, 1.0])


def test_regressor_predictions_are_in_the_units_of_y():
    X, y = wave()
    small = UDNRegressor(max_iter=150, n_networks=2, random_state=0).fit(X, y)
    large = UDNRegressor(max_iter=150, n_networks=2, random_state=0).fit(X, 1000 * y - 7)
    mean, std = small.predict(X, return_std=True)
    mean_large, std_large = large.predict(X, return_std=True)
    np.testing.assert_allclose(mean_large, 1000 * mean - 7, rtol=1e-4, atol=1)
    np.testing.assert_allclose(std_large, 1000 * std, rtol=1e-3)
    np.testing.assert_allclose(
        large.log_predictive_density(X, 1000 * y - 7),
        small.log_predictive_density(X, y) - np.log(1000),
        atol=0.01,
    )
    assert small.score(X, y) > 0.95
    assert 0.05 < std.mean() < 0.5
    q = small.predict(X, quantiles=[0.1, 0.9])
    assert 0.6 < np.mean((q[:, 0] < y) & (y < q[:, 1])) <= 1
    gaussian = UDNRegressor(likelihood="gaussian", max_iter=5).fit(X, y)
    assert gaussian.noise_variance_.shape == (gaussian.n_layers_,)


def test_noise_is_honest_where_the_network_could_follow_every_row():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 8)), rng.normal(size=200)  # nothing to learn
    fresh = rng.normal(size=(500, 8)), rng.normal(size=500)
    options = {"weight_scale": 2.0, "n_networks": 1, "random_state": 0}
    models = [
        UDNRegressor(likelihood="gaussian", max_iter=100, **options),
        UDNRegressor(likelihood="gaussian", early_stopping=False, max_iter=250, **options),
        UDNRegressor(max_iter=100, **options),
    ]
    honest, naive, mixture = (m.fit(X, y).log_predictive_density(*fresh).mean() for m in models)
    assert honest > naive + 0.1
    assert min(honest, mixture) > -1.75  # the truth has -1.42


def test_several_targets():
    X, y = wave()
    Y = np.column_stack([y, -3 * y])
    model = UDNRegressor(likelihood="gaussian", max_iter=100, random_state=0).fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == Y.shape
    assert model.score(X, Y) > 0.9
    mixtures = model.predict_distribution(X)
    np.testing.assert_allclose(mixtures[1].mean(), mean[:, 1])
    n_depths = sum(len(member._depths()) for member in model._members())
    components = model.predict(X, return_distribution=True)[0].means.shape
    assert components[0] == 150
    assert components[1] > n_depths  # those of the processes, too
    assert model.noise_variance_.shape == (model.n_layers_, 2)
    assert model.predict(X, quantiles=[0.1, 0.5, 0.9]).shape == (150, 2, 3)
    assert model.predict_interval(X).shape == (150, 2, 2)
    for call in (
        lambda: model.sample_y(X),
        lambda: model.log_predictive_density(X, y),
    ):
        with pytest.raises(ValueError, match="several targets"):
            call()


def test_scorers_and_grids_reach_through_pipelines():
    X, y = wave(80)
    pipe = make_pipeline(StandardScaler(), UDNRegressor(max_iter=20, random_state=0))
    assert np.isfinite(cross_val_score(pipe, X, y, cv=2, scoring=crps_scorer)).all()
    grid = GridSearchCV(
        pipe, {"udnregressor__width": [4, 8]}, cv=2, scoring=log_predictive_density_scorer
    ).fit(X, y)
    assert np.isfinite(grid.best_score_)


@pytest.mark.parametrize("kind", ["dense", "residual", "convolutional"])
@pytest.mark.parametrize("depth_prior", ["poisson", "categorical", "point"])
def test_digits_with_every_layer_and_depth(kind, depth_prior):
    X, y = load_digits(return_X_y=True)
    X, y, X_test, y_test = X[:600], y[:600], X[600:900], y[600:900]
    model = UDNClassifier(
        layer_generator=kind,
        depth_prior=depth_prior,
        image_shape=(8, 8) if kind == "convolutional" else None,
        width=6 if kind == "convolutional" else 32,
        max_depth=4 if depth_prior != "poisson" else 50,
        max_iter=12,
        batch_size=32,
        random_state=0,
    ).fit(X, y)
    assert model.score(X_test, y_test) > 0.8
    assert model.n_layers_ == 4 or depth_prior == "poisson"


def test_deep_finite_networks_do_not_collapse():
    X, y = spiral(5, 512, 0)
    model = UDNClassifier(depth_prior="point", max_depth=8, max_iter=200, random_state=0)
    assert model.fit(X, y).score(*spiral(5, 512, 1)) > 0.97
    np.testing.assert_array_equal(model.depth_posterior_, np.eye(8)[-1])


def test_early_stopping_puts_back_the_best():
    X, y = make_blobs(200, centers=2, cluster_std=6.0, random_state=0)
    model = UDNClassifier(refit=False, n_iter_no_change=15, max_iter=400, random_state=0).fit(X, y)
    best = int(np.argmax(model.validation_scores_))
    assert model.n_iter_ == best + 1 + 15 < 400
    assert -log_loss(y, model.predict_proba(X)) > -0.7


def test_refit_takes_as_many_epochs_as_the_best():
    X, y = wave()
    X = np.hstack([X, X**2])
    model = UDNRegressor(max_iter=40, random_state=0).fit(X, y)
    best = int(np.argmax(model.validation_scores_))
    assert model.n_iter_ == len(model.validation_scores_) + best + 1
    more, values = wave(2000)
    large = UDNRegressor(max_iter=6, width=8, random_state=0)
    large.fit(np.hstack([more, more**2]), values)
    best = int(np.argmax(large.validation_scores_)) + 1
    assert best > 2
    assert large.n_iter_ == len(large.validation_scores_) + round(best / 2)
    alone = UDNRegressor(max_iter=40, refit=False, random_state=0).fit(X, y)
    assert alone.n_iter_ == len(alone.validation_scores_)
    assert alone.n_samples_seen_ == 150


def few_of_many(n=300, seed=0):
    """Classes by two of sixty inputs, and one constant input."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 60))
    X[:, 7] = 3.0
    return X, X[:, 4] + X[:, 20] + 2 * X[:, 4] * X[:, 20] > 0


def test_many_inputs_are_weighed():
    X, y = few_of_many()
    model = UDNClassifier(gaussian_process=False, n_networks=1, random_state=0).fit(X, y)
    assert set(np.argsort(model.input_relevance_)[-2:]) == {4, 20}
    assert model.input_relevance_.max() == 1
    assert np.median(model.input_relevance_) < 0.05
    X_test, y_test = few_of_many(1000, 1)
    p = model.predict_proba(X_test)
    assert log_loss(y_test, p) < 0.2
    blind = UDNClassifier(early_stopping=False, n_networks=1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(blind.input_relevance_, np.ones(60))
    assert log_loss(y_test, blind.predict_proba(X_test)) > 0.5
    X_test[:, 7] = 50.0  # of which nothing is known
    np.testing.assert_allclose(model.predict_proba(X_test), p, atol=1e-3)


def test_inputs_are_weighed_only_if_held_out_rows_say_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30))
    model = UDNRegressor(max_iter=60, n_networks=2, random_state=0).fit(
        X, X @ rng.choice([-1.0, 1.0], 30)
    )
    np.testing.assert_array_equal(model.input_relevance_, np.ones(30))
    few = UDNRegressor(max_iter=150, n_networks=1, random_state=0).fit(X, X[:, 0] ** 2 + X[:, 1])
    assert set(np.argsort(few.input_relevance_)[-2:]) == {0, 1}
    again = few.input_relevance_.copy()
    few.partial_fit(X, X[:, 0])
    np.testing.assert_array_equal(few.input_relevance_, again)
    stream = UDNRegressor(random_state=0).partial_fit(X, X[:, 0])
    np.testing.assert_array_equal(stream.input_relevance_, np.ones(30))


def test_same_seed_same_result_and_another_differs():
    X, y = wave(60)
    fits = [UDNRegressor(max_iter=10, random_state=s).fit(X, y).predict(X) for s in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


def test_classes_that_a_category_determines():
    """With all rows of a category held out, training would stop and temperatures would explode."""
    rng = np.random.default_rng(0)
    category = rng.integers(0, 5, 150)
    X, y = np.eye(5)[category], np.array([0, 1, 0, 1, 2])[category]
    p = UDNClassifier(random_state=0).fit(X, y).predict_proba(np.eye(5))
    assert (p[np.arange(5), [0, 1, 0, 1, 2]] > 0.95).all()


def test_class_weight_moves_the_boundary():
    X, y = make_blobs([300, 30], centers=[[0, 0], [1.5, 0]], random_state=0)
    recalls = []
    for weight in (None, "balanced", {0: 1, 1: 50}):
        model = UDNClassifier(max_iter=60, class_weight=weight, random_state=0).fit(X, y)
        recalls.append(np.mean(model.predict(X)[y == 1] == 1))
    assert recalls[0] < recalls[1] <= recalls[2]


@pytest.mark.parametrize("weights", [{0: -1.0}, {0: np.nan}, {0: "2"}, {0: 0.0, 1: 0.0}])
def test_class_weights_that_are_none_are_refused(weights):
    with pytest.raises(InvalidParameterError, match="'class_weight' parameter"):
        UDNClassifier(class_weight=weights).fit([[0.0], [1.0]], [0, 1])


def test_a_class_without_weight_has_no_rows():
    """It stays among the classes; its rows are as those whose own weight is zero."""
    X, y = make_blobs([40, 60, 60], centers=[[0, 0], [2, 0], [0, 2]], random_state=0)
    model = UDNClassifier(max_iter=20, random_state=0)
    none = clone(model).set_params(class_weight={0: 0.0, 1: 1.0, 2: 1.0}).fit(X, y)
    p = none.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert none.gaussian_process_weight_ > 0
    assert p[:, 0].max() < 0.2
    alone = clone(model).fit(X[y > 0], y[y > 0])
    others = p[:, 1:] / p[:, 1:].sum(axis=1, keepdims=True)
    assert np.abs(others - alone.predict_proba(X)).mean() < 0.1
    stream = clone(none).partial_fit(X, y, classes=[0, 1, 2])
    assert stream.n_samples_seen_ == 120
    only = X[y == 0], y[y == 0]
    with pytest.raises(ValueError, match="'class_weight'"):
        clone(none).partial_fit(*only, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="'class_weight'"):
        clone(none).set_params(class_weight={0: 0.0}).fit(*only)


@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [UDNClassifier, UDNRegressor])
def test_a_narrow_prior_is_no_divergence(model):
    X, y = wave(20)
    model = model(weight_scale=1e-3, max_iter=5, n_networks=1, random_state=0).fit(X, y > 0)
    assert model.loss_curve_[0] > 1e4
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    ("model", "width", "scale"),
    [(UDNRegressor, 64, 0.3), (UDNRegressor, 65, 0.2), (UDNClassifier, 65, 0.3)],
)
def test_wide_layers_of_regressors_have_smaller_weights(model, width, scale):
    X, y = wave(20)
    options = {"width": width, "max_iter": 3, "n_networks": 1, "random_state": 0}
    by_default, given = model(**options), model(weight_scale=scale, **options)
    assert by_default.fit(X, y > 0).loss_curve_ == given.fit(X, y > 0).loss_curve_


def test_fewer_rows_to_train_on_may_have_more_epochs():
    # 125 epochs of all 64 rows; held-out rows leave one batch of 32 and 250 epochs.
    X, y = wave(64)
    model = UDNRegressor(
        depth_prior="point", max_depth=1, width=2048, likelihood="gaussian", n_networks=1,
        gaussian_process=False, validation_fraction=0.5, n_iter_no_change=1000, random_state=0,
    )  # fmt: skip
    assert model.fit(X, y).n_iter_ > 250


def test_callbacks_see_every_epoch_and_can_stop():
    X, y = wave(60)
    stop, monitor = StopAfter(7), ScoringMonitor(scoring="r2")
    model = UDNRegressor(max_iter=30, random_state=0).set_callbacks(stop, monitor).fit(X, y)
    assert stop.seen == model.n_iter_ == 7
    scores = monitor.get_logs().data_as_pandas["r2"]
    assert len(scores) >= 7
    assert scores.nunique() >= 6  # the estimator it sees changes with every epoch


def test_diverging_rate_recovers_or_names_the_cause():
    X, y = wave()
    for model in (UDNRegressor, UDNClassifier):
        target = y if model is UDNRegressor else y > 5
        with pytest.warns(ConvergenceWarning, match="learning rate"):
            fitted = model(learning_rate=1e3, max_iter=60, random_state=0).fit(X, target)
        assert np.isfinite(fitted.predict(X)).all()
        assert np.isfinite(fitted.loss_curve_).all()
    with pytest.raises(FloatingPointError, match="learning_rate"):
        UDNRegressor(learning_rate=1e30, max_iter=60, random_state=0).fit(X, y)


def test_max_depth_warns():
    X, y = spiral(8, 400, 0)
    with pytest.warns(ConvergenceWarning, match="max_depth=3"):
        model = UDNClassifier(max_depth=3, max_iter=80, random_state=0).fit(X, y)
    assert model.n_layers_ == 3


def test_a_depth_that_only_undone_epochs_reached_is_not_warned_of():
    X, y = wave(200)
    y = y + 2 * np.random.default_rng(2).standard_normal(200)
    model = UDNRegressor(
        max_depth=6, n_networks=1, gaussian_process=False, refit=False, max_iter=150, random_state=2
    ).fit(X, y)
    assert model.n_layers_ < 6


HARD = {
    "unscaled": lambda X, y: (1e6 + 1e4 * X, y),
    "20 rows": lambda X, y: (X[:20], y[:20]),
    "2 rows": lambda X, y: (X[:2], y[:2]),
    "constant column": lambda X, y: (np.column_stack([X, np.full(len(X), 1e8)]), y),
    "1000 inputs": lambda X, y: (np.tile(X, (1, 500)), y),
}


@pytest.mark.parametrize("case", HARD)
def test_hard_data(case):
    X, y = spiral(1, 120, 0)
    X, y = HARD[case](X, y)
    y[:2] = [0, 1]
    labels = np.where(y == 1, "yes", "no")
    classifier = UDNClassifier(max_iter=60, random_state=0).fit(X, labels)
    assert np.isfinite(classifier.predict_proba(X)).all()
    assert classifier.score(X, labels) > 0.7
    regressor = UDNRegressor(max_iter=60, random_state=0).fit(X, 1e5 * y)
    mean, std = regressor.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()


def test_constant_target_and_single_class():
    X, _ = wave(40)
    regressor = UDNRegressor(max_iter=30, random_state=0).fit(X, np.full(40, 3.0))
    np.testing.assert_allclose(regressor.predict(X), 3, atol=0.3)
    classifier = UDNClassifier(max_iter=30, random_state=0).fit(X, ["only"] * 40)
    np.testing.assert_array_equal(classifier.predict_proba(X), np.ones((40, 1)))
    assert set(classifier.predict(X)) == {"only"}


@pytest.mark.parametrize("early_stopping", [False, True])
def test_a_class_seen_once(early_stopping):
    X, y = make_blobs(60, centers=3, random_state=0)
    y[y == 2] = 0
    y[0] = 2
    model = UDNClassifier(max_iter=20, early_stopping=early_stopping, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (60, 3)


@pytest.mark.parametrize(
    "wrong",
    [
        {"width": 0},
        {"likelihood": "poisson"},
        {"n_components": 0},
        {"point_estimate": "mode"},
        {"layer_generator": "recurrent"},
        {"depth_prior": "gamma"},
        {"weight_scale": 0.0},
        {"batch_size": "all"},
        {"validation_fraction": 1.0},
        {"image_shape": (8,)},
    ],
)
def test_parameters_are_checked(wrong):
    X, y = wave(20)
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        UDNRegressor(**wrong).fit(X, y)


def test_image_shape_must_fit():
    X, y = load_digits(return_X_y=True)
    with pytest.raises(InvalidParameterError, match="needs 'image_shape'"):
        UDNClassifier(layer_generator="convolutional").fit(X, y)
    with pytest.raises(InvalidParameterError, match="does not fit the 64 features"):
        UDNClassifier(layer_generator="convolutional", image_shape=(7, 8)).fit(X, y)


def test_one_row_cannot_be_held_out():
    with pytest.raises(ValueError, match="n_samples=1"):
        UDNRegressor(early_stopping=True).fit([[0.0]], [1.0])


def test_refuses_two_keywords():
    X, y = wave(20)
    model = UDNRegressor(max_iter=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="only one"):
        model.predict(X, return_std=True, quantiles=[0.5])

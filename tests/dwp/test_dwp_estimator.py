"""The estimator: predictions, attributes, streams, guards, and hard cases."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.callback import ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayesnn import DeepWishartRegressor
from skbayesnn._validation import InvalidParameterError
from skbayesnn.gaussian_process.tails import MASSES
from skbayesnn.metrics import log_predictive_density_scorer


def quick(**options):
    """A model that is quick to fit."""
    defaults = {"max_iter": 60, "n_inducing": 15, "n_posterior_draws": 20, "random_state": 0}
    return DeepWishartRegressor(**{**defaults, **options})


def wave(n=80, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, 5 + 2 * np.sin(2 * X[:, 0]) + noise * rng.normal(size=n)


@pytest.fixture(scope="module")
def fitted():
    X, y = wave()
    return quick(max_iter=200).fit(X, y)


def test_accuracy_and_calibration(fitted):
    X, y = wave(400, seed=1)
    mean, std = fitted.predict(X, return_std=True)
    assert np.sqrt(np.mean((mean - y) ** 2)) < 0.25  # the noise alone has 0.1
    assert np.mean(np.abs(mean - y) < 1.645 * std) > 0.8
    # The truth has log density 0.88; a normal distribution of the spread of y, -1.8.
    assert fitted.log_predictive_density(X, y).mean() > 0.1


def test_attributes(fitted):
    X, _ = wave()
    assert len(fitted.loss_curve_) == fitted.n_iter_ == 200
    assert np.mean(fitted.loss_curve_[-20:]) < np.mean(fitted.loss_curve_[:20])
    assert fitted.length_scales_.shape == (2,)
    assert fitted.length_scales_[1] > 5 * fitted.length_scales_[0]  # y ignores input 1
    assert 0.05**2 < fitted.noise_variance_ < 0.2**2
    assert fitted.inducing_inputs_.shape == (15, 2)
    assert np.abs(fitted.inducing_inputs_).max() < 4
    assert fitted.feature_relevance_[0] > 0.9
    np.testing.assert_allclose(fitted.feature_relevance_.sum(), 1.0)
    assert 0.2 < fitted.signal_variance_ < 20.0  # sin has a variance of 2
    assert fitted.hidden_length_scales_.shape == (2,)
    # Rows are few: to ten groups of draws of hidden layers come fifty of all settings, each with
    # the values that the variance of the function takes.
    assert fitted.predict_distribution(X).means.shape == (80, 60 * len(MASSES))


def test_attributes_are_identified(fitted):
    """Features c times as large, seen through c times the length scale: nothing changes."""
    X, _ = wave()
    model = copy.deepcopy(fitted)
    p = model._model.parameters
    p["log_heights"][0] += 2 * np.log(3.0)
    p["log_lengths"][0] += np.log(3.0)
    model._publish()
    np.testing.assert_allclose(model.predict(X), fitted.predict(X), rtol=1e-6)
    for name in ("hidden_length_scales_", "signal_variance_", "feature_relevance_"):
        np.testing.assert_allclose(getattr(model, name), getattr(fitted, name))


def test_predictions_do_not_depend_on_other_rows(fitted):
    X, _ = wave()
    alone = np.concatenate([fitted.predict(X[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(fitted.predict(X)[:5], alone, rtol=1e-9)


@pytest.mark.parametrize("output", ["exact", "inducing"])
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_y_and_of_the_inputs(scale, output):
    X, y = wave(50)
    a, b = (
        quick(output=output).fit(X, y),
        quick(output=output).fit(X * [1e-3, 1e4] + 2, scale * y - 7),
    )
    mean, std = a.predict(X, return_std=True)
    mean_b, std_b = b.predict(X * [1e-3, 1e4] + 2, return_std=True)
    # Rounding of the scaled numbers grows over the steps; the results agree, not the bits.
    np.testing.assert_allclose(mean_b, scale * mean - 7, atol=1e-2 * scale)
    np.testing.assert_allclose(std_b, scale * std, rtol=1e-2)
    np.testing.assert_allclose(b.noise_variance_, scale**2 * a.noise_variance_, rtol=1e-2)
    np.testing.assert_allclose(b.length_scales_ / a.length_scales_, [1e-3, 1e4], rtol=1e-2)


def test_float32_gives_nearly_the_same():
    X, y = wave(50)
    X = X.astype(np.float32)
    a, b = quick().fit(X.astype(float), y), quick().fit(X, y.astype(np.float32))
    # y in single precision: where rows are few a chain makes other draws of the same law of that.
    np.testing.assert_allclose(a.predict(X.astype(float)), b.predict(X), atol=1e-2)


@pytest.mark.parametrize("posterior", ["a-gw", "gw", "dgp"])
@pytest.mark.parametrize("n_layers", [0, 1, 5])
def test_depths_and_posteriors(posterior, n_layers):
    X, y = wave(60)
    model = quick(posterior=posterior, n_layers=n_layers).fit(X, y)
    assert model.score(X, y) > 0.9


def test_fewer_inducing_points_than_features():
    X, y = np.random.default_rng(0).normal(size=(2, 20, 5))
    model = quick(posterior="dgp", n_inducing=2, degrees_of_freedom=3, max_iter=2).fit(X, y[:, 0])
    assert model.hidden_length_scales_.shape == (2,)


def test_several_targets():
    X, y = wave()
    Y = np.column_stack([y, -3 * y])
    model = quick().fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == Y.shape
    assert model.score(X, Y) > 0.9
    mixtures = model.predict_distribution(X)
    np.testing.assert_allclose(mixtures[1].mean(), mean[:, 1])
    assert len(model.predict(X, return_distribution=True)) == 2
    assert model.noise_variance_.shape == (2,)
    assert model.predict_interval(X).shape == (80, 2, 2)
    for call in (lambda: model.sample_y(X), lambda: model.log_predictive_density(X, y)):
        with pytest.raises(ValueError, match="several targets"):
            call()


def test_same_seed_same_result_and_another_differs():
    X, y = wave(40)
    fits = [quick(max_iter=5, random_state=s).fit(X, y).predict(X) for s in (0, 0, 1)]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


def test_pickle_and_pipeline(fitted):
    X, y = wave(60)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    pipe = make_pipeline(StandardScaler(), quick(max_iter=10))
    scores = cross_val_score(pipe, X, y, cv=2, scoring=log_predictive_density_scorer)
    assert np.isfinite(scores).all()


def test_batches_and_partial_fit():
    X, y = wave(300)
    model = quick(batch_size=64, max_iter=15).fit(X, y)
    assert model.score(X, y) > 0.95
    stream = quick(batch_size=50)
    for begin in range(0, 300, 100):
        stream.partial_fit(X[begin : begin + 100], y[begin : begin + 100])
    assert stream.n_samples_seen_ == 300
    assert len(stream.loss_curve_) == 3
    assert stream.score(X, y) > 0.95
    with pytest.raises(ValueError, match="2 targets, but 1"):
        stream.partial_fit(X, np.column_stack([y, y]))
    stream.set_params(n_inducing=8).fit(X[:40], y[:40])  # another size, then a stream again
    before = stream.predict(X)
    stream.partial_fit(X, y)
    assert not np.array_equal(before, stream.predict(X))


def test_rows_unlike_a_first_batch_without_noise_are_no_divergence():
    """With fewer rows than inputs a first batch leaves next to no noise, and weights even less."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 40))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.2 * rng.normal(size=20)
    rng = np.random.default_rng(0)
    weights = (rng.random(20) < 0.7) * rng.choice([1.0, 0.5, 3.0], 20)
    model = DeepWishartRegressor(random_state=0).partial_fit(X, y, sample_weight=weights)
    model.partial_fit(X[:10], y[:10])
    assert max(model.loss_curve_) > 1e3
    assert np.isfinite(model.predict(X)).all()


def test_early_stopping_puts_back_the_best():
    X, y = wave(60, noise=1.0)
    model = quick(early_stopping=True, n_iter_no_change=100, max_iter=600).fit(X, y)
    assert model.n_iter_ == len(model.loss_curve_) < 600
    best = int(np.argmax(model.validation_scores_))
    assert len(model.validation_scores_) == best + 3  # one in 50 steps
    assert model.n_samples_seen_ == 54


def test_early_stopping_needs_two_rows():
    with pytest.raises(ValueError, match="n_samples=1"):
        quick(early_stopping=True).fit([[0.0]], [1.0])


def test_draws_and_annealing_follow_the_steps(monkeypatch):
    seen = []

    def record(a, theta, X, y, weights, noise, n_total, weight, **_):
        seen.append((noise.rows.shape[1], weight))
        return 0.0, np.zeros_like(theta), 0

    monkeypatch.setattr("skbayesnn.dwp.inference.loss_and_gradient", record)
    model = quick(n_draws=7, output="inducing").fit(*wave(30))
    counts, weights = np.array(seen).T
    assert counts[0] == 1
    assert counts[-1] == 7
    assert (np.diff(counts) >= 0).all()
    assert weights[0] < 0.5
    assert weights[-1] == 1
    assert len(model.loss_curve_) == 60


def test_training_improves_on_the_start_and_depth_helps():
    """A step that no stationary kernel fits; all begin as the same Gaussian process."""
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-3, 3, (60, 1)), np.linspace(-2.9, 2.9, 200)[:, None]
    y, truth = (np.sign(x[:, 0]) + 0.05 * rng.normal(size=len(x)) for x in (X, new))
    densities = []
    for n_layers, max_iter in ((0, 200), (1, 1), (1, 200)):
        options = {"n_layers": n_layers, "max_iter": max_iter, "n_inducing": 30}
        model = quick(degrees_of_freedom=2, likelihood="gaussian", **options).fit(X, y)
        model._model.settings = None  # which knows of no layers
        densities.append(model.log_predictive_density(new, truth).mean())
    # 0.70 and 0.72 against 0.84.
    assert densities[2] > max(densities[:2]) + 0.06


def test_hidden_layers_keep_a_line_beside_a_steep_input():
    """Of a kink and a line without noise, the process has a length scale of 40 for the line.

    Noise that is small beside the kink's features hid the line from the hidden layers: the error
    was half of the targets' deviation.
    """
    rng = np.random.default_rng([2, 200, 2])
    X = rng.uniform(-1, 1, (500, 2))
    y = np.abs(X[:, 0]) + X[:, 1]
    model = DeepWishartRegressor(max_iter=60, random_state=0).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.9999


def test_median_and_inputs_as_given(fitted):
    X, y = wave()
    model = quick(point_estimate="median", normalize_X=np.bool_(False), posterior=np.str_("gw"))
    model.fit(X, y)
    np.testing.assert_allclose(model.predict(X), model.predict_distribution(X).quantile(0.5)[:, 0])
    assert (model._model.scales.X_scale == 1).all()
    assert model.score(X, y) > 0.9


HARD = {
    "inputs on a line": (lambda X: X[:, :1] * [1.0, 2.0], {}),
    "duplicate rows": (lambda X: np.repeat(X[:10], 4, axis=0), {}),
    "a constant input": (lambda X: X * [1.0, 0.0], {}),
    "nearly equal rows": (lambda X: X[0] + 1e-9 * X, {}),
    "five rows": (lambda X: X[:5], {}),
    "one row": (lambda X: X[:1], {}),
    "degrees_of_freedom one": (lambda X: X, {"degrees_of_freedom": 1}),
    "degrees_of_freedom above the inducing points": (
        lambda X: X,
        {"degrees_of_freedom": 30, "n_inducing": 4},
    ),
    "one inducing point": (lambda X: X, {"n_inducing": 1}),
    "constant target": (lambda X: X, {}),
}


@pytest.mark.parametrize("output", ["exact", "inducing"])
@pytest.mark.parametrize("case", HARD)
def test_hard_cases(case, output):
    X, y = wave(40)
    change, options = HARD[case]
    X = change(X)
    y = y[: len(X)] if case != "constant target" else np.full(len(X), 3.0)
    model = quick(max_iter=25, output=output, **options).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
    # Nothing runs away: predictions stay in the range of the targets.
    spread = np.ptp(y) + 1e-6
    assert (np.abs(mean - y.mean()) < 2 * spread + 1).all()
    if case == "inputs on a line":
        assert model.score(X, y) > 0.9


def test_failed_factorisations_recover_with_a_warning(monkeypatch):
    # Without jitter to begin with, duplicate inducing inputs give a singular Gram matrix.
    monkeypatch.setattr("skbayesnn.dwp.layers.JITTER", 0.0)
    monkeypatch.setattr("skbayesnn.dwp.start.choose_inducing", lambda x, n: np.zeros(n, dtype=int))
    X, y = wave(40)
    model = quick(max_iter=5)
    with pytest.warns(ConvergenceWarning, match="singular"):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_callbacks_see_every_epoch():
    X, y = wave(40)
    monitor = ScoringMonitor(scoring="r2")
    model = quick(max_iter=5).set_callbacks(monitor).fit(X, y)
    scores = monitor.get_logs().data_as_pandas["r2"]
    assert len(scores) >= 5
    assert scores.nunique() >= 5  # the estimator it sees changes with every epoch
    assert len(model.loss_curve_) == 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_layers": -1},
        {"posterior": "wishart"},
        {"n_inducing": 0},
        {"degrees_of_freedom": 0},
        {"max_iter": "all"},
        {"batch_size": None},
        {"validation_fraction": 1.0},
        {"learning_rate": 0.0},
        {"point_estimate": "mode"},
    ],
)
def test_parameters_are_checked(wrong):
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        DeepWishartRegressor(**wrong).fit(*wave(20))


def test_refuses_two_keywords(fitted):
    with pytest.raises(ValueError, match="only one"):
        fitted.predict(wave(20)[0], return_std=True, quantiles=[0.5])


@pytest.mark.parametrize("where", ["y", "X"])
def test_a_typing_error_leaves_the_other_rows_alone(where):
    X, y = wave(150)
    X_test, y_test = wave(200, seed=1)
    if where == "y":
        y[7] = 1e9
    else:
        X[7, 0] = -1e9
    with pytest.warns(UserWarning, match="1 of 150 values"):
        model = quick().fit(X, y)
    log_density = model.log_predictive_density(X_test, y_test).mean()
    assert log_density > -0.2  # the truth has 0.88, a normal law of all targets −1.8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, 1e6 * y), "normalize_y=True"),
        (lambda X, y: (X, 1e-6 * y), "normalize_y=True"),
        (lambda X, y: (X, y + 1e4), "normalize_y=True"),
        (lambda X, y: (1e4 * X, y), "normalize_X=True"),
        (lambda X, y: (1e-4 * X, y), "normalize_X=True"),
    ],
)
def test_what_is_not_standardised_must_be_of_about_unit_scale(change, message):
    model = quick(normalize_X=False, normalize_y=False)
    with pytest.raises(ValueError, match=message):
        model.fit(*change(*wave()))


def test_offsets_of_inputs_that_are_not_standardised_do_not_matter():
    X, y = wave()
    # Powers of two, which rounding leaves alone; a constant column has no scale.
    other = np.column_stack([X[:, 0] + 2.0**15, X[:, 1], np.full(len(X), 2.0**20)])
    model, moved = (quick(normalize_X=False).fit(each, y) for each in (X, other))
    assert moved.length_scales_.shape == (3,)
    np.testing.assert_allclose(moved.predict(other), model.predict(X), atol=0.05)


def test_draws_that_steps_without_noise_contradict_are_no_divergence():
    """In these tables, some draws of the features map rows of both sides to one place."""
    for seed, n in [(2, 40), (10, 80)]:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 1))
        y = (X[:, 0] > 0).astype(float)
        # Warnings are errors here: the learning rate is not cut, either.
        model = DeepWishartRegressor(random_state=seed).fit(X, y)
        # Such draws are there: others lose about one nat a row. How much they lose depends on
        # rounding, 8,000 to 200,000 nats on two machines.
        assert max(model.loss_curve_) > 1e3
        new = rng.normal(size=(200, 1))
        # The step is between two rows with a gap of 0.1 to 0.2, which new rows fall in.
        assert np.mean((model.predict(new) > 0.5) == (new[:, 0] > 0)) > 0.9

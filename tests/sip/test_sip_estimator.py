"""The estimator: attributes, shapes, seeds, streams, callbacks, and hard cases."""

import copy
import threading

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm
from sip_models import SMALL, wave
from sklearn.callback import ScoringMonitor
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import skbayesnn
from skbayesnn.metrics import crps_scorer
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.sip import SIPRegressor
from skbayesnn.sip.inference import SIPInference
from skbayesnn.sip.noise import PREDICTION
from skbayesnn.sip.settings import automatic
from skbayesnn.training.rows import hold_out
from skbayesnn.training.settings import training_settings


def two_modes(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, n)
    return x[:, None], 4 * x * rng.choice([-1, 1], n) + rng.normal(size=n)


@pytest.fixture(scope="module")
def fitted():
    X, y = wave()
    return SIPRegressor(**SMALL, max_iter=200, random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def paper():
    """With Gaussian noise, whose mixtures are easily written down."""
    X, y = wave()
    model = SIPRegressor(**SMALL, max_iter=200, likelihood="gaussian", random_state=0)
    return model.fit(X, y), X, y


def test_exported():
    assert skbayesnn.SIPRegressor is SIPRegressor


def test_attributes(fitted):
    model, _, _ = fitted
    assert model.n_iter_ == 200
    assert model.n_samples_seen_ == 150
    assert len(model.loss_curve_) == len(model.discriminator_loss_curve_) == 200
    assert len(model.divergence_curve_) == 200
    assert np.mean(model.loss_curve_[-20:]) < np.mean(model.loss_curve_[:20]) - 0.2
    assert model.inducing_inputs_.shape == (10, 1)
    assert np.abs(model.inducing_inputs_).max() < 4
    assert 0.02 < model.noise_variance_ < 0.4


def test_automatic_training():
    # 270 rows to train on are 3 batches of 100 at most; 2000 steps are 667 passes.
    settings = training_settings(SIPRegressor(), 270, automatic(270))
    assert (settings.batch_size, settings.n_epochs, settings.patience) == (100, 667, 334)
    assert settings.early_stopping
    assert settings.score_every == 16
    # A hundred passes over 5,000 rows are 5000 steps; 10,000 steps are ten over 100,000.
    assert training_settings(SIPRegressor(), 5_000, automatic(5_000)).n_epochs == 100
    assert training_settings(SIPRegressor(), 100_000, automatic(100_000)).n_epochs == 10


def test_training_improves_on_the_start(fitted):
    model, X, y = fitted
    new = wave(seed=7)
    start = SIPRegressor(**SMALL, max_iter=1, random_state=0).fit(X, y)
    gain = model.log_predictive_density(*new).mean() - start.log_predictive_density(*new).mean()
    assert gain > 0.8  # from the normal distribution of y to the noise: log(1.4 / 0.3) = 1.5


def test_predictions(fitted):
    model, _, _ = fitted
    X, y = wave(seed=7)
    d = model.predict_distribution(X)
    assert d.means.shape[0] == 150
    assert 100 <= d.means.shape[1] <= 100 + 2 * len(PREDICTION)
    assert model.score(X, y) > 0.9
    np.testing.assert_allclose(model.predict(X), d.mean())
    # The truth has 0.214 nats on average; a fit of 150 rows loses some.
    assert -0.7 < d.logpdf(y).mean() < 0
    ends = model.predict_interval(X)
    assert 0.75 < np.mean((ends[:, 0] < y) & (y < ends[:, 1])) <= 1


def test_a_row_does_not_depend_on_its_neighbours(fitted):
    model, X, _ = fitted
    many = np.tile(X, (4, 1))  # more than are worked on at once
    whole = model.predict(many)
    np.testing.assert_allclose(whole[:150], whole[150:300], rtol=1e-9)
    np.testing.assert_allclose(model.predict(X[5:6]), whole[5], rtol=1e-9)


def test_sampled_observations_follow_the_predictive_distribution(fitted):
    model, X, _ = fitted
    rows, n = X[:3], 4000
    draws = model.sample_y(rows, n, random_state=1)
    assert draws.shape == (3, n)
    levels = np.array([0.1, 0.5, 0.9])
    expected = model.predict_quantiles(rows, levels)
    found = (draws[:, :, None] <= expected[:, None, :]).mean(axis=1)
    # The mixture has 100 components itself: four standard errors of both.
    error = 4 * np.sqrt(levels * (1 - levels) * (1 / n + 1 / 100))
    assert np.all(np.abs(found - levels) < error)


def test_samples_are_joint_functions(fitted):
    model, _, _ = fitted
    X = np.array([[0.5], [0.5], [0.5001]])
    a = model.sample_y(X, 2000, random_state=0)
    # The same input twice: the same function, two noises.
    noise = model.noise_variance_
    assert abs(np.var(a[0] - a[1]) / (2 * noise) - 1) < 0.15  # five standard errors
    assert abs(np.var(a[0] - a[2]) / (2 * noise) - 1) < 0.15
    f = model.sample_prior(X, 50, random_state=0)
    np.testing.assert_allclose(f[0], f[1], rtol=1e-12)
    np.testing.assert_array_equal(f, model.sample_prior(X, 50, random_state=0))
    assert not np.array_equal(f, model.sample_prior(X, 50, random_state=1))
    for sample in (model.sample_y, model.sample_prior):
        with pytest.raises(ValueError, match=r"n_samples must be a positive int. Got 0"):
            sample(X, 0)


def test_units_of_y():
    X, y = wave()
    a, b = (
        SIPRegressor(**SMALL, max_iter=50, random_state=0).fit(X, target)
        for target in (y, 1000 * y - 7)
    )
    # Equal but for rounding in float32, which training amplifies.
    np.testing.assert_allclose(b.predict(X), 1000 * a.predict(X) - 7, rtol=0.02)
    np.testing.assert_allclose(
        b.log_predictive_density(X, 1000 * y - 7).mean(),
        a.log_predictive_density(X, y).mean() - np.log(1000),
        atol=0.05,
    )
    np.testing.assert_allclose(b.noise_variance_, 1e6 * a.noise_variance_, rtol=0.05)


def test_two_modes():
    X, y = two_modes(500, 0)
    model = SIPRegressor(
        n_inducing=20,
        n_draws=50,
        width=30,
        max_iter=240,
        early_stopping=False,
        random_state=0,
    ).fit(X, y)
    X_test, y_test = two_modes(500, 1)
    branches = 4 * X_test * [-1, 1]
    truth = PredictiveMixture([0.5, 0.5], branches, np.ones(branches.shape))
    gap = truth.logpdf(y_test).mean() - model.log_predictive_density(X_test, y_test).mean()
    assert gap < 0.35  # a normal distribution of the right moments has 0.7
    at = np.linspace(1.2, 1.9, 8)[:, None]
    d = model.predict_distribution(at)
    peaks, valley = d.logpdf(4 * at * [-1, 1]), d.logpdf(np.zeros((1, 1)))
    assert np.mean(peaks - valley) > 0.3  # a single mode would have it below zero


def test_sampler_prior():
    X, y = wave()
    model = SIPRegressor(**SMALL, prior="sampler", max_iter=200, random_state=0).fit(X, y)
    assert model.score(*wave(seed=7)) > 0.9
    # Ten normal variables and a narrow network: prior draws are smooth functions.
    f = model.sample_prior(np.linspace(-2, 2, 50)[:, None], 40)
    assert f.shape == (50, 40)
    assert f.std(axis=1).min() > 0.01  # they differ everywhere


def test_same_seed_same_fit():
    X, y = wave(60)
    fits = [
        SIPRegressor(**SMALL, max_iter=50, random_state=s).fit(X, y).predict(X) for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(fits[0], fits[1])
    assert not np.array_equal(fits[0], fits[2])


def test_inducing_inputs_that_start_at_one_point():
    X, y = wave(300)
    start = np.zeros((10, 1))
    model = SIPRegressor(
        **{**SMALL, "n_inducing": 3}, inducing_inputs=start, max_iter=150, random_state=0
    ).fit(X, y)
    assert model.inducing_inputs_.shape == (10, 1)
    # They move apart; the networks follow the data wherever they are.
    assert np.ptp(model.inducing_inputs_) > 0.1
    assert model.score(*wave(seed=7)) > 0.9
    with pytest.raises(ValueError, match="2 instead"):
        SIPRegressor(inducing_inputs=np.zeros((3, 2))).fit(X, y)
    for start in (np.zeros(3), [[np.nan]], [["a"]], {}):
        with pytest.raises(ValueError, match=r"'inducing_inputs' parameter .* \(n_inducing, 1\)"):
            SIPRegressor(inducing_inputs=start).fit(X, y)


@pytest.fixture(scope="module")
def stopped():
    """A fit with early stopping whose patience ends, of 72 rows in one batch."""
    X, y = wave(80)
    options = {**SMALL, "early_stopping": True, "n_iter_no_change": 100, "max_iter": 1000}
    return SIPRegressor(**options, learning_rate=0.02, random_state=0).fit(X, y), X, y


def test_early_stopping(stopped):
    model, _, _ = stopped
    scores = model.validation_scores_
    best = int(np.argmax(scores))
    # Scored every 50 steps; then a tenth of the passes up to the best, over all rows.
    assert len(scores) == min(best + 3, 20)
    assert model.n_iter_ == len(model.loss_curve_) == 50 * len(scores) + 5 * (best + 1)


def test_after_early_stopping_all_rows_are_trained_on(stopped, monkeypatch):
    _, X, y = stopped
    seen, kept = [], SIPInference.epoch

    def epoch(self, order, batch_size, rate):
        assert sorted(order) == list(range(self.n_rows))
        seen.append((self.n_rows, self.n_total, rate))
        return kept(self, order, batch_size, rate)

    monkeypatch.setattr(SIPInference, "epoch", epoch)
    model = SIPRegressor(**{**SMALL, "early_stopping": True}, max_iter=20, random_state=0)
    model.fit(X, y)
    assert [n for n, _, _ in seen] == [64] * 20 + [80] * 2
    assert [n for _, n, _ in seen] == [64] * 20 + [80] * 2
    assert seen[20][2] == pytest.approx(0.1 * seen[0][2])


def test_no_row_sets_the_scale_that_it_is_scored_in():
    X, y = wave(80)
    options = {**SMALL, "early_stopping": True}
    model = SIPRegressor(**options, max_iter=3, random_state=0).fit(X, y)
    _, generator = spawn_generators(0, 2)
    # 60 rows would be more than twice the part asked for.
    rows, held_out = hold_out(80, 0.2, generator, at_most=400)
    assert len(held_out) == 16
    np.testing.assert_allclose(model._X_offset, X[rows].mean(axis=0))
    assert model._y_scale == pytest.approx(y[rows].std())


def test_rows_that_come_again_are_held_out_together():
    X, y = wave(40)
    X, y = np.tile(X, (3, 1)), np.tile(y, 3)
    model = SIPRegressor(random_state=0)
    model._generator = np.random.default_rng(0)
    rows, held_out = model._held_out(X, y)
    assert sorted([*rows, *held_out]) == list(range(120))
    assert len(held_out) == 36  # 12 of 40 kinds
    assert not set(rows % 40) & set(held_out % 40)


def held_out_targets(d, more_noise, spread, rng):
    """Draws of a mixture with a wider noise, or with its components further apart."""
    means = d.mean()[:, None] + spread * (d.means - d.mean()[:, None])
    wider = PredictiveMixture(d.weights, means, d.variances + more_noise)
    return wider.sample(1, rng.integers(2**31))[:, 0]


@pytest.mark.parametrize(("n", "held_out"), [(2, 1), (21, 10), (30, 12), (100, 20), (2000, 200)])
def test_how_many_rows_are_held_out(n, held_out):
    model = SIPRegressor(random_state=0)
    model._generator = np.random.default_rng(0)
    X = np.arange(n)[:, None]
    assert len(model._held_out(X, X[:, 0])[1]) == held_out


@pytest.mark.parametrize("n", [4, 150])
def test_factors_are_drawn_from_what_held_out_rows_leave_possible(paper, n):
    model, X, _ = paper
    model = copy.deepcopy(model)
    scaled = model._scaled(X)
    d = model._new_predictor(100).mixture(scaled)
    noise = model._predictor.noise_variance[0]
    targets = held_out_targets(d, 8 * noise, 1.0, np.random.default_rng(0))
    model._calibrate(scaled[:n], targets[:n], np.ones(n))
    log_posterior, noises = {}, np.geomspace(1, 1e4, 31)
    for k in np.geomspace(1, 3, 8):
        means = d.mean()[:n, None] + k * (d.means - d.mean()[:, None])[:n]
        for c in noises:
            scale = np.sqrt(d.variances[:n] + (c - 1) * noise)
            p = norm.pdf(targets[:n, None], means, scale).mean(axis=1)
            log_posterior[k, c] = np.log(p).sum() - np.log(c * k**2)
    best, _ = max(log_posterior, key=log_posterior.get)
    assert model._spread_factor == pytest.approx(best)
    posterior = softmax([log_posterior[best, c] for c in noises])
    drawn = [np.sum(np.isclose(model._noise_factor, c)) for c in noises]
    assert sum(drawn) == 100
    # Every value has its share of the components, give or take one.
    np.testing.assert_allclose(drawn, 100 * posterior, atol=1.0001)
    assert (np.std(np.log(model._noise_factor)) > 0.5) == (n == 4)
    if n == 150:
        assert 6 < np.exp(np.log(model._noise_factor).mean()) < 12
        with pytest.warns(ConvergenceWarning, match="10,000 times"):
            model._calibrate(scaled, targets + 1e4, np.ones(n))


def test_a_fit_may_go_on_with_another_number_of_draws(paper):
    model, X, y = copy.deepcopy(paper[0]), *paper[1:]
    model.set_params(n_posterior_draws=7).partial_fit(X, y)
    assert model.predict_distribution(X[:1]).means.shape == (1, 7)


def test_draws_move_apart_where_held_out_rows_ask_for_it():
    X, y = two_modes(400, 0)
    model = SIPRegressor(**SMALL, max_iter=40, likelihood="gaussian", random_state=0).fit(X, y)
    scaled = model._scaled(X)
    d = model._new_predictor(100).mixture(scaled)
    rng = np.random.default_rng(0)
    model._calibrate(scaled, held_out_targets(d, 0.0, 1.6, rng), np.ones(len(X)))
    assert 1.3 < model._spread_factor < 2.0
    wide = model._new_predictor(100).mixture(scaled)
    expected = d.mean()[:, None] + model._spread_factor * (d.means - d.mean()[:, None])
    np.testing.assert_allclose(wide.means, expected, rtol=1e-6, atol=1e-9)


def test_each_function_has_the_noise_of_one_component(paper):
    model = copy.deepcopy(paper[0])
    before = model.noise_variance_
    model._noise_factor = np.repeat([1.0, 50.0], 50)
    model._publish()
    assert model.noise_variance_ == pytest.approx(25.5 * before)
    a = model.sample_y([[0.5], [0.5]], 8000, random_state=0)
    difference = (a[0] - a[1]) / np.sqrt(2 * before)
    # Five standard errors of the second moment; the fourth one is 3 (1 + 50²) / 2.
    assert abs(np.mean(difference**2) / 25.5 - 1) < 0.12
    assert abs(np.mean(difference**4) / (1.5 * 2501) - 1) < 0.35


def test_scores_are_of_predictions_with_the_noise_that_rows_ask_for(fitted):
    model, X, _ = fitted
    model = copy.deepcopy(model)
    scaled, ones = model._scaled(X), np.ones(len(X))
    d = model._new_predictor(100).mixture(scaled)
    noise = model.noise_variance_ / model._y_scale**2
    targets = held_out_targets(d, 3.0 * noise, 1.0, np.random.default_rng(0))
    plain = d.logpdf(targets).mean()
    c = 10 ** (4 * 3 / 30)  # of the factors tried, the nearest to 4 from below
    wider = PredictiveMixture(d.weights, d.means, d.variances + (c - 1) * noise)
    score = model._scorer(scaled, targets, ones)(None).mean()
    # Another factor may be better on these rows, but none is much.
    expected = wider.logpdf(targets).mean() - np.log(c) / len(X)
    assert plain + 0.1 < expected <= score + 1e-12 < expected + 0.1


def test_large_gradients_are_cut_to_their_usual_size(fitted):
    inference = copy.deepcopy(fitted[0]._inference)
    gradient = np.random.default_rng(0).standard_normal(len(inference.model.theta))
    gradient = gradient.astype(np.float32)
    blocks = np.split(gradient, inference.adam.starts[1:-1])
    inference.usual_norms, inference.n_norms = np.array([np.linalg.norm(b) for b in blocks]), 1000
    usual = gradient.copy()
    inference._cut(gradient)
    np.testing.assert_array_equal(gradient, usual)
    gradient *= 100.0
    inference._cut(gradient)
    np.testing.assert_allclose(gradient, 1.5 * usual, rtol=1e-5)
    # What was cut moves what is usual by half a hundredth.
    inference._cut(gradient := 100.0 * usual)
    np.testing.assert_allclose(gradient, 1.5 * 1.005 * usual, rtol=1e-5)


def test_callbacks_see_every_epoch():
    X, y = wave(60)
    monitor = ScoringMonitor(scoring="r2")
    model = SIPRegressor(**SMALL, max_iter=10, random_state=0)
    model.set_callbacks(monitor).fit(X, y)
    assert monitor.get_logs().data_as_pandas["r2"].nunique() == 10


def test_pipeline_and_grid():
    X, y = wave(60)
    pipe = make_pipeline(StandardScaler(), SIPRegressor(**SMALL, max_iter=50, random_state=0))
    grid = GridSearchCV(
        pipe, {"sipregressor__alpha_divergence": [0.5, 1.0]}, scoring=crps_scorer, cv=2
    )
    assert np.isfinite(grid.fit(X, y).best_score_)


def test_predictions_in_threads(fitted):
    model, X, _ = fitted
    expected, found = model.predict(X), []
    threads = [threading.Thread(target=lambda: found.append(model.predict(X))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for predicted in found:
        np.testing.assert_array_equal(predicted, expected)


def test_point_estimate(fitted):
    model, X, _ = fitted
    model = copy.copy(model).set_params(point_estimate=np.str_("median"))
    np.testing.assert_allclose(model.predict(X), model.predict_distribution(X).quantile(0.5)[:, 0])

"""The exact output: the objective over all rows, and predictions given all rows."""

import pickle

import numpy as np
import pytest
from deep_wishart import quick, random_model, wave
from gradients import assert_gradient
from scipy.optimize import minimize
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from skbayesnn.dwp import objective as ob
from skbayesnn.dwp.collapsed import (
    SPARSE_JITTER,
    collapsed_loss_and_gradient,
    evidence,
    sparse_evidence,
)
from skbayesnn.dwp.passes import Pass
from skbayesnn.dwp.plan import make_plan
from skbayesnn.dwp.prediction import ExactOutput
from skbayesnn.dwp.sizes import LayerSizes, draw_noise
from skbayesnn.dwp.sparse_output import SparseOutput
from skbayesnn.gaussian_process.evidence import log_evidence, relevance_prior
from skbayesnn.gaussian_process.kernels import squared_exponential

SMALL = {
    "ab-gw, two targets": LayerSizes(2, 2, 4, 6, 2, "ab-gw"),
    "gw": LayerSizes(2, 1, 4, 2, 3, "gw"),
    "no hidden layer": LayerSizes(2, 1, 4, 2, 0, "gw"),
}


def reference(features, y, height, noise):
    """scikit-learn's Gaussian process with this kernel, given the data."""
    kernel = ConstantKernel(height) * RBF(1.0) + WhiteKernel(noise)
    return GaussianProcessRegressor(kernel, optimizer=None).fit(features, y)


def test_evidence_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    features, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    loss = evidence(features, Y, np.ones(12), 0.4, np.log([0.2, 0.5]))[0]
    expected = sum(
        reference(features, Y[:, t], np.exp(0.4), noise).log_marginal_likelihood_value_
        for t, noise in enumerate((0.2, 0.5))
    )
    # The jitter is 1e-10 of the diagonal.
    np.testing.assert_allclose(loss, -expected, rtol=1e-8)


def test_sparse_evidence_is_the_bound_of_titsias():
    rng = np.random.default_rng(0)
    features, Y, points = rng.normal(size=(9, 3)), rng.normal(size=(9, 2)), np.array([1, 4, 8])
    height, noises = np.exp(0.4), (0.2, 0.5)
    loss = sparse_evidence(features, Y, np.ones(9), points, 0.4, np.log(noises))[0]
    gram = squared_exponential(features, features, 0.4)
    regular = gram[np.ix_(points, points)] + SPARSE_JITTER * height * np.eye(3)
    low_rank = gram[:, points] @ np.linalg.solve(regular, gram[points])
    expected = sum(
        multivariate_normal.logpdf(Y[:, t], np.zeros(9), low_rank + noise * np.eye(9))
        - (gram - low_rank).trace() / (2 * noise)
        for t, noise in enumerate(noises)
    )
    np.testing.assert_allclose(-loss, expected, rtol=1e-10)
    # Through all rows it is the evidence, but for the jitter: 1e-6 of the height, over noise.
    loss = sparse_evidence(features, Y, np.ones(9), np.arange(9), 0.4, np.log(noises))[0]
    exact = evidence(features, Y, np.ones(9), 0.4, np.log(noises))[0]
    np.testing.assert_allclose(loss, exact, atol=9 * 1e-6 * height / 0.2)


@pytest.mark.parametrize("points", [None, np.array([0, 2, 5])])
@pytest.mark.parametrize("name", SMALL)
def test_gradient(name, points):
    a = SMALL[name]
    theta, X, Y, noise = random_model(a)
    options = {"n_total": 11, "points": points}
    weights = np.array([1.0, 0.3, 2.0, 1.0, 3.0, 0.7, 1.0])
    _, exact, _ = collapsed_loss_and_gradient(a, theta, X, Y, weights, noise, **options)

    def loss():
        return collapsed_loss_and_gradient(a, theta, X, Y, weights, noise, **options)[0]

    # Longer steps than elsewhere: with a jitter of 1e-8, rounding is more than 1e-15.
    assert_gradient(loss, theta, exact, a.shapes(), np.random.default_rng(1))
    assert (a.views(exact)["values"] == 0).all()  # pseudo-observations play no part


def test_annealing_weighs_the_divergences_alone():
    a = SMALL["gw"]
    theta, X, Y, noise = random_model(a)
    ones = np.ones(len(X))
    values = [collapsed_loss_and_gradient(a, theta, X, Y, ones, noise, w) for w in (0.0, 0.5, 1.0)]
    assert values[0][0] == values[1][0] == values[2][0]
    np.testing.assert_allclose(values[1][1], 0.5 * (values[0][1] + values[2][1]), atol=1e-12)
    assert not np.allclose(values[0][1], values[2][1])


@pytest.mark.parametrize("n_layers", [0, 2])
def test_objective_is_above_the_bound_of_pseudo_observations(n_layers):
    """Whatever the pseudo-observations; the best ones at all rows leave no gap."""
    a = LayerSizes(2, 1, 7, 2, n_layers, "ab-gw")
    theta, X, Y, noise = random_model(a, n_draws=1)
    p = a.views(theta)
    p["inducing"][:] = X
    hidden = Pass(a, p, X, noise).hidden(0)
    if n_layers:
        # A row at an inducing point has its features.
        np.testing.assert_allclose(hidden.left, hidden.right, atol=1e-3)
    deviation = np.exp(-0.5 * p["log_noise"][0])
    best = deviation * np.eye(7), deviation * Y[:, 0]
    gaps = []
    for root, values in (best, (0.5 * best[0], best[1]), (best[0], best[1] + 0.3)):
        p["root"][0], p["values"][0] = root, values
        exact = collapsed_loss_and_gradient(a, theta, X, Y, np.ones(len(X)), noise)[0]
        gaps.append(ob.loss_and_gradient(a, theta, X, Y, np.ones(7), noise, 7)[0] - exact)
    # Features differ by the root of the jitter, 1e-8, in each hidden layer.
    np.testing.assert_allclose(gaps[0], 0, atol=1e-7 if n_layers == 0 else 1e-3)
    assert min(gaps[1:]) > 0.01


@pytest.mark.parametrize("n_layers", [0, 1, 3])
def test_each_draw_predicts_as_scikit_learn_does_given_its_features(n_layers):
    a = LayerSizes(2, 2, 5, 3, n_layers, "ab-gw")
    theta, X, Y, noise = random_model(a, n_rows=9, n_draws=3)
    new = np.random.default_rng(1).normal(size=(4, 2))
    means, variances = ExactOutput(a, theta, noise, X, Y, np.ones(9)).predict(new)
    p = a.views(theta)
    run = Pass(a, p, np.vstack([X, new]), noise)
    assert means.shape == variances.shape == (3 if n_layers else 1, 2, 4)
    for d in range(len(means)):
        features = run.hidden(d).right
        for t in range(2):
            sigma2 = np.exp(p["log_noise"][t])
            gp = reference(features[:9], Y[:, t], np.exp(p["log_heights"][-1]), sigma2)
            mean, std = gp.predict(features[9:], return_std=True)
            np.testing.assert_allclose(means[d, t], mean, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(variances[d, t] + sigma2, std**2, rtol=1e-6)


def test_without_hidden_layers_it_is_the_exact_gaussian_process():
    X, y = wave()
    y = y + np.cos(X[:, 1])
    target = ((y - y.mean()) / y.std())[:, None]
    model = quick(n_layers=0, likelihood="gaussian", max_iter=300).fit(X, y)
    scale = y.std()
    kernel = ConstantKernel(model.signal_variance_ / scale**2) * RBF(model.length_scales_)
    kernel += WhiteKernel(model.noise_variance_ / scale**2)
    gp = GaussianProcessRegressor(kernel, normalize_y=True, optimizer=None).fit(X, y)
    new = wave(20, seed=1)[0]
    model._model.settings = model._model.elsewhere = None  # other laws, of few rows and of none
    mean, std = gp.predict(new, return_std=True)
    ours, our_std = model.predict(new, return_std=True)
    np.testing.assert_allclose(ours, mean, rtol=1e-6)
    np.testing.assert_allclose(our_std, std, rtol=1e-6)
    # The objective is the evidence and the log prior, at its maximum but for the last step.
    lengths = np.log(model.length_scales_ / X.std(axis=0))
    prior = relevance_prior(lengths, 0.5)[0]
    expected = (gp.log_marginal_likelihood_value_ - prior) / 60
    np.testing.assert_allclose(-model.loss_curve_[-1], expected, atol=1e-4)
    best = minimize(
        lambda t: (
            log_evidence(t, (X - X.mean(axis=0)) / X.std(axis=0), target, np.ones(60))[0]
            + relevance_prior(t[:2], 0.5)[0] / 60
        ),
        np.r_[lengths, np.log([model.signal_variance_, model.noise_variance_]) - 2 * np.log(scale)],
    )
    np.testing.assert_allclose(-model.loss_curve_[-1], -best.fun, atol=1e-3)


def test_blocks_and_cache_change_nothing(monkeypatch):
    X, y = wave()
    model = quick().fit(X, y)
    before = model.predict(X, return_std=True)
    again = model.predict(X, return_std=True)
    np.testing.assert_array_equal(before, again)
    monkeypatch.setattr("skbayesnn.dwp.prediction.BLOCK", 7)
    monkeypatch.setattr("skbayesnn.dwp.prediction.CACHE_BYTES", 0)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(copy.predict(X, return_std=True), before, rtol=1e-7)
    assert copy._model.output._cache == {}


def test_pickles_hold_no_factors():
    X, y = wave(200)
    model = quick(max_iter=2, n_posterior_draws=50).fit(X, y)
    model.predict(X)
    kept = len(pickle.dumps(model._model.output._cache))
    assert kept > 50 * 200**2 * 8
    assert len(pickle.dumps(model)) < 0.05 * kept


def test_which_output(monkeypatch):
    X, y = wave()
    assert quick(max_iter=1).fit(X, y)._model.kind is ExactOutput
    monkeypatch.setattr("skbayesnn.dwp.plan._EXACT_ROWS", 59)
    monkeypatch.setattr("skbayesnn.dwp.model.SPARSE_ROWS", 20)
    sparse = quick(max_iter=3, batch_size=30).fit(X, y)
    assert sparse._model.kind is SparseOutput
    assert sparse._model.output.points.shape == (20,)
    assert sparse.n_iter_ == len(sparse.loss_curve_) == 3
    assert quick(max_iter=1).fit(X, y)._model.kind is SparseOutput
    assert quick(max_iter=1).fit(X[1:], y[1:])._model.kind is ExactOutput
    assert quick(max_iter=1, output="inducing").fit(X, y)._model.rows == ()
    exact = quick(max_iter=1, output="exact", batch_size=10).fit(X, y)
    assert exact._model.kind is ExactOutput
    assert exact.n_iter_ == 1


@pytest.mark.parametrize("output", ["exact", "sparse"])
def test_a_stream_goes_on_from_a_fit(output):
    X, y = wave(120)
    options = {"max_iter": 200, "n_inducing": 40, "output": output}
    model = quick(**options).fit(X, y)
    new, truth = wave(200, seed=1)
    before = model.log_predictive_density(new, truth).mean()
    model.partial_fit(X[:40], y[:40])
    assert model.n_samples_seen_ == 160
    assert model._model.rows == ()
    # Pseudo-observations at 40 points hold nearly all that 120 rows say.
    assert model.log_predictive_density(new, truth).mean() > before - 0.3


@pytest.mark.parametrize("output", ["exact", "sparse"])
def test_held_out_rows_are_scored_given_the_others(output):
    X, y = wave(80)
    model = quick(output=output, early_stopping=True, max_iter=300, n_iter_no_change=50).fit(X, y)
    assert model.validation_scores_
    # The truth has log density 2.5 in units of the spread of y, 1.4, over the noise, 0.1.
    assert max(model.validation_scores_) > 0.5
    # Then it is conditioned on all; the prior was weighed against the others.
    assert len(model._model.rows[0]) == 80
    assert model.n_samples_seen_ == 72


def test_steps_with_all_rows_raise_their_objective(monkeypatch):
    monkeypatch.setattr("skbayesnn.dwp.inference.POINTS", 60)
    rng = np.random.default_rng(0)
    X = rng.uniform(-6, 6, (200, 1))
    y = np.sign(np.sin(2 * X[:, 0])) + 0.1 * rng.normal(size=200)
    options = {"output": "sparse", "n_inducing": 11, "n_layers": 1, "batch_size": 100}
    monkeypatch.setattr("skbayesnn.dwp.plan._SPARSE_PART", 1)
    model = quick(max_iter=100, **options).fit(X, y)
    losses = model.loss_curve_
    assert len(losses) == 100
    # From 2.3 to 0.6 nats a row; the draws and points of a step make a spread of 0.05.
    assert np.mean(losses[-10:]) < np.mean(losses[:5]) - 1.0


def test_phases_by_rows_and_parameters(monkeypatch):
    monkeypatch.setattr("skbayesnn.dwp.plan._SPARSE_BATCH", 25)
    X, _ = wave(60)
    model = quick(output="sparse", batch_size=20, max_iter=40)
    first, second = (phase.settings for phase in make_plan(model, X).phases)
    assert (first.n_epochs, first.n_batches, first.batch_size) == (27, 3, 20)
    assert (second.n_epochs, second.n_batches, second.batch_size) == (13, 3, 20)
    model.set_params(max_iter="auto")
    assert [phase.settings.n_epochs for phase in make_plan(model, X).phases] == [2500, 67]
    model.set_params(n_layers=5)
    assert make_plan(model, X).phases[1].settings.n_epochs == 167  # 500 steps
    assert len(make_plan(model.set_params(max_iter=2), X).phases) == 1
    model.set_params(max_iter="auto")
    assert len(make_plan(model.set_params(output="inducing"), X).phases) == 1
    assert make_plan(model.set_params(output="exact"), X).phases[0].settings.n_epochs == 500
    model.set_params(n_layers=2)
    assert make_plan(model, X).phases[0].settings.n_epochs == 250
    assert make_plan(model.set_params(output="sparse"), X, stream=True).output == "inducing"


def test_learns_more_from_the_rows_than_pseudo_observations_do():
    """Many rows, few inducing points: the exact output is not limited by them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-6, 6, (200, 1))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=200)
    new = np.linspace(-5.5, 5.5, 50)[:, None]
    errors = [
        np.sqrt(np.mean((quick(output=output, n_inducing=8, n_layers=0).fit(X, y).predict(new)
                         - np.sin(3 * new[:, 0])) ** 2))
        for output in ("exact", "inducing")
    ]  # fmt: skip
    assert errors[0] < 0.05
    assert errors[1] > 0.3


@pytest.mark.parametrize("output", ["exact", "sparse", "inducing"])
def test_joint_draws(output):
    X, y = wave()
    model = quick(output=output, likelihood="gaussian").fit(X, y)
    new = np.vstack([X[:2], X[:1] + 1e-6, [[1.5, -1.0]]])
    draws = model.sample_y(new, 20_000, random_state=1)
    mixture = model.predict_distribution(new)
    # Four standard errors of 20,000 draws; the variance of a variance is about 2 its square.
    error = 4 * mixture.std() / np.sqrt(20_000)
    np.testing.assert_array_less(np.abs(draws.mean(axis=1) - mixture.mean()), error)
    np.testing.assert_allclose(draws.var(axis=1), mixture.var(), rtol=0.06)
    np.testing.assert_array_equal(draws, model.sample_y(new, 20_000, random_state=1))
    # Two rows at one place share the function and differ by two draws of the noise.
    difference = (draws[0] - draws[2]).var()
    np.testing.assert_allclose(difference, 2 * model.noise_variance_, rtol=0.06)
    assert model.sample_y(new).shape == (4, 1)
    with pytest.raises(ValueError, match=r"n_samples must be a positive int. Got 0"):
        model.sample_y(new, 0)
    with pytest.raises(ValueError, match="up to 10000 of them, but there are 10001"):
        model.sample_y(np.arange(20_002.0).reshape(-1, 2))


@pytest.mark.parametrize("output", ["exact", "sparse"])
def test_functions_without_noise(output):
    """The noise falls far below the height; rounding must not pass for information."""
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-2, 2, (70, 2)), rng.uniform(-1.8, 1.8, (100, 2))
    model = quick(output=output, n_layers=0, n_inducing=100, max_iter=100)
    model.fit(X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2)
    mean, std = model.predict(new, return_std=True)
    errors = np.abs(mean - np.sin(2 * new[:, 0]) - new[:, 1] ** 2)
    assert errors.max() < 0.05
    assert (errors < 4 * std).mean() > 0.95


def test_log_evidence_is_the_normal_density_of_rows_with_noise_of_their_own():
    rng = np.random.default_rng(0)
    X, Y, weights = rng.normal(size=(8, 2)), rng.normal(size=(8, 2)), rng.uniform(0.2, 3.0, 8)
    sizes = LayerSizes(2, 2, 4, 2, 1, "ab-gw")
    theta = 0.3 * rng.normal(size=sizes.size())
    output = ExactOutput(sizes, theta, draw_noise(sizes, rng, 3, 1), X, Y, weights)
    p = sizes.views(theta)
    features = output._features(1, p)
    gram = squared_exponential(features, features, p["log_heights"][-1])
    expected = 0.0
    for t in range(2):
        covariance = gram + np.diag(np.exp(p["log_noise"][t]) / weights)
        expected += multivariate_normal(cov=covariance).logpdf(Y[:, t])
    # The jitter is a millionth of the height at most.
    assert output.log_evidence(1) == pytest.approx(expected, rel=1e-4)

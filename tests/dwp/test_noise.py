"""Noise that is not one Gaussian: rows left out against refitting, and the estimator with it."""

import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit
from sklearn.base import clone

from skbayesnn import DeepWishartRegressor
from skbayesnn._validation import InvalidParameterError
from skbayesnn.dwp import model as model_module
from skbayesnn.dwp.fitting import Training
from skbayesnn.dwp.model import MOST_LOSS
from skbayesnn.dwp.noise import fewer
from skbayesnn.dwp.prediction import ExactOutput
from skbayesnn.dwp.sizes import LayerSizes, draw_noise
from skbayesnn.dwp.sparse_output import SparseOutput
from skbayesnn.gaussian_process.conditioned import Process
from skbayesnn.gaussian_process.noise import Features, NoiseLaw
from skbayesnn.gaussian_process.stand_ins import seen_through, with_noise
from skbayesnn.gaussian_process.standard_noise import SkewT
from skbayesnn.gaussian_process.tails import MASSES


def quick(**options):
    defaults = {"max_iter": 40, "n_inducing": 20, "n_posterior_draws": 10, "random_state": 0}
    return DeepWishartRegressor(**{**defaults, **options})


def rows(n=25, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), rng.normal(size=n)
    return X, y, rng.uniform(0.2, 3.0, n), rng.integers(1, 4, n).astype(float)


THETA = np.array([0.3, 0.8, 0.5, -1.0])


def test_rows_left_out_of_a_process_are_those_of_a_refit():
    X, y, precisions, copies = rows()
    weights = precisions * copies
    means, variances = Process(THETA, X, y, weights, copies).left_out()
    for i in (0, 3, 11):
        other = weights.copy()
        other[i] -= precisions[i]  # one copy
        kept = other > 1e-12
        alone = Process(THETA, X[kept], y[kept], other[kept], copies[kept])
        mean, variance = alone.predict(X[i : i + 1])
        np.testing.assert_allclose(means[i], mean[0], rtol=1e-6)
        np.testing.assert_allclose(variances[i], variance[0], rtol=1e-6)


@pytest.mark.parametrize("kind", ["exact", "sparse"])
def test_rows_left_out_of_an_output_are_those_of_a_refit(kind):
    """The hidden layers stay as they are; the function is conditioned on the other rows anew."""
    X, y, precisions, copies = rows()
    weights = precisions * copies
    a = LayerSizes(2, 1, 4, 2, 0, "gw")
    theta, generator = np.zeros(a.size()), np.random.default_rng(0)
    p = a.views(theta)
    p["log_length_scales"][:], p["log_heights"][:], p["log_noise"][:] = (
        THETA[:2],
        THETA[2],
        THETA[3],
    )
    noise, every = draw_noise(a, generator, 1, 1), np.arange(len(X))
    points = np.arange(10)

    def output(kept, weights, copies):
        given = a, theta, noise, X[kept], y[kept, None], weights[kept]
        if kind == "exact":
            return ExactOutput(*given, copies=copies[kept])
        places = np.flatnonzero(np.isin(kept, points))
        return SparseOutput(*given, places, copies=copies[kept])

    means, variances = output(every, weights, copies).left_out(1)
    for i in (12, 20):
        other = weights.copy()
        other[i] -= precisions[i]
        alone = output(np.flatnonzero(other > 1e-12), other, copies)
        mean, variance = (part[0, 0, 0] for part in alone.predict(X[i : i + 1]))
        np.testing.assert_allclose(means[i], mean, rtol=1e-5)
        np.testing.assert_allclose(variances[i], variance, rtol=1e-4)


def a_law(skew=0.0):
    features = Features(np.zeros(2), np.ones(2), np.full(2, -9.0), np.full(2, 9.0))
    family = SkewT(4.0, skewed=True)
    return NoiseLaw(features, np.array([-1.0]), 0.0, family, np.array([0.0, skew]), (0.0, 1.0))


def test_weights_of_rows_have_the_sum_of_their_counts():
    X, y, _, copies = rows()
    seen = seen_through(a_law(), X[:, :1], y, np.zeros(25), np.full(25, 0.1), copies)
    assert seen.weights.sum() == pytest.approx(copies.sum())
    # Those far from the function say less of it.
    far, near = np.argmax(np.abs(y)), np.argmin(np.abs(y))
    assert seen.weights[far] / copies[far] < seen.weights[near] / copies[near]


def test_rounds_raise_the_density_of_rows_that_are_left_out():
    """Precisions of Student's t against a Gaussian's: on rows with outliers the function is nearer
    to the truth."""
    rng = np.random.default_rng(0)
    X = np.linspace(-2, 2, 60)[:, None]
    truth = np.sin(2 * X[:, 0])
    y = truth + 0.1 * rng.normal(size=60)
    y[::10] += 3.0 * rng.choice([-1, 1], 6)
    theta, ones = np.array([-0.3, 0.0, np.log(0.5)]), np.ones(60)
    moments = Process(theta, X, y, ones, ones).left_out()
    before = np.abs(moments[0] - truth).mean()
    for _ in range(4):
        seen = seen_through(a_law().scaled(0.05), X, y, *moments, ones)
        theta[-1] = np.log(seen.unit)
        moments = Process(theta, X, seen.targets[:, 0], seen.weights, ones).left_out()
    assert np.abs(moments[0] - truth).mean() < 0.5 * before


def test_mixture_of_function_and_noise():
    rng = np.random.default_rng(0)
    means, variances = rng.normal(size=(6, 3)), rng.uniform(0.1, 1.0, (6, 3))
    law, X, at = a_law(0.4), np.zeros((3, 1)), np.zeros(3)
    chances, centres, squares = with_noise(law, X, at, means, variances)
    assert chances.sum() == pytest.approx(1.0)
    _, shifts, _ = law.gaussians(X, at)
    shift = shifts[0] @ law.gaussians(X, at)[0]
    np.testing.assert_allclose(centres @ chances, means.mean(axis=0) + shift)
    total = squares @ chances + centres**2 @ chances - (centres @ chances) ** 2
    expected = variances.mean(axis=0) + means.var(axis=0) + law.mean_variances(X, at)
    np.testing.assert_allclose(total, expected)
    few = fewer(means, variances, 2)
    np.testing.assert_allclose(few[0].mean(axis=0), means.mean(axis=0))
    spread = few[1].mean(axis=0) + few[0].var(axis=0)
    np.testing.assert_allclose(spread, variances.mean(axis=0) + means.var(axis=0))


def heavy(n=150, seed=0):
    """Student noise of two degrees of freedom whose scale grows with the second input."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    scale = 0.2 * np.exp(0.6 * X[:, 1])
    return X, 100 + 10 * (np.sin(2 * X[:, 0]) + scale * rng.standard_t(3, n)), 10 * scale


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = heavy()
    return quick().fit(X, y)


def test_tails_and_scale_are_found(fitted):
    X, y, scale = heavy(1000, 1)
    law = stats.t(3, 100 + 10 * np.sin(2 * X[:, 0]), scale)
    known = quick(likelihood="gaussian", gaussian_process=False).fit(*heavy()[:2])
    density = fitted.log_predictive_density(X, y).mean()
    assert density > known.log_predictive_density(X, y).mean() + 0.2
    assert density > law.logpdf(y).mean() - 0.15
    low, high = fitted.predict_interval(X).T
    assert 0.84 < np.mean((low <= y) & (y <= high)) < 0.96
    wide, narrow = np.quantile(X[:, 1], [0.9, 0.1])
    ratio = (high - low)[X[:, 1] > wide].mean() / (high - low)[X[:, 1] < narrow].mean()
    assert fitted.likelihood_ == "student_t"
    assert ratio > 3  # exp(0.6 * 3.6) is 8.7


@pytest.mark.parametrize("output", ["exact", "sparse", "inducing"])
def test_joint_draws_have_the_moments(output):
    X, y, _ = heavy()
    model = quick(output=output, likelihood="student_t").fit(X, y)
    mixture = model.predict_distribution(X[:4])
    draws = model.sample_y(X[:4], 20_000, random_state=0)
    np.testing.assert_allclose(mixture.cdf(draws).mean(axis=1), 0.5, atol=0.015)
    np.testing.assert_allclose(mixture.cdf(draws).std(axis=1), np.sqrt(1 / 12), rtol=0.03)
    assert model.noise_variance_ > 0


def test_gaussian_noise_stays_gaussian_to_the_last_digit():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 2))
    y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=120)
    known, model = quick(likelihood="gaussian").fit(X, y), quick().fit(X, y)
    assert model.likelihood_ == "gaussian"
    np.testing.assert_array_equal(model.predict(X), known.predict(X))


def test_weights_are_repeated_rows_and_pickles_predict_the_same(fitted):
    X, y, _ = heavy()
    counts = np.arange(150) % 3
    again = np.repeat(np.arange(150), counts)
    weighted = clone(fitted).fit(X, y, sample_weight=counts)
    repeated = clone(fitted).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-3)
    other = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(other.predict_interval(X), fitted.predict_interval(X))


def test_a_stream_goes_on_with_gaussian_noise(fitted):
    X, y, _ = heavy()
    model = clone(fitted).fit(X, y).partial_fit(X, y)
    assert model.predict_distribution(X).means.shape == (150, 10 * len(MASSES))
    assert np.isfinite(model.log_predictive_density(X, y)).all()


def test_held_out_rows_and_several_targets():
    X, y, _ = heavy()
    model = quick(early_stopping=True).fit(X, y)
    assert np.isfinite(model.validation_scores_).all()
    both = quick().fit(X, np.column_stack([y, -y]))
    assert both.predict(X).shape == (150, 2)
    with pytest.raises(InvalidParameterError, match="one target"):
        quick(likelihood="student_t").fit(X, np.column_stack([y, -y]))


def test_a_target_of_which_most_is_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(rng.random(200) < 0.6, 0.0, rng.lognormal(X[:, 0], 0.5))
    model = quick().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0.01 * y.std()).all()


def test_with_many_rows_the_noise_is_learned_after_training(monkeypatch):
    """What a process of some of the rows cannot predict is no noise to the layers."""
    X, y, scale = heavy()
    law = stats.t(3, 100 + 10 * np.sin(2 * X[:, 0]), scale)
    seen = []
    train = Training._train

    def watched(self, plan, rows, *others):
        seen.append(rows)
        return train(self, plan, rows, *others)

    monkeypatch.setattr(Training, "_train", watched)
    before = quick().fit(X, y)
    monkeypatch.setattr(model_module, "START_ROWS", 100)
    after = quick().fit(X, y)
    assert np.ptp(seen[0][2]) > 0.1
    np.testing.assert_allclose(seen[1][1][:, 0], (y - y.mean()) / y.std())
    assert (seen[1][2] == 1).all()
    assert before.likelihood_ == after.likelihood_ == "student_t"
    densities = [model.log_predictive_density(X, y).mean() for model in (before, after)]
    np.testing.assert_allclose(densities, law.logpdf(y).mean(), atol=0.25)


def without_noise(function, seed, n):
    rng = np.random.default_rng([seed, 8, n, 2])
    X = rng.uniform(-1, 1, (n + 400, 2))
    y = function(X)
    return X[:n], y[:n], X[n:], y[n:]


def test_draws_that_make_the_rows_impossible_give_way_to_others():
    """Of fifty draws, thirty had log evidences down to −280,000, where the best has 630."""
    X, y, new, truth = without_noise(lambda X: np.abs(X[:, 0]) + X[:, 1], 3, 200)
    model = DeepWishartRegressor(random_state=0).fit(X, y)
    output = model._model.output
    logs = np.array([output.log_evidence(d) for d in range(output.n_draws)])
    assert logs.min() > logs.max() - MOST_LOSS * len(X)
    assert model.score(new, truth) > 0.9999


def test_noise_is_not_taken_from_layers_that_need_it():
    """Rows left out beside a step are unsure of it and ask for none: e⁻²⁵ made all draws fail."""
    X, y, new, truth = without_noise(lambda X: 2.0 * (X[:, 0] > 0.1) + np.sin(4 * X[:, 1]), 7, 120)
    model = DeepWishartRegressor(random_state=0).fit(X, y)
    assert model.score(new, truth) > 0.9  # it was −6
    assert model.noise_variance_ > 1e-4


def test_an_input_decides_which_of_two_modes_is_likely():
    """Chances of the upper mode, by predictions and by draws, and the same after pickling."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    chance = expit(3.0 * X[:, 0])
    y = X[:, 1] + np.where(rng.random(500) < chance, 1.0, -1.0) + 0.2 * rng.normal(size=500)
    model = DeepWishartRegressor(random_state=0).fit(X[:300], y[:300])
    assert model.likelihood_ == "mixture"
    new, middle = X[300:], X[300:, 1]
    law = model.predict_distribution(new)
    found = 1.0 - law.cdf(middle)
    assert np.abs(found - chance[300:]).mean() < 0.1
    drawn = (model.sample_y(new, 400, random_state=1) > middle[:, None]).mean(axis=1)
    # Standard errors of 400 draws are at most 0.025, and those of a mean over rows are smaller.
    assert np.abs(drawn - found).mean() < 0.03
    again = pickle.loads(pickle.dumps(model)).predict_distribution(new)
    np.testing.assert_array_equal(
        again.quantile(0.5), model.predict_distribution(new).quantile(0.5)
    )

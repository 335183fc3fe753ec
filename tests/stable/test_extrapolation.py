"""Away from the rows: densities left out against refits, the share, and what predictions become."""

import numpy as np
import pytest
from left_out_row import left_out_by_hand
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist

from skbayesnn import StableNNRegressor
from skbayesnn.stable.extrapolation import stacking_share
from skbayesnn.training.unseen import NOISES, SmoothLaw


def test_density_left_out_of_the_smooth_law():
    """One setting has all the probability: the Gaussian process without the row, by hand."""
    rng = np.random.default_rng(0)
    X, weights = np.sort(rng.uniform(-2, 2, 30))[:, None], rng.uniform(0.5, 2.0, 30)
    y = np.sin(2 * X) + 0.3 * rng.standard_normal((30, 1))
    law = SmoothLaw(X, y, weights)
    law._learn()
    length, vectors, turned, spectra, sizes, chances = law.settings[0]
    best = chances[:, 0].argmax()
    only = np.zeros_like(chances)
    only[best] = 1.0
    law.settings = [(length, vectors, turned, spectra, sizes, only)]
    ratio = NOISES[best]
    covariance = np.exp(-0.5 * (cdist(X, X) / length) ** 2) + ratio * np.diag(1 / weights)
    covariance *= sizes[best, 0] * law.scale[0] ** 2 / (1 + ratio)
    expected = [left_out_by_hand(covariance, y[:, 0] - law.location[0], i) for i in range(30)]
    np.testing.assert_allclose(law.log_densities_left_out()[:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("shift", [-3.0, -0.3, 0.0, 0.3, 3.0])
def test_share_is_the_best(shift):
    rng = np.random.default_rng(0)
    first, weights = rng.standard_normal(40), rng.uniform(0.5, 2.0, 40)
    second = first + rng.standard_normal(40) + shift

    def loss(share):
        mixed = (1 - share) * np.exp(first) + share * np.exp(second)
        return -weights @ np.log(mixed)

    expected = minimize_scalar(loss, bounds=(0, 1), method="bounded", options={"xatol": 1e-9}).x
    assert stacking_share(first, second, weights) == pytest.approx(expected, abs=1e-5)


def table(function, seed=0):
    """Rows with a gap, a step or a wave across them."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([rng.uniform(-3, -1, 60), rng.uniform(1, 3, 60)])
    return x[:, None], function(x) + 0.2 * rng.standard_normal(120)


AWAY = np.concatenate([np.linspace(-0.6, 0.6, 25), np.linspace(3.5, 5, 15)])[:, None]


@pytest.fixture(scope="module")
def fits():
    """The same network on a smooth function and on one with a jump."""
    functions = {"smooth": lambda x: np.sin(1.5 * x), "jump": lambda x: np.where(x > 2, 2.0, 0.0)}
    return {
        name: StableNNRegressor(gaussian_process=False, random_state=0).fit(*table(function))
        for name, function in functions.items()
    }


def test_smooth_functions_go_on_smoothly(fits):
    model, truth = fits["smooth"], np.sin(1.5 * AWAY[:25, 0])
    stacked = model.predict_distribution(AWAY)
    alone = model.set_params(extrapolation="posterior").predict_distribution(AWAY)
    model.set_params(extrapolation="stacked")
    assert stacked[:25].logpdf(truth).mean() > alone[:25].logpdf(truth).mean() + 0.3
    assert (stacked.cdf(np.sin(1.5 * AWAY[:, 0])) > 0.02).all()


def test_jumps_stay_with_the_posterior(fits):
    model = fits["jump"]
    stacked = model.predict_distribution(AWAY)
    alone = model.set_params(extrapolation="posterior").predict_distribution(AWAY)
    model.set_params(extrapolation="stacked")
    np.testing.assert_allclose(stacked.quantile([0.1, 0.5, 0.9]), alone.quantile([0.1, 0.5, 0.9]),
                               atol=0.05)  # fmt: skip


@pytest.mark.parametrize("name", ["smooth", "jump"])
def test_among_the_rows_it_is_the_posterior(fits, name):
    model, X = fits[name], np.linspace(-2.8, -1.2, 20)[:, None]
    stacked = model.predict_distribution(X)
    alone = model.set_params(extrapolation="posterior").predict_distribution(X)
    model.set_params(extrapolation="stacked")
    np.testing.assert_array_equal(stacked.means, alone.means)
    np.testing.assert_array_equal(stacked.variances, alone.variances)


def test_draws_have_the_law_of_predictions(fits):
    model = fits["smooth"]
    law, draws = model.predict_distribution(AWAY), model.sample_y(AWAY, 4000, random_state=1)
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    reached = law.cdf(np.quantile(draws, levels, axis=1).T)
    assert np.abs(reached - levels).max() < 0.04


def test_copies_are_weights():
    X, y = table(np.sin)
    twice = StableNNRegressor(random_state=0).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    weighted = StableNNRegressor(random_state=0).fit(X, y, sample_weight=np.full(len(y), 2.0))
    quantiles = (m.predict_distribution(AWAY).quantile([0.1, 0.9]) for m in (twice, weighted))
    np.testing.assert_allclose(*quantiles, rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("deviation", [0.0, 4.0])
def test_weights_of_any_size_leave_predictions_finite(deviation):
    X, y = table(np.sin)
    weights = np.exp(deviation * np.random.default_rng(0).standard_normal(len(y)))
    weights /= weights.sum()
    model = StableNNRegressor(random_state=0).fit(X, y, sample_weight=weights)
    assert np.isfinite(model.predict_distribution(AWAY).quantile([0.01, 0.99])).all()
    assert np.isfinite(model.sample_y(AWAY, 20)).all()

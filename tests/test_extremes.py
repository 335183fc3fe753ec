"""Limits of a few extremes that would make all other values look the same, and predictions of
targets beyond them."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from skbayesnn import (
    DeepWishartRegressor,
    SIPRegressor,
    StableNNRegressor,
    StackingDistributionRegressor,
    UDNRegressor,
)
from skbayesnn._extremes import DOMINATED, FARTHEST, FEW, clipped_targets, limits_of_extremes
from skbayesnn._validation import location_and_scale
from skbayesnn.dwp.scales import InputScales
from skbayesnn.pooling.forest import ForestDistributionRegressor
from skbayesnn.predictive import PredictiveMixture


def normal(n=300, seed=0):
    return np.random.default_rng(seed).normal(3.0, 2.0, n)


def with_typing_errors(n=300, k=1, size=1e9):
    y = normal(n)
    y[:k] = size * (-1.0) ** np.arange(k)
    return y


@pytest.mark.parametrize(
    "y",
    [
        normal(),
        normal(5),
        np.exp(normal()),  # one row has most of the variance, but not this much more
        np.random.default_rng(0).standard_t(2, 300),
        np.where(np.arange(300) == 7, 1.0, 0.0),  # nothing else to see
        np.where(np.arange(300) % 2, 1e9, 0.0),
        np.append(normal(8), 1e9),  # one in nine is not few
        np.full(30, 7.0),
        np.array([1e9]),
    ],
)
def test_ordinary_columns_have_no_limits(y):
    assert limits_of_extremes(y, "y") == (-np.inf, np.inf)


@pytest.mark.parametrize(("n", "k"), [(300, 1), (300, 6), (20, 1), (10, 1)])
def test_limits_are_those_of_the_other_rows(n, k):
    y = with_typing_errors(n, k)
    with pytest.warns(UserWarning, match=f"y has {k} of {n} values"):
        low, high = limits_of_extremes(y, "y")
    if k == 6 or n < 50:  # then the farthest fiftieth is these alone
        rest = y[k:]
        mean, std = rest.mean(), rest.std()
        np.testing.assert_allclose([low, high], [mean - FARTHEST * std, mean + FARTHEST * std])
    _, scale = location_and_scale(np.clip(y, low, high), "y")
    assert 1.0 < scale / y[k:].std() < 4.0


def test_more_than_a_few_are_no_extremes():
    y = with_typing_errors(300, int(FEW * 300) + 1)
    assert limits_of_extremes(y, "y") == (-np.inf, np.inf)


def test_where_limits_begin():
    """The deviation of all rows, in those of the others, against the threshold."""
    for factor, limited in [(0.98, False), (1.02, True)]:
        y = np.tile([-1.0, 1.0], 20)[:39]
        # sqrt(D² / 40) = factor · threshold · std of the others.
        y = np.append(y, factor * DOMINATED * y.std() * np.sqrt(40.0))
        if limited:
            with pytest.warns(UserWarning, match="1 of 40"):
                low, _ = limits_of_extremes(y, "y")
        else:
            low, _ = limits_of_extremes(y, "y")
        assert np.isfinite(low) == limited


@pytest.mark.filterwarnings("ignore:y has:UserWarning")
def test_units_and_copies():
    y = with_typing_errors()
    known = np.array(limits_of_extremes(y, "y"))
    np.testing.assert_allclose(limits_of_extremes(1e-6 * y - 4.0, "y"), 1e-6 * known - 4.0)
    np.testing.assert_allclose(limits_of_extremes(-y, "y"), -known[::-1])
    copies = np.random.default_rng(1).integers(1, 4, len(y))
    weighed = limits_of_extremes(y, "y", copies.astype(float))
    np.testing.assert_allclose(limits_of_extremes(np.repeat(y, copies), "y"), weighed)


def test_columns_on_their_own():
    columns = np.column_stack([normal(), with_typing_errors(), with_typing_errors(k=2)])
    with pytest.warns(UserWarning, match=r"column 2 of X has 2 .* So has 1 other column"):
        low, high = limits_of_extremes(columns, "X")
    assert np.isinf(low[0])
    assert np.isinf(high[0])
    assert (high[1:] < 100).all()


@pytest.mark.filterwarnings("ignore:y has:UserWarning")
def test_numbers_near_the_end_of_their_range():
    y = with_typing_errors(size=1.7e308)
    low, high = limits_of_extremes(y, "y")
    assert -30 < low < high < 40
    assert limits_of_extremes(1e308 * np.tile([-1.0, 1.0], 20), "y") == (-np.inf, np.inf)


@pytest.mark.filterwarnings("ignore:y has:UserWarning")
def test_far_targets_follow_student_t_about_the_predicted_mean():
    y = with_typing_errors(k=4, size=1e4)
    y[:4] *= [1.0, 2.0, 3.0, 4.0]
    clipped, far = clipped_targets(y, np.ones(300))
    rest = y[4:]
    assert clipped.min() >= rest.mean() - 12 * rest.std()
    np.testing.assert_array_equal(clipped[4:], rest)
    scale = np.sqrt(np.mean((y[:4] - rest.mean()) ** 2))
    mixture = PredictiveMixture([0.4, 0.6], [[0.0, 5.0]], [[1.0, 2.0]])
    new = far(mixture)
    np.testing.assert_allclose(new.mean(), mixture.mean())
    points = np.array([[-1e6, -1e5, -3e4, 1.0, 2e4, 4e4]])
    law = stats.t(6.0, mixture.mean()[0], scale)
    exact = 296 / 300 * mixture.cdf(points) + 4 / 300 * law.cdf(points)
    # The mixture of Gaussians is within 0.002 of Student's distribution function.
    np.testing.assert_allclose(new.cdf(points), exact, atol=0.002 * 4 / 300)
    variance = 296 / 300 * mixture.var() + 4 / 300 * law.var()
    np.testing.assert_allclose(new.var(), variance, rtol=0.1)


@pytest.mark.filterwarnings("ignore:.*y has:UserWarning")
def test_far_targets_of_copies_and_of_columns():
    y = with_typing_errors(k=3)
    copies = np.random.default_rng(1).integers(1, 4, len(y))
    _, weighed = clipped_targets(y, copies.astype(float))
    repeated = np.repeat(y, copies)
    _, far = clipped_targets(repeated, np.ones(len(repeated)))
    for name in ("parts", "scales", "degrees"):
        np.testing.assert_allclose(getattr(weighed, name), getattr(far, name))
    both, far = clipped_targets(np.column_stack([normal(), y]), np.ones(len(y)))
    np.testing.assert_array_equal(both[:, 0], normal())
    narrow = PredictiveMixture([1.0], [[0.0]], [[1.0]])
    first, second = far([narrow, narrow])
    assert first is narrow
    assert second.logpdf(1e9)[0] > -30
    assert clipped_targets(y, np.ones(len(y)), clip=False)[0] is y


MODELS = pytest.mark.parametrize(
    "model",
    [
        StableNNRegressor(n_warmup=50, n_posterior_draws=100, random_state=0),
        UDNRegressor(max_iter=40, random_state=0),
        SIPRegressor(max_iter=60, n_networks=1, random_state=0),
        SIPRegressor(max_iter=60, n_networks=2, random_state=0),
        DeepWishartRegressor(max_iter=20, random_state=0),
        ForestDistributionRegressor(random_state=0),
        StackingDistributionRegressor(
            [(str(k), ForestDistributionRegressor(min_samples_leaf=k)) for k in (1, 5)],
            random_state=0,
        ),
    ],
    ids=lambda model: type(model).__name__,
)


def plane(n, seed=4):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 3))
    return X, X[:, 0] - 2 * X[:, 1] + 0.2 * rng.normal(size=n)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:y has:UserWarning")
@MODELS
def test_predictions_allow_for_targets_like_those_that_were_clipped(model):
    """Three of 150 rows are thousands of units away: so are as many of the new ones, and draws."""
    X, y = plane(150)
    known = clone(model).fit(X, y)
    y[[3, 50, 99]] += [4000.0, -5000.0, 6000.0]
    model = clone(model).fit(X, y)
    new = plane(40, 5)[0]
    distribution = model.predict_distribution(new)
    # log(0.02 t(…) / 5000) is −14 there, and −10⁶ without that part.
    assert distribution.logpdf(np.full(40, 5000.0)).min() > -16
    assert distribution.logpdf(np.full(40, -5000.0)).min() > -16
    widths = [np.ptp(m.predict_interval(new), axis=1).mean() for m in (known, model)]
    assert widths[1] < 6 * widths[0]
    draws = model.sample_y(new, 200, random_state=1)
    # Of 8000 draws 160, give or take four times twelve.
    assert 100 < np.sum(np.abs(draws) > 300) < 210
    assert 100 < np.sum(np.abs(distribution.sample(200, random_state=1)) > 300) < 210
    again = model.fit(*plane(150))
    np.testing.assert_array_equal(again.predict(new), known.predict(new))
    assert again.predict_distribution(new).var().max() < 100


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@MODELS
def test_one_mistyped_target_does_not_hide_the_others(model):
    X, y = plane(150)
    y[17] = 1e9
    with pytest.warns(UserWarning, match="y has 1 of 150 values so far outside"):
        model.fit(X, y)
    new, _ = plane(300, 5)
    truth = new[:, 0] - 2 * new[:, 1]
    # The deviation of the truth is 2.6: medians are closer than a fifth of it.
    assert np.median(np.abs(model.predict(new, quantiles=[0.5])[:, 0] - truth)) < 0.5


def test_inputs_with_heavy_tails_are_no_mistakes():
    """Among 40 values of one, 300 multiplies the deviation by 47, and 3000 by 470."""
    x = np.tile([-1.0, 1.0], 20)
    for far, limited in [(300.0, False), (3000.0, True)]:
        x[-1] = far
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            scales = InputScales(x[:, None], np.ones(40), normalize_X=True)
        _, high = scales.X_limits
        assert bool(np.isfinite(high).all()) == limited

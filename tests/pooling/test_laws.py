"""What a member of a stack predicts as a distribution, against known laws."""

import numpy as np
import pytest
from quantiles import Quantiles
from scipy import stats
from sklearn.dummy import DummyRegressor

from skbayesnn.pooling.laws import LEVELS, ErrorLaw, MemberLaw, TargetSpread, kind_of
from skbayesnn.pooling.unseen import unseen_targets, with_unseen
from skbayesnn.predictive import PredictiveMixture


def test_a_density_from_quantiles_is_close_to_the_density():
    X, y = np.zeros((2000, 1)), np.random.default_rng(0).normal(size=2000)
    law = MemberLaw(Quantiles().fit(X, y), TargetSpread(y)).predict_distribution(X)
    # Kernels by Silverman's rule for a tenth of the rows, 200, add their variance; a hundred
    # quantiles in place of the law cost some per cent in the tails.
    wider = stats.norm(scale=np.sqrt(1.0 + (0.9 * 200**-0.2) ** 2))
    points = np.linspace(-2, 2, 9)
    density = np.exp(law[:1].logpdf(points[None]))[0]
    np.testing.assert_allclose(density, wider.pdf(points), rtol=0.08)
    assert stats.norm.logpdf(y).mean() - 0.02 < law.logpdf(y).mean() < stats.norm.logpdf(y).mean()


def test_errors_that_grow_with_the_prediction_are_followed():
    rng = np.random.default_rng(0)
    predictions = rng.uniform(1, 3, 5000)
    law = ErrorLaw(predictions, predictions * rng.standard_t(5, 5000))
    points = np.array([[1.3], [2.7]])
    # The scale is a mean of 500 absolute errors, right to about 5 %.
    errors = law.values(points[:, 0])[:, [5, 94]] - points
    np.testing.assert_allclose(errors, points * stats.t.ppf(LEVELS[[5, 94]], 5), rtol=0.15)


def test_errors_of_weighted_rows_count_as_often():
    """Of one group of rows: with more groups, repeated rows move the borders between them."""
    rng = np.random.default_rng(0)
    predictions, errors = rng.normal(size=(2, 30))
    counts = rng.integers(1, 4, 30)[:15]
    law = ErrorLaw(predictions[:15], errors[:15], counts.astype(float))
    copied = ErrorLaw(np.repeat(predictions[:15], counts), np.repeat(errors[:15], counts))
    assert law.n_errors == copied.n_errors
    np.testing.assert_allclose(law.values(predictions), copied.values(predictions), rtol=1e-12)


def test_a_constant_has_one_unit_whatever_rounding_leaves():
    for value in (0.1, 0.5, -1e8 / 3):
        assert TargetSpread(np.full(30, value)).std == 1.0
        assert TargetSpread(np.full(30, value), np.full(30, 0.3)).std == 1.0


def test_a_member_with_standard_deviations_is_gaussian():
    class Gaussian:
        def predict(self, X, return_std=False):
            return (X[:, 0], 3.0 + X[:, 0]) if return_std else X[:, 0]

    X = np.linspace(0, 1, 5)[:, None]
    law = MemberLaw(Gaussian(), TargetSpread(X[:, 0])).predict_distribution(X)
    y = np.full(5, 2.0)
    np.testing.assert_allclose(law.logpdf(y), stats.norm(X[:, 0], 3.0 + X[:, 0]).logpdf(y))


def test_few_known_rows_widen_a_density_by_silvermans_rule():
    """Of the smaller of the standard deviation and the quartile distance over 1.34."""
    spread, n_known = TargetSpread(np.random.default_rng(0).normal(size=10**6)), 20.0
    for law in (stats.norm(2.0, 0.5), stats.t(2.2)):
        values = law.ppf(LEVELS)[None]
        smooth = spread.smooth(values, n_known)
        quartiles = (law.ppf(0.75) - law.ppf(0.25)) / 1.34
        width = 0.9 * min(values.std(), quartiles) * n_known**-0.2
        # Quarters are those of a hundred levels.
        middle = np.sqrt(smooth.variances[0, 20:80])
        np.testing.assert_allclose(middle, width, rtol=0.03)


def test_quantiles_far_apart_have_half_the_distance_of_their_neighbours():
    values = np.cumsum(np.arange(100.0))[None]
    smooth = TargetSpread(np.arange(10.0)).smooth(values, 1e12)
    # Steps of 1 to 99: the distance between the neighbours of number i is 2 i + 1.
    widths = np.sqrt(smooth.variances[0, :100])
    np.testing.assert_allclose(widths[40:99], np.arange(40, 99) + 0.5)
    assert widths[99] == pytest.approx(99.0)
    # One more row may lie anywhere among the targets.
    unseen = smooth.weights[100:]
    assert unseen.sum() == pytest.approx(1 / 11)
    np.testing.assert_allclose(11 * unseen @ smooth.variances[0, 100:], np.arange(10.0).var())


def test_targets_unlike_those_seen_have_students_law():
    """t with three degrees of freedom, and the mean and the variance of all targets: its density
    where a Gaussian of this variance has none."""
    law, t = unseen_targets(1, -4.0, 2.0), stats.t(3.0, -4.0, 2.0 / np.sqrt(3.0))
    np.testing.assert_allclose(law.mean(), -4.0)
    np.testing.assert_allclose(law.std(), 2.0)
    y = -4.0 + 2.0 * np.array([1.0, 3.0, 10.0, 30.0, 100.0])
    np.testing.assert_allclose(law.logpdf(y[None])[0], t.logpdf(y), atol=0.3)


def test_unseen_targets_are_one_of_n_plus_1():
    seen = PredictiveMixture([0.5, 0.5], [[0.0, 1.0]], [[0.1, 0.2]])
    law = with_unseen(seen, 0.5, 3.0, 9)
    y = np.array([[-30.0, 0.0, 1.0, 20.0]])
    unseen = unseen_targets(1, 0.5, 3.0)
    np.testing.assert_allclose(law.cdf(y), 0.9 * seen.cdf(y) + 0.1 * unseen.cdf(y))


def test_the_dummy_is_a_point_regressor():
    """Its standard deviations are zero."""
    assert kind_of(DummyRegressor()) == "point"

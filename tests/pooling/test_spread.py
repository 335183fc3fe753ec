"""The spread of a pool: closed forms, the theorem that a linear pool is too wide, and atoms."""

import warnings

import numpy as np
import pytest
from linear import BayesianLinear
from scipy.optimize import brentq
from sklearn.linear_model import BayesianRidge, HuberRegressor
from sklearn.neighbors import KNeighborsRegressor

from skbayesnn import StackingDistributionRegressor
from skbayesnn.pooling.forest import ForestDistributionRegressor
from skbayesnn.pooling.spread import median, scaled, spread_factor
from skbayesnn.predictive import PredictiveMixture, linear_pool


def gaussians(means, deviation):
    means = np.asarray(means, dtype=float)[:, None]
    return PredictiveMixture([1.0], means, np.full(means.shape, deviation**2))


@pytest.mark.parametrize(("n", "deviation"), [(20, 1.5), (500, 0.8), (500, 1.0)])
def test_the_factor_of_a_gaussian_has_a_closed_form(n, deviation):
    y = np.random.default_rng(n).normal(size=n)
    factor = spread_factor([gaussians(np.zeros(n), deviation)], [y])

    def slope(log_factor):
        ratio = np.sum(y**2) / (deviation * np.exp(log_factor)) ** 2
        return n - ratio + log_factor / 0.2**2

    assert np.log(factor) == pytest.approx(brentq(slope, -1, 1), abs=2e-4)


def test_weights_are_repeated_rows_in_any_fold():
    rng = np.random.default_rng(0)
    y, repeats = rng.normal(size=60), rng.integers(1, 4, 60)
    weighted = spread_factor([gaussians(np.zeros(60), 1.4)], [y], [repeats.astype(float)])
    many = np.repeat(y, repeats)
    folds = [gaussians(np.zeros(len(part)), 1.4) for part in np.array_split(many, 3)]
    assert weighted == pytest.approx(spread_factor(folds, np.array_split(many, 3)), rel=1e-6)


def test_a_linear_pool_of_calibrated_members_is_too_wide():
    # y = a + b + noise; one member knows a, the other b, and both are calibrated.
    rng = np.random.default_rng(1)
    a, b, noise = rng.normal(size=(3, 4000))
    y = a + b + 0.5 * noise
    members = [gaussians(known, np.sqrt(1.25)) for known in (a, b)]
    covered = [_coverage(member, y) for member in members]
    np.testing.assert_allclose(covered, 0.9, atol=0.02)  # four standard errors
    pool = linear_pool(members, [0.5, 0.5])
    assert _coverage(pool, y) > 0.92
    factor = spread_factor([pool[:2000]], [y[:2000]])
    assert factor < 0.95
    better = scaled(pool[2000:], factor)
    assert abs(_coverage(better, y[2000:]) - 0.9) < 0.02
    assert better.logpdf(y[2000:]).mean() > pool[2000:].logpdf(y[2000:]).mean()


def _coverage(law, y):
    low, high = law.interval(0.9).T
    return np.mean((low <= y) & (y <= high))


def test_atoms_stay_where_they_are():
    # Half of the rows are at 0 and half at 1, which the pool knows to a thousandth.
    y = np.arange(100) % 2.0
    pool = PredictiveMixture([0.5, 0.5], np.tile([0.0, 1.0], (100, 1)), np.full((100, 2), 1e-6))
    assert spread_factor([pool], [y + 1e-3 * np.random.default_rng(0).normal(size=100)]) == (
        pytest.approx(1.0, abs=1e-3)
    )


def test_far_components_do_not_move_the_bulk():
    """With a mean a thousand deviations away, half the spread is still half about the median."""
    pool = PredictiveMixture([0.99, 0.01], [[0.0, 1e5]], [[1.0, 1.0]])
    assert pool.mean()[0] == pytest.approx(1000.0)
    half = scaled(pool, 0.5)
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    at = median(pool)[:, None]
    np.testing.assert_allclose(
        half.quantile(levels) - at, 0.5 * (pool.quantile(levels) - at), atol=1e-9
    )
    assert scaled(pool, 1.0) is pool


def test_a_stack_finds_its_factor_and_predicts_with_it():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    y = X @ [1.0, -2.0] + 0.3 * rng.normal(size=300)
    members = [("a", BayesianLinear((0.1, 10.0))), ("b", KNeighborsRegressor(20))]
    model = StackingDistributionRegressor(members, cv=3, random_state=0).fit(X, y)
    plain = StackingDistributionRegressor(members, cv=3, adjust_spread=False, random_state=0)
    plain.fit(X, y)
    assert plain.spread_factor_ == 1.0 != model.spread_factor_
    pool = plain.predict_distribution(X[:9])
    expected = scaled(pool, model.spread_factor_)
    quantiles = model.predict(X[:9], quantiles=[0.1, 0.5, 0.9])
    np.testing.assert_array_equal(quantiles, expected.quantile([0.1, 0.5, 0.9]))


def test_one_mistyped_target_does_not_move_the_pool():
    """A member that knows it would have it in its distribution of other rows."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (60, 1))
    y = X[:, 0] + 0.2 * rng.normal(size=60)
    y[17] = 1e6
    given = y.copy()
    members = [
        ("line", HuberRegressor()),
        ("forest", ForestDistributionRegressor(30, random_state=0)),
    ]
    model = StackingDistributionRegressor(members, random_state=0)
    with pytest.warns(UserWarning, match="y has 1 of 60 values so far outside"):
        model.fit(X, y)
    np.testing.assert_array_equal(y, given)
    new = rng.uniform(-2, 2, (300, 1))
    # Standard deviation of the truth 1.2: medians are closer than a third of it.
    assert np.median(np.abs(model.predict(new) - new[:, 0])) < 0.4
    width = np.ptp(model.predict_interval(new), axis=1)
    assert np.median(width) < 4.0  # the truth has 0.66, all targets but one 4.4


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_numbers_near_the_end_of_their_range(weight):
    """Clipped where the row counts, ignored where it does not; no reason to refuse the table."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (40, 1))
    y = X[:, 0] + 0.2 * rng.normal(size=40)
    y[17] = 1e300
    weights = np.where(np.arange(40) == 17, weight, 1.0)
    model = StackingDistributionRegressor([("line", BayesianRidge())], random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight=weights)
    assert [warning.category for warning in caught] == [UserWarning] * int(weight)
    assert np.median(np.abs(model.predict(X) - X[:, 0])) < 0.5

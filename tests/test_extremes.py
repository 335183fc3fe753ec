"""Limits of a few extremes that would make all other values look the same."""

import numpy as np
import pytest

from skbayesnn import DeepWishartRegressor, SIPRegressor, StableNNRegressor, UDNRegressor
from skbayesnn._validation import (
    DOMINATED,
    FARTHEST,
    FEW,
    limits_of_extremes,
    location_and_scale,
)


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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        StableNNRegressor(n_warmup=50, n_posterior_draws=100, random_state=0),
        UDNRegressor(max_iter=40, random_state=0),
        SIPRegressor(max_iter=60, n_networks=1, random_state=0),
        DeepWishartRegressor(max_iter=20, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_one_mistyped_target_does_not_hide_the_others(model):
    rng = np.random.default_rng(4)
    X = rng.uniform(-2, 2, (150, 3))
    y = X[:, 0] - 2 * X[:, 1] + 0.2 * rng.normal(size=150)
    y[17] = 1e9
    with pytest.warns(UserWarning, match="y has 1 of 150 values so far outside"):
        model.fit(X, y)
    new = rng.uniform(-2, 2, (300, 3))
    truth = new[:, 0] - 2 * new[:, 1]
    # The deviation of the truth is 2.6: medians are closer than a fifth of it.
    assert np.median(np.abs(model.predict(new, quantiles=[0.5])[:, 0] - truth)) < 0.5

"""Additive cells as users have them: awkward tables, joint draws, effects, and bad input."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skbayesnn import StableNNRegressor
from skbayesnn.stable.additive.partition import AdditiveCells
from skbayesnn.stable.posterior import convergence

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

QUICK = {"n_warmup": 30, "n_posterior_draws": 60, "thin": 2, "n_chains": 2, "random_state": 0}


def table(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] > 0, 2.0, 0.0) + np.sin(X[:, 1]) + 0.2 * rng.standard_t(3, n)
    return X, y


def awkward():
    X, y = table()
    rng = np.random.default_rng(1)
    return {
        "a constant column": (np.column_stack([X, np.ones(40)]), y),
        "columns of two values": (np.column_stack([X > 0, X[:, 0]]).astype(float), y),
        "equal rows": (np.repeat(X[:10], 4, axis=0), y),
        "equal rows and targets": (np.repeat(X[:10], 4, axis=0), np.repeat(y[:10], 4)),
        "large and small scales": (X * [1e8, 1e-8, 1.0], 1e8 * y),
        "more inputs than rows": (rng.normal(size=(8, 20)), y[:8]),
        "one distinct row": (np.ones((5, 3)), y[:5]),
        "constant targets": (X, np.ones(40)),
        "two rows": (X[:2], y[:2]),
    }


@pytest.mark.parametrize("name", awkward())
def test_awkward_tables_have_finite_predictions(name):
    X, y = awkward()[name]
    model = StableNNRegressor(cells="additive", **QUICK).fit(X, y)
    far = np.vstack([X[:3], 3.0 * X[:3] + 1.0])
    quantiles = model.predict_quantiles(far, [0.01, 0.5, 0.99])
    assert np.isfinite(quantiles).all()
    assert np.isfinite(model.log_predictive_density(X, y)).all()


def test_units_of_the_inputs_and_targets_do_not_matter():
    X, y = table()
    one = StableNNRegressor(**QUICK).fit(X, y).predict_quantiles(X)
    # Powers of two, so that standardised numbers are the same to the last bit.
    other = StableNNRegressor(**QUICK).fit(X * [2.0**20, 2.0**-20, 1.0], 4.0 * y)
    np.testing.assert_allclose(other.predict_quantiles(X * [2.0**20, 2.0**-20, 1.0]), 4.0 * one)


def test_tables_take_additive_cells_and_find_the_jump():
    X, y = table(150)
    model = StableNNRegressor(random_state=0, n_warmup=150, n_posterior_draws=300).fit(X, y)
    assert isinstance(model.cells_, AdditiveCells)
    steps = model.predict([[0.3, 0.0, 0.0], [-0.3, 0.0, 0.0]])
    assert steps[0] - steps[1] == pytest.approx(2.0, abs=0.4)
    effects = model.partial_effects(X)
    assert effects.variance_shares.sum() == pytest.approx(1.0)
    assert effects.variance_shares.argmax() == 0
    assert (effects.lower <= effects.mean).mean() > 0.99
    jump = effects.mean[X[:, 0] > 0.2, 0].mean() - effects.mean[X[:, 0] < -0.2, 0].mean()
    assert jump == pytest.approx(2.0, abs=0.4)
    np.testing.assert_allclose(effects.mean.mean(axis=0), 0.0, atol=1e-10)
    assert set(model.parameter_r_hat_) == {
        "noise_variance", "noise_at_rows", "nu", "degrees_of_freedom", "effects", "smooth_part",
        "smooth_variance",
    }  # fmt: skip


@pytest.mark.parametrize("alpha", [1.1, "sample"])
def test_joint_draws_agree_with_predictions(alpha):
    X, y = table()
    model = StableNNRegressor(alpha, **QUICK).fit(X, y)
    new = np.vstack([X[:2], 1.3 * X[:4] + 0.1])
    levels = [0.1, 0.5, 0.9]
    drawn = np.quantile(model.sample_y(new, 12000), levels, axis=1).T
    # The error of a level is 0.005 for draws, and 0.02 for the few draws of the chain, which
    # have one scale of the noise each.
    at = model.predict_distribution(new).cdf(drawn)
    np.testing.assert_allclose(at, np.tile(levels, (6, 1)), atol=0.04)


def test_joint_draws_of_many_rows():
    X, y = table(20)
    model = StableNNRegressor(**QUICK).fit(X, y)
    many = np.random.default_rng(0).normal(size=(5001, 3))
    with pytest.raises(ValueError, match="up to 5000 of them, but there are 5001"):
        model.sample_y(many)
    assert model.sample_y(np.tile(many[:10], (600, 1)), 2).shape == (6000, 2)
    model.set_params(dense_units=False).fit(X, y)
    assert np.isfinite(model.sample_y(many, 2)).all()


def test_weights_of_many_sizes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    weights = rng.lognormal(0.0, 4.0, 60)
    model = StableNNRegressor(n_warmup=50, n_posterior_draws=50, random_state=0)
    with pytest.warns(ConvergenceWarning), pytest.warns(UserWarning, match="so much weight"):
        model.fit(X, y, sample_weight=weights / weights.mean())
    assert np.isfinite(model.predict(X, quantiles=[0.05, 0.95])).all()


def test_weights_of_whole_numbers_are_equal_rows():
    X, y = table(30)
    weights = np.tile([1.0, 3.0, 0.0], 10)
    one = StableNNRegressor(**QUICK).fit(X, y, sample_weight=weights)
    rows = np.repeat(np.arange(30), weights.astype(int))
    other = StableNNRegressor(**QUICK).fit(X[rows], y[rows])
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-6, atol=1e-6)


def test_warm_start_goes_on():
    X, y = table()
    model = StableNNRegressor(warm_start=True, **QUICK).fit(X, y)
    before = model.noise_variance_draws_
    model.fit(X, y)
    assert not np.isin(before, model.noise_variance_draws_).any()
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X, 2.0 * y + X[:, 0])


def test_of_many_inputs_those_that_vary_have_a_turn_in_each_sweep():
    X, y = table(60)
    X = np.column_stack([np.random.default_rng(1).normal(size=(60, 27)), X])
    model = StableNNRegressor(**{**QUICK, "n_warmup": 100}).fit(X, y)
    for state, _ in model._ends:
        assert sorted(set(state.chances)) == [0.25, 1.0]
        assert (state.chances == 1.0).sum() == 20
        assert state.chances[27] == state.chances[28] == 1.0
        assert state.spreads.argmax() == 27


def test_counts_that_are_mostly_zero_are_not_certain_to_be():
    """Student's law would put all it has on the zeros, without noise, if it were let."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.where(rng.random(200) < 0.8, 0.0, rng.poisson(4.0, 200) + 1.0)
    model = StableNNRegressor(**QUICK).fit(X[:150], y[:150])
    assert model.noise_variance_draws_.min() >= (1 - 1e-9) / 12  # of rounding to whole numbers
    assert model.predict_distribution(X[150:]).logpdf(y[150:]).min() > -30


def test_heavy_tails_are_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    signal = 2.0 * (X[:, 0] > 0)
    degrees = []
    for noise in (rng.standard_t(2, 200), rng.standard_normal(200)):
        model = StableNNRegressor(dense_units=False, **QUICK).fit(X, signal + 0.3 * noise)
        degrees.append(np.median(model._draws.degrees))
    assert degrees[0] < 5 < degrees[1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"likelihood": "student_t", "cells": "sampled"}, "likelihood='gaussian'"),
        ({"likelihood": "student_t", "sampler": "metropolis"}, "sampler='gibbs'"),
        ({"cells": "additive", "activation": "erf"}, "activation='sign'"),
        ({"cells": "additive", "sampler": "metropolis"}, "sampler='gibbs'"),
        ({"likelihood": "laplace"}, "likelihood"),
        ({"dense_units": 1}, "dense_units"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        StableNNRegressor(**QUICK, **parameters).fit(*table())


def test_effects_need_additive_cells():
    X, y = table()
    model = StableNNRegressor(likelihood="gaussian", **QUICK).fit(X[:, :1], y)
    with pytest.raises(ValueError, match="additive"):
        model.partial_effects(X[:, :1])
    with pytest.raises(ValueError, match="coverage"):
        StableNNRegressor(**QUICK).fit(X, y).partial_effects(X, coverage=90)


def test_parts_are_judged_where_they_are_shown():
    X, y = table(40)
    model = StableNNRegressor(**QUICK).fit(X, y)
    good = {"r_hat_": 1.001, "effective_sample_size_": 900.0, "tail_effective_sample_size_": 900.0}
    for name, value in good.items():
        setattr(model, name, np.full_like(getattr(model, name), value))
        setattr(model, f"parameter_{name}", dict.fromkeys(model.parameter_r_hat_, value))
    assert convergence(model)[2]
    assert convergence(model, of_parts=True)[2]
    model.parameter_r_hat_["nu"] = 1.2
    assert convergence(model)[2]
    with pytest.warns(ConvergenceWarning, match="parts of the function: R-hat is 1.200"):
        model.partial_effects(X)
    model.parameter_r_hat_["noise_variance"] = 1.1
    assert not convergence(model)[2]

"""α that left-out rows choose, for the cells of one input."""

import numpy as np
import pytest

from skbayesnn import StableNNRegressor
from skbayesnn.stable.alpha import TRIED, WINS
from skbayesnn.stable.extrapolation import Extrapolation

SHORT = {"n_warmup": 100, "n_posterior_draws": 200, "random_state": 0}


def rows(function, n=40, seed=0):
    x = np.linspace(-2, 2, n)
    return x[:, None], function(x) + 0.3 * np.random.default_rng(seed).normal(size=n)


def steps(x):
    return np.where((x >= 1) | ((x >= -1) & (x < 0)), 5.0, 0.0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("options", [{}, {"likelihood": "gaussian"}, {"cells": "line"}])
def test_few_large_jumps_have_a_smaller_alpha_than_smooth_functions(seed, options):
    for function, alpha in ((steps, 0.5), (lambda x: 3 * np.sin(x), 1.1)):
        X, y = rows(function, seed=seed)
        model = StableNNRegressor(**SHORT, **options).fit(X, y)
        assert model.alpha_ == alpha
        # The chains are those of a fit with this value.
        given = StableNNRegressor(alpha=alpha, **SHORT, **options).fit(X, y)
        np.testing.assert_array_equal(model.noise_variance_draws_, given.noise_variance_draws_)
        np.testing.assert_array_equal(model.predict(X), given.predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", [1, 2])
def test_a_random_walk_has_a_larger_alpha_unless_it_jumps(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-2, 2, 200))
    walk = np.cumsum(np.sqrt(np.diff(x, prepend=-2.0)) * rng.normal(size=200))
    y = walk + 0.05 * rng.normal(size=200)
    walks = StableNNRegressor(**SHORT).fit(x[:, None], y)
    assert walks.alpha_ > 1.1
    assert StableNNRegressor(**SHORT).fit(x[:, None], y + 20.0 * (x > 0)).alpha_ < 2.0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ([0.0, 1.0], 0.5),
        ([0.0, -1.0, -2.0], 1.1),
        ([0.0, -1.0, WINS, -1.0], 1.1),
        ([0.0, -1.0, WINS + 1.0, WINS], 1.6),
        ([0.0, -1.0, 1.0, WINS + 1.0], 2.0),
    ],
)
def test_larger_values_have_to_win_by_far(monkeypatch, scores, chosen):
    """The first is kept at a smaller lead, and values beyond one that loses are not tried."""
    X, y = rows(steps, seed=1)
    left = iter(scores)
    monkeypatch.setattr(Extrapolation, "left_out", lambda *_: (np.array([next(left)]), np.ones(1)))
    model = StableNNRegressor(**SHORT, gaussian_process=False).fit(X, y)
    assert model.alpha_ == chosen
    assert next(left, None) is None


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_choice_does_not_depend_on_cores_weights_or_order():
    X, y = rows(steps, seed=1)
    first = StableNNRegressor(**SHORT).fit(X, y)
    assert first.alpha_ == 0.5
    again = StableNNRegressor(**SHORT, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(first.predict(X), again.predict(X))
    turned = StableNNRegressor(**SHORT).fit(X[::-1], y[::-1])
    np.testing.assert_allclose(first.predict(X), turned.predict(X))
    heavy = StableNNRegressor(**SHORT).fit(X, y, sample_weight=np.ones(40))
    np.testing.assert_array_equal(first.predict(X), heavy.predict(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("n", "options"),
    [
        (9, {}),
        (40, {"sampler": "metropolis"}),
        (40, {"cells": "sampled", "n_units": 30}),
        (40, {"cells": "additive"}),
    ],
)
def test_elsewhere_it_is_that_of_the_paper(n, options):
    X, y = rows(steps, n, seed=1)
    assert StableNNRegressor(**SHORT, **options).fit(X, y).alpha_ == TRIED[0] == 1.1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_keeps_the_alpha_that_was_chosen():
    X, y = rows(steps, seed=1)
    model = StableNNRegressor(**SHORT, warm_start=True).fit(X, y)
    assert model.fit(X, y).alpha_ == 0.5

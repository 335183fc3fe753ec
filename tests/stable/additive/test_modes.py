"""Two modes of the dense part's kernel: when there are, and what chains and predictions do."""

from types import SimpleNamespace

import numpy as np
import pytest

from skbayesnn import StableNNRegressor
from skbayesnn.stable.additive import partition
from skbayesnn.stable.additive.modes import are_one, not_told_apart
from skbayesnn.stable.additive.scales import GaussianLimit
from skbayesnn.stable.diagnostics import effective_sample_size, r_hat
from skbayesnn.stable.posterior import fitted_attributes

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Logarithms of inverse length scales: with the first g is next to linear.
LENGTHS = (-9.0, 1.0)
QUICK = {"n_warmup": 20, "n_posterior_draws": 40, "thin": 2, "n_chains": 2, "random_state": 0}


def limit(log_densities=None, means=None):
    means = np.zeros(100) if means is None else means
    return SimpleNamespace(
        left_out_log_densities=log_densities, left_out_means=means, left_out_errors=1.0 - means
    )


def test_modes_are_one_where_left_out_rows_are_predicted_alike():
    means = np.sin(np.arange(100.0))
    assert are_one(limit(means=np.zeros(100)), limit(means=0.04 * means))
    # Errors are one, and the root of the mean square of the sine is 0.7.
    assert not are_one(limit(means=np.zeros(100)), limit(means=0.08 * means))


def test_rows_tell_modes_apart_beyond_two_standard_errors():
    spread = np.tile([1.0, -1.0], 50)
    # A sum of a hundred differences of the deviation one has a standard error of ten.
    good, alike, worse = (limit(spread * a - b) for a, b in ((0.0, 0.0), (1.0, 0.19), (1.0, 0.21)))
    assert not_told_apart([alike, good]) == [good, alike]
    assert not_told_apart([good, alike]) == [good, alike]
    assert not_told_apart([worse, good]) == [good]
    # Where all differences are the same they are no accident.
    assert not_told_apart([good, limit(spread * 0.0 - 1e-3)]) == [good]


def found_limits(log_lengths):
    """Stands for the search: Gaussian limits with these inverse length scales."""

    def limits(X, y, weights, rng, may_be_rough, directions):
        p = X.shape[1]
        edges, rows = (X.min(axis=0), X.max(axis=0)), np.arange(len(y))
        found = []
        for log_length in log_lengths:
            parameters = np.zeros(4 * p + 3)
            parameters[:p], parameters[p : 2 * p], parameters[2 * p + 1] = log_length, -2.0, -2.0
            found.append(GaussianLimit(parameters, X, y, weights, rows, edges))
        return found, np.empty((p, 0))

    return limits


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    # Rows that are equal leave the smoother kernel with a smaller basis.
    X[:3] = X[3:6]
    return X, np.sin(X[:, 0]) + 0.2 * rng.normal(size=30), rng.normal(size=(5, 3))


def fitted(monkeypatch, log_lengths, **parameters):
    X, y, _ = data()
    monkeypatch.setattr(partition, "fit_limits_and_directions", found_limits(log_lengths))
    return StableNNRegressor(**QUICK | parameters).fit(X, y)


def test_each_chain_is_that_of_its_mode(monkeypatch):
    both = fitted(monkeypatch, LENGTHS)
    alone = [fitted(monkeypatch, (length,)) for length in LENGTHS]
    assert [len(model.cells_.modes) for model in (both, *alone)] == [2, 0, 0]
    sizes = [model.cells_.n_basis for model in alone]
    assert sizes[0] < sizes[1] == both._draws.theta.shape[1]
    *_, new = data()
    X = both.cells_.inputs.scaled(new)
    found = both.cells_.predict(both._draws, new)
    factors = both.cells_.log_noise_factors(both._draws, X)
    for mode, model in enumerate(alone):
        chain = slice(20 * mode, 20 * mode + 20)
        np.testing.assert_array_equal(both._draws.mode[chain], mode)
        np.testing.assert_array_equal(both._draws.f[chain], model._draws.f[chain])
        np.testing.assert_array_equal(
            both._draws.theta[chain, : sizes[mode]], model._draws.theta[chain]
        )
        kept = model._draws.take(np.arange(20 * mode, 20 * mode + 20))
        np.testing.assert_array_equal(
            found[..., chain], model.cells_.predict(kept, new), err_msg=str(mode)
        )
        np.testing.assert_array_equal(factors[:, chain], model.cells_.log_noise_factors(kept, X))


def test_chains_are_judged_within_their_mode(monkeypatch):
    cells, rng = fitted(monkeypatch, LENGTHS).cells_, np.random.default_rng(0)
    records = [cells.of_chain(chain).new_record(np.arange(5), 50, 1) for chain in range(4)]
    for record in records:
        # Each mode has a level of its own, on which its chains agree.
        record.f[:] = 100.0 * record.mode + rng.standard_normal(record.f.shape)
        arrays = record.parts, record.log_nu, record.log_factors, record.numbers
        for array in (*arrays, *record.draws.values()):
            array[:] = rng.standard_normal(array.shape)
    prior = SimpleNamespace(nu=1.0, log_noise=0.0, alpha=1.1, degrees=np.inf)
    found = fitted_attributes(cells, prior, records, 1.0)
    f = np.stack([record.f for record in records])
    # Of what is independent R-hat is within 0.1 of one with a hundred draws of a mode.
    assert found["r_hat_"].max() < 1.1 < 1.5 < r_hat(f).min()
    expected = effective_sample_size(f[[0, 2]]) + effective_sample_size(f[[1, 3]])
    np.testing.assert_allclose(found["effective_sample_size_"], expected)


@pytest.mark.parametrize("n_chains", [1, 3])
def test_any_number_of_chains(monkeypatch, n_chains):
    model = fitted(monkeypatch, LENGTHS, n_chains=n_chains, n_posterior_draws=30)
    assert set(model._draws.mode) == set(range(min(n_chains, 2)))
    X, _, new = data()
    assert np.isfinite(model.predict_quantiles(new)).all()
    effects = model.partial_effects(X)
    assert np.isfinite(effects.smooth_mean).all()


def test_joint_draws_agree_with_predictions_of_both(monkeypatch):
    model = fitted(monkeypatch, LENGTHS)
    *_, new = data()
    levels = [0.1, 0.5, 0.9]
    drawn = np.quantile(model.sample_y(new, 8000), levels, axis=1).T
    # As with one mode (test_tables.py): 0.005 for draws, 0.02 for the few scales of the noise.
    at = model.predict_distribution(new).cdf(drawn)
    np.testing.assert_allclose(at, np.tile(levels, (5, 1)), atol=0.04)


def test_warm_start_goes_on_with_both(monkeypatch):
    X, y, _ = data()
    model = fitted(monkeypatch, LENGTHS, warm_start=True)
    before = model._draws.f.copy()
    model.fit(X, y)
    assert (model._draws.f != before).any()
    np.testing.assert_array_equal(model._draws.mode, np.repeat([0, 1], 20))

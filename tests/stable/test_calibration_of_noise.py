"""Simulation-based calibration of the default noise, by the estimator and code of its own.

Parameters, function and targets come from the prior, by the documentation and none of the package's
code; the rank of each true number among the draws of a fit is then uniform (Talts, Betancourt,
Simpson, Vehtari and Gelman 2018). Additive cells without dense units: their length scales come from
the data.
"""

import numpy as np
import pytest
from scipy.stats import kstest

from skbayesnn import StableNNRegressor

ALPHA, N_ROWS, N_DRAWS = 1.1, 8, 99
DEGREES = [2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0, 100.0, np.inf]


def symmetric_stable(size, rng):
    """Chambers, Mallows and Stuck (1976): the characteristic function is exp(-|t|^α)."""
    angle, waiting = rng.uniform(-np.pi / 2, np.pi / 2, size), rng.standard_exponential(size)
    rest = (np.cos((1 - ALPHA) * angle) / waiting) ** ((1 - ALPHA) / ALPHA)
    return np.sin(ALPHA * angle) / np.cos(angle) ** (1 / ALPHA) * rest


def function_of_one_input(x, rng):
    """Infinitely many sign units: one stable weight for each cell between neighbours."""
    order = np.argsort(x)
    inner = np.diff(np.arctan(x[order])) / np.pi
    masses = np.append(inner, 1 - inner.sum())
    *steps, outer = np.sqrt(0.5) * masses ** (1 / ALPHA) * symmetric_stable(masses.size, rng)
    f = np.empty(x.size)
    f[order] = outer - np.sum(steps) + np.append(0, 2 * np.cumsum(steps))
    return f


def function_of_all_inputs(X, rng, n_units=20_000):
    """So many sign units for infinitely many, each with the same stable law."""
    values = np.sign(X @ rng.standard_normal((X.shape[1], n_units)) + rng.standard_normal(n_units))
    return values @ (np.sqrt(0.5) * n_units ** (-1 / ALPHA) * symmetric_stable(n_units, rng))


def simulate(rng, n_inputs, additive):
    """Rows, targets, new rows and the truth by name."""
    X = rng.standard_normal((N_ROWS + 2, n_inputs))
    X[-1] = X[-2] + 0.2
    if additive:
        f = sum(function_of_one_input(x, rng) for x in X.T)
    else:
        f = function_of_all_inputs(X, rng)
    train = X[:N_ROWS]
    z = (np.clip(X, train.min(axis=0), train.max(axis=0)) - train.mean(axis=0)) / train.std(axis=0)
    while True:
        tau = abs(rng.standard_cauchy()) / np.sqrt(n_inputs)
        slopes = tau * np.abs(rng.standard_cauchy(n_inputs)) * rng.standard_normal(n_inputs)
        if rng.random() < np.exp(-0.5 * np.sum(slopes**2) / 9):
            break
    eta, noise = z @ slopes, abs(rng.standard_cauchy())
    variances = noise * np.exp(eta / np.sqrt(1 + eta**2 / 9))
    degrees = rng.choice(DEGREES)
    if np.isfinite(degrees):
        variances = variances / rng.gamma(degrees / 2, 2 / degrees, len(X))
    y = f + np.sqrt(variances) * rng.standard_normal(len(X))
    truth = {"noise": noise, "new": y[-2], "difference": y[-1] - y[-2]}
    truth |= {f"slope {k}": slope for k, slope in enumerate(slopes)}
    return train, y[:N_ROWS], X[N_ROWS:], truth


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["line", "additive", "plane"])
def test_ranks_of_the_truth_are_uniform(kind):
    rng, ranks = np.random.default_rng(0), {}
    n_inputs = 1 if kind == "line" else 2
    cells = {"cells": kind, "dense_units": False}
    for seed in range(60):
        X, y, X_new, truth = simulate(rng, n_inputs, kind != "plane")
        model = StableNNRegressor(
            ALPHA, 1.0, **cells, normalize_X=False, normalize_y=False, n_chains=3, n_warmup=200,
            n_posterior_draws=N_DRAWS, thin=30, random_state=seed,
        ).fit(X, y)  # fmt: skip
        new = model.sample_y(X_new, N_DRAWS, random_state=seed)
        draws = {"noise": model.noise_variance_draws_, "new": new[0], "difference": new[1] - new[0]}
        draws |= {f"slope {k}": values for k, values in enumerate(model.noise_slopes_draws_.T)}
        for name, value in truth.items():
            rank = np.sum(draws[name] < value) + rng.random()
            ranks.setdefault(name, []).append(rank / (N_DRAWS + 1))
    p = {name: kstest(values, "uniform").pvalue for name, values in ranks.items()}
    assert min(p.values()) > 1e-3, p

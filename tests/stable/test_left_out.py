"""Rows left out: their densities given all others against refits and sums by hand."""

from itertools import product

import numpy as np
import pytest
from left_out_row import left_out_by_hand
from scipy import stats
from scipy.special import logsumexp

from skbayesnn.numerics.student_t import MASSES, student_variances
from skbayesnn.stable.additive import left_out
from skbayesnn.stable.additive.partition import AdditiveCells, AdditiveDraws
from skbayesnn.stable.left_out import gaussian_left_out


def test_density_left_out_given_the_scales():
    rng = np.random.default_rng(0)
    root, weights, noise = rng.standard_normal((6, 6)), rng.uniform(0.5, 3.0, 6), 0.3
    prior, y = root @ root.T, rng.standard_normal(6)
    total = prior + np.diag(noise / weights)
    gain = prior @ np.linalg.inv(total)
    means, variances = gain @ y, np.diag(prior - gain @ prior)
    ours = gaussian_left_out(means[:, None], variances[:, None], np.array([noise]), y, weights)
    np.testing.assert_allclose(ours, [left_out_by_hand(total, y, i) for i in range(6)])


def test_density_left_out_averages_over_settings_of_the_others():
    """Two settings with equal prior chances: their posterior is taken without the row."""
    rng = np.random.default_rng(1)
    y, noise, priors = rng.standard_normal(5), np.array([0.2, 1.5]), []
    for _ in noise:
        root = rng.standard_normal((5, 5))
        priors.append(root @ root.T)
    totals = [p + s * np.eye(5) for p, s in zip(priors, noise, strict=True)]
    evidence = np.array([stats.multivariate_normal(cov=c).logpdf(y) for c in totals])
    chances = np.exp(evidence - evidence.max())
    n_draws = np.round(20_000 * chances / chances.sum()).astype(int)
    which = np.repeat([0, 1], n_draws)
    gains = [p @ np.linalg.inv(c) for p, c in zip(priors, totals, strict=True)]
    means = np.stack([g @ y for g in gains], axis=1)[:, which]
    variances = np.stack([np.diag(p - g @ p) for p, g in zip(priors, gains, strict=True)], axis=1)
    ours = gaussian_left_out(means, variances[:, which], noise[which], y, np.ones(5))
    for i in range(5):
        rest = np.delete(np.arange(5), i)
        without = [
            stats.multivariate_normal(cov=c[np.ix_(rest, rest)]).logpdf(y[rest]) for c in totals
        ]
        parts = [left_out_by_hand(c, y, i) for c in totals]
        expected = np.logaddexp(*(a + b for a, b in zip(parts, without, strict=True)))
        assert ours[i] == pytest.approx(expected - np.logaddexp(*without), abs=1e-3)


def one_input(x, y, weights, n_draws, slope=0.0, **parameters):
    """A partition of one input, draws that are all alike but for f, and the covariance of f."""
    cells = AdditiveCells(x[:, None], y, weights, dense=False)
    log_variances = np.linspace(-2.0, 1.0, cells.ends[0])
    T = cells.axes[0].cells.features(None)[cells.index[0]]
    draws = {
        "log_noise": -1.0, "alpha": 1.1, "degrees": np.inf, "log_amplitude": 0.0, "log_nu": [0.0],
        "f": np.zeros(cells.ends[0]), "log_variances": log_variances, "theta": np.zeros(0),
        "slopes": [slope], "levels": [0.5], "noise_levels": 0.5, "mode": 0, **parameters,
    }  # fmt: skip
    draws = {name: np.array([value] * n_draws) for name, value in draws.items()}
    return cells, AdditiveDraws(**draws), T * np.exp(log_variances) @ T.T


def test_one_input_with_gaussian_noise_by_input():
    rng = np.random.default_rng(0)
    # Two rows of the same input.
    x, y, weights = (
        np.array([-1.0, 0.2, 0.2, 0.9, 2.0]),
        rng.standard_normal(5),
        rng.exponential(1, 5),
    )
    cells, draws, covariance = one_input(x, y, weights, 3, slope=0.7)
    h = cells.noise_basis.log_factors(cells.rows, np.array([[0.7]]))[:, 0]
    covariance += np.diag(np.exp(-1.0 + h) / cells.weights)
    expected = [left_out_by_hand(covariance, cells.y, i) for i in range(5)]
    order = np.array([3, 0, 2])
    found = cells.log_densities_left_out(draws, cells.rows[order], cells.y[order], None)
    np.testing.assert_allclose(found, np.array(expected)[order], rtol=1e-5)


def test_one_input_with_students_noise(monkeypatch):
    """All precisions integrated out by a sum over their levels, with the row and without it."""
    n_draws, rng = 20_000, np.random.default_rng(0)
    monkeypatch.setattr(left_out, "MOST_DRAWS", n_draws)
    x, y, noise, degrees = np.array([-1.0, 0.0, 0.5]), np.array([0.3, 4.0, -0.5]), np.exp(-1.0), 3.0
    cells, draws, covariance = one_input(x, y, np.ones(3), n_draws, degrees=degrees)
    levels = list(product(range(MASSES.size), repeat=3))
    masses, variances = MASSES[levels].prod(axis=1), noise * student_variances(degrees)[levels]

    def log_evidence(rows):
        part = covariance[np.ix_(rows, rows)]
        each = [
            stats.multivariate_normal(cov=part + np.diag(v[rows])).logpdf(y[rows])
            for v in variances
        ]
        return np.array(each) + np.log(masses)

    every = log_evidence([0, 1, 2])
    expected = [
        logsumexp(every) - logsumexp(log_evidence([j for j in range(3) if j != i]))
        for i in range(3)
    ]
    chosen = rng.choice(len(levels), n_draws, p=np.exp(every - logsumexp(every)))
    for place in np.unique(chosen):
        here = np.flatnonzero(chosen == place)
        gain = covariance @ np.linalg.inv(covariance + np.diag(variances[place]))
        law = gain @ y, covariance - gain @ covariance
        draws.f[here] = rng.multivariate_normal(*law, size=here.size)
    found = cells.log_densities_left_out(draws, cells.rows, cells.y, None)
    # The levels have errors of some percent, and 20,000 draws less.
    np.testing.assert_allclose(found, expected, atol=0.05)

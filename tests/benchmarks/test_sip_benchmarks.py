"""What the scripts about SIP print is what they say it is."""

import numpy as np
import pytest
import sip_shapes
import sip_uci
from sip_convergence import NOISE, curve, made
from sip_models import SMALL

from skbayesnn import SIPRegressor


def test_mean_ranks(capsys):
    # Columns: log density, RMSE, CRPS, coverage, seconds.
    means = {
        "yacht": {"a": [-1.0, 2.0, 3.0, 0.9, 1.0], "b": [-2.0, 1.0, 3.0, 0.9, 1.0]},
        "boston": {"a": [-1.0, 2.0, 3.0, 0.9, 1.0], "b": [-2.0, 3.0, 4.0, 0.9, 1.0]},
    }
    sip_uci.print_mean_ranks(means)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[-2:] == [["a", "1.00", "1.50", "1.00"], ["b", "2.00", "1.50", "1.50"]]


def test_stars_are_where_ours_is_at_least_as_good():
    assert sip_uci.beside_the_paper("yacht", [-0.21, 1.0, 0.16]).split() == ["-0.21*", "0.154"]
    assert sip_uci.beside_the_paper("yacht", [-0.22, 1.0, 0.15]).split() == ["-0.21", "0.154*"]
    assert sip_uci.beside_the_paper("protein", [0.0, 0.0, 0.0]) == ""


def test_the_distance_of_the_prior_is_the_energy_distance():
    """2 E|Y - Y'| - E|Y - V| - E|Y' - W| of draws of both, at the same inputs."""
    X, y = sip_shapes.bimodal(200, np.random.default_rng(0))
    model = SIPRegressor(**SMALL, max_iter=3, random_state=0).fit(X, y)
    truth = sip_shapes.bimodal_truth(sip_shapes.GRID)
    a, b = model.sample_prior(sip_shapes.GRID, 2000), truth.sample(2000, 0)
    a += np.sqrt(model.noise_variance_) * np.random.default_rng(1).normal(size=a.shape)
    half = slice(1000), slice(1000, None)

    def between(u, v):
        return np.mean(np.abs(u - v))

    expected = 2 * between(a, b)
    expected -= between(a[:, half[0]], a[:, half[1]]) + between(b[:, half[0]], b[:, half[1]])
    assert expected > 1.0
    # Errors of a thousand functions.
    assert abs(sip_shapes.prior_distance(model, truth) / expected - 1.0) < 0.1


def test_the_data_made_have_two_branches():
    X, y = made(20_000, 0)
    f = np.sin(2 * X[:, 1]) + 0.5 * X[:, 2] * X[:, 3]
    right = X[:, 0] > 0
    assert (y - f)[~right].std() == pytest.approx(NOISE, rel=0.05)
    away = np.abs((y - f)[right]) - X[right, 0]
    assert away[X[right, 0] > 1.0].std() == pytest.approx(NOISE, rel=0.1)
    assert abs(np.mean(y[right] > f[right]) - 0.5) < 0.03


def test_a_curve_counts_rows_and_seconds():
    X, y = made(300, 0)
    model = SIPRegressor(**SMALL, total_samples=300, random_state=0)
    lines = curve(model, X, y, X[:50], y[:50], 1.5, 100)
    seconds, rows = np.array(lines)[:, 0], np.array(lines)[:, 1]
    assert seconds[-1] >= 1.5
    assert (np.diff(seconds) > 0).all()
    assert rows[-1] == 100 * len(model.loss_curve_)
    assert np.isfinite(lines).all()

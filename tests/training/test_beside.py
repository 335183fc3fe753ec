"""The part of a Gaussian process in predictions of networks: mean, width, weight, and few rows."""

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import LinAlgError
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from skbayesnn.gaussian_process import evidence
from skbayesnn.gaussian_process.tails import with_tails
from skbayesnn.predictive import PredictiveMixture, moved
from skbayesnn.training import beside as module
from skbayesnn.training.beside import ProcessBeside, Taken
from skbayesnn.training.held_out import (
    LOG_FACTOR_STEP,
    HeldOut,
    best_factor,
    best_move,
    best_pull,
    expected_parts,
    log_chances,
)
from skbayesnn.training.normal_scores import NormalScores
from skbayesnn.training.pooled import pooled, with_processes
from skbayesnn.training.unseen import where_unseen


def gaussian(means, std):
    """The law of a Gaussian with these means."""
    return PredictiveMixture([1.0], means[:, None], np.full((len(means), 1), std**2))


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(40, 2))
    return X, 5 + 3 * np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=40)


def held_out(y, network, process, std, weights=None):
    """Rows with these targets, where network and process have these means."""
    weights = np.ones(len(y)) if weights is None else weights
    known = norm.logpdf(y, network, std)
    return HeldOut(y, weights, known, network, gaussian(process, std))


def test_the_pull_is_the_part_of_the_better_mean(rng):
    y, errors = rng.normal(size=400), rng.normal(size=(2, 400))
    for first, second, expected in ((1.0, 0.1, 1.0), (0.1, 1.0, 0.0), (1.0, 1.0, 0.5)):
        held = held_out(y, y + second * errors[1], y + first * errors[0], 1.0)
        # Of independent errors the best part of one is the other's share of the squares.
        best = first**2 / (first**2 + second**2)
        assert best_pull([held]) == pytest.approx(best, abs=0.1)
        assert best_pull([held]) == pytest.approx(expected, abs=0.1)


def test_the_pull_is_that_of_all_rows_and_weights(rng):
    y, network, process = rng.normal(size=(3, 30))
    weights = rng.integers(1, 4, size=30).astype(float)
    many = np.repeat(np.arange(30), weights.astype(int))
    one = held_out(y, network, process, 1.0, weights)
    halves = [
        held_out(y[part], network[part], process[part], 1.0) for part in np.array_split(many, 2)
    ]
    assert best_pull([one]) == best_pull(halves)
    assert best_factor([one], 0.5) == best_factor(halves, 0.5)


def test_a_law_that_is_too_wide_gets_narrower(rng):
    y, truth = rng.normal(size=(2, 500))
    held = held_out(truth + 0.1 * y, truth, truth, 1.0)

    def loss(log_factor):
        return 0.5 * log_factor**2 - norm.logpdf(0.1 * y, 0, np.exp(0.5 * log_factor)).sum()

    expected = minimize_scalar(loss, bounds=(-8, 0), method="bounded").x
    assert np.log(best_factor([held], 0.0)) == pytest.approx(expected, abs=LOG_FACTOR_STEP)


def test_a_law_that_is_too_narrow_stays(rng):
    truth = rng.normal(size=500)
    held = held_out(truth + 3 * rng.normal(size=500), truth, truth, 1.0)
    assert best_factor([held], 0.0) == 1.0


def test_a_moved_law_has_other_distances_from_another_mean(rng):
    weights = rng.dirichlet(np.ones(3), size=5)
    law = PredictiveMixture(weights, rng.normal(size=(5, 3)), rng.uniform(1, 2, size=(5, 3)))
    onto = rng.normal(size=5)
    found = moved(law, onto, 0.5)
    at = rng.normal(size=5)
    np.testing.assert_allclose(found.cdf(onto + 0.5 * (at - law.mean())), law.cdf(at), rtol=1e-10)


def test_the_part_is_a_posterior_mean(rng):
    p, q, weights = rng.normal(size=7), rng.normal(size=7), rng.integers(1, 3, size=7)

    def density(v):
        return np.prod(((1 - v) * np.exp(p) + v * np.exp(q)) ** weights)

    expected = quad(lambda v: v * density(v), 0, 1)[0] / quad(density, 0, 1)[0]
    found = expected_parts(log_chances([p, q], weights), 2)
    assert found == pytest.approx([expected], abs=1e-4)


def test_the_parts_of_two_processes_are_posterior_means(rng):
    """Against Dirichlet draws of the weights."""
    densities, weights = np.exp(rng.normal(size=(3, 9))), rng.integers(1, 3, size=9)
    parts = rng.dirichlet(np.ones(3), size=400_000)
    chances = np.exp(np.log(parts @ densities) @ weights)
    expected = chances @ parts[:, 1:] / chances.sum()
    found = expected_parts(log_chances(list(np.log(densities)), weights), 3)
    # The draws have a standard error below 0.0005.
    np.testing.assert_allclose(found, expected, atol=0.002)


def test_a_tiny_part_is_none():
    logs = log_chances([np.zeros(500), np.full(500, -2.0)], np.ones(500))
    assert expected_parts(logs, 2) == [0.0]


def beside(X, y, network, rng, n_held=100):
    """The process beside a network with this law of the targets, the last rows held out."""
    n, known = len(X), network(X[-n_held:])
    rows, other = np.split(np.arange(n), [n - n_held])
    return ProcessBeside(X, y[:, None], np.ones(n), rows, other, [known], rng)


@pytest.fixture
def smooth_only(monkeypatch):
    """Without the process that is given the nearest rows."""
    monkeypatch.setattr(module, "neighbour_processes", lambda *_, **__: [])


def test_the_better_one_has_the_larger_part(rng):
    X = rng.uniform(-2, 2, size=(300, 1))
    f, signs = np.sin(2 * X[:, 0]), rng.choice([-1.0, 1.0], size=300)

    def plain(X):
        return PredictiveMixture([1.0], np.zeros((len(X), 1)), np.ones((len(X), 1)))

    def two_modes(X):
        means = np.sin(2 * X) + np.cos(6 * X) * [-1.0, 1.0]
        return PredictiveMixture([0.5, 0.5], means, np.full(means.shape, 0.01))

    smooth = beside(X, f + 0.1 * rng.normal(size=300), plain, rng)
    assert smooth.part() > 0.9
    # Modes whose distance waves: noise of the process has constant ones, with changing shares.
    y = f + np.cos(6 * X[:, 0]) * signs + 0.1 * rng.normal(size=300)
    assert beside(X, y, two_modes, rng).part() < 0.1
    assert len(smooth.taken[0]) == 2
    pool = pooled([plain(X)], [smooth], [X])
    expected = (1 - smooth.part()) * np.exp(plain(X).logpdf(f))
    for process, pull, factor, part in smooth.taken[0]:
        assert (pull < 0.2, factor) == (True, 1.0)
        law = process(X)
        expected += part * np.exp(moved(law, (1 - pull) * law.mean(), 1.0).logpdf(f))
    np.testing.assert_allclose(np.exp(pool.logpdf(f)), expected, rtol=1e-10)


def test_the_process_is_given_the_held_out_rows_in_the_end(rng):
    X = np.linspace(-2, 2, 60)[:, None]
    y = np.sin(2 * X[:, 0]) + 0.05 * rng.normal(size=60)
    rows, other = np.arange(40), np.arange(40, 60)
    known = gaussian(np.zeros(20), 1.0)
    found = ProcessBeside(X, y[:, None], np.ones(60), rows, other, [known], rng)
    process = found.taken[0][0].process
    assert len(process.data[0]) == 60
    np.testing.assert_allclose(process(X[other]).mean(), y[other], atol=0.2)


def test_an_outlier_among_the_held_out_rows_is_not_followed(rng):
    X = np.linspace(-2, 2, 60)[:, None]
    y = np.sin(2 * X[:, 0]) + 0.05 * rng.normal(size=60)
    y[50] = 1e6
    other = np.arange(1, 60, 7)
    rows = np.setdiff1d(np.arange(60), other)
    known = gaussian(np.zeros(len(other)), 1.0)
    found = ProcessBeside(X, y[:, None], np.ones(60), rows, other, [known], rng)
    found = found.taken[0][0].process
    assert len(found.data[0]) == 59
    np.testing.assert_allclose(found(X).mean(), np.sin(2 * X[:, 0]), atol=0.2)


@pytest.mark.parametrize("scored", [True, False])
def test_inputs_with_heavy_tails_are_seen_in_two_ways(rng, scored, smooth_only):
    """As normal scores if the function is smooth in these, and as they are if it is linear."""
    scores = rng.normal(size=(200, 2))
    X = np.sinh(2.0 * scores) / np.sinh(2.0 * scores).std(axis=0)
    y = np.sin(scores[:, 0]) + scores[:, 1] if scored else X[:, 0] - X[:, 1]
    y = y + 0.05 * rng.normal(size=200)
    found = beside(X, y, lambda X: gaussian(np.zeros(len(X)), 1.0), rng)
    assert found.part() > 0.9
    assert len(found.candidates[0][0]) == 2
    process = found.taken[0][0].process
    assert isinstance(process.scaling, NormalScores) == scored
    # The law is that of the inputs as the process sees them.
    np.testing.assert_array_equal(process.data[0][:100], process.scaling(X[:100]))
    assert np.median(np.abs(process(X).mean() - y)) < 0.1


def test_networks_of_a_pool_agree_on_what_all_their_rows_say(rng, smooth_only):
    X = rng.uniform(-2, 2, size=(120, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=120)
    several = []
    for i in range(2):
        other = np.arange(40) + 40 * i
        rows = np.setdiff1d(np.arange(120), other)
        network = gaussian(rng.normal(size=40), 1.0)
        several.append(ProcessBeside(X, y[:, None], np.ones(120), rows, other, [network], rng))
    held = [each.candidates[0][0][0][0][1] for each in several]
    alone = [each.part() for each in several]
    assert alone[0] != alone[1]
    pull = best_pull(held)
    logs = [log_chances([h.log_densities, h.judged(pull, 1.0)], h.weights) for h in held]
    ProcessBeside.agree(several)
    for each in several:
        (taken,) = each.taken[0]
        assert taken[1:] == (pull, 1.0, expected_parts(sum(logs), 2)[0])
        assert each.candidates is None


@pytest.mark.parametrize("alone", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("better", [False, True])
def test_the_network_may_be_right_by_itself(rng, smooth_only, alone, better):
    """The probability of that, with the weight of the process integrated by quadrature."""
    X = rng.uniform(-2, 2, size=(120, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=120)
    rows, other = np.split(rng.permutation(120), [100])
    network = gaussian(y[other] + (0.2 if better else 0.6) * rng.normal(size=20), 0.4)
    found = ProcessBeside(X, y[:, None], np.ones(120), rows, other, [network], rng)
    held = found.candidates[0][0][0][0][1]
    ProcessBeside.agree([found], alone)
    (taken,) = found.taken[0]
    own, its = np.exp(held.log_densities), np.exp(held.judged(taken.pull, taken.factor))
    moments = [quad(lambda v, k=k: v**k * np.prod(1 - v + v * its / own), 0, 1)[0] for k in (0, 1)]
    expected = (1 - alone) * moments[1] / ((1 - alone) * moments[0] + alone)
    assert taken.part == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("of_folds", [True, False])
def test_rows_of_folds_judge_a_whole_time(rng, monkeypatch, of_folds):
    """Networks of a pool may have held out the same rows, so that each counts less there."""
    judged = []
    monkeypatch.setattr(module, "averaged_part", lambda *data: judged.append(data) or 0.5)
    X = rng.normal(size=(20, 1))
    y = X[:, 0] + 0.1 * rng.normal(size=20)
    several = []
    for k in range(4):
        rows, other = np.flatnonzero(np.arange(20) % 4 != k), np.arange(k, 20, 4)
        network = gaussian(np.zeros(5), 1.0)
        several.append(ProcessBeside(X, y[:, None], np.ones(20), rows, other, [network], rng))
    ProcessBeside.agree(several, of_folds=of_folds)
    np.testing.assert_array_equal(judged[0][3], np.full(20, 1.0 if of_folds else 0.25))


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_without_noise_intervals_are_as_wide_as_errors(rng, noise, smooth_only):
    X = rng.normal(size=(300, 2))
    y = np.sin(X[:, 0]) + np.cos(X[:, 1]) + noise * rng.normal(size=300)
    rows, other = np.split(np.arange(300), [200])
    known = gaussian(np.zeros(100), 1.0)
    found = ProcessBeside(X, y[:, None], np.ones(300), rows, other, [known], rng)
    (taken,) = found.taken[0]
    if noise:
        assert taken.factor == 1.0
    else:
        held = found.candidates[0][0][0][0][1]
        deviations = np.sqrt(taken.factor) * held.law.std()
        covers = np.mean(np.abs(held.targets - held.law.mean()) < 1.645 * deviations)
        assert taken.factor < 0.8
        assert 0.8 < covers < 0.98


def test_an_exact_rule_with_an_exception_is_not_moved(rng):
    """The network has the smaller absolute error, because of one row, but the process says more."""
    y = rng.normal(size=40)
    means = y.copy()
    means[7] += 9.0
    law = PredictiveMixture(*with_tails(means, np.full(40, 1e-8), 1e-9))
    near = y + 0.1 * rng.normal(size=40)
    held = HeldOut(y, np.ones(40), norm.logpdf(y, near, 0.1), near, law)
    assert best_pull([held]) == 1.0
    found = beside(y[:, None], y, lambda X: gaussian(np.zeros(len(X)), 1.0), rng, n_held=10)
    process = SimpleNamespace(without_noise=True, has_shape=False)
    found.candidates, found.few = [[[[(process, held)]]]], None
    ProcessBeside.agree([found])
    assert found.taken[0][0].pull == 0.0
    assert found.part() > 0.9


def test_draws_follow_the_law_that_was_moved(rng):
    X = np.linspace(-2, 2, 60)[:, None]
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=60)
    other = np.arange(0, 60, 3)
    rows = np.setdiff1d(np.arange(60), other)
    known = gaussian(np.zeros(20), 1.0)
    found = ProcessBeside(X, y[:, None], np.ones(60), rows, other, [known], rng)
    process = found.taken[0][0].process
    found.taken[0] = [Taken(process, 0.4, 0.5, 1.0)]
    at = np.array([[-1.0], [0.3], [1.7]])
    draws = np.empty((3, 20_000))
    found.replace_draws(draws, at, lambda X: 2.0 + X, rng)
    law = found.taken[0][0].law(at, 2.0 + at[:, 0])
    expected = 0.6 * process(at).mean() + 0.4 * (2.0 + at[:, 0])
    np.testing.assert_allclose(law.mean(), expected, rtol=1e-10)
    np.testing.assert_allclose(draws.mean(axis=1), law.mean(), atol=0.05 * law.std().max())
    np.testing.assert_allclose(draws.std(axis=1), law.std(), rtol=0.03)


def test_where_no_process_can_be_fitted_the_network_is_alone(rows, rng, monkeypatch, smooth_only):
    def fail(*_):
        raise LinAlgError

    monkeypatch.setattr(evidence, "log_evidence", fail)
    X, y = rows

    def network(X):
        return PredictiveMixture([1.0], np.zeros((len(X), 1)), np.ones((len(X), 1)))

    found = beside(X, y, network, rng, n_held=10)
    assert found.part() == 0
    law = network(X)
    pool = pooled([law, law], [found, None], [X, X])
    np.testing.assert_allclose(pool.logpdf(y), law.logpdf(y), rtol=1e-12)
    draws = np.zeros((40, 3))
    found.replace_draws(draws, X, None, rng)
    assert not draws.any()


def test_an_exact_process_keeps_its_mean_although_few_errors_are_large(rng):
    """A network has the smaller absolute error: the process misses a tenth of the rows by far."""
    y = rng.normal(size=100)
    errors = np.where(np.arange(100) < 10, 1.0, 1e-4) * rng.normal(size=100)
    scales = np.where(np.arange(100) < 10, 1.0, 1e-4)
    network = y + 0.05 * rng.normal(size=100)
    law = PredictiveMixture([1.0], (y + errors)[:, None], scales[:, None] ** 2)
    held = HeldOut(y, np.ones(100), norm.logpdf(y, network, 0.05), network, law)
    assert best_pull([held]) > 0.5
    pull, factor, logs = best_move([held], exact=False)
    assert (pull, factor) == (0.0, 1.0)
    np.testing.assert_array_equal(
        logs, log_chances([held.log_densities, law.logpdf(y)], held.weights)
    )


def test_small_gains_in_likelihood_do_not_keep_the_mean(rng):
    y, network = rng.normal(size=(2, 100))
    held = held_out(y, y + 0.9 * network, y + 1.0 * rng.normal(size=100), 1.5)
    assert best_move([held], exact=False)[0] == best_pull([held]) > 0.0


def test_modes_keep_their_places(rng):
    """A network that knows the mean of two modes has the smaller errors, but not the places."""
    sign, y = rng.choice([-1.0, 1.0], 100), rng.normal(size=100)
    network = y + 0.8 * rng.normal(size=100)
    places = (y - sign)[:, None] + [[-1.0, 1.0]] + 0.4 * rng.normal(size=(100, 1))
    law = PredictiveMixture([0.5, 0.5], places, np.full((100, 2), 0.16))
    held = HeldOut(y, np.ones(100), norm.logpdf(y, network, 0.8), network, law)
    assert best_move([held], exact=False)[0] == best_pull([held]) > 0.0
    assert best_move([held], exact=False, shaped=True)[0] == 0.0


@pytest.mark.parametrize("exact", [True, False])
def test_a_process_without_noise_takes_half_its_weight_away_from_the_rows(exact):
    law = gaussian(np.array([1.0, 2.0]), 0.1)
    process = Mock(return_value=law, without_noise=exact)
    own = SimpleNamespace(taken=[[Taken(process, 0.3, 0.5, 0.6)]])
    chance, wide = np.array([0.0, 1.0, 0.5]), (np.array([0.9, 0.1]), *np.ones((2, 2, 1, 2)))
    X = np.arange(3.0)[:, None]
    same, found = with_processes(chance, wide, [own, None], [X, None])
    assert same is chance
    known = gaussian(np.zeros(3), 1.0)
    away = where_unseen(known, same, found)
    part = 0.5 * 0.6 / 2 if exact else 0.0
    # The second row is away from all others, the third one half so.
    for row, share, own in ((1, 1.0, 1.0), (2, 0.5, 2.0)):
        density = (1 - part) * norm.pdf(0.7, 1.0, 1.0) + part * norm.pdf(0.7, own, 0.1)
        expected = (1 - share) * norm.pdf(0.7) + share * density
        assert np.exp(away.logpdf(np.full(3, 0.7)))[row] == pytest.approx(expected, rel=1e-12)
    if exact:
        np.testing.assert_array_equal(process.call_args[0][0], X[1:])


def test_copies_of_held_out_rows_judge_once(smooth_only, rng):
    X = rng.uniform(-2, 2, size=(40, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=40)

    def network(X):
        return PredictiveMixture([1.0], np.sin(2 * X), np.full((len(X), 1), 0.09))

    parts = []
    for times in (1, 3):
        rows, other = np.arange(30 * times), np.arange(30 * times, 40 * times)
        own = np.concatenate([np.tile(np.arange(30), times), np.tile(np.arange(30, 40), times)])
        known = [network(X[own][other])]
        found = ProcessBeside(
            X[own], y[own, None], np.ones(len(own)), rows, other, known, np.random.default_rng(0)
        )
        parts.append(found.part())
    assert 0.1 < parts[0] < 0.9
    assert parts[1] == pytest.approx(parts[0], abs=1e-3)

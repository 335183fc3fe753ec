"""The Gaussian process beside the network: its weight, and what it leaves alone."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import kstest, norm
from short_chains import short, unconverged
from sklearn.callback import ScoringMonitor

from skbayesnn.stable import beside
from skbayesnn.stable.extrapolation import Extrapolation

pytestmark = unconverged


def rule(n, rng):
    """An exact linear rule of three inputs."""
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, -2.0, 0.5]


def noisy_waves(n, rng):
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)


def steps(n, rng):
    """Steps of every input, which no smooth function follows."""
    X = rng.uniform(-1, 1, size=(n, 3))
    return X, 4.0 * np.sign(X).sum(axis=1) + 0.1 * rng.normal(size=n)


def test_an_exact_rule_is_left_to_the_process(rng):
    X, y = rule(80, rng)
    new, truth = rule(200, rng)
    with_process, alone = short().fit(X, y), short(gaussian_process=False).fit(X, y)
    assert with_process.gaussian_process_weight_ > 0.8
    assert alone.gaussian_process_weight_ == 0.0
    law, network = with_process.predict_distribution(new), alone.predict_distribution(new)
    assert law.crps(truth).mean() < 0.1 * network.crps(truth).mean()
    assert law.logpdf(truth).mean() > network.logpdf(truth).mean() + 2.0


def test_steps_are_left_to_the_network(rng):
    X, y = steps(200, rng)
    model = short(n_warmup=200, n_posterior_draws=200).fit(X, y)
    assert model.gaussian_process_weight_ < 0.2


def test_the_posterior_of_the_network_is_the_same_with_it(rng):
    X, y = noisy_waves(40, rng)
    model, alone = short().fit(X, y), short(gaussian_process=False).fit(X, y)
    assert model.gaussian_process_weight_ > 0
    np.testing.assert_array_equal(model.noise_variance_draws_, alone.noise_variance_draws_)
    np.testing.assert_array_equal(model.r_hat_, alone.r_hat_)
    model._beside = None
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))


@pytest.mark.parametrize(("alpha", "n_inputs"), [(0.5, 3), (1.1, 3), (2.0, 3), (1.1, 1), (1.1, 2)])
def test_draws_follow_the_mixture(rng, alpha, n_inputs):
    X, y = noisy_waves(60, rng)
    X = X[:, :n_inputs]
    model = short(alpha=alpha).fit(X, y)
    assert 0.05 < model.gaussian_process_weight_ < 0.99
    new = rng.normal(size=(4, n_inputs))
    draws, law = model.sample_y(new, 3000, random_state=1), model.predict_distribution(new)
    for i in range(len(new)):
        assert kstest(draws[i], lambda y, i=i: law[i : i + 1].cdf(y[None])[0]).pvalue > 1e-4


def test_the_order_of_rows_and_copies_change_nothing(rng):
    X, y = noisy_waves(30, rng)
    weights = rng.integers(1, 3, size=30)
    copies = rng.permutation(np.repeat(np.arange(30), weights))
    one = short().fit(X, y, sample_weight=weights)
    other = short().fit(X[copies], y[copies])
    assert one.gaussian_process_weight_ == pytest.approx(other.gaussian_process_weight_, rel=1e-6)
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-6, atol=1e-6)


def test_the_number_of_cores_and_pickling_change_nothing(rng):
    X, y = noisy_waves(30, rng)
    model = short().fit(X, y)
    for other in (short(n_jobs=2).fit(X, y), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(model.predict(X), other.predict(X))


def test_a_warm_start_keeps_it(rng):
    X, y = noisy_waves(30, rng)
    model = short(warm_start=True).fit(X, y)
    process, weight = model._beside, model.gaussian_process_weight_
    model.fit(X, y)
    assert model._beside is process
    assert model.gaussian_process_weight_ == weight
    with pytest.raises(ValueError, match="gaussian_process"):
        model.set_params(gaussian_process=False).fit(X, y)


def test_cells_without_dense_units_and_few_rows_have_none(rng):
    X, y = noisy_waves(30, rng)
    for model in (
        short(dense_units=False).fit(X, y),
        short(cells="sampled").fit(X, y),
        short(cells="line", likelihood="gaussian").fit(X[:, :1], y),
        short().fit(X[:9], y[:9]),
        short().fit(X[:9, :1], y[:9]),
    ):
        assert model.gaussian_process_weight_ == 0.0


def wave(n, n_inputs, rng):
    """Smooth, along the diagonal of one or two inputs."""
    X = rng.uniform(-2, 2, size=(n, n_inputs))
    return X, np.sin(2 * X.mean(axis=1)) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("n_inputs", "options"),
    [(1, {}), (2, {}), (2, {"likelihood": "gaussian"}), (2, {"sampler": "metropolis"})],
)
def test_a_smooth_function_of_one_or_two_inputs_is_left_to_it(rng, n_inputs, options):
    X, y = wave(60, n_inputs, rng)
    new, targets = wave(300, n_inputs, rng)
    model, alone = (short(gaussian_process=g, **options).fit(X, y) for g in (True, False))
    assert model.gaussian_process_weight_ > 0.5
    law, network = model.predict_distribution(new), alone.predict_distribution(new)
    assert law.crps(targets).mean() < 0.97 * network.crps(targets).mean()
    assert law.logpdf(targets).mean() > network.logpdf(targets).mean()


@pytest.mark.parametrize("n_inputs", [1, 2])
def test_where_the_function_jumps_there_is_hardly_any(rng, n_inputs, monkeypatch):
    """A priori there is none in one of two cases; with a uniform prior more would be left."""
    X = rng.uniform(-2, 2, size=(80, n_inputs))
    y = 5.0 * np.sign(X.sum(axis=1) - 0.5) + 0.1 * rng.normal(size=80)
    model = short(n_warmup=300, n_posterior_draws=300)
    weight = model.fit(X, y).gaussian_process_weight_
    assert weight < 0.02
    monkeypatch.setattr(beside, "ALONE", 0.0)
    assert model.fit(X, y).gaussian_process_weight_ > 2.0 * weight


@pytest.mark.parametrize("n_inputs", [1, 2])
def test_away_from_the_rows_the_prediction_is_stacked_as_without_it(rng, n_inputs, monkeypatch):
    """Where no row tells anything, a smooth model with the whole weight is all that predicts."""
    X, y = wave(60, n_inputs, rng)
    model = short().fit(X, y)
    assert model.gaussian_process_weight_ > 0.5
    far = np.full((1, n_inputs), 50.0)
    # Its share of so short chains is from .3 to .9, and what BLAS rounds can decide which.
    assert 0.0 < model._extrapolation.share(model.cells_, model._draws) <= 1.0
    monkeypatch.setattr(Extrapolation, "share", lambda *_: 1.0)
    beside_process = model.predict_interval(far)
    model._beside = None
    np.testing.assert_allclose(beside_process, model.predict_interval(far), rtol=1e-3)


def test_the_groups_of_rows_judge_in_turn_or_once(rng):
    groups = np.repeat(np.arange(30), 2)
    splits = beside._splits(groups, rng, True)
    np.testing.assert_array_equal(np.sort(np.concatenate([o for _, o in splits])), np.arange(60))
    for rows, other in splits:
        assert not set(groups[rows]) & set(groups[other])
        assert len(rows) + len(other) == 60
    ((rows, other),) = beside._splits(groups, rng, False)
    assert len(rows) == 48
    assert not set(groups[rows]) & set(groups[other])


def test_between_inputs_that_recur_copies_do_not_judge(rng, monkeypatch):
    """Four targets at each of eleven inputs, with a step between two of them."""
    X = np.repeat(np.arange(11.0), 4)[:, None]
    y = np.where(X[:, 0] < 4.5, 0.0, 10.0) + 3.0 * np.sin(X[:, 0] / 5) + 0.3 * rng.normal(size=44)
    model = short(n_warmup=300, n_posterior_draws=400)
    weight = model.fit(X, y).gaussian_process_weight_
    assert weight < 0.2
    monkeypatch.setattr(beside, "RECUR", 5)
    assert model.fit(X, y).gaussian_process_weight_ > weight + 0.1


@pytest.mark.parametrize(
    ("n_inputs", "n_rows", "of_jumps", "n_groups"),
    [(10, 20, True, 10), (10, 19, True, 19), (9, 20, True, 20), (10, 20, False, 20)],
)
def test_equal_inputs_are_held_out_together_if_ten_recur(n_inputs, n_rows, of_jumps, n_groups):
    X = (np.arange(n_rows) % n_inputs)[:, None].astype(float)
    groups = beside._held_together(X, np.arange(float(n_rows)), of_jumps)
    assert groups.max() + 1 == n_groups
    if n_groups == n_inputs:
        np.testing.assert_array_equal(groups, X[:, 0])


def test_the_rows_that_judge_have_the_same_cells(rng, monkeypatch):
    """All 160 rows are too many for the plane; those that are not held out would not be."""
    made = []
    make = beside.make_partition

    def remembered(*data):
        made.append(make(*data))
        return made[-1]

    monkeypatch.setattr(beside, "make_partition", remembered)
    X, y = noisy_waves(160, rng)
    model = short().fit(X[:, :2], y)
    assert type(made[0]) is type(model.cells_)
    assert len(made[0].rows) == 128


def test_callbacks_see_the_chains_that_judge(rng):
    X, y = noisy_waves(40, rng)
    monitor = ScoringMonitor(scoring="r2")
    model = short(n_posterior_draws=200, thin=1).set_callbacks(monitor).fit(X, y)
    scores = monitor.get_logs(select="most_recent").data_as_pandas["r2"]
    assert scores.max() > 0.5
    assert model.gaussian_process_weight_ > 0


def test_what_draws_say_of_a_row_without_it(rng):
    """Linear regression with known noise: the density of a row given the others in closed form."""
    X, noise = rng.normal(size=(40, 3)), 0.5
    y = X @ [1.0, -1.0, 0.0] + np.sqrt(noise) * rng.normal(size=40)
    covariance = np.linalg.inv(np.eye(3) + X.T @ X / noise)
    drawn = rng.multivariate_normal(covariance @ X.T @ y / noise, covariance, 40_000)
    draws = SimpleNamespace(log_noise=np.full(len(drawn), np.log(noise)), degrees=[np.inf] * 40_000)
    cells = SimpleNamespace(
        predict=lambda draws, X: (X @ drawn.T, np.zeros((len(X), len(drawn)))),
        log_noise_factors=lambda draws, X: np.zeros((1, len(drawn))),
        inputs=SimpleNamespace(scaled=lambda X: X),
    )
    found = beside.LeftOut.of(cells, draws, X, y)
    leverage = np.einsum("ij,jk,ik->i", X, covariance, X) / noise
    means = y - (y - X @ covariance @ X.T @ y / noise) / (1.0 - leverage)
    expected = norm.logpdf(y, means, np.sqrt(noise / (1.0 - leverage)))
    np.testing.assert_allclose(found.mean(), means, atol=0.02)
    np.testing.assert_allclose(found.logpdf(y), expected, atol=0.02)


def test_many_rows_are_judged_without_short_chains(rng, monkeypatch):
    """The parts are those that short chains suggest, and all draws know all rows."""
    X, y = noisy_waves(300, rng)
    model = short(n_warmup=100, n_posterior_draws=200).fit(X, y)
    monkeypatch.setattr(beside, "MOST_ROWS", 299)
    monkeypatch.setattr(beside, "make_partition", None)
    other = short(n_warmup=100, n_posterior_draws=200).fit(X, y)
    assert other.gaussian_process_weight_ == pytest.approx(model.gaussian_process_weight_, abs=0.2)
    np.testing.assert_array_equal(model.noise_variance_draws_, other.noise_variance_draws_)
    X, y = rule(300, rng)
    assert short().fit(X, y).gaussian_process_weight_ > 0.8
    X, y = steps(300, rng)
    model = short(n_warmup=200, n_posterior_draws=200).fit(X, y)
    assert model.gaussian_process_weight_ < 0.2


def test_not_more_rows_judge_than_needed(rng, monkeypatch):
    monkeypatch.setattr(beside, "JUDGES", 20)
    judged = []
    monkeypatch.setattr(beside, "ProcessBeside", lambda *data: judged.append(data))
    X, y = noisy_waves(150, rng)
    with pytest.raises(AttributeError, match="agree"):
        short().fit(X, y)
    assert len(judged[0][4]) == 20

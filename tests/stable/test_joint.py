"""Joint draws at several new points against cells of all points together."""

import numpy as np
import pytest
from chains import draws_at, run_chain
from scipy import stats

from skbayesnn import StableNNRegressor
from skbayesnn.numerics.stable_laws import sample_log_positive_stable
from skbayesnn.stable.diagnostics import effective_sample_size
from skbayesnn.stable.partitions.line import LineCells
from skbayesnn.stable.partitions.plane.partition import MAX_JOINT_POINTS, FaceCells
from skbayesnn.stable.partitions.sampled import UnitCells
from skbayesnn.stable.samplers.problem import Prior

N_DRAWS = 3000


def prior_draws(prior, log_masses, rng):
    """Weights and log-scales of all cells, (N_DRAWS, n_cells) each."""
    shape = (N_DRAWS, log_masses.size)
    log_scales = np.zeros(shape)
    if prior.alpha < 2:
        for i in np.ndindex(shape):
            log_scales[i] = sample_log_positive_stable(prior.alpha / 2, rng)
    spread = np.exp(0.5 * (np.log(prior.nu) + 2 / prior.alpha * log_masses + log_scales))
    return spread * rng.standard_normal(shape), log_scales


def hidden(n):
    """Targets and counts of rows whose noise, of a standard deviation of 1e4, hides f."""
    return np.zeros(n), np.full(n, 1e-8)


def statistics(f):
    """What is joint in draws of f, (n_rows, n_draws): pairs, and all rows together."""
    yield from np.abs(np.diff(f, axis=0))
    yield from np.abs(f[1:] + f[:-1])
    yield np.ptp(f, axis=0)
    yield f.max(axis=0)


def assert_same_law(f, expected):
    # About a hundred comparisons in this file.
    for ours, theirs in zip(statistics(f), statistics(expected), strict=True):
        assert stats.ks_2samp(ours, theirs).pvalue > 1e-5


@pytest.mark.parametrize("alpha", [0.7, 1.4, 2.0])
@pytest.mark.parametrize("old", [[0.4], [-1.0, 0.5, 0.6]])
def test_the_prior_on_the_line(alpha, old):
    rng = np.random.default_rng(0)
    prior, old = Prior(alpha, 1.0, 0.0), np.array(old)
    # Several in a cell, on both sides of infinity, and an old one among them.
    new = np.array([-3.0, -1.5, -0.9, 0.0, 0.1, 0.4, 0.5, 0.58, 1.0, 30.0])
    cells = LineCells(old[:, None], *hidden(old.size))
    _, log_scales = prior_draws(prior, cells.log_masses, rng)
    f = cells.sample(draws_at(prior, N_DRAWS, log_scales=log_scales), new[:, None], rng)
    together = np.unique(np.concatenate([old, new]))
    joint = LineCells(together[:, None])
    weights, _ = prior_draws(prior, joint.log_masses, rng)
    expected = joint.features(None) @ weights.T
    assert_same_law(f, expected[np.searchsorted(together, new)])


@pytest.mark.long
@pytest.mark.parametrize("alpha", [0.7, 1.4, 2.0])
def test_the_prior_in_the_plane(alpha):
    rng = np.random.default_rng(0)
    prior = Prior(alpha, 1.0, 0.0)
    old = np.array([[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]])
    # Collinear with old ones, old ones, the same twice, near ones, and one far away.
    new = np.array([[0, 0], [0.5, 0.5], [0, 0], [0.1, 0], [0.1, 0.7], [-0.5, 0], [9, 9]], float)
    cells = FaceCells(old, *hidden(4))
    weights, log_scales = prior_draws(prior, cells.log_masses, rng)
    draws = draws_at(prior, N_DRAWS, weights=weights, log_scales=log_scales)
    f = cells.sample(draws, new, rng)
    np.testing.assert_array_equal(f[0], f[2])
    together, place = np.unique(np.concatenate([old, new]), axis=0, return_inverse=True)
    joint = FaceCells(together)
    weights, _ = prior_draws(prior, joint.log_masses, rng)
    expected = (joint.features(None) @ weights.T)[place[len(old) :]]
    keep = [0, 1, 3, 4, 5, 6]
    assert_same_law(f[keep], expected[keep])


def test_joint_draws_reproduce_old_points():
    """At the training rows a draw is that of the chain, weights summed with their signs."""
    rng = np.random.default_rng(0)
    X = np.unique(rng.integers(0, 4, size=(10, 2)), axis=0) / 1.0
    cells, prior = FaceCells(X), Prior(1.2, 1.0, 0.0)
    weights, log_scales = (a[:5] for a in prior_draws(prior, cells.log_masses, rng))
    draws = draws_at(prior, 5, weights=weights, log_scales=log_scales)
    new = np.concatenate([X, rng.normal(size=(5, 2))])
    f = cells.sample(draws.take([3, 0]), new, rng)
    np.testing.assert_allclose(f[: len(X)], cells.features(None) @ weights[[3, 0]].T, atol=1e-12)


def test_sampled_cells_share_their_values():
    rng = np.random.default_rng(0)
    cells = UnitCells(rng.normal(size=(10, 3)), n_units=30)
    planes = cells.draw_planes(rng)
    new = rng.normal(size=(2, 3))
    new = np.array([new[0], new[0] + 1e-9, new[1]])
    weights = rng.standard_normal((8, 30)).astype(np.float32)
    draws = draws_at(Prior(1.1, 1.0, 0.0), 8, weights=weights, planes=planes[None])
    f = cells.sample(draws.take([7, 2, 7]), new, rng)
    np.testing.assert_array_equal(f[0], f[1])
    np.testing.assert_array_equal(f[:, 0], f[:, 2])
    assert (f[0] != f[2]).all()
    np.testing.assert_allclose(f[:, 1], cells.values(new, planes) @ weights[2], rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.8, 1.5])
def test_differences_agree_with_a_chain_on_training_and_test_points(alpha):
    rng = np.random.default_rng(3)
    x = np.sort(rng.uniform(-2, 2, 12))
    y = np.where(x > 0.3, 1.0, -1.0) + 0.3 * rng.standard_normal(12)
    # Two in the cell of the jump, two in another one, two on both sides of the data.
    new = np.array([-4.0, -1.0, -0.9, 0.2, 0.31, 2.6])
    prior = Prior(alpha, 1.0, np.log(0.09))

    def chains(inputs, targets, counts, n_draws):
        cells = LineCells(inputs[:, None], targets, counts)
        every = np.arange(inputs.size)
        return cells, [run_chain(cells, prior, every, n_draws, 4, seed, 1000) for seed in range(4)]

    cells, records = chains(x, y, np.ones(12), 500)
    f = cells.sample(cells.draws_of(records), new[:, None], rng)
    together = np.concatenate([x, new])
    order = np.argsort(together)
    _, joint = chains(
        together[order],
        np.concatenate([y, np.zeros(new.size)])[order],
        np.concatenate([np.ones(12), np.full(new.size, 1e-30)])[order],
        3000,
    )
    expected = np.stack([r.f for r in joint])[:, :, np.argsort(order)[x.size :]]
    theirs = np.diff(expected, axis=2)
    ours = np.diff(f, axis=0).T
    effective = effective_sample_size(theirs)
    own = effective_sample_size(ours.reshape(4, 500, -1))
    for level in (0.1, 0.3, 0.5, 0.7, 0.9):
        share = (ours < np.quantile(theirs, level, axis=(0, 1))).mean(axis=0)
        error = np.sqrt(level * (1 - level) * (1 / effective + 1 / own))
        assert np.abs((share - level) / error).max() < 4


@pytest.mark.parametrize(
    ("n_features", "options"), [(1, {}), (2, {}), (3, {}), (1, {"alpha": "sample", "nu": "sample"})]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_margins_are_those_of_the_predictive_distribution(n_features, options):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(15, n_features))
    y = np.where(X[:, 0] > 0.3, 50.0, 20.0) + 3 * rng.standard_normal(15)
    model = StableNNRegressor(
        n_warmup=100,
        n_posterior_draws=800,
        thin=2,
        n_chains=2,
        n_units=50,
        random_state=0,
        **options,
    ).fit(X, y)
    new = np.concatenate([X[:2], rng.uniform(-3, 3, size=(6, n_features))])
    draws = model.sample_y(new, 1600, random_state=1)
    assert draws.shape == (8, 1600)
    np.testing.assert_array_equal(draws, model.sample_y(new, 1600, random_state=1))
    for row in model.predict_distribution(new).cdf(draws):
        # The mixture is itself a sample of 800 splits of the cells: the bound is that of two
        # samples at a level of 0.001.
        distance = stats.kstest(row, "uniform").statistic
        assert distance < 1.95 * np.sqrt(1 / 800 + 1 / 1600)
    with pytest.raises(ValueError, match=r"n_samples must be a positive int. Got 0"):
        model.sample_y(new, 0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_too_many_rows_in_the_plane_are_refused():
    X = np.random.default_rng(0).normal(size=(MAX_JOINT_POINTS, 2))
    model = StableNNRegressor(n_warmup=5, n_posterior_draws=5, n_chains=1, thin=1).fit(
        X[:10], X[:10, 0]
    )
    with pytest.raises(ValueError, match=r"10 \+ 1000. Use fewer rows, or predict_distribution"):
        model.sample_y(X + 1.0)
    assert model.predict_distribution(X + 1.0).sample(2, 0).shape == (MAX_JOINT_POINTS, 2)
    assert model.sample_y(np.repeat(X[:20], 100, axis=0), 2).shape == (2000, 2)

"""The Gaussian mixture against scipy, numerical integration and simulation."""

import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import logsumexp

from skbayesnn._mixtures import mixture_cdf, mixture_crps, mixture_quantile
from skbayesnn.predictive import PredictiveMixture

LEVELS = np.array([1e-300, 1e-12, 1e-3, 0.05, 0.3, 0.5, 0.5 + 1e-9, 0.7, 0.95, 1 - 1e-12])


def random_mixture(seed=0, n=6, k=7, shared=False):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(k)) if shared else rng.dirichlet(np.ones(k), size=n)
    return PredictiveMixture(weights, rng.normal(0, 3, (n, k)), rng.gamma(1.0, 1.0, (n, k)))


def all_weights(mixture):
    return np.broadcast_to(mixture.weights, mixture.means.shape)


def tails(mixture, y):
    """P(Y <= y) and P(Y > y), one y a row, point masses included."""
    sd = np.sqrt(mixture.variances)
    distance = y[:, None] - mixture.means
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = np.where(sd > 0, distance / sd, np.where(distance >= 0, np.inf, -np.inf))
    w = all_weights(mixture)
    return (w * stats.norm.cdf(z)).sum(axis=1), (w * stats.norm.sf(z)).sum(axis=1)


def direct_crps(mixture, y):
    """E|Y - y| - ½ E|Y - Y'| from E|N(m, s²)| = m (2Φ(m/s) - 1) + 2 s φ(m/s)."""

    def expected_abs(m, s):
        return m * (2 * stats.norm.cdf(m / s) - 1) + 2 * s * stats.norm.pdf(m / s)

    out = []
    for w, m, v, point in zip(
        all_weights(mixture), mixture.means, mixture.variances, y, strict=True
    ):
        pairs = expected_abs(m[:, None] - m, np.sqrt(v[:, None] + v))
        out.append(w @ expected_abs(point - m, np.sqrt(v)) - 0.5 * w @ pairs @ w)
    return np.array(out)


@pytest.mark.parametrize("shared", [True, False])
def test_density_distribution_and_moments(shared):
    mixture = random_mixture(shared=shared)
    y = np.linspace(-5, 5, len(mixture))
    w, sd = all_weights(mixture), np.sqrt(mixture.variances)
    parts = (y[:, None], mixture.means, sd)
    np.testing.assert_allclose(mixture.cdf(y), (w * stats.norm.cdf(*parts)).sum(1), rtol=1e-12)
    expected = logsumexp(stats.norm.logpdf(*parts), b=w, axis=1)
    np.testing.assert_allclose(mixture.logpdf(y), expected, rtol=1e-12)
    mean = (w * mixture.means).sum(axis=1)
    second = (w * (mixture.variances + mixture.means**2)).sum(axis=1)
    np.testing.assert_allclose(mixture.mean(), mean, rtol=1e-12)
    np.testing.assert_allclose(mixture.var(), second - mean**2, rtol=1e-12)
    np.testing.assert_allclose(mixture.std() ** 2, mixture.var(), rtol=1e-12)


def test_one_component_is_the_normal_law():
    mean, sd = np.array([-3.0, 0.0, 1e6]), np.array([0.1, 1.0, 1e3])
    mixture = PredictiveMixture([1.0], mean[:, None], sd[:, None] ** 2)
    norm = stats.norm(mean, sd)
    y = mean + sd * [-2.0, 0.5, 9.5]
    np.testing.assert_allclose(mixture.cdf(y), norm.cdf(y), rtol=1e-12)
    np.testing.assert_allclose(mixture.logpdf(y), norm.logpdf(y), rtol=1e-12)
    expected = np.stack([norm.ppf(level) for level in LEVELS], axis=1)
    np.testing.assert_allclose(mixture.quantile(LEVELS), expected, rtol=1e-13)
    z = (y - mean) / sd
    crps = z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi)
    np.testing.assert_allclose(mixture.crps(y), sd * crps, rtol=1e-10)


def test_the_ways_to_give_y():
    mixture = random_mixture()
    grid = np.linspace(-3, 3, 5)
    for method in (mixture.cdf, mixture.logpdf):
        table = method(grid[None, :])
        assert table.shape == (6, 5)
        np.testing.assert_array_equal(table, method(np.tile(grid, (6, 1))))
        for j, y in enumerate(grid):
            np.testing.assert_array_equal(table[:, j], method(y))
            np.testing.assert_array_equal(table[:, j], method(np.full(6, y)))
    np.testing.assert_allclose(mixture.cdf([[-np.inf, np.inf]])[0], [0, 1], rtol=1e-14)
    np.testing.assert_array_equal(mixture.logpdf([[-np.inf, np.inf]])[0], [-np.inf, -np.inf])
    np.testing.assert_array_equal(mixture.crps(0.5), mixture.crps(np.full(6, 0.5)))


@pytest.mark.parametrize("shared", [True, False])
def test_quantiles_invert_the_distribution(shared):
    mixture = random_mixture(1, n=40, shared=shared)
    for level, q in zip(LEVELS, mixture.quantile(LEVELS).T, strict=True):
        below, above = tails(mixture, q)
        if level <= 0.5:
            np.testing.assert_allclose(below, level, rtol=1e-10)
        else:
            np.testing.assert_allclose(above, 1 - level, rtol=1e-10)
    np.testing.assert_array_equal(mixture.interval(0.5), mixture.quantile([0.25, 0.75]))


def test_quantiles_never_cross_and_keep_their_order():
    mixture = random_mixture(1)
    fine = 0.5 + np.linspace(-1e-13, 1e-13, 201)
    levels = np.concatenate([np.linspace(0.001, 0.999, 999), fine])
    assert np.all(np.diff(mixture.quantile(np.sort(levels)), axis=1) >= 0)
    some = [0.9, 0.1, 0.5, 0.1]
    expected = np.column_stack([mixture.quantile(level)[:, 0] for level in some])
    np.testing.assert_array_equal(mixture.quantile(some), expected)


@pytest.mark.parametrize("span", [8, 16, 150])
@pytest.mark.parametrize("share_of_points", [0.0, 0.3, 1.0])
def test_quantiles_of_components_of_very_different_scales(span, share_of_points):
    rng = np.random.default_rng(span)
    shape = (100, 6)
    means = rng.normal(size=shape) * 10.0 ** rng.uniform(-span, span, shape)
    sds = 10.0 ** rng.uniform(-span, span, shape) * (rng.random(shape) >= share_of_points)
    mixture = PredictiveMixture(rng.dirichlet(np.full(6, 0.3), size=100), means, sds**2)
    quantiles = mixture.quantile(LEVELS)
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    smallest = np.minimum(np.abs(means), np.where(sds > 0, sds, np.inf)).min(axis=1)
    for level, q in zip(LEVELS, quantiles.T, strict=True):
        # The level is reached just above q and not just below.
        slack = 1e-13 * np.abs(q) + 1e-14 * smallest
        (below_right, above_right), (below_left, above_left) = (
            tails(mixture, q + slack),
            tails(mixture, q - slack),
        )
        if level <= 0.5:
            assert np.all((below_right >= level * (1 - 1e-9)) & (below_left <= level * (1 + 1e-9)))
        else:
            rest = 1 - level
            assert np.all((above_right <= rest * (1 + 1e-9)) & (above_left >= rest * (1 - 1e-9)))


@pytest.mark.parametrize("scale", [-1e-150, 1e-8, -1e8, 1e150])
def test_everything_follows_a_change_of_units(scale):
    mixture = random_mixture(2)
    scaled = mixture.scaled(0.0, scale)
    y = np.linspace(-4, 4, 6)
    np.testing.assert_allclose(scaled.mean(), scale * mixture.mean(), rtol=1e-12)
    np.testing.assert_allclose(scaled.std(), abs(scale) * mixture.std(), rtol=1e-12)
    np.testing.assert_allclose(scaled.crps(scale * y), abs(scale) * mixture.crps(y), rtol=1e-9)
    density = mixture.logpdf(y) - np.log(abs(scale))
    np.testing.assert_allclose(scaled.logpdf(scale * y), density, rtol=1e-12)
    levels = np.array([0.01, 0.3, 0.999])
    expected = scale * mixture.quantile(levels if scale > 0 else 1 - levels)
    np.testing.assert_allclose(scaled.quantile(levels), expected, rtol=1e-10)


def test_a_change_of_origin():
    mixture = random_mixture(2)
    moved = mixture.scaled(10.0, -2.0)
    np.testing.assert_allclose(moved.mean(), 10 - 2 * mixture.mean(), rtol=1e-12)
    np.testing.assert_allclose(moved.quantile(0.2), 10 - 2 * mixture.quantile(0.8), rtol=1e-10)


def test_moments_where_squares_leave_the_range_of_doubles():
    mixture = PredictiveMixture([0.5, 0.5], [[-1e200, 1e200], [0, 2e-200]], np.zeros((2, 2)))
    np.testing.assert_allclose(mixture.std(), [1e200, 1e-200], rtol=1e-12)
    np.testing.assert_array_equal(mixture.var(), [np.inf, 0])


def test_point_masses():
    mixture = PredictiveMixture([0.25, 0.75], [[1.0, 2.0]], [[0.0, 0.0]])
    cdf = mixture.cdf([[0.9, 1.0, 1.5, 2.0]])
    np.testing.assert_array_equal(cdf, [[0, 0.25, 0.25, 1]])
    quantiles = mixture.quantile([0.1, 0.25, 0.26, 0.9])
    np.testing.assert_array_equal(quantiles, [[1, 1, 2, 2]])
    np.testing.assert_array_equal(mixture.logpdf(1.0), [np.inf])
    np.testing.assert_array_equal(mixture.logpdf(1.5), [-np.inf])
    # E|Y - 0| - ½ E|Y - Y'| = 1.75 - 0.25 · 0.75.
    np.testing.assert_allclose(mixture.crps(0.0), 1.75 - 0.25 * 0.75, rtol=1e-12)
    assert set(mixture.sample(50, random_state=0)[0]) == {1.0, 2.0}
    constant = PredictiveMixture([1.0], [[3.0]], [[0.0]])
    assert constant.quantile([0.5])[0, 0] == 3.0
    assert constant.crps(5.0)[0] == 2.0
    assert constant.std()[0] == constant.var()[0] == 0.0


def test_a_point_mass_beside_a_density():
    mixture = PredictiveMixture([0.4, 0.6], [[1.0, 0.0]], [[0.0, 1.0]])
    jump = 0.6 * stats.norm.cdf(1.0)
    levels = [jump - 0.01, jump + 0.01, jump + 0.39, jump + 0.41]
    below, inside, still, above = mixture.quantile(levels)[0]
    assert below == pytest.approx(stats.norm.ppf((jump - 0.01) / 0.6), rel=1e-12)
    assert inside == still == 1.0
    assert above == pytest.approx(stats.norm.ppf((jump + 0.01) / 0.6), rel=1e-12)
    assert mixture.logpdf(0.5)[0] == pytest.approx(np.log(0.6) + stats.norm.logpdf(0.5))


def test_components_without_weight_count_for_nothing():
    mixture = random_mixture(3)
    wide = np.column_stack([mixture.variances, np.full(6, 1e20)])
    more = PredictiveMixture(
        np.column_stack([mixture.weights, np.zeros(6)]),
        np.column_stack([mixture.means, np.full(6, -1e9)]),
        wide,
    )
    for method in ("cdf", "logpdf", "crps"):
        np.testing.assert_array_equal(getattr(more, method)(0.3), getattr(mixture, method)(0.3))
    np.testing.assert_array_equal(more.quantile(LEVELS), mixture.quantile(LEVELS))
    assert np.abs(more.sample(500, random_state=0)).max() < 1e3


@pytest.mark.parametrize("shared", [True, False])
def test_crps_against_the_error_function_and_integration(shared):
    mixture = random_mixture(3, n=4, shared=shared)
    y = np.array([-4.0, 0.0, 0.3, 9.0])
    crps = mixture.crps(y)
    np.testing.assert_allclose(crps, direct_crps(mixture, y), rtol=0, atol=1e-10)
    for i, point in enumerate(y):
        row = mixture[i]
        below = quad(lambda t, row=row: row.cdf(t)[0] ** 2, -40, point, limit=200)[0]
        above = quad(lambda t, row=row: (1 - row.cdf(t)[0]) ** 2, point, 40, limit=200)[0]
        assert crps[i] == pytest.approx(below + above, abs=1e-7)


def test_crps_where_its_table_starts_and_ends():
    # Distances of -10 to 10 standard deviations: both sides of the last entry, 9.
    y = np.linspace(-10, 10, 4001)
    mixture = PredictiveMixture([1.0], np.zeros((4001, 1)), np.ones((4001, 1)))
    np.testing.assert_allclose(mixture.crps(y), direct_crps(mixture, y), rtol=0, atol=1e-13)
    edges = np.array([-9.0, 9.0, np.nextafter(9.0, 0), 0.0])
    rows = mixture[:4]
    np.testing.assert_allclose(rows.crps(edges), direct_crps(rows, edges), rtol=0, atol=1e-13)
    assert rows.crps(np.inf)[0] == np.inf


def test_crps_of_many_components():
    mixture = random_mixture(4, n=2, k=400)
    y = np.array([0.0, 5.0])
    np.testing.assert_allclose(mixture.crps(y), direct_crps(mixture, y), rtol=0, atol=1e-10)


def test_samples_follow_the_mixture():
    mixture = random_mixture(5)
    draws = mixture.sample(4000, random_state=0)
    assert draws.shape == (6, 4000)
    for levels in mixture.cdf(draws):
        # The distribution function at draws is uniform. A fixed seed and six rows: by
        # chance, a right sampler has all values of p above 0.002 for 99 seeds of 100.
        assert stats.kstest(levels, "uniform").pvalue > 0.002
    np.testing.assert_array_equal(draws, mixture.sample(4000, random_state=0))
    assert not np.array_equal(draws, mixture.sample(4000, random_state=1))


def test_summaries_against_draws():
    mixture = random_mixture(6, n=3)
    draws = mixture.sample(100_000, random_state=0)
    # Five standard errors.
    error = mixture.std() / np.sqrt(100_000)
    assert np.all(np.abs(draws.mean(axis=1) - mixture.mean()) < 5 * error)
    np.testing.assert_allclose((draws <= 1.0).mean(axis=1), mixture.cdf(1.0), atol=5 * 0.0016)
    half = np.abs(draws[:, :50_000] - draws[:, 50_000:])
    expected = np.abs(draws - 1.0).mean(axis=1) - 0.5 * half.mean(axis=1)
    # The two averages have standard errors below std/√100,000 and std/√50,000.
    np.testing.assert_allclose(mixture.crps(1.0), expected, atol=5 * 2 * error.max())


@pytest.mark.parametrize("shared", [True, False])
def test_a_row_does_not_depend_on_the_others_to_the_last_bit(shared):
    mixture = random_mixture(6, n=20, k=33, shared=shared)
    y = np.linspace(-2, 2, 20)
    for rows in ([17, 3, 8], slice(5, 6), np.random.default_rng(0).permutation(20)):
        part = mixture[rows]
        for method in ("mean", "std", "var"):
            np.testing.assert_array_equal(getattr(part, method)(), getattr(mixture, method)()[rows])
        for method in ("crps", "logpdf", "cdf"):
            whole = getattr(mixture, method)(y)
            np.testing.assert_array_equal(getattr(part, method)(y[rows]), whole[rows])
        np.testing.assert_array_equal(part.quantile(LEVELS), mixture.quantile(LEVELS)[rows])


def test_rows():
    mixture = random_mixture()
    assert len(mixture) == 6
    assert len(mixture[2]) == len(mixture[-1]) == 1
    assert len(mixture[1:4]) == 3
    np.testing.assert_array_equal(mixture[mixture.mean() > 0].mean() > 0, True)
    np.testing.assert_array_equal([row.mean()[0] for row in mixture], mixture.mean())
    with pytest.raises(IndexError):
        mixture[6]
    assert mixture[:0].quantile([0.1, 0.9]).shape == (0, 2)


def test_far_tails_of_the_density():
    mixture = PredictiveMixture([0.5, 0.5], [[0.0, 1.0]], [[1.0, 1.0]])
    # exp would underflow: -½ 1e10 from the nearer component.
    expected = np.log(0.5) + stats.norm.logpdf(1e5 - 1)
    np.testing.assert_allclose(mixture.logpdf(1e5), expected, rtol=1e-12)


def test_arrays_that_cannot_be_written_to_need_no_new_kernels():
    mixture = random_mixture(7)
    arrays = [mixture.weights.copy(), mixture.means.copy(), mixture.variances.copy()]
    for array in arrays:
        array.flags.writeable = False
    y = np.linspace(-1, 1, 6)
    expected = mixture.cdf(y), mixture.crps(y), mixture.quantile(LEVELS)
    kernels = (mixture_cdf, mixture_crps, mixture_quantile)
    known = [len(kernel.signatures) for kernel in kernels]
    y.flags.writeable = False
    frozen = PredictiveMixture(*arrays)
    for one, other in zip(
        expected, (frozen.cdf(y), frozen.crps(y), frozen.quantile(LEVELS)), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert [len(kernel.signatures) for kernel in kernels] == known


def test_pickle_and_repr():
    mixture = random_mixture(7)
    again = pickle.loads(pickle.dumps(mixture))
    np.testing.assert_array_equal(again.quantile([0.5]), mixture.quantile([0.5]))
    assert repr(mixture) == "PredictiveMixture(n_samples=6, n_components=7)"


@pytest.mark.parametrize(
    ("weights", "means", "variances", "message"),
    [
        ([1.0], [1.0], [1.0], "shape"),
        ([1.0], [[1.0]], [[1.0, 2.0]], "shape"),
        ([0.5, 0.5], [[1.0]], [[1.0]], "weights must have shape"),
        ([[1.0], [1.0]], [[1.0]], [[1.0]], "weights must have shape"),
        ([1.0], [[np.nan]], [[1.0]], "means must be finite"),
        ([1.0], [[1.0]], [[-1.0]], "variances"),
        ([1.0], [[1.0]], [[np.inf]], "variances"),
        ([0.5], [[1.0]], [[1.0]], r"sum to one for each row. Got a sum of 0\.5"),
        ([[1.0], [1.1]], [[1.0], [1.0]], [[1.0], [1.0]], r"Got a sum of 1\.1"),
        ([1.5, -0.5], [[1.0, 1.0]], [[1.0, 1.0]], "negative"),
        ([np.nan], [[1.0]], [[1.0]], "weights must be finite"),
    ],
)
def test_bad_mixtures(weights, means, variances, message):
    with pytest.raises(ValueError, match=message):
        PredictiveMixture(weights, means, variances)


def test_bad_arguments():
    mixture = random_mixture()
    for levels in (0.0, 1.0, -0.1, np.nan, [], [0.5, 2.0], [[0.5]]):
        with pytest.raises(ValueError, match="quantiles must be"):
            mixture.quantile(levels)
    for coverage in (0, 1, 1.5, np.nan, [0.5]):
        with pytest.raises(ValueError, match="coverage must be"):
            mixture.interval(coverage)
    for y in (np.zeros(5), np.zeros(1), np.zeros((5, 2)), np.zeros((6, 2, 1))):
        with pytest.raises(ValueError, match="y must be a number"):
            mixture.cdf(y)
    with pytest.raises(ValueError, match="y must be a number"):
        mixture.crps(np.zeros((6, 1)))
    for method in (mixture.cdf, mixture.logpdf, mixture.crps):
        with pytest.raises(ValueError, match="y must not contain NaN"):
            method(np.nan)
    for loc in (np.inf, None):
        with pytest.raises(ValueError, match="loc must be a finite number"):
            mixture.scaled(loc, 1.0)
    for scale in (0, np.nan, "2"):
        with pytest.raises(ValueError, match="scale must be a finite number"):
            mixture.scaled(0.0, scale)
    with pytest.raises(ValueError, match="must be finite"):
        mixture.scaled(0.0, 1e200)

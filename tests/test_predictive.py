"""The Gaussian mixture against scipy, numerical integration and simulation."""

import pickle

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from skbayesnn.predictive import PredictiveMixture


def random_mixture(seed=0, n=6, k=7, shared=False):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(k)) if shared else rng.dirichlet(np.ones(k), size=n)
    return PredictiveMixture(weights, rng.normal(0, 3, (n, k)), rng.gamma(1.0, 1.0, (n, k)))


def direct_crps(mixture, y):
    """E|Y - y| - ½ E|Y - Y'| from E|N(m, s²)| = m (2Φ(m/s) - 1) + 2 s φ(m/s)."""

    def expected_abs(m, s):
        return m * (2 * stats.norm.cdf(m / s) - 1) + 2 * s * stats.norm.pdf(m / s)

    w = np.broadcast_to(mixture.weights, mixture.means.shape)
    out = []
    for i in range(len(mixture)):
        m, v = mixture.means[i], mixture.variances[i]
        pairs = expected_abs(m[:, None] - m, np.sqrt(v[:, None] + v))
        out.append(w[i] @ expected_abs(y[i] - m, np.sqrt(v)) - 0.5 * w[i] @ pairs @ w[i])
    return np.array(out)


@pytest.mark.parametrize("shared", [True, False])
def test_density_distribution_and_moments(shared):
    mixture = random_mixture(shared=shared)
    y = np.linspace(-5, 5, len(mixture))
    w = np.broadcast_to(mixture.weights, mixture.means.shape)
    sd = np.sqrt(mixture.variances)
    parts = (y[:, None], mixture.means, sd)
    np.testing.assert_allclose(mixture.cdf(y), (w * stats.norm.cdf(*parts)).sum(1), rtol=1e-12)
    np.testing.assert_allclose(
        mixture.logpdf(y), np.log((w * stats.norm.pdf(*parts)).sum(1)), rtol=1e-12
    )
    mean = (w * mixture.means).sum(axis=1)
    second = (w * (mixture.variances + mixture.means**2)).sum(axis=1)
    np.testing.assert_allclose(mixture.mean(), mean)
    np.testing.assert_allclose(mixture.var(), second - mean**2)
    np.testing.assert_allclose(mixture.std() ** 2, mixture.var())


def test_points_of_two_dimensions():
    mixture = random_mixture()
    grid = np.linspace(-3, 3, 5)
    table = mixture.cdf(grid[None, :])
    assert table.shape == (6, 5)
    for j, y in enumerate(grid):
        np.testing.assert_array_equal(table[:, j], mixture.cdf(y))
        np.testing.assert_array_equal(mixture.logpdf(grid[None, :])[:, j], mixture.logpdf(y))


@pytest.mark.parametrize("shared", [True, False])
def test_quantiles_invert_the_distribution(shared):
    mixture = random_mixture(1, shared=shared)
    levels = [0.9, 1e-6, 0.5, 1 - 1e-9, 0.05]
    quantiles = mixture.quantile(levels)
    for j, level in enumerate(levels):
        np.testing.assert_allclose(mixture.cdf(quantiles[:, j]), level, rtol=1e-9)
    assert np.all(np.diff(mixture.quantile(np.linspace(0.001, 0.999, 999)), axis=1) >= 0)
    np.testing.assert_allclose(mixture.interval(0.9), mixture.quantile([0.05, 0.95]), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
def test_quantiles_at_any_scale(scale):
    mixture = random_mixture(2)
    scaled = PredictiveMixture(
        mixture.weights, scale * mixture.means, scale * (scale * mixture.variances)
    )
    levels = [0.01, 0.3, 0.999]
    expected = scale * mixture.quantile(levels)
    np.testing.assert_allclose(scaled.quantile(levels), expected, rtol=1e-9)


def test_quantiles_of_components_of_very_different_scales():
    mixture = PredictiveMixture(
        [0.4, 0.3, 0.3], [[0.0, 1e-8, 1e8]], [[1e-20, 1e-18, 1e12]]
    )
    levels = np.array([0.01, 0.2, 0.45, 0.69, 0.71, 0.85, 0.999])
    np.testing.assert_allclose(mixture.cdf(mixture.quantile(levels)), levels[None], rtol=1e-9)
    # Between 0.7 and the far component there is nothing: the quantile is its lower end.
    assert mixture.quantile([0.69])[0, 0] < 1e-6
    assert mixture.quantile([0.71])[0, 0] > 9e7


def test_point_masses():
    mixture = PredictiveMixture([0.25, 0.75], [[1.0, 2.0]], [[0.0, 0.0]])
    np.testing.assert_array_equal(mixture.cdf(np.array([[0.9, 1.0, 1.5, 2.0]])), [[0, 0.25, 0.25, 1]])
    np.testing.assert_allclose(mixture.quantile([0.1, 0.2, 0.3, 0.9]), [[1, 1, 2, 2]])
    np.testing.assert_array_equal(mixture.logpdf(1.0), [np.inf])
    np.testing.assert_array_equal(mixture.logpdf(1.5), [-np.inf])
    # E|Y - 0| - ½ E|Y - Y'| = 1.75 - 0.25 · 0.75.
    np.testing.assert_allclose(mixture.crps(0.0), 1.75 - 0.25 * 0.75)
    constant = PredictiveMixture([1.0], [[3.0]], [[0.0]])
    assert constant.quantile([0.5])[0, 0] == 3.0
    assert constant.crps(5.0)[0] == 2.0
    assert constant.var()[0] == 0.0


@pytest.mark.parametrize("shared", [True, False])
def test_crps_against_the_error_function_and_integration(shared):
    mixture = random_mixture(3, n=4, shared=shared)
    y = np.array([-4.0, 0.0, 0.3, 9.0])
    got = mixture.crps(y)
    np.testing.assert_allclose(got, direct_crps(mixture, y), rtol=0, atol=1e-10)
    w = np.broadcast_to(mixture.weights, mixture.means.shape)
    for i in range(4):

        def cdf(t, i=i):
            sd = np.sqrt(mixture.variances[i])
            return w[i] @ stats.norm.cdf(t, mixture.means[i], sd)

        below = quad(lambda t: cdf(t) ** 2, -40, y[i], limit=400)[0]
        above = quad(lambda t: (1 - cdf(t)) ** 2, y[i], 40, limit=400)[0]
        assert got[i] == pytest.approx(below + above, abs=1e-6)


def test_crps_scales_with_y():
    mixture = random_mixture(4)
    y = np.zeros(len(mixture))
    big = PredictiveMixture(mixture.weights, 1e6 * mixture.means, 1e12 * mixture.variances)
    np.testing.assert_allclose(big.crps(y), 1e6 * mixture.crps(y), rtol=1e-10)


def test_samples_follow_the_mixture():
    mixture = random_mixture(5)
    draws = mixture.sample(4000, random_state=0)
    assert draws.shape == (6, 4000)
    for i in range(6):
        # The distribution function of row i at its own draws is uniform.
        levels = np.array(mixture.cdf(np.broadcast_to(draws[i], (6, 4000))))[i]
        assert stats.kstest(levels, "uniform").pvalue > 0.002
    np.testing.assert_array_equal(draws, mixture.sample(4000, random_state=0))


def test_rows_do_not_depend_on_each_other():
    mixture = random_mixture(6, n=20)
    y = np.linspace(-2, 2, 20)
    some = np.array([17, 3, 8])
    part = PredictiveMixture(mixture.weights[some], mixture.means[some], mixture.variances[some])
    np.testing.assert_array_equal(part.quantile([0.3, 0.9]), mixture.quantile([0.3, 0.9])[some])
    np.testing.assert_array_equal(part.crps(y[some]), mixture.crps(y)[some])
    np.testing.assert_array_equal(part.logpdf(y[some]), mixture.logpdf(y)[some])


def test_far_tails_of_the_density():
    mixture = PredictiveMixture([0.5, 0.5], [[0.0, 1.0]], [[1.0, 1.0]])
    # exp would underflow: -½ 1e10 from the nearer component.
    expected = np.log(0.5) + stats.norm.logpdf(1e5 - 1)
    np.testing.assert_allclose(mixture.logpdf(1e5), expected, rtol=1e-12)


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
        ([1.0], [[np.nan]], [[1.0]], "means must be finite"),
        ([1.0], [[1.0]], [[-1.0]], "variances"),
        ([1.0], [[1.0]], [[np.inf]], "variances"),
        ([0.5], [[1.0]], [[1.0]], "sum one"),
        ([1.5, -0.5], [[1.0, 1.0]], [[1.0, 1.0]], "negative"),
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
    for coverage in (0, 1, 1.5):
        with pytest.raises(ValueError, match="coverage"):
            mixture.interval(coverage)
    with pytest.raises(ValueError, match="y must be"):
        mixture.cdf(np.zeros(5))
    with pytest.raises(ValueError, match="y must be"):
        mixture.logpdf(np.zeros((5, 2)))
    with pytest.raises(ValueError, match="y must be"):
        mixture.crps(np.zeros((6, 2)))

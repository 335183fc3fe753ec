"""Laws of noise: against scipy's, against integrals, and on tables whose law is known."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import check_grad
from scipy.special import expit, logsumexp

from skbayesnn.gaussian_process import learned_noise
from skbayesnn.gaussian_process.learned_noise import (
    DEGREES,
    GATE_VARIANCE,
    Shape,
    _Rows,
    choose_law,
    loss_and_gradient,
    values_decide,
)
from skbayesnn.gaussian_process.noise import (
    Features,
    NoiseLaw,
    few_values,
    indicators,
)
from skbayesnn.gaussian_process.stand_ins import with_noise
from skbayesnn.gaussian_process.standard_noise import (
    MOST_SKEWED,
    Mixture,
    SkewT,
)
from skbayesnn.numerics.student_t import MASSES, student_variances
from skbayesnn.predictive import PredictiveMixture


@pytest.mark.parametrize("degrees", [2.0, 4.0, 15.0, np.inf])
def test_students_t_as_gaussians(degrees):
    y = np.array([0.0, 0.5, 1.0, 2.0, 5.0])
    law = stats.norm() if np.isinf(degrees) else stats.t(degrees)
    std = np.sqrt(student_variances(degrees))
    density = stats.norm.pdf(y[:, None], scale=std) @ MASSES
    np.testing.assert_allclose(density, law.pdf(y), rtol=0.07)
    tails = stats.norm.sf(np.array([3.0, 10.0])[:, None], scale=std) @ MASSES
    np.testing.assert_allclose(tails, law.sf([3.0, 10.0]), rtol=0.15, atol=2e-8)


def a_law(degrees=4.0, shift=0.0, skew=0.0, slopes=(-1.0,), surprise=(0.0, 1.0)):
    everything = Features(np.zeros(2), np.ones(2), np.full(2, -9.0), np.full(2, 9.0))
    family = SkewT(degrees, skewed=True)
    return NoiseLaw(everything, np.array(slopes), 0.0, family, np.array([shift, skew]), surprise)


@pytest.mark.parametrize("degrees", [2.0, 2.5, 5.0])
def test_mean_of_skewed_noise_is_that_of_the_capped_law(degrees):
    """With b v in place of b min(v, c), the mean would be infinite for two degrees of freedom."""
    law = a_law(degrees, shift=0.3, skew=-0.2, slopes=(0.0,))
    chances, shifts, _ = law.gaussians(np.zeros((1, 1)), np.zeros(1))
    inverse = stats.invgamma(degrees / 2, scale=degrees / 2)
    below = quad(lambda v: v * inverse.pdf(v), 0.0, MOST_SKEWED, limit=200)[0]
    expected = 0.3 - 0.2 * (below + MOST_SKEWED * inverse.sf(MOST_SKEWED))
    # Each level stands for a piece of the distribution of v.
    assert shifts[0] @ chances == pytest.approx(expected, abs=0.03)


def test_density_is_the_integral_over_function_and_precision():
    """A Student's t around a function that is not known: two integrals, done by quadrature."""
    law, spread, y = a_law(), 0.3, 0.8
    scale = np.exp(-0.5)

    def inner(f):
        return stats.t.pdf((y - f) / scale, 4.0) / scale * stats.norm.pdf(f, 0.1, np.sqrt(spread))

    expected = quad(inner, -6, 6)[0]
    logs = law.log_densities(np.zeros((1, 1)), np.array([y]), np.array([0.1]), np.array([spread]))
    np.testing.assert_allclose(logs, np.log(expected), atol=0.01)


@pytest.mark.parametrize("y", [0.2, 2.0, 8.0])
def test_precision_of_a_row_is_that_of_students_t(y):
    """E[p | residual] = (κ + 1) / (κ + r² / σ²) / σ², where the function is known."""
    law, squares = a_law(), np.exp(-1.0)
    targets, precisions = law.stand_ins(
        np.zeros((1, 1)), np.array([y]), np.zeros(1), np.full(1, 1e-12)
    )
    expected = 5.0 / (4.0 + y**2 / squares) / squares
    np.testing.assert_allclose(precisions, expected, rtol=0.12)
    assert targets == pytest.approx([y])


def test_stand_ins_have_the_expected_log_density():
    """E[log p(y | f, v)] over v given the row is quadratic in f, with this centre and precision."""
    law = a_law(3.0, shift=-0.8, skew=0.6, surprise=(0.01, 4.0))
    X, y, mean, spread = np.zeros((1, 1)), np.array([1.3]), np.array([0.2]), np.array([0.4])
    chances, shifts, variances = law.gaussians(X, mean)
    joint = chances * stats.norm.pdf(y, mean + shifts[0], np.sqrt(spread + variances[0]))
    chances = joint / joint.sum()
    f = np.array([-1.0, 0.0, 2.0])
    logs = stats.norm.logpdf(y[0], f[:, None] + shifts[0], np.sqrt(variances[0])) @ chances
    target, precision = (part[0] for part in law.stand_ins(X, y, mean, spread))
    quadratic = -0.5 * precision * (target - f) ** 2
    np.testing.assert_allclose(np.diff(logs), np.diff(quadratic), rtol=1e-10)


FAMILIES = {
    "student_t": (SkewT(5.0, skewed=True), [0.4, -0.3]),
    "two": (Mixture(2), [0.3, -0.2, -1.0, 0.8, -1.5, 0.2]),
    "three": (Mixture(3), [0.3, -0.2, 0.5, -1.0, 0.1, 0.8, -1.5, 0.2, -0.4]),
    "gated": (Mixture(2, n_gates=3), [0.3, -0.2, 0.9, 0.1, -0.6, 0.4, -1.0, 0.8, -1.5, 0.2]),
}


@pytest.mark.parametrize("n_slopes", [1, 3])
@pytest.mark.parametrize(("family", "parameters"), FAMILIES.values(), ids=FAMILIES)
def test_gradient(family, parameters, n_slopes):
    rng = np.random.default_rng(0)
    design = np.column_stack([np.ones(30), rng.normal(size=(30, 2))])
    data = rng.standard_t(3, 30), rng.uniform(0.1, 0.5, 30), rng.integers(1, 4, 30).astype(float)
    theta = np.array([*[-0.5, 0.3, -0.2][:n_slopes], *parameters])
    shape = Shape(np.array([0.0, 4.0, 4.0])[:n_slopes], family, theta, 0.01)
    given = shape, design, (0.02, 3.0), *data
    error = check_grad(
        lambda t: loss_and_gradient(t, *given)[0], lambda t: loss_and_gradient(t, *given)[1], theta
    )
    assert error < 1e-4


def test_what_has_no_prior_variance_does_not_move(rng):
    data, theta = (rng.normal(size=30), np.ones(30), np.ones(30)), np.array([0.2, 0.0, 0.0])
    shape = Shape(np.zeros(1), SkewT(5.0), theta, 0.01)
    given = shape, np.ones((30, 1)), (0.02, 3.0), *data
    assert (loss_and_gradient(theta, *given)[1][1:] == 0).all()


def test_density_of_a_mixture_is_that_of_its_gaussians(rng):
    """σ² = e⁻¹, and a function that is known up to a variance of 0.3."""
    parameters = np.array([np.log(3.0), 0.0, -1.0, 0.5, np.log(0.2), np.log(2.0)])
    law = replace(a_law(), family=Mixture(2), parameters=parameters)
    y, square = rng.normal(size=7), np.exp(-1.0)
    moments = [(-1.0, 0.2), (0.5, 2.0)]
    parts = [
        stats.norm.pdf(y, 0.1 + np.sqrt(square) * shift, np.sqrt(0.3 + square * v))
        for shift, v in moments
    ]
    found = law.log_densities(np.zeros((7, 1)), y, np.full(7, 0.1), np.full(7, 0.3))
    np.testing.assert_allclose(found, np.log(0.75 * parts[0] + 0.25 * parts[1]))


def a_gated_law():
    """Two narrow modes at 1 and −1 times e^(−1/2), the first with probability expit(3 x)."""
    parameters = np.array([0.0, 0.0, 3.0, 0.0, *np.zeros(6), 1.0, -1.0, np.log(0.1), np.log(0.1)])
    return replace(a_law(surprise=(0.02, 4.0)), family=Mixture(2, n_gates=5), parameters=parameters)


def test_shares_of_gaussians_depend_on_inputs(rng):
    law, X, y = a_gated_law(), rng.normal(size=(9, 1)), rng.normal(size=9)
    share, square = expit(3.0 * X[:, 0]), np.exp(-1.0)
    parts = [
        stats.norm.pdf(y, 0.1 + sign * np.sqrt(square), np.sqrt(0.3 + 0.1 * square))
        for sign in (1.0, -1.0)
    ]
    known = 0.98 * (share * parts[0] + (1.0 - share) * parts[1])
    known += 0.02 * stats.norm.pdf(y, 0.1, np.sqrt(4.3))
    moments = np.full(9, 0.1), np.full(9, 0.3)
    np.testing.assert_allclose(law.log_densities(X, y, *moments), np.log(known))
    variances = np.stack([np.full(9, 0.2), np.full(9, 0.4)])
    functions = np.stack([np.full(9, -0.2), np.full(9, 0.3)])
    mixture = PredictiveMixture(*with_noise(law, X, moments[0], functions, variances))
    each = [law.log_densities(X, y, *pair) for pair in zip(functions, variances, strict=True)]
    np.testing.assert_allclose(mixture.logpdf(y), logsumexp(each, axis=0) - np.log(2.0))


def test_draws_have_the_shares_and_the_variance_of_their_rows(rng):
    law, X = a_gated_law(), np.array([[-1.0], [0.0], [0.3]])
    draws = law.sample(X, np.zeros(3), 40_000, rng)
    expected = 0.98 * expit(3.0 * X[:, 0]) + 0.01
    # Standard errors are at most 0.0025; a part of 8e-4 of each mode is beyond zero.
    np.testing.assert_allclose((draws > 0).mean(axis=1), expected, atol=0.01)
    np.testing.assert_allclose(draws.var(axis=1), law.mean_variances(X, np.zeros(3)), rtol=0.06)


@pytest.mark.parametrize("n_inputs", [1, 3, 20])
def test_prior_variance_of_a_logit_does_not_grow_with_the_inputs(n_inputs, rng):
    X = rng.normal(size=(4000, n_inputs))
    y = X[:, 0] + rng.choice([-1.0, 1.0], 4000)
    rows = _Rows(X, y, X[:, 0], np.full(4000, 0.01), np.ones(4000), 0.0)
    _, shape, *_ = rows.mixtures(rows.gaussian)
    assert shape.family.n_gates == rows.features.n_smooth
    ridges = shape.family.ridges()[:-4].reshape(-1, 2)[1:, 0]
    slopes = rng.normal(size=(4000, len(ridges))) / np.sqrt(ridges)
    logits = np.einsum("ni,ni->n", rows.design[:, 1:], slopes)
    # The first input and the mean are the same. The standard error of the variance is some 4 %.
    assert logits.var() == pytest.approx(GATE_VARIANCE, rel=0.15)


@pytest.mark.parametrize("seed", range(3))
def test_modes_whose_shares_an_input_decides_are_found(seed):
    def noise(rng, X, f):
        upper = rng.random(len(X)) < expit(3.0 * X[:, 0])
        return np.where(upper, 1.0, -1.0) + 0.2 * rng.normal(size=len(X))

    law = choose_law(*table(300, noise, seed))[0]
    X, y, means, spreads, _ = table(3000, noise, seed + 10)
    share = expit(3.0 * X[:, 0])
    chances, shifts, _ = law.gaussians(X, means)
    upper = (chances * (shifts > 0)).sum(axis=1)
    assert np.abs(upper - share).mean() < 0.08
    std = np.sqrt(0.04 + spreads)
    parts = [stats.norm.pdf(y, means + sign, std) for sign in (1.0, -1.0)]
    truth = np.log(share * parts[0] + (1.0 - share) * parts[1])
    # Some twenty parameters of 300 rows cost about half a nat each: 0.03 nats a row.
    assert (truth - law.log_densities(X, y, means, spreads)).mean() < 0.12


@pytest.mark.parametrize("seed", range(3))
def test_shares_that_depend_on_nothing_have_no_gates(seed):
    def noise(rng, X, f):
        return rng.choice([-1.0, 1.0], len(X)) + 0.2 * rng.normal(size=len(X))

    law = choose_law(*table(300, noise, seed))[0]
    assert isinstance(law.family, Mixture)
    assert law.family.n_gates == 1


def test_left_out_rows_are_forgotten(monkeypatch):
    """A law of many parameters begins with what all rows taught it, and needs time to unlearn."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 20))
    y = X[:, 0] + 0.3 * rng.normal(size=800)
    rows = _Rows(X, y, X[:, 0], np.full(800, 0.01), np.ones(800), 0.0)
    *_, shape = rows.mixtures(rows.gaussian)
    assert shape.family.n_gates == 43
    enough = rows.left_out(shape).sum()
    found = {}
    for iterations in (15, 1000):
        monkeypatch.setattr(learned_noise, "MIXTURE_ITERATIONS", iterations)
        found[iterations] = rows.left_out(shape).sum()
    assert found[15] - found[1000] > 5.0
    assert abs(enough - found[1000]) < 2.0


def table(n, noise, seed=0):
    """Rows whose function is known but for a little, and residuals of a law."""
    rng = np.random.default_rng(seed)
    X, f = rng.normal(size=(n, 2)), rng.normal(size=n)
    spreads = np.full(n, 0.01)
    y = f + noise(rng, X, f)
    return X, y, f + 0.1 * rng.normal(size=n), spreads, np.ones(n)


@pytest.mark.parametrize("seed", range(5))
def test_gaussian_noise_is_left_alone(seed):
    law, _, variance = choose_law(*table(400, lambda rng, X, f: 0.5 * rng.normal(size=400), seed))
    assert law is None or law.family.degrees >= 10
    assert variance == pytest.approx(0.25, rel=0.2)


def test_scale_and_degrees_of_freedom_are_found():
    def noise(rng, X, f):
        return np.exp(-1.0 + 0.5 * X[:, 0] - 0.3 * f) * rng.standard_t(4, len(X))

    X, y, means, spreads, weights = table(1500, noise)
    law, _, _ = choose_law(X, y, means, spreads, weights)
    assert len(law.slopes) > 1
    assert 3.0 <= law.family.degrees <= 5.0
    truth = -2.0 + X[:, 0] - 0.6 * means
    error = np.log(law.variances(X, means)) - truth
    assert np.abs(error.mean()) < 0.2
    assert error.std() < 0.25


def by_code(n, seed, sizes):
    """Rows whose first input is the code of a category, which decides the size of the noise."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, len(sizes), n).astype(float)
    X = np.column_stack([codes, rng.normal(size=n)])
    noise = np.asarray(sizes)[codes.astype(int)] * rng.normal(size=n)
    return X, noise, np.zeros(n), np.full(n, 1e-4), np.ones(n)


@pytest.mark.parametrize("seed", range(5))
def test_codes_of_a_category_have_noise_of_their_own(seed):
    """Of no order: neither the code nor its square says where the noise is large."""
    sizes = np.array([0.05, 1.0, 0.05, 1.0, 0.2])
    rows = by_code(300, seed, sizes)
    law, _, _ = choose_law(*rows)
    assert list(values_decide(*rows)) == [0]
    new, zeros = np.column_stack([np.arange(5.0), np.zeros(5)]), np.zeros(5)
    # 60 rows a code: the log variance is known to about √(2/60) = .18, and the prior draws it in.
    np.testing.assert_allclose(np.log(law.variances(new, zeros)), 2 * np.log(sizes), atol=0.9)
    # A new value has the noise of the nearest one that is known.
    at = law.variances(new + np.array([0.4, 0.0]), zeros) / law.variances(new, zeros)
    assert np.ptp(np.log(at[:4])) < 0.5


@pytest.mark.parametrize("seed", range(5))
def test_codes_of_a_category_stay_out_of_noise_that_is_alike(seed):
    rows = by_code(300, seed, np.full(5, 0.3))
    law, _, _ = choose_law(*rows)
    assert law is None or len(law.slopes) == 1
    assert values_decide(*rows) == {}


def test_indicators_are_those_of_the_nearest_value():
    X = np.column_stack([[3.0, 1.0, 0.0, 5.0], [0.0, 1.0, 0.0, 1.0], np.arange(4.0)])
    values = few_values(X)
    assert list(values) == [0, 2]
    # Beyond all of them, between two, and one of them.
    new = np.array([[-9.0, 0.0, 1.4], [2.1, 0.0, 2.6], [5.0, 1.0, 9.0]])
    expected = [[1, 0, 0, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0, 0, 1]]
    np.testing.assert_array_equal(indicators(new, values), expected)
    assert indicators(new, {}).shape == (3, 0)


def test_degrees_of_freedom_are_looked_for_on_both_sides(monkeypatch):
    """The profile has a valley on either side of where the search begins, and one is deeper."""
    rows = _Rows(*table(100, lambda rng, X, f: rng.standard_t(4, 100)), 0.0)
    start = rows.begin(np.zeros(1))
    for best in (3.0, 10.0):
        losses = dict.fromkeys(DEGREES, 9.0) | {2.5: 7.0, 3.0: 4.0, 4.0: 5.0, 5.0: 6.0}
        losses |= {7.0: 5.0, 10.0: 4.0, best: 1.0}
        monkeypatch.setattr(
            rows, "fitted", lambda shape, of=losses: (shape, of[shape.family.degrees])
        )
        assert rows.learn(start).family.degrees == best


def test_skewness_is_found():
    law, _, _ = choose_law(*table(600, lambda rng, X, f: rng.gamma(1.5, 0.5, 600) - 0.75))
    assert law.family.skewed
    assert law.parameters[1] > 0.5
    X, y, means, spreads, _ = table(600, lambda rng, X, f: rng.gamma(1.5, 0.5, 600) - 0.75, 1)
    gaussian = stats.norm.logpdf(y, means, np.sqrt(0.01 + 0.375)).mean()
    assert law.log_densities(X, y, means, spreads).mean() > gaussian + 0.1


SHAPES = {
    "two modes": lambda rng, n: rng.choice([-1.0, 1.0], n) + 0.2 * rng.normal(size=n),
    "two scales": lambda rng, n: rng.choice([0.05, 1.0], n) * rng.normal(size=n),
    "mostly zero": lambda rng, n: rng.choice([0.0, 1.0], n) * rng.exponential(1.0, n),
}


@pytest.mark.parametrize("noise", SHAPES.values(), ids=SHAPES)
def test_noise_that_no_students_t_resembles_is_a_mixture(noise):
    X, y, means, spreads, weights = table(300, lambda rng, X, f: noise(rng, 300))
    law, _, _ = choose_law(X, y, means, spreads, weights)
    assert isinstance(law.family, Mixture)
    t, _, _ = choose_law(X, y, means, spreads, weights, gaussian=False)
    assert isinstance(t.family, SkewT)
    X, y, means, spreads, _ = table(3000, lambda rng, X, f: noise(rng, 3000), 1)
    gain = law.log_densities(X, y, means, spreads) - t.log_densities(X, y, means, spreads)
    assert gain.mean() > 0.05
    # Of 300 rows, a share is known to 0.03, and 3000 say what it is.
    drawn = means + law.sample(X, means, 1, np.random.default_rng(2))[:, 0]
    for level in (0.05, 0.25, 0.75, 0.95):
        limit = np.quantile(y - means, level)
        assert np.mean(drawn - means < limit) == pytest.approx(level, abs=0.08)


def test_a_mixture_has_to_lead_by_two_standard_errors_but_once():
    """Noise that is nearly uniform: a mixture leads by less, and is kept if there was one."""
    rows = table(200, lambda rng, X, f: rng.uniform(-1, 1, 200), 3)
    law, _, _ = choose_law(*rows, gaussian=True)
    assert law is None or isinstance(law.family, SkewT)
    before = replace(a_law(), family=Mixture(2))
    again, _, _ = choose_law(*rows, gaussian=True, before=before)
    assert isinstance(again.family, Mixture)


def test_no_gaussian_of_a_mixture_is_narrower_than_the_unit_of_rounding():
    """Else it would follow the lattice of the targets, which are heaped and have heavy tails."""
    rng = np.random.default_rng(0)
    means = rng.uniform(-3, 3, 300)
    y = np.round(
        means + rng.choice([-1.0, 1.0], 300) + rng.choice([0.1, 2.0], 300) * rng.normal(size=300)
    )
    rows = _Rows(rng.normal(size=(300, 1)), y, means, np.full(300, 0.01), np.ones(300), 1.0 / 12.0)
    assert rows.narrowest == pytest.approx(min(0.0, -np.log(rows.variance)))
    for shape in rows.mixtures(next(rows.shapes())):
        low = shape.family.bounds[-1][0]
        assert low == rows.narrowest
        assert (shape.parts()[1][-shape.family.size :] >= low).all()
    assert _Rows(*table(50, lambda rng, X, f: rng.normal(size=50)), 0.0).narrowest == -np.inf


def test_weights_are_repeated_rows():
    X, y, means, spreads, _ = table(90, lambda rng, X, f: 0.3 * rng.standard_t(2, 90))
    counts = np.arange(90) % 3 + 1
    again = np.repeat(np.arange(90), counts)
    weighted = choose_law(X, y, means, spreads, counts.astype(float))[0]
    repeated = choose_law(X[again], y[again], means[again], spreads[again], np.ones(len(again)))[0]
    assert weighted.family == repeated.family
    np.testing.assert_allclose(weighted.slopes, repeated.slopes, rtol=1e-4)


def test_errors_of_a_constant_function_do_not_depend_on_its_mean():
    """Left out, the mean moves away from the target: its square tells how large the error is."""
    rng = np.random.default_rng(0)
    X, y, ones = rng.normal(size=(230, 3)), rng.normal(size=230), np.ones(230)
    means = (y.sum() - y) / 229
    for gaussian in (True, False):
        law = choose_law(X, y, means, np.full(230, 1 / 229), ones, gaussian=gaussian)[0]
        assert (law is None) == gaussian
    sizes = law.mean_variances(X, means)
    np.testing.assert_allclose(sizes, y.var(), rtol=0.3)


def test_a_constant_target_has_no_law():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    for gaussian in (True, False):
        law = choose_law(
            X, np.ones(40), np.ones(40), np.full(40, 1e-12), np.ones(40), gaussian=gaussian
        )[0]
        assert law is None


def test_the_best_factor_is_that_of_the_noise(rng):
    X, means = rng.normal(size=(4000, 1)), np.zeros(4000)
    law = a_law(slopes=(-1.0, 0.5, 0.0, 0.1, 0.0))
    for factor in (0.4, 3.0):
        noise = law.scaled(factor).sample(X, means, 1, rng)[:, 0]
        # The log of a Student's scale is known to about √(2 (1 + 3/κ) / n) = 0.03.
        found = law.best_factor(X, noise, means, np.zeros(4000), np.ones(4000))
        assert found == pytest.approx(factor, rel=0.12)


def test_features_of_normal_inputs_are_uncorrelated_with_unit_variance(rng):
    X, means = 5.0 + 2.0 * rng.normal(size=(200_000, 2)), 0.1 * rng.normal(size=200_000)
    features = Features.of(X, means, np.ones(200_000))
    values = features(X, means)
    # Fourth moments of the squares: standard errors are below 0.02.
    np.testing.assert_allclose(values.T @ values / len(values), np.eye(7), atol=0.05)


@pytest.mark.parametrize("seed", range(3))
def test_few_far_rows_do_not_let_the_scale_explode(seed):
    """Without a limit on features, the variance exceeds all squares with seeds 0 and 2."""
    rng = np.random.default_rng(seed)
    X, new = np.exp(1.2 * rng.standard_normal((2, 300, 3)))
    gaps, zeros = rng.standard_normal(300) * np.sqrt(0.1 * X[:, 0]), np.zeros(300)
    law = choose_law(X, gaps, zeros, zeros + 1e-3, np.ones(300))[0]
    assert len(law.slopes) > 1
    assert replace(law, ceiling=np.inf).variances(new, zeros).max() < (gaps**2).max()


def test_no_variance_is_larger_than_the_largest_squared_error():
    """A few outliers near each other, and the quadratic log variance exceeds it beside them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    means, gaps = X[:, 0].copy(), 0.03 * rng.normal(size=400)
    far = rng.permutation(400)[:6]
    means[far], gaps[far] = rng.uniform(2, 8, 6), 10.0 * rng.choice([-1, 1], 6)
    law = choose_law(X, means + gaps, means, np.full(400, 1e-4), np.ones(400))[0]
    assert len(law.slopes) > 1
    everywhere = np.stack(np.meshgrid(*[np.linspace(-4, 4, 9)] * 3), axis=-1).reshape(-1, 3)
    for mean in (0.0, 3.0, 6.0, 9.0):
        largest = law.variances(everywhere, np.full(len(everywhere), mean)).max()
        assert largest <= (gaps**2).max() * (1 + 1e-12)
    factor = law.scaled(2.0)
    np.testing.assert_allclose(
        factor.variances(everywhere, everywhere[:, 0]),
        2.0 * law.variances(everywhere, everywhere[:, 0]),
    )

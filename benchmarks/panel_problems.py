"""Regression problems of known truth: each of a kind that users have.

A problem is a function of a generator and a number of rows. It draws its own function, inputs for
training and for testing, and returns them with the law of y given inputs; ``panel.draw`` draws the
targets. What the kinds are is in the names and in the docstrings.
"""

from typing import NamedTuple

import numpy as np
from panel_laws import Counts, Exact, Law, Mixture, Rounded, gaussian
from scipy import stats

N_TEST = 1000
"""Test rows: the coverage of a 90 % interval is then known to one percent."""

SIZES = ("small", "medium", "large")


class Setting(NamedTuple):
    """Inputs, and the law of y as a function of inputs.

    ``rows``, where given, are those of X that training sees, repeats among them.
    """

    X: np.ndarray
    X_test: np.ndarray
    law: object
    rows: np.ndarray | None = None


class Kind(NamedTuple):
    """A problem's function, the sizes that it has, and whether its noise is one Gaussian."""

    setting: object
    sizes: tuple
    gaussian: bool = False
    smooth: bool = False


REGRESSION = {}


def problem(*, gaussian=False, smooth=False, sizes=SIZES):
    """Enter a problem into the panel, under its name with blanks."""

    def enter(function):
        name = function.__name__.replace("_", " ")
        REGRESSION[name] = Kind(function, sizes, gaussian, smooth)
        return function

    return enter


def waves(rng, n_features, frequency=1.0, n_waves=4):
    """A smooth function of about unit variance: sines along random directions."""
    directions = frequency * rng.standard_normal((n_features, n_waves)) / np.sqrt(n_features)
    directions *= 1.5
    phases = rng.uniform(0, 2 * np.pi, n_waves)
    heights = rng.standard_normal(n_waves)
    heights *= np.sqrt(2) / np.linalg.norm(heights)
    return lambda X: np.sin(X @ directions + phases) @ heights


def normal_inputs(rng, n, n_features):
    """Training and test inputs of one law, standard normal."""
    return rng.standard_normal((n, n_features)), rng.standard_normal((N_TEST, n_features))


def uniform_inputs(rng, n, n_features, low=-2.0, high=2.0):
    """Training and test inputs of one law, uniform."""
    return rng.uniform(low, high, (n, n_features)), rng.uniform(low, high, (N_TEST, n_features))


@problem(gaussian=True, smooth=True)
def smooth(rng, n):
    """Two inputs."""
    f = waves(rng, 2)
    return Setting(*normal_inputs(rng, n, 2), lambda X: gaussian(f(X), 0.2))


@problem(gaussian=True, smooth=True)
def wiggly(rng, n):
    """One input, some ten turns."""
    f = waves(rng, 1, 4.0)
    return Setting(*uniform_inputs(rng, n, 1), lambda X: gaussian(f(X), 0.2))


@problem(gaussian=True, smooth=True)
def linear(rng, n):
    """Five inputs, all of which matter."""
    slopes = rng.standard_normal(5)
    return Setting(*normal_inputs(rng, n, 5), lambda X: gaussian(X @ slopes, 0.5))


@problem(gaussian=True, smooth=True)
def friedman(rng, n):
    """Friedman's first function: five of ten uniform inputs matter."""

    def f(X):
        bent = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
        return bent + 10 * X[:, 3] + 5 * X[:, 4]

    return Setting(*uniform_inputs(rng, n, 10, 0.0, 1.0), lambda X: gaussian(f(X), 1.0))


@problem(gaussian=True)
def three_jumps(rng, n):
    """One input, flat between jumps."""
    places, heights = np.sort(rng.uniform(-1.8, 1.8, 3)), rng.normal(0, 2, 3)
    return Setting(
        *uniform_inputs(rng, n, 1),
        lambda X: gaussian((places < X) @ heights, 0.25),
    )


@problem(gaussian=True)
def axis_steps(rng, n):
    """Two inputs, a step along each."""
    places, heights = rng.uniform(-1, 1, 2), rng.choice([-1, 1], 2) * rng.uniform(1, 2, 2)
    return Setting(
        *uniform_inputs(rng, n, 2),
        lambda X: gaussian((places < X) @ heights, 0.2),
    )


@problem(gaussian=True)
def oblique_step(rng, n):
    """Three inputs, a step across them all."""
    normal, place = rng.standard_normal(3), rng.normal(0, 0.5)
    normal /= np.linalg.norm(normal)
    return Setting(
        *normal_inputs(rng, n, 3),
        lambda X: gaussian(2.0 * (X @ normal > place), 0.2),
    )


@problem(gaussian=True)
def binary_inputs(rng, n):
    """Six inputs that are 0 or 1, two of them together; no two rows need to differ."""
    slopes, pair = rng.standard_normal(6), 1.5 * rng.standard_normal()
    X, X_test = (rng.integers(0, 2, (m, 6)).astype(float) for m in (n, N_TEST))
    return Setting(X, X_test, lambda X: gaussian(X @ slopes + pair * X[:, 0] * X[:, 1], 0.5))


@problem(gaussian=True, smooth=True)
def pure_noise(rng, n):
    """Three inputs, none of which matters."""
    return Setting(*normal_inputs(rng, n, 3), lambda X: gaussian(np.full(len(X), 5.0), 1.0))


@problem()
def noise_by_input(rng, n):
    """The standard deviation grows tenfold along the first of two inputs."""
    f = waves(rng, 2)
    return Setting(
        *uniform_inputs(rng, n, 2),
        lambda X: gaussian(f(X), 0.3 * np.exp(0.6 * X[:, 0])),
    )


@problem()
def heavy_tails(rng, n):
    """Student noise with two degrees of freedom: no variance."""
    f = waves(rng, 2)
    return Setting(*normal_inputs(rng, n, 2), lambda X: Law(stats.t(2, f(X), 0.3), len(X)))


@problem()
def outliers(rng, n):
    """One row in twenty has fifteen times the noise."""
    f = waves(rng, 2)
    return Setting(
        *normal_inputs(rng, n, 2),
        lambda X: Mixture(
            [0.95, 0.05], np.tile(f(X)[:, None], 2), np.tile([0.2, 3.0], (len(X), 1))
        ),
    )


@problem()
def skewed(rng, n):
    """Gamma noise, skewness 1.6."""
    f = waves(rng, 2)
    return Setting(*normal_inputs(rng, n, 2), lambda X: Law(stats.gamma(1.5, f(X), 0.5), len(X)))


@problem()
def positive(rng, n):
    """Log-normal: positive, and the more spread the larger."""
    f = waves(rng, 2)
    return Setting(
        *normal_inputs(rng, n, 2), lambda X: Law(stats.lognorm(0.5, 0, np.exp(f(X))), len(X))
    )


@problem()
def counts(rng, n):
    """Poisson with means from 0.4 to 20."""
    f = waves(rng, 2)
    return Setting(*normal_inputs(rng, n, 2), lambda X: Counts(np.exp(1.0 + f(X))))


@problem()
def rounded(rng, n):
    """Targets in halves, inputs in fifths: ties in both."""
    f = waves(rng, 2)
    X, X_test = (np.round(5 * Z) / 5 for Z in normal_inputs(rng, n, 2))
    return Setting(X, X_test, lambda X: Rounded(f(X), 0.4, 0.5))


@problem()
def two_modes(rng, n):
    """Two branches, each with probability one half."""
    f, apart = waves(rng, 1), 1.5

    def law(X):
        means = f(X)[:, None] + apart * np.cos(X) * [1.0, -1.0]
        return Mixture([0.5, 0.5], means, np.full(means.shape, 0.3))

    return Setting(*uniform_inputs(rng, n, 1), law)


@problem()
def no_noise(rng, n):
    """The function itself, two inputs."""
    f = waves(rng, 2)
    return Setting(*normal_inputs(rng, n, 2), lambda X: Exact(f(X)))


@problem(gaussian=True, smooth=True)
def many_inputs(rng, n):
    """A hundred inputs, of which two matter."""
    f, chosen = waves(rng, 2), rng.choice(100, 2, replace=False)
    return Setting(*normal_inputs(rng, n, 100), lambda X: gaussian(f(X[:, chosen]), 0.3))


@problem(gaussian=True, smooth=True, sizes=("small", "medium"))
def more_inputs_than_rows(rng, n):
    """Half as many again; three matter, linearly. None large: thousands of inputs."""
    n_features = 3 * n // 2
    slopes = np.zeros(n_features)
    slopes[rng.choice(n_features, 3, replace=False)] = rng.choice([-1, 1], 3)
    return Setting(*normal_inputs(rng, n, n_features), lambda X: gaussian(X @ slopes, 0.3))


@problem(gaussian=True, smooth=True)
def collinear(rng, n):
    """Eight inputs made of two, without noise."""
    f, mix = waves(rng, 2), rng.standard_normal((2, 6))
    X, X_test = (np.column_stack([Z, Z @ mix]) for Z in normal_inputs(rng, n, 2))
    return Setting(X, X_test, lambda X: gaussian(f(X[:, :2]), 0.2))


@problem(gaussian=True, smooth=True)
def constant_columns(rng, n):
    """Two inputs between columns of zeros and of thousands."""
    f = waves(rng, 2)
    X, X_test = (
        np.column_stack([np.zeros(len(Z)), Z, np.full(len(Z), 1000.0)])
        for Z in normal_inputs(rng, n, 2)
    )
    return Setting(X, X_test, lambda X: gaussian(f(X[:, 1:3]), 0.2))


@problem(gaussian=True, smooth=True)
def inputs_of_many_scales(rng, n):
    """Three inputs, of scale 1e-4, 1 and 1e5, far from zero."""
    f, scales, offset = waves(rng, 3), np.array([1e-4, 1.0, 1e5]), np.array([1.0, -5.0, 3e6])
    X, X_test = (offset + scales * Z for Z in normal_inputs(rng, n, 3))
    return Setting(X, X_test, lambda X: gaussian(f((X - offset) / scales), 0.2))


@problem(gaussian=True, smooth=True)
def gap(rng, n):
    """One input, none of it in (-1, 1), where the test rows are."""
    f = waves(rng, 1)
    X = rng.uniform(1, 3, (n, 1)) * rng.choice([-1, 1], (n, 1))
    return Setting(X, rng.uniform(-1, 1, (N_TEST, 1)), lambda X: gaussian(f(X), 0.2))


@problem(gaussian=True, smooth=True)
def beyond(rng, n):
    """One input; test rows lie up to a half range outside."""
    f = waves(rng, 1)
    X_test = rng.uniform(2, 4, (N_TEST, 1)) * rng.choice([-1, 1], (N_TEST, 1))
    return Setting(rng.uniform(-2, 2, (n, 1)), X_test, lambda X: gaussian(f(X), 0.2))


@problem(gaussian=True, smooth=True)
def duplicated_rows(rng, n):
    """Every row is in the table three times, its target included."""
    f = waves(rng, 2)
    rows = rng.permutation(np.repeat(np.arange(max(n // 3, 2)), 3))
    X, X_test = normal_inputs(rng, max(n // 3, 2), 2)
    return Setting(X, X_test, lambda X: gaussian(f(X), 0.2), rows)


@problem()
def ratings(rng, n):
    """Whole numbers from four inputs of two to five values: many rows share all inputs."""
    slopes = rng.standard_normal(4)
    pair, levels = rng.standard_normal(), np.array([2, 3, 4, 5])
    X, X_test = (rng.integers(0, levels, (m, 4)) / (levels - 1.0) for m in (n, N_TEST))
    return Setting(
        X, X_test, lambda X: Rounded(5.0 + X @ slopes + pair * X[:, 0] * X[:, 3], 1.5, 1.0)
    )


@problem(gaussian=True, smooth=True)
def repeated_inputs(rng, n):
    """Three targets, each with noise of its own, for all inputs; test rows have the same inputs."""
    f, X = waves(rng, 2), rng.standard_normal((max(n // 3, 2), 2))
    X_test = X[rng.integers(0, len(X), N_TEST)]
    return Setting(np.tile(X, (3, 1)), X_test, lambda X: gaussian(f(X), 0.2))


@problem(gaussian=True, smooth=True)
def targets_in_millions(rng, n):
    """Scale 1e6, two inputs."""
    f = waves(rng, 2)
    return Setting(*normal_inputs(rng, n, 2), lambda X: gaussian(1e6 * (3 + f(X)), 2e5))


@problem(gaussian=True, smooth=True)
def targets_in_millionths(rng, n):
    """Scale 1e-6, two inputs."""
    f = waves(rng, 2)
    return Setting(*normal_inputs(rng, n, 2), lambda X: gaussian(1e-6 * (3 + f(X)), 2e-7))

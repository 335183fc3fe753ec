"""Noise with tails, with skewness, and with a scale that depends on the inputs.

What a function f(x) leaves of a target is

    y − f(x) = σ(x) ε,    ε given v ~ N(shift(v), v),

where v has finitely many values: those by which Student's t is a mixture of Gaussians
(:mod:`skbayesnn.numerics.student_t`), with shifts a + b min(v, c) that make it skewed, or those of
a mixture of two or three (:mod:`skbayesnn.gaussian_process.standard_noise`). The skew t is the
generalised hyperbolic one, but for c = 100: its mean and variance would be infinite for few degrees
of freedom. The variance σ²(x) is the exponential of a linear function of the inputs, the predicted
mean, the squares of all these, and indicators of the values of inputs that have few, above a floor.
The probabilities of a mixture may depend on the same features.

Given v everything is Gaussian. So a row with such noise is, in expectation over v given its
residual, one with Gaussian noise of its own variance around a target of its own:

    E[(y − f − σ shift(v))² / (σ² v)] = E[1/v] (y* − f)² / σ² + constant,
    y* = y − σ E[shift(v)/v] / E[1/v].
"""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import minimize_scalar

from skbayesnn._validation import location_and_scale
from skbayesnn.gaussian_process.evidence import LOG_2PI
from skbayesnn.gaussian_process.standard_noise import Mixture, SkewT

LARGEST = 4.0
"""Limit of standardised inputs and means in the features. Without it, a few rows far from all
others would have squares of a hundred and more, and the variance is an exponential function of
these."""

FEWEST_VALUES, MOST_VALUES = 4, 12
"""Distinct values of an input that are indicated: up to the months of a year. What an input of
three values does to the log variance, its square says with it."""


@dataclass(frozen=True)
class Features:
    """What the log variance is linear in.

    Attributes
    ----------
    offset, scale, low, high : ndarray of shape (n_inputs + 1,)
        Of the inputs and the predicted mean: they are not let out of the range that they have among
        the rows, and standardised, up to :data:`LARGEST`.
    values : dict of int to ndarray
        Inputs that have few values, with these. A new row has the nearest one.
    """

    offset: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    values: dict = field(default_factory=dict)

    @classmethod
    def of(cls, X, means, weights, least_spread=0.0):
        """The features of these rows; means of a smaller deviation than this say nothing."""
        columns = np.column_stack([X, means])
        offset, scale = location_and_scale(columns, "X", weights)
        if scale[-1] < least_spread:
            scale[-1] = np.inf
        return cls(offset, scale, columns.min(axis=0), columns.max(axis=0), few_values(X))

    @property
    def n_smooth(self):
        """Number of features that are no indicators."""
        return 1 + 2 * len(self.offset)

    def __call__(self, X, means, n_features=None):
        """The first features, (n, n_features), or all: one, the others, and the indicators."""
        ones = np.ones((len(means), 1))
        if n_features == 1:
            return ones
        columns = np.clip(np.column_stack([X, means]), self.low, self.high)
        columns = np.clip((columns - self.offset) / self.scale, -LARGEST, LARGEST)
        features = [ones, columns, (columns**2 - 1.0) / np.sqrt(2.0)]
        if n_features != self.n_smooth:
            features.append(indicators(X, self.values))
        return np.hstack(features)


def few_values(X):
    """Inputs that have few values, each with its sorted values: a dict of int to ndarray."""
    values = ((j, np.unique(x)) for j, x in enumerate(X.T))
    return {j: each for j, each in values if FEWEST_VALUES <= len(each) <= MOST_VALUES}


def indicators(X, values):
    """Of the nearest value that each input has in this dict, (n, total number of values)."""
    columns = [np.empty((len(X), 0))]
    for j, known in values.items():
        nearest = np.searchsorted(0.5 * (known[1:] + known[:-1]), X[:, j])
        columns.append(np.equal.outer(nearest, np.arange(len(known))) * 1.0)
    return np.hstack(columns)


@dataclass(frozen=True)
class NoiseLaw:
    """A law of the noise, learned from rows that were left out.

    Attributes
    ----------
    features : Features
    slopes : ndarray of shape (n_features,)
        Of the log variance.
    floor : float
        Of the variance.
    family : SkewT or Mixture
        Of the standardised noise.
    parameters : ndarray of shape (n_parameters,)
        Of the family.
    surprise : tuple of two floats
        Probability and variance of one more Gaussian, which does not depend on the inputs.
    ceiling : float, default=inf
        Of the variance. A log variance that is quadratic in the inputs can be far beyond all that
        rows have shown where there are hardly any.
    """

    features: Features
    slopes: np.ndarray
    floor: float
    family: SkewT | Mixture
    parameters: np.ndarray
    surprise: tuple
    ceiling: float = np.inf

    def variances(self, X, means):
        """σ² at rows whose predicted means are known.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
        means : ndarray of shape (n,)

        Returns
        -------
        variances : ndarray of shape (n,)
        """
        return self._variances(self._design(X, means))

    def _design(self, X, means):
        return self.features(X, means, max(len(self.slopes), self.family.n_gates))

    def _variances(self, design):
        own = np.exp(design[:, : len(self.slopes)] @ self.slopes)
        return np.minimum(self.floor + own, self.ceiling)

    def scaled(self, factor):
        """The law of this noise times the root of a factor."""
        slopes = self.slopes.copy()
        slopes[0] += np.log(factor)
        chance, variance = self.surprise
        return replace(
            self, slopes=slopes, floor=factor * self.floor, surprise=(chance, factor * variance),
            ceiling=factor * self.ceiling,
        )  # fmt: skip

    def gaussians(self, X, means):
        """The law as Gaussians.

        Returns
        -------
        chances : ndarray of shape (K + 1,) or (n, K + 1)
        shifts, variances : ndarray of shape (n, K + 1)
        """
        design = self._design(X, means)
        components = self.family.components(self.parameters, design)
        return gaussians_of(self._variances(design), components, self.surprise)

    def sample(self, X, means, n_samples, generator):
        """Independent draws of the noise, (n, n_samples); parameters as above."""
        chances, shifts, variances = self.gaussians(X, means)
        uniform, which = generator.random((len(X), n_samples)), 0
        for limits in np.atleast_2d(np.cumsum(chances, axis=-1)).T[:-1]:
            which = which + (uniform >= limits[:, None])
        shifts, variances = (
            np.take_along_axis(each, which, axis=1) for each in (shifts, variances)
        )
        return shifts + np.sqrt(variances) * generator.standard_normal(which.shape)

    def mean_variances(self, X, means):
        """Variance of the noise at rows, that of finitely many Gaussians."""
        chances, shifts, variances = self.gaussians(X, means)
        squares = (chances * (variances + shifts**2)).sum(axis=1)
        return squares - (chances * shifts).sum(axis=1) ** 2

    def best_factor(self, X, y, means, spreads, weights):
        """What :meth:`scaled` has to be given for the law to fit these rows best.

        Parameters
        ----------
        X, y, means, spreads, weights
            As :func:`choose_law` has them.

        Returns
        -------
        factor : float
            Between exp(−3) and exp(3).
        """

        def loss(log_factor):
            law = self.scaled(np.exp(log_factor))
            return -(weights @ law.log_densities(X, y, means, spreads))

        return float(np.exp(minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded").x))

    def stand_ins(self, X, y, means, spreads):
        """Targets and precisions of the Gaussian noise that stands for this law's, a row.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
        y : ndarray of shape (n,)
        means, spreads : ndarray of shape (n,)
            Mean and variance of the function given all other rows.

        Returns
        -------
        targets, precisions : ndarray of shape (n,)
        """
        chances, shifts, variances = self.gaussians(X, means)
        posterior = posterior_of(y - means, spreads, chances, shifts, variances)[1]
        weighed = posterior / variances
        precisions = weighed.sum(axis=1)
        return y - (weighed * shifts).sum(axis=1) / precisions, precisions

    def log_densities(self, X, y, means, spreads):
        """Log density of targets where the function is Gaussian; parameters as above."""
        return posterior_of(y - means, spreads, *self.gaussians(X, means))[0]


def gaussians_of(squares, components, surprise):
    """Probabilities, shifts and variances of all Gaussians, for σ² of each row."""
    (chance, variance), (chances, shifts, v) = surprise, components
    n = len(squares)
    last = np.full((*chances.shape[:-1], 1), chance)
    chances = np.concatenate([(1.0 - chance) * chances, last], axis=-1)
    shifts = np.column_stack([np.sqrt(squares)[:, None] * shifts, np.zeros(n)])
    return chances, shifts, np.column_stack([squares[:, None] * v, np.full(n, variance)])


def posterior_of(gaps, spreads, chances, shifts, variances):
    """Log densities (n,), probabilities of the Gaussians (n, K), residuals and variances."""
    totals = spreads[:, None] + variances
    residuals = gaps[:, None] - shifts
    with np.errstate(divide="ignore"):
        terms = np.log(chances) - 0.5 * (LOG_2PI + np.log(totals) + residuals**2 / totals)
    highest = terms.max(axis=1)
    terms = np.exp(terms - highest[:, None])
    sums = terms.sum(axis=1)
    return highest + np.log(sums), terms / sums[:, None], residuals, totals

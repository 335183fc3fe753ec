"""Noise with tails, with skewness, and with a scale that depends on the inputs.

What a function f(x) leaves of a target is

    y − f(x) = σ(x) (a + b v + √v z),    z ~ N(0, 1),    1/v ~ Gamma(κ/2, rate κ/2),

Student's t with κ degrees of freedom, shifted and skewed by a and b (the generalised hyperbolic
skew t; b = 0 is symmetric). The variance σ²(x) is the exponential of a linear function of the
inputs, the predicted mean, and the squares of all these, above a floor. Given v everything is
Gaussian. So a law is a mixture of a few Gaussians, one for each of some values of v
(:mod:`skbayesnn.numerics.student_t`), and a row with such noise is, in expectation over v given its
residual, one with Gaussian noise of its own variance around a target of its own:

    E[(y − f − σ (a + b v))² / (σ² v)] = E[1/v] (y* − f)² / σ² + constant,
    y* = y − σ (a + b / E[1/v]).

A law is learned from rows that were left out: y_i − m_i and s_i², the mean and variance of f(x_i)
given all other rows, by maximum likelihood with ridge priors.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from skbayesnn._validation import location_and_scale
from skbayesnn.numerics.student_t import MASSES, student_variances

LOG_2PI = np.log(2 * np.pi)
LOG_MASSES = np.log(MASSES)
DEGREES = (2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0, np.inf)
"""The values that κ can take."""
FIRST_DEGREES = 5.0
RIDGES = (4.0, 40.0)
"""Precisions that the slopes of the log variance can have under their prior."""
SKEW_RIDGE = 1.0
"""That of a and b."""
LEAST_VARIANCE = 1e-3
"""Floor of σ², as a part of the variance that Gaussian noise would have."""
FOLDS = 3
ITERATIONS, MORE_ITERATIONS = 40, 15
LEAST_ROWS = 20
"""With fewer that differ nothing but a Gaussian is considered."""


@dataclass(frozen=True)
class Features:
    """What the log variance is linear in.

    Attributes
    ----------
    constant : bool
        Whether there is but an offset.
    offset, scale, low, high : ndarray of shape (n_inputs + 1,)
        Of the inputs and the predicted mean: they are standardised, and not let out of the range
        that they have among the rows.
    """

    constant: bool
    offset: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X, means, weights):
        """The features of these rows."""
        columns = np.column_stack([X, means])
        offset, scale = location_and_scale(columns, "X", weights)
        return cls(False, offset, scale, columns.min(axis=0), columns.max(axis=0))

    def __call__(self, X, means):
        """Features, (n, n_features); the first is one."""
        ones = np.ones((len(means), 1))
        if self.constant:
            return ones
        columns = np.clip(np.column_stack([X, means]), self.low, self.high)
        columns = (columns - self.offset) / self.scale
        return np.hstack([ones, columns, (columns**2 - 1.0) / np.sqrt(2.0)])


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
    degrees : float
        κ.
    shift, skew : float
        a and b.
    """

    features: Features
    slopes: np.ndarray
    floor: float
    degrees: float
    shift: float = 0.0
    skew: float = 0.0

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
        return self.floor + np.exp(self.features(X, means) @ self.slopes)

    def gaussians(self):
        """The law for σ = 1: means and variances of Gaussians of probabilities ``MASSES``."""
        v = student_variances(self.degrees)
        return self.shift + self.skew * v, v

    def mean_and_variance(self):
        """Of the law for σ = 1, as a mixture of finitely many Gaussians."""
        shifts, variances = self.gaussians()
        mean = MASSES @ shifts
        return mean, MASSES @ (variances + (shifts - mean) ** 2)

    def stand_ins(self, X, y, means, spreads, variances=None):
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
        variances = self.variances(X, means)
        shifts, v = self.gaussians()
        logs, chances, _ = _terms(y - means, spreads, variances, shifts, v)
        precision = chances @ (1.0 / v)
        std = np.sqrt(variances)
        return y - std * (self.shift + self.skew / precision), precision / variances

    def log_densities(self, X, y, means, spreads):
        """Log density of targets where the function is Gaussian; parameters as above."""
        return _terms(y - means, spreads, self.variances(X, means), *self.gaussians())[0]


def _terms(gaps, spreads, variances, shifts, v):
    """Log densities (n,), probabilities of the pieces (n, K), and residuals of each piece."""
    totals = spreads[:, None] + variances[:, None] * v
    residuals = gaps[:, None] - np.sqrt(variances)[:, None] * shifts
    terms = LOG_MASSES - 0.5 * (LOG_2PI + np.log(totals) + residuals**2 / totals)
    logs = logsumexp(terms, axis=1)
    return logs, np.exp(terms - logs[:, None]), (residuals, totals)


def loss_and_gradient(theta, design, floor, v, ridge, gaps, spreads, weights):
    """Minus the log posterior density of slopes, a and b, but for a constant, with its gradient.

    Parameters
    ----------
    theta : ndarray of shape (n_features + 2,)
        Slopes of the log variance, a and b.
    design : ndarray of shape (n, n_features)
    floor : float
    v : ndarray of shape (K,)
    ridge : ndarray of shape (n_features + 2,)
        Precisions of the normal prior; where it is infinite the parameter is not moved.
    gaps, spreads : ndarray of shape (n,)
        y − m and s².
    weights : ndarray of shape (n,)

    Returns
    -------
    loss : float
    gradient : ndarray of shape (n_features + 2,)
    """
    free = np.isfinite(ridge)
    own = np.exp(np.clip(design @ theta[:-2], -30.0, 30.0))
    variances = floor + own
    std = np.sqrt(variances)
    shifts = theta[-2] + theta[-1] * v
    logs, chances, (residuals, totals) = _terms(gaps, spreads, variances, shifts, v)
    pulls = chances * residuals / totals
    widths = 0.5 * chances * ((residuals / totals) ** 2 - 1.0 / totals)
    d_variances = widths @ v + 0.5 / std * (pulls @ shifts)
    d_shift, d_skew = std * pulls.sum(axis=1), std * (pulls @ v)
    slopes = design.T @ (weights * d_variances * own)
    gradient = -np.concatenate([slopes, [weights @ d_shift, weights @ d_skew]])
    prior = np.where(free, ridge, 0.0) * theta
    loss = -(weights @ logs) + 0.5 * prior @ theta
    return loss, np.where(free, gradient + prior, 0.0)


class _Rows:
    """Rows that were left out, and laws of them."""

    def __init__(self, X, y, means, spreads, weights, least):
        self.data = y - means, spreads, weights
        self.features = Features.of(X, means, weights)
        self.design = self.features(X, means)
        start = np.log(max(weights @ (self.data[0] ** 2) / weights.sum(), 1e-12))
        self.gaussian = self._maximise(
            np.array([start, 0.0, 0.0]), np.ones((len(y), 1)), 0.0, np.inf, self._ridge(1, np.inf),
            slice(None), ITERATIONS,
        )  # fmt: skip
        self.floor = max(LEAST_VARIANCE * float(np.exp(self.gaussian.x[0])), least)

    @staticmethod
    def _ridge(n_features, ridge, skewed=False):
        skews = np.full(2, SKEW_RIDGE if skewed else np.inf)
        return np.concatenate([[0.0], np.full(n_features - 1, ridge), skews])

    def _maximise(self, start, design, floor, degrees, ridge, rows, max_iter):
        given = design[rows], floor, student_variances(degrees), ridge
        return minimize(
            loss_and_gradient, start, (*given, *(part[rows] for part in self.data)), jac=True,
            method="L-BFGS-B", options={"maxiter": max_iter},
        )  # fmt: skip

    def _of(self, design, theta, degrees, floor, rows):
        """Log densities of rows."""
        gaps, spreads, _ = (part[rows] for part in self.data)
        variances = floor + np.exp(np.clip(design[rows] @ theta[:-2], -30.0, 30.0))
        v = student_variances(degrees)
        return _terms(gaps, spreads, variances, theta[-2] + theta[-1] * v, v)[0]

    def learn(self, constant, ridge, skewed, start=None, degrees=FIRST_DEGREES):
        """The best slopes, a, b and κ, which is looked for from where it is."""
        design = self.design[:, :1] if constant else self.design
        ridges = self._ridge(design.shape[1], ridge, skewed)
        if start is None:
            start = np.zeros(design.shape[1] + 2)
            start[0] = self.gaussian.x[0]
        tried = {}

        def at(place, begin):
            if place not in tried:
                tried[place] = self._maximise(
                    begin, design, self.floor, DEGREES[place], ridges, slice(None), ITERATIONS
                )
            return tried[place].fun

        place = DEGREES.index(degrees)
        at(place, start)
        for step in (1, -1):
            while 0 <= place + step < len(DEGREES) and (
                at(place + step, tried[place].x) < tried[place].fun
            ):
                place += step
        return tried[place], DEGREES[place], design, ridges

    def left_out(self, found, degrees, design, ridges, floor):
        """Log densities of all rows by laws that were learned without theirs; κ is not."""
        n = len(design)
        out = np.empty(n)
        for fold in range(FOLDS):
            other = np.arange(n) % FOLDS == fold
            own = self._maximise(
                found.x, design, floor, degrees, ridges, ~other, MORE_ITERATIONS
            )
            out[other] = self._of(design, own.x, degrees, floor, other)
        return out

    def law(self, constant, found, degrees):
        features = replace(self.features, constant=constant)
        slopes, shift, skew = found.x[:-2].copy(), *map(float, found.x[-2:])
        return NoiseLaw(features, slopes, self.floor, degrees, shift, skew)


def least_variance(y):
    """That of rounding, where the targets are rounded: a twelfth of the square of its unit.

    Parameters
    ----------
    y : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> round(12 * least_variance(np.array([0.0, 1.0, 0.0, 2.0, 1.0, 1.0, 4.0])), 2)
    1.0
    """
    values = np.unique(y)
    if len(values) < 2 or len(values) > 0.5 * len(y) + 1:
        return 0.0
    return float(np.median(np.diff(values)) ** 2 / 12.0)


def choose_law(X, y, means, spreads, weights, *, gaussian=True):
    """The law of the noise that predicts rows best that neither it nor the function was told.

    A Gaussian of one variance, Student's t of one scale, and with a scale that depends on the
    inputs (with either of :data:`RIDGES`), the best of these with skewness too. Each is learned
    without a third of the rows in turn, and the mean log density of that third is what they are
    compared by. A law is taken in the place of the Gaussian if it leads by a standard error.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    y : ndarray of shape (n,)
    means, spreads : ndarray of shape (n,)
        Mean and variance of the function given all other rows.
    weights : ndarray of shape (n,)
        How many rows each stands for.
    gaussian : bool, default=True
        Whether a Gaussian of one variance may be the answer.

    Returns
    -------
    law : NoiseLaw or None
        None for a Gaussian.
    variance : float
        Of Gaussian noise, if it is that.
    """
    rows = _Rows(X, y, means, spreads, weights, least_variance(y))
    variance = float(np.exp(rows.gaussian.x[0]))
    if len(y) < LEAST_ROWS and gaussian:
        return None, variance
    total = weights.sum()
    best = None
    # The offset of a and b would be seen twice by a table of one row.
    candidates = [(True, np.inf)] + [(False, ridge) for ridge in RIDGES]
    degrees = FIRST_DEGREES
    for skewed in (False, True):
        for constant, ridge in candidates:
            start = None if best is None or not skewed else best[2][0].x
            learned = rows.learn(constant, ridge, skewed, start, degrees)
            logs = rows.left_out(*learned, rows.floor)
            if best is None or weights @ logs > weights @ best[0]:
                best = logs, (constant, ridge, skewed), learned
        candidates, degrees = [best[1][:2]], best[2][1]
    logs, (constant, _, _), (found, degrees, *_) = best
    if gaussian:
        design = rows.design[:, :1]
        ridges = rows._ridge(1, np.inf)
        known = rows.left_out(rows.gaussian, np.inf, design, ridges, 0.0)
        gains = logs - known
        mean = weights @ gains / total
        error = np.sqrt(weights @ (gains - mean) ** 2 / total / total)
        if not mean > error:
            return None, variance
    return rows.law(constant, found, degrees), variance

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
from scipy.optimize import minimize, minimize_scalar

from skbayesnn._validation import location_and_scale
from skbayesnn.numerics.student_t import MASSES, student_variances

LOG_2PI = np.log(2 * np.pi)
DEGREES = (2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0, np.inf)
"""The values that κ can take."""
FIRST_DEGREES = 5.0
RIDGES = (4.0, 40.0)
"""Precisions that the slopes of the log variance can have under their prior."""
SKEW_RIDGE = 1.0
"""That of a and b."""
LEAST_VARIANCE = 1e-3
"""Floor of σ², as a part of the variance that Gaussian noise would have."""
COMPLICATION = 3.0
"""Nats by which all rows together have to favour a scale that depends on inputs, or skewness."""
SURPRISE = 25.0
"""What that variance is multiplied by for a row of a kind that none of the n rows is, which has the
probability 1 / (n + 1)."""
LOG_VARIANCES = -30.0, 30.0
FOLDS = 3
ITERATIONS, MORE_ITERATIONS = 40, 15
NOTHING = 1e-12
"""Where the noise variance is below this part of one, there is no noise to have a law."""
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
    surprise : tuple of two floats
        Probability and variance of one more Gaussian, which does not depend on the inputs.
    """

    features: Features
    slopes: np.ndarray
    floor: float
    degrees: float
    shift: float
    skew: float
    surprise: tuple

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

    def scaled(self, factor):
        """The law of this noise times the root of a factor."""
        slopes = self.slopes.copy()
        slopes[0] += np.log(factor)
        chance, variance = self.surprise
        surprise = chance, factor * variance
        return replace(self, slopes=slopes, floor=factor * self.floor, surprise=surprise)

    def gaussians(self, X, means):
        """The law as Gaussians.

        Returns
        -------
        chances : ndarray of shape (16,)
        shifts, variances : ndarray of shape (n, 16)
        """
        v = student_variances(self.degrees)
        return _gaussians(self.variances(X, means), v, self.shift + self.skew * v, self.surprise)

    def mean_variances(self, X, means):
        """Variance of the noise at rows, that of finitely many Gaussians."""
        chances, shifts, variances = self.gaussians(X, means)
        return variances @ chances + shifts**2 @ chances - (shifts @ chances) ** 2

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
        posterior = _terms(y - means, spreads, chances, shifts, variances)[1]
        weighed = posterior / variances
        precisions = weighed.sum(axis=1)
        return y - (weighed * shifts).sum(axis=1) / precisions, precisions

    def log_densities(self, X, y, means, spreads):
        """Log density of targets where the function is Gaussian; parameters as above."""
        return _terms(y - means, spreads, *self.gaussians(X, means))[0]


def _gaussians(squares, v, shifts, surprise):
    """Probabilities, shifts and variances of all Gaussians, for σ² of each row."""
    chance, variance = surprise
    n = len(squares)
    chances = np.append((1.0 - chance) * MASSES, chance)
    shifts = np.column_stack([np.sqrt(squares)[:, None] * shifts, np.zeros(n)])
    return chances, shifts, np.column_stack([squares[:, None] * v, np.full(n, variance)])


def _terms(gaps, spreads, chances, shifts, variances):
    """Log densities (n,), probabilities of the Gaussians (n, K), residuals and variances."""
    totals = spreads[:, None] + variances
    residuals = gaps[:, None] - shifts
    with np.errstate(divide="ignore"):
        terms = np.log(chances) - 0.5 * (LOG_2PI + np.log(totals) + residuals**2 / totals)
    highest = terms.max(axis=1)
    terms = np.exp(terms - highest[:, None])
    sums = terms.sum(axis=1)
    return highest + np.log(sums), terms / sums[:, None], residuals, totals


def loss_and_gradient(theta, design, floor, v, surprise, ridge, gaps, spreads, weights):
    """Minus the log posterior density of slopes, a and b, but for a constant, with its gradient.

    Parameters
    ----------
    theta : ndarray of shape (n_features + 2,)
        Slopes of the log variance, a and b.
    design : ndarray of shape (n, n_features)
    floor : float
    v : ndarray of shape (15,)
    surprise : tuple of two floats
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
    own = np.exp(np.clip(design @ theta[:-2], *LOG_VARIANCES))
    squares = floor + own
    shifts = theta[-2] + theta[-1] * v
    given = _gaussians(squares, v, shifts, surprise)
    logs, posterior, residuals, totals = (part for part in _terms(gaps, spreads, *given))
    pulls = (posterior * residuals / totals)[:, :-1]
    ratios = (residuals / totals)[:, :-1]
    widths = 0.5 * posterior[:, :-1] * (ratios**2 - 1.0 / totals[:, :-1])
    std = np.sqrt(squares)
    d_squares = widths @ v + 0.5 / std * (pulls @ shifts)
    d_shift, d_skew = std * pulls.sum(axis=1), std * (pulls @ v)
    slopes = design.T @ (weights * d_squares * own)
    gradient = -np.concatenate([slopes, [weights @ d_shift, weights @ d_skew]])
    prior = np.where(free, ridge, 0.0) * theta
    loss = -(weights @ logs) + 0.5 * prior @ theta
    return loss, np.where(free, gradient + prior, 0.0)


class _Rows:
    """Rows that were left out, and laws of them."""

    def __init__(self, X, y, means, spreads, weights, least):
        self.data, self.n = (y - means, spreads, weights), len(y)
        # Equal rows stay together, and so the numbers of the groups do not depend on how many.
        rows = np.column_stack([X, y])
        self.fold = np.unique(rows, axis=0, return_inverse=True)[1].ravel() % FOLDS
        self.features = Features.of(X, means, weights)
        self.design = self.features(X, means)
        start = np.log(max(weights @ (self.data[0] ** 2) / weights.sum(), 1e-12))
        self.gaussian = Shape(True, np.inf, False, np.inf, np.array([start, 0.0, 0.0]), 0.0)
        self.gaussian = self.fitted(self.gaussian)[0]
        self.variance = float(np.exp(self.gaussian.theta[0]))
        self.floor = max(LEAST_VARIANCE * self.variance, least)
        self.surprise = 1.0 / (1.0 + weights.sum()), SURPRISE * self.variance

    def fitted(self, shape, rows=slice(None), max_iter=ITERATIONS):
        """The shape with the best parameters for these rows, and its loss."""
        found = minimize(
            loss_and_gradient, shape.theta, (*self._given(shape, rows), shape.ridges(),
            *(part[rows] for part in self.data)), jac=True, method="L-BFGS-B",
            options={"maxiter": max_iter},
        )  # fmt: skip
        return replace(shape, theta=found.x), found.fun

    def _given(self, shape, rows):
        design = self.design[rows, : len(shape.theta) - 2]
        surprise = self.surprise if shape.floor else (0.0, 1.0)
        return design, shape.floor, student_variances(shape.degrees), surprise

    def learn(self, shape):
        """The best slopes, a, b and κ, which is looked for from where it is."""
        tried = {}

        def at(place, begin):
            if place not in tried:
                known = replace(begin, degrees=DEGREES[place])
                tried[place] = self.fitted(known)
            return tried[place][1]

        place = DEGREES.index(shape.degrees)
        at(place, shape)
        for step in (1, -1):
            while 0 <= place + step < len(DEGREES) and (
                at(place + step, tried[place][0]) < tried[place][1]
            ):
                place += step
        return tried[place][0]

    def left_out(self, shape):
        """Log densities of all rows by laws that were learned without theirs; κ is not."""
        logs = np.empty(self.n)
        gaps, spreads, _ = self.data
        for k in range(FOLDS):
            other = self.fold == k
            own = self.fitted(shape, ~other, MORE_ITERATIONS)[0]
            design, floor, v, surprise = self._given(own, other)
            squares = floor + np.exp(np.clip(design @ own.theta[:-2], *LOG_VARIANCES))
            given = _gaussians(squares, v, own.theta[-2] + own.theta[-1] * v, surprise)
            logs[other] = _terms(gaps[other], spreads[other], *given)[0]
        return logs

    def begin(self, constant, ridge):
        """A shape to learn from."""
        n_slopes = 1 if constant else self.design.shape[1]
        theta = np.zeros(n_slopes + 2)
        theta[0] = self.gaussian.theta[0]
        return Shape(constant, ridge, False, FIRST_DEGREES, theta, self.floor)

    def law(self, shape):
        """What predicts."""
        features = replace(self.features, constant=shape.constant)
        slopes, shift, skew = shape.theta[:-2].copy(), *map(float, shape.theta[-2:])
        return NoiseLaw(features, slopes, self.floor, shape.degrees, shift, skew, self.surprise)


@dataclass(frozen=True)
class Shape:
    """What kind of law, and its parameters.

    Attributes
    ----------
    constant : bool
        Whether σ is.
    ridge : float
        Precision of the prior of the slopes.
    skewed : bool
    degrees : float
    theta : ndarray of shape (n_slopes + 2,)
    floor : float
        Zero for a Gaussian alone.
    """

    constant: bool
    ridge: float
    skewed: bool
    degrees: float
    theta: np.ndarray
    floor: float

    def ridges(self):
        """Precisions of the prior of all parameters."""
        skews = np.full(2, SKEW_RIDGE if self.skewed else np.inf)
        return np.concatenate([[0.0], np.full(len(self.theta) - 3, self.ridge), skews])


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


def choose_law(X, y, means, spreads, weights, *, gaussian=True, like=None):
    """The law of the noise that predicts rows best that neither it nor the function was told.

    A Gaussian of one variance, Student's t of one scale, and with a scale that depends on the
    inputs (with either of :data:`RIDGES`), the best of these with skewness too. Each is learned
    without a third of the rows in turn, and the mean log density of that third is what they are
    compared by, less :data:`COMPLICATION` for a scale that depends on inputs, and for skewness. A
    law is taken in the place of the Gaussian if it leads by a standard error.

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
    like : Shape, optional
        That of the law, where it was chosen before.

    Returns
    -------
    law : NoiseLaw or None
        None for a Gaussian.
    shape : Shape
    variance : float
        Of Gaussian noise, if it is that.
    """
    rows = _Rows(X, y, means, spreads, weights, least_variance(y))
    few = gaussian and len(y) < LEAST_ROWS
    if few or rows.variance < NOTHING * max(float(np.var(y)), 1.0):
        return None, rows.gaussian, rows.variance
    if like is not None:
        shape = rows.learn(replace(like, floor=rows.floor))
        return rows.law(shape), shape, rows.variance
    best = None
    for constant, ridge in [(True, np.inf)] + [(False, ridge) for ridge in RIDGES]:
        best = _better(rows, best, rows.begin(constant, ridge))
    best = _better(rows, best, replace(best[1], skewed=True))
    logs, shape, score = best
    if gaussian:
        known = rows.left_out(rows.gaussian)
        gains = logs - known
        error = np.sqrt(weights @ (gains - weights @ gains / weights.sum()) ** 2)
        if not score - weights @ known > error:
            return None, rows.gaussian, rows.variance
    return rows.law(shape), shape, rows.variance


def _better(rows, best, shape):
    shape = rows.learn(shape)
    logs = rows.left_out(shape)
    score = rows.data[2] @ logs - COMPLICATION * ((not shape.constant) + shape.skewed)
    return (logs, shape, score) if best is None or score > best[2] else best

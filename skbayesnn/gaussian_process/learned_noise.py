"""Which law noise has, and its parameters, from rows that were left out.

What is known of a row is its target y_i and, of the function there, the mean m_i and variance s_i²
given all other rows. Laws (:mod:`skbayesnn.gaussian_process.noise`) are learned by maximum
likelihood with ridge priors, and compared by rows that they were learned without.
"""

from dataclasses import dataclass, replace

import numpy as np

from skbayesnn.gaussian_process.noise import (
    Features,
    NoiseLaw,
    few_values,
    gaussians_of,
    posterior_of,
)
from skbayesnn.gaussian_process.standard_noise import Mixture, SkewT
from skbayesnn.numerics.rounding import rounding_variance
from skbayesnn.numerics.smooth_minimum import minimise_smooth

DEGREES = (2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0, np.inf)
"""The values that κ can take."""
FIRST_DEGREES = 5.0
RIDGES = (4.0, 40.0)
"""Precisions that the slopes of the log variance can have under their prior."""
VALUE_RIDGE = 1.0
"""That of the slopes of indicators."""
SIZES, MIXTURE_ERRORS = (2, 3), 2.0
"""Sizes of mixtures, and standard errors by which one has to lead."""
GATE_VARIANCE = 8.0
"""Prior variance of the part of a logit that depends on features which are no indicators."""
LEAST_VARIANCE = 1e-3
"""Floor of σ², as a part of the variance that Gaussian noise would have."""
COMPLICATION = 3.0
"""Nats by which all rows together have to favour a scale that depends on inputs, indicators,
skewness, a further Gaussian, or probabilities that depend on features."""
SURPRISE = 25.0
"""What that variance is multiplied by for a row of a kind that none of the n rows is, which has the
probability 1 / (n + 1)."""
LOG_VARIANCES = -30.0, 30.0
FOLDS = 3
LEAST_SPREAD = 0.1
"""Of the predicted means, as a part of the typical error, for the noise to depend on them."""
ITERATIONS, MORE_ITERATIONS, MIXTURE_ITERATIONS = 40, 15, 100
TOLERANCE = 1e-7
"""A search ends when a step changes the loss by at most this part: 1e-4 nats or so."""
NOTHING = 1e-12
"""Where the noise variance is below this part of one, there is no noise to have a law."""
LEAST_ROWS = 20
"""With fewer nothing but a Gaussian is considered."""


def loss_and_gradient(theta, shape, design, surprise, gaps, spreads, weights):
    """Minus the log posterior density of all parameters, but for a constant, with its gradient.

    Parameters
    ----------
    theta : ndarray of shape (n_slopes + n_parameters,)
        Slopes of the log variance, and parameters of the family.
    shape : Shape
        Where its precisions are infinite, parameters are not moved.
    design : ndarray of shape (n, n_features)
    surprise : tuple of two floats
    gaps, spreads : ndarray of shape (n,)
        y − m and s².
    weights : ndarray of shape (n,)

    Returns
    -------
    loss : float
    gradient : ndarray of shape (n_slopes + n_parameters,)
    """
    shape = replace(shape, theta=theta)
    (own, squares), components = shape.variances(design), shape.components(design)
    _, shifts, v = components
    given = gaussians_of(squares, components, surprise)
    logs, posterior, residuals, totals = posterior_of(gaps, spreads, *given)
    pulls = (posterior * residuals / totals)[:, :-1]
    ratios = (residuals / totals)[:, :-1]
    widths = 0.5 * posterior[:, :-1] * (ratios**2 - 1.0 / totals[:, :-1])
    std = np.sqrt(squares)
    d_squares = widths @ v + 0.5 / std * (pulls @ shifts)
    masses = weights[:, None] * posterior[:, :-1]
    by_components = (weights * std) @ pulls, v * ((weights * squares) @ widths)
    by_slopes = design[:, : shape.n_slopes].T @ (weights * d_squares * own)
    by_parameters = shape.family.pull(shape.parts()[1], design, masses, *by_components)
    gradient, ridge = -np.append(by_slopes, by_parameters), shape.ridges()
    free = np.isfinite(ridge)
    prior = np.where(free, ridge, 0.0) * theta
    loss = -(weights @ logs) + 0.5 * prior @ theta
    return loss, np.where(free, gradient + prior, 0.0)


class _Rows:
    """Rows that were left out, and laws of them."""

    def __init__(self, X, y, means, spreads, weights, least):
        self.data, self.n = (y - means, spreads, weights), len(y)
        # Equal rows stay together, and so the numbers of the groups do not depend on how many.
        rows = np.column_stack([X, y])
        self.fold = np.unique(rows, axis=0, return_inverse=True)[1] % FOLDS
        # The mean at a row left out moves away from its target: of a constant function it says
        # nothing but how large the error is.
        spread = LEAST_SPREAD * np.sqrt(weights @ self.data[0] ** 2 / weights.sum())
        self.features = Features.of(X, means, weights, spread)
        self.design = self.features(X, means)
        start = np.log(max(weights @ (self.data[0] ** 2) / weights.sum(), 1e-12))
        self.gaussian = Shape(np.zeros(1), SkewT(np.inf), np.array([start, 0.0, 0.0]), 0.0)
        self.gaussian = self.fitted(self.gaussian)[0]
        self.variance = float(np.exp(self.gaussian.theta[0]))
        self.floor = max(LEAST_VARIANCE * self.variance, least)
        with np.errstate(divide="ignore"):
            # Gaussians narrower than the unit of rounding would follow its lattice, not the noise.
            self.narrowest = min(0.0, float(np.log(12.0 * least / self.variance)))
        self.surprise = 1.0 / (1.0 + weights.sum()), SURPRISE * self.variance

    def fitted(self, shape, rows=slice(None), max_iter=ITERATIONS):
        """The shape with the best parameters for these rows, and its loss."""
        given = shape, self.design[rows], self._surprise(shape), *(part[rows] for part in self.data)
        found = minimise_smooth(
            loss_and_gradient, shape.theta, bounds=shape.bounds(), args=given, max_iter=max_iter,
            ftol=TOLERANCE,
        )  # fmt: skip
        return replace(shape, theta=found.x), found.fun

    def _surprise(self, shape):
        return self.surprise if shape.floor else (0.0, 1.0)

    def learn(self, shape):
        """The best parameters and κ, which is looked for on both sides of where it is."""
        if isinstance(shape.family, Mixture):
            return self._mixture(shape)[0]
        tried = {}

        def at(place, begin):
            if place not in tried:
                family = replace(begin.family, degrees=DEGREES[place])
                tried[place] = self.fitted(replace(begin, family=family))
            return tried[place][1]

        start = DEGREES.index(shape.family.degrees)
        at(start, shape)
        for step in (1, -1):
            place = start
            while 0 <= place + step < len(DEGREES) and (
                at(place + step, tried[place][0]) < tried[place][1]
            ):
                place += step
        return min(tried.values(), key=lambda each: each[1])[0]

    def left_out(self, shape):
        """Log densities of all rows by laws that were learned without theirs; κ is not."""
        logs = np.empty(self.n)
        gaps, spreads, _ = self.data
        # Many parameters that know all rows take long to forget some of them.
        max_iter = MIXTURE_ITERATIONS if shape.family.n_gates > 1 else MORE_ITERATIONS
        for k in range(FOLDS):
            other = self.fold == k
            own = self.fitted(shape, ~other, max_iter)[0]
            design = self.design[other]
            squares, components = own.variances(design)[1], own.components(design)
            given = gaussians_of(squares, components, self._surprise(own))
            logs[other] = posterior_of(gaps[other], spreads[other], *given)[0]
        return logs

    def begin(self, slope_ridges):
        """A shape to learn from."""
        theta = np.zeros(len(slope_ridges) + 2)
        theta[0] = self.gaussian.theta[0]
        return Shape(slope_ridges, SkewT(FIRST_DEGREES), theta, self.floor)

    def shapes(self):
        """Student's t without skewness, by the number of slopes."""
        yield self.begin(np.zeros(1))
        n_smooth, n_slopes = self.features.n_smooth, self.design.shape[1]
        for ridge in RIDGES:
            yield self.begin(np.append(0.0, np.full(n_smooth - 1, ridge)))
        if n_slopes > n_smooth:
            ridges = np.full(n_smooth - 1, RIDGES[-1]), np.full(n_slopes - n_smooth, VALUE_RIDGE)
            yield self.begin(np.concatenate([[0.0], *ridges]))

    def mixtures(self, shape):
        """Mixtures whose scale depends on the inputs as it does in this shape, each learned."""
        slopes, _ = shape.parts()
        for size in SIZES:
            family = Mixture(size, self.narrowest)
            starts = (np.append(slopes, parameters) for parameters in family.starts())
            begun = (replace(shape, family=family, theta=theta) for theta in starts)
            best = min(map(self._mixture, begun), key=lambda each: each[1])[0]
            yield best
            slopes, parameters = best.parts()
            ridge = (self.features.n_smooth - 1) / GATE_VARIANCE
            family, parameters = family.gated(parameters, self.design.shape[1], ridge)
            theta = np.append(slopes, parameters)
            yield self._mixture(replace(best, family=family, theta=theta))[0]

    def _mixture(self, shape):
        return self.fitted(shape, max_iter=MIXTURE_ITERATIONS)

    def law(self, shape):
        """What predicts: nowhere a variance larger than the largest squared error of a row."""
        slopes, parameters = shape.parts()
        ceiling = max(float(np.max(self.data[0] ** 2)), self.floor)
        return NoiseLaw(
            self.features, slopes, self.floor, shape.family, parameters, self.surprise, ceiling
        )


@dataclass(frozen=True)
class Shape:
    """What kind of law, and its parameters.

    Attributes
    ----------
    slope_ridges : ndarray of shape (n_slopes,)
        Precisions of the prior of the slopes; zero for the first.
    family : SkewT or Mixture
    theta : ndarray of shape (n_slopes + n_parameters,)
    floor : float
        Zero for a Gaussian alone.
    """

    slope_ridges: np.ndarray
    family: SkewT | Mixture
    theta: np.ndarray
    floor: float

    @property
    def n_slopes(self):
        """Number of slopes of the log variance."""
        return len(self.slope_ridges)

    def parts(self):
        """Slopes, and parameters of the family."""
        return np.split(self.theta, [self.n_slopes])

    def variances(self, design):
        """σ² without its floor and with it, (n,) each, for the features of rows."""
        slopes = self.parts()[0]
        own = np.exp(np.clip(design[:, : self.n_slopes] @ slopes, *LOG_VARIANCES))
        return own, self.floor + own

    def components(self, design):
        """Those of the family."""
        return self.family.components(self.parts()[1], design)

    def ridges(self):
        """Precisions of the prior of all parameters."""
        return np.append(self.slope_ridges, self.family.ridges())

    def bounds(self):
        """Bounds of all parameters."""
        return [(None, None)] * self.n_slopes + list(self.family.bounds)

    def complications(self, n_smooth):
        """How many: a scale that depends on inputs, indicators, and those of the family."""
        return (self.n_slopes > 1) + (self.n_slopes > n_smooth) + self.family.complications


def choose_law(X, y, means, spreads, weights, *, gaussian=True, like=None, before=None):
    """The law of the noise that predicts rows best that neither it nor the function was told.

    A Gaussian of one variance, Student's t of one scale, and with a scale that depends on the
    inputs (with either of :data:`RIDGES`, and with the indicators), the best of these with skewness
    too, and mixtures of Gaussians in its place. Each is learned without a third of the rows in
    turn, and the mean log density of that third is what they are compared by, less
    :data:`COMPLICATION` for a scale that depends on inputs, for indicators, for skewness, for each
    Gaussian after the first, and for probabilities that depend on features. A mixture has to lead
    by two standard errors, unless another has, and a law is taken in the place of the Gaussian if
    it leads by one.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    y : ndarray of shape (n,)
    means, spreads : ndarray of shape (n,)
        Mean and variance of the function given all other rows.
    weights : ndarray of shape (n,)
        How many rows each stands for.
    gaussian : bool, default=True
        Whether a Gaussian of one variance, or a mixture, may be the answer.
    like : Shape, optional
        That of the law, where it was chosen before.
    before : NoiseLaw, optional
        One that was chosen around another function. If it is a mixture, another mixture need not
        lead by standard errors again.

    Returns
    -------
    law : NoiseLaw or None
        None for a Gaussian: also, whatever ``gaussian``, of few rows and without any noise.
    shape : Shape
    variance : float
        Of Gaussian noise, if it is that.
    """
    rows = _Rows(X, y, means, spreads, weights, rounding_variance(y))
    if len(y) < LEAST_ROWS or rows.variance < NOTHING * max(float(np.var(y)), 1.0):
        return None, rows.gaussian, rows.variance
    if like is not None:
        shape = rows.learn(replace(like, floor=rows.floor))
        return rows.law(shape), shape, rows.variance
    best = None
    for shape in rows.shapes():
        best = _better(rows, best, rows.learn(shape))
    skewed = replace(best[1], family=replace(best[1].family, skewed=True))
    best = _better(rows, best, rows.learn(skewed))
    if gaussian:
        for shape in rows.mixtures(best[1]):
            mixed = any(each and isinstance(each.family, Mixture) for each in (best[1], before))
            best = _better(rows, best, shape, 0.0 if mixed else MIXTURE_ERRORS)
    logs, shape, score = best
    if gaussian:
        known = rows.left_out(rows.gaussian)
        if not score - weights @ known > _error(logs - known, weights):
            return None, rows.gaussian, rows.variance
    return rows.law(shape), shape, rows.variance


def values_decide(*rows):
    """The inputs of few values whose values the scale of the noise depends on.

    Parameters
    ----------
    rows
        As :func:`choose_law` has them.

    Returns
    -------
    values : dict of int to ndarray
        See :func:`~skbayesnn.gaussian_process.noise.few_values`. Empty if a law without indicators
        predicts rows better that were left out.
    """
    values = few_values(rows[0])
    if values:
        law = choose_law(*rows)[0]
        if law is None or len(law.slopes) <= law.features.n_smooth:
            return {}
    return values


def _better(rows, best, shape, errors=0.0):
    logs, weights = rows.left_out(shape), rows.data[2]
    score = weights @ logs - COMPLICATION * shape.complications(rows.features.n_smooth)
    if best is None or score - best[2] > errors * _error(logs - best[0], weights):
        return logs, shape, score
    return best


def _error(gains, weights):
    """Standard error of a weighted sum."""
    return np.sqrt(weights @ (gains - weights @ gains / weights.sum()) ** 2)

"""A few values so far outside that all others would look the same: limits for them, and what a
prediction says of targets like these.

One target of 1e9 among hundreds of about 1 makes the standard deviation so large that the others
are one number in its units. Models are therefore given clipped values. Their predictions would then
rule out what has been seen: a row that is a thousand deviations outside has a log density of -1000
or less under any law of the other rows. So a prediction has one part more, as frequent as the
clipped targets and as far out (:class:`FarTargets`). Not in the papers.
"""

import numpy as np

from skbayesnn._warnings import warn_user
from skbayesnn.numerics.student_t import MASSES, student_variances
from skbayesnn.predictive import PredictiveMixture, linear_pool

FEW = 0.02
"""Extremes are few if they are this part of the rows, or one value."""
MOST_OF_A_VALUE = 0.1
"""Part of the rows at most that have this one value."""
DOMINATED = 10.0
"""Few extreme targets hide the others if they multiply the standard deviation by more than this."""
FARTHEST = 10.0
"""What extremes are then taken for: so many deviations of the other rows from their mean."""
LARGEST_SCALE = 1e140
"""Of targets beyond the limits: variances, which are the square and more, have to be floats."""


def limits_of_extremes(values, name, weights=None, dominated=DOMINATED):
    """Limits beyond which a few values would make all others look the same.

    Where the fiftieth of the rows that is farthest from the median (or the farthest value, if no
    more than a tenth of the rows have it) multiplies the deviation by more than
    ``dominated``, there are limits: the mean of the other rows, and :data:`FARTHEST` times
    their deviation to both sides. Values are to be clipped to these before their deviation is
    taken. Other tables have no limits, so that nothing changes. Limits move with the values if
    these are shifted or multiplied, and k equal rows count as one of weight k.

    Parameters
    ----------
    values : ndarray of shape (n_samples,) or (n_samples, n_columns)
    name : str
        What the values are, for the warning.
    weights : ndarray of shape (n_samples,) or None, default=None
        How often each row counts.
    dominated : float, default=10

    Returns
    -------
    low, high : float or ndarray of shape (n_columns,)
        Infinite without limits.

    Warns
    -----
    UserWarning
        If there are limits: how many values lie beyond them, and what they are taken for.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.append(np.tile([-1.0, 1.0], 50), 0.0)
    >>> [float(end) for end in limits_of_extremes(y, "y")]
    [-inf, inf]
    >>> y[-1] = 1e9
    >>> [float(end) for end in limits_of_extremes(y, "y")]  # doctest: +SKIP
    [-10.0, 10.0]
    """
    columns = values.reshape(len(values), -1)
    weights = np.ones(len(values)) if weights is None else weights
    low, high = np.array([_limits_of_column(column, weights, dominated) for column in columns.T]).T
    beyond = ((columns < low) | (columns > high)).sum(axis=0)
    if beyond.any():
        j = int(beyond.argmax())
        what = name if len(beyond) == 1 else f"column {j} of {name}"
        n_more = int((beyond > 0).sum()) - 1
        more = f" So has {n_more} other column{'s' * (n_more > 1)}." if n_more else ""
        warn_user(
            f"{what} has {beyond[j]} of {len(values)} values so far outside that all others would "
            f"look the same. They are clipped to {low[j]:.3g} or {high[j]:.3g}.{more} If they are "
            "mistakes, correct them or leave the rows out. If they are right, transform "
            f"{name}, for example by a logarithm."
        )
    return (low[0], high[0]) if values.ndim == 1 else (low, high)


class FarTargets:
    """What a prediction says of targets as far outside as those that were clipped.

    With the frequency of the clipped targets, a new one has Student's t distribution about the mean
    that the model predicts: its scale is their root mean square distance from the middle of the
    limits, up to 1e140, its degrees of freedom are two more than their number. So predicted means
    stay as they are. The law is approximated by Gaussians (:mod:`skbayesnn.numerics.student_t`).

    Parameters
    ----------
    parts : sequence of float, default=()
        Frequency of clipped targets, for each target column. None were clipped by default.
    scales, degrees : sequence of float, default=()
        In the units of y, and degrees of freedom.

    Examples
    --------
    >>> from skbayesnn._extremes import FarTargets
    >>> from skbayesnn.predictive import PredictiveMixture
    >>> narrow = PredictiveMixture([1.0], [[0.0]], [[1.0]])
    >>> wide = FarTargets([0.01], [1000.0], [3.0])(narrow)
    >>> wide.mean(), wide.interval(0.9).round(2)
    (array([0.]), array([[-1.69,  1.69]]))
    >>> narrow.logpdf(1000.0).round(), wide.logpdf(1000.0).round()
    (array([-500001.]), array([-13.]))
    """

    def __init__(self, parts=(), scales=(), degrees=()):
        self.parts, self.scales, self.degrees = parts, scales, degrees

    def __call__(self, mixtures):
        """Predictions with this part: one mixture, or a list with one for each target column."""
        if not np.any(self.parts):
            return mixtures
        if isinstance(mixtures, PredictiveMixture):
            return self._with_part(mixtures, 0)
        return [self._with_part(mixture, t) for t, mixture in enumerate(mixtures)]

    def _with_part(self, mixture, t):
        if not self.parts[t]:
            return mixture
        means = np.repeat(mixture.mean()[:, None], len(MASSES), axis=1)
        far = PredictiveMixture(MASSES, means, np.broadcast_to(self._variances(t), means.shape))
        return linear_pool([mixture, far], [1.0 - self.parts[t], self.parts[t]])

    def _variances(self, t):
        return self.scales[t] ** 2 * student_variances(self.degrees[t])

    def of_draws(self, draws, predict_distribution, X, rng):
        """Draws of new observations of one target column, some of them replaced by this part's.

        Parameters
        ----------
        draws : ndarray of shape (n_rows, n_samples)
            Changed in place.
        predict_distribution : callable
            From rows to their :class:`~skbayesnn.predictive.PredictiveMixture`; not called if no
            target was clipped.
        X : array-like of shape (n_rows, n_features)
        rng : numpy.random.Generator or numpy.random.RandomState

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            The same array.
        """
        if not np.any(self.parts):
            return draws
        means = predict_distribution(X).mean()
        rows, columns = np.nonzero(rng.random(draws.shape) < self.parts[0])
        variances = rng.choice(self._variances(0), size=len(rows), p=MASSES / MASSES.sum())
        draws[rows, columns] = means[rows] + np.sqrt(variances) * rng.standard_normal(len(rows))
        return draws


def clipped_targets(y, weights, clip=True):
    """Targets within their limits, and what predictions say of those beyond.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or (n_samples, n_targets)
    weights : ndarray of shape (n_samples,)
        How often each row counts.
    clip : bool, default=True
        False for targets that are to stay as they are.

    Returns
    -------
    clipped : ndarray of the shape of y
    far : FarTargets

    Warns
    -----
    UserWarning
        If there are such targets.
    """
    if not clip:
        return y, FarTargets()
    low, high = limits_of_extremes(y, "y", weights)
    clipped = np.clip(y, low, high)
    columns, own = (values.reshape(len(y), -1) for values in (y, clipped))
    beyond = columns != own
    if not beyond.any():
        return clipped, FarTargets()
    counts = weights @ beyond
    with np.errstate(invalid="ignore"):  # no limits, no middle
        distances = np.where(beyond, columns - 0.5 * (low + high), 0.0)
    farthest = np.abs(distances).max(axis=0)
    # In units of the farthest, squares do not overflow; columns within their limits have zeros.
    unit, n_far = (np.where(beyond.any(axis=0), each, 1.0) for each in (farthest, counts))
    scales = unit * np.sqrt(weights @ (distances / unit) ** 2 / n_far)
    scales = np.minimum(scales, LARGEST_SCALE)
    return clipped, FarTargets(counts / weights.sum(), scales, 2.0 + counts)


def _limits_of_column(values, weights, dominated):
    """Limits of one column."""
    # Halves, since the difference of two numbers can overflow.
    middle = 0.5 * _quantile(values, weights, 0.5)
    gaps = 0.5 * values - middle
    distances = np.abs(gaps)
    inner = distances <= _quantile(distances, weights, 1.0 - FEW)
    if inner.all():
        inner = distances < distances.max()
        if weights[~inner].sum() > MOST_OF_A_VALUE * weights.sum():
            return -np.inf, np.inf
    unit = distances[inner].max(initial=0.0)
    if unit == 0.0:
        return -np.inf, np.inf  # those few are all that there is to see
    rest = gaps[inner] / unit
    mean = np.average(rest, weights=weights[inner])
    deviation = np.sqrt(np.average((rest - mean) ** 2, weights=weights[inner]))
    # If the outer ones dominate, the squared deviation of all rows is theirs.
    with np.errstate(over="ignore"):
        total = np.sqrt(weights[~inner] @ (distances[~inner] / unit) ** 2 / weights.sum())
    if not total > dominated * deviation:
        return -np.inf, np.inf
    reach = FARTHEST * deviation * np.array([-1.0, 1.0])
    return 2.0 * (middle + unit * (mean + reach))


def _quantile(values, weights, level):
    """The smallest value with at least this part of the weight at it and below."""
    # But for what rounding does to the sums.
    level *= 1.0 - 1e-12
    return np.quantile(values, level, weights=weights, method="inverted_cdf")

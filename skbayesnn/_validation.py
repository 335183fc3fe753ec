"""Checks of constructor parameters, of weights and of what predictions are asked for, worded as
scikit-learn words its own; the location and scale of data, with a check that its squares can be
held.

scikit-learn's framework for parameters is private, so these few lines stand in for it.
"""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from skbayesnn._warnings import warn_user


class InvalidParameterError(ValueError, TypeError):
    """A constructor parameter has a value outside what it may be."""


@dataclass(frozen=True)
class Interval:
    """Numbers of a kind in an interval.

    Parameters
    ----------
    kind : type
        ``numbers.Real`` or ``numbers.Integral``; booleans are neither.
    low, high : float or None
        The ends; None for no limit.
    closed : {"both", "left", "right", "neither"}
        Which ends belong to the interval.
    """

    kind: type
    low: float | None
    high: float | None
    closed: str = "both"

    def __contains__(self, value):
        if not isinstance(value, self.kind) or isinstance(value, bool | np.bool_):
            return False
        above = self.low is None or (
            value >= self.low if self.closed in ("both", "left") else value > self.low
        )
        below = self.high is None or (
            value <= self.high if self.closed in ("both", "right") else value < self.high
        )
        return bool(above and below and np.isfinite(value))

    def __str__(self):
        kind = "an int" if self.kind is Integral else "a float"
        left = "[" if self.closed in ("both", "left") and self.low is not None else "("
        right = "]" if self.closed in ("both", "right") and self.high is not None else ")"
        low = "-inf" if self.low is None else self.low
        high = "inf" if self.high is None else self.high
        return f"{kind} in the range {left}{low}, {high}{right}"


@dataclass(frozen=True)
class Options:
    """One of a few values, compared by type too (``True`` is not 1).

    Scalars of numpy, which grids over arrays consist of, count as those of Python.
    """

    values: tuple

    def __contains__(self, value):
        value = value.item() if isinstance(value, np.generic) else value
        return any(type(value) is type(v) and value == v for v in self.values)

    def __str__(self):
        return "one of {" + ", ".join(repr(v) for v in self.values) + "}"


BOOLEAN = [Options((True, False))]
"""What a switch may be."""

N_JOBS = [Interval(Integral, None, None), Options((None,))]
"""What ``n_jobs`` may be."""


def positive(kind=Real):
    """All numbers of the kind above zero."""
    return (
        Interval(kind, 1, None, "left") if kind is Integral else Interval(Real, 0, None, "neither")
    )


def check_parameters(estimator, constraints):
    """Raise if a parameter of the estimator meets none of its constraints.

    Parameters
    ----------
    estimator : sklearn.base.BaseEstimator
    constraints : dict of str to list
        For each parameter what it may be: objects with ``in`` and ``str`` as above.

    Raises
    ------
    InvalidParameterError
        Names the parameter, the class, what the parameter may be and what it is.
    """
    for name, allowed in constraints.items():
        value = getattr(estimator, name)
        if not any(value in option for option in allowed):
            options = [str(option) for option in allowed]
            text = (
                options[0] if len(options) == 1 else ", ".join(options[:-1]) + " or " + options[-1]
            )
            raise InvalidParameterError(
                f"The {name!r} parameter of {type(estimator).__name__} must be {text}. "
                f"Got {value!r} instead."
            )


MOST_WEIGHT, NEGLIGIBLE = 1e100, 1e-100
"""Largest weight of a row, and part of the largest below which a weight is none."""

LEAST_TOTAL_WEIGHT = 0.25
"""Weights with a smaller sum tell less than a quarter of a row would: taken for a mistake."""

LEAST_MEAN_WEIGHT = 0.1
"""Weights with a smaller mean, such as those that sum to one, deserve a question."""


def positive_weights(sample_weight, X):
    """Rows that have a weight, and their weights, of whatever sum.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,), or None
        None is a weight of one for each row.
    X : array-like of shape (n_samples, ...)

    Returns
    -------
    rows : ndarray of shape (n_weighted,), or slice
        Numbers of the rows with a weight above zero; a slice where these are all.
    weights : ndarray of shape (n_weighted,)

    Raises
    ------
    ValueError
        If a weight is negative or not finite, all are zero, or their number is another than that
        of the rows.
    """
    if sample_weight is None:
        return slice(None), np.ones(len(X))
    weights = column_or_1d(
        check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    )
    check_consistent_length(X, weights)
    if (weights < 0).any():
        raise ValueError("sample_weight must not be negative: leave such rows out.")
    if not (weights > 0).any():
        raise ValueError("Every sample_weight is zero: at least one weight must be positive.")
    rows = slice(None) if (weights > 0).all() else np.flatnonzero(weights)
    return rows, weights[rows]


def check_sample_weight(sample_weight, X):
    """As :func:`positive_weights`, for a fit: a weight of k is k equal rows, of 0 no row.

    Weights below :data:`NEGLIGIBLE` times the largest are taken for 0: their inverses overflow, and
    such rows cannot change any digit of a result.

    Raises
    ------
    ValueError
        Also if their sum is below :data:`LEAST_TOTAL_WEIGHT`, or one is above :data:`MOST_WEIGHT`.

    Warns
    -----
    UserWarning
        If the mean of the positive weights is below :data:`LEAST_MEAN_WEIGHT`.
    """
    rows, weights = positive_weights(sample_weight, X)
    if sample_weight is None:
        return rows, weights
    largest = weights.max()
    if largest > MOST_WEIGHT:
        raise ValueError(
            f"sample_weight is up to {largest:.1g}, but at most {MOST_WEIGHT:.0e} rows can be "
            "counted. Divide sample_weight by a constant so that its mean is 1."
        )
    kept = weights >= NEGLIGIBLE * largest
    if not kept.all():
        rows, weights = np.arange(len(X))[rows][kept], weights[kept]
    total, advice = weights.sum(), "Multiply sample_weight by a constant so that its mean is 1"
    if total < LEAST_TOTAL_WEIGHT:
        raise ValueError(
            f"sample_weight sums to {total:.2g}: a row of weight w counts as w rows, so nothing "
            f"can be learned. {advice}."
        )
    if total < LEAST_MEAN_WEIGHT * weights.size:
        warn_user(
            f"sample_weight sums to {total:.2g}: a row of weight w counts as w rows, so these "
            f"{weights.size} rows count as {total:.2g}. {advice} if it only says which rows matter "
            "more.",
        )
    return rows, weights


def check_n_samples(n_samples):
    """Raise a ValueError for what is no number of draws."""
    if n_samples not in positive(Integral):
        raise ValueError(f"n_samples must be a positive int. Got {n_samples!r} instead.")


def check_levels(q):
    """Quantile levels as an array of one dimension.

    Parameters
    ----------
    q : array-like of shape (n_quantiles,) or float

    Returns
    -------
    levels : ndarray of shape (n_quantiles,)

    Raises
    ------
    ValueError
        If there is none, or one is not in (0, 1).
    """
    levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
    if levels.ndim != 1 or levels.size == 0 or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(
            "quantiles must be a number in the range (0, 1) or a list of such numbers. "
            f"Got {q!r} instead."
        )
    return levels


def central_levels(coverage):
    """Levels of the ends of central intervals.

    Parameters
    ----------
    coverage : float

    Returns
    -------
    levels : tuple of two floats
        (1 - coverage)/2 and (1 + coverage)/2.

    Raises
    ------
    ValueError
        If ``coverage`` is not in (0, 1).
    """
    if not (isinstance(coverage, Real) and 0 < coverage < 1):
        raise ValueError(f"coverage must be in the range (0, 1). Got {coverage!r} instead.")
    return 0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage


def check_joint_rows(n_rows, most):
    """Raise a ValueError for more rows than a function can be drawn at jointly."""
    if n_rows > most:
        raise ValueError(
            f"sample_y draws the function jointly over the rows of X: up to {most} of "
            f"them, but there are {n_rows}. Use fewer rows, or "
            "predict_distribution(X).sample(n_samples) for draws that are independent from row to "
            "row."
        )


def location_and_scale(values, name, weights=None):
    """Mean and standard deviation of each column; 1 for the deviation of a constant one.

    Parameters
    ----------
    values : ndarray of shape (n_samples,) or (n_samples, n_columns)
    name : str
        What the values are, for the error message.
    weights : ndarray of shape (n_samples,) or None, default=None
        How often each row counts.

    Returns
    -------
    location, scale : float or ndarray of shape (n_columns,)

    Raises
    ------
    ValueError
        If the square of a standard deviation leaves the range of doubles.
    """
    # Divided first: squares of very large or small numbers overflow or vanish.
    unit = np.abs(values).max(axis=0)
    unit = np.where(unit == 0.0, 1.0, unit)
    scaled = values / unit
    mean = np.average(scaled, axis=0, weights=weights)
    deviation = np.sqrt(np.average((scaled - mean) ** 2, axis=0, weights=weights))
    # A constant's deviation is rounding error.
    scale = np.where(deviation > 1e-14, unit * deviation, 1.0)
    if not ((scale > 1e-153) & (scale < 1e153)).all():
        raise ValueError(
            f"{name} has a standard deviation of {scale.min():.0e} to {scale.max():.0e}, "
            f"whose square a float cannot hold; multiply {name} by a constant."
        )
    return unit * mean, scale

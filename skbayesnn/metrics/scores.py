"""Scores of predictive distributions, quantiles and intervals, as functions of arrays."""

import numpy as np
from sklearn.utils.validation import check_array

from skbayesnn._typing import ArrayLike
from skbayesnn._validation import central_levels, check_levels, positive_weights
from skbayesnn.base import check_distribution, check_observations
from skbayesnn.predictive import PredictiveMixture


def mean_log_predictive_density(
    y_true: ArrayLike, distribution: PredictiveMixture, *, sample_weight: ArrayLike | None = None
) -> float:
    """Mean log predictive density, in nats; greater is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Observations.
    distribution : PredictiveMixture
        Their predictive distributions, in the units of y.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weight of each row. A weight of k counts as k equal rows.

    Returns
    -------
    score : float

    Raises
    ------
    ValueError
        If y is not finite, if its length is not that of the distribution, or if a weight is
        negative.
    TypeError
        If ``distribution`` is not a PredictiveMixture.

    Examples
    --------
    >>> from skbayesnn.metrics import mean_log_predictive_density
    >>> from skbayesnn.predictive import PredictiveMixture
    >>> normal = PredictiveMixture([1.0], [[0.0], [2.0]], [[1.0], [1.0]])
    >>> round(mean_log_predictive_density([0.0, 3.0], normal), 4)
    -1.1689
    """
    check_distribution(distribution)
    y_true = check_observations(y_true, len(distribution))
    return weighted_mean(distribution.logpdf(y_true), sample_weight)


def mean_crps(
    y_true: ArrayLike, distribution: PredictiveMixture, *, sample_weight: ArrayLike | None = None
) -> float:
    """Mean continuous ranked probability score, in the units of y; 0 is best.

    See :meth:`skbayesnn.predictive.PredictiveMixture.crps`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Observations.
    distribution : PredictiveMixture
        Their predictive distributions, in the units of y.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weight of each row. A weight of k counts as k equal rows.

    Returns
    -------
    loss : float

    Raises
    ------
    ValueError
        If y is not finite, if its length is not that of the distribution, or if a weight is
        negative.
    TypeError
        If ``distribution`` is not a PredictiveMixture.

    Examples
    --------
    >>> from skbayesnn.metrics import mean_crps
    >>> from skbayesnn.predictive import PredictiveMixture
    >>> normal = PredictiveMixture([1.0], [[0.0], [2.0]], [[1.0], [1.0]])
    >>> round(mean_crps([0.0, 3.0], normal), 4)
    0.4181
    """
    check_distribution(distribution)
    y_true = check_observations(y_true, len(distribution))
    return weighted_mean(distribution.crps(y_true), sample_weight)


def mean_pinball_loss(
    y_true: ArrayLike,
    y_quantiles: ArrayLike,
    quantiles: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Pinball loss, averaged over rows and levels, in the units of y; 0 is best.

    The loss of a predicted quantile q at level p is max(p (y - q), (p - 1)(y - q)).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Observations.
    y_quantiles : array-like of shape (n_samples, n_quantiles)
        Predicted quantiles.
    quantiles : array-like of shape (n_quantiles,)
        Their levels, in (0, 1).
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weight of each row. A weight of k counts as k equal rows.

    Returns
    -------
    loss : float

    Raises
    ------
    ValueError
        If the shapes do not match, a number is not finite or a level is not in (0, 1).

    Examples
    --------
    >>> from skbayesnn.metrics import mean_pinball_loss
    >>> mean_pinball_loss([1.0], [[0.0, 2.0]], [0.25, 0.75])
    0.25
    """
    levels = check_levels(quantiles)
    y_quantiles = _check_columns(y_quantiles, levels.size, "y_quantiles")
    excess = check_observations(y_true, len(y_quantiles))[:, None] - y_quantiles
    losses = np.maximum(levels * excess, (levels - 1.0) * excess)
    return weighted_mean(losses.mean(axis=1), sample_weight)


def interval_coverage(
    y_true: ArrayLike, interval: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Fraction of the observations that lie in their intervals, ends included.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Observations.
    interval : array-like of shape (n_samples, 2)
        Lower and upper ends.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weight of each row. A weight of k counts as k equal rows.

    Returns
    -------
    coverage : float
        In [0, 1]. It should equal the nominal coverage.

    Raises
    ------
    ValueError
        If the shapes do not match, a number is not finite or a lower end is above its
        upper end.

    Examples
    --------
    >>> from skbayesnn.metrics import interval_coverage
    >>> interval_coverage([1.0, 5.0], [[0.0, 2.0], [0.0, 2.0]])
    0.5
    """
    interval = _check_interval(interval)
    y_true = check_observations(y_true, len(interval))
    return weighted_mean((interval[:, 0] <= y_true) & (y_true <= interval[:, 1]), sample_weight)


def mean_interval_width(interval: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean width of intervals, in the units of y.

    Parameters
    ----------
    interval : array-like of shape (n_samples, 2)
        Lower and upper ends.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weight of each row. A weight of k counts as k equal rows.

    Returns
    -------
    width : float

    Raises
    ------
    ValueError
        If there are not two columns, a number is not finite or a lower end is above its
        upper end.

    Examples
    --------
    >>> from skbayesnn.metrics import mean_interval_width
    >>> mean_interval_width([[0.0, 2.0], [0.0, 4.0]])
    3.0
    """
    interval = _check_interval(interval)
    return weighted_mean(interval[:, 1] - interval[:, 0], sample_weight)


def mean_interval_score(
    y_true: ArrayLike,
    interval: ArrayLike,
    coverage: float = 0.9,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Interval score of Gneiting and Raftery (2007, eq. 43), in the units of y; 0 is best.

    The score is the width of the interval, plus 2/(1 - coverage) times the distance to the
    observation if the interval misses it.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Observations.
    interval : array-like of shape (n_samples, 2)
        Lower and upper ends of central intervals.
    coverage : float, default=0.9
        Their nominal coverage, in (0, 1).
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weight of each row. A weight of k counts as k equal rows.

    Returns
    -------
    loss : float

    Raises
    ------
    ValueError
        If the shapes do not match, a number is not finite, a lower end is above its upper
        end or ``coverage`` is not in (0, 1).

    Examples
    --------
    >>> from skbayesnn.metrics import mean_interval_score
    >>> mean_interval_score([1.0, 3.0], [[0.0, 2.0], [0.0, 2.0]], coverage=0.5)
    4.0
    """
    central_levels(coverage)
    interval = _check_interval(interval)
    y_true = check_observations(y_true, len(interval))
    miss = np.maximum(interval[:, 0] - y_true, 0) + np.maximum(y_true - interval[:, 1], 0)
    return weighted_mean(
        interval[:, 1] - interval[:, 0] + 2.0 / (1.0 - coverage) * miss, sample_weight
    )


def _check_columns(array, n_columns, name):
    array = check_array(array, dtype=np.float64, input_name=name)
    if array.shape[1] != n_columns:
        raise ValueError(f"{name} must have {n_columns} columns. Got {array.shape[1]}.")
    return array


def _check_interval(interval):
    interval = _check_columns(interval, 2, "interval")
    if (interval[:, 0] > interval[:, 1]).any():
        raise ValueError("interval must have no lower end above its upper end.")
    return interval


def weighted_mean(scores, sample_weight):
    """Mean of the scores of rows; only ratios of ``sample_weight`` count, None is equal weights."""
    rows, weights = positive_weights(sample_weight, scores)
    return float(np.average(scores[rows], weights=weights))

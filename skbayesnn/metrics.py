"""Scores of predictive distributions, and scorers for scikit-learn's model selection.

The functions take observations and a :class:`~skbayesnn.predictive.PredictiveMixture`,
quantiles or intervals. The scorers are callables ``(estimator, X, y)`` for ``scoring=``
of ``GridSearchCV``, ``cross_validate`` and the like, on an estimator or a pipeline that
ends in one: greater is better, so that losses have their sign changed.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_array

from skbayesnn.base import check_observations
from skbayesnn.predictive import check_levels


def mean_log_predictive_density(y_true, distribution):
    """Mean log predictive density, in nats; greater is better.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
    distribution : PredictiveMixture

    Returns
    -------
    score : float
    """
    return float(np.mean(distribution.logpdf(check_observations(y_true, len(distribution)))))


def mean_crps(y_true, distribution):
    """Mean continuous ranked probability score, in the units of y; 0 is best.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
    distribution : PredictiveMixture

    Returns
    -------
    loss : float
    """
    return float(np.mean(distribution.crps(check_observations(y_true, len(distribution)))))


def mean_pinball_loss(y_true, y_quantiles, quantiles):
    """Pinball loss, averaged over rows and levels, in the units of y; 0 is best.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
    y_quantiles : array-like of shape (n_samples, n_quantiles)
        Predicted quantiles.
    quantiles : array-like of shape (n_quantiles,)
        Their levels, in (0, 1).

    Returns
    -------
    loss : float
    """
    levels = check_levels(quantiles)
    y_quantiles = _check_columns(y_quantiles, levels.size, "y_quantiles")
    excess = check_observations(y_true, len(y_quantiles))[:, None] - y_quantiles
    return float(np.mean(np.maximum(levels * excess, (levels - 1.0) * excess)))


def interval_coverage(y_true, interval):
    """Share of the observations that lie in their intervals, ends included.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
    interval : array-like of shape (n_samples, 2)

    Returns
    -------
    coverage : float
    """
    interval = _check_columns(interval, 2, "interval")
    y_true = check_observations(y_true, len(interval))
    return float(np.mean((interval[:, 0] <= y_true) & (y_true <= interval[:, 1])))


def mean_interval_width(interval):
    """Mean width of intervals, in the units of y.

    Parameters
    ----------
    interval : array-like of shape (n_samples, 2)

    Returns
    -------
    width : float
    """
    interval = _check_columns(interval, 2, "interval")
    return float(np.mean(interval[:, 1] - interval[:, 0]))


def mean_interval_score(y_true, interval, coverage=0.9):
    """Interval score of Gneiting and Raftery (2007), in the units of y; 0 is best.

    The width of the interval, plus 2/(1 - coverage) times the distance of an observation
    that it misses.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
    interval : array-like of shape (n_samples, 2)
        Central intervals.
    coverage : float, default=0.9
        Their nominal coverage, in (0, 1).

    Returns
    -------
    loss : float
    """
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be in the range (0, 1). Got {coverage!r} instead.")
    interval = _check_columns(interval, 2, "interval")
    y_true = check_observations(y_true, len(interval))
    miss = np.maximum(interval[:, 0] - y_true, 0) + np.maximum(y_true - interval[:, 1], 0)
    return float(np.mean(interval[:, 1] - interval[:, 0] + 2.0 / (1.0 - coverage) * miss))


def _check_columns(array, n_columns, name):
    array = check_array(array, dtype=np.float64, input_name=name)
    if array.shape[1] != n_columns:
        raise ValueError(f"{name} must have {n_columns} columns. Got {array.shape[1]}.")
    return array


@dataclass(frozen=True)
class DistributionScorer:
    """Scorer of the predictive distribution.

    Parameters
    ----------
    score : callable
        ``score(y_true, distribution)``, a function of this module.
    sign : {1, -1}
        -1 for a loss.

    Examples
    --------
    >>> from skbayesnn.metrics import crps_scorer
    >>> crps_scorer
    DistributionScorer(score=mean_crps, sign=-1)
    """

    score: callable
    sign: int = 1

    def __call__(self, estimator, X, y):
        return self.sign * self.score(y, _predict(estimator, X, return_distribution=True))

    def __repr__(self):
        return f"DistributionScorer(score={self.score.__name__}, sign={self.sign})"


@dataclass(frozen=True)
class PinballScorer:
    """Scorer of predicted quantiles: the pinball loss with its sign changed.

    Parameters
    ----------
    quantiles : tuple of float
        Levels in (0, 1).
    """

    quantiles: tuple = (0.05, 0.25, 0.5, 0.75, 0.95)

    def __call__(self, estimator, X, y):
        predicted = _predict(estimator, X, quantiles=self.quantiles)
        return -mean_pinball_loss(y, predicted, self.quantiles)


@dataclass(frozen=True)
class IntervalScorer:
    """Scorer of central prediction intervals.

    Parameters
    ----------
    kind : {"score", "coverage", "width"}
        The interval score or the mean width with its sign changed, or the coverage as it
        is: a number to look at, not to maximise.
    coverage : float
        Nominal coverage, in (0, 1).
    """

    kind: str = "score"
    coverage: float = 0.9

    def __call__(self, estimator, X, y):
        tail = 0.5 - 0.5 * self.coverage
        interval = _predict(estimator, X, quantiles=(tail, 1.0 - tail))
        if self.kind == "coverage":
            return interval_coverage(y, interval)
        if self.kind == "width":
            return -mean_interval_width(interval)
        if self.kind == "score":
            return -mean_interval_score(y, interval, self.coverage)
        raise ValueError(f"kind must be 'score', 'coverage' or 'width'. Got {self.kind!r}.")


def _predict(estimator, X, **keyword):
    """Predict with a keyword, by the best estimator where a search is given."""
    try:
        return getattr(estimator, "best_estimator_", estimator).predict(X, **keyword)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise TypeError(
            f"{type(estimator).__name__} cannot be scored by this scorer: its predict does "
            f"not take {next(iter(keyword))!r}. Use a regressor of skbayesnn, or a pipeline "
            "that ends in one."
        ) from error


#: Mean log predictive density.
log_predictive_density_scorer = DistributionScorer(mean_log_predictive_density)
#: Continuous ranked probability score, sign changed.
crps_scorer = DistributionScorer(mean_crps, -1)
#: Pinball loss at five levels, sign changed.
pinball_scorer = PinballScorer()
#: Interval score of 90 % intervals, sign changed.
interval_scorer = IntervalScorer("score")
#: Coverage of 90 % intervals.
interval_coverage_scorer = IntervalScorer("coverage")
#: Mean width of 90 % intervals, sign changed.
interval_width_scorer = IntervalScorer("width")

"""Scores of predictive distributions, and scorers for scikit-learn's model selection.

The functions take observations and a :class:`~skbayesnn.predictive.PredictiveMixture`,
quantiles or intervals. The scorers are callables ``(estimator, X, y, sample_weight=None)`` for
``scoring=`` of ``GridSearchCV``, ``cross_validate`` and the like, on an estimator, a fitted
search over one, or a pipeline that ends in either. With scikit-learn's metadata routing,
``crps_scorer.set_score_request(sample_weight=True)`` asks for the weights. Large tables are
predicted and scored a block of rows at a time. Greater is better, so that losses have their
sign changed:

=============================  =============================  ============================
scorer                         returns                        for model selection
=============================  =============================  ============================
log_predictive_density_scorer  mean log predictive density    yes, a proper score
crps_scorer                    minus the mean CRPS            yes, a proper score
pinball_scorer                 minus the mean pinball loss    yes, proper for its levels
interval_scorer                minus the mean interval score  yes, proper for its interval
interval_coverage_scorer       coverage of the intervals      no: compare with the nominal
interval_width_scorer          minus the mean width           no: the narrowest is no goal
=============================  =============================  ============================

Other levels and coverages: ``PinballScorer((0.1, 0.5))``,
``IntervalScorer("coverage", 0.5)``; means of other scores of a row's distribution:
``DistributionScorer(row_score, sign)``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import check_array

from skbayesnn._typing import ArrayLike
from skbayesnn._validation import check_sample_weight
from skbayesnn.base import check_observations, score_rows
from skbayesnn.predictive import PredictiveMixture, central_levels, check_levels


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
        Weight of each row; a weight of k is k equal rows.

    Returns
    -------
    score : float

    Raises
    ------
    ValueError
        If y is not finite or not of the length of the distribution, or a weight is negative.
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
    _check_distribution(distribution)
    y_true = check_observations(y_true, len(distribution))
    return _mean(distribution.logpdf(y_true), sample_weight)


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
        Weight of each row; a weight of k is k equal rows.

    Returns
    -------
    loss : float

    Raises
    ------
    ValueError
        If y is not finite or not of the length of the distribution, or a weight is negative.
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
    _check_distribution(distribution)
    y_true = check_observations(y_true, len(distribution))
    return _mean(distribution.crps(y_true), sample_weight)


def mean_pinball_loss(
    y_true: ArrayLike,
    y_quantiles: ArrayLike,
    quantiles: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Pinball loss, averaged over rows and levels, in the units of y; 0 is best.

    max(p (y - q), (p - 1)(y - q)) for a quantile q at level p.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Observations.
    y_quantiles : array-like of shape (n_samples, n_quantiles)
        Predicted quantiles.
    quantiles : array-like of shape (n_quantiles,)
        Their levels, in (0, 1).
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weight of each row; a weight of k is k equal rows.

    Returns
    -------
    loss : float

    Raises
    ------
    ValueError
        If the shapes do not fit, a number is not finite or a level is not in (0, 1).

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
    return _mean(losses.mean(axis=1), sample_weight)


def interval_coverage(
    y_true: ArrayLike, interval: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Share of the observations that lie in their intervals, ends included.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Observations.
    interval : array-like of shape (n_samples, 2)
        Lower and upper ends.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weight of each row; a weight of k is k equal rows.

    Returns
    -------
    coverage : float
        In [0, 1]; best where it equals the nominal coverage.

    Raises
    ------
    ValueError
        If the shapes do not fit, a number is not finite or a lower end is above its
        upper end.

    Examples
    --------
    >>> from skbayesnn.metrics import interval_coverage
    >>> interval_coverage([1.0, 5.0], [[0.0, 2.0], [0.0, 2.0]])
    0.5
    """
    interval = _check_interval(interval)
    y_true = check_observations(y_true, len(interval))
    return _mean((interval[:, 0] <= y_true) & (y_true <= interval[:, 1]), sample_weight)


def mean_interval_width(interval: ArrayLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Mean width of intervals, in the units of y.

    Parameters
    ----------
    interval : array-like of shape (n_samples, 2)
        Lower and upper ends.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weight of each row; a weight of k is k equal rows.

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
    return _mean(interval[:, 1] - interval[:, 0], sample_weight)


def mean_interval_score(
    y_true: ArrayLike,
    interval: ArrayLike,
    coverage: float = 0.9,
    *,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Interval score of Gneiting and Raftery (2007, eq. 43), in the units of y; 0 is best.

    The width of the interval, plus 2/(1 - coverage) times the distance of an observation
    that it misses.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Observations.
    interval : array-like of shape (n_samples, 2)
        Lower and upper ends of central intervals.
    coverage : float, default=0.9
        Their nominal coverage, in (0, 1).
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weight of each row; a weight of k is k equal rows.

    Returns
    -------
    loss : float

    Raises
    ------
    ValueError
        If the shapes do not fit, a number is not finite, a lower end is above its upper
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
    return _mean(interval[:, 1] - interval[:, 0] + 2.0 / (1.0 - coverage) * miss, sample_weight)


def _check_distribution(distribution):
    if not isinstance(distribution, PredictiveMixture):
        raise TypeError(f"Expected a PredictiveMixture. Got {type(distribution).__name__}.")


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


def _mean(scores, sample_weight):
    rows, weights = check_sample_weight(sample_weight, scores)
    return float(np.average(scores[rows], weights=weights))


@dataclass(frozen=True)
class _Scorer:
    """What scikit-learn's metadata routing asks of a scorer."""

    _weight_request: bool | str | None = field(default=None, kw_only=True, repr=False)

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Say whether scoring takes weights, where metadata routing is enabled.

        Parameters
        ----------
        sample_weight : bool, str or None
            True to take those called "sample_weight"; False to ignore them; None to raise an
            error where there are some; or the name under which to take them.

        Returns
        -------
        scorer : object
            Another scorer; this one does not change.
        """
        return replace(self, _weight_request=sample_weight)

    def get_metadata_routing(self) -> MetadataRequest:
        """The request, as scikit-learn's routing reads it."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._weight_request)
        return request


@dataclass(frozen=True)
class DistributionScorer(_Scorer):
    """Scorer of the predictive distribution: the mean of a score of each row.

    Parameters
    ----------
    row_score : callable
        ``row_score(distribution, y_true)``, of shape (n_samples,): a method of
        :class:`~skbayesnn.predictive.PredictiveMixture`, or a function like one.
    sign : {1, -1}, default=1
        -1 for a loss.

    Examples
    --------
    >>> from skbayesnn.metrics import crps_scorer
    >>> crps_scorer
    DistributionScorer(row_score=crps, sign=-1)
    """

    row_score: Callable
    sign: int = 1

    def __call__(self, estimator, X, y, sample_weight=None):
        """Score predictions of y at X; TypeError where ``predict`` has no distribution."""

        def predicted(rows):
            return predict_with(estimator, rows, return_distribution=True)

        return self.sign * _mean(score_rows(predicted, self.row_score, X, y), sample_weight)

    def __repr__(self):
        return f"DistributionScorer(row_score={self.row_score.__name__}, sign={self.sign})"


@dataclass(frozen=True)
class PinballScorer(_Scorer):
    """Scorer of predicted quantiles: the mean pinball loss with its sign changed.

    Parameters
    ----------
    quantiles : tuple of float, default=(0.05, 0.25, 0.5, 0.75, 0.95)
        Levels in (0, 1).

    Examples
    --------
    >>> from skbayesnn.metrics import PinballScorer
    >>> PinballScorer((0.1, 0.9))
    PinballScorer(quantiles=(0.1, 0.9))
    """

    quantiles: tuple = (0.05, 0.25, 0.5, 0.75, 0.95)

    def __call__(self, estimator, X, y, sample_weight=None):
        """Score predictions of y at X; TypeError where ``predict`` has no quantiles."""
        predicted = predict_with(estimator, X, quantiles=self.quantiles)
        return -mean_pinball_loss(y, predicted, self.quantiles, sample_weight=sample_weight)


@dataclass(frozen=True)
class IntervalScorer(_Scorer):
    """Scorer of central prediction intervals.

    Parameters
    ----------
    kind : {"score", "coverage", "width"}, default="score"
        The mean interval score or the mean width with its sign changed, or the coverage
        as it is. Only the interval score is for model selection: the widest intervals
        have the greatest coverage, and the narrowest the least width.
    coverage : float, default=0.9
        Nominal coverage, in (0, 1).

    Examples
    --------
    >>> from skbayesnn.metrics import IntervalScorer
    >>> IntervalScorer("coverage", 0.5)
    IntervalScorer(kind='coverage', coverage=0.5)
    """

    kind: str = "score"
    coverage: float = 0.9

    def __post_init__(self):
        if self.kind not in ("score", "coverage", "width"):
            raise ValueError(f"kind must be 'score', 'coverage' or 'width'. Got {self.kind!r}.")
        central_levels(self.coverage)

    def __call__(self, estimator, X, y, sample_weight=None):
        """Score predictions of y at X; TypeError where ``predict`` has no quantiles."""
        interval = predict_with(estimator, X, quantiles=central_levels(self.coverage))
        if self.kind == "coverage":
            return interval_coverage(y, interval, sample_weight=sample_weight)
        if self.kind == "width":
            return -mean_interval_width(interval, sample_weight=sample_weight)
        return -mean_interval_score(y, interval, self.coverage, sample_weight=sample_weight)


def predict_with(estimator: BaseEstimator, X: ArrayLike, **keyword: Any) -> Any:
    """Predict with a keyword, by the best estimator where a search is given or ends a pipeline."""
    if isinstance(estimator, Pipeline) and hasattr(estimator[-1], "best_estimator_"):
        for _, transformer in estimator.steps[:-1]:
            X = X if transformer in (None, "passthrough") else transformer.transform(X)
        estimator = estimator[-1]
    try:
        return getattr(estimator, "best_estimator_", estimator).predict(X, **keyword)
    except TypeError as error:
        # The words of Python for a function, and of scikit-learn's metadata routing.
        if "got an unexpected keyword" not in str(error) and "got unexpected arg" not in str(error):
            raise
        raise TypeError(
            f"{type(estimator).__name__} cannot be scored by this scorer: its predict does "
            f"not take {next(iter(keyword))!r}. Use a regressor of skbayesnn, or a pipeline "
            "that ends in one."
        ) from error


#: Mean log predictive density.
log_predictive_density_scorer = DistributionScorer(PredictiveMixture.logpdf)
#: Continuous ranked probability score, sign changed.
crps_scorer = DistributionScorer(PredictiveMixture.crps, -1)
#: Pinball loss at five levels, sign changed.
pinball_scorer = PinballScorer()
#: Interval score of 90 % intervals, sign changed.
interval_scorer = IntervalScorer("score")
#: Coverage of 90 % intervals.
interval_coverage_scorer = IntervalScorer("coverage")
#: Mean width of 90 % intervals, sign changed.
interval_width_scorer = IntervalScorer("width")

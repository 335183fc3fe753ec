"""Scorers for scikit-learn's model selection: callables ``(estimator, X, y, sample_weight)``."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.utils.metadata_routing import MetadataRequest

from skbayesnn._pipelines import final_step, one_inside
from skbayesnn._typing import ArrayLike
from skbayesnn._validation import central_levels, check_levels
from skbayesnn.base import score_rows
from skbayesnn.metrics.scores import (
    interval_coverage,
    mean_interval_score,
    mean_interval_width,
    mean_pinball_loss,
    weighted_mean,
)
from skbayesnn.predictive import PredictiveMixture


@dataclass(frozen=True)
class _Scorer:
    """What scikit-learn's metadata routing asks of a scorer."""

    _weight_request: bool | str | None = field(default=None, kw_only=True, repr=False)

    def __call__(self, estimator, X, y, sample_weight=None):
        """Score predictions of y at X; TypeError where ``predict`` does not offer what it needs."""
        if np.ndim(y) == 2 and np.shape(y)[1] > 1:
            raise ValueError(
                f"Scorers take a single target, but y has {np.shape(y)[1]}. Score each target by "
                "its own predictive distribution: predict_distribution(X) returns a list of them."
            )
        return self._score(estimator, X, y, sample_weight)

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Say whether scoring takes weights, where metadata routing is enabled.

        Parameters
        ----------
        sample_weight : bool, str or None
            True to use those called "sample_weight"; False to ignore them; None to raise an error
            if there are any; or the name of those to use.

        Returns
        -------
        scorer : object
            A new scorer; this one does not change.
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
        ``row_score(distribution, y_true)`` returns an array of shape (n_samples,). It can be a
        method of :class:`~skbayesnn.predictive.PredictiveMixture`, or a function with the same
        arguments.
    sign : {1, -1}, default=1
        1 if greater scores are better, -1 for a loss.

    Examples
    --------
    >>> from skbayesnn.metrics import crps_scorer
    >>> crps_scorer
    DistributionScorer(row_score=crps, sign=-1)
    """

    row_score: Callable
    sign: int = 1

    def __post_init__(self):
        if self.sign not in (1, -1):
            raise ValueError(f"sign must be 1 or -1. Got {self.sign!r}.")

    def _score(self, estimator, X, y, sample_weight):

        def predicted(rows):
            return predict_with(estimator, rows, return_distribution=True)

        return self.sign * weighted_mean(score_rows(predicted, self.row_score, X, y), sample_weight)

    def __repr__(self):
        # A partial function has no name.
        name = getattr(self.row_score, "__name__", repr(self.row_score))
        return f"DistributionScorer(row_score={name}, sign={self.sign})"


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

    def __post_init__(self):
        check_levels(self.quantiles)

    def _score(self, estimator, X, y, sample_weight):
        predicted = predict_with(estimator, X, quantiles=self.quantiles)
        return -mean_pinball_loss(y, predicted, self.quantiles, sample_weight=sample_weight)


@dataclass(frozen=True)
class IntervalScorer(_Scorer):
    """Scorer of central prediction intervals.

    Parameters
    ----------
    kind : {"score", "coverage", "width"}, default="score"
        "score" and "width" are minus the mean interval score and minus the mean width; "coverage"
        is the coverage. Use only "score" for model selection: the widest intervals have the
        greatest coverage, and the narrowest the smallest width.
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

    def _score(self, estimator, X, y, sample_weight):
        interval = predict_with(estimator, X, quantiles=central_levels(self.coverage))
        if self.kind == "coverage":
            return interval_coverage(y, interval, sample_weight=sample_weight)
        if self.kind == "width":
            return -mean_interval_width(interval, sample_weight=sample_weight)
        return -mean_interval_score(y, interval, self.coverage, sample_weight=sample_weight)


def predict_with(estimator: BaseEstimator, X: ArrayLike, **keyword: Any) -> Any:
    """Predict with a keyword, by the best estimator where a search is given or ends a pipeline."""
    inner = estimator
    while hasattr(final_step(inner), "best_estimator_"):
        inner, X = one_inside(inner, X)
    if isinstance(final_step(inner), TransformedTargetRegressor):
        raise TypeError(
            "TransformedTargetRegressor transforms points, not distributions. Transform y before "
            "the fit, or leave the transformation out: the regressors of skbayesnn standardise "
            "their targets."
        )
    try:
        return inner.predict(X, **keyword)
    except TypeError as error:
        # The words of Python for a function, and of scikit-learn's metadata routing.
        if "got an unexpected keyword" not in str(error) and "got unexpected arg" not in str(error):
            raise
        raise TypeError(
            f"predict of {type(estimator).__name__} does not accept {next(iter(keyword))!r}. Use a "
            "regressor of skbayesnn, or a pipeline or search that ends in one."
        ) from error


#: Mean log predictive density, in nats.
log_predictive_density_scorer = DistributionScorer(PredictiveMixture.logpdf)
#: Minus the mean continuous ranked probability score (CRPS).
crps_scorer = DistributionScorer(PredictiveMixture.crps, -1)
#: Minus the mean pinball loss at the levels 0.05, 0.25, 0.5, 0.75 and 0.95.
pinball_scorer = PinballScorer()
#: Minus the mean interval score of 90 % intervals.
interval_scorer = IntervalScorer("score")
#: Coverage of 90 % intervals; compare it with 0.9.
interval_coverage_scorer = IntervalScorer("coverage")
#: Minus the mean width of 90 % intervals.
interval_width_scorer = IntervalScorer("width")

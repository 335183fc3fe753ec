"""What a member of a stack predicts, as a ``PredictiveMixture``, whatever kind of regressor it is.

=============================  ===================================================================
a regressor with               has the predictive distribution
=============================  ===================================================================
``predict(return_distribution  the one that it returns
=True)``
``predict(return_std=True)``   a Gaussian
``predict(quantiles=…)``       a hundred Gaussians of equal weight a row, at the quantiles of levels
                               0.005, 0.015, …, 0.995, as wide as Silverman's rule has it for a
                               tenth of the training rows, or as the quantiles lie apart
no more than ``predict``       its prediction plus an error, see :class:`ErrorLaw`
=============================  ===================================================================

The last two have no tails beyond the values they have seen. They are therefore mixed with a law of
targets that are unlike these (:mod:`skbayesnn.pooling.unseen`).
"""

import inspect

import numpy as np
from sklearn.dummy import DummyRegressor

from skbayesnn._pipelines import final_step
from skbayesnn._validation import location_and_scale
from skbayesnn.metrics.scorers import predict_with
from skbayesnn.pooling.unseen import with_unseen
from skbayesnn.predictive import PredictiveMixture

_N_LEVELS = 100
LEVELS = (np.arange(_N_LEVELS) + 0.5) / _N_LEVELS
"""Levels of the quantiles that stand for a distribution."""

_LEAST_WIDTH = 1e-3
"""Least width of a Gaussian at a quantile, in standard deviations of the targets: ties of the
training targets would otherwise be point masses."""

_GROUPS, _ROWS_A_GROUP = 10, 50
"""Groups of rows by prediction, at most, and rows in each, at least, that tell the scale of a point
regressor's errors."""


def kind_of(member):
    """How a fitted member predicts: "distribution", "std", "quantiles" or "point"."""
    step = final_step(member)
    while hasattr(step, "best_estimator_"):
        step = final_step(step.best_estimator_)
    if hasattr(step, "predict_distribution"):
        return "distribution"
    taken = inspect.signature(step.predict).parameters
    # The dummy's standard deviation is zero, whatever its errors are.
    if "return_std" in taken and not isinstance(step, DummyRegressor):
        return "std"
    return "quantiles" if "quantiles" in taken else "point"


class TargetSpread:
    """Location and spread of the training targets, and their number."""

    def __init__(self, y, sample_weight=None):
        self.mean, self.std = map(float, location_and_scale(y, "y", sample_weight))
        self.n_rows = len(y) if sample_weight is None else float(np.sum(sample_weight))

    def smooth(self, values, n_known):
        """A density from quantiles at :data:`LEVELS`.

        Parameters
        ----------
        values : ndarray of shape (n_samples, 100)
        n_known : float
            Rows that the quantiles of a row are known from. Silverman's rule turns it into the
            width of a Gaussian; where quantiles lie further apart, theirs is half the distance
            between the neighbours.
        """
        steps = np.diff(values, axis=1)
        widths = np.empty(values.shape)
        widths[:, 1:-1] = 0.5 * (steps[:, :-1] + steps[:, 1:])
        widths[:, 0], widths[:, -1] = steps[:, 0], steps[:, -1]
        quarter = _N_LEVELS // 4
        between = values[:, -quarter - 1] - values[:, quarter]
        spread = np.minimum(values.std(axis=1), between / 1.34)
        least = 0.9 * spread * max(n_known, 1.0) ** -0.2
        widths = np.maximum(widths, np.maximum(least, _LEAST_WIDTH * self.std)[:, None])
        seen = PredictiveMixture(np.full(_N_LEVELS, 1.0 / _N_LEVELS), values, widths**2)
        return with_unseen(seen, self.mean, self.std, self.n_rows)


class ErrorLaw:
    """Law of the errors of a point regressor, from rows that it was not fitted to.

    An error is a scale times a standardised error. The scale is piecewise linear in the
    prediction, through the mean absolute errors of ten groups of rows of similar predictions
    (of fewer where groups would have less than fifty rows); the standardised errors of all
    rows are exchangeable.

    Parameters
    ----------
    predictions, errors : ndarray of shape (n_samples,)
        Of rows held out.
    weights : ndarray of shape (n_samples,) or None, default=None
        How many rows each stands for; None for one.
    """

    def __init__(self, predictions, errors, weights=None):
        weights = np.ones(len(errors)) if weights is None else weights
        order = np.argsort(predictions, kind="stable")
        n_groups = max(1, min(_GROUPS, len(order) // _ROWS_A_GROUP))
        groups = np.array_split(order, n_groups)
        shares = [weights[rows] / weights[rows].sum() for rows in groups]
        knots = [share @ predictions[rows] for share, rows in zip(shares, groups, strict=True)]
        scales = [share @ np.abs(errors[rows]) for share, rows in zip(shares, groups, strict=True)]
        # Equal predictions that fill several groups have one scale.
        self.knots, place = np.unique(knots, return_inverse=True)
        self.scales = np.bincount(place, weights=scales) / np.bincount(place)
        self.scales = np.maximum(self.scales, np.finfo(float).tiny)
        own = np.interp(predictions, self.knots, self.scales)
        # Of numpy's kinds of quantiles, this one takes weights.
        scaled = errors / own
        self.quantiles = np.quantile(scaled, LEVELS, weights=weights, method="inverted_cdf")
        self.n_errors = weights.sum()

    def values(self, predictions):
        """Quantiles at :data:`LEVELS` given predictions, (n_samples, 100)."""
        scales = np.interp(predictions, self.knots, self.scales)
        return predictions[:, None] + scales[:, None] * self.quantiles


class MemberLaw:
    """A fitted member and what turns its predictions into a distribution.

    Parameters
    ----------
    member : estimator
        Fitted.
    spread : TargetSpread or None, default=None
        Of the targets it was fitted to, for regressors that give quantiles or points.
    errors : ErrorLaw or None, default=None
        For point regressors.
    """

    def __init__(self, member, spread=None, errors=None):
        self.member, self.spread, self.errors = member, spread, errors
        if hasattr(member, "sample_y") and hasattr(member, "predict_distribution"):
            self.sample_y = member.sample_y

    def predict_distribution(self, X):
        """The predictive distribution at X."""
        kind = kind_of(self.member)
        if kind == "distribution":
            return predict_with(self.member, X, return_distribution=True)
        if kind == "std":
            mean, std = predict_with(self.member, X, return_std=True)
            mean, std = (np.asarray(v, dtype=np.float64).reshape(-1, 1) for v in (mean, std))
            return PredictiveMixture([1.0], mean, std**2)
        if kind == "quantiles":
            values = predict_with(self.member, X, quantiles=list(LEVELS))
            values = np.asarray(values, dtype=np.float64)
            return self.spread.smooth(values, 0.1 * self.spread.n_rows)
        values = self.errors.values(points_of(self.member, X))
        return self.spread.smooth(values, self.errors.n_errors)


def points_of(member, X):
    """Predictions of a point regressor, one a row."""
    return np.asarray(member.predict(X), dtype=np.float64).reshape(-1)

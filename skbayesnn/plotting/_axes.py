"""What the displays share: where to draw, and which inputs and predictions to draw."""

import numpy as np
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from skbayesnn._pipelines import one_inside
from skbayesnn.base import check_observations
from skbayesnn.metrics.scorers import predict_with
from skbayesnn.predictive import PredictiveMixture


def pyplot():
    """``matplotlib.pyplot``, or an ImportError that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('To draw, install matplotlib: pip install "skbayesnn[plot]".') from error
    return plt


def get_axes(ax):
    """The axes given, or those of a new figure."""
    return pyplot().subplots()[1] if ax is None else ax


def distribution_of(estimator, X):
    """Predictive distribution from an estimator, a pipeline or a search."""
    distribution = predict_with(estimator, X, return_distribution=True)
    if not isinstance(distribution, PredictiveMixture):
        raise ValueError(
            "The estimator predicts several targets: pass one of the mixtures that its "
            "predict_distribution returns to from_predictions."
        )
    return distribution


def part_with(attribute, estimator, kind, X=None):
    """The fitted estimator with an attribute: this one, or what a pipeline or search ends in.

    Returns
    -------
    part : estimator
    X : array-like or None
        As that part sees it.

    Raises
    ------
    TypeError
        If it is of another kind.
    """
    check_is_fitted(estimator)
    while not hasattr(estimator, attribute):
        inner, X = one_inside(estimator, X)
        if inner is None:
            raise TypeError(
                f"{type(estimator).__name__} has no {attribute}: use a fitted {kind}, or a "
                "pipeline that ends in one."
            )
        estimator = inner
    return estimator, X


def single_feature(X):
    """The values of the only feature of X and its name, or None and None.

    A pipeline may take columns that are no numbers, or have holes: those are no positions.
    """
    values = np.asarray(X)
    if values.ndim != 2 or values.shape[1] != 1 or values.dtype.kind not in "biuf":
        return None, None
    if not np.isfinite(values).all():
        return None, None
    return values[:, 0].astype(float), str(X.columns[0]) if hasattr(X, "columns") else "x"


def check_x(x, n_samples):
    """Positions on the horizontal axis, one a row, or None."""
    if x is None:
        return None
    x = column_or_1d(check_array(x, ensure_2d=False, dtype=np.float64, input_name="x"))
    if x.size != n_samples:
        raise ValueError(f"x has {x.size} values, inconsistent with {n_samples} predictions.")
    return x


def check_y(y, n_samples):
    """Observations, one a row, or None."""
    return None if y is None else check_observations(y, n_samples)

"""The rows that a fit is given: checked, without those that have no weight, and counted."""

import numpy as np
from sklearn.utils.validation import column_or_1d, validate_data

from skbayesnn._validation import check_sample_weight


def regression_rows(estimator, X, y, sample_weight, *, n_targets=None, least=1):
    """Check the rows of a regression, and leave out those of weight zero.

    Parameters
    ----------
    estimator : estimator
        Is told the number and the names of the inputs, or checked to have the same.
    X, y, sample_weight : array-like
        As the estimator was given them.
    n_targets : int or None, default=None
        How many targets the first batch of a stream had; None for a fit or a first batch.
    least : int, default=1
        Rows at least.

    Returns
    -------
    X : ndarray of shape (n, n_inputs)
    y : ndarray of shape (n,) or (n, n_targets)
    weights : ndarray of shape (n,)

    Raises
    ------
    ValueError
        If a check fails, or a later batch has another number of targets than the first.
    """
    X, y = validate_data(
        estimator, X, y, dtype=np.float64, order="C", y_numeric=True, multi_output=True,
        reset=n_targets is None, ensure_min_samples=least,
    )  # fmt: skip
    if y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    now = 1 if y.ndim == 1 else y.shape[1]
    if n_targets not in (None, now):
        raise ValueError(f"y has {now} targets, but {n_targets} at the first call.")
    return weighted_rows(X, y.astype(np.float64), sample_weight)


def weighted_rows(X, y, sample_weight):
    """Rows that have a weight, their targets and weights."""
    rows, weights = check_sample_weight(sample_weight, X)
    return X[rows], y[rows], weights


def number_of_rows(total):
    """A sum of weights, as an int where it is one but for rounding."""
    return round(total) if abs(total - round(total)) < 1e-9 * total else float(total)

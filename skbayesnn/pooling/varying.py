"""Weights of a linear pool that vary with the inputs.

Bayesian hierarchical stacking (Yao, Pirš, Vehtari and Gelman, "Bayesian hierarchical stacking: some
models are (somewhere) useful", Bayesian Analysis 2022): some members are better in one part of the
inputs, others in another. The weights at x are a softmax of linear functions of the standardised
inputs z,

    w_k(x) ∝ exp(b_k + Σ_j a_kj z_j),   a_kj ~ N(0, s²/J),   b_k - mean(b) ~ N(0, 10),

with J inputs that vary, so that the functions have a prior standard deviation of about s, whatever
the number of inputs; and the mode of the posterior is taken, under the log score of rows that the
members were not fitted to as the log likelihood. Five values of s share the weights in proportion
to the densities that they give to rows left out of this search (as pseudo-BMA has it). With few
rows, or where the inputs tell nothing about who is right, that is close to constant weights.
"""

import numpy as np
from scipy.sparse import issparse
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning

from skbayesnn._warnings import warn_user
from skbayesnn.numerics.smooth_minimum import minimise_smooth

_INTERCEPT_VARIANCE = 10.0
_FURTHEST = 3.0
"""Inputs further from their mean, in standard deviations, count as if they were so far: beyond the
data the weights stay what they are at the edge."""

_MAX_STEPS = 2000
_LEAST_START = 0.01
_LEAST_SHARE = 0.01
_TOLERANCE = 1e-5
"""Largest derivative of the mean log score a row at which the search may end."""

_WIDTHS = 10.0 ** np.array([-0.5, -0.25, 0.0, 0.25, 0.5])
"""Values of s."""

_N_FOLDS = 5
_ROUGHLY = 1e-3
"""Tolerance of the searches that only compare the widths."""


def number_columns(X):
    """Which columns of a table are numbers.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), DataFrame or sparse matrix

    Returns
    -------
    places : ndarray of int or None
        None where there are none, and for sparse matrices.
    """
    if issparse(X):
        return None
    if hasattr(X, "dtypes") and hasattr(X, "iloc"):
        places = np.flatnonzero([is_numeric_dtype(kind) for kind in X.dtypes])
    else:
        try:
            places = np.arange(np.asarray(X, dtype=np.float64).shape[1])
        except (TypeError, ValueError, IndexError):  # categories as strings, or no table
            return None
    return places if len(places) else None


def is_numeric_dtype(kind):
    """Whether a dtype of NumPy or pandas is of numbers that a float can hold."""
    return getattr(kind, "kind", "O") in "biuf" and getattr(kind, "name", "") != "category"


def taken(X, places):
    """Columns of a table as floats."""
    if hasattr(X, "iloc"):
        return X.iloc[:, places].to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(X, dtype=np.float64)[:, places]


class VaryingWeights:
    """Weights as a function of the inputs.

    Parameters
    ----------
    log_densities : ndarray of shape (n_members, n_samples)
        Of each row, under each member fitted to other rows.
    X : array-like of shape (n_samples, n_features) or DataFrame
    places : ndarray of int
        Its columns that count, from :func:`number_columns`. What is not finite there counts as
        the mean of its column.
    constant : ndarray of shape (n_members,)
        The best constant weights, where the search begins.
    sample_weight : ndarray of shape (n_samples,) or None, default=None
        A weight of k is k equal rows.

    Attributes
    ----------
    shares_ : ndarray of shape (5,)
        Of the prior widths 0.32, 0.56, 1, 1.8 and 3.2; those below 0.01 are set to zero.
    intercepts_ : ndarray of shape (n_widths, n_members)
        For each of the widths that have a share.
    slopes_ : ndarray of shape (n_widths, n_members, n_columns)

    Warns
    -----
    ConvergenceWarning
        The search ended before the tolerance was reached.
    """

    def __init__(self, log_densities, X, places, constant, sample_weight=None):
        self._places = places
        columns = taken(X, places)
        rows = np.ones(len(columns)) if sample_weight is None else np.asarray(sample_weight)
        log_densities, columns, rows = log_densities[:, rows > 0], columns[rows > 0], rows[rows > 0]
        known = np.isfinite(columns)
        masses = rows[:, None] * known
        totals = np.maximum(masses.sum(axis=0), np.finfo(float).tiny)
        values = np.where(known, columns, 0.0)
        self._means = (masses * values).sum(axis=0) / totals
        gaps = np.where(known, values - self._means, 0.0)
        with np.errstate(over="ignore"):  # what has an infinite scale does not count either
            scales = np.sqrt((masses * gaps**2).sum(axis=0) / totals)
        # Constant to rounding is constant.
        constants = scales <= 1e-12 * np.maximum(np.abs(self._means), np.finfo(float).tiny)
        self._scales = np.where(constants, np.inf, scales)
        inputs = self._standardised(columns)
        n_members = len(log_densities)
        start = np.log(np.maximum(constant, _LEAST_START))
        start = np.append(start, np.zeros(n_members * inputs.shape[1]))
        precisions = max(np.sum(np.isfinite(self._scales)), 1) / _WIDTHS**2
        data = log_densities, inputs, rows
        # Equal rows are in the same fold, so that none is judged by its copies.
        _, place = np.unique(values, axis=0, return_inverse=True)
        shares = softmax(cross_validated(start, *data, precisions, place))
        shares[shares < _LEAST_SHARE] = 0.0
        self.shares_ = shares / shares.sum()
        found, missing = [], 0.0
        for precision in precisions[self.shares_ > 0]:
            start, slope = searched(start, *data, precision, _TOLERANCE)
            found.append(start)
            missing = max(missing, slope)
        if missing > _TOLERANCE:
            warn_user(
                f"The stacking weights did not converge: the gradient is {missing:.1e}. Leave out "
                "members that predict nearly the same, or set varying_weights=False.",
                ConvergenceWarning,
            )
        found = np.array(found)
        self.intercepts_ = found[:, :n_members]
        self.slopes_ = found[:, n_members:].reshape(len(found), n_members, -1)

    def _standardised(self, columns):
        known = np.isfinite(columns)
        z = (np.where(known, columns, self._means) - self._means) / self._scales
        return np.clip(z, -_FURTHEST, _FURTHEST)

    def __call__(self, X):
        """Weights at the given inputs, (n_samples, n_members)."""
        z = self._standardised(taken(X, self._places))
        parts = [
            share * softmax(intercepts + z @ slopes.T, axis=1)
            for share, intercepts, slopes in zip(
                self.shares_[self.shares_ > 0], self.intercepts_, self.slopes_, strict=True
            )
        ]
        return np.sum(parts, axis=0)


def searched(start, log_densities, inputs, rows, precision, tolerance):
    """Parameters with the largest posterior density, and the largest derivative that is left."""
    result = minimise_smooth(
        minus_log_posterior, start, args=(log_densities, inputs, rows, precision),
        max_iter=_MAX_STEPS, ftol=0.0, gtol=0.1 * tolerance,
    )  # fmt: skip
    return result.x, np.abs(result.jac).max()


def cross_validated(start, log_densities, inputs, rows, precisions, place):
    """Sum of the log densities of rows under weights from other folds, for each precision.

    Parameters
    ----------
    place : ndarray of shape (n_samples,)
        Number of a row among all that differ. Every fifth is in the same fold.

    Returns
    -------
    scores : ndarray of shape (n_precisions,)
    """
    n_members = len(log_densities)
    scores = np.zeros(len(precisions))
    n_folds = min(_N_FOLDS, place.max() + 1)
    for fold in range(n_folds if n_folds > 1 else 0):
        test = place % n_folds == fold
        found = start
        for i, precision in enumerate(precisions):
            found, _ = searched(
                found, log_densities[:, ~test], inputs[~test], rows[~test], precision, _ROUGHLY
            )
            logits = found[:n_members] + inputs[test] @ found[n_members:].reshape(n_members, -1).T
            joint = log_softmax(logits, axis=1) + log_densities[:, test].T
            scores[i] += rows[test] @ logsumexp(joint, axis=1)
    return scores


def minus_log_posterior(parameters, log_densities, inputs, rows, precision):
    """Minus the mean log score a row, with the prior's part, and its gradient.

    Parameters
    ----------
    parameters : ndarray of shape (n_members * (1 + n_columns),)
        Intercepts, then slopes by member.
    log_densities : ndarray of shape (n_members, n_samples)
    inputs : ndarray of shape (n_samples, n_columns)
        Standardised.
    rows : ndarray of shape (n_samples,)
        Weights.
    precision : float
        One over the prior variance of a slope.
    """
    n_members = len(log_densities)
    intercepts, slopes = parameters[:n_members], parameters[n_members:].reshape(n_members, -1)
    log_weights = log_softmax(intercepts[:, None] + slopes @ inputs.T, axis=0)
    joint = log_weights + log_densities
    score = logsumexp(joint, axis=0)
    # What each member contributed to a row's density beyond its weight.
    gains = rows * (np.exp(joint - score) - np.exp(log_weights))
    centred = intercepts - intercepts.mean()
    value = -(rows @ score) + 0.5 * precision * np.sum(slopes**2)
    value += 0.5 * np.sum(centred**2) / _INTERCEPT_VARIANCE
    of_intercepts = -gains.sum(axis=1) + centred / _INTERCEPT_VARIANCE
    of_slopes = -gains @ inputs + precision * slopes
    total = rows.sum()
    return value / total, np.append(of_intercepts, of_slopes) / total

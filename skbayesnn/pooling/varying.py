"""Weights of a linear pool that vary with the inputs.

Bayesian hierarchical stacking (Yao, Pirš, Vehtari and Gelman, "Bayesian hierarchical stacking: some
models are (somewhere) useful", Bayesian Analysis 2022): some members are better in one part of the
inputs, others in another. The weights at x are a softmax of linear functions of the standardised
inputs z,

    w_k(x) ∝ exp(b_k + Σ_j a_kj z_j),   a_kj ~ N(0, 1/J),   b_k - mean(b) ~ N(0, 10),

with J inputs that vary, so that the functions have a prior standard deviation of about one,
whatever the number of inputs; and the mode of the posterior is taken, under the log score of rows
that the members were not fitted to as the log likelihood. With few rows, or where the inputs tell
nothing about who is right, that is close to constant weights.
"""

import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import issparse
from scipy.special import log_softmax, logsumexp
from sklearn.exceptions import ConvergenceWarning

_INTERCEPT_VARIANCE = 10.0
_FURTHEST = 3.0
"""Inputs further from their mean, in standard deviations, count as if they were so far: beyond the
data the weights stay what they are at the edge."""

_MAX_STEPS = 2000
_LEAST_START = 0.01
_TOLERANCE = 1e-5
"""Largest derivative of the mean log score a row at which the search may end."""


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
    intercepts_ : ndarray of shape (n_members,)
    slopes_ : ndarray of shape (n_members, n_columns)

    Warns
    -----
    ConvergenceWarning
        The search ended before the tolerance was reached.
    """

    def __init__(self, log_densities, X, places, constant, sample_weight=None):
        self._places = places
        columns = taken(X, places)
        rows = np.ones(len(columns)) if sample_weight is None else np.asarray(sample_weight)
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
        inputs = self._standardised(X)
        n_members = len(log_densities)
        start = np.log(np.maximum(constant, _LEAST_START))
        start = np.append(start, np.zeros(n_members * inputs.shape[1]))
        precision = max(np.sum(np.isfinite(self._scales)), 1)
        result = minimize(
            minus_log_posterior,
            start,
            args=(log_densities, inputs, rows, precision),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _MAX_STEPS, "ftol": 0.0, "gtol": 0.1 * _TOLERANCE},
        )
        missing = np.abs(result.jac).max()
        if missing > _TOLERANCE:
            warnings.warn(
                f"The stacking weights did not converge: a derivative is {missing:.1e}. Leave out "
                "members that predict nearly the same, or set varying_weights=False.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.intercepts_ = result.x[:n_members]
        self.slopes_ = result.x[n_members:].reshape(n_members, -1)

    def _standardised(self, X):
        columns = taken(X, self._places)
        known = np.isfinite(columns)
        z = (np.where(known, columns, self._means) - self._means) / self._scales
        return np.clip(z, -_FURTHEST, _FURTHEST)

    def __call__(self, X):
        """Weights at the given inputs, (n_samples, n_members)."""
        logits = self.intercepts_ + self._standardised(X) @ self.slopes_.T
        return np.exp(log_softmax(logits, axis=1))


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

"""Weights of a linear pool that are best by a proper score.

Stacking of predictive distributions (Yao, Vehtari, Simpson and Gelman, "Using stacking to average
Bayesian predictive distributions", Bayesian Analysis 2018): given what each member predicts for
rows that it was not fitted to, the weights on the simplex that maximise the log score (their
eq. 4) or minimise the CRPS of the pool. Both problems are convex. Each search ends where the
gain that any other weights could bring is below a tolerance, by the bound that a tangent gives.
"""

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from skbayesnn._warnings import warn_user

_MAX_STEPS = 10_000
# The mean log density is at most so many nats a row below the best, the CRPS at most this part of
# itself above it.
_TOLERANCE = 1e-6
_LEVELS = np.concatenate([[0.001, 0.005], np.linspace(0.01, 0.99, 50), [0.995, 0.999]])


def _minimise_on_simplex(value_and_gradient, n):
    """Weights of n members that make a convex function small; how small, the callers check."""
    result = minimize(
        value_and_gradient,
        np.full(n, 1.0 / n),
        jac=True,
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": lambda w: np.ones(n)},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    weights = np.clip(result.x, 0.0, None)
    return weights / weights.sum()


def log_score_weights(log_densities, sample_weight=None):
    """Weights that maximise the mean log density of the pool.

    By sequential quadratic programming, and then by expectation and maximisation: each row gives
    its share to the members in proportion to what they contribute to its density, and the
    objective rises with every step.

    Parameters
    ----------
    log_densities : ndarray of shape (n_members, n_samples)
        Of each row, under each member.
    sample_weight : ndarray of shape (n_samples,) or None, default=None

    Returns
    -------
    weights : ndarray of shape (n_members,)

    Warns
    -----
    ConvergenceWarning
        The tolerance was not reached in 10,000 steps.

    Examples
    --------
    >>> import numpy as np
    >>> log_score_weights(np.log([[0.9, 0.1, 0.9], [0.1, 0.9, 0.1]])).round(3)
    array([0.708, 0.292])
    """
    # Scaled row by row, so that the best member has one: ratios are all that matters.
    densities = np.exp(log_densities - log_densities.max(axis=0))
    rows = np.full(densities.shape[1], 1.0) if sample_weight is None else sample_weight
    rows = rows / rows.sum()

    def loss(w):
        pool = np.maximum(w @ densities, np.finfo(float).tiny)
        return -np.log(pool) @ rows, -(densities / pool) @ rows

    # What the search sets to zero, by a hair too early perhaps, can come back.
    weights = np.maximum(_minimise_on_simplex(loss, len(densities)), 1e-12)
    weights /= weights.sum()
    for _ in range(_MAX_STEPS):
        # The derivatives of the objective. By concavity no weights gain more than max - 1.
        slopes = (densities / (weights @ densities)) @ rows
        if slopes.max() - 1.0 <= _TOLERANCE:
            return weights
        weights = weights * slopes
    warn_user(
        "The stacking weights did not converge: their score may be up to "
        f"{slopes.max() - 1.0:.1e} nats per row below the best. Leave out members that predict "
        "nearly the same.",
        ConvergenceWarning,
    )
    return weights


def crps_matrix(mixtures, y, sample_weight=None):
    """The matrix A of the CRPS of a pool, w'Aw.

    A_kl is the mean over the rows of ∫ (F_k(t) - 1{y ≤ t}) (F_l(t) - 1{y ≤ t}) dt, by the
    trapezoidal rule between the quantiles of all members at 54 levels and y. Integrals of smooth
    distributions are right to about one part in a thousand; beyond the outermost
    quantiles (0.1 and 99.9 %) nothing is counted.

    Parameters
    ----------
    mixtures : list of PredictiveMixture
        Of the same rows.
    y : ndarray of shape (n_samples,)
    sample_weight : ndarray of shape (n_samples,) or None, default=None

    Returns
    -------
    matrix : ndarray of shape (n_members, n_members)
        Symmetric and positive semidefinite.
    """
    y = np.asarray(y, dtype=np.float64)
    points = np.concatenate([m.quantile(_LEVELS) for m in mixtures] + [y[:, None]] * 2, axis=1)
    points.sort(axis=1)
    # Of the two points at y the first is below the step of the indicator.
    below = points < y[:, None]
    first = np.argmax(~below, axis=1)
    indicator = 1.0 * ~below
    indicator[np.arange(len(y)), first] = 0.0
    gaps = np.stack([m.cdf(points) for m in mixtures]) - indicator
    steps = np.diff(points, axis=1)
    # The trapezoid as weights of the points.
    masses = np.zeros(points.shape)
    masses[:, :-1] += 0.5 * steps
    masses[:, 1:] += 0.5 * steps
    rows = np.full(len(y), 1.0) if sample_weight is None else np.asarray(sample_weight)
    masses *= (rows / rows.sum())[:, None]
    return np.einsum("kip,ip,lip->kl", gaps, masses, gaps, optimize=True)


def crps_weights(matrix):
    """Weights that minimise w'Aw on the simplex.

    Parameters
    ----------
    matrix : ndarray of shape (n_members, n_members)
        From :func:`crps_matrix`.

    Returns
    -------
    weights : ndarray of shape (n_members,)

    Warns
    -----
    ConvergenceWarning
        The tolerance was not reached.
    """
    scaled = matrix / np.trace(matrix) if np.trace(matrix) > 0 else matrix
    weights = _minimise_on_simplex(lambda w: (w @ scaled @ w, 2.0 * scaled @ w), len(matrix))
    slopes = 2.0 * scaled @ weights
    gap = weights @ slopes - slopes.min()
    if gap > _TOLERANCE * (weights @ scaled @ weights):
        warn_user(
            "The stacking weights did not converge: the CRPS may exceed the best by "
            f"{gap:.1e} of the members' own. Leave out members that predict nearly the same.",
            ConvergenceWarning,
        )
    return weights

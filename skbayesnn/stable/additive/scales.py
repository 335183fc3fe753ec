"""The kernel of the dense part, by the evidence of the Gaussian limit of the whole model.

With α = 2 and Gaussian noise, the model is a Gaussian process with the covariance

    a k(x, x') + Σ_k ν_k (1 - 2 θ_k/π) + σ² diag(exp b(x'δ)),

where k is the kernel of the dense units, θ_k is the angle between (1, x_k) and (1, x_k'), and b is
the bound of :mod:`~skbayesnn.stable.noise.slopes`. All parameters are estimated together, so that
the length scales explain only what the axis units do not, and so that k is not large where the
noise is.

In the first search, the amplitude of k and the noise are the same everywhere, and k is not rough.
It has two starts: one in which every input matters much by itself, and one in which all matter much
together. From the first start alone, with a hundred inputs of which few matter, the search would
end where the rows are uncorrelated. Two further starts have the few inputs that matter most and a
short length scale along one input (:mod:`~skbayesnn.gaussian_process.few_inputs`). They are used if
their evidence is larger than those of the other results. If the rows do not decide between two
results, both are kept (:mod:`~skbayesnn.stable.additive.modes`). The result with all parameters is
used only if the log evidence increases by more than the number of additional parameters.

The length scales, the roughness and the amplitude function of k are then fixed, while the chains
sample everything else. The leave-one-out mean of this Gaussian process at each row is fixed as
well: the noise may depend on it (:mod:`~skbayesnn.stable.noise.slopes`).
"""

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from skbayesnn._warnings import warn_user
from skbayesnn.gaussian_process.few_inputs import FEW, fast_along_one, few_inputs
from skbayesnn.gaussian_process.learned_noise import values_decide
from skbayesnn.numerics.random import some_rows
from skbayesnn.numerics.smooth_minimum import minimise_smooth
from skbayesnn.stable.additive.dense_kernel import DenseKernel, log_squared_factors
from skbayesnn.stable.additive.limit_objective import LimitObjective, log_crowd, on_circle
from skbayesnn.stable.additive.modes import are_one, not_told_apart
from skbayesnn.stable.gaussian_evidence import inverse_of

MAX_ROWS = 600
"""If there are more rows, a random subset is used: an evaluation costs O(n³)."""

_SELECTION_ROWS, _FIRST_ITERATIONS = 200, 10
"""Rows by which further starts are found, and iterations after which the search from there must
lead."""

_ROWS_A_BLOCK = 2048
# Jitter relative to the variance, for tables with hardly any noise.
_JITTER = 1e-10
_LOG_BOUND = 9.0
_LOG_VARIANCE_BOUNDS = (-12.0, 9.0)
# The search for all parameters ends short of the maximum. If it remembers all steps, it comes
# closer, and new rows are predicted worse (mean CRPS of nine splits: yacht 0.0900 and 0.0930,
# boston 1.257 and 1.272; benchmarks/LOG.md, 2026-11-28).
_SHORT_SEARCH = {"max_iter": 50, "maxcor": 10}
_MAX_SLOPE = 20.0
# Initial roughness of the search; at zero, the search would run along an edge.
_SOME_ROUGHNESS = 0.05


def axes_covariance(nus, a, b):
    """Σ_k ν_k (1 - 2θ_k/π) for all pairs of rows.

    Parameters
    ----------
    nus : ndarray of shape (n_features,)
    a, b : ndarray of shape (n_a, n_features) and (n_b, n_features)
        From :func:`on_circle`.

    Returns
    -------
    covariance : ndarray of shape (n_a, n_b)
    """
    return nus.sum() - 2.0 * cdist(nus * a, nus * b, "cityblock")


class GaussianLimit:
    """The Gaussian process that is the limit of the model, conditioned on some rows.

    Parameters
    ----------
    parameters : ndarray of shape (4 * n_features + 3,)
        See :class:`~skbayesnn.stable.additive.limit_objective.LimitObjective`.
    X : ndarray of shape (n, n_features)
    y, weights : ndarray of shape (n,)
    rows : ndarray of int, shape (n,)
        Indices of these rows among all rows.
    edges : tuple of ndarray of shape (n_features,)
        See :class:`~skbayesnn.stable.additive.dense_kernel.DenseKernel`.

    Attributes
    ----------
    kernel : DenseKernel
    log_nus : ndarray of shape (n_features,)
        log ν.
    noise_slopes : ndarray of shape (n_features,)
        δ.
    left_out_means, left_out_errors, left_out_log_densities : ndarray of shape (n,)
        Leave-one-out mean of y at each row, y minus this mean, and log density of y.
    left_out_spreads : ndarray of shape (n,)
        Leave-one-out variance of the function.
    """

    def __init__(self, parameters, X, y, weights, rows, edges):
        p = X.shape[1]
        variances = np.exp(parameters[p : 2 * p + 2])
        self.kernel = DenseKernel(
            np.exp(parameters[:p]), float(parameters[-1]), parameters[2 * p + 2 : 3 * p + 2], edges
        )
        self.log_nus = parameters[p : 2 * p]
        self._amplitude = variances[-2]
        self._X, self._angles, self.rows = X, on_circle(X), rows
        covariance = self._covariance(X)
        self.noise_slopes = parameters[3 * p + 2 : -1]
        h = log_squared_factors(X, self.noise_slopes)[0]
        noises = variances[-1] * np.exp(h) / weights
        covariance.flat[:: len(y) + 1] += noises + _JITTER * variances.sum()
        factor = cholesky(covariance, lower=True, overwrite_a=True, check_finite=False)
        self._solved = cho_solve((factor, True), y, check_finite=False)
        variances = 1.0 / np.diag(inverse_of(factor))
        self.left_out_errors = self._solved * variances
        self.left_out_means = y - self.left_out_errors
        self.left_out_spreads = np.maximum(variances - noises, 0.0)
        self.left_out_log_densities = -0.5 * (
            np.log(2.0 * np.pi * variances) + self.left_out_errors**2 / variances
        )

    def _covariance(self, X):
        covariance = self._amplitude * self.kernel(X, self._X)
        covariance += axes_covariance(np.exp(self.log_nus), on_circle(X), self._angles)
        return covariance

    def mean(self, X):
        """The mean at new rows, (n_rows,)."""
        starts = range(0, len(X), _ROWS_A_BLOCK)
        blocks = [self._covariance(X[i : i + _ROWS_A_BLOCK]) @ self._solved for i in starts]
        return np.concatenate(blocks)

    def values_decide(self, weights):
        """See :func:`~skbayesnn.gaussian_process.learned_noise.values_decide`."""
        means, errors = self.left_out_means, self.left_out_errors
        rows = self._X, means + errors, means, self.left_out_spreads, weights[self.rows]
        return values_decide(*rows)

    def mean_at_rows(self, X):
        """The mean at all rows; at rows that are conditioned on, the leave-one-out mean."""
        mean = self.mean(X)
        mean[self.rows] = self.left_out_means
        return mean


def fit_gaussian_limits(X, y, weights, rng, may_be_rough=True, first=None):
    """The Gaussian limit of largest evidence, or two if the rows do not decide between them.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Standardised, like y.
    y, weights : ndarray of shape (n,)
        Targets, and sample weights.
    rng : numpy.random.Generator
        Selects rows if there are more than :data:`MAX_ROWS`.
    may_be_rough : bool, default=True
        Whether to allow a roughness above zero.
    first : scipy.optimize.OptimizeResult, optional
        Result of a search without slopes and roughness for the same rows; by default, it is made
        from :func:`start_alike`.

    Returns
    -------
    limits : list of GaussianLimit
        One or two; the first predicts left-out rows better.

    Warns
    -----
    ConvergenceWarning
        If the optimiser fails.
    """
    rows, edges = some_rows(len(y), MAX_ROWS, rng), (X.min(axis=0), X.max(axis=0))
    X, y, weights = X[rows], y[rows], weights[rows]
    p = X.shape[1]
    objective, none = LimitObjective(X, y, weights), np.zeros(2 * p + 1)
    alike, bounds = objective.alike, bounds_alike(p)
    found = [first or search_limit(alike, start_alike(p), bounds)]
    # With one input, both starts are the same.
    if p > 1:
        found.append(search_limit(alike, start_alike(p, np.log(p)), bounds))
    found.sort(key=lambda search: search.fun)
    # A child: what the chains draw does not depend on whether rows are selected.
    for start in _further_starts(X, y, weights, rng.spawn(1)[0]):
        first = search_limit(alike, start, bounds, max_iter=_FIRST_ITERATIONS)
        if first.fun < found[0].fun:
            found = [search_limit(alike, first.x, bounds), found[0]]
    if len(found) > 1:
        ends = (np.append(search.x, none) for search in found)
        if are_one(*(GaussianLimit(end, X, y, weights, rows, edges) for end in ends)):
            del found[1:]
    # From a roughness of zero, the search would run along an edge.
    roughness = (_SOME_ROUGHNESS, 1.0) if may_be_rough else (0.0, 0.0)
    bounds += [(-_MAX_SLOPE, _MAX_SLOPE)] * (2 * p) + [(0.0, roughness[1])]
    limits = []
    for search in found:
        start = np.concatenate([search.x, none[:-1], roughness[:1]])
        both = search_limit(objective, start, bounds, **_SHORT_SEARCH)
        # Akaike's criterion: irrelevant parameters cost more than they explain.
        better = search.fun - both.fun > none.size
        best = _rounded(both.x if better else np.append(search.x, none), p)
        limits.append(GaussianLimit(best, X, y, weights, rows, edges))
    # Searches from different places may end at the same one.
    return not_told_apart(limits[:1] if len(limits) > 1 and are_one(*limits) else limits)


def _further_starts(X, y, weights, rng):
    """Parameters without slopes and roughness: few inputs matter, or g is fast along one."""
    p, rows = X.shape[1], some_rows(len(y), _SELECTION_ROWS, rng)
    rows = X[rows], y[rows, None], weights[rows]
    few = few_inputs(*rows, _LOG_VARIANCE_BOUNDS[0], int(FEW * p))
    nus = np.full(p, -1.0 - log_crowd(p))
    starts = *few.starts(p), *fast_along_one(*rows)
    return [np.concatenate([-each[:p], nus, each[p:]]) for each in starts]


def _rounded(parameters, p):
    """Round to a few digits, so that rounding errors do not choose between equal kernels."""
    parameters[: 2 * p + 2] = np.exp(parameters[: 2 * p + 2])
    parameters = np.array([float(f"{value:.3g}") for value in parameters])
    parameters[: 2 * p + 2] = np.log(parameters[: 2 * p + 2])
    if parameters[-1] < _SOME_ROUGHNESS / 10.0:
        parameters[-1] = 0.0
    return parameters


def bounds_alike(n_features):
    """Bounds of the parameters of :meth:`LimitObjective.alike`."""
    return [(-_LOG_BOUND, _LOG_BOUND)] * n_features + [_LOG_VARIANCE_BOUNDS] * (n_features + 2)


def start_alike(n_features, few=0.0):
    """Start of these parameters: each input matters much, or less by the factor exp(-few)."""
    lengths, nus = np.full(n_features, -0.5 - 0.5 * few), np.full(n_features, -2.0 - few)
    return np.concatenate([lengths, nus, [0.0, -2.0]])


def search_limit(function, start, bounds, **options):
    """Minimise an objective with a gradient by L-BFGS; warn if that fails."""
    found = minimise_smooth(function, start, bounds=bounds, **options)
    # Status 1 is the limit on iterations, which is close enough for parameters that are then fixed.
    if found.status > 1:
        warn_user(
            f"The search for length scales of the dense units failed ({found.message}); they may "
            "be far from the best. Scale or transform the inputs, or set dense_units=False.",
            ConvergenceWarning,
        )
    return found

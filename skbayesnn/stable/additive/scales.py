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
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.exceptions import ConvergenceWarning

from skbayesnn._warnings import warn_user
from skbayesnn.gaussian_process.evidence import relevance_scale
from skbayesnn.gaussian_process.few_inputs import FEW, fast_along_one, few_inputs
from skbayesnn.numerics.jit import kernel
from skbayesnn.numerics.random import some_rows
from skbayesnn.stable.additive.dense_kernel import DenseKernel, log_squared_factors, radial
from skbayesnn.stable.additive.modes import are_one, not_told_apart
from skbayesnn.stable.gaussian_evidence import by_log_scales, inverse_of, minus_log_evidence

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
_MAX_ITERATIONS = 100
_MAX_SLOPE = 20.0
# Initial roughness of the search; at zero, the search would run along an edge.
_SOME_ROUGHNESS = 0.05

SCALES_OF_ONE = 3
"""Number of inputs up to which the prior of each ν_k has scale one. With more inputs, the scale is
reduced such that the sum of all f_k is a priori as large as that of this many, or less, since of
many inputs few matter (:func:`~skbayesnn.gaussian_process.evidence.relevance_scale`)."""


def log_crowd(n_inputs):
    """The prior of each ν_k is half-Cauchy with scale exp(-2/α log_crowd)."""
    return float(-np.log(min(1.0, SCALES_OF_ONE * relevance_scale(n_inputs))))


def on_circle(X):
    """Angles of (1, x_k) over π for all inputs of all rows; θ_k/π is the difference of two."""
    return np.arctan(X) / np.pi


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


@kernel
def sums_of_distances(weights, angles):
    """For each input, the weighted sum of the distances of all pairs of rows.

    Parameters
    ----------
    weights : ndarray of shape (n, n)
        Symmetric.
    angles : ndarray of shape (n_features, n)

    Returns
    -------
    sums : ndarray of shape (n_features,)
    """
    sums = np.zeros(len(angles))
    for k in range(len(angles)):
        for i in range(len(weights)):
            row = 0.0
            for j in range(i):
                row += weights[i, j] * abs(angles[k, i] - angles[k, j])
            sums[k] += 2.0 * row
    return sums


def negative_log_posterior(parameters, X, angles, y, weights):
    """Negative log evidence plus negative log prior of the Gaussian limit, and the gradient.

    Parameters
    ----------
    parameters : ndarray of shape (4 * n_features + 3,)
        Logarithms of the inverse length scales, of the ν_k, of a and of σ²; the slopes γ of k and δ
        of the noise; the roughness.
    X : ndarray of shape (n, n_features)
    angles : ndarray of shape (n, n_features)
        From :func:`on_circle`.
    y, weights : ndarray of shape (n,)

    Returns
    -------
    value : float
    gradient : ndarray of shape (4 * n_features + 3,)
    """
    p = X.shape[1]
    scaled = X * np.exp(parameters[:p])
    nus, (a, noise) = np.exp(parameters[p : 2 * p]), np.exp(parameters[2 * p : 2 * p + 2])
    slopes, of_noise = parameters[2 * p + 2 : 3 * p + 2], parameters[3 * p + 2 : -1]
    log_noises, by_log_noises = log_squared_factors(X, of_noise)
    noises = noise * np.exp(log_noises) / weights
    log_squares, by_log_squares = log_squared_factors(X, slopes)
    factors = np.exp(0.5 * log_squares)
    # Of each pair of rows once.
    kernel, slope, by_roughness = radial(pdist(scaled, "sqeuclidean"), parameters[-1])
    dense = squareform(kernel)
    np.fill_diagonal(dense, 1.0)
    dense *= (a * factors)[:, None]
    dense *= factors
    covariance = squareform(-2.0 * pdist(nus * angles, "cityblock"))
    covariance += nus.sum()
    covariance += dense
    covariance.flat[:: len(y) + 1] += noises
    value, by_covariance = minus_log_evidence(covariance, y)
    gradient = np.empty_like(parameters)
    distances = sums_of_distances(by_covariance, np.ascontiguousarray(angles.T))
    gradient[p : 2 * p] = nus * (by_covariance.sum() - 2.0 * distances)
    by_noises = np.diag(by_covariance) * noises
    gradient[2 * p + 1] = by_noises.sum()
    gradient[3 * p + 2 : -1] = X.T @ (by_log_noises * by_noises)
    by_row = np.einsum("ij,ij->i", by_covariance, dense)
    gradient[2 * p] = by_row.sum()
    # The s of each row affects its row and its column.
    gradient[2 * p + 2 : 3 * p + 2] = X.T @ (by_log_squares * by_row)
    by_covariance *= (a * factors)[:, None]
    by_covariance *= factors
    by_kernel = squareform(by_covariance, checks=False)
    gradient[:p] = by_log_scales(squareform(by_kernel * slope), scaled)
    # The prior of the roughness is uniform.
    gradient[-1] = 2.0 * by_kernel @ by_roughness

    # Half-Cauchy inverse length scales: with more inputs, a smaller share of them matters.
    logs = parameters[:p] - np.log(relevance_scale(p))
    value += np.logaddexp(logs, -logs).sum()
    gradient[:p] += np.tanh(logs)
    # Half-Cauchy variances; those of the axes have the same prior as in the chains.
    logs = parameters[p : 2 * p + 2].copy()
    logs[:p] += log_crowd(p)
    value += np.logaddexp(logs, -logs).sum()
    gradient[p : 2 * p + 2] += np.tanh(logs)
    # Normal slopes such that x'γ and x'δ are standard normal if the inputs are.
    slopes = parameters[2 * p + 2 : -1]
    value += 0.5 * p * slopes @ slopes
    gradient[2 * p + 2 : -1] += p * slopes
    return value, gradient


class GaussianLimit:
    """The Gaussian process that is the limit of the model, conditioned on some rows.

    Parameters
    ----------
    parameters : ndarray of shape (4 * n_features + 3,)
        See :func:`negative_log_posterior`.
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
        covariance.flat[:: len(y) + 1] += (
            variances[-1] * np.exp(h) / weights + _JITTER * variances.sum()
        )
        factor = cholesky(covariance, lower=True, overwrite_a=True, check_finite=False)
        self._solved = cho_solve((factor, True), y, check_finite=False)
        variances = 1.0 / np.diag(inverse_of(factor))
        self.left_out_errors = self._solved * variances
        self.left_out_means = y - self.left_out_errors
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

    def mean_at_rows(self, X):
        """The mean at all rows; at rows that are conditioned on, the leave-one-out mean."""
        mean = self.mean(X)
        mean[self.rows] = self.left_out_means
        return mean


def fit_gaussian_limits(X, y, weights, rng, may_be_rough=True):
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
    data = X, on_circle(X), y, weights
    bounds = [(-_LOG_BOUND, _LOG_BOUND)] * p + [_LOG_VARIANCE_BOUNDS] * (p + 2)
    none = np.zeros(2 * p + 1)

    def alike(parameters):
        """The objective with constant amplitude and noise, and without roughness."""
        value, gradient = negative_log_posterior(np.append(parameters, none), *data)
        return value, gradient[: -2 * p - 1]

    # With one input, both starts are the same.
    found = []
    for few in sorted({0.0, np.log(p)}):
        lengths, nus = np.full(p, -0.5 - 0.5 * few), np.full(p, -2.0 - few)
        start = np.concatenate([lengths, nus, [0.0, -2.0]])
        found.append(_search(alike, start, bounds, _MAX_ITERATIONS))
    found.sort(key=lambda search: search.fun)
    # A child: what the chains draw does not depend on whether rows are selected.
    for start in _further_starts(X, y, weights, rng.spawn(1)[0]):
        first = _search(alike, start, bounds, _FIRST_ITERATIONS)
        if first.fun < found[0].fun:
            found = [_search(alike, first.x, bounds, _MAX_ITERATIONS), found[0]]
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
        both = _search(
            lambda x: negative_log_posterior(x, *data), start, bounds, _MAX_ITERATIONS // 2
        )
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


def _search(function, start, bounds, max_iterations):
    found = minimize(
        function, start, method="L-BFGS-B", jac=True, bounds=bounds,
        options={"maxiter": max_iterations},
    )  # fmt: skip
    # Status 1 is the limit on iterations, which is close enough for parameters that are then fixed.
    if found.status > 1:
        warn_user(
            f"The search for length scales of the dense units failed ({found.message}); they may "
            "be far from the best. Scale or transform the inputs, or set dense_units=False.",
            ConvergenceWarning,
        )
    return found

"""The kernel of the dense part, by the evidence of the Gaussian limit of the whole model.

With α = 2 and Gaussian noise the model is a Gaussian process with the covariance

    a k(x, x') + Σ_k ν_k (1 - 2 θ_k/π) + σ² I,

k the kernel of the dense units, θ_k the angle between (1, x_k) and (1, x_k'). All parameters are
fitted at once, so that the length scales answer for what axis units leave over and not for
all of y. The length scales and the roughness of k are then held, while the chains sample everything
else. So is the mean of y that this Gaussian process has at each row, given all others: the
noise may depend on it (:mod:`~skbayesnn.stable.additive.noise_slopes`).
"""

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from skbayesnn._warnings import warn_user
from skbayesnn.stable.additive.dense import radial
from skbayesnn.stable.gaussian_evidence import by_log_scales, inverse_of, minus_log_evidence
from skbayesnn.stable.samplers.line import arc

MAX_ROWS = 600
"""Of more rows a random part is used: an evaluation costs O(n³)."""

_ROWS_A_BLOCK = 2048
# Of a variance, added where the noise is next to none.
_JITTER = 1e-10
_LOG_BOUND = 9.0
_LOG_VARIANCE_BOUNDS = (-12.0, 9.0)
_MAX_ITERATIONS = 100
# Where the search for the roughness begins; at zero it would have to go along an edge.
_SOME_ROUGHNESS = 0.05


def axis_kernel(a, b):
    """1 - 2θ/π for all pairs of values of an input, (n_a, n_b)."""
    return 1.0 - 2.0 * arc(np.minimum.outer(a, b), np.maximum.outer(a, b))


def negative_log_posterior(parameters, X, axes, y, weights):
    """Minus the log-evidence and log-prior of the Gaussian limit, and its gradient.

    Parameters
    ----------
    parameters : ndarray of shape (2 * n_features + 3,)
        Logarithms of the inverse length scales, of the ν's, of a and of σ²; the roughness.
    X : ndarray of shape (n, n_features)
    axes : ndarray of shape (n_features, n, n)
        From :func:`axis_kernel`.
    y, weights : ndarray of shape (n,)

    Returns
    -------
    value : float
    gradient : ndarray of shape (2 * n_features + 3,)
    """
    n_features = X.shape[1]
    scaled = X * np.exp(parameters[:n_features])
    nus, (a, noise) = np.exp(parameters[n_features:-3]), np.exp(parameters[-3:-1])
    squares = cdist(scaled, scaled, "sqeuclidean")
    dense, slope, by_roughness = radial(squares, parameters[-1])
    covariance = a * dense + np.tensordot(nus, axes, 1)
    covariance.flat[:: len(y) + 1] += noise / weights
    value, by_covariance = minus_log_evidence(covariance, y)
    gradient = np.empty_like(parameters)
    gradient[:n_features] = by_log_scales(a * by_covariance * slope, scaled)
    gradient[n_features:-3] = nus * (axes.reshape(n_features, -1) @ by_covariance.ravel())
    gradient[-3] = a * (by_covariance * dense).sum()
    gradient[-2] = noise * (np.diag(by_covariance) / weights).sum()
    # The prior of the roughness is uniform.
    gradient[-1] = a * (by_covariance * by_roughness).sum()

    # Half-Cauchy inverse length scales, of scale 1/p: the more inputs there are, the fewer
    # matter, and the less may g follow single rows.
    logs = parameters[:n_features] + np.log(n_features)
    value += np.logaddexp(logs, -logs).sum()
    gradient[:n_features] += np.tanh(logs)
    # Half-Cauchy variances.
    logs = parameters[n_features:-1]
    value += np.logaddexp(logs, -logs).sum()
    gradient[n_features:-1] += np.tanh(logs)
    return value, gradient


class GaussianLimit:
    """The Gaussian process that is the limit of the model, given some rows.

    Parameters
    ----------
    parameters : ndarray of shape (2 * n_features + 3,)
        As in :func:`negative_log_posterior`.
    X : ndarray of shape (n, n_features)
    y, weights : ndarray of shape (n,)
    rows : ndarray of int, shape (n,)
        Which of all rows these are.

    Attributes
    ----------
    inverse_lengths : ndarray of shape (n_features,)
    roughness : float
    """

    def __init__(self, parameters, X, y, weights, rows):
        n_features = X.shape[1]
        variances = np.exp(parameters[n_features:-1])
        self.inverse_lengths = np.exp(parameters[:n_features])
        self.roughness = float(parameters[-1])
        self._nus, self._amplitude = variances[:-2], variances[-2]
        self._X, self._rows = X, rows
        covariance = self._covariance(X)
        covariance.flat[:: len(y) + 1] += variances[-1] / weights + _JITTER * variances.sum()
        factor = cholesky(covariance, lower=True, overwrite_a=True, check_finite=False)
        self._solved = cho_solve((factor, True), y, check_finite=False)
        self._left_out = y - self._solved / np.diag(inverse_of(factor))

    def _covariance(self, X):
        squares = cdist(X * self.inverse_lengths, self._X * self.inverse_lengths, "sqeuclidean")
        covariance = self._amplitude * radial(squares, self.roughness)[0]
        for nu, a, b in zip(self._nus, X.T, self._X.T, strict=True):
            covariance += nu * axis_kernel(a, b)
        return covariance

    def mean(self, X):
        """The mean at new rows, (n_rows,)."""
        starts = range(0, len(X), _ROWS_A_BLOCK)
        blocks = [self._covariance(X[i : i + _ROWS_A_BLOCK]) @ self._solved for i in starts]
        return np.concatenate(blocks)

    def mean_at_rows(self, X):
        """The mean at all rows: at each that it is given from all others."""
        mean = self.mean(X)
        mean[self._rows] = self._left_out
        return mean


def fit_gaussian_limit(X, y, weights, rng, may_be_rough=True):
    """The Gaussian process of the largest evidence.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Standardised, as y.
    y, weights : ndarray of shape (n,)
        Targets, and sample weights.
    rng : numpy.random.Generator
        Chooses rows where there are more than :data:`MAX_ROWS`.
    may_be_rough : bool, default=True
        Whether to look for a roughness above zero.

    Returns
    -------
    limit : GaussianLimit

    Warns
    -----
    ConvergenceWarning
        If the optimiser failed.
    """
    rows = np.arange(len(y))
    if len(y) > MAX_ROWS:
        rows = rng.choice(len(y), MAX_ROWS, replace=False)
        X, y, weights = X[rows], y[rows], weights[rows]
    n_features = X.shape[1]
    start = np.concatenate([np.full(n_features, -0.5), np.full(n_features, -2.0), [0.0, -2.0]])
    bounds = [(-_LOG_BOUND, _LOG_BOUND)] * n_features + [_LOG_VARIANCE_BOUNDS] * (n_features + 2)
    data = X, np.stack([axis_kernel(x, x) for x in X.T]), y, weights

    def without_roughness(parameters):
        value, gradient = negative_log_posterior(np.append(parameters, 0.0), *data)
        return value, gradient[:-1]

    found = _search(without_roughness, start, bounds)
    best = np.append(found.x, 0.0)
    if may_be_rough:
        start = np.append(found.x, _SOME_ROUGHNESS)
        rough = _search(lambda p: negative_log_posterior(p, *data), start, [*bounds, (0.0, 1.0)])
        # One that is next to nothing is not worth other length scales.
        if rough.fun < found.fun and rough.x[-1] > _SOME_ROUGHNESS / 10.0:
            best = rough.x
    # Few digits: rounding errors of the data are not to choose among kernels as good.
    few = [float(f"{value:.3g}") for value in (*np.exp(best[:-1]), best[-1])]
    best = np.append(np.log(few[:-1]), few[-1])
    return GaussianLimit(best, X, y, weights, rows)


def _search(function, start, bounds):
    found = minimize(
        function, start, method="L-BFGS-B", jac=True, bounds=bounds,
        options={"maxiter": _MAX_ITERATIONS},
    )  # fmt: skip
    # Status 1 is the limit of iterations: near enough for what is held anyway.
    if found.status > 1:
        warn_user(
            f"The search for length scales of the dense units failed ({found.message}); they may "
            "be far from the best. Scale or transform the inputs, or set dense_units=False.",
            ConvergenceWarning,
        )
    return found

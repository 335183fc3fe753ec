"""The objective of the search for the Gaussian limit: its log posterior density and the gradient.

The covariance and its derivatives are sums over pairs of rows. Each pair is visited once, and all
large arrays are allocated once for a whole search. So the Cholesky factor and the inverse take more
than half of the time.
"""

import numpy as np
from scipy.linalg import cho_solve, cholesky, lapack
from scipy.spatial.distance import pdist

from skbayesnn.gaussian_process.evidence import relevance_scale
from skbayesnn.numerics.jit import kernel
from skbayesnn.stable.additive.dense_kernel import log_squared_factors

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


class LimitObjective:
    """Negative log evidence plus negative log prior of the Gaussian limit, and the gradient.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    y, weights : ndarray of shape (n,)
    """

    def __init__(self, X, y, weights):
        self._X, self._y, self._weights, self._angles = X, y, weights, on_circle(X)
        n, p = X.shape
        self._r, self._decay, self._distances = np.empty((3, n * (n - 1) // 2))
        # Symmetric: what is the lower triangle for LAPACK is the upper one of its transpose.
        self._covariance, self._sums = np.empty((n, n)), np.empty((2, p, n))

    def __call__(self, parameters):
        """Value and gradient.

        Parameters
        ----------
        parameters : ndarray of shape (4 * n_features + 3,)
            Logarithms of the inverse length scales, of the ν_k, of a and of σ²; the slopes γ of k
            and δ of the noise; the roughness.

        Returns
        -------
        value : float
        gradient : ndarray of shape (4 * n_features + 3,)
        """
        X, y, p = self._X, self._y, self._X.shape[1]
        scaled, nus = X * np.exp(parameters[:p]), np.exp(parameters[p : 2 * p])
        a, noise = np.exp(parameters[2 * p : 2 * p + 2])
        slopes, of_noise = parameters[2 * p + 2 : 3 * p + 2], parameters[3 * p + 2 : -1]
        log_noises, by_log_noises = log_squared_factors(X, of_noise)
        noises = noise * np.exp(log_noises) / self._weights
        log_squares, by_log_squares = log_squared_factors(X, slopes)
        factors = np.sqrt(a) * np.exp(0.5 * log_squares)
        r, decay, covariance = self._r, self._decay, self._covariance
        pdist(scaled, "sqeuclidean", out=r)
        r *= 3.0
        np.sqrt(r, out=r)
        np.exp(np.negative(r, out=decay), out=decay)
        pdist(nus * self._angles, "cityblock", out=self._distances)
        _fill(r, decay, self._distances, factors, parameters[-1], nus.sum(), covariance)
        np.fill_diagonal(covariance, factors**2 + nus.sum() + noises)
        factor = cholesky(covariance.T, lower=True, overwrite_a=True, check_finite=False)
        solved = cho_solve((factor, True), y, check_finite=False)
        value = 0.5 * y @ solved + np.log(np.diag(factor)).sum()
        inverse = lapack.dpotri(factor, lower=1, overwrite_c=1)[0].T
        gradient, by_row = np.empty_like(parameters), np.empty(len(y))
        total, gradient[-1] = _add_up(
            r, decay, factors, parameters[-1], inverse, solved,
            np.ascontiguousarray(scaled.T), np.ascontiguousarray(self._angles.T), by_row,
            self._sums,
        )  # fmt: skip
        gradient[:p], distances = -self._sums.sum(axis=2)
        by_diagonal = 0.5 * (np.diag(inverse) - solved**2)
        gradient[p : 2 * p] = nus * (total + by_diagonal.sum() + 2.0 * distances)
        by_noises = by_diagonal * noises
        gradient[2 * p + 1] = by_noises.sum()
        gradient[3 * p + 2 : -1] = X.T @ (by_log_noises * by_noises)
        by_row += by_diagonal * factors**2
        gradient[2 * p] = by_row.sum()
        # The s of each row affects its row and its column.
        gradient[2 * p + 2 : 3 * p + 2] = X.T @ (by_log_squares * by_row)

        # The prior of the roughness is uniform. Half-Cauchy inverse length scales: with more
        # inputs, a smaller share of them matters.
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

    def alike(self, parameters):
        """Value and gradient with constant amplitude and noise, and without roughness.

        Parameters
        ----------
        parameters : ndarray of shape (2 * n_features + 2,)
            The others are zero.
        """
        value, gradient = self(np.append(parameters, np.zeros(2 * self._X.shape[1] + 1)))
        return value, gradient[: parameters.size]


@kernel
def _fill(r, decay, distances, factors, roughness, total_nu, covariance):
    """Write the covariance of all pairs i < j."""
    n, pair = len(factors), 0
    for i in range(n):
        for j in range(i + 1, n):
            k = (1.0 + (1.0 - roughness) * r[pair]) * decay[pair]
            covariance[i, j] = factors[i] * factors[j] * k + total_nu - 2.0 * distances[pair]
            pair += 1


@kernel
def _add_up(r, decay, factors, roughness, inverse, solved, scaled, angles, by_row, sums):
    """Sums over the pairs i < j, with the weight w that the covariance of a pair has.

    Parameters
    ----------
    r, decay : ndarray of shape (n (n - 1) / 2,)
    factors : ndarray of shape (n,)
        √a s.
    roughness : float
    inverse : ndarray of shape (n, n)
        The inverse of the covariance; only pairs i < j are read.
    solved : ndarray of shape (n,)
        The inverse times y.
    scaled, angles : ndarray of shape (n_features, n)
    by_row : ndarray of shape (n,)
        Overwritten with ½ Σ_j w times the covariance of g.
    sums : ndarray of shape (2, n_features, n)
        Overwritten; its sums over the last axis are minus the derivatives with respect to the log
        inverse length scales, and Σ w |θ_k/π|.

    Returns
    -------
    total, by_roughness : float
        Σ w, and the derivative with respect to the roughness.
    """
    (p, n), pair, total, by_roughness = scaled.shape, 0, 0.0, 0.0
    w, by_square = np.empty(n), np.empty(n)
    by_row[:] = 0.0
    sums[:] = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            w[j] = inverse[i, j] - solved[i] * solved[j]
            weight = w[j] * factors[i] * factors[j]
            weighted, distance = weight * decay[pair], r[pair]
            by_square[j] = -3.0 * (1.0 - roughness) * weighted
            if roughness > 0.0 and distance > 0.0:
                by_square[j] -= 3.0 * roughness * weighted / distance
            part = 0.5 * weighted * (1.0 + (1.0 - roughness) * distance)
            by_row[i] += part
            by_row[j] += part
            total += w[j]
            by_roughness -= distance * weighted
            pair += 1
        # Of slices from zero on, the compiler makes vector instructions.
        n_pairs, pair_w, pair_squares = n - i - 1, w[i + 1 :], by_square[i + 1 :]
        for k in range(p):
            x, angle = scaled[k, i:], angles[k, i:]
            squares, distances = sums[0, k, i + 1 :], sums[1, k, i + 1 :]
            for j in range(n_pairs):
                change = x[j + 1] - x[0]
                squares[j] -= pair_squares[j] * (change * change)
            for j in range(n_pairs):
                distances[j] += pair_w[j] * abs(angle[j + 1] - angle[0])
    return total, by_roughness

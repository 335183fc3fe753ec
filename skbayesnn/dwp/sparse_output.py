"""Sparse output: the function at new rows given all training rows, summarised by some of them.

The interface is that of all outputs (:mod:`skbayesnn.dwp.prediction`).
"""

import numpy as np
from scipy.optimize import minimize_scalar

from skbayesnn.dwp.collapsed import SPARSE_JITTER, row_precision
from skbayesnn.dwp.passes import chunks
from skbayesnn.dwp.prediction import BLOCK, RowsOutput
from skbayesnn.dwp.triangular import multiply_lower
from skbayesnn.gaussian_process.evidence import LOG_2PI
from skbayesnn.gaussian_process.factors import cholesky, inverse, warn_of_jitter
from skbayesnn.gaussian_process.kernels import squared_exponential
from skbayesnn.numerics.workers import ALONE

NOISE_DRAWS = 3
"""Number of draws by which the noise variances are chosen after training."""


class SparseOutput(RowsOutput):
    """All training rows, summarised by some of them (the variational posterior of Titsias, 2009).

    Let K = L L' be the covariance of the summarising points, and L⁻¹ K_mn K_nm L⁻¹' = U Λ U'. The
    posterior for noise variance σ² has the weights L⁻¹'U (Λ + σ²)⁻¹ U'L⁻¹ K_mn y, and its variance
    falls by the squared norm of (Λ/(Λ + σ²))^½ U'L⁻¹ k.

    Parameters
    ----------
    sizes, theta, noise, X, Y, weights
        See :class:`~skbayesnn.dwp.prediction.RowsOutput`.
    points : ndarray of shape (m,) of int
        Indices of the rows that summarise the others.
    """

    def __init__(self, sizes, theta, noise, X, Y, weights, points, copies=None):
        super().__init__(sizes, theta, noise, X, Y, weights, copies)
        self.points = points

    def _leverages(self, d, parameters, noise):
        log_height = parameters["log_heights"][-1]
        rows = self._features(d, parameters)
        features, inv, values, vectors, totals, _ = self._decompose(rows, parameters)
        basis, own = vectors.T @ inv, np.exp(parameters["log_noise"][0])
        precision = self._precision(parameters)
        own_basis = basis.T.astype(precision)
        fitted, kept, rest = np.empty((3, len(rows)))
        for i in range(0, len(rows), BLOCK):
            part = slice(i, i + BLOCK)
            cross = squared_exponential(rows[part], features, log_height)
            scores = (cross.astype(precision, copy=False) @ own_basis).astype(np.float64)
            fitted[part] = scores @ (totals[:, 0] / (values + own))
            squares = scores**2
            kept[part] = 1.0 - squares @ (1.0 / (values + own)) * self.weights[part]
            rest[part] = np.maximum(np.exp(log_height) - squares.sum(axis=1), 0.0)
        return fitted, kept, rest

    def _condition(self, features, parameters):
        features, inv, values, vectors, totals, _ = self._decompose(features, parameters)
        basis = vectors.T @ inv
        noise = np.exp(parameters["log_noise"])
        weights = basis.T @ (totals / (values[:, None] + noise))
        return features, weights, [np.sqrt(values / (values + s))[:, None] * basis for s in noise]

    def _precision(self, parameters):
        scales = parameters["log_heights"][-1], parameters["log_noise"]
        return row_precision(len(chunks(len(self.X))), *scales)

    def _decompose(self, features, parameters):
        """Features of the points, L⁻¹, Λ, U, U'L⁻¹ K_mn Y, and the trace of the residual."""
        log_height = parameters["log_heights"][-1]
        some = features[self.points]
        gram = squared_exponential(some, some, log_height)
        factor, _, n_failures = cholesky(gram, SPARSE_JITTER)
        warn_of_jitter(n_failures)
        inv = inverse(factor)
        precision = self._precision(parameters)
        own_inv, products, totals = inv.astype(precision, copy=False), 0.0, 0.0
        for i in range(0, len(features), BLOCK):
            rows = slice(i, i + BLOCK)
            cross = squared_exponential(features[rows], some, log_height)
            # Whiten first, so that noise far below the signal variance is not lost in rounding
            # errors.
            roots = np.sqrt(self.weights[rows, None])
            whitened = multiply_lower(own_inv, (roots * cross).astype(precision, copy=False))
            products = products + (whitened.T @ whitened).astype(np.float64, copy=False)
            totals = totals + whitened.T @ (roots * self.Y[rows]).astype(precision, copy=False)
        rest = self.weights.sum() * np.exp(log_height) - products.trace()
        values, vectors = np.linalg.eigh(products)
        return some, inv, np.maximum(values, 0), vectors, vectors.T @ totals, max(rest, 0)

    def best_noise(self, workers=ALONE):
        """Log noise variances that maximise the lower bound, for given draws and points.

        For each draw, the log evidence of the rows is at least

            log N(Y; 0, K_nm K⁻¹ K_mn + σ² I) − tr(K_nn − K_nm K⁻¹ K_mn) / 2σ².

        The mean over the first draws is maximised for each target.

        Parameters
        ----------
        workers : Workers, default=ALONE
            Threads that share the draws.

        Returns
        -------
        log_noise : ndarray of shape (n_targets,)
        """
        parameters = self.sizes.views(self.theta)

        def draw(d):
            return self._decompose(self._features(d, parameters), parameters)

        parts = workers.map(draw, min(NOISE_DRAWS, self.n_draws))
        squares, n = self.weights @ self.Y**2, self.weights.sum()
        out = parameters["log_noise"].copy()
        for t in range(len(out)):

            def loss(log_noise, t=t):
                return sum(
                    sparse_loss(log_noise, n, squares[t], values, totals[:, t], rest)
                    for _, _, values, _, totals, rest in parts
                )

            moved = 3.0
            while abs(moved) > 2.9:  # the minimum is at an end of the interval
                ends = out[t] - 3.0, out[t] + 3.0
                moved = minimize_scalar(loss, bounds=ends, method="bounded").x - out[t]
                out[t] += moved
        return out


def sparse_loss(log_noise, n, squares, values, totals, rest):
    """Negative bound of one target; see :meth:`SparseOutput.best_noise`.

    Parameters
    ----------
    log_noise : float
    n : float
        Number of rows.
    squares : float
        y'y.
    values, totals : ndarray of shape (m,)
        Λ and U'L⁻¹ K_mn y.
    rest : float
        The trace in the bound.

    Returns
    -------
    loss : float
    """
    noise = np.exp(log_noise)
    log_det = np.log(values + noise).sum() + (n - len(values)) * log_noise
    fit = (squares - (totals**2 / (values + noise)).sum() + rest) / noise
    return 0.5 * (n * LOG_2PI + log_det + fit)

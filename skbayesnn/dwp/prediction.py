"""The function at new rows, from a trained model: by pseudo-observations, or by all rows.

Both kinds of output answer ``predict(X)`` with the mean and variance of the function for each
draw of the hidden layers, and ``sample(X, …)`` with draws of the function at all rows of X.
"""

import numpy as np
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from skbayesnn.dwp.collapsed import JITTER
from skbayesnn.dwp.kernels import squared_exponential
from skbayesnn.dwp.objective import Pass, predict
from skbayesnn.numerics.factors import cholesky, inverse, multiply_lower

BLOCK = 2000
"""Rows that prediction handles at a time."""
CACHE_BYTES = 2**29
"""Memory for the factors of all draws; where they take more, each call computes them anew."""


class _Output:
    """Joint draws, from what subclasses know of a draw of the hidden layers."""

    def sample(self, X, generator, n_samples):
        """Draws of the function of the first target, without noise, jointly at all rows.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
            Standardised.
        generator : numpy.random.Generator
        n_samples : int

        Returns
        -------
        samples : ndarray of shape (n, n_samples)
        """
        samples = np.empty((len(X), n_samples))
        with threadpool_limits(limits=1, user_api="blas"):
            run = Pass(self.architecture, self.architecture.views(self.theta), X, self.noise)
            chosen = generator.integers(run.n_draws, size=n_samples)
            normal = generator.standard_normal((len(X), n_samples))
            for d in np.unique(chosen):
                mean, explained, features = self._joint(d, run)
                prior = squared_exponential(features, features, run.p["log_heights"][-1])
                factor, _, _ = cholesky(prior - explained @ explained.T, 1e-9)
                columns = chosen == d
                samples[:, columns] = mean[:, None] + factor @ normal[:, columns]
        return samples


class InducingOutput(_Output):
    """The trained pseudo-observations at the inducing points.

    Parameters
    ----------
    architecture : Architecture
    theta : ndarray of shape (n_parameters,)
    noise : Noise
        Of one row, which all rows share.
    """

    def __init__(self, architecture, theta, noise):
        self.architecture, self.theta, self.noise = architecture, theta, noise

    def predict(self, X):
        """Mean and variance of the function, without noise.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
            Standardised.

        Returns
        -------
        means, variances : ndarray of shape (n_draws, n_targets, n)
        """
        parameters = self.architecture.views(self.theta)
        with threadpool_limits(limits=1, user_api="blas"):
            parts = [
                predict(self.architecture, parameters, X[i : i + BLOCK], self.noise)
                for i in range(0, len(X), BLOCK)
            ]
        return tuple(np.concatenate(p, axis=2) for p in zip(*parts, strict=True))

    def _joint(self, d, run):
        """Mean, a root of the part of the prior covariance that is explained, and features."""
        output = run.forward(d)[1][0]
        return output.mean, output.scores, output.right


class ExactOutput(_Output):
    """The output process given all training rows, for each draw of the hidden layers.

    A draw is a smooth map from inputs to features (see :mod:`skbayesnn.dwp.collapsed`), the
    same for training and new rows; given it, this is textbook Gaussian process regression.

    Parameters
    ----------
    architecture : Architecture
    theta : ndarray of shape (n_parameters,)
    noise : Noise
        Of one row, which all rows share.
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Training rows, standardised.

    Notes
    -----
    Factors, n² numbers a draw and target, are computed when first asked for, and kept up
    to :data:`CACHE_BYTES`; they are not pickled.
    """

    def __init__(self, architecture, theta, noise, X, Y):
        self.architecture, self.theta, self.noise = architecture, theta, noise
        self.X, self.Y = X, Y
        self._cache = {}

    def __getstate__(self):
        return {**self.__dict__, "_cache": {}}

    def predict(self, X):
        """Mean and variance of the function, without noise.

        Parameters
        ----------
        X : ndarray of shape (n_new, n_inputs)
            Standardised.

        Returns
        -------
        means, variances : ndarray of shape (n_draws, n_targets, n_new)
        """
        a = self.architecture
        parameters = a.views(self.theta)
        log_height = parameters["log_heights"][-1]
        height = np.exp(log_height)
        with threadpool_limits(limits=1, user_api="blas"):
            blocks = [
                Pass(a, parameters, X[i : i + BLOCK], self.noise) for i in range(0, len(X), BLOCK)
            ]
            n_draws = blocks[0].n_draws
            means, variances = np.empty((2, n_draws, a.n_targets, len(X)))
            for d in range(n_draws):
                features, weights, inverses = self._draw(d, parameters)
                begin = 0
                for block in blocks:
                    new = block.hidden(d)[2]
                    cross = squared_exponential(new, features, log_height)
                    part = slice(begin, begin + len(new))
                    means[d, :, part] = weights.T @ cross.T
                    for t, inv in enumerate(inverses):
                        scores = multiply_lower(inv, cross.copy())
                        explained = np.einsum("ij,ij->i", scores, scores)
                        variances[d, t, part] = np.maximum(height - explained, 1e-12 * height)
                    begin += len(new)
        return means, variances

    def _joint(self, d, run):
        """Mean, a root of the part of the prior covariance that is explained, and features."""
        new = run.hidden(d)[2]
        features, weights, inverses = self._draw(d, run.p)
        cross = squared_exponential(new, features, run.p["log_heights"][-1])
        return cross @ weights[:, 0], multiply_lower(inverses[0], cross.copy()), new

    def _draw(self, d, parameters):
        """Features of the training rows, weights and inverse factors of all targets."""
        if d in self._cache:
            return self._cache[d]
        if "run" not in self._cache:
            self._cache["run"] = Pass(self.architecture, parameters, self.X, self.noise)
        run = self._cache["run"]
        features = run.hidden(d)[2]
        gram = squared_exponential(features, features, parameters["log_heights"][-1])
        weights, inverses = np.empty_like(self.Y), []
        for t, log_noise in enumerate(parameters["log_noise"]):
            covariance = gram.copy()
            covariance.ravel()[:: len(gram) + 1] += np.exp(log_noise)
            factor, _, _ = cholesky(covariance, JITTER)
            weights[:, t] = lapack.dpotrs(factor, self.Y[:, t], lower=1)[0]
            inverses.append(inverse(factor))
        out = features, weights, inverses
        if run.n_draws * len(inverses) * gram.nbytes <= CACHE_BYTES:
            self._cache[d] = out
        return out

"""The function at new rows, from a trained model: by pseudo-observations, or by all rows.

All kinds of output answer ``predict(X)`` with the mean and variance of the function for each
draw of the hidden layers, and ``sample(X, …)`` with draws of the function at all rows of X.
"""

import copy

import numpy as np
from scipy.linalg import LinAlgError, lapack

from skbayesnn._validation import check_joint_rows
from skbayesnn.dwp.objective import predict
from skbayesnn.dwp.passes import Pass
from skbayesnn.gaussian_process.conditioned import one_copy_left_out
from skbayesnn.gaussian_process.evidence import JITTER, LOG_2PI, evidence
from skbayesnn.gaussian_process.factors import cholesky, inverse, warn_of_jitter
from skbayesnn.gaussian_process.kernels import squared_exponential
from skbayesnn.numerics.workers import ALONE

BLOCK = 2000
"""Rows that prediction handles at a time."""
CACHE_BYTES = 2**29
"""Memory for the roots of all draws; where they take more, each call computes them anew."""

MAX_JOINT_ROWS = 10_000
"""Rows of joint draws: their covariance takes gigabytes beyond."""


class _Output:
    """Joint draws, from what subclasses know of a draw of the hidden layers."""

    def mean(self, X, n_draws):
        """Mean of the function over the first draws of the hidden layers.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
            Standardised.
        n_draws : int

        Returns
        -------
        mean : ndarray of shape (n, n_targets)
        """
        few = copy.copy(self)
        vars(few).update(vars(self))  # what it has in its cache, too
        few.noise = self.noise.first(n_draws)
        return few.predict(X)[0].mean(axis=0).T

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

        Raises
        ------
        ValueError
            If there are more than :data:`MAX_JOINT_ROWS` rows.
        """
        check_joint_rows(len(X), MAX_JOINT_ROWS)
        samples = np.empty((len(X), n_samples))
        run = Pass(self.sizes, self.sizes.views(self.theta), X, self.noise)
        chosen = generator.integers(run.n_draws, size=n_samples)
        normal = generator.standard_normal((len(X), n_samples))
        for d in np.unique(chosen):
            mean, explained, features = self._joint(d, run)
            prior = squared_exponential(features, features, run.p["log_heights"][-1])
            factor, _, n_failures = cholesky(prior - explained @ explained.T, 1e-9)
            warn_of_jitter(n_failures)
            columns = chosen == d
            samples[:, columns] = mean[:, None] + factor @ normal[:, columns]
        return samples

    def left_out(self, n_draws, workers=ALONE):
        """Mean and variance of the function of the first target at each row, given all others.

        Of a row of weight w, one of its w copies is left out. Means are over draws of the hidden
        layers, which are not learned anew.

        Parameters
        ----------
        n_draws : int
            Draws of the hidden layers that take part.
        workers : Workers, default=ALONE
            Threads that share the draws.

        Returns
        -------
        mean, variance : ndarray of shape (n,)
        """
        parts = workers.map(self._left_out, min(n_draws, self.n_draws))
        means, variances = (np.array(each) for each in zip(*parts, strict=True))
        return means.mean(axis=0), variances.mean(axis=0) + means.var(axis=0)


class InducingOutput(_Output):
    """The trained pseudo-observations at the inducing points.

    Parameters
    ----------
    sizes : LayerSizes
    theta : ndarray of shape (n_parameters,)
    noise : Noise
        Of one row, which all rows share.
    """

    def __init__(self, sizes, theta, noise):
        self.sizes, self.theta, self.noise = sizes, theta, noise

    def predict(self, X, workers=ALONE):
        """Mean and variance of the function, without noise.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
            Standardised.
        workers : Workers, default=ALONE
            Threads that share the draws.

        Returns
        -------
        means, variances : ndarray of shape (n_draws, n_targets, n)
        """
        parameters = self.sizes.views(self.theta)
        parts = [
            predict(self.sizes, parameters, X[i : i + BLOCK], self.noise, workers)
            for i in range(0, len(X), BLOCK)
        ]
        return tuple(np.concatenate(p, axis=2) for p in zip(*parts, strict=True))

    def _joint(self, d, run):
        """Mean, a root of the part of the prior covariance that is explained, and features."""
        output = run.forward(d)[1][0]
        return output.mean, output.scores, output.right


class RowsOutput(_Output):
    """The output process given all training rows, for each draw of the hidden layers.

    A draw is a smooth map from inputs to features (see :mod:`skbayesnn.dwp.collapsed`), the
    same for training and new rows; given it, this is Gaussian process regression. Subclasses
    have ``_condition(d)``.

    Parameters
    ----------
    sizes : LayerSizes
    theta : ndarray of shape (n_parameters,)
    noise : Noise
        Of one row, which all rows share.
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Training rows, standardised.
    weights : ndarray of shape (n,)
        How many rows each stands for: one of weight w is seen with noise of variance σ²/w.
    copies : ndarray of shape (n,), optional
        How many rows each stands for, where the weights are also those of noise that differs
        between rows.

    Notes
    -----
    What a draw takes is computed when it is first asked for, and kept up to
    :data:`CACHE_BYTES`; it is not pickled.
    """

    def __init__(self, sizes, theta, noise, X, Y, weights, copies=None):
        self.sizes, self.theta, self.noise = sizes, theta, noise
        self.X, self.Y, self.weights, self.copies = X, Y, weights, copies
        self._cache = {}

    def __getstate__(self):
        return {**self.__dict__, "_cache": {}}

    def predict(self, X, workers=ALONE):
        """Mean and variance of the function, without noise.

        Parameters
        ----------
        X : ndarray of shape (n_new, n_inputs)
            Standardised.
        workers : Workers, default=ALONE
            Threads that share the draws.

        Returns
        -------
        means, variances : ndarray of shape (n_draws, n_targets, n_new)
        """
        a = self.sizes
        parameters = a.views(self.theta)
        log_height = parameters["log_heights"][-1]
        height = np.exp(log_height)
        blocks = [
            Pass(a, parameters, X[i : i + BLOCK], self.noise) for i in range(0, len(X), BLOCK)
        ]
        means, variances = np.empty((2, self.n_draws, a.n_targets, len(X)))

        def draw(d):
            features, weights, roots = self._draw(d)
            begin = 0
            for block in blocks:
                new = block.hidden(d).right
                cross = squared_exponential(new, features, log_height)
                part = slice(begin, begin + len(new))
                means[d, :, part] = weights.T @ cross.T
                for t, root in enumerate(roots):
                    scores = cross @ root.T
                    explained = np.einsum("ij,ij->i", scores, scores)
                    variances[d, t, part] = np.maximum(height - explained, 1e-12 * height)
                begin += len(new)

        workers.run(draw, self.n_draws)
        return means, variances

    def _joint(self, d, run):
        """Mean, a root of the part of the prior covariance that is explained, and features."""
        new = run.hidden(d).right
        features, weights, roots = self._draw(d)
        cross = squared_exponential(new, features, run.p["log_heights"][-1])
        return cross @ weights[:, 0], cross @ roots[0].T, new

    def log_evidence(self, d):
        """Log density of the targets given draw d of the hidden layers.

        A row of weight w is one observation with the noise variance σ²/w.
        """
        parameters = self.sizes.views(self.theta)
        features = self._features(d, parameters)
        log_noise = parameters["log_noise"]
        try:
            loss = evidence(
                features, self.Y, self.weights, parameters["log_heights"][-1], log_noise
            )[0]
        except LinAlgError:
            return -np.inf
        # Where a row of weight w is w observations, a factor of the density is another.
        excess = self.weights.sum() - len(self.weights)
        logs = np.log(self.weights).sum()
        return -loss + 0.5 * (excess * (LOG_2PI + log_noise) + logs).sum()

    def _left_out(self, d):
        """Mean and variance of the function at each row, given all others, for a draw."""
        parameters = self.sizes.views(self.theta)
        noise = np.exp(parameters["log_noise"][0]) / self.weights
        fitted, kept, rest = self._leverages(d, parameters, noise)
        copies = self.weights if self.copies is None else self.copies
        y = self.Y[:, 0]
        mean, variance = one_copy_left_out(y, y - fitted, kept, noise, copies)
        return mean, variance + rest

    def _draw(self, d):
        """Features (m, ν), weights (m, n_targets) and, for each target, a root (m, m).

        With k the covariances of a new row with the m features, the function there has the
        mean ``k @ weights`` and its variance falls by the square of ``root @ k``.
        """
        if d in self._cache:
            return self._cache[d]
        parameters = self.sizes.views(self.theta)
        out = self._condition(self._features(d, parameters), parameters)
        if self.n_draws * sum(root.nbytes for root in out[2]) <= CACHE_BYTES:
            self._cache[d] = out
        return out

    @property
    def n_draws(self):
        """Draws of the hidden layers; without any, all are the same."""
        return self.noise.uniform.shape[1] if self.sizes.n_layers else 1

    def _features(self, d, parameters):
        """Features of the training rows, some rows at a time."""
        noise = self.noise.only(d)
        return np.concatenate(
            [
                Pass(self.sizes, parameters, self.X[i : i + BLOCK], noise).hidden(0).right
                for i in range(0, len(self.X), BLOCK)
            ]
        )


class ExactOutput(RowsOutput):
    """Textbook Gaussian process regression: n² numbers a draw and target."""

    def _condition(self, features, parameters):
        gram = squared_exponential(features, features, parameters["log_heights"][-1])
        weights, roots = np.empty_like(self.Y), []
        added = JITTER * np.exp(parameters["log_heights"][-1])
        for t, log_noise in enumerate(parameters["log_noise"]):
            covariance = gram.copy()
            noise_variance = np.exp(log_noise) + added
            covariance.ravel()[:: len(gram) + 1] += noise_variance / self.weights
            factor, _, n_failures = cholesky(covariance, 0.0)
            warn_of_jitter(n_failures)
            weights[:, t] = lapack.dpotrs(factor, self.Y[:, t], lower=1)[0]
            roots.append(inverse(factor))
        return features, weights, roots

    def _leverages(self, d, parameters, noise):
        """Fitted values, one minus the part of each row in its own, and what is not explained."""
        _, weights, roots = self._draw(d)
        noise = noise + JITTER * np.exp(parameters["log_heights"][-1]) / self.weights
        fitted = self.Y[:, 0] - noise * weights[:, 0]
        return fitted, noise * np.einsum("ij,ij->j", roots[0], roots[0]), 0.0

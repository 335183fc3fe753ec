"""The function at new rows from a trained model, by pseudo-observations or by all rows.

Every kind of output has ``predict(X)``, which returns the mean and variance of the function for
each draw of the hidden layers, and ``sample(X, …)``, which draws the function jointly at all rows
of X.
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
"""Number of rows that prediction handles at a time."""
CACHE_BYTES = 2**29
"""Memory limit for the stored roots of all draws; beyond it, each call recomputes them."""

MAX_JOINT_ROWS = 10_000
"""Largest number of rows of joint draws; beyond it, their covariance takes gigabytes."""


class _Output:
    """Methods that all kinds of output share; subclasses define the posterior for each draw."""

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
        vars(few).update(vars(self))  # including the cache
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

        For a row of weight w, one of its w copies is left out. The means are over draws of the
        hidden layers, which are not retrained.

        Parameters
        ----------
        n_draws : int
            Number of draws of the hidden layers to use.
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
    """Output by the trained pseudo-observations at the inducing points.

    Parameters
    ----------
    sizes : LayerSizes
    theta : ndarray of shape (n_parameters,)
    noise : Noise
        Random numbers of a single row, which all rows share.
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
        """Mean, a root of the explained part of the prior covariance, and features."""
        output = run.forward(d)[1][0]
        return output.mean, output.scores, output.right


class RowsOutput(_Output):
    """Output by conditioning on all training rows, for each draw of the hidden layers.

    A draw is a smooth map from inputs to features (see :mod:`skbayesnn.dwp.collapsed`), the same
    for training rows and new rows. Given the draw, this is Gaussian process regression. Subclasses
    define ``_condition(features, parameters)`` and ``_leverages(d, parameters, noise)``.

    Parameters
    ----------
    sizes : LayerSizes
    theta : ndarray of shape (n_parameters,)
    noise : Noise
        Random numbers of a single row, which all rows share.
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Training rows, standardised.
    weights : ndarray of shape (n,)
        Number of rows that each row stands for: a row of weight w has noise of variance σ²/w.
    copies : ndarray of shape (n,), optional
        Number of rows that each row stands for, if the weights also express noise that differs
        between rows.

    Notes
    -----
    The conditional of a draw is computed when it is first needed, and stored up to
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
        """Mean, a root of the explained part of the prior covariance, and features."""
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
        # If a row of weight w counts as w observations, the density has an additional factor.
        excess = self.weights.sum() - len(self.weights)
        logs = np.log(self.weights).sum()
        return -loss + 0.5 * (excess * (LOG_2PI + log_noise) + logs).sum()

    def _left_out(self, d):
        """Mean and variance of the function at each row given all others, for draw d."""
        parameters = self.sizes.views(self.theta)
        noise = np.exp(parameters["log_noise"][0]) / self.weights
        fitted, kept, rest = self._leverages(d, parameters, noise)
        copies = self.weights if self.copies is None else self.copies
        y = self.Y[:, 0]
        mean, variance = one_copy_left_out(y, y - fitted, kept, noise, copies)
        return mean, variance + rest

    def _draw(self, d):
        """Features (m, ν), weights (m, n_targets) and, for each target, a root (m, m).

        Let k be the covariances of a new row with the m features. The mean of the function there is
        ``k @ weights``, and its variance falls by the squared norm of ``root @ k``.
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
        """Number of draws of the hidden layers; one without hidden layers."""
        return self.noise.uniform.shape[1] if self.sizes.n_layers else 1

    def _features(self, d, parameters):
        """Features of the training rows, computed in blocks."""
        noise = self.noise.only(d)
        return np.concatenate(
            [
                Pass(self.sizes, parameters, self.X[i : i + BLOCK], noise).hidden(0).right
                for i in range(0, len(self.X), BLOCK)
            ]
        )


class ExactOutput(RowsOutput):
    """Textbook Gaussian process regression, with n² numbers per draw and target."""

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
        """Fitted values, one minus the leverage of each row, and the unexplained variance."""
        _, weights, roots = self._draw(d)
        noise = noise + JITTER * np.exp(parameters["log_heights"][-1]) / self.weights
        fitted = self.Y[:, 0] - noise * weights[:, 0]
        return fitted, noise * np.einsum("ij,ij->j", roots[0], roots[0]), 0.0

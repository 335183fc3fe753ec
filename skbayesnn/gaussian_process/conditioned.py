"""A Gaussian process of given settings, conditioned on rows with noise of their own."""

import numpy as np
from scipy.linalg import lapack

from skbayesnn.gaussian_process.evidence import JITTER
from skbayesnn.gaussian_process.factors import cholesky
from skbayesnn.gaussian_process.kernels import squared_exponential

ROWS_AT_ONCE = 2000


class Process:
    """A Gaussian process of given settings, conditioned on rows.

    Parameters
    ----------
    theta : ndarray of shape (n_inputs + 2,)
        As :func:`skbayesnn.gaussian_process.evidence.log_evidence` has them.
    X : ndarray of shape (n, n_inputs)
    targets : ndarray of shape (n,)
    weights : ndarray of shape (n,)
        One over the noise variances, in units of that of ``theta``.
    copies : ndarray of shape (n,)
        How many rows each stands for.
    """

    def __init__(self, theta, X, targets, weights, copies):
        self.inverse_scales, self.log_height = np.exp(-theta[:-2]), theta[-2]
        self.features, self.targets, self.copies = X * self.inverse_scales, targets, copies
        gram = squared_exponential(self.features, self.features, self.log_height)
        self.noise = (np.exp(theta[-1]) + JITTER * np.exp(self.log_height)) / weights
        gram.ravel()[:: len(gram) + 1] += self.noise
        self.factor, _, _ = cholesky(gram, 0.0)
        self.solved = lapack.dpotrs(self.factor, targets, lower=1)[0]

    def left_out(self):
        """Mean and variance of the function at each row, one copy of which is not known.

        With C the covariance of the targets and r the noise of a row,

            f_i | others ~ N(y_i − (C⁻¹y)_i / (C⁻¹)_ii, 1 / (C⁻¹)_ii − r_i)

        where the row has weight one; else r_i and C are those of a table in which it comes w times.

        Returns
        -------
        means, variances : ndarray of shape (n,)
        """
        half = lapack.dpotri(self.factor, lower=1)[0]
        kept = self.noise * np.diagonal(half)
        return one_copy_left_out(
            self.targets, self.noise * self.solved, kept, self.noise, self.copies
        )

    def predict(self, X):
        """Mean and variance of the function at other rows."""
        means, variances = np.empty((2, len(X)))
        for begin in range(0, len(X), ROWS_AT_ONCE):
            part = slice(begin, begin + ROWS_AT_ONCE)
            cross = squared_exponential(
                self.features, X[part] * self.inverse_scales, self.log_height
            )
            means[part] = self.solved @ cross
            scores = lapack.dtrtrs(self.factor, cross, lower=1)[0]
            left = np.exp(self.log_height) - np.einsum("ij,ij->j", scores, scores)
            variances[part] = np.maximum(left, 0.0)
        return means, variances

    def gradients(self):
        """Gradient of the mean at the rows, (n, n_inputs)."""
        products = squared_exponential(self.features, self.features, self.log_height) * self.solved
        moved = products @ self.features - products.sum(axis=1)[:, None] * self.features
        return moved * self.inverse_scales

    def draws(self, X, n, generator):
        """Functions given the rows, jointly at some thousand points at most.

        Parameters
        ----------
        X : ndarray of shape (m, n_inputs)
        n : int
        generator : numpy.random.Generator

        Returns
        -------
        means, variances : ndarray of shape (m,)
            As :meth:`predict` has them.
        gaps : ndarray of shape (m, n)
            What the functions differ from the means by.
        """
        features = X * self.inverse_scales
        cross = squared_exponential(self.features, features, self.log_height)
        scores = lapack.dtrtrs(self.factor, cross, lower=1)[0]
        covariance = squared_exponential(features, features, self.log_height) - scores.T @ scores
        variances = np.maximum(covariance.diagonal(), 0.0)
        covariance.ravel()[:: len(X) + 1] += JITTER * np.exp(self.log_height)
        gaps = cholesky(covariance, 0.0)[0] @ generator.standard_normal((len(X), n))
        return self.solved @ cross, variances, gaps


def one_copy_left_out(targets, residuals, kept, noise, copies):
    """Mean and variance of the function at rows, given all but one copy of each.

    Parameters
    ----------
    targets, residuals : ndarray of shape (n,)
        And what is left of them where they are fitted.
    kept : ndarray of shape (n,)
        What the residual of a row is, if its target alone is one; 1 − h with h the leverage, of
        which one of w copies has h / w.
    noise : ndarray of shape (n,)
        Its variance.
    copies : ndarray of shape (n,)
        How many rows each stands for.

    Returns
    -------
    means, variances : ndarray of shape (n,)
    """
    copies = np.maximum(copies, 1.0)
    noise, kept = noise * copies, np.where(copies > 1.0, 1.0 - (1.0 - kept) / copies, kept)
    kept = np.clip(kept, 1e-12, 1.0)  # what rounding leaves of it
    return targets - residuals / kept, noise * (1.0 / kept - 1.0)

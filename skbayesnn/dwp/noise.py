"""Noise that is not one Gaussian: its law, learned at the start and after training.

Given the law (:mod:`skbayesnn.gaussian_process.noise`) a row has Gaussian noise of a precision of
its own, around a target of its own. Conditioning and training see rows with such targets, and with
the precisions as weights, so that nothing in them is new. The precisions are in units of the
learned noise variance, and their sum is that of the weights:

    weight_i = w_i E[1/v_i] u / σ_i²,    Σ weight_i = Σ w_i,

since only then the evidence of weighted rows (:func:`skbayesnn.gaussian_process.evidence.evidence`)
has the right slope in the noise variance. At the start, law and settings of a Gaussian process take
turns. The hidden layers are trained with the rows that this gives, and then the law is chosen and
learned anew, given what the trained model predicts for rows that are left out of its output. Not in
the paper.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, lapack

from skbayesnn.gaussian_process.evidence import JITTER, search
from skbayesnn.gaussian_process.factors import cholesky
from skbayesnn.gaussian_process.kernels import squared_exponential
from skbayesnn.gaussian_process.learned_noise import choose_law

START_ROUNDS, START_ITERATIONS = 3, 20
"""Turns of the law and the settings of the Gaussian process, and steps of a search for these."""
LAST_ROUNDS, LAST_DRAWS = 2, 5
"""Of the trained model: how often the law is learned, and draws of the hidden layers for that."""
LAW_ROWS = 5000
"""By which a law is learned at most."""
BLOCK = 2000
LEAST_PRECISION = 1e-6
"""Of a row, beside the mean: its part in a prediction is then still told from rounding."""


@dataclass(frozen=True)
class Seen:
    """Rows as conditioning and training see them.

    Attributes
    ----------
    targets : ndarray of shape (n, 1)
    weights : ndarray of shape (n,)
        Of sum Σ w.
    unit : float
        u, the variance of noise of weight one.
    """

    targets: np.ndarray
    weights: np.ndarray
    unit: float


def seen_through(law, X, y, means, spreads, weights):
    """Rows with their own Gaussian noise in the place of the law's.

    Parameters
    ----------
    law : NoiseLaw
    X : ndarray of shape (n, n_inputs)
    y : ndarray of shape (n,)
    means, spreads : ndarray of shape (n,)
        Of the function at the rows, given all others.
    weights : ndarray of shape (n,)
        How many rows each stands for.

    Returns
    -------
    seen : Seen
    """
    targets, precisions = law.stand_ins(X, y, means, spreads)
    precisions = weights * np.maximum(precisions, LEAST_PRECISION * precisions.mean())
    unit = float(weights.sum() / precisions.sum())
    return Seen(targets[:, None], precisions * unit, unit)


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
        kept = np.clip(self.noise * np.diagonal(half), 1e-12, 1.0)
        return one_copy_left_out(
            self.targets, self.noise * self.solved, kept, self.noise, self.copies
        )

    def predict(self, X):
        """Mean and variance of the function at other rows."""
        means, variances = np.empty((2, len(X)))
        for begin in range(0, len(X), BLOCK):
            part = slice(begin, begin + BLOCK)
            cross = squared_exponential(
                self.features, X[part] * self.inverse_scales, self.log_height
            )
            means[part] = self.solved @ cross
            scores = lapack.dtrtrs(self.factor, cross, lower=1)[0]
            left = np.exp(self.log_height) - np.einsum("ij,ij->j", scores, scores)
            variances[part] = np.maximum(left, 0.0)
        return means, variances


    def joint(self, X):
        """Mean (n,) and covariance (n, n) of the function at other rows."""
        features = X * self.inverse_scales
        cross = squared_exponential(self.features, features, self.log_height)
        scores = lapack.dtrtrs(self.factor, cross, lower=1)[0]
        covariance = squared_exponential(features, features, self.log_height) - scores.T @ scores
        covariance.ravel()[:: len(X) + 1] += JITTER * np.exp(self.log_height)
        return self.solved @ cross, covariance


def one_copy_left_out(targets, residuals, kept, noise, copies):
    """Mean and variance of the function at rows, given all but one copy of each.

    Parameters
    ----------
    targets, residuals : ndarray of shape (n,)
        And what is left of them where they are fitted.
    kept : ndarray of shape (n,)
        What the residual of a row is, if its target alone is one.
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
    return targets - residuals / kept, noise * (1.0 / kept - 1.0)


def start_with_law(X, y, weights, some, theta, least_log_noise, gaussian):
    """Let the noise and the settings of a Gaussian process take turns.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Standardised.
    y : ndarray of shape (n,)
        Standardised.
    weights : ndarray of shape (n,)
        How many rows each stands for.
    some : ndarray of int
        Rows that the process was fitted to.
    theta : ndarray of shape (n_inputs + 2,)
        Its settings, found with Gaussian noise.
    least_log_noise : float
        Bound of the log of the noise variance.
    gaussian : bool
        Whether Gaussian noise may be the answer.

    Returns
    -------
    theta : ndarray of shape (n_inputs + 2,)
    seen : Seen or None
        Of all rows; None where the noise is Gaussian.
    law : NoiseLaw or None
    """
    own, known, copies = X[some], y[some], weights[some]
    try:
        process = Process(theta, own, known, copies, copies)
    except LinAlgError:
        return theta, None, None
    moments, shape = process.left_out(), None
    for _ in range(START_ROUNDS):
        law, shape, _ = choose_law(own, known, *moments, copies, gaussian=gaussian, like=shape)
        if law is None:
            return theta, None, None
        seen = seen_through(law, own, known, *moments, copies)
        begin = np.append(theta[:-1], np.log(seen.unit))
        found = search(begin, own, seen.targets, seen.weights, START_ITERATIONS, least_log_noise)
        theta = begin if found is None else found.x
        process = Process(theta, own, seen.targets[:, 0], seen.weights, copies)
        moments = process.left_out()
    law, _, _ = choose_law(own, known, *moments, copies, like=shape)
    if law is None:
        return theta, None, None
    means, spreads = process.predict(X)
    means[some], spreads[some] = moments
    return theta, seen_through(law, X, y, means, spreads, weights), law


def some_rows(n, generator):
    """Rows by which a law is learned: all, or as many as take little time."""
    return np.arange(n) if n <= LAW_ROWS else np.sort(generator.choice(n, LAW_ROWS, replace=False))


def with_noise(law, X, at, means, variances, factors=None):
    """Mixtures of the function's law and that of the noise.

    Parameters
    ----------
    law : NoiseLaw
    X : ndarray of shape (n, n_inputs)
    at : ndarray of shape (n,)
        Predicted means, which the scale of the noise may depend on.
    means, variances : ndarray of shape (n_draws, n)
        Of the function.
    factors : ndarray of shape (n_draws,), optional
        What the variance of the noise is multiplied by in each draw.

    Returns
    -------
    chances : ndarray of shape (16 n_draws,)
    means, variances : ndarray of shape (n, 16 n_draws)
    """
    n_draws, n = means.shape
    factors = np.ones(n_draws) if factors is None else factors
    chances, shifts, squares = law.gaussians(X, at)
    roots = np.sqrt(factors)[:, None]
    means = means.T[:, :, None] + roots * shifts[:, None]
    variances = variances.T[:, :, None] + factors[:, None] * squares[:, None]
    return np.tile(chances / n_draws, n_draws), means.reshape(n, -1), variances.reshape(n, -1)


def fewer(means, variances, n_groups):
    """Groups of draws as one Gaussian each, of the same mean and variance.

    Parameters
    ----------
    means, variances : ndarray of shape (n_draws, n)
    n_groups : int
        A divisor of the number of draws, or all draws are kept.

    Returns
    -------
    means, variances : ndarray of shape (n_groups, n)
    """
    if len(means) % n_groups:
        return means, variances
    means = means.reshape(n_groups, -1, means.shape[1])
    variances = variances.reshape(means.shape)
    return means.mean(axis=1), variances.mean(axis=1) + means.var(axis=1)

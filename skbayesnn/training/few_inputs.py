"""Forward selection of inputs: a Gaussian process that uses only the inputs that matter.

With many inputs, the evidence has many local optima in the length scales, and even the best one
uses some inputs that have no effect. The selection therefore starts without inputs and adds one at
a time: the one with the largest evidence at a moderate length scale and the current
hyperparameters. The hyperparameters of the inputs selected so far are then searched again. It stops
when

    log p(Y | settings) + log p(settings) − log C(p, k)

no longer grows, for k of p inputs: all choices of k inputs are equally probable a priori, and the
best of many inputs without effect gains the logarithm of their number. The prior of the
hyperparameters is that for all inputs, of which few matter
(:func:`skbayesnn.gaussian_process.evidence.relevance_prior`). Not in the papers.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular
from scipy.special import gammaln

from skbayesnn.gaussian_process.evidence import JITTER, search
from skbayesnn.gaussian_process.kernels import squared_exponential

LOG_LENGTH, LOG_NOISE = 0.5, -0.7
"""Of an input that is taken in, on data of unit scale, and of the noise before there is one."""
ITERATIONS = 10
"""Of the search after each input."""
FEW = 0.25
"""The largest part of the inputs that are few."""


class FewInputs(NamedTuple):
    """Inputs that matter, and the settings of a process of these alone.

    Attributes
    ----------
    inputs : list of int
        Empty only where covariances are singular, or if there may be none.
    settings : ndarray of shape (len(inputs) + 2,)
        Logs of the length scales, of the height, and of the noise variance.
    """

    inputs: list
    settings: np.ndarray

    def among(self, n_inputs):
        """Settings of all inputs, where a search can start: the others' are the most probable."""
        lengths = np.full(n_inputs, np.log(n_inputs))
        lengths[self.inputs] = self.settings[:-2]
        return np.concatenate([lengths, self.settings[-2:]])


def log_choices(n_inputs, n_chosen):
    """Log of the number of choices of so many of the inputs."""
    return gammaln(n_inputs + 1) - gammaln(n_chosen + 1) - gammaln(n_inputs - n_chosen + 1)


def log_lengths(settings):
    """Log length scales at which an input may be taken in.

    One bends the function along it, beside a process of height one or less. A linear function is a
    process of great height and length scales: with the other one an input changes the function by
    about a deviation of the targets, whatever the height.
    """
    return LOG_LENGTH, LOG_LENGTH + max(0.5 * settings[-2], 0.0)


def gains(X, Y, weights, chosen, settings, log_length):
    """Log densities of the targets with each input beside those chosen, but for a constant.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    Y : ndarray of shape (n, n_targets)
    weights : ndarray of shape (n,)
    chosen : list of int
    settings : ndarray of shape (n_chosen + 2,)
        Of the process of those chosen.
    log_length : float
        Of the input beside.

    Returns
    -------
    gains : ndarray of shape (n_inputs,)
        Minus infinity for those chosen, and where a covariance is singular.
    """
    features = X[:, chosen] * np.exp(-settings[:-2])
    gram = squared_exponential(features, features, settings[-2])
    noise = (np.exp(settings[-1]) + JITTER * np.exp(settings[-2])) / weights
    found = np.full(X.shape[1], -np.inf)
    for j in set(range(X.shape[1])).difference(chosen):
        column = X[:, j] * np.exp(-log_length)
        covariance = gram * np.exp(-0.5 * np.square(column[:, None] - column))
        covariance.ravel()[:: len(Y) + 1] += noise
        try:
            factor = np.linalg.cholesky(covariance)
        except LinAlgError:
            continue
        solved = solve_triangular(factor, Y, lower=True, check_finite=False)
        log_determinant = np.log(np.diagonal(factor)).sum()
        found[j] = -0.5 * np.square(solved).sum() - Y.shape[1] * log_determinant
    return found


def few_inputs(X, Y, weights, least_log_noise, most=None):
    """Find them, one at a time.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Of about unit scale.
    Y : ndarray of shape (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)
        How many rows each row stands for.
    least_log_noise : float
        Bound of the log of the noise variance.
    most : int, optional
        Number of inputs at which the selection ends; by default it may take all.

    Returns
    -------
    found : FewInputs

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(80, 30))
    >>> z = X[:, 3] * np.cos(X[:, 20])
    >>> sorted(few_inputs(X, z[:, None] / z.std(), np.ones(80), -20.0).inputs)
    [3, 20]
    """
    n_inputs = X.shape[1]
    chosen, settings, least = [], np.array([0.0, LOG_NOISE]), np.inf
    while len(chosen) < (n_inputs if most is None else most):
        lengths = sorted(set(log_lengths(settings)))
        found = np.array([gains(X, Y, weights, chosen, settings, length) for length in lengths])
        which, more = np.unravel_index(np.argmax(found), found.shape)
        if not np.isfinite(found[which, more]):
            break
        more = [*chosen, int(more)]
        start = np.concatenate([settings[:-2], [lengths[which]], settings[-2:]])
        best = search(start, X[:, more], Y, weights, ITERATIONS, least_log_noise, n_inputs)
        if best is None:
            break
        loss = best.fun * weights.sum() * Y.shape[1] + log_choices(n_inputs, len(more))
        if loss >= least:
            break
        chosen, settings, least = more, best.x, loss
    return FewInputs(chosen, settings)

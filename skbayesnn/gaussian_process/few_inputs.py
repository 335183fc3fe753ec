"""Where searches for length scales start: few inputs that matter, or a fast function of one input.

:func:`few_inputs` is a forward selection. With many inputs, the evidence has many local optima in
the length scales, and even the best one uses some inputs that have no effect. The selection starts
without inputs and adds one at a time: the one with the largest evidence at a moderate length scale
and the current hyperparameters. The hyperparameters of the inputs selected so far are then searched
again. With more than twenty inputs, two are added at once if that is better, because some inputs
matter only together. All pairs are compared by how similar the targets are where both inputs are
(kernel alignment, Cristianini et al., 2002), and the best of them by the evidence. The selection
stops when

    log p(Y | settings) + log p(settings) − log C(p, k)

no longer grows, for k of p inputs: all choices of k inputs are equally probable a priori, and the
best of many inputs without effect gains the logarithm of their number. The prior of the
hyperparameters is that for all inputs, of which few matter
(:func:`skbayesnn.gaussian_process.evidence.relevance_prior`).

:func:`fast_along_one` is the start for functions that change fast along one input. Not in the
papers.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular
from scipy.special import gammaln

from skbayesnn.gaussian_process.evidence import JITTER, relevance_scale, search
from skbayesnn.gaussian_process.kernels import squared_exponential

LOG_LENGTH, LOG_NOISE = 0.5, -0.7
"""Of an input that is taken in, on data of unit scale, and of the noise before there is one."""
FAST_LOG_LENGTHS, FAST_HEIGHT_AND_NOISE = (-1.5, -2.5, -3.5), (0.0, -2.0)
"""Of a start at which the function changes fast: log length scales that are tried, log height and
log noise variance."""
ITERATIONS = 10
"""Of the search after each input."""
FEW = 0.25
"""The largest part of the inputs that are few."""
FEW_TO_SEARCH, MOST_IN_PAIRS, MOST_PAIRS = 20, 200, 20
"""Inputs up to which no pairs are tried, inputs of which pairs are compared, and pairs of which the
evidence is computed."""
_LEAST_SPREAD = 1e-10
"""Variance of a kernel, over its mean square, below which it counts as constant."""


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

    def starts(self, n_inputs):
        """Settings of all inputs, where a search can start: a list of one, or of none.

        The length scales of the other inputs are the most probable ones a priori.
        """
        if not self.inputs:
            return []
        lengths = np.full(n_inputs, -np.log(relevance_scale(n_inputs)))
        lengths[self.inputs] = self.settings[:-2]
        return [np.concatenate([lengths, self.settings[-2:]])]


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


def gains(X, Y, weights, chosen, settings, log_length, candidates):
    """Log densities of the targets with further inputs beside those chosen, but for a constant.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    Y : ndarray of shape (n, n_targets)
    weights : ndarray of shape (n,)
    chosen : list of int
    settings : ndarray of shape (n_chosen + 2,)
        Of the process of those chosen.
    log_length : float
        Of the further inputs.
    candidates : list of tuple of int
        Each of one input or more.

    Returns
    -------
    gains : ndarray of shape (n_candidates,)
        Minus infinity where a covariance is singular.
    """
    gram = _gram(X, chosen, settings)
    noise = (np.exp(settings[-1]) + JITTER * np.exp(settings[-2])) / weights
    found = np.full(len(candidates), -np.inf)
    for k, inputs in enumerate(candidates):
        features = X[:, inputs] * np.exp(-log_length)
        covariance = gram * squared_exponential(features, features, 0.0)
        covariance.ravel()[:: len(Y) + 1] += noise
        try:
            factor = np.linalg.cholesky(covariance)
        except LinAlgError:
            continue
        solved = solve_triangular(factor, Y, lower=True, check_finite=False)
        log_determinant = np.log(np.diagonal(factor)).sum()
        found[k] = -0.5 * np.square(solved).sum() - Y.shape[1] * log_determinant
    return found


def _gram(X, chosen, settings):
    features = X[:, chosen] * np.exp(-settings[:-2])
    return squared_exponential(features, features, settings[-2])


def likely_pairs(X, Y, weights, chosen, settings, log_length, others):
    """Pairs of inputs whose joint kernel correlates most with products of the residuals.

    Parameters
    ----------
    X, Y, weights, chosen, settings, log_length
        As of :func:`gains`.
    others : list of int
        Inputs of which to make pairs.

    Returns
    -------
    pairs : list of tuple of int
        The best :data:`MOST_PAIRS`; the correlation is over all pairs of rows.
    """
    gram, lower = _gram(X, chosen, settings), np.tril_indices(len(X), -1)
    noise = (np.exp(settings[-1]) + JITTER * np.exp(settings[-2])) / weights
    left = np.linalg.solve(gram + np.diag(noise), Y)
    products = (left @ left.T)[lower]
    kernels = np.empty((len(others), len(products)))
    for row, j in zip(kernels, others, strict=True):
        column = X[:, j] * np.exp(-log_length)
        np.exp(-0.5 * np.square(column[lower[0]] - column[lower[1]]), out=row)
    own = kernels * gram[lower]
    means = own @ kernels.T / len(products)
    squares = own**2 @ kernels.T**2 / len(products)
    covariances = own * (products - products.mean()) @ kernels.T
    spreads = squares - means**2
    varies = spreads > _LEAST_SPREAD * squares
    scores = np.where(varies, covariances, -np.inf) / np.sqrt(np.where(varies, spreads, 1.0))
    i, j = np.triu_indices(len(others), 1)
    best = np.argsort(-scores[i, j], kind="stable")[:MOST_PAIRS]
    return [(others[i[k]], others[j[k]]) for k in best]


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
    most = n_inputs if most is None else most
    with_pairs = n_inputs > FEW_TO_SEARCH and len(X) > 2
    chosen, settings, least = [], np.array([0.0, LOG_NOISE]), np.inf
    while len(chosen) < most:
        known = X, Y, weights, chosen, settings
        lengths = sorted(set(log_lengths(settings)))
        others = [j for j in range(n_inputs) if j not in chosen]
        single, found = _best(known, lengths, [(j,) for j in others])
        steps = [single]
        if with_pairs and len(chosen) + 2 <= most:
            order = np.argsort(-found, kind="stable")[:MOST_IN_PAIRS]
            pairs = likely_pairs(*known, lengths[0], [others[k] for k in np.sort(order)])
            steps.append(_best(known, lengths, pairs)[0])
        ends = []
        for inputs, log_length in filter(None, steps):
            more = [*chosen, *inputs]
            start = np.concatenate([settings[:-2], [log_length] * len(inputs), settings[-2:]])
            end = search(start, X[:, more], Y, weights, ITERATIONS, least_log_noise, n_inputs)
            if end is not None:
                loss = end.fun * weights.sum() * Y.shape[1] + log_choices(n_inputs, len(more))
                ends.append((loss, more, end.x))
        if not ends:
            break
        loss, more, found = min(ends, key=lambda end: end[0])
        if loss >= least:
            break
        chosen, settings, least = more, found, loss
    return FewInputs(chosen, settings)


def fast_along_one(X, Y, weights):
    """Settings where a search can start: the function changes fast along the best single input.

    Searches from long length scales take a fast oscillation for noise, and those from short ones
    of all inputs take rows for unlike.

    Parameters
    ----------
    X, Y, weights
        As of :func:`few_inputs`.

    Returns
    -------
    starts : list of ndarray of shape (n_inputs + 2,)
        One, or none where covariances are singular.
    """
    n_inputs = X.shape[1]
    known = X, Y, weights, [], np.array([0.0, LOG_NOISE])
    best, _ = _best(known, FAST_LOG_LENGTHS, [(j,) for j in range(n_inputs)])
    if best is None:
        return []
    inputs, log_length = best
    return FewInputs(list(inputs), np.array([log_length, *FAST_HEIGHT_AND_NOISE])).starts(n_inputs)


def _best(known, lengths, candidates):
    """The best candidate and its log length, or None, and the best gain of each candidate."""
    found = np.array([gains(*known, length, candidates) for length in lengths])
    which, k = np.unravel_index(np.argmax(found), found.shape)
    best = (candidates[k], lengths[which]) if np.isfinite(found[which, k]) else None
    return best, found.max(axis=0)

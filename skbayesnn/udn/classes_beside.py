"""Pool networks with a Gaussian process for classes, with exponents from held-out rows.

The logits of the classes are functions with a common squared exponential covariance, which has a
length scale for each input (:mod:`skbayesnn.gaussian_process.laplace`). The search for the length
scales starts from those of a Gaussian process for the standardised class indicators. Length scales
and signal variance then maximise Laplace's evidence, with weak priors.

These hyperparameters are learned from the training rows of the first network. For each network of a
pool, the process is then given the rows that the network was trained on, and the held-out rows
judge both. With probabilities p_l of the network at depth l, which has the weight q_l, and g of the
process, class c of a row has the probability

    Σ_l q_l p_lc^a g_c^b / Σ_d p_ld^a g_d^b.

The exponents a and b are posterior means given the held-out rows of all networks. A priori, a + b
is N(1, 0.15²) and b / (a + b) is uniform. A sum above one means that the two together are more
certain than each alone. A mixture (1 − v) p + v g, as in the regressors, would be less certain than
both, even where they are right for different reasons. Finally, the process is given all rows. Not
in the papers.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from skbayesnn._validation import location_and_scale
from skbayesnn.gaussian_process.evidence import (
    HEIGHT_BOUNDS,
    LENGTH_BOUNDS,
    relevance_prior,
    search,
)
from skbayesnn.gaussian_process.kernels import squared_exponential, symmetric_adjoint
from skbayesnn.gaussian_process.laplace import Laplace, class_draws
from skbayesnn.training.process import ITERATIONS, RACE_ROWS, SEARCH_ROWS, at_most, race

MOST_CLASSES = 20
"""There is no process for more."""
SEARCH_WORK, MOST_WORK = 1.3e8, 1e9
"""Bounds of the number of functions times the cube of the rows, by which settings are learned and
that the process is given."""
LEAST_LOG_NOISE = -10.0
"""Of indicators."""
START_LOG_HEIGHT, LOG_HEIGHT_MEAN, LOG_HEIGHT_STD = 2.0, 2.0, 3.0
"""Of the functions: where the search starts, and a normal prior."""
SUMS, SHARES, SUM_STD = np.linspace(0.4, 1.6, 13), np.linspace(0.0, 1.0, 21), 0.15
"""Exponents that are tried, a + b and b / (a + b), and the spread of the former a priori."""
LEAST_SHARE = 0.01
"""A process with a smaller share is left out."""
MOST_HELD = 2000
"""Held-out rows of a network that it is judged by."""
ROWS_AT_ONCE = 500


def most_rows(work, n_classes):
    """Rows for which factorisations of all functions stay within the work."""
    return int((work / (1 if n_classes == 2 else n_classes)) ** (1 / 3))


def indicator_lengths(X, codes, weights, generator):
    """Log length scales of a Gaussian process of the indicators of the classes.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    codes : ndarray of int of shape (n,)
    weights : ndarray of shape (n,)
    generator : numpy.random.Generator
        Chooses the rows by which several starts race.

    Returns
    -------
    lengths : ndarray of shape (n_inputs,)

    Raises
    ------
    scipy.linalg.LinAlgError
        The covariance is singular wherever the search could start.
    """
    present = np.unique(codes)
    Y = (codes[:, None] == present[int(len(present) == 2) :]).astype(float)
    location, scale = location_and_scale(Y, "y", weights)
    data = X, (Y - location) / scale, weights
    few = at_most(data, RACE_ROWS, generator)
    start = race(*few, LEAST_LOG_NOISE)
    best = search(start, *data, ITERATIONS, LEAST_LOG_NOISE)
    return (start if best is None else best.x)[:-2]


def label_settings(lengths, X, codes, weights, n_classes, max_iter=30):
    """Log length scales and log height of the highest evidence of labels, with weak priors.

    Parameters
    ----------
    lengths : ndarray of shape (n_inputs,)
        Log length scales to start from.
    X : ndarray of shape (n, n_inputs)
    codes : ndarray of int of shape (n,)
    weights : ndarray of shape (n,)
    n_classes : int
    max_iter : int, default=30

    Returns
    -------
    settings : ndarray of shape (n_inputs + 1,)
    """
    n_inputs, count, last = len(lengths), weights.sum(), None

    def loss(settings):
        nonlocal last
        value, gradient, last = label_evidence(settings, X, codes, weights, n_classes, last)
        prior, d_prior = relevance_prior(settings[:-1], 1.0 / n_inputs)
        off = (settings[-1] - LOG_HEIGHT_MEAN) / LOG_HEIGHT_STD
        value -= prior + 0.5 * off**2
        return -value / count, (np.append(d_prior, off / LOG_HEIGHT_STD) - gradient) / count

    start = np.append(lengths, START_LOG_HEIGHT)
    bounds = [LENGTH_BOUNDS] * n_inputs + [HEIGHT_BOUNDS]
    options = {"maxiter": max_iter}
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x


def label_evidence(settings, X, codes, weights, n_classes, start=None):
    """Laplace's log evidence of labels, its gradient, and the mode, from which another starts.

    Parameters
    ----------
    settings : ndarray of shape (n_inputs + 1,)
        Log length scales and log height.
    X : ndarray of shape (n, n_inputs)
    codes : ndarray of int of shape (n,)
    weights : ndarray of shape (n,)
    n_classes : int
    start : ndarray of shape (n_functions, n), optional
        See :class:`~skbayesnn.gaussian_process.laplace.Laplace`.

    Returns
    -------
    value : float
    gradient : ndarray of shape (n_inputs + 1,)
    mode : ndarray of shape (n_functions, n)
    """
    features = X * np.exp(-settings[:-1])
    gram = squared_exponential(features, features, settings[-1])
    known = Laplace(gram, codes, weights, n_classes, start)
    d_features, d_height = symmetric_adjoint(features, gram, known.gradient())
    d_lengths = -np.einsum("ij,ij->j", d_features, features)
    return known.log_evidence, np.append(d_lengths, d_height), known.solved


class ClassProcess:
    """A Gaussian process of the logits of classes, given rows.

    Parameters
    ----------
    settings : ndarray of shape (n_inputs + 1,)
        Log length scales and log height.
    X : ndarray of shape (n, n_inputs)
        Of about unit scale.
    codes : ndarray of int of shape (n,)
    weights : ndarray of shape (n,)
        How many rows each row stands for.
    n_classes : int

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-2, 2, 20)[:, None]
    >>> process = ClassProcess(np.array([0.0, 2.0]), X, (X[:, 0] > 0).astype(int), np.ones(20), 2)
    >>> process.probabilities(np.array([[-1.0], [0.0], [1.0]])).round(2)
    array([[0.92, 0.08],
           [0.5 , 0.5 ],
           [0.08, 0.92]])
    """

    def __init__(self, settings, X, codes, weights, n_classes):
        self.inverse_scales, self.log_height = np.exp(-settings[:-1]), settings[-1]
        self.features = X * self.inverse_scales
        self.labels, self.known = (codes, weights, n_classes), None

    def __getstate__(self):
        return {**vars(self), "known": None}

    def _given_rows(self):
        if self.known is None:
            gram = squared_exponential(self.features, self.features, self.log_height)
            self.known = Laplace(gram, *self.labels)
        return self.known

    def probabilities(self, X):
        """Of the classes at other rows, (m, n_classes): mean over the law of the functions."""
        blocks = []
        for begin in range(0, len(X), ROWS_AT_ONCE):
            features = X[begin : begin + ROWS_AT_ONCE] * self.inverse_scales
            cross = squared_exponential(self.features, features, self.log_height)
            law = self._given_rows().predict(cross, np.exp(self.log_height))
            blocks.append(class_draws(*law).mean(axis=0))
        return np.concatenate(blocks)


class HeldOutClasses(NamedTuple):
    """Rows that a network was trained on, others that were held out, and what it says of these.

    Attributes
    ----------
    rows, other : ndarray of int
    by_depth : ndarray of shape (n_depths, n_held, n_classes)
        Probabilities of the held-out rows.
    q : ndarray of shape (n_depths,)
        Probability of each depth.
    """

    rows: np.ndarray
    other: np.ndarray
    by_depth: np.ndarray
    q: np.ndarray


def product(by_depth, process, exponents):
    """Probabilities of network and process, multiplied with exponents and normalised.

    Parameters
    ----------
    by_depth : ndarray of shape (n_depths, n, n_classes)
    process : ndarray of shape (n, n_classes)
    exponents : tuple of two floats
        Of the network and of the process.

    Returns
    -------
    probabilities : ndarray of shape (n_depths, n, n_classes)
    """
    a, b = exponents
    return np.exp(log_softmax(a * logs_of(by_depth) + b * logs_of(process), axis=-1))


def logs_of(probabilities):
    """Logarithms, finite."""
    return np.log(np.maximum(probabilities, np.finfo(float).tiny))


def log_likelihoods(by_depth, q, process, codes, weights):
    """Of held-out rows, for all exponents that are tried.

    Parameters
    ----------
    by_depth, q
        See :class:`HeldOutClasses`.
    process : ndarray of shape (n, n_classes)
        Probabilities.
    codes, weights : ndarray of shape (n,)

    Returns
    -------
    logs : ndarray of shape (n_sums, n_shares)
    """
    rows, out = np.arange(len(codes)), np.empty((len(SUMS), len(SHARES)))
    left, right = logs_of(by_depth), logs_of(process)
    for i, total in enumerate(SUMS):
        for j, share in enumerate(SHARES):
            both = np.exp(total * ((1.0 - share) * left + share * right))
            own = both[:, rows, codes] / both.sum(axis=-1)
            out[i, j] = weights @ logs_of(q @ own)
    return out


def expected_exponents(logs):
    """Mean exponents of network and process; (1, 0) where the process has next to no share.

    Parameters
    ----------
    logs : ndarray of shape (n_sums, n_shares)
        See :func:`log_likelihoods`.

    Returns
    -------
    exponents : tuple of two floats
    """
    logs = logs - 0.5 * ((SUMS - 1.0) / SUM_STD)[:, None] ** 2
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    b = float(SUMS @ chances @ SHARES)
    a = float(SUMS @ chances.sum(axis=1)) - b
    return (a, b) if b >= LEAST_SHARE * (a + b) else (1.0, 0.0)


class ClassesBeside:
    """A Gaussian process beside the networks of a pool.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Of about unit scale.
    codes : ndarray of int of shape (n,)
        Number of the class of each row.
    weights : ndarray of shape (n,)
        How many rows each row stands for.
    held : list of HeldOutClasses
        Of each network.
    generator : numpy.random.Generator
        Chooses rows where there are too many.

    Attributes
    ----------
    exponents : tuple of two floats
        Of the networks and of the process.
    process : ClassProcess or None
        None where it has no part.

    Raises
    ------
    scipy.linalg.LinAlgError
        A covariance is singular.
    """

    def __init__(self, X, codes, weights, held, generator):
        n_classes = held[0].by_depth.shape[-1]
        data, most = (X, codes, weights), most_rows(MOST_WORK, n_classes)

        def given(rows):
            chosen = at_most(tuple(part[rows] for part in data), most, generator)
            return ClassProcess(settings, *chosen, n_classes)

        few = min(SEARCH_ROWS, most_rows(SEARCH_WORK, n_classes))
        first = at_most(tuple(part[held[0].rows] for part in data), few, generator)
        settings = label_settings(indicator_lengths(*first, generator), *first, n_classes)
        logs = 0.0
        for each in held:
            some_held = each.other, np.arange(len(each.other))
            other, at = at_most(some_held, MOST_HELD, generator)
            g = given(each.rows).probabilities(X[other])
            logs += log_likelihoods(each.by_depth[:, at], each.q, g, codes[other], weights[other])
        self.exponents = expected_exponents(logs)
        self.process = given(np.arange(len(X))) if self.exponents[1] else None

    @property
    def weight(self):
        """Part of the process in the sum of the exponents."""
        return self.exponents[1] / sum(self.exponents)

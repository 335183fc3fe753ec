"""A Gaussian process of the logits of classes, and its hyperparameters.

The logits are functions with a common squared exponential covariance, which has a length scale for
each input (:mod:`skbayesnn.gaussian_process.laplace`). Length scales and signal variance maximise
Laplace's evidence, with weak priors. With many inputs the evidence has many local optima. The
search therefore starts from the length scales of a Gaussian process of the standardised class
indicators, and from those of a process of the few inputs that matter to these indicators
(:mod:`skbayesnn.gaussian_process.few_inputs`), and the better end is taken. Not in the papers.
"""

import numpy as np

from skbayesnn._validation import location_and_scale
from skbayesnn.gaussian_process.evidence import (
    HEIGHT_BOUNDS,
    LENGTH_BOUNDS,
    relevance_prior,
    relevance_scale,
    search,
)
from skbayesnn.gaussian_process.few_inputs import FEW, fast_along_one, few_inputs
from skbayesnn.gaussian_process.kernels import squared_exponential, symmetric_adjoint
from skbayesnn.gaussian_process.laplace import Laplace, class_draws
from skbayesnn.numerics.smooth_minimum import minimise_smooth
from skbayesnn.training.process import ITERATIONS, RACE_ROWS, at_most, race

LEAST_LOG_NOISE = -10.0
"""Of indicators."""
START_LOG_HEIGHT, LOG_HEIGHT_MEAN, LOG_HEIGHT_STD = 2.0, 2.0, 3.0
"""Of the functions: where the search starts, and a normal prior."""
ROWS_AT_ONCE = 500


def indicator_lengths(X, codes, weights, generator):
    """Log length scales of Gaussian processes of the indicators of the classes.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    codes : ndarray of int of shape (n,)
    weights : ndarray of shape (n,)
    generator : numpy.random.Generator
        Chooses the rows by which several starts race.

    Returns
    -------
    starts : list of ndarray of shape (n_inputs,)
        Of a process of all inputs and, of four or more, of one of the few that matter most.

    Raises
    ------
    scipy.linalg.LinAlgError
        The covariance is singular wherever the search could start.
    """
    present, n_inputs = np.unique(codes), X.shape[1]
    Y = (codes[:, None] == present[int(len(present) == 2) :]).astype(float)
    location, scale = location_and_scale(Y, "y", weights)
    data = X, (Y - location) / scale, weights
    some = at_most(data, RACE_ROWS, generator)
    start = race(*some, LEAST_LOG_NOISE, fast_along_one(*some))
    best = search(start, *data, ITERATIONS, LEAST_LOG_NOISE)
    few = few_inputs(*some, LEAST_LOG_NOISE, int(FEW * n_inputs))
    starts = [start if best is None else best.x, *few.starts(n_inputs)]
    return [start[:-2] for start in starts]


def label_settings(starts, X, codes, weights, n_classes, max_iter=30):
    """Log length scales and log height of the highest evidence of labels, with weak priors.

    Parameters
    ----------
    starts : list of ndarray of shape (n_inputs,)
        Log length scales to start from.
    X : ndarray of shape (n, n_inputs)
    codes : ndarray of int of shape (n,)
    weights : ndarray of shape (n,)
    n_classes : int
    max_iter : int, default=30
        Of the search from each start.

    Returns
    -------
    settings : ndarray of shape (n_inputs + 1,)
    """
    n_inputs, count, last = X.shape[1], weights.sum(), None

    def loss(settings):
        nonlocal last
        value, gradient, last = label_evidence(settings, X, codes, weights, n_classes, last)
        prior, d_prior = relevance_prior(settings[:-1], relevance_scale(n_inputs))
        off = (settings[-1] - LOG_HEIGHT_MEAN) / LOG_HEIGHT_STD
        value -= prior + 0.5 * off**2
        return -value / count, (np.append(d_prior, off / LOG_HEIGHT_STD) - gradient) / count

    bounds, found = [LENGTH_BOUNDS] * n_inputs + [HEIGHT_BOUNDS], []
    for lengths in starts:
        start = np.append(lengths, START_LOG_HEIGHT)
        found.append(minimise_smooth(loss, start, bounds=bounds, max_iter=max_iter))
    return min(found, key=lambda each: each.fun).x


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

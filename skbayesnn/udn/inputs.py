"""The scale of the inputs, learned from some rows and applied to any.

A column of a table is standardised, unless its tails would squeeze the rest of it: then it is
replaced by normal scores, the quantiles of a normal law at its ranks. Between the values that
were seen scores are interpolated, beyond them continued by a line, so that far inputs stay far.
Scores of all columns would close gaps in the inputs, and bend a smooth function of few rows by
their chance spacing. Not in the paper.
"""

import numpy as np
from scipy.special import ndtri

from skbayesnn._validation import location_and_scale

MOST_KNOTS = 1000
"""Values a column by which scores are interpolated."""
LEAST_MIDDLE = 1.0 / 3.0
"""Width of a column's middle half, over that of a normal law with its standard deviation, below
which it is replaced by scores."""
MIDDLE_OF_NORMAL = 2.0 * ndtri(0.75)


class OneScale:
    """One mean and one scale for all pixels of images.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
        How many rows each row stands for.
    """

    def __init__(self, X, weights):
        each = np.repeat(weights, X.shape[1])
        self.location, self.scale = location_and_scale(X.ravel(), "X", each)

    def __call__(self, X):
        """The images in these units."""
        return (X - self.location) / self.scale


def middle_half(X, weights):
    """Distance of the quartiles of each column, over that of a standard normal law."""
    order = np.argsort(X, axis=0, kind="stable")
    mass = np.cumsum(weights[order], axis=0)
    low, high = (np.argmax(mass >= level * mass[-1], axis=0) for level in (0.25, 0.75))
    ordered = np.take_along_axis(X, order, axis=0)
    columns = np.arange(X.shape[1])
    return (ordered[high, columns] - ordered[low, columns]) / MIDDLE_OF_NORMAL


class TableScales:
    """Columns standardised, or by normal scores where tails are heavy.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
        How many rows each row stands for.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0], [4.0, 1000.0]])
    >>> TableScales(X, np.ones(5))(X).round(2).T
    array([[-1.41, -0.71,  0.  ,  0.71,  1.41],
           [-1.46, -0.6 ,  0.  ,  0.6 ,  1.46]])
    """

    def __init__(self, X, weights):
        self.location, self.scale = location_and_scale(X, "X", weights)
        self.heavy = np.flatnonzero(middle_half(X, weights) < LEAST_MIDDLE * self.scale)
        self.scores = NormalScores(X[:, self.heavy], weights)

    def __call__(self, X):
        """The rows of ``X`` in these units; a constant column gets its distance from it."""
        out = (X - self.location) / self.scale
        out[:, self.heavy] = self.scores(X[:, self.heavy])
        return out


class NormalScores:
    """Learned from some rows, applied to any; scores have mean 0 and deviation 1 on the former.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
        How many rows each row stands for.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [10.0], [1000.0]])
    >>> NormalScores(X, np.ones(4))(np.array([[1.0], [10.0]])).round(2).ravel()
    array([-0.38,  0.38])
    """

    def __init__(self, X, weights):
        self.knots = [self._learn(column, weights) for column in X.T]

    def _learn(self, column, weights):
        values, number = np.unique(column, return_inverse=True)
        mass = np.bincount(number, weights)
        scores = ndtri((np.cumsum(mass) - 0.5 * mass) / mass.sum())
        location, scale = location_and_scale(scores, "X", mass)
        scores = (scores - location) / scale
        if len(values) > MOST_KNOTS:
            some = np.linspace(0, len(values) - 1, MOST_KNOTS).round().astype(int)
            values, scores = values[some], scores[some]
        spread = values[-1] - values[0]
        return values, scores, (scores[-1] - scores[0]) / spread if spread > 0 else 1.0

    def __call__(self, X):
        """Scores of the rows of ``X``; a constant column gets its distance from the constant."""
        out = np.empty(X.shape)
        for j, (values, scores, slope) in enumerate(self.knots):
            beyond = X[:, j] - np.clip(X[:, j], values[0], values[-1])
            out[:, j] = np.interp(X[:, j], values, scores) + slope * beyond
        return out

"""The scale of the inputs, learned from some rows and applied to any.

Normal scores: each column by its ranks, as the quantiles of a normal law. Between
the values that were seen scores are interpolated, beyond them continued by a line, so
that far inputs stay far. Not in the paper.
"""

import numpy as np
from scipy.special import ndtri

from skbayesnn._validation import location_and_scale

MOST_KNOTS = 1000
"""Values a column by which scores are interpolated."""


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
        location_and_scale(X, "X", weights)  # refuses what a float cannot square
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

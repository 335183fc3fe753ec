"""Normal scores of inputs with heavy tails.

Normal scores are the normal quantiles of the ranks of a column. They are interpolated between the
values seen in training, and extrapolated linearly beyond them, so that distant inputs stay distant.
Not in the papers.
"""

import numpy as np
from scipy.special import ndtri

from skbayesnn._validation import location_and_scale

MOST_KNOTS = 1000
"""Values a column by which scores are interpolated."""
HEAVY = 10.0
"""Fourth moment of a standardised column above which its tails are heavy: a normal law has three,
an exponential nine."""


def heavy_columns(X, weights):
    """Columns with heavy tails; not those of two values, of which scores are a linear function.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Standardised.
    weights : ndarray of shape (n_samples,)
        How many rows each row stands for.

    Returns
    -------
    columns : ndarray of int
    """
    heavy = np.flatnonzero(np.average(X**4, axis=0, weights=weights) > HEAVY)
    return np.array([j for j in heavy if len(np.unique(X[:, j])) > 2], dtype=int)


def unchanged(X):
    """The inputs as they are."""
    return X


class NormalScores:
    """Replaces columns by scores, which have mean 0 and deviation 1 on the rows to learn from.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
        How many rows each row stands for.
    columns : ndarray of int or None, default=None
        Which columns to replace; all by default.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [10.0], [1000.0]])
    >>> NormalScores(X, np.ones(4))(np.array([[1.0], [10.0]])).round(2).ravel()
    array([-0.38,  0.38])
    """

    def __init__(self, X, weights, columns=None):
        columns = range(X.shape[1]) if columns is None else columns
        self.knots = {j: self._learn(X[:, j], weights) for j in columns}

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
        """Rows with their scores; a constant column gets its distance from the constant."""
        out = X.copy()
        for j, (values, scores, slope) in self.knots.items():
            beyond = X[:, j] - np.clip(X[:, j], values[0], values[-1])
            out[:, j] = np.interp(X[:, j], values, scores) + slope * beyond
        return out

    def inverse(self, X):
        """Rows that have these scores."""
        out = X.copy()
        for j, (values, scores, slope) in self.knots.items():
            beyond = X[:, j] - np.clip(X[:, j], scores[0], scores[-1])
            out[:, j] = np.interp(X[:, j], scores, values) + beyond / slope
        return out


def scores_of_heavy(X, weights):
    """What replaces columns with heavy tails by scores; :func:`unchanged` where there are none.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Standardised.
    weights : ndarray of shape (n_samples,)
        How many rows each row stands for.

    Returns
    -------
    scaling : NormalScores or function
    """
    heavy = heavy_columns(X, weights)
    return NormalScores(X, weights, heavy) if heavy.size else unchanged

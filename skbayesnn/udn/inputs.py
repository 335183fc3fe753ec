"""Scaling of the inputs of a network: standardised values, normal scores, and sines and cosines.

Normal scores are the normal quantiles of the ranks of a column. They are interpolated between the
values seen in training, and extrapolated linearly beyond them, so that distant inputs stay distant.
For few rows they would bend a smooth function by the chance spacing of the rows, and they close
gaps in the inputs. Columns of small tables are therefore standardised, unless heavy tails would
compress the remaining values. What a network receives levels off beyond the rows, a quarter of a
standard deviation outside. Not in the paper.
"""

import numpy as np
from scipy.special import ndtri

from skbayesnn._validation import location_and_scale

MOST_KNOTS = 1000
"""Values a column by which scores are interpolated."""
REACH = 0.25
"""How far beyond the rows, in standard deviations, a network's lines go on."""
HEAVY = 10.0
"""Fourth moment of a standardised column above which it is replaced by scores: a normal law has
three, an exponential nine."""
MANY_ROWS = 1000
"""With as many rows or more all columns are replaced by scores."""

FREQUENCIES = np.geomspace(2.0, 16.0, 6)
"""Of the waves of an input, in radians a standard deviation."""


def waves(X):
    """An input followed by sines and cosines of it.

    Parameters
    ----------
    X : ndarray of shape (n, 1)
        Normalised.

    Returns
    -------
    inputs : ndarray of shape (n, 13)

    Examples
    --------
    >>> waves(np.array([[0.0], [np.pi / 2]]))[:, [0, 1, 7]].round(2)
    array([[ 0.  ,  0.  ,  1.  ],
           [ 1.57,  0.  , -1.  ]])
    """
    phases = X * FREQUENCIES
    return np.hstack([X, np.sin(phases), np.cos(phases)])


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

    placed = __call__

    def extend(self, X):
        """Nothing depends on the range of the pixels."""


class TableScales:
    """Columns standardised, or by normal scores where tails are heavy or rows are many.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
        How many rows each row stands for.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(24.0).reshape(12, 2)
    >>> X[-1, 1] = 1e6
    >>> TableScales(X, np.ones(12))(X)[-3:].round(2)
    array([[1.01, 0.86],
           [1.3 , 1.21],
           [1.59, 1.83]])
    """

    def __init__(self, X, weights):
        self.location, self.scale = location_and_scale(X, "X", weights)
        fourth = np.average(((X - self.location) / self.scale) ** 4, axis=0, weights=weights)
        self.heavy = np.flatnonzero(fourth > HEAVY)
        self.scored = self.heavy if len(X) < MANY_ROWS else np.arange(X.shape[1])
        self.scores_of = NormalScores(X, weights, self.scored)
        self.low, self.high = np.full((2, X.shape[1]), [[np.inf], [-np.inf]])
        self.extend(X)

    def _in_units(self, X, scored):
        out = (X - self.location) / self.scale
        out[:, scored] = self.scores_of(X, scored)
        return out

    def placed(self, X):
        """Units in which rows have distances: scores of heavy columns alone."""
        return self._in_units(X, self.heavy)

    def extend(self, X):
        """Take in the range of more rows: in a stream they may move on."""
        Z = self._in_units(X, self.scored)
        self.low, self.high = np.minimum(self.low, Z.min(0)), np.maximum(self.high, Z.max(0))

    def __call__(self, X):
        """What the network is given: beyond the range of the rows, edge ± r (1 − exp(−d / r)).

        There d is how far beyond the edge a row is, and r is ``REACH``. A constant column gets
        its distance from the constant, so levelled off.
        """
        Z = self._in_units(X, self.scored)
        edge = np.clip(Z, self.low, self.high)
        beyond = Z - edge
        return edge - np.sign(beyond) * REACH * np.expm1(-np.abs(beyond) / REACH)


class NormalScores:
    """Learned from some rows, applied to any; scores have mean 0 and deviation 1 on the former.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    weights : ndarray of shape (n_samples,)
        How many rows each row stands for.
    columns : ndarray of int or None, default=None
        Which columns to learn; all by default.

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

    def __call__(self, X, columns=None):
        """Scores of the rows of ``X``; a constant column gets its distance from the constant.

        Parameters
        ----------
        X : ndarray of shape (n, n_features)
        columns : ndarray of int or None, default=None
            Which columns to give; by default all that were learned.
        """
        columns = self.knots if columns is None else columns
        out = np.empty((len(X), len(columns)))
        for i, j in enumerate(columns):
            values, scores, slope = self.knots[j]
            beyond = X[:, j] - np.clip(X[:, j], values[0], values[-1])
            out[:, i] = np.interp(X[:, j], values, scores) + slope * beyond
        return out

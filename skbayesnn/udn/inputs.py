"""Scaling of the inputs of a network: standardised values, normal scores, and sines and cosines.

For few rows, normal scores (:mod:`skbayesnn.training.normal_scores`) would bend a smooth function
by the chance spacing of the rows, and they close gaps in the inputs. Columns of small tables are
therefore standardised, unless heavy tails would compress the remaining values. What a network
receives levels off beyond the rows, a quarter of a standard deviation outside. Not in the paper.
"""

import numpy as np

from skbayesnn._validation import location_and_scale
from skbayesnn.training.normal_scores import NormalScores, heavy_columns

REACH = 0.25
"""How far beyond the rows, in standard deviations, a network's lines go on."""
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
        self.heavy = heavy_columns(self.standardised(X), weights)
        self.scored = self.heavy if len(X) < MANY_ROWS else np.arange(X.shape[1])
        self.scores_of = NormalScores(X, weights, self.scored)
        self.low, self.high = np.full((2, X.shape[1]), [[np.inf], [-np.inf]])
        self.extend(X)

    def standardised(self, X):
        """All columns with mean zero and standard deviation one among the rows."""
        return (X - self.location) / self.scale

    def _in_units(self, X, scored):
        out = self.standardised(X)
        out[:, scored] = self.scores_of(X)[:, scored]
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

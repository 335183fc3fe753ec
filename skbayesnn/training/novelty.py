"""Distances of new rows from the training rows.

A network is as certain beyond the rows, and in gaps between them, as among them. The distance to
the nearest training row, minus the usual distance between neighbouring training rows, tells where
another model has to predict (:mod:`skbayesnn.training.unseen`). Not in the paper.
"""

import numpy as np
from scipy.spatial import cKDTree

MOST_ROWS = 1000
LEVEL = 0.99
"""Part of the rows that have another as near as a row may be without any excess."""


def typical_distance(X):
    """Median distance of rows from their medians; where it is zero, the root mean square."""
    squares = np.sum((X - np.median(X, axis=0)) ** 2, axis=1)
    return np.sqrt(np.median(squares) or squares.mean())


class Novelty:
    """Rows that were seen, up to a thousand of them chosen by chance, and distances to them.

    Parameters
    ----------
    generator : numpy.random.Generator

    Examples
    --------
    >>> import numpy as np
    >>> novelty = Novelty(np.random.default_rng(0))
    >>> novelty.add(np.linspace(-1, 1, 50)[:, None])
    >>> novelty.excess(np.array([[0.51], [1.0], [1.1], [2.0]])).round(3)
    array([0.   , 0.   , 0.116, 1.88 ])
    """

    def __init__(self, generator):
        self.generator = generator
        self.keys, self.rows, self.told = np.zeros(0), None, None
        self.tree = None

    def add(self, X, told=None):
        """Take in the rows of a table, or of a batch of a stream.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
            In the units that the network sees.
        told : ndarray of shape (n, n_columns) or None, default=None
            What else is to be remembered of each row; the same columns in every call.
        """
        keys = np.concatenate([self.keys, self.generator.random(len(X))])
        rows, told = np.array(X, dtype=float), np.zeros((len(X), 0)) if told is None else told
        if self.rows is not None:
            rows, told = np.concatenate([self.rows, rows]), np.concatenate([self.told, told])
        # In the order of their keys: each row ever seen is among the first ones alike.
        kept = np.argsort(keys)[:MOST_ROWS]
        self.keys, self.rows, self.told, self.tree = keys[kept], rows[kept], told[kept], None
        self._look()

    def _look(self):
        """Find what distances rows have among themselves; copies of a row count once."""
        distinct = np.unique(self.rows, axis=0)
        self.near, self.spread = np.inf, 1.0
        if len(distinct) > 1:
            self.tree = cKDTree(distinct)
            self.near = np.quantile(self.tree.query(distinct, 2)[0][:, 1], LEVEL)
            self.spread = typical_distance(self.rows)

    def __getstate__(self):
        return {**vars(self), "tree": None}

    def __setstate__(self, state):
        vars(self).update(state)
        if self.rows is not None:
            self._look()

    def excess(self, X):
        """Δ of each row, over the median distance of the rows from their medians; (n,)."""
        if self.tree is None:
            return np.zeros(len(X))
        return np.maximum(self.tree.query(X)[0] - self.near, 0.0) / self.spread

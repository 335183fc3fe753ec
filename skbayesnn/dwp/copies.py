"""Rows that a table has more than once: they say nothing of the noise, but much of their copies.

Noise that is a continuous variable gives no two rows the same target. Rows that come again with
theirs are not new observations, and a model that takes them for such finds that there is no noise:
with a few of them it goes through all targets. So rows count as many as differ. Not in the paper.
"""

from typing import NamedTuple

import numpy as np

from skbayesnn.numerics.rounding import rounding_variance
from skbayesnn.predictive import PredictiveMixture, linear_pool

FEW_CELLS = 0.1
"""Where fewer of the rows differ, the table is one of few cells, which repeats fill."""
NARROW = 0.01
"""Variance of a copy's target, as a part of the noise variance, if targets are not rounded."""


class Copies(NamedTuple):
    """What a table's copies say.

    Attributes
    ----------
    rows : ndarray of int of shape (n_distinct,)
        The first of each of the rows that differ.
    weights : ndarray of shape (n_distinct,)
        Of sum n_distinct, if the weights of all rows have a larger one.
    chance : float
        That a row with the inputs of one of these has its target; 0 without copies.
    """

    rows: np.ndarray
    weights: np.ndarray
    chance: float


def find_copies(X, Y, weights):
    """Rows that differ, with weights for each of them.

    Copies are rows that are equal in inputs and targets, and a row of weight k is k copies. They
    count as many as differ, and those with more copies still count more. But nothing changes
    where equal rows are no wonder: where targets have few values, and rows with the same inputs
    have different ones; and where fewer than a tenth of the rows differ.

    If r rows come after the first with their inputs, and c of them are copies, the next that comes
    where all targets were the same is taken to have it with the probability c / (r + 1).

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    Y : ndarray of shape (n,) or (n, n_targets)
    weights : ndarray of shape (n,)

    Returns
    -------
    copies : Copies

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.array([[1.0], [2.0], [1.0], [3.0]]), np.array([0.5, 0.7, 0.5, 0.6])
    >>> copies = find_copies(X, y, np.ones(4))
    >>> copies.rows, copies.weights, round(copies.chance, 3)
    (array([0, 1, 3]), array([1.5 , 0.75, 0.75]), 0.5)
    """
    targets = Y.reshape(len(Y), -1)
    _, rows, numbers = np.unique(
        np.column_stack([X, targets]), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(rows)  # as they come
    merged = np.bincount(numbers.ravel(), weights)[order]
    rows, total = rows[order], merged.sum()
    unchanged = Copies(np.arange(len(X)), weights, 0.0)
    if not FEW_CELLS * total <= len(rows) < total:
        return unchanged
    places = len(np.unique(X[rows], axis=0))
    if places < len(rows) and all(rounding_variance(column) > 0 for column in targets[rows].T):
        return unchanged
    chance = float((total - len(rows)) / (total - places + 1.0))
    return Copies(rows, merged * (len(rows) / total), chance)


class KnownRows:
    """The targets of rows whose inputs are those of a row that was trained on.

    Parameters
    ----------
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Standardised. Where rows with the same inputs have different targets, none is known.
    chance : float
        That a row has the target of the row with its inputs.
    noise : ndarray of shape (n_targets,)
        Noise variances.
    """

    def __init__(self, X, Y, chance, noise):
        _, rows, counts = np.unique(X, axis=0, return_index=True, return_counts=True)
        rows = rows[counts == 1]
        self.X, self.Y, self.chance = X[rows], Y[rows], chance
        rounding = [rounding_variance(column) for column in Y.T]
        self.variances = np.maximum(rounding, NARROW * noise)
        self.places = None

    def __getstate__(self):
        return {**vars(self), "places": None}

    def find(self, X):
        """Which rows of X are known, and the number of the row with their inputs.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
            Standardised.

        Returns
        -------
        known : ndarray of bool of shape (n,)
        numbers : ndarray of int of shape (n_known,)
        """
        if self.places is None:
            self.places = {row.tobytes(): i for i, row in enumerate(self.X + 0.0)}
        # Zeros have a sign, which counts for nothing.
        found = np.array([self.places.get(row.tobytes(), -1) for row in X + 0.0], dtype=int)
        return found >= 0, found[found >= 0]

    def pool(self, X, mixtures, offset, scale):
        """Predictive mixtures of all targets, where rows are known.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
            Standardised.
        mixtures : list of PredictiveMixture
            Without this, in the units of y.
        offset, scale : ndarray of shape (n_targets,)
            Of y.

        Returns
        -------
        mixtures : list of PredictiveMixture
        """
        known, numbers = self.find(X)
        if not known.any():
            return mixtures
        shares = np.where(known, self.chance, 0.0)
        shares = np.column_stack([1.0 - shares, shares])
        out = []
        for t, mixture in enumerate(mixtures):
            means, variances = mixture.means[:, :1].copy(), mixture.variances[:, :1].copy()
            means[known, 0] = offset[t] + scale[t] * self.Y[numbers, t]
            variances[known, 0] = scale[t] ** 2 * self.variances[t]
            out.append(linear_pool([mixture, PredictiveMixture([1.0], means, variances)], shares))
        return out

    def replace(self, X, draws, offset, scale, generator):
        """Replace draws of the first target by the known one, with its chance.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
            Standardised.
        draws : ndarray of shape (n, n_draws)
            In the units of y; changed.
        offset, scale : float
        generator : numpy.random.Generator
        """
        known, numbers = self.find(X)
        if not known.any():
            return
        shape = len(numbers), draws.shape[1]
        own = self.Y[numbers, :1] + np.sqrt(self.variances[0]) * generator.standard_normal(shape)
        taken = generator.random(shape) < self.chance
        draws[known] = np.where(taken, offset + scale * own, draws[known])

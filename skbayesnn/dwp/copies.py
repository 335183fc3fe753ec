"""What rows that come again say of new rows with the same inputs.

How many they count as is :mod:`skbayesnn.numerics.copies`. Not in the paper.
"""

import numpy as np

from skbayesnn.numerics.rounding import rounding_variance
from skbayesnn.predictive import PredictiveMixture, linear_pool

NARROW = 0.01
"""Variance of a copy's target, as a part of the noise variance, if targets are not rounded."""


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

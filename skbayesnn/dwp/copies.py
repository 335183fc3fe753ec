"""Predictions for new rows whose inputs equal those of a training row, if the table has copies.

:mod:`skbayesnn.numerics.copies` determines how many rows the copies count as. Not in the paper.
"""

import numpy as np

from skbayesnn.numerics.rounding import rounding_variance
from skbayesnn.predictive import PredictiveMixture, linear_pool

NARROW = 0.01
"""Variance of the target of a copy, relative to the noise variance, if targets are not rounded."""


class KnownRows:
    """Targets of training rows, for new rows with the same inputs.

    Parameters
    ----------
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Standardised. Inputs that occur in several training rows with different targets are left
        out.
    chance : float
        Probability that a new row has the target of the training row with its inputs.
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
        """Find the rows of X whose inputs occur in a training row, and the indices of these rows.

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
        # Adding zero removes the sign of negative zeros.
        found = np.array([self.places.get(row.tobytes(), -1) for row in X + 0.0], dtype=int)
        return found >= 0, found[found >= 0]

    def pool(self, X, mixtures, offset, scale):
        """Predictive mixtures of all targets that account for known rows.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
            Standardised.
        mixtures : list of PredictiveMixture
            Mixtures that ignore known rows, in the units of y.
        offset, scale : ndarray of shape (n_targets,)
            Offset and scale of y.

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
        """Replace draws of the first target by the known target, with probability ``chance``.

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

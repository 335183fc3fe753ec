"""Standardised inputs and targets, and predictions back in the units of y."""

import numpy as np

from skbayesnn._validation import location_and_scale
from skbayesnn.predictive import PredictiveMixture


class InputScales:
    """Offset and scale of every input.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    weights : ndarray of shape (n,)
    normalize_X : bool
        Whether inputs are standardised.
    """

    def __init__(self, X, weights, normalize_X):
        self.X_offset, self.X_scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        offset, self.X_spread = location_and_scale(X, "X", weights)
        if normalize_X:
            self.X_offset, self.X_scale = offset, self.X_spread

    def inputs(self, X):
        """Standardised inputs."""
        return (X - self.X_offset) / self.X_scale


class ClassScales(InputScales):
    """Inputs, and labels as indicators.

    Parameters
    ----------
    X, weights, normalize_X
        See the base class.
    n_classes : int

    Attributes
    ----------
    n_targets : int
        Latent functions: one with two classes, else one a class.
    """

    likelihood = "softmax"

    def __init__(self, X, weights, normalize_X, n_classes):
        super().__init__(X, weights, normalize_X)
        self.n_classes, self.n_targets = n_classes, n_classes if n_classes > 2 else 1
        self.y_scale = 1.0

    def targets(self, codes):
        """Indicators of the class numbers, (n, n_classes)."""
        return np.eye(self.n_classes)[codes]


class Scales(InputScales):
    """Offset and scale of every input and target.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    y : ndarray of shape (n,) or (n, n_targets)
    weights : ndarray of shape (n,)
    normalize_X, normalize_y : bool
        What is standardised.
    """

    likelihood = "gaussian"

    def __init__(self, X, y, weights, normalize_X, normalize_y):
        super().__init__(X, weights, normalize_X)
        targets = y.reshape(len(y), -1)
        self.n_targets = targets.shape[1]
        self.y_offset, self.y_scale = np.zeros(self.n_targets), np.ones(self.n_targets)
        if normalize_y:
            self.y_offset, self.y_scale = location_and_scale(targets, "y", weights)

    def targets(self, y):
        """Standardised targets, (n, n_targets)."""
        return (y.reshape(len(y), -1) - self.y_offset) / self.y_scale

    def mixtures(self, means, variances, noise):
        """Equal mixtures over draws, one a target, in the units of y.

        Parameters
        ----------
        means, variances : ndarray of shape (n_draws, n_targets, n)
            Of the standardised function.
        noise : ndarray of shape (n_targets,)
            Variances.

        Returns
        -------
        mixtures : list of PredictiveMixture
        """
        weights = np.full(len(means), 1 / len(means))
        return [
            PredictiveMixture(weights, means[:, t].T, variances[:, t].T + noise[t]).scaled(
                float(self.y_offset[t]), float(self.y_scale[t])
            )
            for t in range(self.n_targets)
        ]

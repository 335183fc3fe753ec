"""Standardised inputs and targets, and predictions in the units of y.

For classes, inputs with heavy tails are replaced by their normal scores: where two classes meet
rarely depends on distances among extremes. For numbers, it often does.

Without standardisation, the start of training, the priors and the steps still assume numbers of
about unit size. Training fails far from that, so such data raise an error with advice.
"""

import numpy as np

from skbayesnn._extremes import limits_of_extremes
from skbayesnn._validation import location_and_scale
from skbayesnn.training.normal_scores import NormalScores, heavy_columns

INPUT_SPREADS = 0.03, 300.0
"""Without standardisation of the inputs: limits on their standard deviations. The largest must
reach the first, and none may exceed the second."""
TARGET_SPREADS, LARGEST_MEAN = (1e-3, 30.0), 300.0
"""Limits on the standard deviation and on the mean of targets that are not standardised."""

HIDDEN = 100.0
"""Few extremes of an input hide its other values if they multiply its standard deviation by more.
Length scales fit to what is less than that, as inputs with heavy tails have it."""


class InputScales:
    """Offset and scale of each input.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    weights : ndarray of shape (n,)
    normalize_X : bool
        Whether inputs are standardised. Then a few extreme values are clipped.
    scored : bool, default=False
        Whether standardised inputs with heavy tails are replaced by their normal scores.

    Raises
    ------
    ValueError
        If the inputs are not standardised and far from unit scale.
    """

    def __init__(self, X, weights, normalize_X, scored=False):
        self._scores, self.X_scale = None, np.ones(X.shape[1])
        self.X_limits = (-np.inf, np.inf)
        if normalize_X:
            self.X_limits = limits_of_extremes(X, "X", weights, HIDDEN)
            X = np.clip(X, *self.X_limits)
        # Only distances matter, so subtracting an offset costs nothing but rounding errors.
        self.X_offset, self.X_spread = location_and_scale(X, "X", weights)
        if normalize_X:
            self.X_scale = self.X_spread
        else:
            varying = self.X_spread[np.ptp(X, axis=0) > 0]
            low, high = INPUT_SPREADS
            if varying.size and not (varying.max() >= low and varying.max() <= high):
                raise ValueError(
                    f"Columns of X have standard deviations of {varying.min():.2g} to "
                    f"{varying.max():.2g}. With normalize_X=False the largest must be between "
                    f"{low:g} and {high:g}: set normalize_X=True, or multiply X by a constant."
                )
        if normalize_X and scored:
            standardised = self.inputs(X)
            heavy = heavy_columns(standardised, weights)
            if heavy.size:
                self._scores = NormalScores(standardised, weights, heavy)

    def inputs(self, X):
        """Standardised inputs, or scores of them."""
        standardised = (np.clip(X, *self.X_limits) - self.X_offset) / self.X_scale
        return standardised if self._scores is None else self._scores(standardised)

    def original(self, inputs):
        """Inputs in the units of X: the reverse of :meth:`inputs`."""
        standardised = inputs if self._scores is None else self._scores.inverse(inputs)
        return standardised * self.X_scale + self.X_offset


class ClassScales(InputScales):
    """Offsets and scales of inputs, and labels as indicator variables.

    Parameters
    ----------
    X, weights, normalize_X
        See the base class.
    codes : ndarray of int of shape (n,)
        Class numbers.
    n_classes : int

    Attributes
    ----------
    n_targets : int
        Number of latent functions: one for two classes, otherwise one per class.
    offsets : tuple of float
        Constants of the latent functions: the log odds of the second of two classes, or the log
        frequency of each class. Half a row is added to each class, because a class may have no row
        here.
    """

    likelihood = "softmax"

    def __init__(self, X, codes, weights, normalize_X, n_classes):
        super().__init__(X, weights, normalize_X, scored=True)
        self.n_classes, self.n_targets = n_classes, n_classes if n_classes > 2 else 1
        self.y_scale = 1.0
        rows = np.bincount(codes, weights, minlength=n_classes) + 0.5
        logs = np.log(rows / rows.sum())
        self.offsets = tuple(logs if n_classes != 2 else logs[1:] - logs[0])

    def targets(self, codes):
        """Indicators of the class numbers, (n, n_classes)."""
        return np.eye(self.n_classes)[codes]


class Scales(InputScales):
    """Offset and scale of each input and target.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    y : ndarray of shape (n,) or (n, n_targets)
    weights : ndarray of shape (n,)
    normalize_X, normalize_y : bool
        Whether inputs and targets are standardised. Then a few extreme inputs are clipped.

    Raises
    ------
    ValueError
        If data that are not standardised are far from unit scale.
    """

    likelihood, offsets = "gaussian", ()

    def __init__(self, X, y, weights, normalize_X, normalize_y):
        super().__init__(X, weights, normalize_X)
        targets = y.reshape(len(y), -1)
        self.n_targets = targets.shape[1]
        self.y_offset, self.y_scale = np.zeros(self.n_targets), np.ones(self.n_targets)
        offset, spread = location_and_scale(targets, "y", weights)
        if normalize_y:
            self.y_offset, self.y_scale = offset, spread
        else:
            (low, high), largest = TARGET_SPREADS, np.abs(offset).max()
            if not (spread.min() >= low and spread.max() <= high and largest <= LARGEST_MEAN):
                raise ValueError(
                    f"y has a mean of up to {largest:.2g} and a standard deviation of "
                    f"{spread.min():.2g} to {spread.max():.2g}. With normalize_y=False the mean "
                    f"must be at most {LARGEST_MEAN:g}, and the deviation between {low:g} and "
                    f"{high:g}: set normalize_y=True, or subtract a constant from y and multiply "
                    "it by another."
                )

    def targets(self, y):
        """Standardised targets, (n, n_targets)."""
        return (y.reshape(len(y), -1) - self.y_offset) / self.y_scale

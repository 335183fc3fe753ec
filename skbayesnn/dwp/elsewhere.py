"""Predictions away from the rows, with distances that reflect the effects of the inputs.

The hidden layers and the length scale of the output are estimates, and predictions in gaps and
beyond the rows depend strongly on them. Another model therefore replaces the hidden layers there,
as for the networks: see :mod:`skbayesnn.training.unseen`. Not in the paper.
"""

import numpy as np

from skbayesnn.gaussian_process.drawn_settings import merged
from skbayesnn.numerics.random import some_rows
from skbayesnn.training.effects import LEAST, distance_units, input_effects
from skbayesnn.training.novelty import MOST_ROWS
from skbayesnn.training.unseen import Unseen

MOST_INPUTS = 20
"""With more inputs, length scales define the distances, because slopes of the mean take long."""
EFFECT_ROWS, EFFECT_DRAWS = 100, 5
"""Numbers of rows, and of draws of the hidden layers, over which slopes are averaged."""


class Elsewhere:
    """Training rows, and the model that predicts where none of them is near.

    This model is fitted when it is first needed.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Standardised in the same way as for the model.
    Y : ndarray of shape (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)
        Number of rows that each row stands for.
    spreads : ndarray of shape (n_inputs,)
        Standard deviations of the inputs: one if the model standardises them.
    generator : numpy.random.Generator
        Selects a thousand rows if there are more.
    """

    def __init__(self, X, Y, weights, spreads, generator):
        X, Y, weights, _ = merged(X, Y, weights)  # medians are over distinct rows
        kept = some_rows(len(X), MOST_ROWS, generator)
        self.X, self.Y, self.weights, self.spreads = X[kept], Y[kept], weights[kept], spreads
        self.seed, self.unseen, self.units = int(generator.integers(2**32)), None, None

    def __call__(self, X, output, log_length_scales):
        """Probability that no row is informative about the rows of X, and the prediction there.

        Parameters
        ----------
        X : ndarray of shape (n_new, n_inputs)
        output : InducingOutput, ExactOutput or SparseOutput
            Output of the trained model.
        log_length_scales : ndarray of shape (n_inputs,)
            Log length scales of the first kernel.

        Returns
        -------
        chance, gaussians
            The result of :class:`skbayesnn.training.unseen.Unseen`, for standardised targets.
        """
        if self.unseen is None:
            self.units = self._units(output, log_length_scales) / self.spreads
            unseen = Unseen(np.random.default_rng(self.seed))
            unseen.add(self.X * self.units, self.Y, self.weights)
            self.unseen = unseen
        return self.unseen(X * self.units)

    def _units(self, output, log_length_scales):
        """Factors on inputs of unit standard deviation: one for the largest effects."""
        if len(self.spreads) > MOST_INPUTS:
            relative = np.log(self.spreads) - log_length_scales
            return np.maximum(np.exp(relative - relative.max()), LEAST)
        # Rows are ordered by their first input: take a subset that covers its range.
        some = slice(None, None, -(-len(self.X) // EFFECT_ROWS))
        effects = input_effects(
            lambda X: output.mean(X, EFFECT_DRAWS), self.X[some], self.Y[some], self.weights[some]
        )
        return distance_units([effects])

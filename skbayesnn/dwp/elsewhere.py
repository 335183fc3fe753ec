"""Away from the rows: the law that speaks there, in distances that mean something to the model.

The hidden layers and the length scale of the output are estimates, and how far a function goes up
or down in a gap or beyond the rows hangs on them. So there another law takes the place of the
hidden layers, as with the networks: :mod:`skbayesnn.training.unseen`. Not in the paper.
"""

import numpy as np

from skbayesnn.dwp.few_rows import merged
from skbayesnn.numerics.random import some_rows
from skbayesnn.training.effects import LEAST, distance_units, input_effects
from skbayesnn.training.novelty import MOST_ROWS
from skbayesnn.training.unseen import Unseen

MOST_INPUTS = 20
"""With more, length scales tell what an input does; slopes of the mean would take long."""
EFFECT_ROWS, EFFECT_DRAWS = 100, 5
"""Rows and draws of the hidden layers that slopes are means over."""


class Elsewhere:
    """Rows that were trained on, and the law where none of them is near.

    What it takes is computed when it is first asked for.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Standardised as the model has them.
    Y : ndarray of shape (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)
        How many rows each stands for.
    spreads : ndarray of shape (n_inputs,)
        Of the inputs: one where the model has them standardised.
    generator : numpy.random.Generator
        Chooses a thousand rows where there are more.
    """

    def __init__(self, X, Y, weights, spreads, generator):
        X, Y, weights = merged(X, Y, weights)  # medians are over rows that differ
        kept = some_rows(len(X), MOST_ROWS, generator)
        self.X, self.Y, self.weights, self.spreads = X[kept], Y[kept], weights[kept], spreads
        self.seed, self.unseen, self.units = int(generator.integers(2**32)), None, None

    def __call__(self, X, output, log_length_scales):
        """How probable it is that no row tells of these, and what the law is then.

        Parameters
        ----------
        X : ndarray of shape (n_new, n_inputs)
        output : InducingOutput, ExactOutput or SparseOutput
            Of the trained model.
        log_length_scales : ndarray of shape (n_inputs,)
            Of its first kernel.

        Returns
        -------
        chance, gaussians
            What :class:`skbayesnn.training.unseen.Unseen` gives, targets standardised.
        """
        if self.unseen is None:
            self.units = self._units(output, log_length_scales) / self.spreads
            unseen = Unseen(np.random.default_rng(self.seed))
            unseen.add(self.X * self.units, self.Y, self.weights)
            self.unseen = unseen
        return self.unseen(X * self.units)

    def _units(self, output, log_length_scales):
        """What inputs of unit spread are multiplied by: one for those that do most."""
        if len(self.spreads) > MOST_INPUTS:
            relative = np.log(self.spreads) - log_length_scales
            return np.maximum(np.exp(relative - relative.max()), LEAST)
        # Rows are in the order of their first input: some from everywhere.
        some = slice(None, None, -(-len(self.X) // EFFECT_ROWS))
        effects = input_effects(
            lambda X: output.mean(X, EFFECT_DRAWS), self.X[some], self.Y[some], self.weights[some]
        )
        return distance_units([effects])

"""What the nearest rows say of a target, as inputs of a network.

In large tables a network of a few layers smooths over much of what the nearest rows tell. So it is
told what a Gaussian process given the nearest rows predicts
(:mod:`skbayesnn.training.neighbour_process`): the mean of the function and the log of its variance.
For a row to train on, the process is not given the rows with the same inputs. The layers learn
where these predictions are good, and what the noise around them looks like. Not in the paper.

What the other rows predict for a row says something of its own target, if the network knows what
they would predict with it. Held-out rows judge whether the network took this for knowledge: their
inputs are those of new rows, given the rows to train on.
"""

import numpy as np

from skbayesnn._validation import location_and_scale
from skbayesnn.numerics.workers import ALONE
from skbayesnn.training.neighbour_process import NearFunction
from skbayesnn.training.normal_scores import scores_of_heavy

LEAST_VARIANCE = 1e-4
"""Added to the variance, in units of that of the target, before the logarithm is taken."""


class NearInputs:
    """Two further inputs for each target: mean and log variance given the nearest rows.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Standardised.
    targets : ndarray of shape (n, n_targets)
    weights : ndarray of shape (n,)
        How many rows each row stands for.
    generator : numpy.random.Generator
        Chooses the rows that the processes learn from.
    workers : skbayesnn.numerics.workers.Workers, optional

    Attributes
    ----------
    of_rows : ndarray of shape (n, 2 n_targets)
        The inputs of the rows that the processes are given, each predicted by those elsewhere.
    """

    def __init__(self, X, targets, weights, generator, workers=ALONE):
        scaling = scores_of_heavy(X, weights)
        self.processes = [
            NearFunction(X, column, weights, generator, scaling, workers) for column in targets.T
        ]
        raw = self._left_out(workers)
        self.location, self.scale = location_and_scale(raw, "X", weights)
        self.low, self.high = raw.min(axis=0), raw.max(axis=0)
        self.of_rows = self._standardised(raw)

    def give(self, X, targets, weights, workers=ALONE):
        """Give the processes these rows, with all settings as they are; parameters as above."""
        for process, column in zip(self.processes, targets.T, strict=True):
            process.give(X, column, weights)
        self.of_rows = self._standardised(self._left_out(workers))

    def _left_out(self, workers):
        return self._columns([each.moments_left_out(workers) for each in self.processes])

    @staticmethod
    def _columns(moments):
        means, variances = np.moveaxis(np.array(moments), 1, 0)
        return np.concatenate([means, np.log(variances + LEAST_VARIANCE)]).T

    def _standardised(self, raw):
        return (np.clip(raw, self.low, self.high) - self.location) / self.scale

    def __call__(self, X):
        """The inputs of new rows, within the range of those first given; (m, 2 n_targets)."""
        return self._standardised(self._columns([each.moments(X) for each in self.processes]))

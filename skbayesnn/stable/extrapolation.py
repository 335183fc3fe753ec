"""Predictions away from the rows: the posterior, stacked with smooth Gaussian processes.

Sign units make functions that, beyond the rows and across gaps, either continue at the value of the
nearest rows or jump. For a smooth function, their intervals are too narrow there. The rows indicate
whether the function is smooth. Each row is left out in turn and predicted by two models: the
network (:mod:`skbayesnn.stable.left_out`) and the Gaussian processes of
:class:`skbayesnn.training.unseen.SmoothLaw`.

The weight of the smooth model maximises the log density of the left-out rows (Yao et al., "Using
stacking to average Bayesian predictive distributions", 2018). A prediction is a mixture in which
the smooth model has this weight times the probability that no row is informative about the new one.
This probability is zero among the rows, where predictions are those of the posterior. Not in the
paper of the network.
"""

import numpy as np
from scipy.optimize import brentq

from skbayesnn.training.unseen import Unseen, draws_where_unseen, where_unseen


def stacking_share(first, second, weights):
    """Weight of the second of two models that maximises the log density of their mixture.

    Parameters
    ----------
    first, second : ndarray of shape (n,)
        Log density of each row under each model.
    weights : ndarray of shape (n,)

    Returns
    -------
    share : float
        Between 0 and 1.
    """
    gain = np.expm1(np.minimum(second - first, 500.0))

    def slope(share):
        return float(weights @ (gain / (1.0 + share * gain)))

    if slope(0.0) <= 0.0:
        return 0.0
    # A ratio of exactly zero would cause a division by zero at a weight of one.
    if gain.min() > -1.0 and slope(1.0) >= 0.0:
        return 1.0
    return float(brentq(slope, 0.0, 1.0 - 1e-9)) if slope(1.0 - 1e-9) < 0.0 else 1.0


class Extrapolation:
    """Predictions of a fitted network away from its rows.

    Parameters
    ----------
    partition : Partition
    X : ndarray of shape (n, n_features)
    y, sample_weight : ndarray of shape (n,)
        Standardised targets, and positive weights.
    generator : numpy.random.Generator
        Selects rows if there are more than several hundred.
    """

    def __init__(self, partition, X, y, sample_weight, generator):
        pairs = np.column_stack([partition.inputs.scaled(X), y])
        pairs, place = np.unique(pairs, axis=0, return_inverse=True)
        weights = np.bincount(place, weights=sample_weight)
        self._unseen, self._share = Unseen(generator), (None, 0.0)
        self._unseen.add(pairs[:, :-1], pairs[:, -1:], weights)

    def share(self, partition, draws):
        """Weight of the smooth model in a prediction far from all rows.

        Parameters
        ----------
        partition : Partition
        draws : Draws

        Returns
        -------
        share : float
        """
        if self._share[0] is not draws:
            first, weights = self.left_out(partition, draws)
            second = self._unseen.law.log_densities_left_out()[:, 0]
            self._share = draws, stacking_share(first, second, weights)
        return self._share[1]

    def left_out(self, partition, draws):
        """Log densities of rows, each left out of the network in turn, and their weights.

        Parameters
        ----------
        partition : Partition
        draws : Draws

        Returns
        -------
        log_densities, weights : ndarray of shape (n,)
            Of several hundred rows, if there are more.
        """
        law = self._unseen.law
        # The smooth model uses the rows in the scaling of the partition.
        given = law.X, law.targets[:, 0], law.weights
        return partition.log_densities_left_out(draws, *given), law.weights

    def _away(self, partition, draws, X):
        """Weight of the smooth model at each row, and its predictions."""
        chance, gaussians = self._unseen(partition.inputs.scaled(X))
        if gaussians is not None:
            chance = chance * self.share(partition, draws)
        return chance, gaussians if chance.any() else None

    def stacked(self, known, partition, draws, X):
        """Predictive distribution of the posterior, mixed with the smooth model away from the rows.

        Parameters
        ----------
        known : PredictiveMixture
            Distribution of new observations at X, standardised.
        partition : Partition
        draws : Draws
        X : ndarray of shape (n, n_features)

        Returns
        -------
        law : PredictiveMixture
            Equal to ``known`` near the rows.
        """
        return where_unseen(known, *self._away(partition, draws, X))

    def stack_draws(self, y, partition, draws, X, generator):
        """Apply :meth:`stacked` to draws y (n, n_draws), which are changed in place."""
        draws_where_unseen(y, *self._away(partition, draws, X), generator)

"""Away from the rows: predictions of the posterior stacked with those of a smooth law.

Sign units alone make functions that, beyond the rows and across gaps between them, go on from the
nearest rows or jump; of smooth functions they know nothing there, and intervals are too narrow.
Whether a function is smooth the rows tell. Each row is left out in turn, and two laws predict it:
the network (:mod:`skbayesnn.stable.left_out`) and the Gaussian processes of
:class:`skbayesnn.training.unseen.SmoothLaw`.

The share of the smooth law maximises the log-density of the rows left out (Yao et al., "Using
stacking to average Bayesian predictive distributions", 2018). A prediction is a mixture, in which
the smooth law has that share times the chance that no row tells of the new one: zero among the
rows, where predictions are those of the posterior. Not in the paper of the network.
"""

import numpy as np
from scipy.optimize import brentq

from skbayesnn.training.unseen import Unseen, draws_where_unseen, where_unseen


def stacking_share(first, second, weights):
    """The share of the second of two laws that maximises the log-density of their mixture.

    Parameters
    ----------
    first, second : ndarray of shape (n,)
        Log-density of each row under each law.
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
    # A ratio of exactly zero would divide by zero at a share of one.
    if gain.min() > -1.0 and slope(1.0) >= 0.0:
        return 1.0
    return float(brentq(slope, 0.0, 1.0 - 1e-9)) if slope(1.0 - 1e-9) < 0.0 else 1.0


class Extrapolation:
    """What a fitted network and its rows predict where no row is near.

    Parameters
    ----------
    partition : Partition
    X : ndarray of shape (n, n_features)
    y, sample_weight : ndarray of shape (n,)
        Targets, standardised, and weights above zero.
    generator : numpy.random.Generator
        Chooses rows where there are more than some hundred.
    """

    def __init__(self, partition, X, y, sample_weight, generator):
        pairs = np.column_stack([partition.inputs.scaled(X), y])
        pairs, place = np.unique(pairs, axis=0, return_inverse=True)
        weights = np.bincount(place.reshape(-1), weights=sample_weight)
        self._unseen, self._share = Unseen(generator), (None, 0.0)
        self._unseen.add(pairs[:, :-1], pairs[:, -1:], weights)

    def share(self, partition, draws):
        """How much of a prediction far from all rows is the smooth law's.

        Parameters
        ----------
        partition : Partition
        draws : Draws

        Returns
        -------
        share : float
        """
        if self._share[0] is not draws:
            law = self._unseen.law
            # The smooth law sees the rows as the partition scales them.
            first = partition.log_densities_left_out(draws, law.X, law.targets[:, 0], law.weights)
            second = law.log_densities_left_out()[:, 0]
            self._share = draws, stacking_share(first, second, law.weights)
        return self._share[1]

    def _away(self, partition, draws, X):
        """The chance of the smooth law at each row, and that law."""
        chance, gaussians = self._unseen(partition.inputs.scaled(X))
        if gaussians is not None:
            chance = chance * self.share(partition, draws)
        return chance, gaussians if chance.any() else None

    def stacked(self, known, partition, draws, X):
        """The predictive distribution of the posterior, and of both laws away from the rows.

        Parameters
        ----------
        known : PredictiveMixture
            Of new observations at X, standardised.
        partition : Partition
        draws : Draws
        X : ndarray of shape (n, n_features)

        Returns
        -------
        law : PredictiveMixture
            The same where rows are near.
        """
        return where_unseen(known, *self._away(partition, draws, X))

    def stack_draws(self, y, partition, draws, X, generator):
        """As :meth:`stacked`, of draws y (n, n_draws), which are changed."""
        draws_where_unseen(y, *self._away(partition, draws, X), generator)

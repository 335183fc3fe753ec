"""Weights of a stack's members, and the factor of its spread, by rows that they did not see."""

import numpy as np

from skbayesnn._blocks import take_rows
from skbayesnn.pooling.out_of_fold import pooled_crps_matrix
from skbayesnn.pooling.spread import spread_factor
from skbayesnn.pooling.varying import VaryingWeights, number_columns
from skbayesnn.pooling.weights import crps_weights, log_score_weights
from skbayesnn.predictive import linear_pool

LEAST_WEIGHT = 0.01
"""Members with a smaller weight are dropped, so that predictions stay fast."""


class Weighing:
    """How ``StackingDistributionRegressor`` weighs its members."""

    def _weigh(self, alive, folds, tests, X, y, weights):
        """Set the weights of these members, and return the numbers of those that have one."""
        rows = np.flatnonzero(np.isfinite(self.cv_log_densities_[alive[0]]))

        def best(members):
            if self.objective == "crps":
                matrix = pooled_crps_matrix([folds[k] for k in members], tests, y, weights)
                return crps_weights(matrix), None
            return self._by_log_score(members, rows, X, weights)

        found, self._varying = best(alive)
        kept = [k for k, weight in zip(alive, found, strict=True) if weight >= LEAST_WEIGHT]
        if len(kept) < len(alive):
            found, self._varying = best(kept)
        self.weights_ = np.zeros(len(folds))
        self.weights_[kept] = found
        return kept

    def _by_log_score(self, members, rows, X, weights):
        """Mean weights by these rows, and the function of the inputs where weights vary."""
        X, weights = take_rows(X, rows), take_rows(weights, rows)
        densities = self.cv_log_densities_[np.ix_(members, rows)]
        constant = log_score_weights(densities, weights)
        columns = number_columns(X) if self.varying_weights else None
        if columns is None or len(members) == 1:
            return constant, None
        varying = VaryingWeights(densities, X, columns, constant, weights)
        return np.average(varying(X), axis=0, weights=weights), varying

    def _spread_of(self, held_out, used, X, y, weights):
        """Factor of the spread, by pools whose weights had no say from the rows that they predict.

        Weights of the same rows would make the pool look too wide. Of a single fold they have to
        do; such tables are large.
        """
        every = np.concatenate([rows for _, rows in held_out])
        pools, targets, masses = [], [], []
        for mixtures, rows in held_out:
            others = every[~np.isin(every, rows)] if len(held_out) > 1 else every
            found, varying = self._by_log_score(used, others, X, weights)
            of_rows = found if varying is None else varying(take_rows(X, rows))
            pools.append(linear_pool(mixtures, of_rows))
            targets.append(y[rows])
            masses.append(np.ones(len(rows)) if weights is None else weights[rows])
        return spread_factor(pools, targets, masses)

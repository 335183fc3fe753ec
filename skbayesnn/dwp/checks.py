"""What a regressor can be given: parameters, rows and weights."""

import numpy as np
from sklearn.utils.validation import column_or_1d, validate_data

from skbayesnn._validation import InvalidParameterError, check_parameters, check_sample_weight
from skbayesnn.dwp.plan import REGRESSION_CONSTRAINTS
from skbayesnn.dwp.scales import Scales


class Checks:
    """Parameters and rows of ``DeepWishartRegressor``."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_parameters(self):
        check_parameters(self, REGRESSION_CONSTRAINTS)
        if self.own_scale and self.posterior == "dgp":
            raise InvalidParameterError(
                "'own_scale' is for Wishart posteriors, not for posterior='dgp': set "
                "own_scale=False or another posterior."
            )

    def _validated(self, X, y, sample_weight, reset):
        """Rows that have a weight, and their weights."""
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, multi_output=True, reset=reset
        )
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        n_targets = 1 if y.ndim == 1 else y.shape[1]
        if not reset and n_targets != self._model.scales.n_targets:
            raise ValueError(
                f"y has {n_targets} targets, but {self._model.scales.n_targets} at the first call."
            )
        rows, weights = check_sample_weight(sample_weight, X)
        return X[rows], y[rows].astype(np.float64), weights

    def _scales(self, X, y, weights):
        return Scales(X, y, weights, self.normalize_X, self.normalize_y)

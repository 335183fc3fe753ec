"""A regressor that predicts quantiles, for tests of stacks and of what their members become."""

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin


class Quantiles(RegressorMixin, BaseEstimator):
    """Knows the true quantiles of a standard normal error around the first input."""

    def fit(self, X, y, sample_weight=None):
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X, quantiles=(0.5,)):
        return np.asarray(X)[:, :1] + stats.norm.ppf(quantiles)

"""The smallest probabilistic regressor: what the mixin, scores and scorers are tested on."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.predictive import PredictiveMixture


class BayesianLinear(
    CallbackSupportMixin, ProbabilisticRegressorMixin, RegressorMixin, BaseEstimator
):
    """Bayesian linear regression, a component for each precision of the prior."""

    def __init__(self, precisions=(1.0,), point_estimate="mean"):
        self.precisions = precisions
        self.point_estimate = point_estimate

    @with_callbacks
    def fit(self, X, y):
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        context = self._init_callback_context(max_subtasks=0)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        self.center_, self.offset_ = X.mean(axis=0), y.mean()
        Z, r = X - self.center_, y - self.offset_
        identity = np.eye(X.shape[1])
        self.covariances_ = [np.linalg.inv(Z.T @ Z + p * identity) for p in self.precisions]
        self.coefs_ = [C @ Z.T @ r for C in self.covariances_]
        self.noises_ = [np.mean((r - Z @ coef) ** 2) + 1e-12 for coef in self.coefs_]
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def predict_distribution(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        Z = X - self.center_
        parts = list(zip(self.coefs_, self.covariances_, self.noises_, strict=True))
        means = np.stack([self.offset_ + Z @ coef for coef, _, _ in parts], axis=1)
        variances = np.stack([s * (1 + ((Z @ C) * Z).sum(axis=1)) for _, C, s in parts], axis=1)
        return PredictiveMixture(np.full(len(parts), 1 / len(parts)), means, variances)


def linear_data(n=60, seed=0):
    """Three inputs, a linear function and Gaussian noise of standard deviation 0.3."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=n)

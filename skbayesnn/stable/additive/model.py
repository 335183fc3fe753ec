"""A thin estimator around the model for tables, for benchmarks and tests."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import validate_data

from skbayesnn._validation import location_and_scale
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.stable.additive.chain import Prior
from skbayesnn.stable.additive.posterior import fit_additive


class _AdditiveStable(ProbabilisticRegressorMixin, RegressorMixin, BaseEstimator):
    """The model for tables as an estimator."""

    def __init__(
        self,
        alpha=1.2,
        dense_units=True,
        likelihood="student_t",
        n_chains=4,
        n_warmup=300,
        n_draws=250,
        thin=4,
        random_state=None,
    ):
        self.alpha = alpha
        self.dense_units = dense_units
        self.likelihood = likelihood
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
        self.random_state = random_state

    @one_blas_thread
    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        y = y.astype(np.float64)
        weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        self._center, self._spread = location_and_scale(X, "X")
        self._location, self._scale = location_and_scale(y, "y")
        prior = Prior(
            alpha=None if self.alpha == "sample" else float(self.alpha),
            degrees=None if self.likelihood == "student_t" else np.inf,
        )
        self.posterior_ = fit_additive(
            (X - self._center) / self._spread, (y - self._location) / self._scale, weights, prior,
            self.dense_units, self.n_warmup, self.n_draws, self.thin,
            spawn_generators(self.random_state, self.n_chains + 1),
        )  # fmt: skip
        return self

    @one_blas_thread
    def predict_distribution(self, X):
        X = validate_data(self, X, dtype=np.float64, reset=False)
        means, variances = self.posterior_.predict((X - self._center) / self._spread)
        return PredictiveMixture(
            np.full(means.shape[1], 1.0 / means.shape[1]),
            self._location + self._scale * means,
            self._scale**2 * variances,
        )

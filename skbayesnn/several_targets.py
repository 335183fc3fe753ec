"""The predictive methods for one target or several."""

from typing import Literal, overload

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbayesnn._typing import ArrayLike, FloatArray, Seed
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.predictive import PredictiveMixture


class SeveralTargetsMixin(ProbabilisticRegressorMixin):
    """One mixture for one target, a list of them for several.

    Estimators have ``predict_distribution`` and the private ``_y_ndim``, the number of
    dimensions of the targets.
    """

    @overload
    def predict(self, X: ArrayLike, *, quantiles: ArrayLike | None = None) -> FloatArray: ...

    @overload
    def predict(
        self, X: ArrayLike, *, return_std: Literal[True]
    ) -> tuple[FloatArray, FloatArray]: ...

    @overload
    def predict(
        self, X: ArrayLike, *, return_distribution: Literal[True]
    ) -> PredictiveMixture | list[PredictiveMixture]: ...

    def predict(self, X, *, return_std=False, quantiles=None, return_distribution=False):
        """Predict the target: the mean or the median of the predictive distribution.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Return the predictive standard deviation, too.
        quantiles : float or array-like of shape (n_quantiles,), default=None
            Return these predictive quantiles instead; one target only.
        return_distribution : bool, default=False
            Return what ``predict_distribution`` returns instead.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
        std : ndarray of the shape of y
            Only with ``return_std=True``.
        quantiles : ndarray of shape (n_samples, n_quantiles)
            In place of y, if ``quantiles`` is given.
        distribution : PredictiveMixture, or list of PredictiveMixture
            In place of y, if ``return_distribution=True``.

        Raises
        ------
        ValueError
            More than one of the keywords is used, or ``quantiles`` with several targets.
        """
        check_is_fitted(self)
        if self._y_ndim == 1:
            return super().predict(
                X,
                return_std=return_std,
                quantiles=quantiles,
                return_distribution=return_distribution,
            )
        if quantiles is not None:
            self._refuse_several_targets("quantiles")
        mixtures = self.predict_distribution(X)
        if return_distribution:
            return mixtures
        mean = np.column_stack([self._point(m) for m in mixtures])
        return (mean, np.column_stack([m.std() for m in mixtures])) if return_std else mean

    def _refuse_several_targets(self, what):
        check_is_fitted(self)
        if self._y_ndim > 1:
            raise ValueError(
                f"{what}: not available with several targets; use predict_distribution, "
                "which gives one mixture a target."
            )

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> FloatArray:
        self._refuse_several_targets("predict_interval")
        return super().predict_interval(X, coverage)

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        self._refuse_several_targets("sample_y")
        return super().sample_y(X, n_samples, random_state)

    def log_predictive_density(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        self._refuse_several_targets("log_predictive_density")
        return super().log_predictive_density(X, y)

    predict_interval.__doc__ = ProbabilisticRegressorMixin.predict_interval.__doc__
    sample_y.__doc__ = ProbabilisticRegressorMixin.sample_y.__doc__
    log_predictive_density.__doc__ = ProbabilisticRegressorMixin.log_predictive_density.__doc__

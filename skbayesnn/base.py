"""What every regressor of the package can do with its predictive distribution."""

from typing import Literal, overload

import numpy as np
from sklearn.utils.validation import check_array, column_or_1d

from skbayesnn._safety import VersionStampMixin
from skbayesnn._typing import ArrayLike, FloatArray, Seed
from skbayesnn.predictive import PredictiveMixture, central_levels, check_levels

# A mixture takes 16 bytes a row and component: large X is summarised block by block.
_ROWS_A_BLOCK = 8192


class ProbabilisticRegressorMixin(VersionStampMixin):
    """Predictions of all kinds from one method, ``predict_distribution``.

    ``predict`` with a keyword is the channel that passes through a
    :class:`~sklearn.pipeline.Pipeline`; the other methods are its friendly face. All
    uncertainty is that of a new observation, noise included.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator, RegressorMixin
    >>> from skbayesnn.base import ProbabilisticRegressorMixin
    >>> from skbayesnn.predictive import PredictiveMixture
    >>> class Noise(ProbabilisticRegressorMixin, RegressorMixin, BaseEstimator):
    ...     def fit(self, X, y):
    ...         self.mean_, self.variance_ = np.mean(y), np.var(y)
    ...         return self
    ...
    ...     def predict_distribution(self, X):
    ...         shape = (len(X), 1)
    ...         means, variances = np.full(shape, self.mean_), np.full(shape, self.variance_)
    ...         return PredictiveMixture([1.0], means, variances)
    >>> model = Noise().fit([[0.0], [1.0]], [1.0, 3.0])
    >>> model.predict([[2.0]], return_std=True)
    (array([2.]), array([1.]))
    >>> model.predict_interval([[2.0]], coverage=0.9).round(3)
    array([[0.355, 3.645]])
    """

    # The keywords pass through pipelines with metadata routing enabled, too.
    __metadata_request__predict = {  # noqa: RUF012
        "return_std": True,
        "quantiles": True,
        "return_distribution": True,
    }

    # "mean" or "median"; estimators may make a parameter of it.
    point_estimate = "mean"

    @overload
    def predict(self, X: ArrayLike, *, quantiles: ArrayLike | None = None) -> FloatArray: ...

    @overload
    def predict(
        self, X: ArrayLike, *, return_std: Literal[True]
    ) -> tuple[FloatArray, FloatArray]: ...

    @overload
    def predict(self, X: ArrayLike, *, return_distribution: Literal[True]) -> PredictiveMixture: ...

    def predict(self, X, *, return_std=False, quantiles=None, return_distribution=False):
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Return the predictive standard deviation, too.
        quantiles : array-like of shape (n_quantiles,) or float, default=None
            Return these predictive quantiles instead.
        return_distribution : bool, default=False
            Return the predictive distribution instead.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Point prediction: the mean or the median of the predictive distribution.
        std : ndarray of shape (n_samples,)
            Only with ``return_std=True``.
        quantiles : ndarray of shape (n_samples, n_quantiles)
            In place of y, if ``quantiles`` is given.
        distribution : PredictiveMixture
            In place of y, if ``return_distribution=True``.

        Raises
        ------
        ValueError
            If more than one of the keywords is used, if ``quantiles`` is empty or has a
            level that is not in (0, 1), or if ``point_estimate`` is neither "mean" nor
            "median".
        """
        asked = {
            "return_std": bool(return_std),
            "quantiles": quantiles is not None,
            "return_distribution": bool(return_distribution),
        }
        if sum(asked.values()) > 1:
            names = " and ".join(name for name, used in asked.items() if used)
            raise ValueError(f"Use only one of {names}.")
        if self.point_estimate not in ("mean", "median"):
            raise ValueError(
                f"point_estimate must be 'mean' or 'median'. Got {self.point_estimate!r} instead."
            )
        if return_distribution:
            return self.predict_distribution(X)
        if quantiles is not None:
            levels = check_levels(quantiles)
            return self._summarise(X, lambda distribution: distribution.quantile(levels))
        if return_std:
            both = self._summarise(X, lambda d: np.column_stack([self._point(d), d.std()]))
            return both[:, 0].copy(), both[:, 1].copy()
        return self._summarise(X, self._point)

    def _point(self, distribution):
        if self.point_estimate == "median":
            return distribution.quantile(0.5)[:, 0]
        return distribution.mean()

    def _summarise(self, X, summary):
        """Apply a function of the predictive distribution, a block of rows at a time."""
        rows = X.iloc if hasattr(X, "iloc") else X
        # What cannot be cut into blocks (or is no table at all) is left to validation.
        cuttable = isinstance(X, list | np.ndarray) or hasattr(X, "iloc")
        n_rows = len(X) if cuttable and getattr(X, "ndim", 1) > 0 else 0
        if n_rows <= _ROWS_A_BLOCK:
            return summary(self.predict_distribution(X))
        return np.concatenate(
            [
                summary(self.predict_distribution(rows[start : start + _ROWS_A_BLOCK]))
                for start in range(0, n_rows, _ROWS_A_BLOCK)
            ]
        )

    def predict_quantiles(
        self, X: ArrayLike, quantiles: ArrayLike = (0.05, 0.5, 0.95)
    ) -> FloatArray:
        """Predictive quantiles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        quantiles : array-like of shape (n_quantiles,) or float, default=(0.05, 0.5, 0.95)
            Levels in (0, 1), in any order.

        Returns
        -------
        quantiles : ndarray of shape (n_samples, n_quantiles)
            In the units of y and the order of the levels; they never cross.

        Raises
        ------
        ValueError
            If there is no level, or one is not in (0, 1).
        """
        return self.predict(X, quantiles=quantiles)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> FloatArray:
        """Central predictive intervals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        coverage : float, default=0.9
            Probability that a new observation lies in its interval, in (0, 1).

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper ends, in the units of y.

        Raises
        ------
        ValueError
            If ``coverage`` is not in (0, 1).
        """
        return self.predict(X, quantiles=central_levels(coverage))

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        """Draw new observations, each row by itself unless the estimator says otherwise.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Inputs.
        n_samples : int, default=1
            Draws a row.
        random_state : int, RandomState instance or None, default=0
            Seed.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            In the units of y.
        """
        return self.predict_distribution(X).sample(n_samples, random_state)

    def log_predictive_density(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        """Log predictive density of observations, in nats, y in its own units.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Observations.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            If y is not finite, or not of the length of X.
        """
        distribution = self.predict_distribution(X)
        return distribution.logpdf(check_observations(y, len(distribution)))


def check_observations(y, n_samples):
    """Observations as an array of one dimension.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, 1)
    n_samples : int
        How many there have to be.

    Returns
    -------
    y : ndarray of shape (n_samples,)

    Raises
    ------
    ValueError
        If y is not finite, has another shape or another length.
    """
    y = column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"))
    if y.size != n_samples:
        raise ValueError(f"y has {y.size} observations, inconsistent with {n_samples} predictions.")
    return y

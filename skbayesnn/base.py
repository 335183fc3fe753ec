"""The methods that every regressor derives from its predictive distribution, and every classifier
from its class probabilities."""

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from skbayesnn._blocks import in_blocks
from skbayesnn._extremes import FarTargets
from skbayesnn._safety import VersionStampMixin
from skbayesnn._typing import ArrayLike, FloatArray, Seed
from skbayesnn._validation import Options, central_levels, check_levels, check_n_samples
from skbayesnn.predictive import PredictiveMixture

POINT_ESTIMATES = [Options(("mean", "median"))]
"""What ``point_estimate`` may be."""


class ProbabilisticRegressorMixin(VersionStampMixin):
    """Point predictions, intervals, samples and densities, all from ``predict_distribution``.

    The keywords of ``predict`` offer the same as the other methods, and also work through a
    :class:`~sklearn.pipeline.Pipeline`. All results describe a new observation, so they include the
    noise.

    ``predict_distribution`` returns one mixture. An estimator that was fitted to several targets
    returns a list with one mixture for each, and sets ``_y_ndim``, the number of dimensions of y.

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

    # A parameter of the estimators of this package.
    point_estimate = "mean"

    _y_ndim = 1

    # What predictions say of targets that a fit clipped; by default there were none.
    _y_far = FarTargets()

    @overload
    def predict(
        self,
        X: ArrayLike,
        *,
        return_std: Literal[False] = False,
        quantiles: ArrayLike | None = None,
        return_distribution: Literal[False] = False,
    ) -> FloatArray: ...

    @overload
    def predict(
        self, X: ArrayLike, *, return_std: Literal[True]
    ) -> tuple[FloatArray, FloatArray]: ...

    @overload
    def predict(
        self, X: ArrayLike, *, return_distribution: Literal[True]
    ) -> PredictiveMixture | list[PredictiveMixture]: ...

    @overload
    def predict(
        self,
        X: ArrayLike,
        *,
        return_std: bool = False,
        quantiles: ArrayLike | None = None,
        return_distribution: bool = False,
    ) -> (
        FloatArray | tuple[FloatArray, FloatArray] | PredictiveMixture | list[PredictiveMixture]
    ): ...

    def predict(self, X, *, return_std=False, quantiles=None, return_distribution=False):
        """Predict the target.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std : bool, default=False
            Return the predictive standard deviation as well.
        quantiles : array-like of shape (n_quantiles,) or float, default=None
            Levels in (0, 1). Return these predictive quantiles instead of the point prediction.
        return_distribution : bool, default=False
            Return the predictive distribution instead of the point prediction.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_targets)
            Point prediction: the mean or the median of the predictive distribution.
        std : ndarray of the shape of y
            Predictive standard deviation. Only with ``return_std=True``.
        quantiles : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)
            Returned instead of y if ``quantiles`` is given.
        distribution : PredictiveMixture, or list of PredictiveMixture
            Returned instead of y if ``return_distribution=True``; a list with one for each target
            if there are several.

        Raises
        ------
        ValueError
            If more than one of the keywords is used, or if ``quantiles`` is empty or contains a
            level outside (0, 1).
        """
        asked = {
            "return_std": bool(return_std),
            "quantiles": quantiles is not None,
            "return_distribution": bool(return_distribution),
        }
        if sum(asked.values()) > 1:
            names = " and ".join(name for name, used in asked.items() if used)
            raise ValueError(f"Use only one of {names}.")
        if return_distribution:
            return self.predict_distribution(X)
        if quantiles is not None:
            levels = check_levels(quantiles)
            return self._summarise(X, lambda distribution: distribution.quantile(levels))
        if return_std:
            both = self._summarise(X, lambda d: np.column_stack([self._point(d), d.std()]))
            return both[..., 0].copy(), both[..., 1].copy()
        return self._summarise(X, self._point)

    def _point_estimate(self):
        """Which point of its distribution ``predict`` returns."""
        return self.point_estimate

    def _point(self, distribution):
        if self._point_estimate() == "median":
            return distribution.quantile(0.5)[:, 0]
        return distribution.mean()

    def _summarise(self, X, summary):
        """Apply a function of one mixture, target by target, a block of rows at a time."""

        def of_block(_, rows):
            mixtures = self.predict_distribution(rows)
            if isinstance(mixtures, list):
                return np.stack([summary(mixture) for mixture in mixtures], axis=1)
            return summary(mixtures)

        return in_blocks(of_block, X)

    def _refuse_several_targets(self, what):
        check_is_fitted(self)
        if self._y_ndim > 1:
            raise ValueError(
                f"{what} is not available with several targets. Use predict_distribution, which "
                "returns one mixture for each target."
            )

    def predict_quantiles(
        self, X: ArrayLike, quantiles: ArrayLike = (0.05, 0.5, 0.95)
    ) -> FloatArray:
        """Predict quantiles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        quantiles : array-like of shape (n_quantiles,) or float, default=(0.05, 0.5, 0.95)
            Levels in (0, 1), in any order.

        Returns
        -------
        quantiles : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_targets, n_quantiles)
            In the units of y and in the order of the levels. Quantiles never cross.

        Raises
        ------
        ValueError
            If there is no level, or a level is not in (0, 1).
        """
        return self.predict(X, quantiles=quantiles)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> FloatArray:
        """Predict central intervals.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        coverage : float, default=0.9
            Probability that a new observation lies in its interval, in (0, 1).

        Returns
        -------
        interval : ndarray of shape (n_samples, 2) or (n_samples, n_targets, 2)
            Lower and upper ends, in the units of y.

        Raises
        ------
        ValueError
            If ``coverage`` is not in (0, 1).
        """
        return self.predict(X, quantiles=central_levels(coverage))

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        """Draw new observations, independently for each row unless the estimator says otherwise.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Inputs.
        n_samples : int, default=1
            Number of draws for each row.
        random_state : int, RandomState instance or None, default=0
            Seed.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            In the units of y.

        Raises
        ------
        ValueError
            If there are several targets, because their mixtures do not describe their joint
            distribution, or if ``n_samples`` is not a positive integer.
        """
        self._refuse_several_targets("sample_y")
        return sample_rows(self.predict_distribution, X, n_samples, random_state)

    def log_predictive_density(self, X: ArrayLike, y: ArrayLike) -> FloatArray:
        """Log predictive density of observations, in nats, for y in its own units.

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
            If y is not finite or does not have the length of X, or if there are several targets,
            because their mixtures do not describe their joint distribution.
        """
        self._refuse_several_targets("log_predictive_density")
        return score_rows(self.predict_distribution, PredictiveMixture.logpdf, X, y)


class ProbabilisticClassifierMixin(VersionStampMixin):
    """Labels and logarithms, from ``predict_proba`` and ``classes_``."""

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Logarithm of :meth:`predict_proba`; (n_samples, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the most probable class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]


def sample_rows(predict_distribution, X, n_samples, random_state):
    """Draw from the distribution of each row, a block of rows at a time.

    Parameters
    ----------
    predict_distribution : callable
        From rows to their :class:`~skbayesnn.predictive.PredictiveMixture`.
    X : array-like of shape (n_rows, n_features)
    n_samples : int
    random_state : int, RandomState instance or None

    Returns
    -------
    draws : ndarray of shape (n_rows, n_samples)
    """
    check_n_samples(n_samples)
    rng = check_random_state(random_state)
    return in_blocks(lambda _, rows: predict_distribution(rows).sample(n_samples, rng), X)


def score_rows(predict_distribution, row_score, X, y):
    """Scores of observations, a block of rows at a time.

    Parameters
    ----------
    predict_distribution : callable
        From rows to their :class:`~skbayesnn.predictive.PredictiveMixture`.
    row_score : callable
        ``row_score(distribution, y)``, of shape (n_samples,).
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)

    Returns
    -------
    scores : ndarray of shape (n_samples,)
    """
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)  # a sparse matrix has no length
    y = check_observations(y, n_rows)

    def of_block(begin, rows):
        distribution = predict_distribution(rows)
        check_distribution(distribution)
        return row_score(distribution, y[begin : begin + len(distribution)])

    return in_blocks(of_block, X)


def check_distribution(distribution):
    """Raise a TypeError for anything but a ``PredictiveMixture``."""
    if not isinstance(distribution, PredictiveMixture):
        raise TypeError(f"Expected a PredictiveMixture. Got {type(distribution).__name__}.")


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

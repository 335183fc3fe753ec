"""What every regressor of the package can do with its predictive distribution."""

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from skbayesnn.predictive import check_levels


class ProbabilisticRegressorMixin:
    """Predictions of all kinds from one method, ``predict_distribution``.

    ``predict`` with a keyword is the channel that passes through a
    :class:`~sklearn.pipeline.Pipeline`; the other methods are its friendly face. All
    uncertainty is that of a new observation, noise included.
    """

    # The keywords pass through pipelines with metadata routing enabled, too.
    __metadata_request__predict = {  # noqa: RUF012
        "return_std": True,
        "quantiles": True,
        "return_distribution": True,
    }

    # "mean" or "median"; estimators may make a parameter of it.
    point_estimate = "mean"

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
            If more than one of the keywords is used.
        """
        if bool(return_std) + (quantiles is not None) + bool(return_distribution) > 1:
            raise ValueError("Use only one of return_std, quantiles and return_distribution.")
        if quantiles is not None:
            quantiles = check_levels(quantiles)
        distribution = self.predict_distribution(X)
        if return_distribution:
            return distribution
        if quantiles is not None:
            return distribution.quantile(quantiles)
        if self.point_estimate == "median":
            y = distribution.quantile(0.5)[:, 0]
        else:
            y = distribution.mean()
        return (y, distribution.std()) if return_std else y

    def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95)):
        """Predictive quantiles.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        quantiles : array-like of shape (n_quantiles,) or float
            Levels in (0, 1), in any order.

        Returns
        -------
        quantiles : ndarray of shape (n_samples, n_quantiles)
            In the order of the levels; they never cross.
        """
        return self.predict(X, quantiles=quantiles)

    def predict_interval(self, X, coverage=0.9):
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
            Lower and upper ends.
        """
        return self.predict_distribution(X).interval(coverage)

    def sample_y(self, X, n_samples=1, random_state=0):
        """Draw new observations, each row by itself.

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
        """
        return self.predict_distribution(X).sample(n_samples, random_state)

    def log_predictive_density(self, X, y):
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
        """
        distribution = self.predict_distribution(X)
        return distribution.logpdf(check_observations(y, len(distribution)))


def check_observations(y, n_samples):
    """Observations as a finite array of shape (n_samples,), or a clear ValueError."""
    y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
    y = column_or_1d(y)
    check_consistent_length(y, np.empty(n_samples))
    return y

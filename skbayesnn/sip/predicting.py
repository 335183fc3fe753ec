"""Prediction methods of ``SIPRegressor``: distributions of new observations, and functions."""

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn._typing import ArrayLike, FloatArray, Seed
from skbayesnn._validation import check_n_samples
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.training.pooled import pooled, with_processes
from skbayesnn.training.unseen import draws_where_unseen, where_unseen


class Predicting:
    """Predictions of one network, or of the members where there are several."""

    @one_blas_thread
    def predict_distribution(self, X: ArrayLike) -> PredictiveMixture | list[PredictiveMixture]:
        """Predict the distribution of a new observation for each row, noise included.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        distribution : PredictiveMixture, or list of PredictiveMixture
            A mixture in the units of y, noise included. It has `n_posterior_draws` components (a
            few more if the networks or the noise scales need equal shares) and those of the
            Gaussian process. With several targets, a list with one mixture for each.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        if hasattr(self, "estimators_"):
            return self._y_far(self._predictions_of_members(X))
        scaled = self._scaled(X)
        mixture = pooled([self._predictor.mixture(scaled)], [self._process], [scaled])
        mixture = where_unseen(mixture, *self._away(X, scaled))
        return self._y_far(mixture.scaled(self._y_offset, self._y_scale))

    @one_blas_thread
    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        """Draw new observations: functions from the posterior, jointly at all rows, plus noise.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        n_samples : int, default=1
            Number of functions.
        random_state : int, RandomState instance or None, default=0
            Seed.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            In the units of y. A column is one function of one network at all rows, or one function
            of the Gaussian process at 1000 rows at a time, with independent noise added. Away from
            the training rows, rows are independent. Each single row follows `predict_distribution`.

        Raises
        ------
        ValueError
            If the model has several targets, or if ``n_samples`` is not a positive integer.
        """
        self._refuse_several_targets("sample_y")
        check_n_samples(n_samples)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        (generator,) = spawn_generators(random_state, 1)
        if hasattr(self, "estimators_"):
            draws = self._functions_of_members("sample_y", X, n_samples, random_state)
        else:
            draws = self._draws_of_one(X, n_samples, generator)
        return self._y_far.of_draws(draws, self.predict_distribution, X, generator)

    def _draws_of_one(self, X, n_samples, generator):
        """New observations of this estimator's own network, or of the process beside it."""
        scaled = self._scaled(X)
        f = self._predictor.observations(scaled, n_samples, generator)
        if self._process is not None:
            self._process.replace_draws(f, scaled, self._means, generator)
        draws_where_unseen(f, *self._away(X, scaled), generator)
        return self._y_offset + self._y_scale * f

    def _away(self, X, scaled):
        """Probability that no row is near, and the prediction there, standardised."""
        return with_processes(*self._unseen(self._placed(X)), [self._process], [scaled])

    @one_blas_thread
    def sample_prior(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        """Draw functions from the fitted prior, without noise.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        n_samples : int, default=1
            Number of functions.
        random_state : int, RandomState instance or None, default=0
            Seed.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            In the units of y.

        Raises
        ------
        ValueError
            If the model has several targets (call the method of a member of ``estimators_``
            instead), or if ``n_samples`` is not a positive integer.
        """
        self._refuse_several_targets("sample_prior")
        check_n_samples(n_samples)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        if hasattr(self, "estimators_"):
            return self._functions_of_members("sample_prior", X, n_samples, random_state)
        (generator,) = spawn_generators(random_state, 1)
        f = self._predictor.prior_functions(self._scaled(X), n_samples, generator)
        return self._y_offset + self._y_scale * f

"""Predictions of a regressor: distributions of new observations, and joint draws of them."""

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn._typing import ArrayLike, FloatArray, Seed
from skbayesnn._validation import check_n_samples
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.numerics.workers import Workers
from skbayesnn.predictive import PredictiveMixture


class Predicting:
    """Prediction methods of ``DeepWishartRegressor``, which use its trained model."""

    @one_blas_thread
    def predict_distribution(self, X: ArrayLike) -> PredictiveMixture | list[PredictiveMixture]:
        """Predict the distribution of a new observation for each row, noise included.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        distribution : PredictiveMixture, or list of PredictiveMixture
            A mixture of Gaussians over draws of the Gram matrices, including those of the other
            models where these take part; a list with one mixture for each target if there are
            several.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        with Workers(self.n_jobs) as workers:
            mixtures = self._model.mixtures(X, workers)
        return self._y_far(mixtures[0] if self._y_ndim == 1 else mixtures)

    @one_blas_thread
    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        """Draw functions from the posterior at all rows jointly, and add independent noise.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Inputs; at most 10,000 rows. The time grows with the cube of their number, for each draw
            of the Gram matrices that is used, and the memory is 24 bytes times the square of their
            number.
        n_samples : int, default=1
            Number of functions.
        random_state : int, RandomState instance or None, default=0
            Seed.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            In the units of y. Each column is one function plus noise.

        Raises
        ------
        ValueError
            If the model has several targets, there are too many rows, or ``n_samples`` is not a
            positive integer.
        """
        self._refuse_several_targets("sample_y")
        check_n_samples(n_samples)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        generator = spawn_generators(random_state, 1)[0]
        draws = self._model.sample(X, generator, n_samples)
        return self._y_far.of_draws(draws, self.predict_distribution, X, generator)

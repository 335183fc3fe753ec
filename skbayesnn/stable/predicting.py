"""Prediction methods of ``StableNNRegressor``: mixtures over posterior draws, and joint draws."""

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn._typing import ArrayLike, FloatArray, Seed
from skbayesnn._validation import check_n_samples
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.training.pooled import pooled


class Predicting:
    """Predictions from the posterior draws, the process beside them, and extrapolation."""

    @one_blas_thread
    def predict_distribution(self, X: ArrayLike) -> PredictiveMixture:
        """Predict the distribution of a new observation for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        distribution : PredictiveMixture
            A mixture in the units of y, noise included. It has one Gaussian of equal weight for
            each posterior draw, ten more for the tails of Student-t noise, those of the Gaussian
            process, and two more for ``extrapolation="stacked"``, which have weight away from the
            rows.
        """
        check_is_fitted(self, "noise_variance_draws_")
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        law = self._standardised_law(X)
        if self._beside is not None:
            law = pooled([law], [self._beside], [self.cells_.seen(X)])
        # Last: a process with the settings that are best among the rows is too sure away from them.
        if self._extrapolates():
            law = self._extrapolation.stacked(law, self.cells_, self._draws, X)
        return self._y_far(law.scaled(float(self._location), float(self._scale)))

    def _standardised_law(self, X):
        """The prediction of the network alone, for standardised targets."""
        means, variances = self.cells_.predict(self._draws, X)
        scales, of_draw, weights = self.cells_.noise_components(self._draws, X)
        noise = np.exp(self._draws.log_noise)[of_draw] * scales
        return PredictiveMixture(weights, means[:, of_draw], variances[:, of_draw] + noise)

    @property
    def gaussian_process_weight_(self) -> float:
        """Weight of the Gaussian process in predictions."""
        check_is_fitted(self, "noise_variance_draws_")
        return 0.0 if self._beside is None else self._beside.part()

    def _extrapolates(self):
        """Whether Gaussian processes take part in predictions away from the rows."""
        return self.extrapolation == "stacked" and self.cells_.may_be_stacked

    @one_blas_thread
    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        """Draw new observations: the function jointly over the rows, and noise for each.

        Use it for sums, differences or maxima over rows: rows that lie close together share jumps,
        so such quantities have the right distribution. Equal rows share the function and differ
        only by noise. Some of the draws, as many as the weight of the Gaussian process says, are
        functions of that process, jointly for a thousand rows at a time. Away from the training
        rows, the draws of ``extrapolation="stacked"`` are independent between rows: for sums over
        such rows use ``extrapolation="posterior"``.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Inputs.
        n_samples : int, default=1
            Number of draws, each of one function. No posterior draw is used twice before all have
            been used once.
        random_state : int, RandomState instance or None, default=0
            Seed.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            In the units of y.

        Raises
        ------
        ValueError
            If ``n_samples`` is not a positive integer; with the exact cells of two inputs, if the
            training rows and X have more than 1000 distinct rows together; with additive cells and
            up to 2000 training rows, if X has more than 5000 rows, because time and memory of a
            draw grow faster than the square of their number.
            ``predict_distribution(X).sample(n_samples)`` accepts any number of rows and draws them
            independently.
        """
        check_is_fitted(self, "noise_variance_draws_")
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        check_n_samples(n_samples)
        (rng,) = spawn_generators(random_state, 1)
        noise = self.noise_variance_draws_
        rounds = -(-n_samples // noise.size)
        chosen = np.concatenate([rng.permutation(noise.size) for _ in range(rounds)])[:n_samples]
        draws = self._draws.take(chosen)
        f = self.cells_.sample(draws, X, rng)
        noise = noise[chosen] * self.cells_.draw_noise_scales(draws, X, rng)
        f += np.sqrt(noise) / self._scale * rng.standard_normal(f.shape)
        if self._beside is not None:
            self._beside.replace_draws(
                f, self.cells_.seen(X),
                lambda _: self._standardised_law(X).mean()[:, None], rng,
            )  # fmt: skip
        if self._extrapolates():
            self._extrapolation.stack_draws(f, self.cells_, self._draws, X, rng)
        f *= self._scale
        f += self._location
        return self._y_far.of_draws(f, self.predict_distribution, X, rng)

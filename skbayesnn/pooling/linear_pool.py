"""Predictions of a linear pool of fitted members, Σ_k w_k f_k(y)."""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skbayesnn._typing import ArrayLike, FloatArray, Seed
from skbayesnn._validation import N_JOBS, check_n_samples, check_parameters
from skbayesnn.base import POINT_ESTIMATES, ProbabilisticRegressorMixin, sample_rows
from skbayesnn.numerics.random import systematic
from skbayesnn.pooling.spread import median, scaled
from skbayesnn.predictive import PredictiveMixture, linear_pool


class LinearPoolMixin(ProbabilisticRegressorMixin):
    """Predictions of a weighted pool of fitted members.

    Subclasses define ``_pool(X)``, the members in use, each with ``predict_distribution`` and
    perhaps ``sample_y``; their weights, with sum one, the same for all rows or for each; and the
    factor by which the pool's distances from its median are multiplied, 1 with several targets.
    """

    def _check_parameters(self, **constraints):
        """Check the parameters of all pools, and those that a subclass adds or widens."""
        shared = {"point_estimate": POINT_ESTIMATES, "n_jobs": N_JOBS}
        check_parameters(self, shared | constraints)

    def predict_distribution(self, X: ArrayLike) -> PredictiveMixture | list[PredictiveMixture]:
        """Predictive distribution: the members' distributions, pooled.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        distribution : PredictiveMixture, or list of PredictiveMixture
            A mixture with the components of all members; a list with one mixture for each target
            if there are several.
        """
        check_is_fitted(self)
        return self._y_far(scaled(*self._pooled(X)))

    def _pooled(self, X):
        """The pool, or a list of them, and the factor that it is yet to be scaled by."""
        members, weights, factor = self._pool(X)
        parts = [member.predict_distribution(X) for member in members]
        if isinstance(parts[0], PredictiveMixture):
            return linear_pool(parts, weights), factor
        return [linear_pool(of_target, weights) for of_target in zip(*parts, strict=True)], factor

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        """Draw new observations, each sample from one member.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        n_samples : int, default=1
            Number of draws. They are joint over the rows if those of the member are. Every member
            makes its share of them, give or take one.
        random_state : int, RandomState instance or None, default=0
            Seed.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            In the units of y.

        Raises
        ------
        ValueError
            If there are several targets, or if ``n_samples`` is not a positive integer.
        """
        self._refuse_several_targets("sample_y")
        check_n_samples(n_samples)
        rng = check_random_state(random_state)
        members, weights, factor = self._pool(X)
        # Of each row, or of all alike, and each sample.
        of_member = systematic(weights, n_samples, rng)
        draws = None
        for k, member in enumerate(members):
            seed = rng.randint(2**31 - 1)
            own = of_member == k
            columns = np.flatnonzero(own.any(axis=0))
            if not len(columns):
                continue
            if hasattr(member, "sample_y"):
                part = member.sample_y(X, len(columns), seed)
            else:
                part = sample_rows(member.predict_distribution, X, len(columns), seed)
            draws = np.empty((len(part), n_samples)) if draws is None else draws
            draws[:, columns] = np.where(own[:, columns], part, draws[:, columns])
        draws = draws[:, rng.permutation(n_samples)]
        if factor != 1.0:
            centre = median(self._pooled(X)[0])[:, None]
            draws = centre + factor * (draws - centre)
        return self._y_far.of_draws(draws, self.predict_distribution, X, rng)

"""Predictions of classifiers: probabilities of all depths, combined with a Gaussian process."""

from contextlib import suppress

import numpy as np
from scipy.linalg import LinAlgError
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn._typing import ArrayLike, FloatArray
from skbayesnn._validation import check_levels
from skbayesnn.base import ProbabilisticClassifierMixin
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.udn.classes_beside import MOST_CLASSES, ClassesBeside, HeldOutClasses


class ClassPredictions(ProbabilisticClassifierMixin):
    """Predictions of all networks, and of the Gaussian process ``_process`` in their pool."""

    def _set_beside(self, X, targets, weights, rows, other, workers):
        """Keep the network's predictions for the held-out rows until all networks are trained."""
        n_classes = self._network.architecture.likelihood.n_targets
        none = not self.gaussian_process or self._X_map is None or self._sees_images
        if none or not 2 <= n_classes <= MOST_CLASSES:
            return
        q = self._depths()
        by_depth = self._own_probabilities(self._scaled(X[other]), len(q))
        self._held_out = HeldOutClasses(rows, other, by_depth, q)

    def _agree(self, X, targets, weights):
        """Fit one process for all networks, and its exponent, by the rows held out from each."""
        members = self._members()
        held = [member.__dict__.pop("_held_out", None) for member in members]
        held = [each for each in held if each is not None]
        if held:
            data = self._X_map.placed(X), targets[:, 0].astype(int), weights
            with suppress(LinAlgError):  # the networks are left alone
                self._process = ClassesBeside(*data, held, self._split)

    def _depth_probabilities(self, X):
        """Class probabilities at each depth of each network, and probabilities of these depths.

        The class probabilities include those of the Gaussian process.

        Returns
        -------
        by_depth : ndarray of shape (n_depths, n_samples, n_classes)
        q : ndarray of shape (n_depths,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        members, by_depth = self._members(), []
        depths = [member._depths() for member in members]
        for member, q in zip(members, depths, strict=True):
            by_depth.append(member._own_probabilities(member._scaled(X), len(q)))
        by_depth, q = np.concatenate(by_depth), np.concatenate(depths) / len(members)
        if self._process is not None:
            by_depth = self._process.pooled(by_depth, self._X_map.placed(X))
        return by_depth, q

    def _own_probabilities(self, X, n_depths):
        """Class probabilities at each depth of this estimator's own network, at scaled inputs."""
        return softmax(self._network.outputs(X, n_depths) / self._temperature, axis=2)

    @property
    def temperature_(self) -> float:
        """Factor by which the logits are divided; for several networks, the mean."""
        return float(np.mean([member._temperature for member in self._members()]))

    @property
    def gaussian_process_weight_(self) -> float:
        """Weight of the Gaussian process: its share of the exponents of the probabilities."""
        return 0.0 if self._process is None else self._process.weight

    @property
    def label_noise_(self) -> float:
        """Share of rows whose label is any class at random; 0 without a Gaussian process."""
        return 0.0 if self._process is None else self._process.label_noise

    @one_blas_thread
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Predict class probabilities, averaged over the posterior of the depth (eq. 11).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        by_depth, q = self._depth_probabilities(X)
        p = np.tensordot(q, by_depth, axes=1)
        return p / p.sum(axis=1, keepdims=True)

    @one_blas_thread
    def predict_quantiles(
        self, X: ArrayLike, quantiles: ArrayLike = (0.05, 0.5, 0.95)
    ) -> FloatArray:
        """Quantiles of each class probability over the posterior of the depth.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        quantiles : float or array-like of shape (n_quantiles,), default=(0.05, 0.5, 0.95)
            In (0, 1), in any order.

        Returns
        -------
        quantiles : ndarray of shape (n_samples, n_classes, n_quantiles)
            The smallest class probability p such that the depths that predict at most p have a
            posterior probability of at least the level.

        Raises
        ------
        ValueError
            If a level is outside (0, 1).
        """
        levels = check_levels(quantiles)
        by_depth, q = self._depth_probabilities(X)
        p = np.moveaxis(by_depth, 0, -1)
        order = np.argsort(p, axis=-1)
        mass = np.cumsum(q[order], axis=-1)
        mass /= mass[..., -1:]
        ranks = (mass[..., None] < levels - 1e-12).sum(axis=-2)
        return np.take_along_axis(np.take_along_axis(p, order, axis=-1), ranks, axis=-1)

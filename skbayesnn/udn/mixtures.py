"""Predictions of regressors: Gaussians of all depths, pooled with Gaussian processes (eq. 11)."""

from copy import copy, deepcopy

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn._typing import ArrayLike, FloatArray
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.predictive import PredictiveMixture, linear_pool
from skbayesnn.training.beside import ProcessBeside
from skbayesnn.training.effects import distance_units
from skbayesnn.training.held_out import expected_parts, log_chances
from skbayesnn.training.pooled import pooled, with_processes
from skbayesnn.training.unseen import where_unseen
from skbayesnn.udn.architecture import MANY_INPUTS

MANY_ROWS, BEFORE_PART = 2000, 0.3
"""From so many rows on, a second network has what the nearest rows say as inputs, a refit is
shorter, and the network before the refit keeps this part of the prediction: held-out rows have set
its noise, and after the refit it is overconfident if the noise has many shapes."""


class MixturePredictions(ProbabilisticRegressorMixin):
    """Predictions of all networks, and of what held-out rows let share in them."""

    def _has_told(self, n_rows, n_inputs):
        usual = self._network.architecture.fused and self.normalize_X and self.gaussian_process
        return usual and n_rows >= MANY_ROWS and 1 < n_inputs <= MANY_INPUTS

    def _weigh_told(self, X, targets, weights):
        """The part of the second network, by held-out rows."""
        known, told = (each._mixtures_of_network(each._scaled(X)) for each in (self, self._told))
        parts = [
            expected_parts(log_chances([a.logpdf(y), b.logpdf(y)], weights), 2)[0]
            for a, b, y in zip(known, told, targets.T, strict=True)
        ]
        self._told_parts = np.array(parts)

    def _refit_part_and_rate(self, n_rows):
        # The wide networks of large tables would learn single rows.
        return (1.0, 1.0) if n_rows < MANY_ROWS else (0.5, 0.3)

    def _keep_before_refit(self, n_rows):
        if n_rows >= MANY_ROWS:
            self._before = copy(self)
            self._before._network, self._before._depth = deepcopy((self._network, self._depth))
            self._before._others = []

    def _set_beside(self, X, targets, weights, rows, other, workers):
        if not self.gaussian_process or self._X_map is None or self._sees_images:
            return
        standardised, known = self._X_map.standardised(X), self._own_mixtures(X[other])
        self._process = ProcessBeside(
            standardised, targets, weights, rows, other, known, self._split, workers=workers
        )

    def _agree(self, X, targets, weights):
        beside = [member._process for member in self._members() if member._process is not None]
        if beside:
            ProcessBeside.agree(beside)

    def _own_gaussians(self, X):
        """Gaussians of this estimator's own network, at inputs that are scaled, and q(ℓ)."""
        q, law = self._depths(), self._network.architecture.likelihood
        outputs = self._network.outputs(X, len(q))
        return q, law.gaussians(outputs, self._network.shared(len(q)))

    def _own_means(self, X):
        """Means of the standardised targets at inputs that are scaled; (n, n_targets)."""
        q, (log_weights, means, _) = self._own_gaussians(X)
        return np.einsum("d,dntg,dntg->nt", q, np.exp(log_weights), means)

    def _placed(self, X):
        """Inputs in units in which rows have distances."""
        X = self._X_relevance * (X if self._X_map is None else self._X_map.placed(X))
        effects = (member._X_effects for member in self._members())
        return X * distance_units([each for each in effects if each is not None])

    def _remember(self, X, targets, weights):
        """Take note of rows, where distances mean something."""
        if self._X_map is not None:
            self._unseen.add(self._placed(X), targets, weights)

    @property
    def gaussian_process_weight_(self) -> float | FloatArray:
        """Weight of the Gaussian process in predictions, for each target."""
        members = self._members()
        targets = range(len(self._y_scale))
        parts = [
            [0.0 if m._process is None else m._process.part(t) for t in targets] for m in members
        ]
        mean = np.mean(parts, axis=0)
        return float(mean[0]) if self._y_ndim == 1 else mean

    @property
    def noise_variance_(self) -> FloatArray:
        """Noise variance in the squared units of y, for each depth."""
        if self.likelihood != "gaussian":
            raise AttributeError(
                f"noise_variance_: with likelihood={self.likelihood!r} the noise depends on the "
                "inputs; see predict_distribution."
            )
        members = self._members()
        q = np.zeros((len(members), self.n_layers_, 1))
        own = np.zeros((len(members), self.n_layers_, len(self._y_scale)))
        for i, member in enumerate(members):
            depths = member._depths()
            q[i, : len(depths), 0] = depths
            own[i, : len(depths)] = np.exp(member._network.shared(len(depths)))
            own[i] *= member._y_scale**2
        # The one depth of depth_prior="point" leaves those before it without any.
        q[:, ~q.any(axis=(0, 2))] = 1.0
        variances = (q * own).sum(axis=0) / q.sum(axis=0)
        return variances[:, 0] if self._y_ndim == 1 else variances

    @one_blas_thread
    def predict_distribution(self, X: ArrayLike) -> PredictiveMixture | list[PredictiveMixture]:
        """Predict the distribution of a new observation for each row, noise included.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        distribution : PredictiveMixture, or list of PredictiveMixture
            A mixture of the Gaussians of all depths, weighted by the posterior of the depth, and of
            the Gaussian process; a list with one mixture for each target if there are several.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        members = self._members()
        of_members = [member._own_mixtures(X) for member in members]
        beside = [member._process for member in members]
        standardised = [
            None if member._process is None else member._X_map.standardised(X) for member in members
        ]
        mixtures = [
            pooled(of_target, beside, standardised, t)
            for t, of_target in enumerate(zip(*of_members, strict=True))
        ]
        unseen = self._unseen(self._placed(X))
        mixtures = [
            where_unseen(known, *with_processes(*unseen, beside, standardised, t))
            for t, known in enumerate(mixtures)
        ]
        return self._y_far(mixtures[0] if self._y_ndim == 1 else mixtures)

    def _own_mixtures(self, X):
        """Predictive distributions of this estimator's own networks, one a target."""
        known = self._with_before(X)
        if self._told is None:
            return known
        told = self._told._with_before(X)
        return [
            linear_pool([a, b], [1.0 - part, part]) if part else a
            for a, b, part in zip(known, told, self._told_parts, strict=True)
        ]

    def _with_before(self, X):
        """Those of one network, and of the same before its refit."""
        X = self._scaled(X)
        now = self._mixtures_of_network(X)
        if self._before is None:
            return now
        before, parts = self._before._mixtures_of_network(X), [1.0 - BEFORE_PART, BEFORE_PART]
        return [linear_pool(pair, parts) for pair in zip(now, before, strict=True)]

    def _mixtures_of_network(self, X):
        """Those of the network as it is; X is scaled."""
        q, (log_weights, means, log_variances) = self._own_gaussians(X)
        weights = np.exp(log_weights) * q[:, None, None, None]
        parts = np.moveaxis(np.stack([weights, means, np.exp(log_variances)]), 1, 3)
        mixtures = []
        for t, (offset, scale) in enumerate(zip(self._y_offset, self._y_scale, strict=True)):
            w, m, v = parts[:, :, t].reshape(3, len(X), -1)
            mixtures.append(
                PredictiveMixture(w / w.sum(axis=1, keepdims=True), m, v).scaled(offset, scale)
            )
        return mixtures

"""What the two estimators share: from parameters and arrays to a trained network."""

from numbers import Integral, Real

import numpy as np
from sklearn.model_selection import train_test_split

from skbayesnn._validation import (
    Interval,
    InvalidParameterError,
    Options,
    location_and_scale,
    positive,
)
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.training import SCHEDULES, CallbackTasks, train
from skbayesnn.udn.depth import CategoricalDepth, PointMass, TruncatedPoisson
from skbayesnn.udn.inference import DepthInference
from skbayesnn.udn.layers import KINDS, Architecture
from skbayesnn.udn.network import Network


class Pair:
    """A tuple of ``low`` to ``high`` positive integers."""

    def __contains__(self, value):
        return (
            isinstance(value, tuple | list)
            and len(value) in (2, 3)
            and all(v in positive(Integral) for v in value)
        )

    def __str__(self):
        return "a tuple (height, width) or (height, width, channels) of positive ints"


CONSTRAINTS = {
    "width": [positive(Integral)],
    "layer_generator": [Options(tuple(KINDS))],
    "image_shape": [Options((None,)), Pair()],
    "depth_prior": [Options(("poisson", "categorical", "point"))],
    "prior_depth": [positive()],
    "max_depth": [positive(Integral)],
    "weight_scale": [positive()],
    "learning_rate": [positive()],
    "schedule": [Options(tuple(SCHEDULES))],
    "batch_size": [positive(Integral), Options(("auto",))],
    "max_iter": [positive(Integral)],
    "early_stopping": [Options((True, False))],
    "validation_fraction": [Interval(Real, 0.0, 1.0, "neither")],
    "n_iter_no_change": [positive(Integral)],
    "tol": [Interval(Real, 0.0, None, "left")],
    "normalize_X": [Options((True, False))],
}


class UnboundedDepthMixin:
    """Fit of the network; subclasses turn targets into numbers and outputs into predictions."""

    def _architecture(self, n_inputs, n_outputs, n_variances):
        height, width, channels = 1, 1, n_inputs
        if self.layer_generator == "convolutional":
            if self.image_shape is None:
                raise InvalidParameterError(
                    "layer_generator='convolutional' needs 'image_shape', the shape "
                    "(height, width) or (height, width, channels) of the image in a row of X."
                )
            height, width, channels = (*self.image_shape, 1)[:3]
        if height * width * channels != n_inputs:
            raise InvalidParameterError(
                f"'image_shape'={self.image_shape} does not fit the {n_inputs} features of X."
            )
        return Architecture(
            self.layer_generator, n_inputs, self.width, n_outputs, n_variances, height, width
        )

    def _new_depth(self):
        if self.depth_prior == "categorical":
            return CategoricalDepth(self.max_depth)
        if self.depth_prior == "point":
            return PointMass(self.max_depth)
        return TruncatedPoisson(self.prior_depth, rate=min(1.0, 0.3 * (self.max_depth - 1) + 1e-2))

    def _learn_scale(self, X):
        self._X_offset, self._X_scale = 0.0, 1.0
        if self.normalize_X and self.layer_generator == "convolutional":
            self._X_offset, self._X_scale = location_and_scale(X.ravel(), "X")
        elif self.normalize_X:
            self._X_offset, self._X_scale = location_and_scale(X, "X")

    def _scaled(self, X):
        return (X - self._X_offset) / self._X_scale

    def _initialise(self, X, n_outputs, n_variances):
        start, shuffle = spawn_generators(self.random_state, 2)
        self._learn_scale(X)
        architecture = self._architecture(X.shape[1], n_outputs, n_variances)
        self._network = Network(architecture, start, self.weight_scale)
        self._depth = self._new_depth()
        self._shuffle = shuffle
        self._depth_memory = np.zeros(0)
        self.n_samples_seen_ = 0
        self.loss_curve_, self.validation_scores_, self.n_iter_ = [], [], 0

    def _train(self, X, targets, weights, strata, callback_data, refit=False):
        """Fit on all rows, or on a part and, with ``refit``, then on all of them."""
        self.n_samples_seen_ = len(X)
        scaled = self._scaled(X)
        data, held_out = (scaled, targets, weights), None
        if self.early_stopping:
            rows, other = self._split(len(X), strata)
            data, held_out = (
                (scaled[rows], targets[rows], weights[rows]),
                (
                    scaled[other],
                    targets[other],
                ),
            )
        n_tasks = self.max_iter * (2 if refit else 1)
        tasks = CallbackTasks(self, *callback_data, n_tasks, self._fitted_so_far)
        inference = DepthInference(
            self._network, self._depth, *data, self.max_depth, held_out=held_out
        )
        record = self._run(inference, self.max_iter, tasks, self.early_stopping)
        self.validation_scores_ = record.scores
        if refit and not record.stopped_by_callback:
            q = self._depth.probabilities()
            self._network.grow(len(q))
            self._network.adam.reset()
            inference = DepthInference(
                self._network, self._depth, scaled, targets, weights, self.max_depth,
                noise=self._network.log_variances(len(q)),
            )  # fmt: skip
            self._run(inference, record.best_epoch + 1, tasks)
        self._publish()
        tasks.finish()

    def _batch_size(self, n):
        return int(np.clip(n // 16, 32, 256)) if self.batch_size == "auto" else self.batch_size

    def _run(self, inference, n_epochs, tasks=None, early_stopping=False):
        record = train(
            inference,
            n_epochs=n_epochs,
            learning_rate=self.learning_rate,
            generator=self._shuffle,
            batch_size=self._batch_size(inference.n_rows),
            schedule="constant" if tasks is None else self.schedule,
            early_stopping=early_stopping,
            patience=self.n_iter_no_change,
            tol=self.tol,
            callbacks=tasks,
        )
        self.loss_curve_ = [*self.loss_curve_, *record.losses]
        self.n_iter_ += record.n_epochs
        return record

    def _train_once(self, X, targets, weights):
        """One pass over a batch of a stream."""
        self.n_samples_seen_ += len(X)
        inference = DepthInference(
            self._network, self._depth, self._scaled(X), targets, weights, self.max_depth,
            n_total=self.n_samples_seen_,
        )  # fmt: skip
        inference.mean_log_likelihood = self._depth_memory
        self._run(inference, 1)
        self._depth_memory = inference.mean_log_likelihood
        self._publish()

    def _publish(self):
        for name, value in self._fitted_so_far().items():
            setattr(self, name, value)

    def _fitted_so_far(self):
        """Attributes with which the estimator predicts as it stands."""
        q = self._depth.probabilities()
        self._network.grow(len(q))
        known = {k: v for k, v in vars(self).items() if k.startswith(("_X", "_y", "_network"))}
        return {
            **known,
            **{k: getattr(self, k) for k in ("n_features_in_", "classes_") if hasattr(self, k)},
            "depth_posterior_": q,
            "expected_depth_": float(q @ np.arange(1, len(q) + 1)),
            "n_layers_": len(q),
        }

    def _split(self, n, strata):
        """Rows to train on and rows held out; every class keeps a row to train on."""
        seed = int(self._shuffle.integers(2**31))
        n_held_out = max(1, round(self.validation_fraction * n))
        if n - n_held_out < 1:
            raise ValueError(
                f"early_stopping=True needs at least 2 samples to hold one out, got n_samples={n}."
            )
        if strata is not None:
            counts = np.bincount(strata)
            if counts[counts > 0].min() < 2 or n_held_out < len(counts):
                strata = None
        rows, other = train_test_split(
            np.arange(n), test_size=n_held_out, random_state=seed, stratify=strata
        )
        return rows, other

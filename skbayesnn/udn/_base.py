"""Shared by the two estimators: from parameters and arrays to trained networks."""

from copy import copy, deepcopy
from dataclasses import replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skbayesnn._validation import InvalidParameterError
from skbayesnn._warnings import warn_user
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.workers import Workers
from skbayesnn.training.loop import CallbackTasks, pass_once, train
from skbayesnn.training.rows import copies, hold_out, number_of_rows
from skbayesnn.training.settings import Automatic, holds_out, number_of_networks, training_settings
from skbayesnn.training.unseen import Unseen
from skbayesnn.udn.architecture import FUSED, MANY_INPUTS, Architecture
from skbayesnn.udn.depth import CategoricalDepth, PointMass, TruncatedPoisson
from skbayesnn.udn.inference import DepthInference
from skbayesnn.udn.input_choices import InputChoices
from skbayesnn.udn.inputs import OneScale, TableScales, waves
from skbayesnn.udn.near_inputs import NearInputs
from skbayesnn.udn.network import Network

NETWORKS = {500: 4, 1000: 3, 2000: 2}
"""Fewer rows than this, and how many networks "auto" pools then; one else, and of images. Single
fits of small tables differ by the seed, and take seconds."""
EPOCHS, LEAST_EPOCHS, IMAGE_EPOCHS = 500, 90, 30
MOST_WORK, PATIENCE = 512_000, 0.4
LEAST_HELD_ROWS = 4
WEIGHT_SCALE, WIDE_WEIGHT_SCALE, IMAGE_WEIGHT_SCALE, WIDE = 0.3, 0.2, 1.0, 65
"""What ``weight_scale="auto"`` stands for: of tables, of regressors with so many units a layer or
more, and of images. More units with weights of the same scale make rougher functions."""


class UnboundedDepthMixin(InputChoices):
    """Fit of the network; subclasses turn targets into numbers and outputs into predictions."""

    def _settings(self, n_rows):
        """Put numbers in place of "auto" for a number of rows to train on.

        Batches of a sixteenth of the rows, of 32 to 256. 30 epochs of images, always to the end;
        500 of tables, but no more steps, times units of a layer, than ``MOST_WORK``, nor fewer
        than 90 epochs, with a patience of two fifths of them.
        """
        size = int(np.clip(n_rows // 16, 32, 256))
        n_batches = -(-n_rows // min(size, n_rows))
        if self._sees_images:
            epochs = patience = IMAGE_EPOCHS
        else:
            width = self._network.architecture.width
            epochs = int(np.clip(MOST_WORK / (width * n_batches), LEAST_EPOCHS, EPOCHS))
            patience = round(PATIENCE * epochs)
        n_steps, patience = epochs * n_batches, patience * n_batches
        return training_settings(
            self, n_rows, Automatic(size, n_steps, patience, early_stopping=True)
        )

    def _width(self, n_rows):
        """Units a layer: "auto" takes more for many rows, fewer for images."""
        if not isinstance(self.width, str):
            return int(self.width)
        if self._sees_images:
            return 48
        return int(32 * np.clip(2 ** np.floor(np.log2(n_rows / 1000)), 1, 4))

    @property
    def _sees_images(self):
        """Whether layers are given images."""
        return self.image_shape is not None and self.layer_generator not in FUSED

    def _architecture(self, n_inputs, n_rows, likelihood):
        shape = (n_inputs,)
        if self._sees_images:
            shape = (*self.image_shape, 1)[:3]
        elif self.layer_generator == "convolutional":
            raise InvalidParameterError(
                "layer_generator='convolutional' needs 'image_shape', the shape "
                "(height, width) or (height, width, channels) of the image in a row of X."
            )
        if np.prod(shape) != n_inputs:
            raise InvalidParameterError(
                f"'image_shape'={self.image_shape} does not fit the {n_inputs} features of X."
            )
        return Architecture(self.layer_generator, shape, self._width(n_rows), likelihood)

    def _new_depth(self):
        if self.depth_prior == "categorical":
            return CategoricalDepth(self.max_depth)
        if self.depth_prior == "point":
            return PointMass(self.max_depth)
        return TruncatedPoisson(self.prior_depth, rate=min(1.0, 0.3 * (self.max_depth - 1) + 1e-2))

    def _learn_input_scale(self, X, weights):
        self._X_map = None
        if self.normalize_X and self._sees_images:
            self._X_map = OneScale(X, weights)
        elif self.normalize_X:
            self._X_map = TableScales(X, weights)

    def _scaled(self, X, near=None):
        """Inputs as the network is given them: they level off beyond the rows.

        ``near`` has what the nearest rows say, where X are among these rows themselves.
        """
        Z = X if self._X_map is None else self._X_map(X)
        Z = waves(Z) if self._X_waves else Z
        Z = Z if np.all(self._X_relevance == 1) else Z * self._X_relevance
        if self._near is None:
            return Z
        near = self._near(self._X_map.standardised(X)) if near is None else near
        return np.hstack([Z, near])

    def _number_of_networks(self, n_rows):
        """How many are pooled: "auto" takes more for few rows."""
        return number_of_networks(self.n_networks, n_rows, {} if self._sees_images else NETWORKS)

    def _initialise(self, n_inputs, n_rows, likelihood, n_networks=1):
        """Untrained networks: this estimator's own and, for each of the others, a copy of it."""
        *generators, chance = spawn_generators(self.random_state, 3 * n_networks + 1)
        generators, self._unseen = iter(generators), Unseen(chance)
        parameters = self.get_params(deep=False)
        self._others = [type(self)(**parameters) for _ in range(n_networks - 1)]
        for member in self._members():
            start, member._shuffle, member._split = (next(generators) for _ in range(3))
            member._X_relevance, member._X_effects = np.ones(n_inputs), None
            member._X_waves, member._process, member._before = False, None, None
            member._near = member._told = None
            member._new_network(member._architecture(n_inputs, n_rows, likelihood), start)
            member.loss_curve_, member.validation_scores_ = [], []
            member.n_iter_ = member.n_samples_seen_ = 0
        for other in self._others:
            other._others = []

    def _members(self):
        """The estimators that have a network each: this one first."""
        return [self, *self._others]

    def _new_network(self, architecture, generator):
        """A network at its start, layer 1 as if only the inputs that matter were there."""
        scale, first = self.weight_scale, None
        n_inputs = float(np.sum(self._X_relevance**2))
        if isinstance(scale, str):
            wide = architecture.width >= WIDE and architecture.likelihood.name != "softmax"
            of_table = WIDE_WEIGHT_SCALE if wide else WEIGHT_SCALE
            scale = IMAGE_WEIGHT_SCALE if self._sees_images else of_table
            first = scale if self._sees_images else min(scale, n_inputs**-0.5)
        self._network = Network(architecture, generator, scale, first_scale=first)
        self._depth, self._depth_memory = self._new_depth(), np.zeros(0)
        if n_inputs < len(self._X_relevance):
            self._start_of_lift(np.sqrt(len(self._X_relevance) / n_inputs))

    def _train(self, X, targets, weights, strata, shown):
        """Train one network after the other, each with a part of the rows held out of its own."""
        members, self._others = self._members(), []
        holding = holds_out(self, len(X) >= LEAST_HELD_ROWS)
        weighs = holding and self._network.architecture.fused and X.shape[1] > MANY_INPUTS
        tries_waves = (
            holding and self._network.architecture.bend and X.shape[1] == 1 and self.normalize_X
        )
        parts = [member._parts(X, targets, strata, holding) for member in members]
        a_network = 1 + (holding and self._has_told(*X.shape))
        n_trainings = np.full(len(members), a_network * (1 + (holding and self.refit)) + 2 * weighs)
        n_trainings[0] += tries_waves
        n_epochs = [self._settings(len(targets[rows])).n_epochs for rows, _ in parts]
        tasks = CallbackTasks(self, *shown, int(n_trainings @ n_epochs), self._fitted_so_far)
        with Workers(self.n_jobs) as workers:
            for number, member in enumerate(members):
                self._others = members[1 : number + 1]
                choose = None
                if weighs:
                    choose = member._weigh_inputs
                elif tries_waves and not number:
                    choose = member._try_waves
                elif number:
                    member._start_from(members[:number], weights.sum())
                goes_on = member._train_one(
                    X, targets, weights, *parts[number], holding, choose, tasks, workers
                )
                if not goes_on:
                    break
        self._agree(X, targets, weights)
        self._publish()
        tasks.finish()

    def _parts(self, X, targets, strata, holding):
        """Rows to train on, and rows to hold out: all and all, if none are held out."""
        if not holding:
            return slice(None), slice(None)
        return hold_out(
            len(X), self.validation_fraction, self._split, strata, groups=copies(X, targets)
        )

    def _train_one(self, X, targets, weights, rows, other, holding, choose, tasks, workers):
        """Fit on all rows, or on a part and, with ``refit``, then on all of them.

        ``choose``, if it is given, trains networks with the inputs in several ways and keeps one.

        Returns
        -------
        goes_on : bool
            False if a callback asked to stop.
        """
        self.n_samples_seen_ = number_of_rows(self.n_samples_seen_ + weights.sum())
        self._learn_input_scale(X[rows], weights[rows])
        self._learn_target_scale(targets[rows], weights[rows])
        scaled_targets = self._scaled_targets(targets)
        settings = replace(self._settings(len(X[rows])), early_stopping=holding)

        def learn(settings=settings):
            data = self._scaled(X), scaled_targets, weights
            return self._learn(data, rows, other, settings, tasks, workers)

        inference, record = learn() if choose is None else choose(learn, settings)
        self.validation_scores_, learned = record.scores, [(self, record)]
        if holding:
            self._calibrate(*inference.held_out)
            if self._has_told(*X.shape) and not record.stopped_by_callback:
                data = X, scaled_targets, weights
                learned.append(self._learn_told(data, rows, other, settings, tasks, workers))
                self._weigh_told(X[other], targets[other], weights[other])
            self._set_beside(X, targets, weights, rows, other, workers)
        stopped = any(record.stopped_by_callback for _, record in learned)
        for member, record in learned:
            near = member._take_in_near(X, scaled_targets, weights, workers)
            if holding and self.refit and not stopped:
                data = member._scaled(X, near), scaled_targets, weights
                member._keep_before_refit(len(X))
                stopped = member._refit(data, record, tasks, workers).stopped_by_callback
        return not stopped

    def _learn(self, data, rows, other, settings, tasks, workers):
        """Train this network with some rows of the data, by others where any are held out."""
        held_out = tuple(part[other] for part in data) if settings.early_stopping else None
        inference = DepthInference(
            self._network, self._depth, *(part[rows] for part in data), self.max_depth,
            held_out=held_out, workers=workers,
        )  # fmt: skip
        return inference, self._run(inference, settings, self.schedule, tasks)

    def _has_told(self, n_rows, n_inputs):
        """Whether a second network is told what the nearest rows say."""
        return False

    def _learn_told(self, data, rows, other, settings, tasks, workers):
        """Train a second network, which has what the nearest rows to train on say as inputs.

        It has no part in the prediction yet. Returns it and the record of its training.
        """
        X, targets, weights = data
        standardised = self._X_map.standardised(X[rows])
        near = NearInputs(standardised, targets[rows], weights[rows], self._split, workers)
        told, architecture = copy(self), self._network.architecture
        told._near, told._others = near, []
        shape = (architecture.input_shape[0] + near.of_rows.shape[1],)
        told._new_network(replace(architecture, input_shape=shape), self._network.generator)
        self._told, self._told_parts = told, np.zeros(targets.shape[1])
        Z = np.empty((len(X), *shape))
        Z[rows], Z[other] = told._scaled(X[rows], near.of_rows), told._scaled(X[other])
        _, record = told._learn((Z, targets, weights), rows, other, settings, tasks, workers)
        return told, record

    def _take_in_near(self, X, targets, weights, workers):
        """Give held-out rows, too, to what the network is told, and return that of all rows."""
        if self._near is None:
            return None
        self._near.give(self._X_map.standardised(X), targets, weights, workers)
        return self._near.of_rows

    def _keep_before_refit(self, n_rows):
        """The network as it is now may share in the prediction."""

    def _set_beside(self, X, targets, weights, rows, other, workers):
        """Another model may share in the prediction, by the rows that were held out."""

    def _agree(self, X, targets, weights):
        """All networks of the pool take the same part of what is beside them."""

    def _refit(self, data, record, tasks, workers):
        """Go on with all rows, noise and temperature held at what was learned."""
        depth = self._depth.support
        self._network.grow(depth)
        self._network.adam.reset()
        inference = DepthInference(
            self._network, self._depth, *data, self.max_depth, noise=self._kept_noise(depth),
            workers=workers,
        )  # fmt: skip
        part, rate = self._refit_part_and_rate(inference.n_rows)
        settings = self._settings(inference.n_rows)
        n_epochs = max(1, round(part * record.best_epoch))
        settings = replace(settings, n_epochs=n_epochs, early_stopping=False)
        try:
            return self._run(inference, settings, self.schedule, tasks, rate)
        except FloatingPointError as error:
            # The loop has put the last finite parameters back.
            warn_user(
                f"A refit failed, and the network as it was before is kept: {error} Held-out rows "
                "may be outliers: look at y, or set refit=False.",
                ConvergenceWarning,
            )
            return record

    def _run(self, inference, settings, schedule, tasks=None, rate=1.0):
        record = train(
            inference,
            n_epochs=settings.n_epochs,
            learning_rate=rate * self.learning_rate,
            generator=self._shuffle,
            batch_size=settings.batch_size,
            schedule=schedule,
            early_stopping=settings.early_stopping,
            patience=settings.patience,
            tol=self.tol,
            score_every=settings.score_every,
            callbacks=tasks,
        )
        self.loss_curve_ = [*self.loss_curve_, *record.losses]
        self.n_iter_ += record.n_epochs
        return record

    def _start_stream(self, X, targets, weights, likelihood):
        """Networks for a stream, scaled by its first batch; one by "auto"."""
        n_networks = number_of_networks(self.n_networks, len(X), {})
        self._initialise(*X.shape[::-1], likelihood, n_networks)
        for member in self._members():
            member._learn_input_scale(X, weights)
            member._learn_target_scale(targets, weights)

    def _train_once(self, X, targets, weights):
        """One pass of every network over a batch of a stream."""
        # Copies go on: where one fails, all networks stay as they were.
        self._others = deepcopy(self._others)
        own = self._network, self._depth, self._shuffle, self._X_map
        self._network, self._depth, self._shuffle, self._X_map = deepcopy(own)
        with Workers(self.n_jobs) as workers:
            for member in self._members():
                member._pass_once(X, targets, weights, workers)
        self._publish()

    def _pass_once(self, X, targets, weights, workers):
        self.n_samples_seen_ = number_of_rows(self.n_samples_seen_ + weights.sum())
        self._process = self._before = self._told = None  # they cannot take in a stream
        if self._X_map is not None:
            self._X_map.extend(X)
        inference = DepthInference(
            self._network, self._depth, self._scaled(X), self._scaled_targets(targets), weights,
            self.max_depth, n_total=self.n_samples_seen_, workers=workers,
        )  # fmt: skip
        inference.mean_log_likelihood = self._depth_memory
        loss = pass_once(
            inference, learning_rate=self.learning_rate, generator=self._shuffle,
            batch_size=self._settings(len(X)).batch_size,
        )  # fmt: skip
        self.loss_curve_ = [*self.loss_curve_, loss]
        self.n_iter_ += 1
        self._depth_memory = inference.mean_log_likelihood

    def _publish(self):
        vars(self).update(self._fitted_so_far())
        networks = [*self._members(), *(m._told for m in self._members() if m._told is not None)]
        supports = [n._depth.support for n in networks if isinstance(n._depth, TruncatedPoisson)]
        if max(supports, default=0) == self.max_depth:
            warn_user(
                f"The depth posterior reached max_depth={self.max_depth}; it may need more.",
                ConvergenceWarning,
            )

    def _depths(self):
        """Probability of each depth of this estimator's own network, which has all these layers."""
        q = self._depth.probabilities()
        self._network.grow(len(q))
        return q

    def _fitted_so_far(self):
        """Attributes with which the estimator predicts as it stands."""
        members = self._members()
        depths = [member._depths() for member in members]
        n_layers = max(len(q) for q in depths)
        posterior = np.mean([np.pad(q, (0, n_layers - len(q))) for q in depths], axis=0)
        own = (
            "_X", "_y", "_network", "_depth", "_temperature", "_others", "_unseen", "_process",
            "_before", "_told",
        )  # fmt: skip
        names = ("n_features_in_", "classes_")
        return {
            **{k: v for k, v in vars(self).items() if k.startswith(own)},
            **{k: getattr(self, k) for k in names if hasattr(self, k)},
            "depth_posterior_": posterior,
            "expected_depth_": float(np.mean([m._depth.expected_depth() for m in members])),
            "n_layers_": n_layers,
            "input_relevance_": np.mean([m._X_relevance for m in members], axis=0),
        }

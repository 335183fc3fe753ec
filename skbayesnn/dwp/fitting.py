"""The part of ``fit`` that follows the validation of the rows."""

import numpy as np

from skbayesnn._extremes import clipped_targets
from skbayesnn.dwp.inference import SparseInference
from skbayesnn.dwp.model import Model
from skbayesnn.dwp.plan import make_plan
from skbayesnn.gaussian_process.factors import warn_of_jitter
from skbayesnn.numerics.copies import find_copies
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.workers import Workers
from skbayesnn.training.loop import CallbackTasks, train
from skbayesnn.training.rows import copies, hold_out, labelled_once, number_of_rows
from skbayesnn.training.settings import holds_out


class Training:
    """Training of an estimator, and its fitted attributes.

    Subclasses define ``_scales(X, y, weights)``, which returns the scales that convert inputs and
    targets to the units of the model.
    """

    def _fit_rows(self, X, y, weights, labels=None):
        generators, table, chance = spawn_generators(self.random_state, 8), (X, y), 0.0
        if labels is None:
            y, self._y_far = clipped_targets(y, weights, self.normalize_y)
            rows, weights, chance, _ = find_copies(X, y, weights, tell=True)
        else:
            rows, weights = labelled_once(X, y, weights)
            labels = labels[rows]
        X, y = X[rows], y[rows]
        train_rows, held_out = slice(None), None
        if holds_out(self, automatic=False):
            groups = copies(X, y)
            train_rows, other = hold_out(
                len(X), self.validation_fraction, generators[3], groups=groups,
                classes=self._strata(y),
            )  # fmt: skip
        scales = self._scales(X[train_rows], y[train_rows], weights[train_rows])
        everything = scales.inputs(X), scales.targets(y), weights
        rows = [part[train_rows] for part in everything]
        if holds_out(self, automatic=False):
            held_out = [part[other] for part in everything]
        plan = make_plan(self, rows[0])
        self._y_ndim, self._model = y.ndim, self._start(scales, rows, plan, generators)
        shown = table if labels is None else (X, labels)
        tasks = CallbackTasks(self, *shown, plan.n_epochs, self._fitted_so_far)
        self.loss_curve_, self.validation_scores_, self.n_iter_ = [], [], 0
        with Workers(self.n_jobs) as workers:
            self._train(plan, self._model.seen, held_out, generators[4], tasks, workers)
        self.n_samples_seen_ = number_of_rows(rows[2].sum())
        self._adam = None  # a later ``partial_fit`` starts with new moments
        with Workers(self.n_jobs) as workers:
            self._model.drop_draws(workers)
            if held_out is not None:
                self._model.condition_on(*everything, plan.output, workers)
            elif plan.output == "sparse":
                self._model.condition_on(*self._model.seen, plan.output, workers)
            if labels is None:
                self._model.learn_noise(*everything, workers)
                self._model.learn_width(workers)
                if self.gaussian_process:
                    self._model.learn_process(*everything, generators[7], workers)
            else:
                self._model.learn_calibration(*everything)
        self._model.seen = None  # outputs that need the rows keep them
        if labels is None:  # regression
            self._model.add_other_laws(*everything, generators[5:7])
            self._model.know(*everything[:2], chance)
        self._publish()
        tasks.finish()

    def _train(self, plan, rows, held_out, generator, tasks, workers):
        """Run all phases of the plan."""
        for phase in plan.phases:
            settings = phase.settings
            if phase.inference is SparseInference:  # for predictions by callbacks
                self._model.condition_on(*rows, "sparse", workers)
            inference = phase.inference(
                self._model, *rows,
                rows[2].sum(), self.n_draws, settings.n_epochs * settings.n_batches,
                held_out=held_out, workers=workers, **phase.options,
            )  # fmt: skip
            record = train(
                inference,
                n_epochs=settings.n_epochs,
                learning_rate=self.learning_rate,
                generator=generator,
                batch_size=settings.batch_size,
                schedule=self.schedule,
                early_stopping=settings.early_stopping,
                patience=settings.patience,
                tol=self.tol,
                score_every=settings.score_every,
                callbacks=tasks,
            )
            self._record(record)
            warn_of_jitter(inference.n_failures)
            if record.stopped_by_callback:
                break

    def _record(self, record):
        self.loss_curve_ = self.loss_curve_ + record.losses
        self.validation_scores_ = self.validation_scores_ + record.scores
        self.n_iter_ += record.n_epochs

    def _strata(self, y):
        """Class numbers by which held-out rows are stratified; None for regression."""
        return None

    def _start(self, scales, rows, plan, generators, stream=False):
        return Model(
            scales, *rows, plan, generators,
            n_layers=self.n_layers,
            degrees_of_freedom=self.degrees_of_freedom,
            posterior=self.posterior,
            own_scale=getattr(self, "own_scale", False),
            n_posterior_draws=self.n_posterior_draws,
            likelihood="gaussian" if stream else getattr(self, "likelihood", "gaussian"),
        )  # fmt: skip

    def _publish(self):
        vars(self).update(self._fitted_so_far())

    def _fitted_so_far(self):
        """Fitted attributes for predictions with the current parameters."""
        model = self._model.freeze()
        out = {"_model": model, "_y_ndim": self._y_ndim, "n_features_in_": self.n_features_in_}
        out.update(model.attributes())
        for name in ("noise_variance_", "signal_variance_"):
            if self._y_ndim == 1 and name in out:
                out[name] = float(np.ravel(out[name])[0])
        return out

"""``partial_fit``: learning from a stream of batches, each of which is seen once."""

import copy
from typing import Self

from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike
from skbayesnn.dwp.inference import Inference
from skbayesnn.dwp.plan import make_plan
from skbayesnn.gaussian_process.factors import warn_of_jitter
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.numerics.workers import Workers
from skbayesnn.training.loop import pass_once
from skbayesnn.training.rows import number_of_rows, regression_rows


class Streaming:
    """``partial_fit`` for estimators that train (:class:`skbayesnn.dwp.fitting.Training`)."""

    @whole_or_not_at_all
    @one_blas_thread
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Train on one batch of a stream: one pass, in memory bounded by the batch.

        The first call starts the model from its rows, and standardises inputs and targets by them,
        so give it several hundred rows. The prior is weighed against all rows seen so far. Rows are
        not kept, so the output is "inducing", whatever `output` says. After a fit with another
        output, the stream continues from pseudo-observations that summarise the rows of that fit.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of k counts as k equal rows, and a row of weight 0 is ignored.

        Returns
        -------
        self : DeepWishartRegressor

        Raises
        ------
        ValueError
            If the number of targets differs from that of the first call.
        FloatingPointError
            If the steps diverged; the estimator is then as it was before the call.
        """
        self._check_parameters()
        first = not hasattr(self, "_model")
        n_targets = None if first else self._model.scales.n_targets
        X, y, weights = regression_rows(self, X, y, sample_weight, n_targets=n_targets)
        self._fit_batch(X, y, weights, first)
        return self

    def _fit_batch(self, X, y, weights, first):
        scales = self._scales(X, y, weights) if first else self._model.scales
        rows = scales.inputs(X), scales.targets(y), weights
        plan = make_plan(self, rows[0], stream=True)
        if first:
            generators = spawn_generators(self.random_state, 5)
            self._y_ndim = y.ndim
            self._model = self._start(scales, rows, plan, generators, stream=True)
            self._model.seen = None
            self.loss_curve_, self.validation_scores_, self.n_iter_ = [], [], 0
            self.n_samples_seen_, self._adam = 0, None
        else:
            self._model = copy.deepcopy(self._model)  # the fitted model survives a failure below
            self._model.leave_rows()
        self.n_samples_seen_ = number_of_rows(self.n_samples_seen_ + weights.sum())
        settings = plan.phases[0].settings
        inference = Inference(
            self._model, *rows,
            self.n_samples_seen_, self.n_draws, settings.n_batches, late=1.0, annealed=0.0,
        )  # fmt: skip
        if self._adam is not None:
            inference.adam = copy.deepcopy(self._adam)
        with Workers(self.n_jobs) as inference.workers:
            loss = pass_once(
                inference,
                learning_rate=self.learning_rate,
                generator=self._model.generator,
                batch_size=settings.batch_size,
            )
        self._adam = inference.adam
        self.loss_curve_ = [*self.loss_curve_, loss]
        self.n_iter_ += 1
        self._publish()
        warn_of_jitter(inference.n_failures)

"""From parameters and arrays to a sparse implicit process, and from it to fitted attributes."""

from copy import deepcopy

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from skbayesnn._validation import (
    InvalidParameterError,
    check_parameters,
    location_and_scale,
)
from skbayesnn._warnings import warn_user
from skbayesnn.numerics.random import spawn_generators, systematic
from skbayesnn.sip.inference import Settings, SIPInference
from skbayesnn.sip.model import SparseImplicitProcess
from skbayesnn.sip.prediction import Predictor
from skbayesnn.sip.settings import CONSTRAINTS, PRIORS_IN_TURN, automatic
from skbayesnn.training.beside import ProcessBeside
from skbayesnn.training.effects import distance_units, input_effects
from skbayesnn.training.loop import pass_once, train
from skbayesnn.training.rows import copies, hold_out, number_of_rows
from skbayesnn.training.settings import holds_out, training_settings
from skbayesnn.training.unseen import Unseen

_JITTER = 1e-5
_START_NOISE_VARIANCE = 0.3
# Where twice the part asked for makes so many: widths of intervals take that many to tell.
_MIN_HELD_OUT, _MAX_HELD_OUT = 60, 400
# Of the smallest tables up to half of the rows: fewer choose next to no noise.
_LEAST_HELD_OUT = 12
# Rows over which the prior starts with variance one.
_MAX_START_ROWS = 500
_NOISE_FACTORS, _SPREAD_FACTORS = np.geomspace(1.0, 1e4, 31), np.geomspace(1.0, 3.0, 8)
# Numbers of the rows at which each input is shifted to see what it does: as many as these entries
# of X, and never fewer rows than this.
_MOST_SHIFTED, _LEAST_SHIFTED_ROWS = 100_000, 30
# With all rows after early stopping: part of the epochs, and of the learning rate.
_ALL_ROWS_PART, _ALL_ROWS_RATE = 0.1, 0.1


class SIPBase:
    """Start of a fit, the fit, and what is published of one."""

    def _check_parameters(self):
        check_parameters(self, CONSTRAINTS)

    def _start(self, X, y, weights, generator, settings):
        """Scales, inducing inputs, model and inference before the first step."""
        self._X_offset, self._X_scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        self._X_units, self._y_offset, self._y_scale = 1.0, 0.0, 1.0
        if self.normalize_X:
            self._X_offset, self._X_scale = location_and_scale(X, "X", weights)
        if self.normalize_y:
            self._y_offset, self._y_scale = map(float, location_and_scale(y, "y", weights))
        scaled = self._scaled(X)
        self._seed = int(generator.integers(2**31))
        some = generator.permutation(len(X))[:_MAX_START_ROWS]
        prior = PRIORS_IN_TURN[0] if self.prior == "auto" else self.prior
        model = SparseImplicitProcess(
            prior, self._start_inducing(X, scaled, generator), scaled[some], self.width,
            _START_NOISE_VARIANCE, float(self.alpha_divergence), _JITTER, self.n_draws, generator,
            hyperprior_weight=float(self.hyperprior_weight), likelihood=self.likelihood,
        )  # fmt: skip
        n_steps = settings.n_epochs * settings.n_batches
        self._inference = SIPInference(
            model,
            Settings(
                kl_weight=float(self.kl_weight),
                warmup_steps=self.kl_warmup * n_steps,
                alpha_warmup_steps=self.alpha_warmup * n_steps,
                width=self.width, discriminator_steps=self.discriminator_steps,
            ),
            self._generator,
        )  # fmt: skip
        self._noise_factor = self._spread_factor = 1.0
        self._process = None
        self.n_samples_seen_, self.loss_curve_, self.validation_scores_ = 0, [], []

    def _start_inducing(self, X, scaled, generator):
        if self.inducing_inputs is not None:
            try:
                Z = check_array(self.inducing_inputs, dtype=np.float64)
            except (TypeError, ValueError) as error:
                # It would read as an error about X.
                raise InvalidParameterError(
                    f"The 'inducing_inputs' parameter of {type(self).__name__} must be None or an "
                    f"array of shape (n_inducing, {X.shape[1]}). {error}"
                ) from error
            if Z.shape[1] != X.shape[1]:
                raise ValueError(
                    f"inducing_inputs must have the {X.shape[1]} features of X. "
                    f"Got {Z.shape[1]} instead."
                )
            return self._scaled(Z)
        distinct = np.unique(scaled, axis=0)
        chosen = generator.permutation(len(distinct))[: self.n_inducing]
        return distinct[chosen]

    def _scaled(self, X):
        return (X - self._X_offset) / self._X_scale

    def _scaled_target(self, y):
        return (y - self._y_offset) / self._y_scale

    def _placed(self, X):
        """Inputs in units in which rows have distances."""
        return self._scaled(X) * self._X_units

    def _remember(self, X, y, weights):
        """Take note of rows, where distances mean something."""
        if self.normalize_X:
            self._unseen.add(self._placed(X), self._scaled_target(y)[:, None], weights)

    def _learn_units(self, X, targets, weights, generator):
        """Rows are as far apart as their means may be."""
        # One input after another is shifted, which costs rows times inputs each time.
        n_rows = max(_LEAST_SHIFTED_ROWS, _MOST_SHIFTED // X.shape[1])
        some = generator.permutation(len(targets))[:n_rows]
        effects = input_effects(self._means, X[some], targets[some, None], weights[some])
        self._X_units = distance_units([effects])

    def _means(self, scaled):
        """Means of the standardised target; (n, 1)."""
        return self._predictor.mixture(scaled).mean()[:, None]

    def _learn(self, X, y, weights):
        """Fit to a part of the rows, the others telling when to stop; then go on with all."""
        start, self._generator, chance = spawn_generators(self.random_state, 3)
        rows, other = slice(None), None
        if holds_out(self, True):
            rows, other = self._held_out(X, y)
        settings = training_settings(self, len(y[rows]), automatic(len(y[rows])))
        self._start(X[rows], y[rows], weights[rows], start, settings)
        self._unseen = Unseen(chance)
        self.n_samples_seen_ = number_of_rows(weights.sum())
        data = self._scaled(X), self._scaled_target(y), weights
        n_tasks = settings.n_epochs + (0 if other is None else self._more(settings.n_epochs))
        tasks = self._callback_tasks(X, y, n_tasks)
        inference = self._inference
        held_out = None if other is None else [part[other] for part in data]
        inference.attach(
            *(part[rows] for part in data),
            n_total=weights[rows].sum(),
            held_out=held_out and self._scorer(*held_out),
            held_out_weights=held_out and held_out[2],
        )
        common = {
            "generator": self._generator, "batch_size": settings.batch_size, "callbacks": tasks,
        }  # fmt: skip
        record = train(
            inference, n_epochs=settings.n_epochs, learning_rate=self.learning_rate,
            schedule=self.schedule, early_stopping=settings.early_stopping,
            patience=settings.patience, tol=self.tol, score_every=settings.score_every,
            **common,
        )  # fmt: skip
        self.loss_curve_, self.validation_scores_ = record.losses, record.scores
        if held_out is not None:
            self._calibrate(*held_out)
            self._set_beside(*data, rows, other)
            if not record.stopped_by_callback:
                # The noise is that of rows that were not trained on.
                noise = inference.model.parts(inference.average)[-1].copy()
                inference.attach(*data)
                record = train(
                    inference, n_epochs=self._more(record.best_epoch),
                    learning_rate=_ALL_ROWS_RATE * self.learning_rate, **common,
                )  # fmt: skip
                inference.model.parts(inference.average)[-1][:] = noise
                self.loss_curve_ = [*self.loss_curve_, *record.losses]
        inference.detach()
        self._publish()
        if self.normalize_X:
            self._learn_units(*data, chance)
        self._remember(X, y, weights)
        tasks.finish()
        self._warn_if_the_prior_was_left()

    def _stream(self, X, y, weights, first):
        """Take one pass over a batch."""
        settings = training_settings(self, len(y), automatic(len(y)))
        if first:
            start, self._generator, chance = spawn_generators(self.random_state, 3)
            self._start(X, y, weights, start, settings)
            self._unseen = Unseen(chance)
        else:
            # Copies go on: the fitted ones survive a failure.
            own = self._inference, self._generator
            self._inference, self._generator = deepcopy(own)
        inference = self._inference
        inference.attach(
            self._scaled(X), self._scaled_target(y), weights,
            n_total=self.total_samples or self.n_samples_seen_ + weights.sum(),
        )  # fmt: skip
        try:
            loss = pass_once(
                inference, learning_rate=self.learning_rate, generator=self._generator,
                batch_size=settings.batch_size,
            )  # fmt: skip
        finally:
            inference.detach()
        self._process = None  # it cannot take in a stream
        self.n_samples_seen_ = number_of_rows(self.n_samples_seen_ + weights.sum())
        self._remember(X, y, weights)
        self.loss_curve_ = [*self.loss_curve_, loss]
        self._publish()

    def _held_out(self, X, y):
        """Rows to train on, and rows to hold out; copies of a row stay together."""
        groups = copies(X, y)
        n_groups = groups.max() + 1
        fraction = min(2.0 * self.validation_fraction, _MIN_HELD_OUT / n_groups, 0.5)
        fraction = max(self.validation_fraction, fraction, min(0.5, _LEAST_HELD_OUT / n_groups))
        return hold_out(len(y), fraction, self._generator, at_most=_MAX_HELD_OUT, groups=groups)

    @staticmethod
    def _more(n_epochs):
        """Epochs with all rows, after so many with a part of them."""
        return max(1, round(_ALL_ROWS_PART * n_epochs))

    def _new_predictor(self, n_components, spread=None):
        noise = 1.0 if spread is not None else np.resize(self._noise_factor, n_components)
        return Predictor(
            self._inference.model, self._inference.average, n_components, self._seed,
            self._spread_factor if spread is None else spread, noise,
        )  # fmt: skip

    def _scorer(self, X, targets, weights):
        """Log densities of rows, with more noise where they ask for it.

        A mean function goes on improving after the noise and the draws of u have become too
        narrow for it, and that is mended in the end.
        """

        def score(_):
            rows = self._log_densities(X, targets, weights, 100, (1.0,), _NOISE_FACTORS[::3])[0]
            return rows[np.argmax(rows @ weights)]

        return score

    def _log_densities(self, X, targets, weights, n_components, spreads, noises):
        """Log densities of rows with factors k on the distances between draws of u, c on the noise.

        The logs of the factors have the prior density 1/(c k²) from zero up, so that a handful of
        rows does not decide: each row has its share of it.

        Returns
        -------
        log_densities : ndarray of shape (n_spreads, n_noises, n_rows)
        """
        found, noises = np.empty((len(spreads), len(noises), len(targets))), np.asarray(noises)
        for k, of_spread in zip(spreads, found, strict=True):
            predictor = self._new_predictor(n_components, k)
            of_spread[:] = predictor.log_densities(X, targets, noises)
            of_spread -= (np.log(noises * k**2) / weights.sum())[:, None]
        return found

    def _calibrate(self, X, targets, weights):
        """Widen the predictions where rows held out from training are worse off without.

        The noise that training finds, and the distances between the draws of u, are those of
        the training rows, which the prior's many parameters have followed. Every draw of u
        has a factor of its own on the noise, drawn from what the rows leave possible: a few
        rows leave much, and the tails of predictions are then heavier.
        """
        n = self.n_posterior_draws
        rows = self._log_densities(X, targets, weights, n, _SPREAD_FACTORS, _NOISE_FACTORS)
        scores = rows @ weights
        best, most = np.unravel_index(scores.argmax(), scores.shape)
        posterior = np.exp(scores[best] - scores[best, most])
        generator = np.random.default_rng([self._seed, 1])
        (drawn,) = systematic(posterior / posterior.sum(), n, generator)
        self._spread_factor = float(_SPREAD_FACTORS[best])
        self._noise_factor = _NOISE_FACTORS[generator.permutation(drawn)]
        if most == len(_NOISE_FACTORS) - 1:
            warn_user(
                "Held-out rows need more than 10,000 times the noise variance that training "
                "found: the fit follows single rows. Use more rows, a larger "
                "'validation_fraction' or a smaller 'width'.",
                ConvergenceWarning,
            )

    def _set_beside(self, X, targets, weights, rows, other):
        """A Gaussian process shares in the prediction, by the rows that were held out."""
        if not self.gaussian_process or not self.normalize_X:
            return
        known = self._new_predictor(self.n_posterior_draws).mixture(X[other])
        # Of its own: with the process or without, training goes on alike.
        generator = np.random.default_rng([self._seed, 2])
        self._process = ProcessBeside(X, targets[:, None], weights, rows, other, [known], generator)

    def _publish(self):
        self._y_ndim = 1
        vars(self).update(self._fitted_so_far())

    def _fitted_so_far(self):
        """Attributes with which the estimator predicts as it stands."""
        inference = self._inference
        predictor = self._new_predictor(self.n_posterior_draws)
        known = {
            k: v
            for k, v in vars(self).items()
            if k.startswith(("_X", "_y", "_seed", "_noise", "_spread", "_unseen", "_process"))
        }
        return {
            **known,
            "n_features_in_": self.n_features_in_,
            "n_iter_": len(inference.divergences),
            "discriminator_loss_curve_": list(inference.discriminator_losses),
            "divergence_curve_": list(inference.divergences),
            "inducing_inputs_": predictor.Z * self._X_scale + self._X_offset,
            "noise_variance_": float(predictor.noise_variance.mean()) * self._y_scale**2,
            "_predictor": predictor,
        }

    def _warn_if_the_prior_was_left(self):
        if not self.divergence_curve_:
            return  # every epoch was undone
        divergence = self.divergence_curve_[-1]
        if self.kl_weight > 0 and not divergence < self.n_samples_seen_:
            warn_user(
                "The classifier is saturated: it distinguishes every draw of the posterior of the "
                "inducing values from every draw of the prior, and estimates a divergence of "
                f"{divergence:.0f} nats, more than one for each of the {self.n_samples_seen_} "
                "rows. The posterior has left the prior, and the fit may follow single rows. Use "
                "fewer inducing inputs ('n_inducing') or more steps ('max_iter').",
                ConvergenceWarning,
            )

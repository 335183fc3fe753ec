"""From parameters and arrays to a model, and from a trained model to fitted attributes."""

import warnings
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from skbayesnn._validation import Interval, Options, check_parameters, location_and_scale, positive
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.training import SCHEDULES
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.sip.inference import Settings, SIPInference
from skbayesnn.sip.model import SparseImplicitProcess
from skbayesnn.sip.prediction import Predictor

_JITTER = 1e-5
_START_NOISE_VARIANCE = 0.3
_MAX_HELD_OUT = 400
# Rows over which the prior starts with variance one.
_MAX_START_ROWS = 500


class SIPBase:
    """Start of a fit, and what is published of one."""

    def _check_parameters(self):
        both = [Options((True, False))]
        check_parameters(
            self,
            {
                "prior": [Options(("bnn", "sampler"))],
                "n_inducing": [positive(Integral)],
                "n_draws": [Interval(Integral, 2, None, "left")],
                "width": [positive(Integral)],
                "alpha_divergence": [Interval(Real, 0, 1, "right")],
                "kl_weight": [Interval(Real, 0, None, "left")],
                "kl_warmup": [Interval(Real, 0, 1)],
                "alpha_warmup": [Interval(Real, 0, 1)],
                "discriminator_steps": [Interval(Integral, 1, None, "left")],
                "learning_rate": [positive()],
                "schedule": [Options(tuple(SCHEDULES))],
                "batch_size": [positive(Integral)],
                "max_iter": [positive(Integral)],
                "early_stopping": both,
                "validation_fraction": [Interval(Real, 0, 1, "neither")],
                "n_iter_no_change": [positive(Integral)],
                "total_samples": [positive(Integral), Options((None,))],
                "n_posterior_draws": [positive(Integral)],
                "normalize_X": both,
                "normalize_y": both,
            },
        )

    def _start(self, X, y):
        """Scales, inducing inputs, model and inference before the first step."""
        start, self._generator = spawn_generators(self.random_state, 2)
        self._X_offset, self._X_scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        self._y_offset, self._y_scale = 0.0, 1.0
        if self.normalize_X:
            self._X_offset, self._X_scale = location_and_scale(X, "X")
        if self.normalize_y:
            self._y_offset, self._y_scale = map(float, location_and_scale(y, "y"))
        scaled = self._scaled(X)
        self._seed = int(start.integers(2**31))
        some = start.permutation(len(X))[:_MAX_START_ROWS]
        model = SparseImplicitProcess(
            self.prior, self._start_inducing(X, scaled, start), scaled[some], self.width,
            _START_NOISE_VARIANCE, float(self.alpha_divergence), _JITTER, start,
        )  # fmt: skip
        settings = Settings(
            batch_size=self.batch_size, n_draws=self.n_draws, kl_weight=float(self.kl_weight),
            warmup_steps=self.kl_warmup * self.max_iter,
            alpha_warmup_steps=self.alpha_warmup * self.max_iter,
            width=self.width, discriminator_steps=self.discriminator_steps,
        )  # fmt: skip
        self._inference = SIPInference(model, settings, self._generator)
        self._noise_factor = 1.0

    def _start_inducing(self, X, scaled, generator):
        if self.inducing_inputs is not None:
            Z = check_array(self.inducing_inputs, dtype=np.float64, input_name="inducing_inputs")
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

    def _split(self, n):
        """Rows to train on and rows held out."""
        n_held_out = min(max(1, round(self.validation_fraction * n)), _MAX_HELD_OUT)
        if n - n_held_out < 1:
            raise ValueError(
                f"early_stopping=True needs at least 2 samples to hold one out, got n_samples={n}."
            )
        order = self._generator.permutation(n)
        return order[n_held_out:], order[:n_held_out]

    def _new_predictor(self, n_components):
        inference = self._inference
        predictor = Predictor(
            inference.model, inference.average, self.n_draws, n_components, self._seed
        )
        predictor.noise_variance *= self._noise_factor
        return predictor

    def _scorer(self, X, targets):
        return lambda average: self._mixture(self._new_predictor(100), X).logpdf(targets)

    def _calibrate_noise(self, X, targets):
        """Raise the noise variance where rows held out from training are worse off without.

        The noise that training finds is that of the training rows, which the prior's many
        parameters have followed. The factor has the prior density 1/c² on c ≥ 1, so that a
        handful of rows does not decide.
        """
        predictor = self._new_predictor(self.n_posterior_draws)
        d = self._mixture(predictor, X)
        factors = np.geomspace(1.0, 1e4, 61)
        posterior = [
            PredictiveMixture(d.weights, d.means, d.variances + (c - 1) * predictor.noise_variance)
            .logpdf(targets)
            .sum()
            - 2 * np.log(c)
            for c in factors
        ]
        self._noise_factor = float(factors[np.argmax(posterior)])

    @staticmethod
    def _mixture(predictor, X):
        """Mixture at standardised inputs, of the standardised target."""
        means, variances = predictor.moments(X)
        weights = np.full(means.shape[1], 1.0 / means.shape[1])
        return PredictiveMixture(weights, means, variances + predictor.noise_variance)

    def _publish(self):
        for name, value in self._fitted_so_far().items():
            setattr(self, name, value)

    def _fitted_so_far(self):
        """Attributes with which the estimator predicts as it stands."""
        inference = self._inference
        predictor = self._new_predictor(self.n_posterior_draws)
        known = {
            k: v for k, v in vars(self).items() if k.startswith(("_X", "_y", "_seed", "_noise"))
        }
        return {
            **known,
            "n_features_in_": self.n_features_in_,
            "n_iter_": inference.n_steps,
            "discriminator_loss_curve_": list(inference.discriminator_losses),
            "divergence_curve_": list(inference.divergences),
            "inducing_inputs_": predictor.Z * self._X_scale + self._X_offset,
            "noise_variance_": predictor.noise_variance * self._y_scale**2,
            "_predictor": predictor,
        }

    def _warn_if_the_prior_was_left(self):
        divergence = self.divergence_curve_[-1]
        if self.kl_weight > 0 and not divergence < self.n_samples_seen_:
            warnings.warn(
                f"The classifier is saturated: it tells every draw of the posterior of the "
                f"inducing values from every draw of the prior, and puts their divergence at "
                f"{divergence:.0f} nats, more than one for each of the "
                f"{self.n_samples_seen_} rows. The posterior has left the prior, and the fit "
                "may follow single rows. Use fewer inducing inputs ('n_inducing') or more "
                "steps ('max_iter').",
                ConvergenceWarning,
                stacklevel=4,
            )

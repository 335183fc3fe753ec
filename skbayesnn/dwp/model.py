"""What training makes: parameters, and the rows and laws that predictions condition on."""

import copy

import numpy as np

from skbayesnn.dwp.calibration import best_calibration, left_out_log_probabilities
from skbayesnn.dwp.copies import KnownRows
from skbayesnn.dwp.elsewhere import Elsewhere
from skbayesnn.dwp.few_rows import SettingsOutput, chance_of_settings
from skbayesnn.dwp.likelihoods import PREDICTION_NODES, TRAINING_NODES
from skbayesnn.dwp.mixtures import Predictions
from skbayesnn.dwp.noise import (
    FEWER_DRAWS,
    LAST_DRAWS,
    LAST_ROUNDS,
    LAW_ROWS,
    START_ROWS,
    fewer,
)
from skbayesnn.dwp.plan import SPARSE_ROWS
from skbayesnn.dwp.prediction import ExactOutput, InducingOutput
from skbayesnn.dwp.pseudo_observations import start_output
from skbayesnn.dwp.sizes import LayerSizes, draw_noise
from skbayesnn.dwp.sparse_output import SparseOutput
from skbayesnn.dwp.start import start
from skbayesnn.dwp.width import NO_NOISE, best_width
from skbayesnn.gaussian_process.learned_noise import choose_law
from skbayesnn.gaussian_process.stand_ins import seen_through
from skbayesnn.numerics.random import some_rows
from skbayesnn.numerics.workers import ALONE
from skbayesnn.training.beside import ProcessBeside
from skbayesnn.training.process import NEXT_TO_NO_NOISE

LITTLE_NOISE, MOST_LOSS = 0.01, 1.0
"""Noise variance of standardised targets from which on all draws of the hidden layers are good, and
nats a row by which the log evidence of a good one may be below that of the best."""
JUDGING, JUDGES = 0.2, 2000
"""Part of the rows that judge a process without hidden layers."""
SEARCHES = 2
"""How many searches for settings its predictions are averaged over."""
MOST_FREEDOM = 20
"""Degrees of freedom at most where they are not given: of a hundred inputs few matter."""


class Model(Predictions):
    """A deep Wishart process for standardised data, from its start on.

    Parameters
    ----------
    scales : Scales or ClassScales
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Rows to start from, standardised, targets as ``scales`` gives them.
    weights : ndarray of shape (n,)
        How many rows each stands for.
    plan : Plan
    n_layers, degrees_of_freedom, n_posterior_draws : int
    posterior : str
    own_scale : bool
        Whether the posterior has a scale matrix of its own.
    likelihood : {"gaussian", "student_t", "auto"}, default="gaussian"
        What the noise of a single target may be.
    generators : list of at least three numpy.random.Generator
        For the start, the training, and the draws that predictions mix.

    Attributes
    ----------
    sizes : LayerSizes
    theta : ndarray of shape (n_parameters,)
        Changed by training.
    prior_scale : float
        Of the prior of the inverse length scales.
    generator : numpy.random.Generator
        For training.
    law : NoiseLaw or None
        Of noise that is not one Gaussian, where the noise variance is ``unit``.
    temperature, label_noise : float
        Of class probabilities, as in :mod:`skbayesnn.dwp.calibration`.
    width : Width or None
        Of predictions where there is no noise; else it is ``GIVEN``.
    output : InducingOutput, ExactOutput or SparseOutput
        Predicts; of the time of :meth:`freeze`.
    settings : SettingsOutput or None
        Takes part in predictions, with the probability ``chance``.
    elsewhere : Elsewhere or None
        Takes the place of the output away from the rows.
    beside : ProcessBeside or None
        Processes without hidden layers, which take part in predictions.
    known : KnownRows or None
        Speaks where inputs are those of a row, if rows have copies.
    """

    def __init__(
        self, scales, X, Y, weights, plan, generators, *,
        n_layers, degrees_of_freedom, posterior, own_scale, n_posterior_draws,
        likelihood="gaussian",
    ):  # fmt: skip
        self.scales = scales
        self.sizes = a = LayerSizes(
            X.shape[1],
            scales.n_targets,
            plan.n_inducing,
            degrees_of_freedom or min(X.shape[1], MOST_FREEDOM),
            n_layers,
            posterior,
            scales.likelihood,
            own_scale,
            scales.offsets,
        )
        self.theta = np.zeros(a.size())
        exact = plan.output == "exact"
        self.laws = likelihood if a.n_targets == 1 else "gaussian"
        first = self.laws if len(X) <= START_ROWS else "gaussian"
        self.prior_scale, self.found, seen, self.law = start(
            a, self.parameters, X, Y, weights, generators[0], exact=exact, laws=first
        )
        self.seen = (X, Y, weights) if seen is None else (X, seen.targets, seen.weights)
        self.unit, self.mean_noise, self.width = 1.0, 1.0, None
        if seen is not None:
            self.unit = seen.unit
            variances = self.law.mean_variances(X, seen.targets[:, 0])
            self.mean_noise = weights @ variances / weights.sum()
        self.generator = generators[1]
        n_draws = n_posterior_draws if n_layers else 1
        n_nodes = max(TRAINING_NODES, PREDICTION_NODES // n_draws)
        self.noise = draw_noise(a, generators[2], n_posterior_draws, 1, n_nodes)
        self.kind, self.rows = InducingOutput, ()
        self.temperature, self.label_noise = 1.0, 0.0
        self.chance, self.settings, self.elsewhere, self.known = 0.0, None, None, None
        self.beside = None
        if exact:
            self.condition_on(*self.seen, "exact")

    @property
    def parameters(self):
        """Parameters by name."""
        return self.sizes.views(self.theta)

    def _make_output(self):
        return self.kind(self.sizes, self.theta, self.noise, *self.rows)

    def condition_on(self, X, Y, weights, output, workers=ALONE):
        """Predict from what these rows say, as the output knows of it.

        "exact": all of it. "sparse": through some of them, with the noise that is best then.
        "inducing": the best pseudo-observations at the inducing points.
        """
        if output == "exact":
            self.kind, self.rows = ExactOutput, (X, Y, weights)
        elif output == "sparse":
            points = self.generator.choice(len(X), min(SPARSE_ROWS, len(X)), replace=False)
            self.kind, self.rows = SparseOutput, (X, Y, weights, np.sort(points))
            self.parameters["log_noise"][:] = self._make_output().best_noise(workers=workers)
        else:
            rows = X, Y, weights, weights.sum()
            start_output(self.sizes, self.parameters, *rows, self.generator)
            self.kind, self.rows = InducingOutput, ()

    @property
    def _layers_can_fail(self):
        """Whether there are hidden layers of which a draw can make the rows next to impossible."""
        noise = np.exp(self.parameters["log_noise"]) / self.unit * self.mean_noise
        return self.kind is ExactOutput and self.sizes.n_layers > 0 and noise.min() < LITTLE_NOISE

    def _log_evidences(self, n_draws, workers):
        output = self._make_output()
        return np.array(workers.map(output.log_evidence, min(n_draws, output.n_draws)))

    def drop_draws(self, workers=ALONE):
        """Take others for draws of the hidden layers under which the rows are next to impossible.

        With next to no noise, a draw that maps unlike rows to nearly the same features gives the
        function any values between them, and a few such draws would be most of the predicted mean.
        """
        if not self._layers_can_fail:
            return
        logs = self._log_evidences(self.noise.uniform.shape[1], workers)
        good = np.flatnonzero(logs > logs.max() - MOST_LOSS * self.rows[2].sum())
        if 0 < len(good) < len(logs):
            self.noise = self.noise.take(np.resize(good, len(logs)))

    def learn_noise(self, X, Y, weights, workers=ALONE):
        """Choose and learn the law of the noise, and see these rows accordingly.

        Parameters are as in :meth:`condition_on`, which has seen the same rows. What training had
        stays where the rows are next to impossible with the new law: the rows that are left out
        ask for no noise if the function is unsure there, and the layers may need it.
        """
        if self.laws == "gaussian":
            return
        before, checked = copy.copy(self), self._layers_can_fail
        log_noise = self.parameters["log_noise"].copy()
        if checked:
            known = np.median(self._log_evidences(LAST_DRAWS, workers))
        self._learn_law(X, Y, weights, workers)
        if checked:
            found = np.median(self._log_evidences(LAST_DRAWS, workers))
            if found < known - MOST_LOSS * weights.sum():
                vars(self).update(vars(before))
                self.parameters["log_noise"][:] = log_noise

    def _learn_law(self, X, Y, weights, workers):
        shape, wider = None, None
        some = np.sort(some_rows(len(X), LAW_ROWS, self.generator))
        n_draws = LAST_DRAWS if len(some) == len(X) else FEWER_DRAWS
        for _ in range(LAST_ROUNDS):
            if self.kind is InducingOutput:
                parts = [part[:, 0] for part in self._make_output().predict(X, workers)]
                moments = (part[0] for part in fewer(*parts, 1))
            else:
                output = self.kind(self.sizes, self.theta, self.noise, *self.rows, copies=weights)
                moments = output.left_out(n_draws, workers)
            moments = list(moments)
            given = [part[some] for part in (X, Y[:, 0], *moments, weights)]
            law, shape, variance = choose_law(
                *given, gaussian=self.laws == "auto", like=shape, before=self.law
            )
            if law is None:
                if self.law is not None:
                    # As in `_noise_beside`: the layers have seen the rows that are left out.
                    trained = np.exp(self.parameters["log_noise"][0]) / self.unit * self.mean_noise
                    self.parameters["log_noise"][:] = np.log(max(variance, trained))
                self.law = None
                self._see(X, Y, weights)
                return
            if wider is None:
                wider = max(1.0, self._noise_beside(given, variance))
            law = law.scaled(wider)
            seen = seen_through(law, X, Y[:, 0], *moments, weights)
            self.law, self.unit = law, seen.unit
            self.parameters["log_noise"][:] = np.log(seen.unit)
            self._see(X, seen.targets, seen.weights)
            self.mean_noise = weights @ law.mean_variances(X, moments[0]) / weights.sum()

    def learn_width(self, workers=ALONE):
        """Predict as narrowly as rows that are left out allow, if there is no noise.

        For one target and an exact output: through some of the rows, what these leave looks like
        noise. All draws of the hidden layers take part: the mean of few is worse than that of all.
        """
        log_noise = self.parameters["log_noise"]
        if self.kind is not ExactOutput or self.law is not None or len(log_noise) > 1:
            return
        if log_noise[0] < NO_NOISE:
            _, Y, weights = self.rows
            output = self._make_output()
            means, variances = output.left_out(output.n_draws, workers)
            noise = float(np.exp(log_noise[0]))
            self.width = best_width(Y[:, 0] - means, variances, noise, weights)

    def learn_process(self, X, Y, weights, generator, workers=ALONE):
        """Let processes without hidden layers take part in predictions.

        The process that is given the nearest rows follows rougher functions, and knows all rows of
        a large table. With next to no noise, what hidden layers gain is less than what their draws
        cost in precision, so that a smooth process takes part as well. Some rows, each left out of
        the output, judge all.
        """
        few = chance_of_settings(weights, X.shape[1]) > 0
        if few or not self.sizes.n_layers or self.sizes.n_targets > 1:
            return
        if self.kind is InducingOutput:  # it keeps no rows
            return
        order = generator.permutation(len(X))
        other, rows = np.split(order, [min(int(JUDGING * len(X)), JUDGES)])
        output = self.kind(self.sizes, self.theta, self.noise, *self.rows, copies=weights)
        moments = output.left_out(LAST_DRAWS, workers)
        known = self.own_mixtures(X[other], *(part[None, None, other] for part in moments))
        y = self.scales.y_offset + self.scales.y_scale * Y
        smooth = bool(self.found[-1] < NEXT_TO_NO_NOISE)
        judged = X, y, weights, rows, other, known
        beside = ProcessBeside(*judged, generator, smooth, workers, SEARCHES)
        ProcessBeside.agree([beside])
        self.beside = beside if beside.part() else None

    def learn_calibration(self, X, Y, weights):
        """Find how certain class probabilities are to be; rows as in :meth:`condition_on`.

        The fewer rows there are, the more of them the hidden layers know by heart, and the nearer
        the temperature is to one and the share of random labels to zero.
        """
        rows, log_p = left_out_log_probabilities(self, X, Y, weights)
        if len(rows):
            temperature, label_noise = best_calibration(log_p, Y[rows], weights[rows])
            power = 1.0 - chance_of_settings(weights, X.shape[1])
            self.temperature, self.label_noise = temperature**power, power * label_noise

    def _noise_beside(self, given, variance):
        """Noise variance that training found, over that of rows left out of the output.

        The hidden layers have seen those rows: with their flexibility errors look smaller than
        those of new rows are.
        """
        trained = np.exp(self.parameters["log_noise"][0])
        if self.law is None:
            return trained / variance
        return 1.0 / self.law.scaled(trained / self.unit).best_factor(*given)

    def _see(self, X, Y, weights):
        """Condition on these rows, through the same points where there are any."""
        if self.kind is not InducingOutput:
            self.rows = X, Y, weights, *self.rows[3:]
        else:
            rows = X, Y, weights, weights.sum()
            start_output(self.sizes, self.parameters, *rows, self.generator)

    def add_other_laws(self, X, Y, weights, generators):
        """Let draws of all settings take part in predictions, and another law away from the rows.

        The former where rows are few and the output is exact. Each has its own generator.
        """
        spreads = self.scales.X_spread / self.scales.X_scale
        self.elsewhere = Elsewhere(X, Y, weights, spreads, generators[1])
        if self.kind is ExactOutput:
            X, Y, weights = self.rows
            self.chance = chance_of_settings(weights, X.shape[1])
            if self.chance > 0:
                self.settings = SettingsOutput(X, Y, weights, self.found, generators[0])
                if self.width is not None:
                    self.settings.learn_width()

    def know(self, X, Y, chance):
        """Let rows with the inputs of one of these have its target, with this chance."""
        if chance > 0:
            self.known = KnownRows(X, Y, chance, self._noise_variances())

    def leave_rows(self):
        """Predict from the inducing points; put there what another output knows of its rows."""
        self.chance, self.settings, self.elsewhere, self.known = 0.0, None, None, None
        self.width, self.beside = None, None
        if self.law is not None:  # a stream has Gaussian noise
            self.parameters["log_noise"] += np.log(self.mean_noise / self.unit)
            self.law, self.laws = None, "gaussian"
        if self.kind is not InducingOutput:
            self.condition_on(*self.rows[:3], "inducing")

    def freeze(self):
        """Copy that predicts as things stand."""
        out = copy.copy(self)
        out.theta = self.theta.copy()
        out.output = out._make_output()
        return out

    def attributes(self):
        """Fitted attributes of the estimator, in the units of X and y."""
        p, scales = self.parameters, self.scales
        length_scales = np.exp(p["log_length_scales"]) * scales.X_scale
        squares = (scales.X_spread / length_scales) ** 2
        out = {
            "length_scales_": length_scales,
            "feature_relevance_": squares / squares.sum(),
            "hidden_length_scales_": np.exp(p["log_lengths"] - 0.5 * p["log_heights"][:-1]),
            "signal_variance_": np.exp(p["log_heights"][-1]) * scales.y_scale**2,
            "inducing_inputs_": scales.original(p["inducing"]),
        }
        if self.sizes.likelihood == "softmax":
            out["temperature_"], out["label_noise_"] = self.temperature, self.label_noise
        if p["log_noise"].size:
            out["likelihood_"] = "gaussian" if self.law is None else self.law.family.name
            out["gaussian_process_weight_"] = 0.0 if self.beside is None else self.beside.part()
            out["noise_variance_"] = self._noise_variances() * scales.y_scale**2
        return out

    def _noise_variances(self):
        """Of standardised targets; the mean over rows where it depends on them."""
        variances = np.exp(self.parameters["log_noise"])
        if self.width is not None:
            return variances * self.width.noise_factor
        return variances if self.law is None else variances / self.unit * self.mean_noise

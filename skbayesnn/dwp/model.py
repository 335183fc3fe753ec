"""What training makes: parameters, the rows that predictions condition on, and predictions."""

import copy

import numpy as np

from skbayesnn.dwp.objective import Architecture, draw_noise
from skbayesnn.dwp.plan import SPARSE_ROWS
from skbayesnn.dwp.prediction import ExactOutput, InducingOutput, SparseOutput
from skbayesnn.dwp.start import start, start_output

# Rows that pseudo-observations are made from, at most.
_OUTPUT_ROWS = 5000


class Model:
    """A deep Wishart process for standardised data, from its start on.

    Parameters
    ----------
    scales : Scales
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Rows to start from, standardised.
    plan : Plan
    n_layers, width, n_prediction_draws : int
    posterior : str
    generators : list of three numpy.random.Generator
        For the start, the training, and the draws that predictions mix.

    Attributes
    ----------
    architecture : Architecture
    theta : ndarray of shape (n_parameters,)
        Changed by training.
    generator : numpy.random.Generator
        For training.
    output : InducingOutput, ExactOutput or SparseOutput
        Predicts; of the time of :meth:`freeze`.
    """

    def __init__(
        self, scales, X, Y, plan, generators, *, n_layers, width, posterior, n_prediction_draws
    ):
        self.scales = scales
        self.architecture = a = Architecture(
            X.shape[1], Y.shape[1], plan.n_inducing, width or X.shape[1], n_layers, posterior
        )
        self.theta = np.zeros(a.size())
        exact = plan.output == "exact"
        start(a, self.parameters, X, Y, generators[0], exact=exact)
        self.generator = generators[1]
        self.noise = draw_noise(a, generators[2], n_prediction_draws, 1)
        self.kind, self.rows = (ExactOutput, (X, Y)) if exact else (InducingOutput, ())

    @property
    def parameters(self):
        """Parameters by name."""
        return self.architecture.views(self.theta)

    def _make_output(self):
        return self.kind(self.architecture, self.theta, self.noise, *self.rows)

    def condition_on(self, X, Y):
        """Predict from all rows through some of them, with the noise that is best then."""
        points = self.generator.choice(len(X), min(SPARSE_ROWS, len(X)), replace=False)
        self.kind, self.rows = SparseOutput, (X, Y, np.sort(points))
        self.parameters["log_noise"][:] = self._make_output().best_noise()

    def leave_rows(self):
        """Predict from the inducing points; put there what another output knows of its rows."""
        if self.kind is not InducingOutput:
            X, Y = self.rows[:2]
            some = self.generator.permutation(len(X))[:_OUTPUT_ROWS]
            start_output(
                self.architecture, self.parameters, X[some], Y[some], len(X), self.generator
            )
        self.kind, self.rows = InducingOutput, ()

    def freeze(self):
        """Copy that predicts as things stand."""
        out = copy.copy(self)
        out.theta = self.theta.copy()
        out.output = out._make_output()
        return out

    def attributes(self):
        """Fitted attributes of the estimator, in the units of X and y."""
        p, scales = self.parameters, self.scales
        return {
            "length_scales_": np.exp(p["log_length_scales"]) * scales.X_scale,
            "hidden_length_scales_": np.exp(p["log_lengths"]),
            "heights_": np.exp(p["log_heights"]),
            "noise_variance_": np.exp(p["log_noise"]) * scales.y_scale**2,
            "inducing_inputs_": p["inducing"] * scales.X_scale + scales.X_offset,
        }

    def mixtures(self, X):
        """Predictive mixtures, one a target, at rows of X in their own units."""
        means, variances = self.output.predict(self.scales.inputs(X))
        return self.scales.mixtures(means, variances, np.exp(self.parameters["log_noise"]))

    def sample(self, X, generator, n_samples):
        """Joint draws of the function of the first target plus noise, in the units of y."""
        draws = self.output.sample(self.scales.inputs(X), generator, n_samples)
        noise = generator.standard_normal(draws.shape)
        draws += np.exp(0.5 * self.parameters["log_noise"][0]) * noise
        return draws * self.scales.y_scale[0] + self.scales.y_offset[0]

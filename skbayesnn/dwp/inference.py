"""Training of a deep Wishart process: annealed divergences, and few draws until the last steps."""

import numpy as np
from scipy.linalg import LinAlgError

from skbayesnn.dwp.collapsed import collapsed_loss_and_gradient
from skbayesnn.dwp.noise import fewer
from skbayesnn.dwp.objective import loss_and_gradient
from skbayesnn.dwp.prediction import ExactOutput, InducingOutput
from skbayesnn.dwp.sites import Sites
from skbayesnn.dwp.sizes import draw_noise
from skbayesnn.dwp.sparse_output import SparseOutput
from skbayesnn.gaussian_process.evidence import relevance_prior
from skbayesnn.numerics.workers import ALONE
from skbayesnn.training.loop import GradientModel

POINTS = 256
"""Number of rows that summarise the others in a step with a sparse output."""
MATRIX_RATE = 0.1
"""Learning rate of A and B, relative to that of the other parameters. Their many elements move
together, and at the full rate their noise would undo a deep model."""
NATURAL_RATE = 40.0
"""Fraction of the way to the best pseudo-observations of a batch that a step takes, divided by the
learning rate."""
FEW_INPUTS = 20
"""With more inputs than this, length scales and inducing inputs have a proportionally lower rate.
Adam moves every coordinate as fast as those of inputs that matter, and many coordinates together
would fit the noise."""


class Inference(GradientModel):
    """The objective in the form that the training loop needs: a lower bound plus the log prior.

    Parameters
    ----------
    model : Model
        Its ``theta`` is changed in place.
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)
        How many rows each stands for.
    n_total : float
        Number of rows by which the divergences are divided.
    n_draws : int
        Draws per step, late in training.
    n_steps : int
        Planned number of optimiser steps.
    late : float
        Fraction of the steps, at the end, that use ``n_draws`` draws; earlier steps use one.
    annealed : float
        Fraction of the steps, at the start, over which the weight of the divergences rises from
        zero to one.
    held_out : tuple of three ndarrays, optional
        Rows to score: inputs, targets and weights.
    workers : Workers, default=ALONE
        Threads that share the rows of a step.
    """

    rate = 1.0
    """Factor on the learning rate."""
    frozen = ()
    """Parameters that Adam leaves alone."""

    def __init__(
        self, model, X, Y, weights, n_total, n_draws, n_steps, *,
        late=0.02, annealed=0.1, held_out=None, workers=ALONE,
    ):  # fmt: skip
        sizes, theta, generator = model.sizes, model.theta, model.generator
        self.prior_scale, self.law, self.unit = model.prior_scale, model.law, model.unit
        blocks = {name: int(np.prod(s)) for name, s in sizes.shapes().items()}
        blocks = {k: size for k, size in blocks.items() if size}
        rates = dict.fromkeys(blocks, self.rate)
        for k in blocks:
            if k in self.frozen or k.startswith("scale_base"):
                rates[k] = 0.0
            elif k.startswith(("left", "right", "scale")) and "logit" not in k:
                rates[k] *= MATRIX_RATE
            elif k in ("inducing", "log_length_scales"):
                rates[k] *= min(1.0, FEW_INPUTS / sizes.n_inputs)
        super().__init__(theta, len(X), blocks, rates)
        self.sizes, self.generator, self.workers = sizes, generator, workers
        self.X, self.Y, self.weights = X, Y, weights
        self.n_total, self.n_draws = n_total, n_draws
        self.late_from, self.annealed = (1 - late) * n_steps, annealed * n_steps
        self.held_out, self.n_steps_taken, self.n_failures = held_out, 0, 0
        if held_out is not None:
            self.held_out_weights = held_out[2]
            seed = int(generator.integers(2**32))
            self.score_noise = draw_noise(sizes, np.random.default_rng(seed), 10, 1)

    def loss_and_gradient(self, rows):
        return self._bound(rows)

    def _bound(self, rows, sites=None):
        n_draws, weight = self._next_step()
        n_rows = self.sizes.law.n_noise_rows or len(rows)
        noise = draw_noise(self.sizes, self.generator, n_draws, n_rows)
        return self._counted(
            loss_and_gradient(
                self.sizes, self.theta, self.X[rows], self.Y[rows],
                self.weights[rows] / self.weights.mean(), noise, self.n_total, weight, sites=sites,
                workers=self.workers,
            )
        )  # fmt: skip

    def _next_step(self):
        """Number of draws of the next step, and the weight of its divergences."""
        n_draws = self.n_draws if self.n_steps_taken >= self.late_from else 1
        self.n_steps_taken += 1
        return n_draws, min(1.0, self.n_steps_taken / self.annealed) if self.annealed else 1.0

    def _counted(self, result):
        loss, gradient, n_failures = result
        self.n_failures += n_failures
        scales = self.sizes.views(self.theta)["log_length_scales"]
        prior, d_prior = relevance_prior(scales, self.prior_scale)
        self.sizes.views(gradient)["log_length_scales"][:] += d_prior / self.n_total
        return loss + prior / self.n_total, gradient

    def output(self, noise):
        """Output that predicts with the current parameters."""
        return InducingOutput(self.sizes, self.theta, noise)

    @property
    def loss_limit(self):
        """Upper limit of the loss, above any value that is not a sign of divergence.

        A draw of the hidden layers that maps different rows to the same features leaves their
        difference to the noise. It costs a row at most half its squared target (unless the output
        is exact, plus half the signal variance) over the noise variance. Without noise, this is far
        above the limit of other models. Such draws are part of the expectation that training
        estimates: without them, nothing would lead away from parameters that produce many of them.
        In a stream, a row that the rows before it do not resemble costs as much.
        """
        parameters = self.sizes.views(self.theta)
        if not parameters["log_noise"].size:  # classes
            return super().loss_limit
        squares = np.average((self.Y**2).sum(axis=1), weights=self.weights)
        height = np.exp(parameters["log_heights"][-1])
        most = squares + self.sizes.n_targets * height
        return super().loss_limit + most / np.exp(parameters["log_noise"].min())

    def epoch(self, order, batch_size, rate):
        try:
            return super().epoch(order, batch_size, rate)
        except LinAlgError:
            return np.inf  # the loop goes back and takes smaller steps

    def held_out_log_densities(self):
        if self.held_out is None:
            return None
        X, Y, _ = self.held_out
        means, variances = self.output(self.score_noise).predict(X, self.workers)
        log_noise = self.sizes.views(self.theta)["log_noise"]
        if self.law is not None:
            law = self.law.scaled(np.exp(log_noise[0]) / self.unit)
            (mean,), (variance,) = fewer(means[:, 0], variances[:, 0], 1)
            return law.log_densities(X, Y[:, 0], mean, variance)
        return self.sizes.law.log_densities(means, variances, Y, log_noise, self.score_noise.nodes)


class FirstInference(Inference):
    """Training before steps with a sparse output, with four times the learning rate."""

    rate = 4.0


class NaturalInference(Inference):
    """Training with natural-gradient steps of the pseudo-observations; Adam moves the rest."""

    rate = 2.0
    frozen = "root", "values"

    def epoch(self, order, batch_size, rate):
        self.part = min(1.0, NATURAL_RATE * rate)
        return super().epoch(order, batch_size, rate)

    def loss_and_gradient(self, rows):
        sites = Sites(self.sizes.n_targets, self.sizes.n_inducing)
        loss, gradient = self._bound(rows, sites)
        sites.step(self.sizes.views(self.theta), self.part)
        return loss, gradient


class ExactInference(Inference):
    """Training with an exact output: each step uses all rows, with twice the learning rate."""

    rate = 2.0

    def loss_and_gradient(self, rows):
        # The order does not matter: the evidence of all rows is the same.
        return self._collapsed(slice(None))

    def _collapsed(self, rows):
        n_draws, prior_weight = self._next_step()
        noise = draw_noise(self.sizes, self.generator, n_draws, 1)
        X, Y, weights = self.X[rows], self.Y[rows], self.weights[rows]
        return self._counted(
            collapsed_loss_and_gradient(
                self.sizes, self.theta, X, Y, weights, noise, prior_weight,
                n_total=self.n_total, points=self._points(len(X)), workers=self.workers,
            )
        )  # fmt: skip

    def _points(self, n_rows):
        """Rows that summarise the others in the output; None if it is exact."""
        return None

    def output(self, noise):
        return ExactOutput(self.sizes, self.theta, noise, self.X, self.Y, self.weights)


class SparseInference(ExactInference):
    """Training with a sparse output: new summarising rows in each step, and large batches."""

    def loss_and_gradient(self, rows):
        return self._collapsed(rows)

    def _points(self, n_rows):
        return np.sort(self.generator.choice(n_rows, min(POINTS, n_rows), replace=False))

    def output(self, noise):
        points = self._points(len(self.X))
        rows = self.X, self.Y, self.weights, points
        return SparseOutput(self.sizes, self.theta, noise, *rows)

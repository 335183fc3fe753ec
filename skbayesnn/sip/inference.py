"""Training of a sparse implicit process by the common loop.

It converges because the classifier has the right first two moments at every step, the divergence is
warmed up, α rises from a fifth of its final value, learning rates decay, gradients are clipped to
their usual size, and predictions use an exponential average of the parameters.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from skbayesnn.numerics.adam import Adam
from skbayesnn.sip.discriminator import Discriminator
from skbayesnn.training.loop import Trainable

ALPHA_START = 0.2
"""α at the start, as a part of its final value."""
INDUCING_RATE = 4.0
"""Factor on the learning rate of the inducing inputs, which have far to go."""
AVERAGING = 0.99
"""Weight of the past in the average of the parameters, a step; less in the first steps."""
USUAL = 1.5
"""A block of the gradient is cut to so many times its usual norm. Where the noise has become
small a step too far brings gradients a hundred times larger, and Adam, which divides by what
they were, leaves the data for good: yacht's fits did."""
LOSS_LIMIT = 100.0
"""A mean loss a row above it counts as divergence; twice the hyperprior's at the start comes on
top. So does one below minus it: no rows have such densities, but a classifier that has left what
is sensible finds any divergence."""


@dataclass
class Settings:
    """How to train.

    Attributes
    ----------
    kl_weight : float
        β once warm.
    warmup_steps : float
        Steps over which β rises from 0.
    alpha_warmup_steps : float
        Steps over which α rises from a fifth of the model's to all of it.
    discriminator_steps : int
        Steps of the classifier for each of the model.
    width : int
        Units of each hidden layer of the classifier.
    """

    kl_weight: float = 1.0
    warmup_steps: float = 0.0
    alpha_warmup_steps: float = 0.0
    discriminator_steps: int = 1
    width: int = 50


class SIPInference(Trainable):
    """Steps of Adam on eq. 12.

    Parameters
    ----------
    model : skbayesnn.sip.model.SparseImplicitProcess
    settings : Settings
    generator : numpy.random.Generator

    Attributes
    ----------
    average : ndarray
        Average of the parameters, float64: what predictions are made with.
    discriminator_losses, divergences : list of float
        Mean of each epoch.
    n_steps : int
    """

    def __init__(self, model, settings, generator):
        self.model, self.settings, self.generator = model, settings, generator
        self.discriminator = Discriminator(model.n_inducing, settings.width, generator, model.dtype)
        self.adam = Adam(list(model.blocks.values()), dtype=model.dtype)
        self.usual_norms, self.n_norms = np.zeros(len(model.blocks)), 0
        self.average = model.theta.astype(np.float64)
        self.n_steps = 0
        self.final_alpha = model.alpha
        penalty = model.prior.hyperprior(model.parts(model.theta)[0])[0]
        self.start_penalty = model.hyperprior_weight * penalty
        self.discriminator_losses, self.divergences = [], []
        self.held_out = None

    def attach(self, X, y, weights=None, n_total=None, held_out=None, held_out_weights=None):
        """Give it the rows to learn from.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_inputs)
        y : ndarray of shape (n_rows,)
        weights : ndarray of shape (n_rows,) or None, default=None
            How often each row counts; None for once.
        n_total : float or None, default=None
            Rows that the divergence is weighed against; None for the sum of the weights.
        held_out : callable or None, default=None
            Log densities of the held-out rows, given the averaged parameters.
        held_out_weights : ndarray or None, default=None
        """
        weights = np.ones(len(y)) if weights is None else np.asarray(weights, np.float64)
        self.X, self.y = np.asarray(X, self.model.dtype), np.asarray(y, np.float64)
        self.weights, self.n_total = weights / weights.mean(), float(n_total or weights.sum())
        self.n_rows = len(y)
        self.held_out, self.held_out_weights = held_out, held_out_weights

    def detach(self):
        """Let go of the rows."""
        self.X = self.y = self.weights = self.held_out = self.held_out_weights = None

    def epoch(self, order, batch_size, rate):
        """Mean loss a row, or NaN where the model left what is finite."""
        s, losses, told_apart, divergences = self.settings, [], [], []

        def learn(seen):
            for _ in range(s.discriminator_steps):
                told_apart.append(self.discriminator.step(seen, rate))

        rates = [
            rate * (INDUCING_RATE if name == "inducing inputs" else 1.0)
            for name in self.model.blocks
        ]
        rates = np.array(rates)
        with np.errstate(all="ignore"):
            # Batches of nearly the same size.
            for rows in np.array_split(order, -(-len(order) // batch_size)):
                weight = s.kl_weight * min(1.0, (self.n_steps + 1) / max(1.0, s.warmup_steps))
                warm = min(1.0, (self.n_steps + 1) / max(1.0, s.alpha_warmup_steps))
                self.model.alpha = self.final_alpha * (ALPHA_START + (1 - ALPHA_START) * warm)
                try:
                    loss, divergence = self.model.loss_and_gradient(
                        self.X[rows], self.y[rows], self.weights[rows], self.n_total, weight,
                        self.generator, self.discriminator, learn,
                    )  # fmt: skip
                except (FloatingPointError, np.linalg.LinAlgError):
                    return np.nan
                if not np.isfinite(loss):
                    return np.nan
                self._cut(self.model.gradient)
                self.adam.step(self.model.theta, self.model.gradient, rates)
                self.n_steps += 1
                decay = min(AVERAGING, self.n_steps / (self.n_steps + 10.0))
                self.average += (1.0 - decay) * (self.model.theta - self.average)
                losses.append(loss * len(rows))
                divergences.append(divergence)
        loss = float(np.sum(losses)) / len(order)
        limit = LOSS_LIMIT + 2.0 * self.start_penalty / self.n_total
        if self.non_finite() is not None or not -LOSS_LIMIT <= loss <= limit:
            return np.nan
        self.discriminator_losses.append(float(np.mean(told_apart)))
        self.divergences.append(float(np.mean(divergences)))
        return loss

    def _cut(self, gradient):
        """Scale the blocks of a gradient that are larger than usual down, in place.

        What is usual is an average of the norms, cut, over a hundred steps.
        """
        blocks = [gradient[begin:end] for begin, end in pairwise(self.adam.starts)]
        norms = np.sqrt([block @ block for block in blocks])
        usual = np.where(self.usual_norms > 0.0, self.usual_norms, norms)
        for block, norm, limit in zip(blocks, norms, USUAL * usual, strict=True):
            if norm > limit:
                block *= block.dtype.type(limit / norm)
        self.n_norms += 1
        part = max(0.01, 1.0 / self.n_norms)
        self.usual_norms = usual + part * (np.minimum(norms, USUAL * usual) - usual)

    def held_out_log_densities(self):
        return None if self.held_out is None else self.held_out(self.average)

    def state(self):
        return (
            self.model.theta.copy(), self.average.copy(), self.discriminator.state(), self.n_steps,
        )  # fmt: skip

    def restore(self, state):
        self.model.theta[:], self.average[:], discriminator, self.n_steps = state
        self.discriminator.restore(discriminator)
        self.adam.reset()

    def non_finite(self):
        begin = 0
        for name, size in self.model.blocks.items():
            if not np.isfinite(self.model.theta[begin : begin + size]).all():
                return name
            begin += size
        return None if np.isfinite(self.discriminator.theta).all() else "discriminator"

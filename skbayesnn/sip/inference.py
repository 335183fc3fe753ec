"""Training of a sparse implicit process by the package's one loop (section 3 of the paper).

What makes it converge: a classifier that is right in its first two moments at every step, the
KL terms warmed up, decaying rates, and an exponential average of the parameters to predict
with.
"""

from dataclasses import dataclass

import numpy as np

from skbayesnn.numerics.adam import Adam
from skbayesnn.numerics.training import Trainable
from skbayesnn.sip.discriminator import Discriminator

STEPS_A_BLOCK = 50


@dataclass
class Settings:
    """How to train.

    Attributes
    ----------
    batch_size : int
    n_draws : int
        Of the prior and of the posterior, a step.
    kl_weight : float
        β once warm.
    warmup_steps : float
        Steps over which β rises from 0.
    averaging : float
        Weight of the past in the average of the parameters, a step.
    discriminator_steps : int
        Steps of the classifier for each of the model.
    width : int
        Units of each hidden layer of the classifier.
    """

    batch_size: int = 100
    n_draws: int = 100
    kl_weight: float = 1.0
    warmup_steps: float = 0.0
    averaging: float = 0.99
    discriminator_steps: int = 1
    width: int = 50


class SIPInference(Trainable):
    """Steps of Adam on eq. 12; for the loop an "epoch" is a block of 50 steps.

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
        Mean of each block.
    n_steps : int
    """

    def __init__(self, model, settings, generator):
        self.model, self.settings, self.generator = model, settings, generator
        self.discriminator = Discriminator(model.n_inducing, settings.width, generator, model.dtype)
        self.adam = Adam(list(model.blocks.values()), dtype=model.dtype)
        self.average = model.theta.astype(np.float64)
        self.n_steps = 0
        self.discriminator_losses, self.divergences = [], []
        self.held_out = None

    def attach(self, X, y, n_total=None, held_out=None):
        """Give it the rows to learn from, and perhaps a function that scores it."""
        self.X, self.y = np.asarray(X, self.model.dtype), np.asarray(y, np.float64)
        self.n_total = float(n_total or len(y))
        # Batches of nearly the same size, every row in one of them.
        self.n_batches = -(-len(y) // min(self.settings.batch_size, len(y)))
        self.n_rows = STEPS_A_BLOCK * (len(y) // self.n_batches)
        self.batches = []
        self.held_out = held_out

    def detach(self):
        """Let go of the rows."""
        self.X = self.y = self.held_out = None
        self.batches = []

    def _next_rows(self):
        """Rows of the next batch: each row once a pass."""
        if not self.batches:
            self.batches = np.array_split(self.generator.permutation(len(self.y)), self.n_batches)
        return self.batches.pop()

    def epoch(self, order, batch_size, rate):
        return self.run(STEPS_A_BLOCK, rate)

    def run(self, n_steps, rate):
        """Take steps; the mean loss a row, or NaN where the model left what is finite."""
        s, losses, told_apart, divergences = self.settings, [], [], []

        def learn(seen):
            for _ in range(s.discriminator_steps):
                told_apart.append(self.discriminator.step(seen, rate))

        rates = np.full(len(self.model.blocks), rate)
        with np.errstate(all="ignore"):
            for _ in range(n_steps):
                rows = self._next_rows()
                weight = s.kl_weight * min(1.0, (self.n_steps + 1) / max(1.0, s.warmup_steps))
                try:
                    loss, divergence = self.model.loss_and_gradient(
                        self.X[rows], self.y[rows], self.n_total, weight, s.n_draws,
                        self.generator, self.discriminator, learn,
                    )  # fmt: skip
                except (FloatingPointError, np.linalg.LinAlgError):
                    return np.nan
                if not np.isfinite(loss):
                    return np.nan
                self.adam.step(self.model.theta, self.model.gradient, rates)
                self.n_steps += 1
                decay = min(s.averaging, self.n_steps / (self.n_steps + 10.0))
                self.average += (1.0 - decay) * (self.model.theta - self.average)
                losses.append(loss)
                divergences.append(divergence)
        self.discriminator_losses.append(float(np.mean(told_apart)))
        self.divergences.append(float(np.mean(divergences)))
        return float(np.mean(losses))

    def score(self):
        return np.nan if self.held_out is None else self.held_out(self.average)

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

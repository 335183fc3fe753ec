"""Training of a sparse implicit process by the package's one loop (section 3 of the paper).

What makes it converge: a classifier that is right in its first two moments at every step, the
KL terms warmed up, α raised from a fifth of its final value, decaying rates, and an exponential
average of the parameters to predict with.

With α = 1 from the start a row is explained by the few draws that fit it, the others learn little
from it, and the mean function stays rough: on concrete the CRPS was a tenth larger than with α
raised over the first half. With a small α throughout two modes become one.
"""

from dataclasses import dataclass

import numpy as np

from skbayesnn.numerics.adam import Adam
from skbayesnn.numerics.training import Trainable
from skbayesnn.sip.discriminator import Discriminator

STEPS_A_BLOCK = 50
ALPHA_START = 0.2
"""α at the start, as a part of its final value."""
INDUCING_RATE = 4.0
"""Factor on the learning rate of the inducing inputs.

From one point they spread over the data with 4, and hardly with 1; with 10 they overshoot.
"""


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
    alpha_warmup_steps : float
        Steps over which α rises from a fifth of the model's to all of it.
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
    alpha_warmup_steps: float = 0.0
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
        self.final_alpha = model.alpha
        self.discriminator_losses, self.divergences = [], []
        self.held_out = self.best_rows = self.last = None

    def attach(self, X, y, n_total=None, held_out=None):
        """Give it the rows to learn from, and perhaps the log density of held-out rows."""
        self.X, self.y = np.asarray(X, self.model.dtype), np.asarray(y, np.float64)
        self.n_total = float(n_total or len(y))
        # Batches of nearly the same size, every row in one of them.
        self.n_batches = -(-len(y) // min(self.settings.batch_size, len(y)))
        self.n_rows = STEPS_A_BLOCK * (len(y) // self.n_batches)
        self.batches = []
        self.held_out, self.best_rows, self.last = held_out, None, None

    def detach(self):
        """Let go of the rows."""
        self.X = self.y = self.held_out = self.best_rows = self.last = None
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

        rates = [
            rate * (INDUCING_RATE if name == "inducing inputs" else 1.0)
            for name in self.model.blocks
        ]
        rates = np.array(rates)
        with np.errstate(all="ignore"):
            for _ in range(n_steps):
                rows = self._next_rows()
                weight = s.kl_weight * min(1.0, (self.n_steps + 1) / max(1.0, s.warmup_steps))
                warm = min(1.0, (self.n_steps + 1) / max(1.0, s.alpha_warmup_steps))
                self.model.alpha = self.final_alpha * (ALPHA_START + (1 - ALPHA_START) * warm)
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
        if self.held_out is None:
            return np.nan
        rows = self.held_out(self.average)
        self.last = rows, self.state()
        if self.best_rows is None or rows.mean() > self.best_rows.mean():
            self.best_rows = rows
        return float(rows.mean())

    def prefer_last(self):
        """Back to the last parameters, unless held-out rows say that the best are better.

        Held-out rows are few. The last parameters profit from the falling learning rate: the
        best are kept only where they win by more than the standard error of the difference.
        """
        rows, state = self.last
        lead = self.best_rows - rows
        if lead.mean() <= lead.std() / np.sqrt(max(1, len(lead) - 1)):
            self.restore(state)

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

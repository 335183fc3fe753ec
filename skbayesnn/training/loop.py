"""The training loop: epochs, learning rate, early stopping, best parameters, callbacks, divergence.

A model plugs in as a :class:`Trainable`: it runs one epoch of optimiser steps on rows in a given
order, returns the log densities of its held-out rows, and can save and restore itself.
:class:`GradientModel` is the simplest way to be one: provide a loss and its gradient. Nothing here
knows what the model is.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from skbayesnn._warnings import warn_user
from skbayesnn.numerics.adam import Adam

SCHEDULES = {
    "constant": lambda progress: 1.0,
    "cosine": lambda progress: max(1e-3, 0.5 * (1.0 + np.cos(np.pi * progress))),
    "drop": lambda progress: 1.0 if progress < 0.75 else 0.1,
}
"""Factor on the learning rate, given the part of all epochs that is over, in [0, 1)."""

MAX_CUTS = 6
"""How often in one fit the learning rate is cut before the loop gives up."""
WORSE, LAST = 5.0, 0.1
"""Nats a row by which the median loss of the last epochs, a tenth of all, must be above that of the
first one for a warning. Fewer than ten epochs say too little, and so do small gaps: without noise,
some draws of hidden layers have large losses in good fits, too."""


class Trainable(ABC):
    """What a model must offer to :func:`train`."""

    n_rows: int
    """Number of training rows."""

    held_out_weights: np.ndarray | None = None
    """Weight of each held-out row in the mean score; None for equal ones."""

    loss_limit: float = 1e4
    """A mean loss a row above it counts as divergence."""

    @abstractmethod
    def epoch(self, order, batch_size, rate):
        """Take the optimiser steps of one epoch.

        Parameters
        ----------
        order : ndarray of shape (n_rows,), int64
            Rows, shuffled.
        batch_size : int
        rate : float
            Learning rate.

        Returns
        -------
        loss : float
            Mean loss a row, as seen on the way.
        """

    @abstractmethod
    def state(self):
        """Copy of everything that training changes."""

    @abstractmethod
    def restore(self, state):
        """Put back what :meth:`state` returned, which stays usable."""

    @abstractmethod
    def non_finite(self):
        """Name of a part that is not finite, or None."""

    def held_out_log_densities(self):
        """Log density, or log probability, of each held-out row; None where none are held out."""
        return None


class GradientModel(Trainable):
    """A trainable from a loss with gradient, stepped by Adam.

    Subclasses define ``loss_and_gradient(rows)``, the mean loss of these rows and its
    gradient in ``theta``.

    Parameters
    ----------
    theta : ndarray of shape (n_parameters,)
        Starting parameters; changed in place.
    n_rows : int
    blocks : dict of str to int, optional
        Name and size of each block of ``theta``, in order; by default one block.
    rates : dict of str to float, optional
        Factor on the learning rate of a block; 1 where absent.
    """

    def __init__(self, theta, n_rows, blocks=None, rates=None):
        self.theta = theta
        self.n_rows = n_rows
        self.blocks = blocks or {"theta": theta.size}
        self.factors = np.array([(rates or {}).get(name, 1.0) for name in self.blocks])
        self.adam = Adam(list(self.blocks.values()), dtype=theta.dtype)

    @abstractmethod
    def loss_and_gradient(self, rows):
        """Mean loss of the rows with these numbers, and its gradient in ``theta``."""

    def epoch(self, order, batch_size, rate):
        total = 0.0
        for begin in range(0, len(order), batch_size):
            rows = order[begin : begin + batch_size]
            loss, gradient = self.loss_and_gradient(rows)
            self.adam.step(self.theta, gradient, rate * self.factors)
            total += loss * len(rows)
        return total / len(order)

    def state(self):
        return (
            self.theta.copy(),
            self.adam.first.copy(),
            self.adam.second.copy(),
            self.adam.counts.copy(),
        )

    def restore(self, state):
        self.theta[:], self.adam.first[:], self.adam.second[:], self.adam.counts[:] = state

    def non_finite(self):
        for name, begin, end in zip(
            self.blocks, self.adam.starts[:-1], self.adam.starts[1:], strict=True
        ):
            if not np.isfinite(self.theta[begin:end]).all():
                return name
        return None


class CallbackTasks:
    """One scikit-learn callback task an epoch.

    Parameters
    ----------
    estimator : sklearn.callback.CallbackSupportMixin
    X, y : array-like
        What the callbacks are shown.
    n_epochs : int
    attributes : callable
        Returns the fitted attributes with which the estimator would predict if the fit
        stopped now; called only for callbacks that ask.
    parent : sklearn.callback.CallbackContext or None, default=None
        Of the whole fit, where this is one part of several; None where it is the whole.
    number : int, default=0
        Of this part.
    """

    def __init__(self, estimator, X, y, n_epochs, attributes, parent=None, number=0):
        self.known = {"estimator": estimator, "X": X, "y": y}
        self.attributes = attributes
        if parent is None:
            self.context = estimator._init_callback_context(max_subtasks=n_epochs)
        else:
            self.context = parent.subcontext("network", number, max_subtasks=n_epochs)
        self.context.call_on_fit_task_begin(**self.known)

    def begin(self):
        """An epoch begins."""
        self.task = self.context.subcontext(task_name="epoch")
        self.task.call_on_fit_task_begin(**self.known)

    def end(self):
        """An epoch ends; True if a callback asks to stop."""
        return self.task.call_on_fit_task_end(
            **self.known, reconstruction_attributes=self.attributes
        )

    def finish(self):
        """The fit ends."""
        self.context.call_on_fit_task_end(**self.known, reconstruction_attributes=self.attributes)


@dataclass
class TrainingRecord:
    """What happened.

    Attributes
    ----------
    losses : list of float
        Mean loss a row of each epoch that was kept.
    scores : list of float
        Mean held-out log density of each epoch that was scored; empty if no rows are held out.
    n_epochs : int
        Epochs run, those undone by the guard included.
    best_epoch : int or None
        Epochs that had been run when the parameters were reached that were put back.
    rate_cuts : int
        How often the guard cut the learning rate.
    stopped_by_callback : bool
    """

    losses: list = field(default_factory=list)
    scores: list = field(default_factory=list)
    n_epochs: int = 0
    best_epoch: int | None = None
    rate_cuts: int = 0
    stopped_by_callback: bool = False


class _Held:
    """Scores of the held-out rows, and the parameters that are worth putting back."""

    def __init__(self, model, tol):
        self.model, self.tol = model, tol
        self.best = None  # (mean, epoch, state)

    def look(self, epoch):
        """Score the model as it stands; the mean log density, or None without such rows."""
        rows = self.model.held_out_log_densities()
        if rows is None:
            return None
        mean = float(np.average(rows, weights=self.model.held_out_weights))
        if self.best is None or mean > self.best[0] + self.tol:
            self.best = mean, epoch, self.model.state()
        return mean

    def put_back(self):
        """Go back to the best parameters; the epoch they are of."""
        _, epoch, state = self.best
        self.model.restore(state)
        return epoch


def pass_once(model, *, learning_rate, generator, batch_size=None):
    """Take the steps of one epoch over a batch of a stream.

    Parameters
    ----------
    model : Trainable
    learning_rate : float
    generator : numpy.random.Generator
        Shuffles the rows.
    batch_size : int or None, default=None
        Rows a step; None for all.

    Returns
    -------
    loss : float
        Mean loss a row.

    Raises
    ------
    FloatingPointError
        The model did not stay finite, or the loss exceeded its limit. It is of no use then: callers
        pass a copy.
    """
    order = generator.permutation(model.n_rows)
    loss = model.epoch(order, min(batch_size or model.n_rows, model.n_rows), learning_rate)
    if model.non_finite() is not None or not loss <= model.loss_limit:
        raise FloatingPointError(
            "The steps on this batch diverged; the model is unchanged. Scale inputs and targets, "
            "or lower 'learning_rate'."
        )
    return loss


def train(
    model,
    *,
    n_epochs,
    learning_rate,
    generator,
    batch_size=None,
    schedule="cosine",
    early_stopping=False,
    patience=50,
    tol=0.0,
    score_every=1,
    callbacks=None,
):
    """Train a model.

    Parameters
    ----------
    model : Trainable
    n_epochs : int
        Epochs at most.
    learning_rate : float
        Rate at the start.
    generator : numpy.random.Generator
        Shuffles the rows.
    batch_size : int or None, default=None
        Rows a step; None for all.
    schedule : {"constant", "cosine", "drop"}, default="cosine"
        How the rate falls over ``n_epochs``.
    early_stopping : bool, default=False
        Stop after ``patience`` epochs without a mean held-out log density better by more than
        ``tol``, and put back the parameters of the best epoch.
    patience : int, default=50
        In epochs.
    tol : float, default=0.0
        In nats a row.
    score_every : int, default=1
        Epochs from one look at the held-out rows to the next. The last epoch is always scored,
        unless the guard undoes it.
    callbacks : CallbackTasks or None, default=None

    Returns
    -------
    record : TrainingRecord

    Raises
    ------
    FloatingPointError
        The loss stayed non-finite, or above the model's limit, although the learning rate was cut
        six times. Names the first part of the model that was not finite.

    Warns
    -----
    ConvergenceWarning
        The learning rate was too large and had to be cut, or the loss was larger at the end than at
        the beginning and there are no better parameters to put back.

    Examples
    --------
    >>> import numpy as np
    >>> class Mean(GradientModel):
    ...     def loss_and_gradient(self, rows):
    ...         difference = self.theta - y[rows].mean()
    ...         return 0.5 * float(difference @ difference), difference
    >>> y = np.array([1.0, 2.0, 3.0, 6.0])
    >>> model = Mean(np.zeros(1), len(y))
    >>> record = train(
    ...     model, n_epochs=500, learning_rate=0.1, generator=np.random.default_rng(0)
    ... )
    >>> model.theta.round(3)
    array([3.])
    """
    record, held = TrainingRecord(), _Held(model, tol)
    batch_size = min(batch_size or model.n_rows, model.n_rows)
    factor, safe = 1.0, model.state()
    while record.n_epochs < n_epochs:
        if callbacks is not None:
            callbacks.begin()
        now = model.state()
        rate = learning_rate * factor * SCHEDULES[schedule](record.n_epochs / n_epochs)
        loss = model.epoch(generator.permutation(model.n_rows), batch_size, rate)
        record.n_epochs += 1
        cause = model.non_finite()
        if cause is not None or not loss <= model.loss_limit:
            model.restore(safe)
            record.rate_cuts += 1
            if record.rate_cuts > MAX_CUTS:
                what = f"{cause} is not finite" if cause else f"the mean loss reached {loss:.3g}"
                raise FloatingPointError(
                    f"Training diverged: {what} in epoch {record.n_epochs}, although the "
                    f"learning rate was cut to {rate:.3g}. Scale the inputs or lower "
                    "'learning_rate'."
                )
            factor *= 0.1
        else:
            # Not the end of this epoch: what its last step broke shows in the next loss.
            safe = now
            record.losses.append(loss)
            if record.n_epochs % score_every == 0 or record.n_epochs == n_epochs:
                score = held.look(record.n_epochs)
                record.scores += [] if score is None else [score]
        record.stopped_by_callback = callbacks is not None and callbacks.end()
        waited = record.n_epochs - held.best[1] if held.best else 0
        if record.stopped_by_callback or (early_stopping and waited >= patience):
            break
    if early_stopping and held.best is None:
        # No epoch was scored, for example because all were undone: what is left has a score.
        score = held.look(record.n_epochs)
        record.scores += [] if score is None else [score]
    if early_stopping and held.best is not None:
        record.best_epoch = held.put_back()
    if record.rate_cuts:
        warn_user(
            f"The learning rate {learning_rate:.3g} made training diverge; it was cut to "
            f"{learning_rate * factor:.3g}. Choose a smaller 'learning_rate'.",
            ConvergenceWarning,
        )
    n_last = int(LAST * len(record.losses))
    if record.best_epoch is None and not record.rate_cuts and n_last > 0:
        first, last = record.losses[0], float(np.median(record.losses[-n_last:]))
        if last > first + WORSE:
            warn_user(
                f"Training ended with a loss of {last:.3g} a row, above that of its first "
                f"epoch, {first:.3g}. Choose a smaller 'learning_rate' than {learning_rate:.3g}, "
                "or a larger 'max_iter'.",
                ConvergenceWarning,
            )
    return record

"""Training parameters that all models share: their ranges, and the meaning of "auto"."""

from dataclasses import dataclass
from numbers import Integral, Real

from skbayesnn._validation import BOOLEAN, Interval, Options, positive
from skbayesnn.training.loop import SCHEDULES

_AUTO = Options(("auto",))

TRAINING_CONSTRAINTS = {
    "learning_rate": [positive()],
    "schedule": [Options(tuple(SCHEDULES))],
    "batch_size": [positive(Integral), _AUTO],
    "max_iter": [positive(Integral), _AUTO],
    "early_stopping": [*BOOLEAN, _AUTO],
    "validation_fraction": [Interval(Real, 0.0, 1.0, "neither")],
    "n_iter_no_change": [positive(Integral), _AUTO],
    "tol": [Interval(Real, 0.0, None, "left")],
    "normalize_X": BOOLEAN,
}


@dataclass(frozen=True)
class Automatic:
    """What "auto" stands for in one model.

    Attributes
    ----------
    batch_size : int
        Rows a step.
    n_steps : int
        Optimiser steps of a training: ``max_iter`` is as many epochs as make them.
    patience_steps : int
        Steps without a better held-out score: ``n_iter_no_change`` is as many epochs.
    early_stopping : bool
    least_epochs : int, default=1
        Epochs of a training at least.
    steps_a_score : int, default=1
        Steps from one look at the held-out rows to the next, at least.
    """

    batch_size: int
    n_steps: int
    patience_steps: int
    early_stopping: bool
    least_epochs: int = 1
    steps_a_score: int = 1


@dataclass(frozen=True)
class TrainingSettings:
    """The parameters of :func:`~skbayesnn.training.loop.train` that depend on the table.

    Attributes
    ----------
    n_epochs, batch_size, patience, score_every, early_stopping
        As there.
    n_batches : int
        Steps an epoch.
    """

    n_epochs: int
    batch_size: int
    n_batches: int
    patience: int
    score_every: int
    early_stopping: bool


def holds_out(estimator, automatic):
    """Whether rows are held out, where ``automatic`` is what "auto" means for the model."""
    chosen = estimator.early_stopping
    return automatic if isinstance(chosen, str) else bool(chosen)


def number_of_networks(n_networks, n_rows, rule):
    """How many networks are trained and pooled.

    Parameters
    ----------
    n_networks : int or "auto"
    n_rows : int
    rule : dict of int to int
        What "auto" means for fewer rows than each of the rising limits; one else.

    Examples
    --------
    >>> [number_of_networks("auto", n, {1000: 3, 2000: 2}) for n in (999, 1000, 2000)]
    [3, 2, 1]
    """
    if not isinstance(n_networks, str):
        return int(n_networks)
    return next((n for limit, n in rule.items() if n_rows < limit), 1)


def training_settings(estimator, n_rows, automatic, **changed):
    """Put numbers in place of "auto".

    Parameters
    ----------
    estimator : estimator
        With the parameters of :data:`TRAINING_CONSTRAINTS`.
    n_rows : int
        Rows to train on.
    automatic : Automatic
    **changed
        Parameters that have another value than the estimator's.

    Returns
    -------
    settings : TrainingSettings

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> parameters = dict.fromkeys(
    ...     ["batch_size", "max_iter", "n_iter_no_change", "early_stopping"], "auto"
    ... )
    >>> automatic = Automatic(
    ...     batch_size=100, n_steps=2000, patience_steps=500, early_stopping=True
    ... )
    >>> settings = training_settings(SimpleNamespace(**parameters), 950, automatic)
    >>> settings.n_batches, settings.n_epochs, settings.patience
    (10, 200, 50)
    """

    def epochs(value, steps, least=1):
        return int(max(least, -(-steps // n_batches)) if isinstance(value, str) else value)

    def given(name):
        return changed.get(name, getattr(estimator, name))

    size = given("batch_size")
    size = min(automatic.batch_size if isinstance(size, str) else int(size), n_rows)
    n_batches = -(-n_rows // size)
    return TrainingSettings(
        n_epochs=epochs(given("max_iter"), automatic.n_steps, automatic.least_epochs),
        batch_size=size,
        n_batches=n_batches,
        patience=epochs(estimator.n_iter_no_change, automatic.patience_steps),
        score_every=max(1, automatic.steps_a_score // n_batches),
        early_stopping=holds_out(estimator, automatic.early_stopping),
    )

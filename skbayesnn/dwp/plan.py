"""What constructor parameters may be, and what "auto" means for a table of some size."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
from sklearn.model_selection import train_test_split

from skbayesnn._validation import Interval, Options, positive
from skbayesnn.dwp.wishart import POSTERIORS
from skbayesnn.numerics.training import SCHEDULES

OUTPUTS = ("auto", "exact", "sparse", "inducing")

CONSTRAINTS = {
    "n_layers": [Interval(Integral, 0, None, "left")],
    "posterior": [Options((*POSTERIORS, "dgp"))],
    "output": [Options(OUTPUTS)],
    "n_inducing": [positive(Integral), Options(("auto",))],
    "width": [positive(Integral), Options((None,))],
    "n_draws": [positive(Integral)],
    "n_prediction_draws": [positive(Integral)],
    "learning_rate": [positive()],
    "schedule": [Options(tuple(SCHEDULES))],
    "n_epochs": [positive(Integral), Options(("auto",))],
    "batch_size": [positive(Integral), Options((None,))],
    "early_stopping": [Options((True, False))],
    "validation_fraction": [Interval(Real, 0.0, 1.0, "neither")],
    "n_iter_no_change": [positive(Integral)],
    "tol": [Interval(Real, 0.0, None, "left")],
    "normalize_y": [Options((True, False))],
}

# Rows up to which output="auto" is exact: beyond, the cube of the rows takes minutes.
_EXACT_ROWS = 1500
# Rows that stand for all others where the output is sparse.
SPARSE_ROWS = 800
# Inducing points where n_inducing="auto".
_INDUCING = 100
# Steps where n_epochs="auto": with one batch an epoch, and with several. Many small steps are
# better than few large ones: kin8nm, split 0, output="inducing", mean test log density:
# 200 points, 1000 rows a step, 2500 steps, 166 s: 1.298;
# 100 points, 1000 rows a step, 5600 steps, 103 s: 1.327;
# 100 points,  500 rows a step, 10500 steps, 140 s: 1.348.
# power, split 9, predictions from all rows: 10,000 steps -2.796, 21,600 steps -2.770.
_STEPS, _BATCH_STEPS = 800, 20_000
# Epochs at least where n_epochs="auto".
_EPOCHS = 20


@dataclass(frozen=True)
class Plan:
    """How to train.

    Attributes
    ----------
    output : {"exact", "sparse", "inducing"}
        With an exact one, each step takes all rows.
    n_inducing : int
    batch_size : int
    n_batches : int
        Steps an epoch.
    n_epochs : int
    """

    output: str
    n_inducing: int
    batch_size: int
    n_batches: int
    n_epochs: int


def make_plan(estimator, X, stream=False):
    """Plan from the estimator's parameters and the training rows.

    Parameters
    ----------
    estimator : DeepWishartRegressor
    X : ndarray of shape (n, n_inputs)
    stream : bool, default=False
        Whether rows are seen once, which leaves no choice of output.

    Returns
    -------
    plan : Plan
    """
    n = len(X)
    output = "inducing" if stream else estimator.output
    if output == "auto":
        output = "exact" if n <= _EXACT_ROWS else "sparse"
    exact = output == "exact"
    n_inducing = estimator.n_inducing
    if n_inducing == "auto":
        n_inducing = _INDUCING
    batch_size = n if exact else min(estimator.batch_size or n, n)
    n_batches = -(-n // batch_size)
    n_epochs = estimator.n_epochs
    if n_epochs == "auto":
        n_steps = _STEPS if n_batches == 1 else _BATCH_STEPS
        n_epochs = max(_EPOCHS, -(-n_steps // n_batches))
    n_inducing = min(n_inducing, len(np.unique(X, axis=0)))
    return Plan(output, n_inducing, batch_size, n_batches, n_epochs)


def split_rows(n, fraction, generator):
    """Numbers of the rows to train on, and of those to hold out.

    Parameters
    ----------
    n : int
    fraction : float
        Part to hold out; at least one row.
    generator : numpy.random.Generator

    Returns
    -------
    train_rows, held_out_rows : ndarray of int

    Raises
    ------
    ValueError
        There is one row only.
    """
    n_held_out = max(1, round(fraction * n))
    if n - n_held_out < 1:
        raise ValueError(
            f"early_stopping=True needs at least 2 samples to hold one out, got n_samples={n}."
        )
    seed = int(generator.integers(2**31))
    return train_test_split(np.arange(n), test_size=n_held_out, random_state=seed)

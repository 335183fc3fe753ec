"""What constructor parameters may be, and what "auto" means for a table of some size."""

from dataclasses import dataclass, field
from numbers import Integral, Real

import numpy as np
from sklearn.model_selection import train_test_split

from skbayesnn._validation import Interval, Options, positive
from skbayesnn.dwp.inference import ExactInference, Inference, SparseInference
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
    "n_sparse_epochs": [Interval(Integral, 0, None, "left"), Options(("auto",))],
    "batch_size": [positive(Integral), Options((None,))],
    "early_stopping": [Options((True, False))],
    "validation_fraction": [Interval(Real, 0.0, 1.0, "neither")],
    "n_iter_no_change": [positive(Integral)],
    "tol": [Interval(Real, 0.0, None, "left")],
    "normalize_y": [Options((True, False))],
}

# Rows up to which output="auto" is exact: beyond, the cube of the rows takes minutes.
_EXACT_ROWS = 1500
# Rows that stand for all others in predictions where the output is sparse.
SPARSE_ROWS = 800
# Inducing points where n_inducing="auto".
_INDUCING = 100
# Steps where n_epochs="auto": with one batch an epoch, and with several. Many small steps are
# better than few large ones: kin8nm, split 0, output="inducing", mean test log density:
# 200 points, 1000 rows a step, 2500 steps, 166 s: 1.298;
# 100 points, 1000 rows a step, 5600 steps, 103 s: 1.327;
# 100 points,  500 rows a step, 10500 steps, 140 s: 1.348.
_STEPS, _BATCH_STEPS = 800, 10_000
# Epochs at least where n_epochs="auto".
_EPOCHS = 20
# Steps where n_sparse_epochs="auto", and rows a step at most. All rows in a step are better than
# half: power, split 9, −2.744 (300 steps) against −2.759 (400).
_SPARSE_STEPS, _SPARSE_BATCH = 400, 12_000
# Such steps a hidden layer, at least: five layers take longer (kin8nm, split 0: 400 steps 1.372,
# 1000 steps 1.383; two layers and 400 steps 1.392).
_LAYER_STEPS = 200


@dataclass(frozen=True)
class Phase:
    """A run of the training loop.

    Attributes
    ----------
    inference : type
        Of :mod:`skbayesnn.dwp.inference`.
    n_epochs : int
    batch_size : int
    n_batches : int
        Steps an epoch.
    options : dict
        For ``inference``.
    """

    inference: type
    n_epochs: int
    batch_size: int
    n_batches: int
    options: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """How to train.

    Attributes
    ----------
    output : {"exact", "sparse", "inducing"}
    n_inducing : int
    phases : list of Phase
        One, but two where the output is sparse: with pseudo-observations at the inducing
        points in the output, by small batches; then with all rows, or as many as a step takes.
    """

    output: str
    n_inducing: int
    phases: list

    @property
    def n_epochs(self):
        """Epochs of all phases."""
        return sum(phase.n_epochs for phase in self.phases)


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
    n_inducing = estimator.n_inducing
    if n_inducing == "auto":
        n_inducing = _INDUCING
    n_inducing = min(n_inducing, len(np.unique(X, axis=0)))
    if output == "exact":
        return Plan(output, n_inducing, [_phase(ExactInference, n, n, estimator.n_epochs, _STEPS)])
    size = min(estimator.batch_size or n, n)
    n_steps = _STEPS if size == n else _BATCH_STEPS
    sparse = output == "sparse" and estimator.n_sparse_epochs != 0
    # The many draws of the last steps are for the last phase.
    options = {"late": 0.0} if sparse else {}
    phases = [_phase(Inference, n, size, estimator.n_epochs, n_steps, _EPOCHS, **options)]
    if sparse:
        size = -(-n // -(-n // _SPARSE_BATCH))  # of all batches, so that none is small
        n_epochs = estimator.n_sparse_epochs
        n_steps = max(_SPARSE_STEPS, _LAYER_STEPS * estimator.n_layers)
        phases.append(_phase(SparseInference, n, size, n_epochs, n_steps, annealed=0.0))
    return Plan(output, n_inducing, phases)


def _phase(inference, n, batch_size, n_epochs, n_steps, least_epochs=1, **options):
    n_batches = -(-n // batch_size)
    if n_epochs == "auto":
        n_epochs = max(least_epochs, -(-n_steps // n_batches))
    return Phase(inference, n_epochs, batch_size, n_batches, options)


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

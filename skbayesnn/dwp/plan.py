"""What constructor parameters may be, and what "auto" means for a table of some size."""

from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral

import numpy as np

from skbayesnn._validation import BOOLEAN, N_JOBS, Interval, Options, positive
from skbayesnn.base import POINT_ESTIMATES
from skbayesnn.dwp.inference import (
    ExactInference,
    Inference,
    NaturalInference,
    SparseInference,
)
from skbayesnn.dwp.wishart import POSTERIORS
from skbayesnn.training.settings import (
    TRAINING_CONSTRAINTS,
    Automatic,
    TrainingSettings,
    training_settings,
)

OUTPUTS = ("auto", "exact", "sparse", "inducing")

CONSTRAINTS = {
    **TRAINING_CONSTRAINTS,
    "n_layers": [Interval(Integral, 0, None, "left")],
    "posterior": [Options((*POSTERIORS, "dgp"))],
    "n_inducing": [positive(Integral)],
    "degrees_of_freedom": [positive(Integral), Options((None,))],
    "n_draws": [positive(Integral)],
    "n_posterior_draws": [positive(Integral)],
    "n_jobs": N_JOBS,
}
REGRESSION_CONSTRAINTS = {
    **CONSTRAINTS,
    "own_scale": BOOLEAN,
    "likelihood": [Options(("auto", "gaussian", "student_t"))],
    "output": [Options(OUTPUTS)],
    "normalize_y": BOOLEAN,
    "point_estimate": POINT_ESTIMATES,
}

# Rows up to which output="auto" is exact: beyond, the cube of the rows takes minutes.
_EXACT_ROWS = 1500
# Rows that stand for all others in predictions where the output is sparse.
SPARSE_ROWS = 800
# Training by pseudo-observations takes many small steps, which are better than few large ones;
# with all rows in a step, the second numbers.
_BATCHES = Automatic(
    batch_size=500, n_steps=10_000, patience_steps=500, early_stopping=False, least_epochs=20,
    steps_a_score=50,
)  # fmt: skip
_WHOLE = replace(_BATCHES, n_steps=800)
# Where steps through some of the rows follow, fewer.
_FIRST = replace(_BATCHES, n_steps=8_000)
# An exact output takes all rows in every step: so many, and so many a hidden layer at least.
_EXACT = replace(_WHOLE, least_epochs=1)
_EXACT_STEPS, _EXACT_LAYER_STEPS = 250, 100
# Labels: pseudo-observations in closed form, so that steps are few and batches large.
_CLASSES = replace(_BATCHES, batch_size=1000, least_epochs=20)
_CLASS_STEPS = 200
# The same through some of the rows, of all rows or as many at a time as this.
_SPARSE_STEPS, _LAYER_STEPS, _SPARSE_BATCH = 400, 200, 12_000
# They take one epoch of so many that max_iter allows.
_SPARSE_PART = 3


@dataclass(frozen=True)
class Phase:
    """A run of the training loop.

    Attributes
    ----------
    inference : type
        Of :mod:`skbayesnn.dwp.inference`.
    settings : TrainingSettings
    options : dict
        For ``inference``.
    """

    inference: type
    settings: TrainingSettings
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
        return sum(phase.settings.n_epochs for phase in self.phases)


def make_plan(estimator, X, stream=False):
    """Plan from the estimator's parameters and the training rows.

    Parameters
    ----------
    estimator : DeepWishartRegressor or DeepWishartClassifier
    X : ndarray of shape (n, n_inputs)
    stream : bool, default=False
        Whether rows are seen once, which leaves no choice of output.

    Returns
    -------
    plan : Plan
    """
    n = len(X)
    of_classes = not hasattr(estimator, "output")
    output = "inducing" if stream or of_classes else estimator.output
    if output == "auto":
        output = "exact" if n <= _EXACT_ROWS else "sparse"
    n_inducing = min(int(estimator.n_inducing), len(np.unique(X, axis=0)))
    settings = partial(training_settings, estimator, n)
    if of_classes:
        n_steps = max(_CLASS_STEPS, _EXACT_LAYER_STEPS * estimator.n_layers)
        automatic = replace(_CLASSES, n_steps=n_steps)
        phase = Phase(NaturalInference, settings(automatic), {"late": 0.01})
        return Plan(output, n_inducing, [phase])
    if output == "exact":
        n_steps = max(_EXACT_STEPS, _EXACT_LAYER_STEPS * estimator.n_layers)
        chosen = settings(replace(_EXACT, n_steps=n_steps), batch_size=n)
        # The last steps are too small for their noise to count much.
        return Plan(output, n_inducing, [Phase(ExactInference, chosen, {"late": 0.01})])
    size = _BATCHES.batch_size if isinstance(estimator.batch_size, str) else estimator.batch_size
    if output == "inducing":
        automatic = _WHOLE if size >= n else _BATCHES
        return Plan(output, n_inducing, [Phase(Inference, settings(automatic))])
    first, last = estimator.max_iter, estimator.max_iter
    if not isinstance(last, str):
        last //= _SPARSE_PART
        first -= last
    automatic = _WHOLE if size >= n else _FIRST
    # The many draws of the last steps are for the last phase.
    phases = [Phase(Inference, settings(automatic, max_iter=first), {"late": 0.0})]
    if last:
        size = -(-n // -(-n // _SPARSE_BATCH))  # of all batches, so that none is small
        n_steps = max(_SPARSE_STEPS, _LAYER_STEPS * estimator.n_layers)
        automatic = replace(_EXACT, n_steps=n_steps)
        chosen = settings(automatic, max_iter=last, batch_size=size)
        phases.append(Phase(SparseInference, chosen, {"annealed": 0.0, "late": 0.01}))
    return Plan(output, n_inducing, phases)

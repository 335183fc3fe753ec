"""Constraints on constructor parameters, and the meaning of "auto" for a table of a given size."""

from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral

import numpy as np

from skbayesnn._validation import BOOLEAN, N_JOBS, Interval, Options, positive
from skbayesnn.base import POINT_ESTIMATES
from skbayesnn.dwp.inference import (
    ExactInference,
    FirstInference,
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
    "gaussian_process": BOOLEAN,
    "likelihood": [Options(("auto", "gaussian", "student_t"))],
    "output": [Options(OUTPUTS)],
    "normalize_y": BOOLEAN,
    "point_estimate": POINT_ESTIMATES,
}

# Up to this number of rows, output="auto" is exact. Beyond it, a fit takes minutes, because its
# cost grows with the cube of the number of rows.
_EXACT_ROWS = 1500
# Number of rows that summarise the others in predictions with a sparse output.
SPARSE_ROWS = 800
# Training by pseudo-observations takes many small steps, which work better than few large ones.
# _WHOLE applies if one step uses all rows.
_BATCHES = Automatic(
    batch_size=500, n_steps=10_000, patience_steps=500, early_stopping=False, least_epochs=20,
    steps_a_score=50,
)  # fmt: skip
_WHOLE = replace(_BATCHES, n_steps=800)
# Fewer, four times as long, if steps with summarising rows follow.
_FIRST = replace(_BATCHES, n_steps=7_500)
# With an exact output, every step uses all rows. At least this many steps, and this many per hidden
# layer.
_EXACT = replace(_WHOLE, least_epochs=1)
_EXACT_STEPS, _EXACT_LAYER_STEPS = 250, 100
# Classes have pseudo-observations in closed form, so steps are few and batches are large.
_CLASSES = replace(_BATCHES, batch_size=1000)
_CLASS_STEPS = 200
# Steps with summarising rows, in total and per hidden layer, and the largest number of rows per
# step.
_SPARSE_STEPS, _LAYER_STEPS, _SPARSE_BATCH = 200, 100, 12_000
# One in this many epochs of max_iter is for these steps.
_SPARSE_PART = 3


@dataclass(frozen=True)
class Phase:
    """One run of the training loop.

    Attributes
    ----------
    inference : type
        Class from :mod:`skbayesnn.dwp.inference`.
    settings : TrainingSettings
    options : dict
        Keyword arguments of ``inference``.
    """

    inference: type
    settings: TrainingSettings
    options: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Plan of the training.

    Attributes
    ----------
    output : {"exact", "sparse", "inducing"}
    n_inducing : int
    phases : list of Phase
        Two if the output is sparse: small batches with pseudo-observations at the inducing points
        in the output, and then steps with as many rows as possible. Otherwise one.
    """

    output: str
    n_inducing: int
    phases: list

    @property
    def n_epochs(self):
        """Number of epochs of all phases."""
        return sum(phase.settings.n_epochs for phase in self.phases)


def make_plan(estimator, X, stream=False):
    """Make the plan from the parameters of the estimator and the training rows.

    Parameters
    ----------
    estimator : DeepWishartRegressor or DeepWishartClassifier
    X : ndarray of shape (n, n_inputs)
    stream : bool, default=False
        Whether rows are seen only once, in which case the output is "inducing".

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
        # The last steps are so small that their noise has little effect.
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
    # Only the last phase ends with steps of many draws.
    phases = [Phase(FirstInference, settings(automatic, max_iter=first), {"late": 0.0})]
    if last:
        size = -(-n // -(-n // _SPARSE_BATCH))  # of similar batches, so that none is small
        n_steps = max(_SPARSE_STEPS, _LAYER_STEPS * estimator.n_layers)
        automatic = replace(_EXACT, n_steps=n_steps)
        chosen = settings(automatic, max_iter=last, batch_size=size)
        phases.append(Phase(SparseInference, chosen, {"annealed": 0.0, "late": 0.01}))
    return Plan(output, n_inducing, phases)

"""Updates of α and ν with f integrated out, for one input without a dense part.

With several parts, α can move only as far as the variances of all weights allow. With a single
part, the evidence of the targets, given the variances and the precisions of the noise, costs O(n).
The updates are then those of :mod:`skbayesnn.stable.samplers.hyper`, which rescale the scales of
the weights along with α.
"""

import numpy as np

from skbayesnn.stable.samplers.hyper import HyperMoves
from skbayesnn.stable.samplers.line import MAX_LOG_VARIANCE, log_evidence
from skbayesnn.stable.samplers.problem import State, make_problem

_NONE = np.empty(0)


def move_alpha_without_f(partition, prior, state, rng):
    """Update α and ν given f at the smallest value; the rest of f must be redrawn next.

    Parameters
    ----------
    partition : AdditiveCells
        With one input and without dense units.
    prior : Prior
    state : AdditiveState
        α, ν and all v are changed in place.
    rng : numpy.random.Generator
    """
    index, log_masses = partition.index[0], partition.axes[0].cells.log_masses
    totals = np.bincount(index, state.precisions)
    targets = np.bincount(index, state.precisions * partition.y) / totals
    numbers = (np.array([value]) for value in (state.log_noise, state.alpha))
    moved = State(state.log_variances, state.f, _NONE, _NONE, *numbers, state.log_nu.copy())
    # The squares about the targets and the number of rows do not depend on α and ν.
    problem = make_problem(targets, totals, 0.0, log_masses, state.alpha, state.log_nu[0], False)

    def evidence(log_variances):
        steps = 4.0 * np.exp(np.minimum(log_variances, MAX_LOG_VARIANCE))
        return log_evidence(targets, totals, 0.0, state.log_noise, state.f[0], steps)

    HyperMoves(prior, log_masses, moved, rng).update(problem, evidence)
    state.alpha, state.log_nu = float(moved.alpha[0]), moved.log_nu

"""Moves of α and ν where f is one f_k: f is integrated out, as in the cells of a line.

With several parts α can only go where the variances of all weights let it. With one, the evidence
of the targets given these and the precisions of the noise costs O(n), and the moves are those of
:mod:`skbayesnn.stable.samplers.hyper`, which carry the scales of weights along.
"""

import numpy as np

from skbayesnn.stable.samplers.hyper import HyperMoves
from skbayesnn.stable.samplers.line import MAX_LOG_VARIANCE, log_evidence
from skbayesnn.stable.samplers.problem import State, make_problem

_NONE = np.empty(0)


def move_alpha_without_f(partition, prior, state, rng):
    """A few moves of α and ν, given f at the smallest value; the rest of f is to be drawn next.

    Parameters
    ----------
    partition : AdditiveCells
        With one input and without dense units.
    prior : Prior
    state : AdditiveState
        α, ν and all v are changed.
    rng : numpy.random.Generator
    """
    index, log_masses = partition.index[0], partition.axes[0].cells.log_masses
    totals = np.bincount(index, state.precisions)
    targets = np.bincount(index, state.precisions * partition.y) / totals
    numbers = (np.array([value]) for value in (state.log_noise, state.alpha))
    moved = State(state.log_variances, state.f, _NONE, _NONE, *numbers, state.log_nu.copy())
    # Squares about the targets, and the number of rows, are the same for all α and ν.
    problem = make_problem(targets, totals, 0.0, log_masses, state.alpha, state.log_nu[0], False)

    def evidence(log_variances):
        steps = 4.0 * np.exp(np.minimum(log_variances, MAX_LOG_VARIANCE))
        return log_evidence(targets, totals, 0.0, state.log_noise, state.f[0], steps)

    HyperMoves(prior, log_masses, moved, rng).update(problem, evidence)
    state.alpha, state.log_nu = float(moved.alpha[0]), moved.log_nu

"""α of the exact cells of one input, by rows that are left out.

The paper chooses α by cross-validation. Here short chains with each of a few values predict every
row without its own target (:mod:`skbayesnn.stable.left_out`), and the value with the largest sum of
log densities is used. α = 0.5 gives fewer and larger jumps than the paper's 1.1. Larger values are
not tried: left-out rows prefer them for some functions that are predicted no better with them.
"""

from copy import copy

import numpy as np

from skbayesnn.stable.partitions.choice import DEFAULT_ALPHA, make_prior
from skbayesnn.stable.posterior import sample_posterior, start_chains

TRIED = (DEFAULT_ALPHA, 0.5)
SHORT = {"n_chains": 2, "n_warmup": 200, "n_posterior_draws": 400, "thin": 1}
"""Chains with each, whatever the lengths of those that follow, which may be continued later."""
LEAST_ROWS = 10
"""With fewer rows, there is nothing to choose by."""


def chooses_alpha(estimator, partition):
    """Whether rows are to choose α.

    Parameters
    ----------
    estimator : StableNNRegressor
    partition : Partition
    """
    on_the_line = partition.may_be_stacked and partition.rows.shape[1] == 1
    chooses = estimator.alpha == "auto" and estimator.sampler == "gibbs" and on_the_line
    return chooses and len(partition.rows) >= LEAST_ROWS


def choose_alpha(estimator, partition, extrapolation, generator, told, context):
    """Whichever value predicts rows that are left out best.

    Parameters
    ----------
    estimator : StableNNRegressor
    partition : Partition
    extrapolation : Extrapolation
        Of the same rows.
    generator : numpy.random.Generator
    told : dict
        What callbacks are told.
    context : sklearn.callback.CallbackContext
        Of the fit; each value is one of its subtasks, after those of its own chains.

    Returns
    -------
    alpha : float
    """
    short = copy(estimator)
    vars(short).update(SHORT)
    sums = []
    for number, alpha in enumerate(TRIED):
        trial = context.subcontext(
            task_name="alpha",
            task_id=estimator.n_chains + number,
            max_subtasks=short.n_chains,
            sequential_subtasks=False,
        )
        trial.call_on_fit_task_begin(**told)
        prior = make_prior(short, partition, alpha)
        starts = start_chains(partition, prior, generator.spawn(short.n_chains))
        found = sample_posterior(short, partition, prior, starts, short.n_warmup, told, trial)
        log_densities, weights = extrapolation.left_out(partition, found["_draws"])
        sums.append(weights @ log_densities)
        trial.call_on_fit_task_end(**told)
    return TRIED[int(np.argmax(sums))]

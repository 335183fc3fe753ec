"""α of the exact cells of one input, by rows that are left out.

The paper chooses α by cross-validation. Here short chains with each of a few values predict every
row without its own target (:mod:`skbayesnn.stable.left_out`), and the sums of log densities are
compared. α = 0.5 gives fewer and larger jumps than the paper's 1.1. α = 1.6 and 2 (without jumps)
suit paths such as random walks. They are used only if they win by far: left-out rows slightly
prefer them for some functions with jumps, which are predicted worse with them.
"""

from copy import copy

from skbayesnn.stable.partitions.choice import DEFAULT_ALPHA, make_prior
from skbayesnn.stable.posterior import sample_posterior, start_chains

TRIED = (DEFAULT_ALPHA, 0.5, 1.6, 2.0)
"""The values above the first are tried in turn, as long as each is better than the one before."""
WINS = 6.0
"""Nats by which values above the first have to be better than the first."""
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

    def score(number):
        """Sum of the log densities of left-out rows, with chains of their own."""
        trial = context.subcontext(
            task_name="alpha",
            task_id=estimator.n_chains + number,
            max_subtasks=short.n_chains,
            sequential_subtasks=False,
        )
        trial.call_on_fit_task_begin(**told)
        prior = make_prior(short, partition, TRIED[number])
        starts = start_chains(partition, prior, generator.spawn(short.n_chains))
        found = sample_posterior(short, partition, prior, starts, short.n_warmup, told, trial)
        log_densities, weights = extrapolation.left_out(partition, found["_draws"])
        trial.call_on_fit_task_end(**told)
        return weights @ log_densities

    default, smaller = score(0), score(1)
    if smaller > default:
        return TRIED[1]
    best, best_score = 0, default
    for number in range(2, len(TRIED)):
        of_larger = score(number)
        if of_larger <= best_score:
            break
        best, best_score = number, of_larger
    return TRIED[best] if best_score > default + WINS else TRIED[0]

"""A Gaussian process beside the network for tables, with the weight that held-out rows give it.

The functions of axis and dense units are rough, so that intervals are far too wide where an exact
smooth rule holds. And chains that have not found all explanations of a small table are too sure of
those that they have found. Held-out rows show both: a fifth of the rows is predicted by short
chains and by a process, which know the other rows. What these predictions are worth decides how
both are mixed (:mod:`skbayesnn.training.beside`). Not in the paper.
"""

import warnings
from copy import copy

import numpy as np

from skbayesnn.stable.partitions.choice import make_partition, make_prior
from skbayesnn.stable.posterior import sample_posterior, start_chains
from skbayesnn.training.beside import ProcessBeside
from skbayesnn.training.rows import copies, hold_out

HELD_OUT = 0.2
"""Part of the rows that judge."""
LEAST_ROWS, MOST_ROWS = 10, 12_000
"""With fewer or more rows there is no process: they are too few to judge, or the short chains take
too long for a process that is given no more than 2000 rows."""
SHORT = {"n_warmup": 200, "n_posterior_draws": 400, "thin": 2}
"""The largest numbers of sweeps and draws by which the network is judged. There are as many chains
as for its predictions: fewer find less, and the process has a larger weight than it should."""


def may_have_process(estimator, partition):
    """Whether a process may take part in predictions.

    Parameters
    ----------
    estimator : StableNNRegressor
    partition : Partition
        Of all rows.
    """
    few_enough = LEAST_ROWS <= len(partition.rows) <= MOST_ROWS
    return estimator.gaussian_process and partition.has_dense_units and few_enough


def learn_process(estimator, X, y, weights, inputs, generator, context):
    """Fit a process, and find its part in predictions.

    Parameters
    ----------
    estimator : StableNNRegressor
        The scale of its targets must be known already.
    X : ndarray of shape (n, n_features)
    y, weights : ndarray of shape (n,)
        Standardised targets, and positive weights.
    inputs : InputScaling
    generator : numpy.random.Generator
    context : sklearn.callback.CallbackContext
        Of the fit; its chains are subtasks of one of its subtasks.

    Returns
    -------
    beside : ProcessBeside or None
        None if held-out rows give the process no weight.
    """
    short = copy(estimator)
    for name, most in SHORT.items():
        setattr(short, name, min(getattr(estimator, name), most))
    short.cells = "additive"  # "auto" has other cells for fewer rows
    # Which rows are held out does not depend on their order.
    order = np.lexsort(np.column_stack([X, y]).T)
    X, y, weights = X[order], y[order], weights[order]
    rows, other = hold_out(len(X), HELD_OUT, generator, groups=copies(X, y[:, None]))
    *of_chains, rng, of_process = generator.spawn(short.n_chains + 2)
    held_out = context.subcontext(
        task_name="held-out rows",
        task_id=estimator.n_chains,
        max_subtasks=short.n_chains,
        sequential_subtasks=False,
    )
    told = {"estimator": estimator, "X": X[rows], "y": short._location + short._scale * y[rows]}
    held_out.call_on_fit_task_begin(**told)
    with warnings.catch_warnings():
        # What the fit to all rows warns about, it says itself.
        warnings.simplefilter("ignore")
        partition = make_partition(short, X[rows], y[rows], weights[rows], rng)
        prior = make_prior(short, partition)
        starts = start_chains(partition, prior, of_chains)
        found = sample_posterior(short, partition, prior, starts, short.n_warmup, told, held_out)
    held_out.call_on_fit_task_end(**told)
    vars(short).update(found)
    laws = [short._standardised_law(X[other])]
    Z, targets = inputs.scaled(X), y[:, None]
    beside = ProcessBeside(Z, targets, weights, rows, other, laws, of_process)
    ProcessBeside.agree([beside])
    return beside if beside.part() else None

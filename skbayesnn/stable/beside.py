"""A Gaussian process beside the network, with the weight that held-out rows give it.

The functions of axis and dense units are rough, so that intervals are far too wide where an exact
smooth rule holds. And chains that have not found all explanations of a small table are too sure of
those that they have found. Held-out rows show both: a fifth of the rows is predicted by short
chains and by a process, which know the other rows. What these predictions are worth decides how
both are mixed (:mod:`skbayesnn.training.beside`). Not in the paper.

With the cells of one or two inputs, all functions consist of jumps. If there are few rows, one
fifth cannot judge, so that each fifth judges in turn. If inputs recur, as in an experiment, rows
with the same inputs are held out together: they would tell what the function is there, but nothing
of what it is between the inputs. Where the function jumps, a process would do harm: a priori there
is none in one of two cases.

Of more than some thousand rows, short chains take too long, and are not needed. A row then changes
the posterior little, so that its draws, given all rows, say what it is without one of them, by
importance sampling (Gelfand, Dey and Chang, Bayesian Statistics 4, 1992): the draws have weights
proportional to 1 / p(y_i | f_s), and the density of y_i without its own row is the harmonic mean of
p(y_i | f_s). This is an approximation, by finitely many draws. The process is fitted without the
rows that judge, as before.
"""

from copy import copy, deepcopy
from typing import NamedTuple

import numpy as np

from skbayesnn.stable.left_out import average_left_out, student_log_densities
from skbayesnn.stable.partitions.choice import kind_of_cells, make_partition
from skbayesnn.stable.posterior import sample_posterior, start_chains
from skbayesnn.training.beside import ProcessBeside
from skbayesnn.training.members import recorded_warnings
from skbayesnn.training.rows import copies, hold_out

HELD_OUT, JUDGES = 0.2, 2000
"""Part of the rows that judge, and how many judge at most."""
LEAST_ROWS, MOST_ROWS = 10, 12_000
"""With fewer rows there is no process, as they are too few to judge; with more, there are no short
chains."""
FEW_GROUPS, FOLDS, ALONE = 500, 5, 0.5
"""If all functions consist of jumps: groups of rows up to which folds judge in turn, the number of
folds, and the prior probability that there is no process."""
RECUR = 2
"""Rows with each input, on average, from which on equal inputs are held out together, unless fewer
than ``LEAST_ROWS`` inputs differ."""
SHORT = {"n_warmup": 200, "n_posterior_draws": 400, "thin": 2}
"""The largest numbers of sweeps and draws by which the network is judged. There are as many chains
as for its predictions: fewer find less, and the process has a larger weight than it should."""
SHORT_OF_FOLDS = {"n_warmup": 100, "n_posterior_draws": 200, "thin": 2}
"""The same for each of several folds."""


def may_have_process(estimator, partition):
    """Whether a process may take part in predictions.

    Parameters
    ----------
    estimator : StableNNRegressor
    partition : Partition
        Of all rows.
    """
    enough = len(partition.rows) >= LEAST_ROWS
    return estimator.gaussian_process and partition.may_have_process and enough


class LeftOut(NamedTuple):
    """What the network says of rows that are left out of it.

    Attributes
    ----------
    log_densities, means : ndarray of shape (n,)
        Of their targets.
    """

    log_densities: np.ndarray
    means: np.ndarray

    @classmethod
    def of(cls, cells, draws, X, y):
        """From draws of the posterior given all rows.

        Parameters
        ----------
        cells : Partition
        draws : Draws
        X : ndarray of shape (n, n_features)
        y : ndarray of shape (n,)
            Rows of the partition.

        Returns
        -------
        left_out : LeftOut
        """
        means, variances = cells.predict(draws, X)
        shape = means.shape
        factors = np.broadcast_to(cells.log_noise_factors(draws, cells.inputs.scaled(X)), shape)
        given = [
            student_log_densities(y - means[:, i], variances[:, i], np.exp(h + log_noise), degrees)
            for i, (h, log_noise, degrees) in enumerate(
                zip(factors.T, draws.log_noise, draws.degrees, strict=True)
            )
        ]
        logs = np.stack(given, axis=1)
        log_densities = average_left_out(logs)
        weights = np.exp(log_densities[:, None] - logs) / shape[1]
        return cls(log_densities, np.einsum("ns,ns->n", weights, means))

    def logpdf(self, _):
        """Log densities of the targets, as of a predictive distribution."""
        return self.log_densities

    def mean(self):
        """Means of the targets."""
        return self.means


def learn_process(estimator, X, y, weights, prior, generator, context):
    """Fit a process, and find its part in predictions.

    Parameters
    ----------
    estimator : StableNNRegressor
        With its cells, and the draws of all chains.
    X : ndarray of shape (n, n_features)
    y, weights : ndarray of shape (n,)
        Standardised targets, and positive weights.
    prior : Prior
        Of the network.
    generator : numpy.random.Generator
    context : sklearn.callback.CallbackContext
        Of the fit; short chains are subtasks of its last subtask.

    Returns
    -------
    beside : ProcessBeside or None
        None if held-out rows give the process no weight.
    """
    # Which rows are held out does not depend on their order.
    order = np.lexsort(np.column_stack([X, y]).T)
    X, y, weights = X[order], y[order], weights[order]
    cells = estimator.cells_
    of_jumps = cells.may_be_stacked
    groups = _held_together(X, y, of_jumps)
    splits = _splits(groups, generator, of_jumps and groups.max() < FEW_GROUPS)
    *of_chains, of_process = generator.spawn(estimator.n_chains + 2)
    several, seen, data = [], cells.seen(X), (X, y, weights)
    judging = context.subcontext(
        task_name="held-out rows", task_id=context.max_subtasks - 1, max_subtasks=len(splits)
    )
    told = {"estimator": estimator, "X": X, "y": estimator._location + estimator._scale * y}
    judging.call_on_fit_task_begin(**told)
    for rows, other in splits:
        if len(X) > MOST_ROWS:
            law = LeftOut.of(cells, estimator._draws, X[other], y[other])
        else:
            lengths = SHORT if len(splits) == 1 else SHORT_OF_FOLDS
            law = _of_short_chains(estimator, lengths, prior, data, rows, other, of_chains, judging)
        several.append(ProcessBeside(seen, y[:, None], weights, rows, other, [law], of_process))
    judging.call_on_fit_task_end(**told)
    ProcessBeside.agree(several, ALONE if of_jumps else 0.0, of_folds=True)
    beside, taken = several[0], [each for one in several for each in one.taken[0]]
    beside.taken = [[each._replace(part=each.part / len(several)) for each in taken]]
    return beside if beside.part() else None


def _held_together(X, y, of_jumps):
    """Number of the group of each row: copies, or equal inputs if they recur between jumps."""
    if of_jumps:
        _, groups = np.unique(X, axis=0, return_inverse=True)
        n_inputs = groups.max() + 1
        if n_inputs >= LEAST_ROWS and RECUR * n_inputs <= len(X) <= MOST_ROWS:
            return groups
    return copies(X, y[:, None])


def _splits(groups, generator, in_turn):
    """Rows that processes are fitted to, and rows that judge: once, or each in turn."""
    if not in_turn:
        n = len(groups)
        return [hold_out(n, min(HELD_OUT, JUDGES / n), generator, groups=groups)]
    fold = (generator.permutation(groups.max() + 1) % FOLDS)[groups]
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(FOLDS)]


def _of_short_chains(estimator, lengths, prior, data, rows, other, generators, context):
    """Predictions of held-out rows by chains that know the others."""
    # Copies, since chains that run in other processes would not advance those of the next fold.
    (X, y, weights), (*of_chains, rng) = data, deepcopy(generators)
    short = copy(estimator)
    for name, most in lengths.items():
        setattr(short, name, min(getattr(estimator, name), most))
    short.cells = kind_of_cells(estimator, X)  # "auto" may have other cells for fewer rows
    fold = context.subcontext("fold", max_subtasks=short.n_chains, sequential_subtasks=False)
    told = {"estimator": estimator, "X": X[rows], "y": short._location + short._scale * y[rows]}
    fold.call_on_fit_task_begin(**told)
    with recorded_warnings("ignore"):  # what the fit to all rows warns of, it says itself
        directions = estimator.directions_
        partition = make_partition(short, X[rows], y[rows], weights[rows], rng, directions)
        starts = start_chains(partition, prior, of_chains)
        found = sample_posterior(short, partition, prior, starts, short.n_warmup, told, fold)
    fold.call_on_fit_task_end(**told)
    vars(short).update(found)
    return short._standardised_law(X[other])

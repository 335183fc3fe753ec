"""Pool networks with Gaussian processes: their means, widths, weights and inputs.

Processes are fitted to the rows that a network is trained on, and the held-out rows judge both.
There are two kinds: one for smooth functions (:mod:`skbayesnn.training.process`), and one that is
given the nearest rows (:mod:`skbayesnn.training.neighbour_process`). The held-out rows of all
networks of a pool together determine four things.

1. The mean of each process. Often it is better at the spread of a prediction and the network at its
   mean, or the reverse. The distribution of the process is therefore moved to the mean

       m = (1 − r) m_g + r m_n

   for the means m_g of the process and m_n of the network. The pull r minimises the mean absolute
   error, with or without the rows that are outliers for the process, whichever makes all rows more
   probable: one exception from an exact rule can be the larger part of the error. The mean stays
   where it is, r = 0, if that makes the rows more probable by a nat each: where a process is exact
   at most rows and far off at others, no other mean is. Of a process whose noise is not Gaussian, a
   fiftieth of this is enough.

2. The width. If the processes of a kind find no noise, they are too wide: if a function is smoother
   than draws of a process with squared exponential covariance, it is predicted with smaller errors
   than the variance claims. The variance is then multiplied by a factor of at most one, which
   maximises the likelihood of the rows with a standard normal prior on its logarithm.

3. The weights. The density of row i under the pool is

       (1 − v − w) p_i + v g_i + w h_i

   for the density p_i of the network, and g_i and h_i of the moved processes of both kinds. The
   weights used in predictions are the posterior means of v and w under a uniform prior. If the
   network may be right by itself, as one of jumps where there are jumps, this prior has a part at
   v = w = 0.

4. The inputs. If few inputs matter, there is one smooth process of those and one of all inputs
   (:func:`skbayesnn.training.process.processes`). If inputs have heavy tails, there are processes
   of their normal scores, and of the inputs as they are. Of each kind, the one with the largest
   likelihood of the rows, averaged over the uniform prior of its weight beside the network alone,
   is taken.

Then the processes are given all rows. With few rows, one more process takes part, whose settings
are not estimated from a part of the rows but drawn from their posterior given all
(:mod:`skbayesnn.training.averaged_process`). Its mean stays where it is. All held-out rows judge it
beside the pool above, which it takes its part from. Not in the papers.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError
from scipy.special import expit, logit, logsumexp

from skbayesnn.gaussian_process.drawn_settings import FEW_ROWS, counted
from skbayesnn.numerics.copies import counted_once
from skbayesnn.numerics.workers import ALONE
from skbayesnn.predictive import moved
from skbayesnn.training.averaged_process import AveragedProcess, averaged_part, settings_of
from skbayesnn.training.held_out import (
    LEAST_PART,
    HeldOut,
    best_move,
    expected_parts,
    log_chances,
)
from skbayesnn.training.neighbour_process import neighbour_processes
from skbayesnn.training.normal_scores import scores_of_heavy, unchanged
from skbayesnn.training.process import processes


class Taken(NamedTuple):
    """A process that takes part in predictions.

    Attributes
    ----------
    process : FittedProcess
    pull : float
        How far its mean is moved to that of the network, from 0 to 1.
    factor : float
        On its variance.
    part : float
        Its weight.
    """

    process: object
    pull: float
    factor: float
    part: float

    def mean(self, mean, of_network):
        """Where a mean of the process is moved to."""
        return (1.0 - self.pull) * mean + self.pull * of_network

    def law(self, X, means):
        """The moved distribution of the process.

        Parameters
        ----------
        X : ndarray of shape (m, n_inputs)
        means : ndarray of shape (m,)
            Of the network.

        Returns
        -------
        law : PredictiveMixture
        """
        law = self.process(X)
        return moved(law, self.mean(law.mean(), means), np.sqrt(self.factor))


class _Few(NamedTuple):
    """Few rows, of which some are held out, and a seed for what is drawn given them."""

    X: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    other: np.ndarray
    seed: int


class ProcessBeside:
    """Gaussian processes of each target beside one network, with their parts of the prediction.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Standardised.
    targets : ndarray of shape (n, n_targets)
    weights : ndarray of shape (n,)
        How many rows each row stands for.
    rows, other : ndarray of int
        Rows that the network was trained on, and that were held out.
    known : list of PredictiveMixture
        Of the held-out rows under the network, one for each target, in the units of the targets.
    generator : numpy.random.Generator
        Chooses rows where there are too many.
    smooth : bool, default=True
        Whether there are processes for smooth functions.
    workers : skbayesnn.numerics.workers.Workers, optional
        Threads that share out the work of those that are given the nearest rows.
    n_searches : int, default=1
        How many searches for the settings of these are pooled. Where networks are pooled, each has
        a search of its own.

    Attributes
    ----------
    taken : list of list of Taken
        Of each target; empty where there is no process.
    candidates : list of list of list of list of (FittedProcess, HeldOut), or None
        Of each target, kind and scaling of the inputs, until networks agree: of all inputs and,
        where there is one, of few. Kinds of which none could be fitted are empty.
    known : list of tuple of ndarray, or None
        Of each target, what held-out rows count, their log densities under the network and the
        processes that take part, and whether they are near all of these, until networks agree; None
        where those of the network are not finite.
    few : _Few or None
        The rows, where they are few, until networks agree.
    """

    def __init__(
        self, X, targets, weights, rows, other, known, generator,
        smooth=True, workers=ALONE, n_searches=1,
    ):  # fmt: skip
        self.few = None
        if smooth and counted(weights) < FEW_ROWS:
            self.few = _Few(X, targets, weights, other, int(generator.integers(2**32)))
        kinds = [partial(neighbour_processes, workers=workers, n_searches=n_searches)]
        kinds = [processes, *kinds] if smooth else kinds
        self.taken, self.candidates = [[] for _ in known], [[] for _ in known]
        self.known = [None] * len(known)
        scores = scores_of_heavy(X, weights)
        scalings = [scores] if scores is unchanged else [scores, unchanged]
        for t, (column, network) in enumerate(zip(targets.T, known, strict=True)):
            counts = counted_once(X, column, weights)[other]
            judged = counts, network.logpdf(column[other]), network.mean()
            if not np.isfinite(judged[1]).all():
                continue
            self.known[t] = *judged[:2], np.ones(len(other), bool)
            for kind in kinds:
                found = [
                    _fitted(kind, scaling, rows, other, (X, column, weights), judged, generator)
                    for scaling in scalings
                ]
                self.candidates[t].append([pairs for pairs in found if pairs])
            self._follow(t, [self])

    @staticmethod
    def _follow(target, several, alone=0.0):
        """Take processes, pulls, factors and parts from the held-out rows of several.

        Returns
        -------
        chance : float
            The posterior probability that there are processes, zero if it is below ``LEAST_PART``;
            ``alone`` is the prior probability that there are none.
        """
        of_kinds = [
            _best(kind)
            for kind in zip(*(each.candidates[target] for each in several), strict=True)
            if all(kind)
        ]
        if not of_kinds:
            return 1.0
        logs, given = 0.0, []
        for i, rows in enumerate(of_kinds[0].held):
            laws = [kind.held[i].judged(kind.pull, kind.factor) for kind in of_kinds]
            given.append([rows.log_densities, *laws])
            logs = logs + log_chances(given[-1], rows.weights)
        own = sum(rows.weights @ rows.log_densities for rows in of_kinds[0].held)
        chance = float(expit(logit(1.0 - alone) + logsumexp(logs) - np.log(logs.size) - own))
        chance = chance if chance >= LEAST_PART else 0.0
        parts = chance * expected_parts(logs, 1 + len(of_kinds))
        shares = np.array([1.0 - parts.sum(), *parts])[:, None]
        nears = [[held.near for held in kind.held] for kind in of_kinds]
        nears = [np.all(each, axis=0) for each in zip(*nears, strict=True)]
        for each, laws, near in zip(several, given, nears, strict=True):
            each.known[target] = each.known[target][0], logsumexp(laws, axis=0, b=shares), near
        for i, each in enumerate(several):
            each.taken[target] = [
                Taken(kind.processes[i], kind.pull, kind.factor, part)
                for kind, part in zip(of_kinds, parts, strict=True)
                if part > 0
            ]
        return chance

    @staticmethod
    def agree(several, alone=0.0, of_folds=False):
        """Let the processes beside pooled networks follow all held-out rows, and forget these.

        Parameters
        ----------
        several : list of ProcessBeside
            Of the same targets; changed.
        alone : float, default=0.0
            Prior probability that the networks predict best without processes.
        of_folds : bool, default=False
            Whether the held-out rows are those of folds, each held out once.
        """
        for t in range(len(several[0].taken)):
            some = [each for each in several if any(each.candidates[t])]
            chance = ProcessBeside._follow(t, some, alone) if some else 1.0
            some = [e for e in several if e.few is not None and e.known[t] is not None]
            if some and chance > 0:
                ProcessBeside._average(t, some, chance, 1 if of_folds else len(several))
        for each in several:
            each.candidates = each.few = each.known = None

    @staticmethod
    def _average(target, several, chance, times):
        """Let a process that is averaged over its settings take part, of rows that are no outliers.

        Each row may be held out by as many as ``times`` networks.
        """
        first, others = several[0].few, np.concatenate([each.few.other for each in several])
        known = zip(*(each.known[target] for each in several), strict=True)
        counts, log_densities, near = map(np.concatenate, known)
        kept = np.ones(len(first.X), bool)
        kept[others[~near]] = False
        if not kept.any():
            return
        column, weights = first.targets[:, target], first.weights[kept]
        rows = first.X[kept], column[kept], weights
        settings = settings_of(*rows, np.random.default_rng(first.seed))
        whole = AveragedProcess(settings, *rows)
        own = whole(first.X).logpdf(column)
        own[kept] = whole.left_out().logpdf(column[kept])
        part = chance * averaged_part(weights, own[others], log_densities, counts / times)
        for i, each in enumerate(several):
            # Each network has a share of the draws, at least one.
            share = settings[i % len(settings) :: len(several)]
            process = AveragedProcess(share, each.few.X[kept], column[kept], weights)
            taken = [old._replace(part=(1.0 - part) * old.part) for old in each.taken[target]]
            each.taken[target] = [*taken, Taken(process, 0.0, 1.0, part)]

    def part(self, target=0):
        """Weight of all processes in predictions."""
        return float(sum(each.part for each in self.taken[target]))

    def replace_draws(self, draws, X, means, generator):
        """Put functions of the processes, with noise, in place of their parts of the draws.

        Parameters
        ----------
        draws : ndarray of shape (m, n_draws)
            Of the network, the first target; changed.
        X : ndarray of shape (m, n_inputs)
        means : callable
            Gives the network's means of rows, (m, n_targets).
        generator : numpy.random.Generator
        """
        ends = np.cumsum([each.part for each in self.taken[0]])
        which = np.searchsorted(ends, generator.random(draws.shape[1]), side="right")
        for i, each in enumerate(self.taken[0]):
            number = int(np.sum(which == i))
            if number:
                mean = each.process(X).mean()
                onto = each.mean(mean, means(X)[:, 0] if each.pull else 0.0)
                gaps = each.process.draws(X, number, generator) - mean[:, None]
                draws[:, which == i] = onto[:, None] + np.sqrt(each.factor) * gaps


def _fitted(kind, scaling, rows, other, data, judged, generator):
    """Processes fitted to some rows, which are then given all but outliers of the held-out ones.

    Parameters
    ----------
    kind : callable
        Fits the processes of one kind.
    scaling : callable
        Of the inputs.
    rows, other : ndarray of int
        To fit to, and held out.
    data : tuple of ndarray
        Inputs, targets and weights of all rows.
    judged : tuple of ndarray
        What the held-out rows count, and their log densities and means under the network.
    generator : numpy.random.Generator

    Returns
    -------
    pairs : list of (FittedProcess, HeldOut)
        Empty where the covariance is singular.
    """
    X, targets, weights = data
    try:
        found = kind(X[rows], targets[rows], weights[rows], generator, scaling)
        laws = [process(X[other]) for process in found]
    except LinAlgError:
        return []
    pairs = []
    for process, law in zip(found, laws, strict=True):
        held = HeldOut(targets[other], *judged, law)
        if not np.isfinite(law.logpdf(targets[other])).all():
            break
        given = np.concatenate([rows, other[held.near]])
        process.give(*(part[given] for part in data), generator)
        pairs.append((process, held))
    return pairs


class _Best(NamedTuple):
    """The processes of a kind, one for each of several networks, with their held-out rows."""

    processes: tuple
    pull: float
    factor: float
    held: tuple


def _best(candidates):
    """The processes of a kind that held-out rows favour.

    Parameters
    ----------
    candidates : tuple of list of list of (FittedProcess, HeldOut)
        Of each of several networks, and of each scaling of the inputs.

    Returns
    -------
    best : _Best
    """
    best, out = -np.inf, None
    for i in range(max(map(len, candidates))):
        of_scaling = [scalings[: i + 1][-1] for scalings in candidates]
        for k in range(max(map(len, of_scaling))):
            found, held = zip(*(pairs[: k + 1][-1] for pairs in of_scaling), strict=True)
            exact = all(each.without_noise for each in found)
            shaped = any(each.has_shape for each in found)
            pull, factor, logs = best_move(held, exact, shaped)
            if logsumexp(logs) > best:
                best, out = logsumexp(logs), _Best(found, pull, factor, held)
    return out

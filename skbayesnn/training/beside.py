"""Pool networks with a Gaussian process: its mean, width, weight and inputs, from held-out rows.

A process is fitted to the rows that a network is trained on, and the held-out rows judge both. The
held-out rows of all networks of a pool together determine four things.

1. The mean. Often the process is better at the spread of a prediction and the network at its mean,
   or the reverse. The distribution of the process is therefore moved to the mean

       m = (1 − r) m_g + r m_n

   for the means m_g of the process and m_n of the network. The pull r minimises the mean absolute
   error, with or without the rows that are outliers for the process, whichever makes all rows more
   probable: one exception from an exact rule can be the larger part of the error. The mean stays
   where it is, r = 0, if that makes the rows more probable by a nat each: where a process is exact
   at most rows and far off at others, no other mean is.

2. The width. If all processes find no noise, they are too wide: if a function is smoother than
   draws of a process with squared exponential covariance, it is predicted with smaller errors than
   the variance claims. The variance is then multiplied by a factor of at most one, which maximises
   the likelihood of the rows with a standard normal prior on its logarithm.

3. The weight. The density of row i under the pool of the two is

       (1 − v) p_i + v g_i

   for the density p_i of the network and g_i of the moved process. The weight used in predictions
   is the posterior mean of v under a uniform prior.

4. The inputs. If few inputs matter, there is one process of those and one of all inputs
   (:func:`skbayesnn.training.process.processes`). If inputs have heavy tails, there are such
   processes of their normal scores, and of the inputs as they are. The one with the largest
   likelihood of the rows, averaged over the uniform prior of v, is taken.

Then the process is given all rows. Not in the papers.
"""

import numpy as np
from scipy.linalg import LinAlgError
from scipy.special import logsumexp

from skbayesnn.predictive import linear_pool, moved
from skbayesnn.training.held_out import HeldOut, best_move, expected_part
from skbayesnn.training.normal_scores import NormalScores, heavy_columns, unchanged
from skbayesnn.training.process import processes

AWAY = 0.5
"""Part of processes without noise, times their weight, in predictions away from the rows."""


class ProcessBeside:
    """A Gaussian process of each target beside one network, with its part of the prediction.

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

    Attributes
    ----------
    parts : ndarray of shape (n_targets,)
        Zero where there is no process.
    pulls : ndarray of shape (n_targets,)
        How far the mean of the process is moved to that of the network, from 0 to 1.
    factors : ndarray of shape (n_targets,)
        On the variance of the process.
    candidates : list of (list of list of (GaussianProcess, HeldOut)) or None
        Of each target and scaling of the inputs, until networks agree: of all inputs and, where
        there is one, of few.
    """

    def __init__(self, X, targets, weights, rows, other, known, generator):
        n_targets = targets.shape[1]
        self.parts, self.pulls = np.zeros(n_targets), np.zeros(n_targets)
        self.factors = np.ones(n_targets)
        self.processes, self.candidates = [None] * n_targets, [[] for _ in range(n_targets)]
        heavy = heavy_columns(X, weights)
        scalings = [NormalScores(X, weights, heavy), unchanged] if heavy.size else [unchanged]
        for t, (column, network) in enumerate(zip(targets.T, known, strict=True)):
            told = column[other]
            judged = network.logpdf(told), network.mean()
            if not np.isfinite(judged[0]).all():
                continue
            for scaling in scalings:
                pairs = []
                try:
                    found = processes(X[rows], column[rows], weights[rows], generator, scaling)
                    laws = [process(X[other]) for process in found]
                except LinAlgError:
                    continue  # without any scaling, the network is left alone
                for process, law in zip(found, laws, strict=True):
                    held = HeldOut(told, weights[other], *judged, law)
                    if not np.isfinite(law.logpdf(told)).all():
                        break
                    given = np.concatenate([rows, other[held.near]])
                    process.give(X[given], column[given], weights[given], generator)
                    pairs.append((process, held))
                if pairs:
                    self.candidates[t].append(pairs)
            if self.candidates[t]:
                self._follow(t, [self])

    @staticmethod
    def _follow(target, several):
        """Take process, pull, factor and part from the held-out rows of several."""
        best = -np.inf
        several_of = [each.candidates[target] for each in several]
        for i in range(max(map(len, several_of))):
            of_scaling = [scalings[: i + 1][-1] for scalings in several_of]
            for k in range(max(map(len, of_scaling))):
                found, held = zip(*(pairs[: k + 1][-1] for pairs in of_scaling), strict=True)
                pull, factor, logs = best_move(held, all(each.without_noise for each in found))
                if logsumexp(logs) > best:
                    best, part = logsumexp(logs), expected_part(logs)
                    for each, process in zip(several, found, strict=True):
                        each.processes[target] = process
                        each.pulls[target], each.factors[target] = pull, factor
                        each.parts[target] = part

    @staticmethod
    def agree(several):
        """Let the processes beside pooled networks follow all held-out rows, and forget these.

        Parameters
        ----------
        several : list of ProcessBeside
            Of the same targets; changed.
        """
        for t in range(len(several[0].parts)):
            some = [each for each in several if each.processes[t] is not None]
            if some:
                ProcessBeside._follow(t, some)
        for each in several:
            each.candidates = None

    def law(self, X, means, target=0):
        """The moved distribution of the process.

        Parameters
        ----------
        X : ndarray of shape (m, n_inputs)
        means : ndarray of shape (m,)
            Of the network.
        target : int, default=0

        Returns
        -------
        law : PredictiveMixture
        """
        law, pull = self.processes[target](X), self.pulls[target]
        return moved(law, (1.0 - pull) * law.mean() + pull * means, np.sqrt(self.factors[target]))

    def replace_draws(self, draws, X, means, generator):
        """Put functions of the process, with noise, in place of its part of the draws.

        Parameters
        ----------
        draws : ndarray of shape (m, n_draws)
            Of the network, the first target; changed.
        X : ndarray of shape (m, n_inputs)
        means : callable
            Gives the network's means of rows, (m, n_targets).
        generator : numpy.random.Generator
        """
        which = generator.random(draws.shape[1]) < self.parts[0]
        if which.any():
            process, pull = self.processes[0], self.pulls[0]
            mean = process(X).mean()
            onto = (1.0 - pull) * mean + (pull * means(X)[:, 0] if pull else 0.0)
            gaps = process.draws(X, int(which.sum()), generator) - mean[:, None]
            draws[:, which] = onto[:, None] + np.sqrt(self.factors[0]) * gaps


def pooled(networks, beside, inputs, target=0):
    """The predictive distributions of networks, pooled with those of their processes.

    Parameters
    ----------
    networks : list of PredictiveMixture
        One for each network, of m rows.
    beside : list of ProcessBeside or None
        None where a network has none.
    inputs : list of ndarray of shape (m, n_inputs)
        As each of them was given inputs.
    target : int, default=0

    Returns
    -------
    law : PredictiveMixture
    """
    n = len(networks)
    pairs = [
        (each.parts[target] / n, each.law(X, network.mean(), target))
        for network, each, X in zip(networks, beside, inputs, strict=True)
        if each is not None and each.parts[target] > 0
    ]
    parts = [part for part, _ in pairs]
    own = np.full(n, (1.0 - sum(parts)) / n)
    return linear_pool([*networks, *(law for _, law in pairs)], [*own, *parts])


def with_processes(chance, gaussians, beside, inputs, target=0):
    """The prediction away from the rows, half of it by processes that find no noise.

    The prediction there has one length scale for all inputs and is wide. A process without noise
    often knows better how the function continues, but its variance, learned among the rows, is
    often too small there. It takes half of the prediction, times its weight, as it is: neither
    moved nor narrowed.

    Parameters
    ----------
    chance, gaussians
        What :class:`skbayesnn.training.unseen.Unseen` gives for m rows.
    beside : list of ProcessBeside or None
    inputs : list of ndarray of shape (m, n_inputs)
        As each of them was given inputs.
    target : int, default=0

    Returns
    -------
    chance, gaussians
        The same for this target alone.
    """
    if gaussians is None:
        return chance, None
    weights, *moments = gaussians
    means, variances = (part[:, [target]] for part in moments)
    laws = [
        (AWAY / len(beside) * each.parts[target], each.processes[target](X[chance > 0]))
        for each, X in zip(beside, inputs, strict=True)
        if each is not None and each.parts[target] > 0 and each.processes[target].without_noise
    ]
    left = 1.0 - sum(part for part, _ in laws)
    return chance, (
        np.concatenate([left * weights, *(part * law.weights for part, law in laws)]),
        np.concatenate([means, *(law.means[:, None] for _, law in laws)], axis=2),
        np.concatenate([variances, *(law.variances[:, None] for _, law in laws)], axis=2),
    )

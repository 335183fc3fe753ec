"""What held-out rows say about a Gaussian process beside a network: mean, width and weight.

The rules are those of :mod:`skbayesnn.training.beside`, which has the process.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from skbayesnn.predictive import PredictiveMixture, moved

STEPS = {2: 100, 3: 16}
"""Into so many parts, each weight of a pool of so many laws is divided."""
LEAST_PART = 0.01
"""A process with a smaller part is left out."""
PULLS = np.linspace(0.0, 1.0, 21)
LOG_FACTOR_STEP, LEAST_LOG_FACTOR = 0.25, -8.0
"""Of the search of the width."""
OWN_LEAD = 1.0
"""Nats a row by which the unmoved mean has to win against that of the least absolute error. Small
gains in likelihood cost more in absolute error than they are worth."""
LEAD_OF_SHAPES = 0.02
"""The same where the noise is not Gaussian: modes and edges have places, which a move takes them
away from."""
FARTHEST = 8.0
"""Standard deviations from its prediction beyond which a held-out row is an outlier: a process
would follow it if it were given the row."""


def grid(n_laws):
    """Weights of a pool that are compared, spread evenly.

    Parameters
    ----------
    n_laws : {2, 3}

    Returns
    -------
    weights : ndarray of shape (n_points, n_laws)
        With sum one.

    Examples
    --------
    >>> grid(2)[:2]
    array([[0.995, 0.005],
           [0.985, 0.015]])
    """
    steps = np.arange(STEPS[n_laws])
    if n_laws == 2:
        free = (steps[:, None] + 0.5) / len(steps)
    else:
        # The centres of equal triangles: of each square of two weights, one or two are possible.
        corners = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
        free = np.concatenate([corners + 1.0 / 3.0, corners + 2.0 / 3.0]) / len(steps)
        free = free[free.sum(axis=1) < 1.0]
    return np.column_stack([1.0 - free.sum(axis=1), free])


def log_chances(log_densities, weights):
    """Log likelihoods of the weights of a pool, at those of :func:`grid`.

    Parameters
    ----------
    log_densities : list of ndarray of shape (n,)
        Of the rows under two or three laws.
    weights : ndarray of shape (n,)
        How many rows each row stands for.

    Returns
    -------
    logs : ndarray of shape (n_points,)
        But for a constant.
    """
    log_parts = np.log(grid(len(log_densities)))
    pools = log_parts[:, :1] + log_densities[0]
    for log_part, own in zip(log_parts.T[1:], log_densities[1:], strict=True):
        np.logaddexp(pools, log_part[:, None] + own, out=pools)
    return pools @ weights


def expected_parts(logs, n_laws):
    """Mean weights of all laws but the first, with a uniform prior.

    Parameters
    ----------
    logs : ndarray of shape (n_points,)
        See :func:`log_chances`.
    n_laws : {2, 3}

    Returns
    -------
    parts : ndarray of shape (n_laws - 1,)
        In [0, 1); zero where it is below ``LEAST_PART``.

    Examples
    --------
    >>> import numpy as np
    >>> logs = log_chances([np.zeros(8), np.full(8, 1.0)], np.ones(8))
    >>> expected_parts(logs, 2).round(2)
    array([0.84])
    """
    chances = np.exp(logs - logs.max())
    parts = chances @ grid(n_laws)[:, 1:] / chances.sum()
    return np.where(parts >= LEAST_PART, parts, 0.0)


class HeldOut(NamedTuple):
    """Held-out rows of one target, with the predictions of a network and of a process.

    Attributes
    ----------
    targets, weights : ndarray of shape (n,)
    log_densities, means : ndarray of shape (n,)
        Of the network.
    law : PredictiveMixture
        Of the process.
    """

    targets: np.ndarray
    weights: np.ndarray
    log_densities: np.ndarray
    means: np.ndarray
    law: PredictiveMixture

    def mean(self, pull):
        """Of the process, moved, (n,)."""
        return (1.0 - pull) * self.law.mean() + pull * self.means

    def error(self, pull):
        """Weighted sum of the absolute errors of that mean."""
        return self.weights @ np.abs(self.targets - self.mean(pull))

    @property
    def near(self):
        """Which rows are not farther from the process than ``FARTHEST``, (n,)."""
        return np.abs(self.targets - self.law.mean()) <= FARTHEST * self.law.std()

    def without_outliers(self):
        """The rows that are near."""
        near = self.near
        return HeldOut(*(part[near] for part in self))

    def judged(self, pull, factor):
        """Log densities under the moved distribution of the process."""
        return moved(self.law, self.mean(pull), np.sqrt(factor)).logpdf(self.targets)


def best_pull(held):
    """The part of the networks' means in the mean of the processes.

    Parameters
    ----------
    held : list of HeldOut

    Returns
    -------
    pull : float
        One of ``PULLS``.
    """
    errors = [sum(each.error(pull) for each in held) for pull in PULLS]
    return float(PULLS[np.argmin(errors)])


def best_factor(held, pull):
    """The factor on the variances of processes that makes held-out rows most probable; at most 1.

    Parameters
    ----------
    held : list of HeldOut
    pull : float

    Returns
    -------
    factor : float
    """

    def log_posterior(log_factor):
        rows = sum(each.weights @ each.judged(pull, np.exp(log_factor)) for each in held)
        return rows - 0.5 * log_factor**2

    best, score = 0.0, log_posterior(0.0)
    while best > LEAST_LOG_FACTOR:
        other = log_posterior(best - LOG_FACTOR_STEP)
        if other <= score:
            break
        best, score = best - LOG_FACTOR_STEP, other
    return float(np.exp(best))


def best_move(held, exact, shaped=False):
    """How the distributions of processes are moved, and the likelihoods of the weight given that.

    Parameters
    ----------
    held : list of HeldOut
    exact : bool
        Whether no process finds noise.
    shaped : bool, default=False
        Whether the noise of one is not Gaussian.

    Returns
    -------
    pull, factor : float
    logs : ndarray of shape (n_parts,)
        See :func:`log_chances`.
    """

    def given(pull):
        factor = best_factor(held, pull) if exact else 1.0
        logs = sum(
            log_chances([each.log_densities, each.judged(pull, factor)], each.weights)
            for each in held
        )
        return pull, factor, logs

    def likelihood(move):
        return logsumexp(move[2])

    pulls = best_pull(held), best_pull([each.without_outliers() for each in held])
    moves = {pull: given(pull) for pull in dict.fromkeys((*pulls, 0.0))}
    best = max((moves[pull] for pull in pulls), key=likelihood)
    lead = (LEAD_OF_SHAPES if shaped else OWN_LEAD) * sum(each.weights.sum() for each in held)
    return moves[0.0] if likelihood(moves[0.0]) > likelihood(best) + lead else best

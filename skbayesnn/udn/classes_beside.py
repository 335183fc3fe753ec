"""Pool networks with a Gaussian process for classes, with exponents from held-out rows.

The hyperparameters of the process (:mod:`skbayesnn.udn.class_process`) are learned from the
training rows of the first network. For each network of a pool, the process is then given the rows
that the network was trained on, and the held-out rows judge both. With probabilities p_l of the
network at depth l, which has the weight q_l, and g of the process, class c of a row has the
probability

    Σ_l q_l p_lc^a g_c^b / Σ_d p_ld^a g_d^b,

to which :mod:`skbayesnn.training.label_noise` adds that a share of the labels may be random.

The exponents a and b and this share are posterior means given the held-out rows of all networks. A
priori, a + b is N(1, 0.15²), or N(1, 0.6²) in one case of ten, and b / (a + b) is uniform. A sum
above one means that the two together are more certain than each alone. It may be far above if
labels are clean, or if some are random, since both are too uncertain when they were fitted to such
labels. A mixture (1 − v) p + v g, as in the regressors, would be less certain than both, even where
they are right for different reasons. Finally, the process is given all rows. Not in the papers.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

from skbayesnn.training.label_noise import (
    LABEL_NOISES,
    LOG_PRIOR,
    noisy_log_likelihoods,
    with_label_noise,
)
from skbayesnn.training.process import SEARCH_ROWS, at_most
from skbayesnn.udn.class_process import ClassProcess, indicator_lengths, label_settings

MOST_CLASSES = 20
"""There is no process for more."""
SEARCH_WORK, MOST_WORK = 1.3e8, 1e9
"""Bounds of the number of functions times the cube of the rows, by which settings are learned and
that the process is given."""
SUMS, SHARES = np.linspace(0.4, 2.4, 21), np.linspace(0.0, 1.0, 21)
"""Exponents that are tried, a + b and b / (a + b)."""
SUM_STDS, SUM_CHANCES = np.array([0.15, 0.6]), np.array([0.9, 0.1])
"""Of the normal distributions that a + b may have a priori."""
MOST_HELD = 2000
"""Held-out rows of a network that it is judged by."""


def most_rows(work, n_classes):
    """Rows for which factorisations of all functions stay within the work."""
    return int((work / (1 if n_classes == 2 else n_classes)) ** (1 / 3))


class HeldOutClasses(NamedTuple):
    """Rows that a network was trained on, others that were held out, and what it says of these.

    Attributes
    ----------
    rows, other : ndarray of int
    by_depth : ndarray of shape (n_depths, n_held, n_classes)
        Probabilities of the held-out rows.
    q : ndarray of shape (n_depths,)
        Probability of each depth.
    """

    rows: np.ndarray
    other: np.ndarray
    by_depth: np.ndarray
    q: np.ndarray


def product(by_depth, process, exponents):
    """Probabilities of network and process, multiplied with exponents and normalised.

    Parameters
    ----------
    by_depth : ndarray of shape (n_depths, n, n_classes)
    process : ndarray of shape (n, n_classes)
    exponents : tuple of two floats
        Of the network and of the process.

    Returns
    -------
    probabilities : ndarray of shape (n_depths, n, n_classes)
    """
    a, b = exponents
    return np.exp(log_softmax(a * logs_of(by_depth) + b * logs_of(process), axis=-1))


def logs_of(probabilities):
    """Logarithms, finite."""
    return np.log(np.maximum(probabilities, np.finfo(float).tiny))


def log_likelihoods(by_depth, q, process, codes, weights):
    """Of held-out rows, for all exponents and shares of random labels that are tried.

    Parameters
    ----------
    by_depth, q
        See :class:`HeldOutClasses`.
    process : ndarray of shape (n, n_classes)
        Probabilities.
    codes, weights : ndarray of shape (n,)

    Returns
    -------
    logs : ndarray of shape (n_sums, n_shares, n_label_noises)
    """
    rows, out = np.arange(len(codes)), np.empty((len(SUMS), len(SHARES), len(LABEL_NOISES)))
    left, right = logs_of(by_depth), logs_of(process)
    for i, total in enumerate(SUMS):
        for j, share in enumerate(SHARES):
            both = total * ((1.0 - share) * left + share * right)
            both = np.exp(both - both.max(axis=-1, keepdims=True))
            own = q @ (both[:, rows, codes] / both.sum(axis=-1))
            out[i, j] = noisy_log_likelihoods(own, weights, process.shape[1])
    return out


def calibration(logs):
    """Posterior means of the exponents of network and process, and of the share of random labels.

    Parameters
    ----------
    logs : ndarray of shape (n_sums, n_shares, n_label_noises)
        See :func:`log_likelihoods`.

    Returns
    -------
    exponents : tuple of two floats
    label_noise : float
    """
    prior = np.exp(-0.5 * ((SUMS - 1.0) / SUM_STDS[:, None]) ** 2)
    prior = SUM_CHANCES @ (prior / prior.sum(axis=1, keepdims=True))
    chances = softmax(logs + np.log(prior)[:, None, None] + LOG_PRIOR)
    total = float(SUMS @ chances.sum(axis=(1, 2)))
    b = float(SUMS @ chances.sum(axis=2) @ SHARES)
    return (total - b, b), float(chances.sum(axis=(0, 1)) @ LABEL_NOISES)


class ClassesBeside:
    """A Gaussian process beside the networks of a pool.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Of about unit scale.
    codes : ndarray of int of shape (n,)
        Number of the class of each row.
    weights : ndarray of shape (n,)
        How many rows each row stands for.
    held : list of HeldOutClasses
        Of each network.
    generator : numpy.random.Generator
        Chooses rows where there are too many.

    Attributes
    ----------
    exponents : tuple of two floats
        Of the networks and of the process.
    label_noise : float
        Share of rows whose label is any class at random.
    process : ClassProcess

    Raises
    ------
    scipy.linalg.LinAlgError
        A covariance is singular.
    """

    def __init__(self, X, codes, weights, held, generator):
        n_classes = held[0].by_depth.shape[-1]
        data, most = (X, codes, weights), most_rows(MOST_WORK, n_classes)

        def given(rows):
            chosen = at_most(tuple(part[rows] for part in data), most, generator)
            return ClassProcess(settings, *chosen, n_classes)

        few = min(SEARCH_ROWS, most_rows(SEARCH_WORK, n_classes))
        first = at_most(tuple(part[held[0].rows] for part in data), few, generator)
        settings = label_settings(indicator_lengths(*first, generator), *first, n_classes)
        logs = 0.0
        for each in held:
            some_held = each.other, np.arange(len(each.other))
            other, at = at_most(some_held, MOST_HELD, generator)
            g = given(each.rows).probabilities(X[other])
            logs += log_likelihoods(each.by_depth[:, at], each.q, g, codes[other], weights[other])
        self.exponents, self.label_noise = calibration(logs)
        self.process = given(np.arange(len(X)))

    def pooled(self, by_depth, X):
        """Probabilities of the networks with those of the process, and with label noise.

        Parameters
        ----------
        by_depth : ndarray of shape (n_depths, n, n_classes)
            Of the networks.
        X : ndarray of shape (n, n_inputs)

        Returns
        -------
        by_depth : ndarray of shape (n_depths, n, n_classes)
        """
        by_depth = product(by_depth, self.process.probabilities(X), self.exponents)
        return with_label_noise(by_depth, self.label_noise)

    @property
    def weight(self):
        """Part of the process in the sum of the exponents."""
        return self.exponents[1] / sum(self.exponents)

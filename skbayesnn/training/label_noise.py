"""A share of rows whose label is any class at random.

A softmax grows certain away from the borders of classes, so that it cannot express that a few
labels are wrong everywhere. With a share e of such rows, C classes have the probabilities
(1 - e) p + e / C. A priori, labels are random in one case of ten, and e is then exponential. Rows
that were left out of the fit determine it, together with whatever else they calibrate. Not in the
papers.
"""

import numpy as np

CHANCE, RATE = 0.1, 10.0
"""A priori: that any labels are random, and one over the mean share of them if so."""
LABEL_NOISES = np.linspace(0.0, 0.98, 21) ** 2
"""Shares that are tried."""


def _log_prior():
    # Each share stands for those that are nearer to it than to the others.
    masses = np.exp(-RATE * LABEL_NOISES[1:]) * np.gradient(LABEL_NOISES)[1:]
    return np.log(np.append(1.0 - CHANCE, CHANCE * masses / masses.sum()))


LOG_PRIOR = _log_prior()
"""Of these shares."""


def noisy_log_likelihoods(own, weights, n_classes):
    """Of rows that were left out, for each share of random labels that is tried.

    Parameters
    ----------
    own : ndarray of shape (n,)
        Probability of each row's class, if no label is random.
    weights : ndarray of shape (n,)
        How many rows each row stands for.
    n_classes : int

    Returns
    -------
    logs : ndarray of shape (n_label_noises,)
    """
    p = np.outer(own, 1.0 - LABEL_NOISES) + LABEL_NOISES / n_classes
    return weights @ np.log(np.maximum(p, np.finfo(float).tiny))


def with_label_noise(p, label_noise):
    """Class probabilities where a share of the labels is random.

    Parameters
    ----------
    p : ndarray of shape (..., n_classes)
    label_noise : float
        The share.

    Returns
    -------
    p : ndarray of shape (..., n_classes)

    Examples
    --------
    >>> import numpy as np
    >>> with_label_noise(np.array([0.0, 1.0]), 0.1)
    array([0.05, 0.95])
    """
    return (1.0 - label_noise) * p + label_noise / p.shape[-1]

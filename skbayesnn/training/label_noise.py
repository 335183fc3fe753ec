"""A share of rows whose label is any class at random.

A softmax grows certain away from the borders of classes, so that it cannot express that a few
labels are wrong everywhere. With a share e of such rows, C classes have the probabilities
(1 - e) p + e / C. A priori e is exponential. Rows that were left out of the fit determine it. It is
zero unless it is more than two standard errors from there, and otherwise the least share within one
standard error of the most probable. Not in the papers.
"""

RATE = 20.0
"""Of the share a priori; its mean is 1 / RATE."""
STANDARD_ERROR, LEAST_GAIN = 0.5, 2.0
"""Nats by which a log posterior density falls within one standard error, and within two."""


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

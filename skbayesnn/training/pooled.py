"""Predictions of networks together with the processes beside them, and of those away from the rows.

:mod:`skbayesnn.training.beside` has the processes, and how they get their parts. Not in the papers.
"""

import numpy as np

from skbayesnn.predictive import linear_pool

AWAY = 0.5
"""Part of processes without noise, times their weight, in predictions away from the rows."""


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
        (taken.part / n, taken.law(X, network.mean()))
        for network, each, X in zip(networks, beside, inputs, strict=True)
        if each is not None
        for taken in each.taken[target]
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
        (AWAY / len(beside) * taken.part, taken.process(X[chance > 0]))
        for each, X in zip(beside, inputs, strict=True)
        if each is not None
        for taken in each.taken[target]
        if taken.process.without_noise
    ]
    left = 1.0 - sum(part for part, _ in laws)
    return chance, (
        np.concatenate([left * weights, *(part * law.weights for part, law in laws)]),
        np.concatenate([means, *(law.means[:, None] for _, law in laws)], axis=2),
        np.concatenate([variances, *(law.variances[:, None] for _, law in laws)], axis=2),
    )

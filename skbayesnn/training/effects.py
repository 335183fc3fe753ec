"""Effects of the inputs on the predicted mean of a network.

The effect of an input is how much the predicted mean changes per standard deviation of the input,
in standard deviations of the residuals. Networks of unbounded depth scale the inputs of later
networks of a pool by the effects in earlier ones, computed from held-out rows
(:mod:`skbayesnn.udn.relevance`). Effects also define the distances between rows
(:mod:`skbayesnn.training.unseen`). Not in the paper.
"""

import numpy as np

STEP = 0.1
"""Half of the step of the difference, in deviations of an input."""
LEAST = 0.03
"""No input counts for nothing: a smaller effect may be chance."""
LEAST_UNEXPLAINED = 1e-3
"""In units of the targets: without any noise all inputs that do anything count."""
MOST_ROWS = 500
"""Rows that are looked at."""
INPUTS_A_CALL, MOST_ENTRIES = 100, 2_000_000
"""One input in so many is shifted in each call of the mean, since some models draw their networks
anew in each; fewer if the shifted rows would have more entries than the second number."""


def input_effects(mean, X, targets, weights):
    """Effect of each input on a mean, beside what the mean leaves unexplained.

    Parameters
    ----------
    mean : callable
        From inputs (n, n_inputs) to predicted means (n, n_targets).
    X : ndarray of shape (n, n_inputs)
    targets : ndarray of shape (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)
        How many rows each row stands for.

    Returns
    -------
    effects : ndarray of shape (n_inputs,)
        The largest of any target's; 0 for a constant input.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.normal(size=(400, 3)), rng.normal(size=(400, 1))
    >>> slopes = np.array([[1.0], [0.5], [0.0]])
    >>> input_effects(lambda X: X @ slopes, X, X @ slopes + noise, np.ones(400)).round(1)
    array([0.9, 0.5, 0. ])
    """
    X, targets, weights = X[:MOST_ROWS], targets[:MOST_ROWS], weights[:MOST_ROWS]
    misses = np.abs(targets - mean(X))
    typical = np.quantile(misses, 0.5, axis=0, weights=weights, method="inverted_cdf")
    unexplained = typical / 0.6745
    unexplained = np.hypot(unexplained, LEAST_UNEXPLAINED)
    centre = np.average(X, axis=0, weights=weights)
    spreads = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=weights))
    effects = np.zeros(X.shape[1])
    n_at_once = max(1, min(len(spreads) // INPUTS_A_CALL, MOST_ENTRIES // X.size))
    moving = np.flatnonzero(spreads > 0)
    for begin in range(0, len(moving), n_at_once):
        chosen = moving[begin : begin + n_at_once]
        steps = np.zeros((len(chosen), 1, X.shape[1]))
        steps[np.arange(len(chosen)), 0, chosen] = STEP * spreads[chosen]
        ends = (mean(rows.reshape(-1, X.shape[1])) for rows in (X + steps, X - steps))
        above, below = (values.reshape(len(chosen), len(X), -1) for values in ends)
        for j, slopes in zip(chosen, (above - below) / (2.0 * STEP), strict=True):
            squares = np.average(slopes**2, axis=0, weights=weights)
            effects[j] = np.max(np.sqrt(squares) / unexplained)
    return effects


def distance_units(effects):
    """What normalised inputs are multiplied by for rows to be as far apart as their means may be.

    Parameters
    ----------
    effects : list of ndarray of shape (n_inputs,)
        Of each network; none at all leave inputs as they are.

    Returns
    -------
    units : ndarray of shape (n_inputs,) or float
        From ``LEAST`` to 1. It is 1 for an input without any effect: that was constant, so nobody
        knows what it does.

    Examples
    --------
    >>> distance_units([np.array([2.0, 0.5, 0.0])])
    array([1.  , 0.25, 1.  ])
    """
    if not effects:
        return 1.0
    size = np.sqrt(np.mean(np.square(effects), axis=0))
    return np.where(size > 0, np.maximum(size / (size.max() or 1.0), LEAST), 1.0)

"""Which inputs matter to a network of a pool, by what they do in those that were trained before it.

The effect of an input is how much the predicted mean changes with it, a standard deviation of the
input, in standard deviations of what the mean leaves unexplained of rows that were held out. With
e² its mean square over the networks so far, what a normalised input is multiplied by is

    e² / (e² + 64 / n),

over the largest, for n rows: an input that does nothing has an effect of some multiple of n^(−1/2)
by chance, and is all but taken away; where there is little noise, small effects count in full.
Gradients alone do not take inputs away: steps of Adam are as large for all of them. Not in the
paper.
"""

import numpy as np

STEP = 0.1
"""Half of the step of the difference, in deviations of an input."""
HALF = 8.0
"""Effect by which an input counts for half, times the root of the number of rows."""
LEAST = 0.03
"""No input is taken away for good: the networks that follow may find that it matters."""
LEAST_UNEXPLAINED = 1e-3
"""In units of the targets: without any noise all inputs that do anything count."""
MOST_ROWS = 500
"""Held-out rows that are looked at."""


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
    unexplained = np.array([_median(column, weights) for column in misses.T]) / 0.6745
    unexplained = np.hypot(unexplained, LEAST_UNEXPLAINED)
    centre = np.average(X, axis=0, weights=weights)
    spreads = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=weights))
    effects = np.zeros(X.shape[1])
    for j in np.flatnonzero(spreads > 0):
        step = np.zeros(X.shape[1])
        step[j] = STEP * spreads[j]
        slopes = (mean(X + step) - mean(X - step)) / (2.0 * STEP)
        squares = np.average(slopes**2, axis=0, weights=weights)
        effects[j] = np.max(np.sqrt(squares) / unexplained)
    return effects


def _median(values, weights):
    """The weighted median: of the middle values the lower."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weights[order])
    return values[order[np.searchsorted(mass, 0.5 * mass[-1])]]


def relevances(effects, n_rows):
    """What the normalised inputs of the next network are multiplied by.

    Parameters
    ----------
    effects : list of ndarray of shape (n_inputs,)
        Of each network so far.
    n_rows : float

    Returns
    -------
    relevance : ndarray of shape (n_inputs,)
        From ``LEAST`` to 1.

    Examples
    --------
    >>> import numpy as np
    >>> relevances([np.array([2.0, 0.5, 0.05])], 256).round(2)
    array([1.  , 0.53, 0.03])
    """
    squares = np.mean(np.square(effects), axis=0)
    relevance = squares / (squares + HALF**2 / n_rows)
    largest = relevance.max()
    return np.maximum(relevance / largest, LEAST) if largest > 0 else np.ones(len(relevance))


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

"""Oblique directions: linear combinations of the inputs that the parts of the model see as well.

An axis unit sees one input, but a hidden unit may have any direction. Where a function jumps along
an oblique border, or depends on several discrete inputs at once, no single input shows it. So the
model may be given two further inputs, x·w₁ and x·w₂, each with an axis part and a length scale.

They are the directions in which a smooth function that follows the targets varies most: the leading
eigenvectors of the mean over rows of ∇m ∇m', where m is the posterior mean of a Gaussian process
with a squared exponential kernel (the active subspace of m: Constantine, 2015). Where inputs are
discrete, the evidence decides which small weights are zero. They are used if they raise the log
density of the rows, each given all others, under the Gaussian limit of the model
(:mod:`~skbayesnn.stable.additive.scales`): by three standard errors, and by a nat for each of the
numbers that they consist of. Like the length scales, they are then fixed. Not in the paper.

All weights are not moved to a maximum of the evidence: with a gradient for them, the directions
order the rows by their noise, and tables of 60 to 300 rows lost up to 1.4 nats.
"""

from copy import deepcopy

import numpy as np

from skbayesnn.gaussian_process.conditioned import Process
from skbayesnn.gaussian_process.evidence import search, start_of
from skbayesnn.stable.additive.limit_objective import LimitObjective
from skbayesnn.stable.additive.modes import gain_of
from skbayesnn.stable.additive.scales import (
    bounds_alike,
    fit_gaussian_limits,
    search_limit,
    start_alike,
)

NUMBER = 2
"""Of directions."""
MOST_INPUTS = 50
"""There are none with more."""
_ERRORS = 3.0
_DIGITS = 4
# Where inputs are discrete, it matters which rows agree in a direction.
_LEAST_WEIGHTS = 0.0, 0.001, 0.002, 0.004, 0.008
_START, _ITERATIONS, _LEAST_LOG_NOISE = (0.5, 0.1), 50, -8.0


def with_directions(X, directions):
    """Rows with x·w of all directions as further columns, (n, n_features + n_directions).

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    directions : ndarray of shape (n_features, n_directions)
    """
    if not directions.size:
        return X
    # Not a matrix product, in which a row's digits would depend on the rows beside it.
    further = sum(x[:, None] * w for x, w in zip(X.T, directions, strict=True))
    return np.concatenate([X, further], axis=1)


def smooth_gradients(X, y, weights):
    """Gradient at the rows of the posterior mean of a process with a length scale for each input.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Standardised, like y.
    y, weights : ndarray of shape (n,)

    Returns
    -------
    gradients : ndarray of shape (n, n_features)
        Zero where the covariance is singular.
    """
    start = start_of(X.shape[1], *_START)
    found = search(start, X, y[:, None], weights, _ITERATIONS, _LEAST_LOG_NOISE)
    if found is None:
        return np.zeros_like(X)
    return Process(found.x, X, y, weights, weights).gradients()


def leading_directions(X, gradients):
    """Directions in which a function with these gradients varies most.

    Parameters
    ----------
    X, gradients : ndarray of shape (n, n_features)

    Returns
    -------
    directions : ndarray of shape (n_features, n_directions)
        Such that x·w has standard deviation one, as the inputs have, but for rounding. The largest
        entry of each is positive.
    """
    return of_unit_spread(X, np.linalg.eigh(gradients.T @ gradients)[1][:, ::-1][:, :NUMBER])


def of_unit_spread(X, vectors):
    """Directions such that x·w has standard deviation one: rounded, the largest entry positive."""
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    # Rounded, so that rounding errors do not choose between equal directions.
    vectors = np.round(vectors * signs, _DIGITS)
    spreads = np.array([float(f"{spread:.{_DIGITS}g}") for spread in (X @ vectors).std(axis=0)])
    return vectors / np.where(spreads > 0.0, spreads, 1.0)


def without_small_weights(X, y, weights, directions):
    """The directions, with those small weights set to zero whose absence raises the evidence.

    A weight that is an error of estimation puts rows in order that agree in all inputs that matter.
    Without it, they agree in the direction as well.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Standardised, like y.
    y, weights : ndarray of shape (n,)
    directions : ndarray of shape (n_features, n_directions)

    Returns
    -------
    directions : ndarray of shape (n_features, n_directions)
        Of unit spread, as :func:`leading_directions` returns them.
    first : scipy.optimize.OptimizeResult or None
        Result of the search with them that decided; None if there was nothing to decide.
    """
    candidates = {}
    for least in _LEAST_WEIGHTS:
        candidate = of_unit_spread(X, np.where(np.abs(directions) < least, 0.0, directions))
        rows = with_directions(X, candidate)
        # Without further ties, it is as good as the one before.
        candidates.setdefault(tuple(np.unique(x).size for x in rows.T), (candidate, rows))
    if len(candidates) == 1:
        return directions, None
    n_inputs, found = sum(directions.shape), []
    start, bounds = start_alike(n_inputs), bounds_alike(n_inputs)
    for candidate, rows in candidates.values():
        end = search_limit(LimitObjective(rows, y, weights).alike, start, bounds)
        found.append((candidate, end))
        start = found[0][1].x
    return min(found, key=lambda each: each[1].fun)


def fit_limits_and_directions(X, y, weights, rng, may_be_rough=True, directions=None):
    """The Gaussian limits of the model, and oblique directions if they predict better.

    Parameters
    ----------
    X, y, weights, rng, may_be_rough
        See :func:`~skbayesnn.stable.additive.scales.fit_gaussian_limits`.
    directions : ndarray of shape (n_features, n_directions), optional
        To use these; None to find them.

    Returns
    -------
    limits : list of GaussianLimit
        For rows with these directions.
    directions : ndarray of shape (n_features, n_directions)
        Without columns if they do not predict better.
    """
    if directions is not None:
        X = with_directions(X, directions)
        return fit_gaussian_limits(X, y, weights, rng, may_be_rough), directions
    n_features, again = X.shape[1], deepcopy(rng)
    limits, none = fit_gaussian_limits(X, y, weights, rng, may_be_rough), np.empty((n_features, 0))
    if not 1 < n_features <= MOST_INPUTS:
        return limits, none
    rows = limits[0].rows
    told = X[rows], y[rows], weights[rows]
    directions = leading_directions(X[rows], smooth_gradients(*told))
    directions, first = without_small_weights(*told, directions)
    # The generator as it was: left-out densities of the same rows are compared.
    turned = with_directions(X, directions)
    turned = fit_gaussian_limits(turned, y, weights, again, may_be_rough, first)
    gain, error = gain_of(turned[0], limits[0])
    if gain > max(_ERRORS * error, directions.size):
        return turned, directions
    return limits, none

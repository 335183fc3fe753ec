"""How certain class probabilities are, by rows that the output layer has not seen.

The mean over draws of the approximate posterior may be less certain of the classes than the rows
justify, or more certain, and the softmax cannot express that a few labels are wrong everywhere. So
predicted probabilities are (1 - e) q_c + e / C with q_c proportional to p_c^(1/T): one temperature
T, and one share e of rows whose label is any of the C classes at random.

The pseudo-observations are learned without a fifth of the rows in turn, given the trained hidden
layers. A priori, log T is normal and e exponential. T is the value nearest to one that is within a
standard error of the most probable for the rows that were left out, because a temperature that is
too low costs more, by a few errors that are nearly certain, than one that is too high. e is zero
unless it is more than two standard errors from there. It is then the least share within one
standard error of the most probable, and T is the most probable given that share.

The hidden layers have been trained on all rows, those that are left out included. With a few
hundred rows that matters little. With fewer, T is drawn to one and e to zero
(:meth:`skbayesnn.dwp.model.Model.learn_calibration`). Not in the paper.
"""

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.special import log_softmax

from skbayesnn.dwp.prediction import InducingOutput
from skbayesnn.dwp.pseudo_observations import start_output
from skbayesnn.training.label_noise import LEAST_GAIN, RATE, STANDARD_ERROR
from skbayesnn.training.rows import copies

FOLDS = 5
ENOUGH_ROWS = 1000
"""Folds are left out in turn until so many rows have been."""
STD = 0.25
"""Of log T a priori."""
LOG_TEMPERATURES = -2.0, 2.0


def left_out_log_probabilities(model, X, Y, weights):
    """Log probabilities of rows of which the output layer was not told.

    Copies of a row are left out together (:func:`skbayesnn.training.rows.copies`).

    Parameters
    ----------
    model : Model
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_classes)
        Standardised inputs, and indicators.
    weights : ndarray of shape (n,)

    Returns
    -------
    rows : ndarray of int of shape (n_left_out,)
    log_p : ndarray of shape (n_left_out, n_classes)
    """
    fold = copies(X, Y) % FOLDS
    rows, parts = [], []
    for k in range(FOLDS):
        others, own = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if len(others) == 0 or len(own) == 0 or sum(map(len, rows)) >= ENOUGH_ROWS:
            continue
        theta = model.theta.copy()
        known = X[others], Y[others], weights[others], weights[others].sum()
        start_output(model.sizes, model.sizes.views(theta), *known, model.generator)
        output = InducingOutput(model.sizes, theta, model.noise)
        rows.append(own)
        parts.append(model.class_probabilities(output, X[own]))
    if not rows:
        return np.empty(0, dtype=int), np.empty((0, Y.shape[1]))
    return np.concatenate(rows), np.log(np.maximum(np.concatenate(parts), 1e-300))


def best_calibration(log_p, Y, weights):
    """The temperature and the share of random labels that the module describes.

    Parameters
    ----------
    log_p, Y : ndarray of shape (n, n_classes)
        Log probabilities, and indicators of the classes.
    weights : ndarray of shape (n,)

    Returns
    -------
    temperature, label_noise : float

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet(np.ones(3), size=1000)
    >>> Y = np.array([rng.multinomial(1, row) for row in p])
    >>> flat = np.sqrt(p) / np.sqrt(p).sum(axis=1, keepdims=True)  # as of a temperature of two
    >>> temperature, label_noise = best_calibration(np.log(flat), Y, np.ones(1000))
    >>> round(temperature, 1), label_noise
    (0.5, 0.0)
    """

    def loss(log_temperature, label_noise):
        own = (log_softmax(log_p / np.exp(log_temperature), axis=1) * Y).sum(axis=1)
        with np.errstate(divide="ignore"):  # no label is random, or all are
            right, random = np.log1p(-label_noise), np.log(label_noise / Y.shape[1])
        prior = 0.5 * (log_temperature / STD) ** 2 + RATE * label_noise
        return prior - weights @ np.logaddexp(right + own, random)

    def best(label_noise):
        return minimize_scalar(loss, bounds=LOG_TEMPERATURES, args=(label_noise,), method="bounded")

    noisy = minimize_scalar(lambda e: best(e).fun, bounds=(0.0, 1.0), method="bounded")
    plain = best(0.0)
    if plain.fun > noisy.fun + LEAST_GAIN:
        limit = noisy.fun + STANDARD_ERROR
        label_noise = brentq(lambda e: best(e).fun - limit, 0.0, noisy.x, xtol=1e-5)
        return float(np.exp(best(label_noise).x)), float(label_noise)
    limit = plain.fun + STANDARD_ERROR
    if loss(0.0, 0.0) <= limit:
        return 1.0, 0.0
    ends = sorted((0.0, plain.x))
    return float(np.exp(brentq(lambda t: loss(t, 0.0) - limit, *ends))), 0.0

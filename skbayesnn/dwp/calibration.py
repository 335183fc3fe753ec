"""How certain class probabilities are, by rows that the output layer has not seen.

The mean over draws of the approximate posterior may be less certain of the classes than the rows
justify, or more certain, and the softmax cannot express that a few labels are wrong everywhere. So
predicted probabilities are (1 - e) q_c + e / C with q_c proportional to p_c^(1/T): one temperature
T, and one share e of rows whose label is any of the C classes at random.

The pseudo-observations are learned without a fifth of the rows in turn, given the trained hidden
layers. A priori, log T is N(0, 0.25²), and e as in :mod:`skbayesnn.training.label_noise`. Log T and
e are their posterior means given the rows that were left out.

The hidden layers have been trained on all rows, those that are left out included. With a few
hundred rows that matters little. With fewer, T is drawn to one and e to zero
(:meth:`skbayesnn.dwp.model.Model.learn_calibration`). Not in the paper.
"""

import numpy as np
from scipy.special import softmax

from skbayesnn.dwp.prediction import InducingOutput
from skbayesnn.dwp.pseudo_observations import start_output
from skbayesnn.training.label_noise import LABEL_NOISES, LOG_PRIOR, noisy_log_likelihoods
from skbayesnn.training.rows import copies

FOLDS = 5
ENOUGH_ROWS = 1000
"""Folds are left out in turn until so many rows have been."""
LOG_TEMPERATURES = np.linspace(-1.4, 1.4, 29)
"""Those that are tried."""
STD = 0.25
"""Of the log temperature a priori. A wider prior gains with two inputs; but the more the hidden
layers know of the rows that are left out, the more these favour temperatures that are too low."""


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
    """Posterior means of the log temperature, as a temperature, and of the share of random labels.

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
    >>> round(temperature, 1), round(label_noise, 2)
    (0.5, 0.0)
    """
    prior = -0.5 * (LOG_TEMPERATURES / STD) ** 2
    logs = np.empty((len(LOG_TEMPERATURES), len(LABEL_NOISES)))
    for i, log_temperature in enumerate(LOG_TEMPERATURES):
        own = (softmax(log_p / np.exp(log_temperature), axis=1) * Y).sum(axis=1)
        logs[i] = noisy_log_likelihoods(own, weights, Y.shape[1])
    chances = softmax(logs + prior[:, None] + LOG_PRIOR)
    mean = chances.sum(axis=1) @ LOG_TEMPERATURES
    return float(np.exp(mean)), float(chances.sum(axis=0) @ LABEL_NOISES)

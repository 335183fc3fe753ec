"""Gaussian noise of each row that stands for a law of noise.

Given a law (:mod:`skbayesnn.gaussian_process.noise`) a row has Gaussian noise of a precision of
its own, around a target of its own. Conditioning and training see rows with such targets, and with
the precisions as weights, so that nothing in them is new. The precisions are in units of the
learned noise variance, and their sum is that of the weights:

    weight_i = w_i E[1/v_i] u / σ_i²,    Σ weight_i = Σ w_i,

since only then the evidence of weighted rows (:func:`skbayesnn.gaussian_process.evidence.evidence`)
has the right slope in the noise variance. The law and the settings of a process are learned in
turns.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from skbayesnn.gaussian_process.conditioned import Process
from skbayesnn.gaussian_process.evidence import search
from skbayesnn.gaussian_process.learned_noise import choose_law

ROUNDS, ITERATIONS = 3, 20
"""Turns of the law and the settings of the process, and steps of a search for these."""
LEAST_PRECISION = 1e-6
"""Of a row, beside the mean: its part in a prediction is then still told from rounding."""


@dataclass(frozen=True)
class Seen:
    """Rows as conditioning and training see them.

    Attributes
    ----------
    targets : ndarray of shape (n, 1)
    weights : ndarray of shape (n,)
        Of sum Σ w.
    unit : float
        u, the variance of noise of weight one.
    """

    targets: np.ndarray
    weights: np.ndarray
    unit: float


def seen_through(law, X, y, means, spreads, weights):
    """Rows with their own Gaussian noise in the place of the law's.

    Parameters
    ----------
    law : NoiseLaw
    X : ndarray of shape (n, n_inputs)
    y : ndarray of shape (n,)
    means, spreads : ndarray of shape (n,)
        Of the function at the rows, given all others.
    weights : ndarray of shape (n,)
        How many rows each stands for.

    Returns
    -------
    seen : Seen
    """
    targets, precisions = law.stand_ins(X, y, means, spreads)
    precisions = weights * np.maximum(precisions, LEAST_PRECISION * precisions.mean())
    unit = float(weights.sum() / precisions.sum())
    return Seen(targets[:, None], precisions * unit, unit)


def start_with_law(X, y, weights, some, theta, least_log_noise, gaussian, n_candidates=None):
    """Let the noise and the settings of a Gaussian process take turns.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Standardised.
    y : ndarray of shape (n,)
        Standardised.
    weights : ndarray of shape (n,)
        How many rows each stands for.
    some : ndarray of int
        Rows that the process was fitted to.
    theta : ndarray of shape (n_inputs + 2,)
        Its settings, found with Gaussian noise.
    least_log_noise : float
        Bound of the log of the noise variance.
    gaussian : bool
        Whether Gaussian noise, or a mixture, may be the answer.
    n_candidates : int, optional
        Inputs that these were chosen from; by default these are all.

    Returns
    -------
    theta : ndarray of shape (n_inputs + 2,)
    seen : Seen or None
        Of all rows; None where the noise is Gaussian.
    law : NoiseLaw or None
    """
    own, known, copies = X[some], y[some], weights[some]
    try:
        process = Process(theta, own, known, copies, copies)
    except LinAlgError:
        return theta, None, None
    moments, shape = process.left_out(), None
    for _ in range(ROUNDS):
        law, shape, _ = choose_law(own, known, *moments, copies, gaussian=gaussian, like=shape)
        if law is None:
            return theta, None, None
        seen = seen_through(law, own, known, *moments, copies)
        begin = np.append(theta[:-1], np.log(seen.unit))
        found = search(
            begin, own, seen.targets, seen.weights, ITERATIONS, least_log_noise, n_candidates
        )
        theta = begin if found is None else found.x
        process = Process(theta, own, seen.targets[:, 0], seen.weights, copies)
        moments = process.left_out()
    law, _, _ = choose_law(own, known, *moments, copies, like=shape)
    if law is None:
        return theta, None, None
    means, spreads = np.empty((2, len(X)))
    other = np.setdiff1d(np.arange(len(X)), some)
    means[some], spreads[some] = moments
    means[other], spreads[other] = process.predict(X[other])
    return theta, seen_through(law, X, y, means, spreads, weights), law


def with_noise(law, X, at, means, variances, factors=None):
    """Mixtures of the function's law and that of the noise.

    Parameters
    ----------
    law : NoiseLaw
    X : ndarray of shape (n, n_inputs)
    at : ndarray of shape (n,)
        Predicted means, which the scale of the noise may depend on.
    means, variances : ndarray of shape (n_draws, n)
        Of the function.
    factors : ndarray of shape (n_draws,), optional
        What the variance of the noise is multiplied by in each draw.

    Returns
    -------
    chances : ndarray of shape (K n_draws,) or (n, K n_draws)
    means, variances : ndarray of shape (n, K n_draws)
    """
    n_draws, n = means.shape
    factors = np.ones(n_draws) if factors is None else factors
    chances, shifts, squares = law.gaussians(X, at)
    roots = np.sqrt(factors)[:, None]
    means = means.T[:, :, None] + roots * shifts[:, None]
    variances = variances.T[:, :, None] + factors[:, None] * squares[:, None]
    return np.tile(chances / n_draws, n_draws), means.reshape(n, -1), variances.reshape(n, -1)

"""Posterior draws of the settings of a Gaussian process by Hamiltonian Monte Carlo.

Settings are the length scales of the inputs, the signal variance ("height") and the noise variance.
With few rows, or many inputs, their posterior is wide, and its mode attributes the targets to
whichever inputs happen to correlate with them. The draws are made as in Eriksson and Jankowiak (UAI
2021), and as there, the scale of the prior of the length scales is drawn with them: it says how
many inputs matter.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from skbayesnn.gaussian_process.evidence import evidence, relevance_scale, settings_prior

FEW_ROWS = 100
"""From so many rows on, with few inputs, their posterior is narrow."""
STARTS, NOISE = (1.0, 3.0), 0.1
"""Starts of chains: length scales as multiples of the typical distance between two rows, and the
noise variance."""
LOG_SCALE_STD = 2.0
"""Standard deviation of the log scale of the prior of the length scales."""
LARGEST_LOG = 25.0
"""Hyperparameters with a larger absolute logarithm have density zero: numbers would overflow."""
FIRST_STEP, ACCEPTANCE = 0.1, 0.8
"""Initial step size of a trajectory, and target acceptance rate."""

# Precision of the rows that a chain sees, in binary digits of the range of a column.
_BITS = 20


class Length(NamedTuple):
    """Length of a chain: number of warm-up trajectories, which adapt the step size, number of
    trajectories after them, thinning interval, and mean number of steps per trajectory."""

    warm_up: int
    n_states: int
    thinning: int
    n_steps: int


def counted(weights):
    """Sum of the weights, or the number of rows if that is more, because each row costs time."""
    return max(len(weights), float(weights.sum()))


def draw_settings(X, Y, weights, begins, length, generator):
    """Draws of the settings given some rows, from one chain for each start.

    Parameters
    ----------
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)
        How many rows each stands for.
    begins : list of ndarray of shape (n_inputs + 2,)
        Log length scales, log signal variance and log noise variance.
    length : Length
    generator : numpy.random.Generator

    Returns
    -------
    settings : ndarray of shape (n_draws, n_inputs + 1 + n_targets)
        With a log noise variance for each target.
    """
    *rows, _ = merged(X, Y, weights)
    p = X.shape[1]

    def target(state):
        return negative_log_posterior(state, *rows)

    repeats, log_scale = np.append(np.ones(p + 1, int), Y.shape[1]), np.log(relevance_scale(p))
    begins = [np.append(np.repeat(begin, repeats), log_scale) for begin in begins]
    return np.concatenate([chain(target, each, generator, length) for each in begins])[:, :-1]


def negative_log_posterior(state, X, Y, weights):
    """Negative log posterior density of the hyperparameters up to a constant, and its gradient.

    Their prior is :func:`skbayesnn.gaussian_process.evidence.settings_prior` given its scale, whose
    logarithm is normal around that of :func:`skbayesnn.gaussian_process.evidence.relevance_scale`.

    Parameters
    ----------
    state : ndarray of shape (n_inputs + 1 + n_targets + 1,)
        Log length scales, log signal variance, log noise variances, and the log scale of the prior.
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)

    Returns
    -------
    value : float
        Infinite if the covariance has no Cholesky factor or a hyperparameter is out of range.
    gradient : ndarray
    """
    p = X.shape[1]
    if np.abs(state).max() > LARGEST_LOG:
        return np.inf, np.zeros_like(state)
    settings, log_scale = state[:-1], state[-1]
    x = X * np.exp(-settings[:p])
    try:
        loss, d_x, d_height, d_noise, _ = evidence(x, Y, weights, settings[p], settings[p + 1 :])
    except LinAlgError:
        return np.inf, np.zeros_like(state)
    prior, gradient = settings_prior(settings, p, np.exp(log_scale))
    off = (log_scale - np.log(relevance_scale(p))) / LOG_SCALE_STD
    # The prior of a length scale depends on its product with the scale.
    d_log_scale = gradient[:p].sum() + off / LOG_SCALE_STD
    gradient[:p] -= np.einsum("ij,ij->j", d_x, x)
    gradient[p] += d_height
    gradient[p + 1 :] += d_noise
    return loss + prior + 0.5 * off**2, np.append(gradient, d_log_scale)


def chain(target, state, generator, length):
    """Hamiltonian Monte Carlo.

    Parameters
    ----------
    target : callable
        Returns the negative log density at a state and its gradient.
    state : ndarray of shape (k,)
        The first state.
    generator : numpy.random.Generator
    length : Length

    Returns
    -------
    states : ndarray of shape (n_states / thinning, k)
    """
    n_steps, warm_up, n_states = length.n_steps, length.warm_up, length.n_states
    value, gradient = target(state)
    log_step, states = np.log(FIRST_STEP), np.empty((n_states, len(state)))
    for i in range(warm_up + n_states):
        momentum = generator.standard_normal(len(state))
        energy = value + 0.5 * momentum @ momentum
        # Step size and number of steps vary, so that no trajectory returns to its starting point.
        step = np.exp(log_step) * generator.uniform(0.8, 1.2)
        other, slope = state, gradient
        for _ in range(generator.integers(n_steps // 2, 3 * n_steps // 2 + 1)):
            momentum = momentum - 0.5 * step * slope
            other = other + step * momentum
            other_value, slope = target(other)
            if not np.isfinite(other_value):
                break
            momentum = momentum - 0.5 * step * slope
        lost = other_value + 0.5 * momentum @ momentum - energy
        accepted = np.exp(-max(lost, 0.0)) if np.isfinite(lost) else 0.0
        if generator.random() < accepted:
            state, value, gradient = other, other_value, slope
        if i < warm_up:
            log_step += 0.3 * (accepted - ACCEPTANCE) / (1 + i) ** 0.3
        else:
            states[i - warm_up] = state
    return states[length.thinning - 1 :: length.thinning]


def merged(X, Y, weights):
    """Sort the rows, and merge equal rows into one whose weight is the sum of theirs.

    Chains amplify differences in the last bit of a number. All numbers are therefore rounded to
    about a millionth of the range of their column, so that k equal rows give the same chain as one
    row of weight k.

    Parameters
    ----------
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)

    Returns
    -------
    X, Y, weights : ndarray
    which : ndarray of shape (n,) of int
        What each row is merged into.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.array([[2.0], [1.0], [2.0]]), np.array([[0.0], [3.0], [1e-13]])
    >>> [part.ravel().tolist() for part in merged(X, Y, np.ones(3))]
    [[1.0, 2.0], [3.0, 0.0], [1.0, 2.0], [1, 0, 1]]
    """
    rows = np.column_stack([X, Y])
    spans = np.ptp(rows, axis=0)
    # Steps are powers of two, so that multiplication by them is exact.
    steps = np.exp2(np.floor(np.log2(np.where(spans > 0, spans, 1.0))) - _BITS)
    rows = np.where(spans > 0, np.round(rows / steps) * steps, rows) + 0.0  # no negative zeros
    rows, which = np.unique(rows, axis=0, return_inverse=True)
    p = X.shape[1]
    return rows[:, :p].copy(), rows[:, p:].copy(), np.bincount(which, weights), which

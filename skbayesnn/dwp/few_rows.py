"""Posterior draws of the hyperparameters of a Gaussian process, for tables with few rows.

Twenty to a hundred rows do not determine a length scale for every input, and neither do a few
hundred rows with more inputs. The posterior mode attributes the targets to whichever inputs happen
to correlate with them, and predictions that treat its length scales as known are overconfident.
With fewer than a hundred rows, or fewer than two rows per input, a second model therefore takes
part in predictions: the Gaussian process without hidden layers, averaged over posterior draws of
its length scales, signal variance ("height") and noise variance. The draws come from Hamiltonian
Monte Carlo, as in Eriksson and Jankowiak (UAI 2021) for many inputs. As there, the scale of the
prior of the length scales is drawn with them: it says how many inputs matter. Not in the paper.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError

from skbayesnn.dwp.prediction import ExactOutput
from skbayesnn.dwp.sizes import LayerSizes, draw_noise
from skbayesnn.dwp.width import best_width
from skbayesnn.gaussian_process.evidence import (
    evidence,
    relevance_scale,
    settings_prior,
    start_of,
)

FEW_ROWS, ROWS_AN_INPUT = 100, 2
"""From this many rows on, and this many per input, the hidden layers alone predict."""
STARTS, NOISE = (1.0, 3.0), 0.1
"""Starts of the two chains if rows are few: length scales as multiples of the typical distance
between two rows, and the noise variance."""
LOG_SCALE_STD = 2.0
"""Standard deviation of the log scale of the prior of the length scales."""
LARGEST_LOG = 25.0
"""Hyperparameters with a larger absolute logarithm have density zero: numbers would overflow."""
FIRST_STEP, ACCEPTANCE = 0.1, 0.8
"""Initial step size of a trajectory, and target acceptance rate."""

# Precision of the rows that a chain sees, in binary digits of the range of a column, and of its
# start, in decimals.
_BITS, _START_DIGITS = 20, 2


class Length(NamedTuple):
    """Length of a chain: number of warm-up trajectories, which adapt the step size, number of
    trajectories after them, thinning interval, and mean number of steps per trajectory."""

    warm_up: int
    n_states: int
    thinning: int
    n_steps: int


LONG, SHORT = Length(50, 50, 2, 12), Length(10, 20, 1, 8)
"""Lengths of chains below and from :data:`FEW_ROWS` rows. With more rows, a step costs as much as
an iteration of the search for the start, and the chain begins where that search ends."""


def chance_of_settings(weights, n_inputs):
    """Weight of the second model, which falls linearly from one (no rows) to zero.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        How many rows each stands for.
    n_inputs : int

    Examples
    --------
    >>> import numpy as np
    >>> [chance_of_settings(np.ones(n), n_inputs=8) for n in (25, 50, 100)]
    [0.75, 0.5, 0.0]
    >>> chance_of_settings(np.ones(300), n_inputs=600)
    0.75
    """
    return max(0.0, 1.0 - _n_rows(weights) / max(FEW_ROWS, ROWS_AN_INPUT * n_inputs))


def _n_rows(weights):
    """Sum of the weights, or the number of rows if that is more, because each row costs time."""
    return max(len(weights), float(weights.sum()))


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

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.array([[2.0], [1.0], [2.0]]), np.array([[0.0], [3.0], [1e-13]])
    >>> [part.ravel().tolist() for part in merged(X, Y, np.ones(3))]
    [[1.0, 2.0], [3.0, 0.0], [1.0, 2.0]]
    """
    rows = np.column_stack([X, Y])
    spans = np.ptp(rows, axis=0)
    # Steps are powers of two, so that multiplication by them is exact.
    steps = np.exp2(np.floor(np.log2(np.where(spans > 0, spans, 1.0))) - _BITS)
    rows = np.where(spans > 0, np.round(rows / steps) * steps, rows) + 0.0  # no negative zeros
    rows, which = np.unique(rows, axis=0, return_inverse=True)
    p = X.shape[1]
    return rows[:, :p].copy(), rows[:, p:].copy(), np.bincount(which.ravel(), weights)


class SettingsOutput:
    """Gaussian processes conditioned on all rows, one for each draw of the hyperparameters.

    Parameters
    ----------
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)
        How many rows each stands for.
    found : ndarray of shape (n_inputs + 2,)
        Log length scales, log signal variance and log noise variance from the start of training.
    generator : numpy.random.Generator

    Examples
    --------
    >>> import numpy as np
    >>> X, rng = np.linspace(-1.5, 1.5, 20)[:, None], np.random.default_rng(0)
    >>> output = SettingsOutput(X, np.sin(X), np.ones(20), np.zeros(3), rng)
    >>> means, variances = output.functions(np.array([[0.5], [1.0]]))
    >>> means.shape, bool(0.47 < means[:, 0, 0].mean() < 0.49)  # sin(0.5) is 0.479
    ((50, 1, 2), True)
    """

    def __init__(self, X, Y, weights, found, generator):
        rows = merged(X, Y, weights)

        def target(state):
            return negative_log_posterior(state, *rows)

        p, n_targets = X.shape[1], Y.shape[1]
        if _n_rows(weights) < FEW_ROWS:
            begins, length = [start_of(p, part, NOISE) for part in STARTS], LONG
        else:
            begins, length = [np.round(found, _START_DIGITS)], SHORT
        repeats, log_scale = np.append(np.ones(p + 1, int), n_targets), np.log(relevance_scale(p))
        begins = [np.append(np.repeat(begin, repeats), log_scale) for begin in begins]
        states = [chain(target, begin, generator, length) for begin in begins]
        self.settings = np.concatenate(states)[:, :-1]
        self.log_noise = self.settings[:, p + 1 :]
        sizes = LayerSizes(p, n_targets, 1, 1, 0, "gw")
        noise = draw_noise(sizes, generator, 1, 1)
        self.processes, self.width = [], None
        for settings in self.settings:
            theta = np.zeros(sizes.size())
            parameters = sizes.views(theta)
            parameters["log_length_scales"][:] = settings[:p]
            parameters["log_heights"][:] = settings[p]
            parameters["log_noise"][:] = settings[p + 1 :]
            self.processes.append(ExactOutput(sizes, theta, noise, X, Y, weights))

    @property
    def noise(self):
        """Noise variance of the first target for each draw of the hyperparameters."""
        return np.exp(self.log_noise[:, 0])

    def learn_width(self):
        """Learn from left-out rows how much narrower the predictions should be."""
        parts = [process.left_out(1) for process in self.processes]
        means, variances = map(np.array, zip(*parts, strict=True))
        variance = variances.mean(axis=0) + means.var(axis=0)
        some = self.processes[0]
        errors = some.Y[:, 0] - means.mean(axis=0)
        self.width = best_width(errors, variance, float(self.noise.mean()), some.weights)

    def functions(self, X):
        """Means and variances of the functions, each (n_draws, n_targets, n_new)."""
        parts = [process.predict(X) for process in self.processes]
        return tuple(np.concatenate(each) for each in zip(*parts, strict=True))

    def sample(self, X, generator, n_samples):
        """Joint draws of the function of the first target, each from a randomly chosen process.

        Parameters
        ----------
        X : ndarray of shape (n_new, n_inputs)
            Standardised.
        generator : numpy.random.Generator
        n_samples : int

        Returns
        -------
        samples : ndarray of shape (n_new, n_samples)
        noise : ndarray of shape (n_samples,)
            Noise variance of the process that was chosen for each draw.
        """
        samples = np.empty((len(X), n_samples))
        chosen = generator.integers(len(self.processes), size=n_samples)
        for i in np.unique(chosen):
            columns = np.flatnonzero(chosen == i)
            samples[:, columns] = self.processes[i].sample(X, generator, len(columns))
        return samples, self.noise[chosen]

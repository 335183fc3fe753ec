"""Exact cells for one input: their masses, and collapsed draws and moves that cost O(n).

A hidden unit sign(b + w x) changes sign at one point of the real line, closed to a
circle at infinity, and that point is Cauchy. Cell j > 0 is a change between the sorted
inputs x_{j-1} and x_j, cell 0 a change outside of them, so that (section 2 of the
paper, with the masses of its appendix S.2.1 put right)

    f_j - f_{j-1} = 2 w_j,    f_0 + f_{n-1} = 2 w_0,    w_j ~ N(0, v_j).

Given the v's, f is a random walk with one more observation, 0 = f_0 + f_{n-1} + N(0, 4 v_0):
a Kalman filter gives every conditional law in O(n), without an inverse or a difference
of nearly equal numbers, even where some v's underflow to zero and others overflow.
"""

from math import exp, inf, log, sqrt

import numpy as np

from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.numerics.stable_laws import log_density, sample_log_positive_stable
from skbayesnn.stable.samplers.scales import (
    SIGNAL,
    accepts_variance,
    draw_log_variance,
    log_half_cauchy,
    log_noise_prior,
    propose_log_noise,
)

# Far from the data and for α below one a variance may leave the range of doubles: one so far
# above the noise is no different from an infinite one, and products of it stay finite.
MAX_LOG_VARIANCE = 600.0


def arc(x0, x1):
    """Share of the circle of sign changes between x0 and x1 >= x0, in [0, 1).

    (arctan x1 - arctan x0)/π, without cancellation for close or for large inputs.
    """
    h0, h1 = np.hypot(1.0, x0), np.hypot(1.0, x1)
    sine = (x1 - x0) / h0 / h1
    cosine = 1.0 / h0 / h1 + (x0 / h0) * (x1 / h1)
    return np.arctan2(sine, cosine) / np.pi


def line_log_masses(x):
    """Logarithms of the masses q of the cells.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Distinct inputs in increasing order.

    Returns
    -------
    log_masses : ndarray of shape (n,)
        Cell 0 lies outside the inputs, cell j between x_{j-1} and x_j. They sum to one.
    """
    masses = np.empty(x.shape)
    masses[1:] = arc(x[:-1], x[1:])
    # From the positive half of the circle: 1 - arc(x[0], x[-1]), without cancellation.
    masses[0] = (np.arctan2(1.0, x[-1]) + np.arctan2(1.0, -x[0])) / np.pi
    # Between denormal numbers a mass may vanish.
    return np.log(np.maximum(masses, np.finfo(float).tiny))


@helper
def draw_function(y, noise, steps, rng, f):
    """Draw f given the variances of the cells.

    The corner is put in last, by Matheron's rule: f drawn without it is shifted along
    its covariance with f_0 + f_{n-1}.

    Parameters
    ----------
    y, noise : ndarray of shape (n,)
        Mean of the targets at each distinct input, and its noise variance.
    steps : ndarray of shape (n,)
        4 v_j: variances of f_j - f_{j-1}, the first that of f_0 + f_{n-1}.
    rng : numpy.random.Generator
    f : ndarray of shape (n,)
        Overwritten.
    """
    n = y.shape[0]
    mean, var, to_first, to_last, corner = _filter(y, noise, steps)
    f[n - 1] = mean[n - 1] + sqrt(var[n - 1]) * rng.standard_normal()
    for j in range(n - 2, -1, -1):
        step = steps[j + 1]
        keep = 1.0 / (1.0 + step / var[j])
        spread = var[j] / (1.0 + var[j] / step)
        f[j] = mean[j] + keep * (f[j + 1] - mean[j]) + sqrt(spread) * rng.standard_normal()
    # (f_0 + f_{n-1} + outer_sd N(0, 1))/(corner + outer_sd²), safe where outer_sd overflows.
    outer_sd = sqrt(steps[0])
    shift = (f[0] + f[n - 1]) / (corner + steps[0])
    shift += rng.standard_normal() / (corner / outer_sd + outer_sd)
    for j in range(n):
        f[j] -= (to_first[j] + to_last[j]) * shift


@helper
def _filter(y, noise, steps):
    """Moments of the random walk given y, the corner left out.

    Returns
    -------
    mean, var : ndarray of shape (n,)
        Of f_j given y_0 … y_j.
    to_first, to_last : ndarray of shape (n,)
        Covariances of f_j with f_0 and with f_{n-1} given all of y.
    corner : float
        Variance of f_0 + f_{n-1} given all of y.
    """
    n = y.shape[0]
    mean, var = np.empty(n), np.empty(n)
    to_first, to_last = np.empty(n), np.empty(n)
    # A flat start: the corner makes the law of f_0 proper.
    mean[0], var[0] = y[0], noise[0]
    to_first[0] = 1.0
    for j in range(1, n):
        step = steps[j]
        to_first[j] = to_first[j - 1] / (1.0 + step / var[j - 1])
        gain = 1.0 / (1.0 + noise[j] / (var[j - 1] + step))
        mean[j] = mean[j - 1] + gain * (y[j] - mean[j - 1])
        var[j] = gain * noise[j]
    smoothed = var[n - 1]
    to_last[n - 1] = smoothed
    to_first[n - 1] *= smoothed
    for j in range(n - 2, -1, -1):
        step = steps[j + 1]
        keep = 1.0 / (1.0 + step / var[j])
        smoothed = var[j] / (1.0 + var[j] / step) + keep * keep * smoothed
        to_last[j] = keep * to_last[j + 1]
        to_first[j] *= smoothed
    corner = to_first[0] + 2.0 * to_first[n - 1] + to_last[n - 1]
    return mean, var, to_first, to_last, corner


@helper
def function_moments(y, noise, steps):
    """Posterior moments of f given the variances of the cells: what predictions need.

    The arguments are those of :func:`draw_function`.

    Returns
    -------
    mean, var : ndarray of shape (n,)
        Of f_j given all of y.
    lag : ndarray of shape (n,)
        Covariance of f_{j-1} and f_j; the first entry is that of f_{n-1} and f_0.
    """
    n = y.shape[0]
    filtered, filtered_var, to_first, to_last, corner = _filter(y, noise, steps)
    mean, var, lag = np.empty(n), np.empty(n), np.empty(n)
    mean[n - 1], var[n - 1] = filtered[n - 1], filtered_var[n - 1]
    for j in range(n - 2, -1, -1):
        step = steps[j + 1]
        keep = 1.0 / (1.0 + step / filtered_var[j])
        mean[j] = filtered[j] + keep * (mean[j + 1] - filtered[j])
        lag[j + 1] = keep * var[j + 1]
        var[j] = filtered_var[j] / (1.0 + filtered_var[j] / step) + keep * lag[j + 1]
    lag[0] = to_first[n - 1]
    corner_gain = 1.0 / (corner + steps[0])
    shift = (mean[0] + mean[n - 1]) * corner_gain
    before = to_first[n - 1] + to_last[n - 1]
    for j in range(n):
        here = to_first[j] + to_last[j]
        mean[j] -= here * shift
        var[j] -= here * here * corner_gain
        lag[j] -= before * here * corner_gain
        before = here
    return mean, var, lag


@helper
def draw_variances(
    y, noise, f_first, log_units, log_variances, steps, table, width, from_prior, rng
):
    """Draw every v_j in turn, with all of f but f_0 integrated out; ``steps`` follows.

    By a Metropolis step from the prior or, unless ``from_prior``, by a slice where there is a
    signal (see :func:`~skbayesnn.stable.samplers.scales.move_log_variance`).
    """
    n = y.shape[0]
    # Proposals depend on nothing else: in a loop of their own, the processor overlaps them.
    proposals, new_steps = np.empty(n), np.empty(n)
    for j in range(n):
        proposals[j] = log_units[j] + sample_log_positive_stable(table.a, rng)
        new_steps[j] = 4.0 * exp(min(proposals[j], MAX_LOG_VARIANCE))
    # Backward messages: f_j given y_j … y_{n-1} and the corner, as a likelihood.
    message, message_var = np.empty(n), np.empty(n)
    prior, prior_var = -f_first, steps[0]
    for j in range(n - 1, 0, -1):
        gain = 1.0 / (1.0 + noise[j] / prior_var)
        message[j] = prior + gain * (y[j] - prior)
        message_var[j] = gain * noise[j]
        prior, prior_var = message[j], message_var[j] + steps[j]
    mean, var = f_first, 0.0
    for j in range(1, n + 1):
        # What is known of f_j - f_{j-1}, or of f_0 + f_{n-1}, without the cell's weight.
        if j < n:
            cell, change, change_var = j, message[j] - mean, var + message_var[j]
        elif n > 1:
            cell, change, change_var = 0, -f_first - mean, var
        else:
            # f_0 = w_0 is seen through y alone.
            cell, change, change_var = 0, 2.0 * y[0], 4.0 * noise[0]
        b, delta2 = 0.25 * change_var, 0.25 * change * change
        if not from_prior and delta2 > SIGNAL * b:
            log_variances[cell] = draw_log_variance(
                log_variances[cell], log_units[cell], b, delta2, table, width, rng
            )
            steps[cell] = 4.0 * exp(min(log_variances[cell], MAX_LOG_VARIANCE))
        elif accepts_variance(b + 0.25 * steps[cell], b + 0.25 * new_steps[cell], delta2, rng):
            log_variances[cell], steps[cell] = proposals[cell], new_steps[cell]
        if j < n:
            gain = 1.0 / (1.0 + noise[j] / (var + steps[j]))
            mean += gain * (y[j] - mean)
            var = gain * noise[j]


@kernel
def log_evidence(y, counts, within, log_noise, f_first, steps):
    """Log-likelihood of log σ² with all of f but f_0 integrated out."""
    noise = exp(log_noise)
    mean, var = f_first, 0.0
    total, n_rows = within / noise, 0.0
    # The logarithm of a product costs less than a sum of logarithms.
    product = 1.0
    for j in range(y.shape[0]):
        if j > 0:
            var += steps[j]
        here = noise / counts[j]
        ratio = (var + here) / here
        if ratio > 1e100:
            total += log(ratio)
        else:
            product *= ratio
        if product > 1e100:
            total += log(product)
            product = 1.0
        total += (y[j] - mean) ** 2 / (var + here)
        n_rows += counts[j]
        gain = 1.0 / (1.0 + here / var) if var > 0.0 else 0.0
        mean += gain * (y[j] - mean)
        var = gain * here
    var += steps[0]
    total += log(product) + n_rows * log_noise
    return -0.5 * (total + log(var) + (mean + f_first) ** 2 / var)


@helper
def move_log_noise(y, counts, within, n_rows, log_noise, f_first, steps, rng):
    """A Metropolis step in log σ² that f does not hold back, as it does where σ² is small."""
    proposal = propose_log_noise(log_noise, n_rows, rng)
    log_ratio = (
        log_noise_prior(proposal)
        - log_noise_prior(log_noise)
        + log_evidence(y, counts, within, proposal, f_first, steps)
        - log_evidence(y, counts, within, log_noise, f_first, steps)
    )
    return proposal if -rng.standard_exponential() < log_ratio else log_noise


@helper
def move_log_nu(
    y, counts, within, f_first, log_units, log_variances, steps, state, table, move_scales,
    n_moves, rng,
):  # fmt: skip
    """Metropolis moves of log ν: those of :mod:`skbayesnn.stable.samplers.hyper` at one α.

    Each cell keeps v with the probability v/(v + c), or else is carried: it keeps s.
    """
    n = y.shape[0]
    evidence = log_evidence(y, counts, within, state[1], f_first, steps)
    new, new_steps = np.empty(n), np.empty(n)
    for _ in range(n_moves):
        change = exp(log(0.03) + rng.random() * log(2.0 / 0.03)) * rng.standard_normal()
        kind, c = rng.random(), inf
        if move_scales and kind > 0.2:
            c = 0.0 if kind < 0.4 else exp(state[1] + 10.0 * rng.random() - 5.0)
        log_ratio = log_half_cauchy(state[0] + change) - log_half_cauchy(state[0])
        # The logarithm of a product costs less than a sum of logarithms.
        product = 1.0
        for j in range(n):
            v, share = log_variances[j], 0.25 * steps[j] / c if c > 0.0 else inf
            if c == 0.0 or rng.random() * (1.0 + share) < share:
                t = v - log_units[j]
                log_ratio += log_density(t - change, table) - log_density(t, table)
                new[j], new_steps[j] = v, steps[j]
                continue
            new[j] = v + change
            new_steps[j] = 4.0 * exp(min(new[j], MAX_LOG_VARIANCE))
            # The probability of being carried is c/(v + c).
            product *= (1.0 + share) / (1.0 + 0.25 * new_steps[j] / c)
            if product > 1e100 or product < 1e-100:
                log_ratio += log(product)
                product = 1.0
        log_ratio += log(product)
        new_evidence = evidence
        if c > 0.0:
            new_evidence = log_evidence(y, counts, within, state[1], f_first, new_steps)
        if -rng.standard_exponential() < log_ratio + new_evidence - evidence:
            evidence = new_evidence
            state[0] += change
            for j in range(n):
                log_units[j] += change
                log_variances[j], steps[j] = new[j], new_steps[j]


@helper
def exchange_neighbours(y, noise, log_units, log_variances, steps, f, table, rng):
    """Propose to exchange v_j and v_{j+1}, f_j integrated out given its neighbours; draw f_j."""
    n = y.shape[0]
    for j in range(n if n > 1 else 0):
        right = j + 1 if j < n - 1 else 0
        before = f[j - 1] if j > 0 else -f[n - 1]
        after = f[j + 1] if j < n - 1 else -f[0]
        v0, v1 = log_variances[j], log_variances[right]
        larger, smaller = max(steps[j], steps[right]), min(steps[j], steps[right])
        ratio = smaller / larger if larger > 0.0 else 1.0
        share = (1.0 if v0 > v1 else ratio) / (1.0 + ratio)
        # The variance of f_j given its neighbours is the same before and after.
        between = smaller / (1.0 + ratio)
        old = y[j] - before - share * (after - before)
        new = y[j] - after + share * (after - before)
        log_ratio = (
            0.5 * (old * old - new * new) / (between + noise[j])
            + log_density(v1 - log_units[j], table)
            + log_density(v0 - log_units[right], table)
            - log_density(v0 - log_units[j], table)
            - log_density(v1 - log_units[right], table)
        )
        if -rng.standard_exponential() < log_ratio:
            log_variances[j], log_variances[right] = v1, v0
            steps[j], steps[right] = steps[right], steps[j]
            old = new
        gain = 1.0 / (1.0 + noise[j] / between)
        f[j] = y[j] - (1.0 - gain) * old + sqrt(gain * noise[j]) * rng.standard_normal()

"""Noise of rows: Gaussian, or Student-t with sampled degrees of freedom that may be infinite.

A Student-t variable is Gaussian given a precision p ~ Gamma(κ/2, rate κ/2). The degrees of freedom
κ and σ² are updated with all p integrated out; then the p are drawn, and σ² is updated again given
them. A row of weight w represents w equal rows, so its p is a sum of w precisions and has the shape
w(κ+1)/2. If the scale of the noise depends on the inputs, p contains the factor exp(-h).
"""

from math import exp, inf, log, log1p

import numpy as np
from scipy.special import gammaln

from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.stable.samplers.scales import (
    draw_log_noise,
    log_noise_prior,
    propose_log_noise,
)

DEGREES = np.array([2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 25.0, 50.0, 100.0, np.inf])
"""Possible values of the degrees of freedom, with equal prior probabilities."""

LEAST_PRECISION = 1e-20
"""If the weight of a row is small, its precision may underflow. A row with this precision has no
influence in double precision."""


def log_constants():
    """Log normalising constant of the Student-t density for each of :data:`DEGREES`."""
    k = DEGREES[:-1]
    constants = gammaln((k + 1) / 2) - gammaln(k / 2) - 0.5 * np.log(k * np.pi)
    return np.append(constants, -0.5 * np.log(2 * np.pi))


@helper
def sum_of_logs(x, scale, weights):
    """Σ w log(1 + x scale): with unit weights, the logarithm of a product, which costs less."""
    total, product = 0.0, 1.0
    for i in range(x.shape[0]):
        if weights[i] == 1.0:
            product *= 1.0 + x[i] * scale
            if product > 1e100:
                total += log(product)
                product = 1.0
        else:
            total += weights[i] * log1p(x[i] * scale)
    return total + log(product)


@helper
def log_likelihood(squares, weights, n_rows, log_noise, degrees, constant):
    """Log-likelihood of squared residuals with the precisions integrated out."""
    total, noise = 0.0, exp(log_noise)
    if degrees == inf:
        for i in range(squares.shape[0]):
            total -= 0.5 * weights[i] * squares[i] / noise
    else:
        total = sum_of_logs(squares, 1.0 / (degrees * noise), weights)
        total *= -0.5 * (degrees + 1.0)
    return total + n_rows * (constant - 0.5 * log_noise)


@helper
def _draw_precisions(squares, log_factors, weights, degrees, log_noise, rng, precisions):
    """Draw p for each row, given its squared residual over exp(h)."""
    for i in range(squares.shape[0]):
        p = weights[i]
        if degrees < inf:
            rate = 0.5 * (degrees + squares[i] * exp(-log_noise))
            p = max(rng.standard_gamma(0.5 * p * (degrees + 1.0)) / rate, LEAST_PRECISION)
        precisions[i] = p * exp(-log_factors[i])


def draw_precisions(residuals, log_factors, weights, degrees, log_noise, rng):
    """Draw p for each row, given its residual and all parameters of the noise.

    Parameters
    ----------
    residuals, log_factors, weights : ndarray of shape (n,)
        Targets minus f, h, and sample weights.
    degrees, log_noise : float
        κ and log σ².
    rng : numpy.random.Generator

    Returns
    -------
    precisions : ndarray of shape (n,)
    """
    squares, precisions = residuals**2 * np.exp(-log_factors), np.empty(residuals.size)
    _draw_all(squares, log_factors, weights, degrees, log_noise, rng, precisions)
    return precisions


_draw_all = kernel(_draw_precisions)


@kernel
def update_noise(
    residuals, log_factors, weights, n_rows, grid, constants, degrees, log_noise, move_degrees,
    least_log_noise, n_moves, precisions, rng,
):  # fmt: skip
    """Update κ and log σ² with the precisions integrated out; draw the precisions, then log σ².

    Parameters
    ----------
    residuals, log_factors, weights : ndarray of shape (n,)
        Targets minus f, h, and sample weights.
    n_rows : float
        Sum of the weights.
    grid, constants : ndarray
        :data:`DEGREES`, and the result of :func:`log_constants`.
    degrees, log_noise : float
        Current values.
    move_degrees : bool
    least_log_noise : float
        Lower limit of log σ²; infinite if σ² is fixed.
    n_moves : int
    precisions : ndarray of shape (n,)
        Overwritten.
    rng : numpy.random.Generator

    Returns
    -------
    degrees, log_noise : float
    """
    squares = np.empty(residuals.shape[0])
    for i in range(squares.shape[0]):
        squares[i] = residuals[i] * residuals[i] * exp(-log_factors[i])
    if move_degrees:
        place = 0
        while grid[place] < degrees:
            place += 1
        old = log_likelihood(squares, weights, n_rows, log_noise, degrees, constants[place])
        for _ in range(n_moves):
            step = 1 + int(2.0 * rng.random())
            new_place = place + (step if rng.random() < 0.5 else -step)
            if new_place < 0 or new_place >= grid.shape[0]:
                continue
            proposal = log_noise
            if least_log_noise < inf:
                proposal = propose_log_noise(log_noise, n_rows, rng)
                if proposal < least_log_noise:
                    continue
            new = log_likelihood(
                squares, weights, n_rows, proposal, grid[new_place], constants[new_place]
            )
            log_ratio = new - old + log_noise_prior(proposal) - log_noise_prior(log_noise)
            if -rng.standard_exponential() < log_ratio:
                place, log_noise, old = new_place, proposal, new
        degrees = grid[place]
    _draw_precisions(squares, log_factors, weights, degrees, log_noise, rng, precisions)
    if least_log_noise < inf:
        rss = 0.0
        for i in range(squares.shape[0]):
            rss += precisions[i] * residuals[i] * residuals[i]
        new_log_noise = draw_log_noise(log_noise, n_rows, rss, rng)
        if new_log_noise >= least_log_noise:
            log_noise = new_log_noise
    return degrees, log_noise

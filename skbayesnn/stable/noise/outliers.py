"""Precisions of single rows, drawn with the function integrated out.

A row with Student-t noise is an outlier, of small precision p, or f follows it. Where f follows
it its residual is small, so that p stays large, and given p f stays there: chains that draw one
given the other seldom change their minds. With all parts of f integrated out, given the variances
of the weights, the row's target is N(m, s² + σ²/p) with m and s² from all other rows, and p has
the density

    p^{w(κ+1)/2 - 1} exp(-κp/2) p^{-½} N(y; m, s² + σ²/p),

w the row's weight; for w = 1 that is the prior Gamma(κ/2, κ/2) times the likelihood.
"""

from math import exp, log

import numpy as np

from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.stable.noise.precisions import LEAST_PRECISION
from skbayesnn.stable.samplers.slice import slice_sample

N_ROWS = 64
"""So many random rows at a time. Of the 277 rows of yacht (splits 0 and 1) f had 27 and 16
effective draws at the row where it had fewest without these moves, 102 and 36 with 32 rows at a
time, 192 and 116 with 100; a fit took 3.6, 5.4 and 6.4 s."""

_WIDTH = 3.0
_MAX_STEPS = 10


@helper
def log_target(x, weight, degrees, noise, squared_gap, spread):
    """Log-density of x = log p given all other rows, up to a constant.

    Parameters
    ----------
    x, weight, degrees : float
        log p, w and κ.
    noise : float
        σ².
    squared_gap, spread : float
        (y - m)² and s².
    """
    total = spread + noise * exp(-x)
    return (
        0.5 * (weight * (degrees + 1.0) - 1.0) * x
        - 0.5 * degrees * exp(x)
        - 0.5 * (log(total) + squared_gap / total)
    )


@kernel
def move_precisions(inverse, solved, precisions, weights, noise, degrees, rng):
    """Draw the precisions of some rows in turn, each by a step of slice sampling.

    Parameters
    ----------
    inverse : ndarray of shape (n_rows, n_rows)
        Of C⁻¹, these rows and columns. Changed with the precisions.
    solved : ndarray of shape (n_rows,)
        Of C⁻¹y, these rows. Changed with the precisions.
    precisions, weights : ndarray of shape (n_rows,)
        p, changed in place, and w.
    noise : ndarray of shape (n_rows,)
        σ², times what the noise's scale has from the inputs.
    degrees : float
        κ.
    rng : numpy.random.Generator
    """
    n = precisions.shape[0]
    row = np.empty(n)
    for i in range(n):
        old, total = noise[i] / precisions[i], 1.0 / inverse[i, i]
        spread, squared_gap = max(total - old, 0.0), (solved[i] * total) ** 2
        arguments = weights[i], degrees, noise[i], squared_gap, spread
        x = slice_sample(log_target, log(precisions[i]), arguments, _WIDTH, _MAX_STEPS, rng)
        precisions[i] = max(exp(x), LEAST_PRECISION)
        change = noise[i] / precisions[i] - old
        # Sherman and Morrison's formula, within these rows.
        shrink = change / (1.0 + change * inverse[i, i])
        here = solved[i]
        for j in range(n):
            row[j] = inverse[i, j]
        for j in range(n):
            solved[j] -= shrink * row[j] * here
            for k in range(n):
                inverse[j, k] -= shrink * row[j] * row[k]

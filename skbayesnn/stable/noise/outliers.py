"""Precisions of single rows, sampled with the function integrated out.

With Student-t noise, a row either is an outlier with a small precision p, or f follows it. If f
follows it, the residual is small, so p stays large, and given p, f stays there. Chains that draw
one given the other therefore seldom switch. If all parts of f are integrated out, given the
variances of the weights, the target of the row is N(m, s² + σ²/p), where m and s² depend on all
other rows, and p has the density

    p^{w(κ+1)/2 - 1} exp(-κp/2) p^{-½} N(y; m, s² + σ²/p),

where w is the weight of the row. For w = 1, this is the prior Gamma(κ/2, κ/2) times the likelihood.
"""

from math import exp, log

import numpy as np

from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.stable.noise.precisions import LEAST_PRECISION
from skbayesnn.stable.samplers.slice import slice_sample

N_ROWS = 64
"""Number of random rows per block. For the 277 rows of yacht (splits 0 and 1), the smallest
effective sample size of f at any row was 27 and 16 without these moves, 102 and 36 with blocks of
32 rows, and 192 and 116 with blocks of 100; a fit took 3.6, 5.4 and 6.4 s."""

_WIDTH = 3.0
_MAX_STEPS = 10


@helper
def log_target(x, weight, degrees, noise, squared_gap, spread):
    """Log density of x = log p given all other rows, up to a constant.

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
    """Draw the precisions of some rows in turn, each by one step of slice sampling.

    Parameters
    ----------
    inverse : ndarray of shape (n_rows, n_rows)
        These rows and columns of C⁻¹. Updated with the precisions.
    solved : ndarray of shape (n_rows,)
        These rows of C⁻¹y. Updated with the precisions.
    precisions, weights : ndarray of shape (n_rows,)
        p, updated in place, and w.
    noise : ndarray of shape (n_rows,)
        σ² times the factor that depends on the inputs.
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
        # Sherman-Morrison formula, restricted to these rows.
        shrink = change / (1.0 + change * inverse[i, i])
        here = solved[i]
        for j in range(n):
            row[j] = inverse[i, j]
        for j in range(n):
            solved[j] -= shrink * row[j] * here
            for k in range(n):
                inverse[j, k] -= shrink * row[j] * row[k]

"""Kernels over the rows of a matrix of Gaussian mixtures.

Row i has weights ``weights[i]`` (or ``weights[0]`` for all rows), means ``means[i]`` and
standard deviations ``sds[i]``; a standard deviation of zero is a point mass. Each row is
worked out alone, so that it does not matter which others are there.
"""

from functools import lru_cache
from math import erfc, exp, inf, log, pi, sqrt

import numpy as np
from scipy.special import erf

from skbayesnn.numerics.jit import kernel

_ABS_STEPS_A_UNIT = 512
_ABS_END = 9.0


@kernel
def _normal_cdf(y, mean, sd):
    if sd == 0.0:
        return 1.0 if y >= mean else 0.0
    return 0.5 * erfc((mean - y) / (sd * sqrt(2.0)))


@kernel
def mixture_cdf(y, weights, means, sds, out):
    """Distribution function of row i at y[i, j]."""
    shared = weights.shape[0] == 1
    for i in range(means.shape[0]):
        w = weights[0] if shared else weights[i]
        for j in range(y.shape[1]):
            total = 0.0
            for k in range(means.shape[1]):
                total += w[k] * _normal_cdf(y[i, j], means[i, k], sds[i, k])
            out[i, j] = min(total, 1.0)


@kernel
def mixture_logpdf(y, weights, means, sds, out):
    """Log-density of row i at y[i, j]: +inf on a point mass."""
    shared = weights.shape[0] == 1
    for i in range(means.shape[0]):
        w = weights[0] if shared else weights[i]
        for j in range(y.shape[1]):
            # Log-sum-exp in one pass, the largest term so far taken out.
            top, total = -inf, 0.0
            for k in range(means.shape[1]):
                if w[k] == 0.0:
                    continue
                if sds[i, k] == 0.0:
                    term = inf if y[i, j] == means[i, k] else -inf
                else:
                    z = (y[i, j] - means[i, k]) / sds[i, k]
                    term = log(w[k]) - log(sds[i, k]) - 0.5 * z * z
                if term == inf:
                    top, total = inf, 1.0
                    break
                if term > top:
                    total = total * exp(top - term) + 1.0
                    top = term
                elif term > -inf:
                    total += exp(term - top)
            out[i, j] = top + log(total) - 0.5 * log(2.0 * pi) if top > -inf else -inf


@kernel
def mixture_quantile(levels, weights, means, sds, out):
    """Quantiles of each row at increasing levels; out has shape (n_rows, n_levels).

    The root is bracketed by the quantiles of the components, and by the quantile at the
    level below, and found by Newton steps that a bisection guards.
    """
    shared = weights.shape[0] == 1
    n_components = means.shape[1]
    for i in range(means.shape[0]):
        w = weights[0] if shared else weights[i]
        floor = -inf
        for j in range(levels.shape[0]):
            level = levels[j]
            # Where all components are on one side of y, so is the mixture: 40 standard
            # deviations hold every level that a double can tell from 0 and 1.
            low, high = inf, -inf
            for k in range(n_components):
                if w[k] > 0.0:
                    low = min(low, means[i, k] - 40.0 * sds[i, k])
                    high = max(high, means[i, k] + 40.0 * sds[i, k])
            low = max(low, floor)
            y = low
            if low < high:
                centre = 0.0
                for k in range(n_components):
                    centre += w[k] * means[i, k]
                y = min(max(centre, low), high)
            for _ in range(300):
                below, density = 0.0, 0.0
                for k in range(n_components):
                    sd = sds[i, k]
                    below += w[k] * _normal_cdf(y, means[i, k], sd)
                    if sd > 0.0:
                        z = (y - means[i, k]) / sd
                        density += w[k] * exp(-0.5 * z * z) / sd
                if below < level:
                    low = y
                else:
                    high = y
                if not high - low > 4e-16 * max(abs(low), abs(high)):
                    break
                step = y - (below - level) / (density / sqrt(2.0 * pi)) if density > 0.0 else low
                if not low < step < high:
                    step = _midpoint(low, high)
                    if step == low or step == high:
                        break
                elif abs(step - y) <= 1e-15 * abs(y):
                    high = step
                    break
                y = step
            out[i, j] = high
            floor = high


@kernel
def _midpoint(low, high):
    """The middle of a bracket, in logarithms where its ends differ by orders of magnitude."""
    if low > 0.0 and high > 8.0 * low:
        return sqrt(low) * sqrt(high)
    if high < 0.0 and low < 8.0 * high:
        return -sqrt(-low) * sqrt(-high)
    return low + 0.5 * (high - low)


@lru_cache(maxsize=1)
def expected_abs_table():
    """a(z) = E|z + N(0, 1)| = z erf(z/√2) + 2 φ(z) and its slope, 512 steps a unit.

    The error of cubic Hermite interpolation is below h⁴/384 max|a''''| = 3e-14.
    """
    z = np.arange(int(_ABS_STEPS_A_UNIT * _ABS_END) + 2) / _ABS_STEPS_A_UNIT
    slope = erf(z / np.sqrt(2.0))
    value = z * slope + np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z * z)
    return np.ascontiguousarray(np.stack([value, slope / _ABS_STEPS_A_UNIT], axis=1))


@kernel
def _expected_abs(mean, sd, table):
    """E|mean + sd N(0, 1)|."""
    mean = abs(mean)
    if mean >= _ABS_END * sd:
        # Within 1e-19 of the mean.
        return mean
    x = mean / sd * _ABS_STEPS_A_UNIT
    i = int(x)
    h = x - i
    g = 1.0 - h
    return sd * (
        g * g * ((1.0 + 2.0 * h) * table[i, 0] + h * table[i, 1])
        + h * h * ((3.0 - 2.0 * h) * table[i + 1, 0] - g * table[i + 1, 1])
    )


@kernel
def mixture_crps(y, weights, means, sds, table, out):
    """CRPS of row i at y[i]: E|Y - y| - ½ E|Y - Y'| (Grimit et al. 2006), in O(K²/2)."""
    shared = weights.shape[0] == 1
    for i in range(means.shape[0]):
        w = weights[0] if shared else weights[i]
        m, s = means[i], sds[i]
        error, spread = 0.0, 0.0
        for k in range(m.shape[0]):
            error += w[k] * _expected_abs(y[i] - m[k], s[k], table)
            pairs = 0.5 * w[k] * _expected_abs(0.0, sqrt(2.0) * s[k], table)
            variance = s[k] * s[k]
            for l in range(k):
                pairs += w[l] * _expected_abs(m[k] - m[l], sqrt(variance + s[l] * s[l]), table)
            spread += w[k] * pairs
        out[i] = error - spread

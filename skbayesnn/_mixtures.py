"""Kernels over the rows of a matrix of Gaussian mixtures.

Row i has weights ``weights[i]`` (or ``weights[0]`` for all rows), means ``means[i]`` and
standard deviations ``sds[i]``; a standard deviation of zero is a point mass. Each row is
worked out alone, so that it does not matter which others are there.
"""

from functools import lru_cache
from math import erfc, exp, inf, log, pi, sqrt

import numpy as np
from scipy.special import erf

from skbayesnn.numerics.jit import helper, kernel

_ABS_STEPS_A_UNIT = 512
_ABS_END = 9
_SMALLEST_NORMAL = 2.3e-308


@helper
def _tail(y, side, mean, sd):
    """P(N <= y) for side -1 and P(N > y) for side 1, each to full relative accuracy."""
    if sd == 0.0:
        return 1.0 if (mean <= y) == (side < 0.0) else 0.0
    return 0.5 * erfc(side * (y - mean) / (sd * sqrt(2.0)))


@kernel
def mixture_cdf(y, weights, means, sds, out):
    """Distribution function of row i at y[i, j]."""
    shared = weights.shape[0] == 1
    for i in range(means.shape[0]):
        w = weights[0] if shared else weights[i]
        for j in range(y.shape[1]):
            total = 0.0
            for k in range(means.shape[1]):
                total += w[k] * _tail(y[i, j], -1.0, means[i, k], sds[i, k])
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
def mixture_quantile(levels, scores, weights, means, sds, out):
    """Quantiles of each row at increasing levels, whose normal quantiles are the scores.

    The quantile of a mixture lies between those of its components. In that bracket, the
    smallest y with P(Y <= y) >= level is found by Newton steps on the logarithm of the
    nearer tail, nearly straight or parabolic, which a bisection guards.
    """
    shared = weights.shape[0] == 1
    for i in range(means.shape[0]):
        w = weights[0] if shared else weights[i]
        floor = -inf
        for j in range(levels.shape[0]):
            side = -1.0 if levels[j] <= 0.5 else 1.0
            p = levels[j] if side < 0.0 else 1.0 - levels[j]
            low, high, y, unit = inf, -inf, 0.0, inf
            for k in range(means.shape[1]):
                if w[k] == 0.0:
                    continue
                m, s = means[i, k], sds[i, k]
                q = m + scores[j] * s
                low, high, y = min(low, q), max(high, q), y + w[k] * q
                unit = min(unit, abs(m) if m != 0.0 else inf, s if s > 0.0 else inf)
            # Far below every number that the row is made of: zero, for this row.
            tiny = max(1e-17 * unit, _SMALLEST_NORMAL)
            if low < high:
                y = min(max(y, low), high)
                # A point mass may sit at the lower end.
                low -= 1e-15 * abs(low) + tiny
            last, before = high - low, high - low
            while low < high:
                tail, density = 0.0, 0.0
                for k in range(means.shape[1]):
                    tail += w[k] * _tail(y, side, means[i, k], sds[i, k])
                    if sds[i, k] > 0.0:
                        z = (y - means[i, k]) / sds[i, k]
                        density += w[k] * exp(-0.5 * z * z) / sds[i, k]
                if (tail >= p) if side < 0.0 else (tail <= p):
                    high = y
                else:
                    low = y
                step = inf
                if tail > 0.0 and density > 0.0:
                    step = side * tail * log(tail / p) * sqrt(2.0 * pi) / density
                if low <= y + step <= high and abs(step) <= 1e-15 * abs(y) + tiny:
                    high = y + step
                    break
                if low < y + step < high and abs(step) < 0.5 * abs(before):
                    following = y + step
                else:
                    following = _midpoint(low, high, tiny)
                    if not low < following < high:
                        break
                before, last, y = last, following - y, following
            floor = max(floor, high)
            out[i, j] = floor


@helper
def _midpoint(low, high, tiny):
    """The middle of a bracket: of logarithms, where its ends differ by orders of magnitude."""
    if low < 0.0 < high:
        return 0.0
    sign = 1.0
    if high <= 0.0:
        low, high, sign = -high, -low, -1.0
    start = max(low, tiny)
    if high <= start:
        return sign * low
    if high > 4.0 * start:
        return sign * sqrt(start) * sqrt(high)
    return sign * (low + 0.5 * (high - low))


@lru_cache(maxsize=1)
def expected_abs_table():
    """E|z + N(0, 1)| = z erf(z/√2) + 2 φ(z) by cubics, 512 a unit, for z from 0 to 9.

    Each cubic has the right values and slopes at its ends (Hermite), so that the error
    is below h⁴/384 max|2φ''| = 3e-14.

    Returns
    -------
    table : ndarray of shape (4608, 4)
        Coefficients of the powers of the distance from the left end, in steps.
    """
    z = np.arange(_ABS_STEPS_A_UNIT * _ABS_END + 1) / _ABS_STEPS_A_UNIT
    erf_z = erf(z / np.sqrt(2.0))
    value = z * erf_z + np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z * z)
    slope = erf_z / _ABS_STEPS_A_UNIT
    rise, left, right = np.diff(value), slope[:-1], slope[1:]
    cubics = [value[:-1], left, 3.0 * rise - 2.0 * left - right, left + right - 2.0 * rise]
    return np.ascontiguousarray(np.stack(cubics, axis=1))


@helper
def _expected_abs(mean, sd, table):
    """E|mean + sd N(0, 1)|."""
    mean = abs(mean)
    if mean >= _ABS_END * sd:
        # Within 1e-19 of the mean, in units of sd.
        return mean
    x = mean / sd * _ABS_STEPS_A_UNIT
    i = min(int(x), _ABS_STEPS_A_UNIT * _ABS_END - 1)
    h = x - i
    return sd * (table[i, 0] + h * (table[i, 1] + h * (table[i, 2] + h * table[i, 3])))


@kernel
def mixture_crps(y, weights, means, sds, table, out):
    """CRPS of row i at y[i]: E|Y - y| - ½ E|Y - Y'| (Grimit et al. 2006), in O(K²/2)."""
    shared = weights.shape[0] == 1
    for i in range(means.shape[0]):
        w = weights[0] if shared else weights[i]
        m, s = means[i], sds[i]
        error, spread = 0.0, 0.0
        for k in range(m.shape[0]):
            if w[k] == 0.0:
                continue
            error += w[k] * _expected_abs(y[i] - m[k], s[k], table)
            # Half of w[k] E|Y - Y'| for two draws of component k, 2 s/√π.
            pairs = w[k] * s[k] / sqrt(pi)
            variance = s[k] * s[k]
            for j in range(k):
                pairs += w[j] * _expected_abs(m[k] - m[j], sqrt(variance + s[j] * s[j]), table)
            spread += w[k] * pairs
        out[i] = error - spread

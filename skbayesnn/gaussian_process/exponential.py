"""The exponential of non-positive numbers, in loops that compilers turn into vector code."""

import numpy as np

from skbayesnn.numerics.jit import kernel

_LOG2_E = 1.4426950408889634
# log 2 in two parts: the first times any exponent here is exact.
_LN2_HIGH, _LN2_LOW = 6.93145751953125e-1, 1.42860682030941723212e-6
# A number in [2^52, 2^53) holds an integer in its low bits; 1023 is the exponent's offset.
_MAGIC = 4503599627370496.0 + 1023.0
_LEAST = -707.0  # below, results would be denormal


def capped_exp(values, cap):
    """Replace each number by ``exp(min(value, cap))``, in place, to 3e-16 of the result.

    Below −707 the result is that at −707, about 1e-307; NaN stays NaN.

    Parameters
    ----------
    values : ndarray of shape (m, n), float64, C-contiguous
    cap : float
        At most 700.
    """
    powers = np.empty(values.shape[1])
    _capped_exp(values, cap, powers, powers.view(np.int64))


@kernel
def _capped_exp(values, cap, powers, bits):
    """:func:`capped_exp`, with a row to work in as numbers and as their bits."""
    n = values.shape[1]
    for i in range(values.shape[0]):
        row = values[i]
        for j in range(n):
            x = row[j]
            x = cap if x > cap else x
            x = _LEAST if x < _LEAST else x
            k = np.floor(x * _LOG2_E + 0.5)
            powers[j] = k + _MAGIC
            r = (x - k * _LN2_HIGH) - k * _LN2_LOW
            # Taylor series on [-0.347, 0.347]: the first term left out is below 1e-17.
            p = 1.0 / 6227020800.0
            p = p * r + 1.0 / 479001600.0
            p = p * r + 1.0 / 39916800.0
            p = p * r + 1.0 / 3628800.0
            p = p * r + 1.0 / 362880.0
            p = p * r + 1.0 / 40320.0
            p = p * r + 1.0 / 5040.0
            p = p * r + 1.0 / 720.0
            p = p * r + 1.0 / 120.0
            p = p * r + 1.0 / 24.0
            p = p * r + 1.0 / 6.0
            p = p * r + 0.5
            p = p * r + 1.0
            row[j] = p * r + 1.0
        for j in range(n):
            bits[j] = bits[j] << 52
        for j in range(n):
            row[j] *= powers[j]

"""Standard normal variables for training, which takes millions of them."""

from functools import cache

import numpy as np
from scipy.special import ndtri


@cache
def _normal_table():
    """Standard normal quantiles at 2**16 equally spaced levels, with variance one."""
    quantiles = ndtri((np.arange(2**16) + 0.5) / 2**16)
    return (quantiles / quantiles.std()).astype(np.float32)


def normals_like(generator, shape, dtype):
    """Standard normal variables: quick ones for float32, exact ones for float64."""
    if np.dtype(dtype) == np.float32:
        return quick_normals(generator, shape)
    return generator.standard_normal(shape)


def quick_normals(generator, shape):
    """Standard normal variables of 16 bits each, several times as fast as exact ones.

    Quantiles at equally spaced levels, four from each 64 random bits. For noise of which a
    training takes millions: mean and variance are right, no value exceeds 4.4 in size.

    Parameters
    ----------
    generator : numpy.random.Generator
    shape : tuple of int

    Returns
    -------
    normals : ndarray of float32
    """
    size = int(np.prod(shape))
    bits = generator.bit_generator.random_raw(-(-size // 4)).view(np.uint16)[:size]
    # Every index is in the table; "clip" spares the check.
    return _normal_table().take(bits, mode="clip").reshape(shape)

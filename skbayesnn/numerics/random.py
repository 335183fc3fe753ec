"""From scikit-learn's ``random_state`` to one generator a chain, and what is drawn by it."""

from functools import cache
from math import prod

import numpy as np
from scipy.special import ndtri
from sklearn.utils import check_random_state


def spawn_generators(random_state, n):
    """Make independent generators, fixed by ``random_state`` before any work is sent out.

    Results therefore depend on the seed alone, not on ``n_jobs`` or the backend.

    Parameters
    ----------
    random_state : None, int or numpy.random.RandomState
        As scikit-learn takes it. A ``RandomState`` is advanced.
    n : int
        Number of generators.

    Returns
    -------
    generators : list of numpy.random.Generator
    """
    entropy = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
    return [np.random.default_rng(s) for s in np.random.SeedSequence(entropy.tolist()).spawn(n)]


def some_rows(n, most, generator):
    """Numbers of all rows, or of as many as ``most`` of them, chosen by chance."""
    return np.arange(n) if n <= most else generator.choice(n, most, replace=False)


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
    size = prod(shape)
    bits = generator.bit_generator.random_raw(-(-size // 4)).view(np.uint16)[:size]
    # Every index is in the table; "clip" spares the check.
    return _normal_table().take(bits, mode="clip").reshape(shape)


def systematic(weights, n, rng):
    """Who makes each of ``n`` draws from a pool: every member makes its share, give or take one.

    Parameters
    ----------
    weights : ndarray of shape (n_members,) or (n_rows, n_members)
        With sum one, in each row where rows have their own.
    n : int
    rng : numpy.random.RandomState

    Returns
    -------
    members : ndarray of int of shape (1 or n_rows, n)
        Numbers of the members, rising along a row.
    """
    # Equal steps through the cumulative weights, from a random start.
    levels = (rng.uniform() + np.arange(n)) / n
    bounds = np.cumsum(np.atleast_2d(weights), axis=1)[:, :-1]
    return np.sum(levels[None, :, None] >= bounds[:, None], axis=2)

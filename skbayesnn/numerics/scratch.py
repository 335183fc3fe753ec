"""Large arrays that are used again.

An array of some megabytes comes from the operating system, which clears its pages, and goes back to
it. Each new one of 7 MB costs about a millisecond, as much as a few passes over its elements.
"""

import threading

import numpy as np

_MOST_KEPT = 2**22
"""Largest number of elements that stay allocated (32 MB)."""


class _OfThread(threading.local):
    def __init__(self):
        self.arrays = {}


_of_thread = _OfThread()


def kept(arrays, name, shape, dtype=np.float64):
    """The array of this name, made anew if its shape or type differ; it holds what was put there.

    Parameters
    ----------
    arrays : dict of str to ndarray
        Changed.
    name : str
    shape : tuple of int
    dtype : numpy dtype, default=numpy.float64

    Returns
    -------
    array : ndarray of shape ``shape``, C-contiguous
    """
    array = arrays.get(name)
    if array is None or array.shape != shape or array.dtype != dtype:
        array = arrays[name] = np.empty(shape, dtype)
    return array


def scratch(name, shape):
    """An array with arbitrary contents, to be overwritten.

    In each thread, calls with the same name and shape return the same array, unless it is very
    large. The caller must therefore not return it, nor any view of it.

    Parameters
    ----------
    name : str
        What the array is used for.
    shape : tuple of int

    Returns
    -------
    array : ndarray of shape ``shape``, C-contiguous

    Examples
    --------
    >>> scratch("example", (2, 3)) is scratch("example", (2, 3))
    True
    """
    array = kept(_of_thread.arrays, name, shape)
    if array.size > _MOST_KEPT:
        del _of_thread.arrays[name]
    return array

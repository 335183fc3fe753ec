"""Large arrays that are used again.

An array of some megabytes comes from the operating system, which clears its pages, and goes back to
it. Each new one therefore costs about as much as a few passes over its elements.
"""

import threading

import numpy as np

_MOST_KEPT = 2**22
"""Largest number of elements that stay allocated (32 MB)."""


class _Kept(threading.local):
    def __init__(self):
        self.arrays = {}


_kept = _Kept()


def scratch(name, n_rows, n_columns):
    """An array with arbitrary contents, to be overwritten.

    In each thread, calls with the same name and sizes return the same array, unless it is very
    large. The caller must therefore not return it, nor any view of it.

    Parameters
    ----------
    name : str
        What the array is used for.
    n_rows, n_columns : int

    Returns
    -------
    array : ndarray of shape (n_rows, n_columns), C-contiguous

    Examples
    --------
    >>> scratch("example", 2, 3) is scratch("example", 2, 3)
    True
    """
    shape = n_rows, n_columns
    array = _kept.arrays.get(name)
    if array is None or array.shape != shape:
        array = np.empty(shape)
        if array.size <= _MOST_KEPT:
            _kept.arrays[name] = array
        else:
            _kept.arrays.pop(name, None)
    return array

"""Large arrays that are used again: the system would have to clear the pages of new ones.

An array of some megabytes comes from the operating system and goes back to it, so each new one
costs about as much as a few passes over its numbers.
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
    """An array to work in, which holds anything.

    Parameters
    ----------
    name : str
        Of its use. The array is the same as that of the last call with this name and these sizes in
        this thread: whoever asks for it must be done with it before anybody can ask again.
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

"""Products with triangular matrices that release Python's lock while they compute.

scipy's Python wrappers of BLAS hold the lock during the computation; the routines that scipy
exports to Cython do not. Both call the same routines, so the results agree to the last bit.
"""

import ctypes
from functools import cache

import numpy as np
from numba.extending import get_cython_function_address

_NAMES = {
    np.dtype(np.float64): ("dtrmm", ctypes.c_double),
    np.dtype(np.float32): ("strmm", ctypes.c_float),
}


@cache
def _trmm(name):
    address = get_cython_function_address("scipy.linalg.cython_blas", name)
    letters, numbers = [ctypes.c_char_p] * 4, [ctypes.c_void_p] * 7
    return ctypes.CFUNCTYPE(None, *letters, *numbers)(address)


def multiply_lower(factor, rows, transposed=False):
    """Product of a lower triangular matrix with every row of ``rows`` (m, n), in place.

    Parameters
    ----------
    factor : ndarray of shape (n, n)
        Lower triangular, Fortran order.
    rows : ndarray of shape (m, n)
        C order, with the same precision (double or single) as the factor. Row i becomes ``factor @
        row`` or ``factor.T @ row``.
    transposed : bool

    Returns
    -------
    rows : ndarray of shape (m, n)
        The same memory as the argument.

    Examples
    --------
    >>> import numpy as np
    >>> multiply_lower(np.array([[1.0, 0.0], [2.0, 3.0]], order="F"), np.array([[1.0, 1.0]]))
    array([[1., 5.]])
    """
    m, n = rows.shape
    fits = factor.flags.f_contiguous and rows.flags.c_contiguous and factor.shape == (n, n)
    if not (fits and factor.dtype == rows.dtype and factor.dtype in _NAMES):
        raise ValueError(
            "A factor in Fortran order and rows in C order of one precision are needed."
        )
    name, number = _NAMES[factor.dtype]
    size, count, one = ctypes.c_int(n), ctypes.c_int(m), number(1.0)
    _trmm(name)(
        b"L", b"L", b"T" if transposed else b"N", b"N",
        ctypes.byref(size), ctypes.byref(count), ctypes.byref(one),
        factor.ctypes.data, ctypes.byref(size), rows.ctypes.data, ctypes.byref(size),
    )  # fmt: skip
    return rows

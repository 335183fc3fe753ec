"""How every numba kernel of the package is compiled: one decorator, one place.

A kernel is compiled at its first call, never at import, and cached on disk. numba
raises at decoration where it finds no folder that it can write its cache to (a
read-only install of a user without a home directory): such kernels are compiled
anew in each process instead.
"""

import numba


def kernel(function):
    """Compile a pure function of arrays and numbers, without the GIL, cached on disk.

    ``error_model="numpy"`` gives infinity and NaN for a division by zero, as numpy
    does. There is no ``fastmath``: log-densities of minus infinity are normal here.

    Parameters
    ----------
    function : callable
        The function; it may use ``numpy.random.Generator`` but no Python objects.

    Returns
    -------
    dispatcher : callable
        The compiled function; the original is its attribute ``py_func``.
    """
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        return numba.njit(**options)(function)

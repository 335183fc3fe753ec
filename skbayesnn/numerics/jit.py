"""How every numba kernel of the package is compiled: two decorators, one place.

A kernel is compiled at its first call, never at import, and cached on disk. numba
raises at decoration where it finds no folder that it can write its cache to (a
read-only install of a user without a home directory): such kernels are compiled
anew in each process instead.

What kernels call, and Python does not, is a :func:`helper`: compiled as a part of
them, without wrappers for Python and without files of its own. That saves a new
user about a sixth of the time that a first fit compiles.
"""

import numba
from numba.extending import register_jitable


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
    # Nothing here passes a kernel to C or to another kernel: no wrapper for that.
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        return numba.njit(**options)(function)


def helper(function):
    """Let kernels call a function; called from Python it stays as it is.

    Parameters
    ----------
    function : callable
        As for :func:`kernel`.

    Returns
    -------
    function : callable
        The function itself, slow outside of kernels, where a division by zero or an
        overflow raises, too. ``kernel(function)`` compiles it for Python.
    """
    return register_jitable(error_model="numpy", no_cfunc_wrapper=True)(function)

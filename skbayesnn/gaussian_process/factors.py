"""Cholesky factors with growing jitter, their adjoint, and triangular algebra through LAPACK.

Matrices are small (hundreds of rows) and many, so every call goes straight to LAPACK or
BLAS. Factors are lower and in Fortran order, as LAPACK leaves them.
"""

from functools import lru_cache

import numpy as np
from scipy.linalg import LinAlgError, blas, lapack
from sklearn.exceptions import ConvergenceWarning

from skbayesnn._warnings import warn_user

MAX_JITTER = 1e-2
"""Largest jitter, as a part of the mean diagonal, before a factorisation is given up."""


def cholesky(matrix, jitter, diagonal=None, out=None):
    """Lower Cholesky factor of ``matrix + jitter·I``; the jitter grows until there is one.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        Symmetric. Not changed.
    jitter : float
        First part of the mean diagonal that is added to the diagonal. A failure multiplies
        it by ten, up to 0.01.
    diagonal : ndarray of shape (n,), optional
        Added to the diagonal of the matrix, which spares the caller a copy of it.
    out : ndarray of shape (n, n), optional
        Overwritten with the factor; in Fortran order.

    Returns
    -------
    factor : ndarray of shape (n, n)
        Zero above the diagonal.
    added : float
        What was added to the diagonal.
    n_failures : int
        How often the jitter had to grow.

    Raises
    ------
    scipy.linalg.LinAlgError
        The matrix is not finite, or has no factor even at the largest jitter.

    Examples
    --------
    >>> import numpy as np
    >>> factor, added, n_failures = cholesky(np.array([[4.0, 2.0], [2.0, 2.0]]), 0.0)
    >>> factor
    array([[2., 0.],
           [1., 1.]])
    >>> added, n_failures
    (0.0, 0)
    """
    diagonal = np.zeros(len(matrix)) if diagonal is None else diagonal
    scale = float(matrix.trace() + diagonal.sum()) / len(matrix)
    if not np.isfinite(scale):
        raise LinAlgError("A covariance matrix is not finite.")
    n_failures = 0
    work = np.empty_like(matrix, order="F") if out is None else out
    while True:
        work[...] = matrix
        work.ravel(order="K")[:: len(matrix) + 1] += diagonal + jitter * scale
        factor, info = lapack.dpotrf(work, lower=1, clean=1, overwrite_a=1)
        if info == 0 and np.isfinite(factor[-1, -1]):
            return factor, jitter * scale, n_failures
        n_failures += 1
        jitter = max(10 * jitter, 1e-12)
        if jitter > MAX_JITTER:
            raise LinAlgError(
                "A covariance matrix has no Cholesky factor even with a hundredth of its "
                "diagonal added."
            )


def warn_of_jitter(n_failures):
    """Warn of factorisations that needed more jitter, where there were any."""
    if n_failures:
        warn_user(
            f"A Gram matrix was numerically singular {n_failures} times; up to a hundredth of its "
            "diagonal was added. Lower 'n_inducing' or 'learning_rate', or remove rows of X that "
            "are nearly the same.",
            ConvergenceWarning,
        )


def inverse(factor):
    """Inverse of a lower triangular factor."""
    out, info = lapack.dtrtri(factor, lower=1)
    if info != 0:
        raise LinAlgError("A triangular factor is singular.")
    return out


def symmetric(triangle):
    """The symmetric matrix of a lower or an upper triangle; the other one is zero."""
    whole = triangle + triangle.T
    whole.flat[:: len(whole) + 1] *= 0.5
    return whole


def cholesky_adjoint(factor, inverse_factor, d_factor):
    """Gradient in a symmetric matrix from that in its Cholesky factor (Murray, 2016).

    Parameters
    ----------
    factor, inverse_factor : ndarray of shape (n, n)
        The factor L and its inverse.
    d_factor : ndarray of shape (n, n)
        Gradient in L; what is above the diagonal is not used.

    Returns
    -------
    d_matrix : ndarray of shape (n, n)
        Symmetric: the change of the output is its sum of products with a (symmetric)
        change of the matrix.

    Examples
    --------
    >>> import numpy as np
    >>> L = np.array([[2.0]])
    >>> cholesky_adjoint(L, 1 / L, np.array([[1.0]]))  # d sqrt(a) / da = 1 / (2 sqrt(a))
    array([[0.25]])
    """
    lower, halved = _triangles(len(factor))
    out = np.multiply(d_factor, lower, order="F")
    out = blas.dtrmm(1.0, factor, out, lower=1, trans_a=1, overwrite_b=1)
    out *= halved
    out = blas.dtrmm(1.0, inverse_factor, out, lower=1, trans_a=1, overwrite_b=1)
    out = blas.dtrmm(1.0, inverse_factor, out, side=1, lower=1, overwrite_b=1)
    return 0.5 * (out + out.T)


@lru_cache(maxsize=4)
def _triangles(n):
    """Ones on and below the diagonal; the same with halves on it. Fortran order."""
    lower = np.asfortranarray(np.tri(n))
    halved = np.asfortranarray(lower - 0.5 * np.eye(n))
    return lower, halved

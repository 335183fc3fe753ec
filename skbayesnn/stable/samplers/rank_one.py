"""Rank-one changes of a symmetric positive definite matrix: its inverse and its determinant.

With M' = M + c u u', g = M⁻¹u and q = u'g, Sherman and Morrison's formula and the
determinant lemma are

    M'⁻¹ = M⁻¹ - c/(1 + c q) g g',    det M' = (1 + c q) det M,

O(n²) where a new factorisation takes O(n³). Rounding errors add up from one change to the
next, and a change that takes away most of what M has along u multiplies them by up to
1/(1 + c q)²: the inverse has to be computed anew now and then. :func:`is_spent` says when,
and keeps the drift (the largest error of an entry over the largest entry) below 1e-8, as the
tests measure over random and over the sampler's own changes.
"""

from skbayesnn.numerics.jit import helper

_MAX_CHANGES = 1000
# Of an inverse good to about 1e-14.
_MAX_GROWTH = 1e6


@helper
def shift_inverse(inverse, g, factor):
    """Subtract ``factor * g g'`` from a symmetric matrix, in place.

    Parameters
    ----------
    inverse : ndarray of shape (n, n)
        M⁻¹. Overwritten.
    g : ndarray of shape (n,)
        M⁻¹u.
    factor : float
        c/(1 + c q) for the change c u u' of M.
    """
    n = g.shape[0]
    for i in range(n):
        scaled = factor * g[i]
        for j in range(n):
            inverse[i, j] -= scaled * g[j]


@helper
def error_growth(growth, ratio):
    """The growth of an error in the inverse, one change further.

    Parameters
    ----------
    growth : float
        So far; 1 for an inverse computed anew.
    ratio : float
        1 + c q of the change.

    Returns
    -------
    growth : float
    """
    return growth if ratio >= 1.0 else growth / (ratio * ratio)


@helper
def is_spent(n_changes, growth):
    """Whether an inverse is due to be computed anew, before it is used again.

    Parameters
    ----------
    n_changes : int
        Changes since it was computed.
    growth : float
        From :func:`error_growth`.
    """
    return n_changes >= _MAX_CHANGES or growth > _MAX_GROWTH

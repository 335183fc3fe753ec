"""The evidence of a Gaussian process and its gradient, for the search for input scales."""

import numpy as np
from scipy.linalg import cho_solve, cholesky, lapack

from skbayesnn.gaussian_process.factors import symmetric


def inverse_of(factor):
    """(L L')⁻¹ from the lower Cholesky factor L, which is zero above the diagonal."""
    return symmetric(lapack.dpotri(factor, lower=1)[0])


def minus_log_evidence(covariance, y):
    """-log N(y; 0, C) up to n/2 log 2π, and its gradient with respect to C.

    Parameters
    ----------
    covariance : ndarray of shape (n, n)
        C. Overwritten.
    y : ndarray of shape (n,)

    Returns
    -------
    value : float
    by_covariance : ndarray of shape (n, n)
        ½ (C⁻¹ - C⁻¹yy'C⁻¹).
    """
    # Symmetric: its transpose has the order that LAPACK wants.
    factor = cholesky(covariance.T, lower=True, overwrite_a=True, check_finite=False)
    solved = cho_solve((factor, True), y, check_finite=False)
    value = 0.5 * y @ solved + np.log(np.diag(factor)).sum()
    by_covariance = inverse_of(factor)
    by_covariance -= np.outer(solved, solved)
    by_covariance *= 0.5
    return value, by_covariance


def by_log_scales(weight, scaled):
    """Gradient with respect to log λ_j of a sum of k(|s - s'|²) over pairs of rows, with s = λx.

    Parameters
    ----------
    weight : ndarray of shape (n, n)
        Symmetric: for each pair, minus twice the derivative of the sum with respect to |s - s'|².
    scaled : ndarray of shape (n, n_features)
        s.

    Returns
    -------
    gradient : ndarray of shape (n_features,)
        -Σ weight (s_j - s_j')².
    """
    return 2.0 * ((scaled * (weight @ scaled)).sum(axis=0) - weight.sum(axis=1) @ scaled**2)

"""One layer of the deep Wishart process, forward and adjoint (Algorithm 1 of the paper).

Each layer passes on features: for the inducing points F_i (P, ν) with G_ii = F_i F_i', and for each
row separately a draw F_t (ν,) from its distribution given F_i. They carry everything that the next
layer needs.
"""

from dataclasses import dataclass, fields

import numpy as np

from skbayesnn.dwp.triangular import multiply_lower
from skbayesnn.gaussian_process.factors import cholesky, cholesky_adjoint, inverse
from skbayesnn.gaussian_process.kernels import (
    squared_exponential,
    squared_exponential_adjoint,
    symmetric_adjoint,
)

JITTER = 1e-8
"""Jitter on the diagonal of every Gram matrix, relative to the height (signal variance)."""


@dataclass
class Conditional:
    """A Gaussian process given its values at the inducing points.

    Attributes
    ----------
    left : ndarray of shape (P, k)
        Features of the inducing points, in units of the length scale.
    log_height, height : float
    added : float
        Jitter that was added to the diagonal.
    gram : ndarray of shape (P, P)
        Gram matrix without jitter.
    factor, inverse : ndarray of shape (P, P)
        L with L L' = gram + jitter, and its inverse.
    n_failures : int
        Number of times that the jitter had to be increased.
    mixture : ScaleMixture or None
        The posterior's own scale matrix, if it has one.
    """

    left: np.ndarray
    log_height: float
    height: float
    added: float
    gram: np.ndarray
    factor: np.ndarray
    inverse: np.ndarray
    n_failures: int
    mixture: object = None


@dataclass
class RowConditional:
    """Some rows given the inducing points of a :class:`Conditional`.

    Attributes
    ----------
    right : ndarray of shape (n, k)
        Features of the rows, in units of the length scale.
    cross : ndarray of shape (n, P)
    weights : ndarray of shape (n, P)
        cross L'⁻¹.
    variance : ndarray of shape (n,)
        Conditional variance of each row given the inducing values.
    """

    right: np.ndarray
    cross: np.ndarray
    weights: np.ndarray
    variance: np.ndarray


@dataclass
class RowSums:
    """Contributions of rows to the gradients of a layer.

    Attributes
    ----------
    d_factors : ndarray of shape (P, r)
        Gradient with respect to the draw of S; zero if the rows do not depend on the draw.
    products : ndarray of shape (P, P)
        Minus the gradient with respect to L.
    d_left : ndarray of shape (P, k)
    d_variance, d_log_height : float
        Sum of the gradients with respect to the variances, and the gradient with respect to the log
        height through the covariances.
    """

    d_factors: np.ndarray
    products: np.ndarray
    d_left: np.ndarray
    d_variance: float
    d_log_height: float

    def __add__(self, other):
        names = [field.name for field in fields(self)]
        return RowSums(*(getattr(self, name) + getattr(other, name) for name in names))


def condition(left, log_height):
    """Compute a :class:`Conditional`."""
    gram = squared_exponential(left, left, log_height)
    factor, added, n_failures = cholesky(gram, JITTER)
    height = np.exp(log_height)
    return Conditional(left, log_height, height, added, gram, factor, inverse(factor), n_failures)


def condition_rows(c, right):
    """Compute a :class:`RowConditional` from features of shape (n, k)."""
    cross = squared_exponential(right, c.left, c.log_height)
    weights = multiply_lower(c.inverse, cross.copy())
    # The rows get the same jitter, which also keeps their variance away from zero.
    variance = c.height + c.added - np.einsum("ij,ij->i", weights, weights)
    return RowConditional(right, cross, weights, variance)


def condition_rows_adjoint(c, rows, d_weights, d_variance, d_factors=0.0):
    """Gradients of :func:`condition_rows`.

    Parameters
    ----------
    c : Conditional
    rows : RowConditional
    d_weights : ndarray of shape (n, P)
        Overwritten.
    d_variance : ndarray of shape (n,)
    d_factors : ndarray of shape (P, r)
        Passed on to the sums unchanged.

    Returns
    -------
    d_right : ndarray of shape (n, k)
    sums : RowSums
        For :func:`condition_adjoint`.
    """
    d_weights -= rows.weights * (2.0 * d_variance)[:, None]
    d_cross = multiply_lower(c.inverse, d_weights, transposed=True)
    products = d_cross.T @ rows.weights
    d_right, d_left, part = squared_exponential_adjoint(rows.right, c.left, rows.cross, d_cross)
    return d_right, RowSums(d_factors, products, d_left, d_variance.sum(), part)


def condition_adjoint(c, d_factor, sums):
    """Gradients of :func:`condition`.

    Parameters
    ----------
    c : Conditional
    d_factor : ndarray of shape (P, P)
        Gradient without the contributions of the rows; the part above the diagonal is not used.
    sums : RowSums
        Sums over all rows.

    Returns
    -------
    d_left : ndarray of shape (P, k)
    d_log_height : float
    """
    d_gram = cholesky_adjoint(c.factor, c.inverse, d_factor - sums.products)
    d_log_height = (c.height + c.added) * sums.d_variance + c.added * d_gram.trace()
    d_left, part = symmetric_adjoint(c.left, c.gram, d_gram)
    d_log_height += part
    return d_left + sums.d_left, d_log_height + sums.d_log_height


def features(c, factors, freedom):
    """Features of the inducing points after a hidden layer.

    Parameters
    ----------
    c : Conditional
        Distribution of one column of the features.
    factors : ndarray of shape (P, r)
        A draw of S: F_i = L S.
    freedom : int
        ν ≥ r; columns beyond r are 0.

    Returns
    -------
    inducing : ndarray of shape (P, ν)
    """
    return np.pad(c.factor @ factors, ((0, 0), (0, freedom - factors.shape[1])))


def row_features(rows, factors, noise):
    """Features of rows after a hidden layer.

    Parameters
    ----------
    rows : RowConditional
    factors : ndarray of shape (P, r)
    noise : ndarray of shape (n, ν)
        Standard normal variables.

    Returns
    -------
    right : ndarray of shape (n, ν)
    """
    right = np.sqrt(rows.variance)[:, None] * noise
    right[:, : factors.shape[1]] += rows.weights @ factors
    return right


def row_features_adjoint(rows, factors, noise, d_right):
    """Gradients of :func:`row_features`.

    Returns
    -------
    d_factors : ndarray of shape (P, r)
    d_weights : ndarray of shape (n, P)
    d_variance : ndarray of shape (n,)
    """
    d_variance = np.einsum("ij,ij->i", d_right, noise) * (0.5 / np.sqrt(rows.variance))
    d_right = d_right[:, : factors.shape[1]]
    return rows.weights.T @ d_right, d_right @ factors.T, d_variance

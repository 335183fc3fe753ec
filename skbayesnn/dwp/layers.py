"""One layer of the deep Wishart process, forward and adjoint (Algorithm 1 of the paper).

The Gram matrix of the inducing points and everything about the rows that the next layer
needs is carried by features: F_i (P, ν) with G_ii = F_i F_i' for the inducing points, and
for each row by itself a draw F_t (ν,) from its distribution given F_i.
"""

from dataclasses import dataclass

import numpy as np

from skbayesnn.dwp.factors import cholesky, cholesky_adjoint, inverse, multiply_lower
from skbayesnn.dwp.kernels import (
    squared_exponential,
    squared_exponential_adjoint,
    symmetric_adjoint,
)

JITTER = 1e-8
"""What is added to the diagonal of every Gram matrix, as a part of the height."""


@dataclass
class Conditional:
    """A Gaussian process given its values at the inducing points.

    Attributes
    ----------
    left, right : ndarray of shapes (P, k) and (n, k)
        Features of inducing points and of rows, in units of the length scale.
    height : float
    added : float
        Jitter on the diagonal.
    gram : ndarray of shape (P, P)
        Without jitter.
    cross : ndarray of shape (n, P)
    factor, inverse : ndarray of shape (P, P)
        L with L L' = gram + jitter, and its inverse.
    weights : ndarray of shape (n, P)
        cross L'⁻¹.
    variance : ndarray of shape (n,)
        Of a row given the inducing values.
    n_failures : int
        How often the jitter had to grow.
    mixture : ScaleMixture or None
        Of the posterior's scale matrix, where it has one of its own.
    """

    left: np.ndarray
    right: np.ndarray
    height: float
    added: float
    gram: np.ndarray
    cross: np.ndarray
    factor: np.ndarray
    inverse: np.ndarray
    weights: np.ndarray
    variance: np.ndarray
    n_failures: int
    mixture: object = None


def condition(left, right, log_height, jitter=JITTER):
    """Compute a :class:`Conditional`."""
    gram = squared_exponential(left, left, log_height)
    cross = squared_exponential(right, left, log_height)
    factor, added, n_failures = cholesky(gram, jitter)
    inv = inverse(factor)
    weights = multiply_lower(inv, cross.copy())
    height = np.exp(log_height)
    # The rows get the same jitter, which also keeps their variance away from zero.
    variance = height + added - np.einsum("ij,ij->i", weights, weights)
    return Conditional(
        left, right, height, added, gram, cross, factor, inv, weights, variance, n_failures
    )


def condition_adjoint(c, d_factor, d_weights, d_variance):
    """Gradients of :func:`condition`.

    Parameters
    ----------
    c : Conditional
    d_factor : ndarray of shape (P, P)
        Above the diagonal not used; overwritten.
    d_weights : ndarray of shape (n, P)
        Overwritten.
    d_variance : ndarray of shape (n,)

    Returns
    -------
    d_left, d_right : ndarray of shapes (P, k) and (n, k)
    d_log_height : float
    """
    d_weights -= c.weights * (2.0 * d_variance)[:, None]
    d_cross = multiply_lower(c.inverse, d_weights, transposed=True)
    d_factor -= d_cross.T @ c.weights
    d_gram = cholesky_adjoint(c.factor, c.inverse, d_factor)
    d_log_height = (c.height + c.added) * d_variance.sum() + c.added * d_gram.trace()
    d_left, part = symmetric_adjoint(c.left, c.gram, d_gram)
    d_log_height += part
    d_right, more, part = squared_exponential_adjoint(c.right, c.left, c.cross, d_cross)
    return d_left + more, d_right, d_log_height + part


def features(c, factors, noise):
    """Features of a hidden layer.

    Parameters
    ----------
    c : Conditional
        Of one column of the features.
    factors : ndarray of shape (P, r)
        A draw of S: F_i = L S.
    noise : ndarray of shape (n, ν)
        Standard normal variables; ν ≥ r, columns beyond r have F_i = 0.

    Returns
    -------
    inducing, rows : ndarray of shapes (P, ν) and (n, ν)
    """
    extra = noise.shape[1] - factors.shape[1]
    inducing = c.factor @ factors
    rows = np.sqrt(c.variance)[:, None] * noise
    if extra:
        rows[:, : factors.shape[1]] += c.weights @ factors
        return np.pad(inducing, ((0, 0), (0, extra))), rows
    rows += c.weights @ factors
    return inducing, rows


def features_adjoint(c, factors, noise, d_inducing, d_rows):
    """Gradients of :func:`features`.

    Returns
    -------
    d_factors : ndarray of shape (P, r)
    d_factor : ndarray of shape (P, P)
    d_weights : ndarray of shape (n, P)
    d_variance : ndarray of shape (n,)
    """
    rank = factors.shape[1]
    d_variance = np.einsum("ij,ij->i", d_rows, noise) * (0.5 / np.sqrt(c.variance))
    d_rows, d_inducing = d_rows[:, :rank], d_inducing[:, :rank]
    d_factors = c.weights.T @ d_rows
    d_factors += c.factor.T @ d_inducing
    return d_factors, d_inducing @ factors.T, d_rows @ factors.T, d_variance

"""The Gaussian output layer with global inducing points (Ober and Aitchison, 2021).

The function values u at the inducing points have the prior N(0, K). The approximate posterior
multiplies it by pseudo-observations, a Gaussian factor with precision R R' and
linear term R v: with B = I + R'K R,

    q(f_t) = N(k_t' R B⁻¹ v, k_tt − k_t' R B⁻¹ R' k_t),
    KL(q(u) ‖ p(u)) = ½ [tr B⁻¹ − P + v'B⁻¹v − |B⁻¹v|² + log |B|].

In the paper, the precisions are diagonal; here, R is lower triangular. Neither the inverse of K nor
a draw of u is needed, because the expected log-likelihood of Gaussian noise has a closed form.
"""

from dataclasses import dataclass

import numpy as np

from skbayesnn.gaussian_process.factors import cholesky, cholesky_adjoint, inverse
from skbayesnn.gaussian_process.kernels import (
    squared_exponential,
    squared_exponential_adjoint,
    symmetric_adjoint,
)


@dataclass
class Output:
    """Marginals of the function at the rows, and intermediate results for the adjoint."""

    left: np.ndarray
    right: np.ndarray
    height: float
    gram: np.ndarray
    cross: np.ndarray
    root: np.ndarray
    values: np.ndarray
    gram_root: np.ndarray
    factor: np.ndarray
    inverse: np.ndarray
    projection: np.ndarray
    scores: np.ndarray
    coefficients: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    n_failures: int


def output(left, right, log_height, root, values, grams=None):
    """Marginals of one target.

    Parameters
    ----------
    left, right : ndarray of shapes (P, k) and (n, k)
        Features of inducing points and rows, in units of the length scale.
    log_height : float
    root : ndarray of shape (P, P)
        R.
    values : ndarray of shape (P,)
        v.
    grams : tuple of two ndarrays, optional
        ``gram`` and ``cross``, if they are known from another target.

    Returns
    -------
    out : Output
        ``mean`` and ``variance`` (n,); the variance does not include noise.
    """
    if grams is None:
        gram = squared_exponential(left, left, log_height)
        cross = squared_exponential(right, left, log_height)
    else:
        gram, cross = grams
    gram_root = gram @ root
    precision = root.T @ gram_root
    precision.ravel()[:: len(gram) + 1] += 1.0
    factor, _, n_failures = cholesky(precision, 0.0)
    inv = inverse(factor)
    projection = root @ inv.T
    scores = cross @ projection
    coefficients = inv @ values
    height = np.exp(log_height)
    mean = scores @ coefficients
    variance = np.maximum(height - np.einsum("ij,ij->i", scores, scores), 1e-12 * height)
    return Output(
        left, right, height, gram, cross, root, values, gram_root, factor, inv, projection,
        scores, coefficients, mean, variance, n_failures,
    )  # fmt: skip


def output_divergence(o):
    """KL(q(u) ‖ p(u)) and its gradients with respect to B and v.

    Returns
    -------
    value : float
    d_precision : ndarray of shape (P, P)
    d_values : ndarray of shape (P,)
    """
    inv_b = o.inverse.T @ o.inverse
    b = o.inverse.T @ o.coefficients
    g = inv_b @ b
    value = inv_b.trace() - len(b) + o.coefficients @ o.coefficients - b @ b
    value = 0.5 * value + np.log(np.diagonal(o.factor)).sum()
    bg = np.outer(b, g)
    d_precision = 0.5 * (inv_b - inv_b @ inv_b - np.outer(b, b) + bg + bg.T)
    return value, d_precision, b - g


def output_adjoint(o, d_mean, d_variance, d_precision, d_values):
    """Gradients of :func:`output` and of the divergence.

    Parameters
    ----------
    o : Output
    d_mean, d_variance : ndarray of shape (n,)
    d_precision, d_values : ndarray
        The gradients from :func:`output_divergence`, times the weight of the divergence in the
        loss.

    Returns
    -------
    d_root : ndarray of shape (P, P)
    d_values : ndarray of shape (P,)
    d_gram : ndarray of shape (P, P)
    d_cross : ndarray of shape (n, P)
    d_log_height : float
        Gradient through the prior variances of the rows only.
    """
    d_scores = np.outer(d_mean, o.coefficients)
    d_scores -= (2.0 * d_variance)[:, None] * o.scores
    d_coefficients = o.scores.T @ d_mean
    d_cross = d_scores @ o.projection.T
    d_projection = o.cross.T @ d_scores
    d_root = d_projection @ o.inverse
    e = o.inverse.T @ d_coefficients
    d_factor = -d_root.T @ o.projection - np.outer(e, o.coefficients)
    d_precision = d_precision + cholesky_adjoint(o.factor, o.inverse, d_factor)
    d_root += 2.0 * o.gram_root @ d_precision
    d_gram = o.root @ d_precision @ o.root.T
    return d_root, d_values + e, d_gram, d_cross, o.height * d_variance.sum()


def grams_adjoint(o, d_gram, d_cross):
    """Gradients with respect to the features and the log height through both Gram matrices."""
    d_left, d_log_height = symmetric_adjoint(o.left, o.gram, d_gram)
    d_right, more, part = squared_exponential_adjoint(o.right, o.left, o.cross, d_cross)
    return d_left + more, d_right, d_log_height + part

"""Squared exponential Gram matrices of features, and their adjoint.

The kernel of a Gram matrix G needs only squared distances, G_ii − 2 G_ij + G_jj. With
G = F F' these are the squared distances of the rows of F, so features stand for Gram
matrices everywhere; any rotation of F gives the same numbers.
"""

import numpy as np

from skbayesnn.gaussian_process.exponential import capped_exp


def extended(features, constant):
    """Columns ``[F, −½|F|² + constant, 1]``: one product gives every exponent.

    Parameters
    ----------
    features : ndarray of shape (n, k)
    constant : float

    Returns
    -------
    columns : ndarray of shape (n, k + 2)
    """
    n, k = features.shape
    out = np.empty((n, k + 2))
    out[:, :k] = features
    np.einsum("ij,ij->i", features, features, out=out[:, k])
    out[:, k] *= -0.5
    out[:, k] += constant
    out[:, k + 1] = 1.0
    return out


def squared_exponential(left, right, log_height, out=None):
    """Gram matrix ``exp(log_height − ½ |left_i − right_j|²)``.

    Parameters
    ----------
    left, right : ndarray of shapes (m, k) and (n, k)
        Features in units of the length scale.
    log_height : float
    out : ndarray of shape (m, n), optional
        Overwritten with the Gram matrix; C-contiguous.

    Returns
    -------
    gram : ndarray of shape (m, n)

    Examples
    --------
    >>> import numpy as np
    >>> squared_exponential(np.array([[0.0]]), np.array([[0.0], [2.0]]), 0.0).round(4)
    array([[1.    , 0.1353]])
    """
    a, b = extended(left, log_height), extended(right, 0.0)
    b[:, [-2, -1]] = b[:, [-1, -2]]
    gram = np.matmul(a, b.T, out=out)
    # The cap: rounding must not give a correlation above one.
    capped_exp(gram, float(log_height))
    return gram


def squared_exponential_adjoint(left, right, gram, d_gram):
    """Gradients of :func:`squared_exponential`.

    Parameters
    ----------
    left, right : ndarray of shapes (m, k) and (n, k)
    gram, d_gram : ndarray of shape (m, n)
        The Gram matrix and the gradient in it, which is overwritten. Products are in their
        precision.

    Returns
    -------
    d_left, d_right : ndarray of shapes (m, k) and (n, k)
    d_log_height : float
    """
    d_gram *= gram
    k, precision = left.shape[1], gram.dtype
    moved = d_gram @ np.column_stack([right, np.ones(len(right))]).astype(precision, copy=False)
    d_left = moved[:, :k] - moved[:, k:] * left
    d_log_height = moved[:, k].sum()
    moved = d_gram.T @ np.column_stack([left, np.ones(len(left))]).astype(precision, copy=False)
    return d_left, moved[:, :k] - moved[:, k:] * right, d_log_height


def symmetric_adjoint(features, gram, d_gram):
    """Gradients of ``squared_exponential(features, features, log_height)``.

    Parameters
    ----------
    features : ndarray of shape (n, k)
    gram, d_gram : ndarray of shape (n, n)
        The Gram matrix and the gradient in it, symmetric, which is overwritten.

    Returns
    -------
    d_features : ndarray of shape (n, k)
    d_log_height : float
    """
    d_gram *= gram
    k = features.shape[1]
    moved = d_gram @ np.column_stack([features, np.ones(len(features))])
    d_features = 2.0 * (moved[:, :k] - moved[:, k:] * features)
    return d_features, moved[:, k].sum()

"""The kernel of the dense units: Matérn's of order 3/2 or a rougher one, larger in some places.

It is the limit of cosine units cos(b + w · x) whose input weights w have Student's law with
three degrees of freedom, as the squared exponential is that of normal ones (Rahimi and Recht,
2007): heavy tails in the input weights, too, and functions once differentiable. A share of
the units, the roughness λ, may have Cauchy weights, whose limit is the kernel of order 1/2: then g
has kinks at every scale, and more can happen between two rows.

The units are multiplied by s(x), so that g may vary more in some places than in others:

    k(x, x') = s(x) s(x') (1 + (1-λ) r) exp(-r),    log s(x)² = b(x'γ),

r = √3 times the distance of the rows, each input over its length scale, b the bound of
:mod:`~skbayesnn.stable.noise.slopes`: s is within a factor of 4.5 of the typical one.
Beyond the rows it is as at their edge. Where targets grow along an input, one amplitude for all
rows is too large for some and too small for others: on yacht, whose targets grow from 0.01 to 60
with the speed, the log-evidence rises by more than 200 with s.
"""

import numpy as np
from scipy.spatial.distance import cdist

from skbayesnn.stable.noise.slopes import BOUND, bounded


def log_squared_factors(X, slopes):
    """log s², and its derivative by η.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    slopes : ndarray of shape (n_features,)
        γ.

    Returns
    -------
    log_squares, by_eta : ndarray of shape (n_rows,)
    """
    eta = X @ slopes
    return bounded(eta), (1.0 + (eta / BOUND) ** 2) ** -1.5


def radial(squares, roughness=0.0):
    """The kernel of squared scaled distances, (1 + (1-λ) r) exp(-r) with r² = 3 |x - x'|².

    Parameters
    ----------
    squares : ndarray
    roughness : float, default=0.0
        λ: 0 is the kernel of order 3/2, 1 that of order 1/2.

    Returns
    -------
    kernel : ndarray
    slope : ndarray
        Minus twice the derivative by the squares; for λ > 0 zero at equal rows, where it does not
        exist.
    by_roughness : ndarray
        The derivative by λ.
    """
    r = np.sqrt(3.0 * squares)
    decay = np.exp(-r)
    slope = 1.0 - roughness
    if roughness > 0.0:
        slope = slope + np.divide(roughness, r, out=np.zeros_like(r), where=r > 0.0)
    return (1.0 + (1.0 - roughness) * r) * decay, 3.0 * slope * decay, -r * decay


class DenseKernel:
    """k, of scaled rows.

    Parameters
    ----------
    inverse_lengths : ndarray of shape (n_features,)
        What the rows are multiplied by.
    roughness : float, default=0.0
        λ.
    slopes : ndarray of shape (n_features,) or None
        γ; none are zeros.
    edges : tuple of ndarray of shape (n_features,)
        Least and largest values over the rows, at which s stops.
    """

    def __init__(self, inverse_lengths, roughness=0.0, slopes=None, edges=(-np.inf, np.inf)):
        self.inverse_lengths, self.roughness = inverse_lengths, roughness
        self.slopes = np.zeros(len(inverse_lengths)) if slopes is None else slopes
        self.edges = edges

    def factors(self, X):
        """s at rows, (n_rows,)."""
        return np.exp(0.5 * log_squared_factors(np.clip(X, *self.edges), self.slopes)[0])

    def __call__(self, A, B):
        """Covariance at all pairs of rows."""
        squares = cdist(A * self.inverse_lengths, B * self.inverse_lengths, "sqeuclidean")
        values = radial(squares, self.roughness)[0]
        values *= self.factors(A)[:, None]
        values *= self.factors(B)
        return values

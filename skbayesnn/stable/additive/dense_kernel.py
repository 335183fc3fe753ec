"""Kernel of the dense units: Matérn of order 3/2 or rougher, with an amplitude that may vary.

It is the limit of cosine units cos(b + w · x) whose input weights w have a Student-t distribution
with three degrees of freedom, just as the squared exponential is the limit for normal input weights
(Rahimi and Recht, 2007). The input weights thus have heavy tails, too, and functions are once
differentiable. A fraction λ of the units, the roughness, may have Cauchy weights, whose limit is
the kernel of order 1/2. Then g has kinks at every scale, and varies more between two rows.

The units are multiplied by s(x), so that g may vary more in some places than in others:

    k(x, x') = s(x) s(x') (1 + (1-λ) r) exp(-r),    log s(x)² = b(x'γ),

where r is √3 times the distance of the rows, with each input divided by its length scale, and b is
the bound of :mod:`~skbayesnn.stable.noise.slopes`: s is within a factor of 4.5 of the typical
value. Beyond the rows, s stays as at their edge. If targets grow along an input, a single amplitude
is too large for some rows and too small for others: on yacht, whose targets grow from 0.01 to 60
with the speed, s increases the log evidence by more than 200.
"""

import numpy as np
from scipy.spatial.distance import cdist

from skbayesnn.stable.noise.slopes import BOUND, bounded


def log_squared_factors(X, slopes):
    """log s², and its derivative with respect to η = x'γ.

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


class DenseKernel:
    """The kernel k for scaled rows.

    Parameters
    ----------
    inverse_lengths : ndarray of shape (n_features,)
        Inverse length scales.
    roughness : float, default=0.0
        λ.
    slopes : ndarray of shape (n_features,) or None
        γ; None means zeros.
    edges : tuple of ndarray of shape (n_features,)
        Smallest and largest values over the rows, beyond which s is constant.
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
        r = np.sqrt(3.0 * squares)
        values = (1.0 + (1.0 - self.roughness) * r) * np.exp(-r)
        values *= self.factors(A)[:, None]
        values *= self.factors(B)
        return values

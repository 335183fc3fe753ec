"""All weights at once, given their variances: the Gaussian law that a chain draws from.

Either by the system of the rows (n x n) or by that of the units (M x M), whichever is smaller.
"""

from math import log, sqrt

import numpy as np
from scipy.linalg import LinAlgError, lapack

from skbayesnn.stable.gaussian_evidence import inverse_of


def factor(system):
    """Lower Cholesky factor, exact or an error: jitter would be noise that the chain ignores."""
    lower, info = lapack.dpotrf(system.T, lower=1, overwrite_a=1)
    if info != 0:
        raise LinAlgError(
            "The covariance of the rows has no Cholesky factor: the noise is too small relative to "
            "the weights for floating-point numbers. Give a larger noise_variance or a smaller nu, "
            "or scale X and y (normalize_X=True, normalize_y=True)."
        )
    return lower


def solved(lower, right, trans=0):
    """Solve L x = b, or L' x = b, also without rows, as where no unit is drawn jointly.

    LAPACK would print a complaint of those.
    """
    return lapack.dtrtrs(lower, right, lower=1, trans=trans)[0] if right.size else right


class JointByRows:
    """Standardised weights z ~ N(0, I) given y = A'z + noise, by the n x n system.

    Parameters
    ----------
    features : ndarray of shape (n_units, n)
    scale : ndarray of shape (n_units,)
        A is ``features`` with its rows times these.
    y : ndarray of shape (n,)
    gram : ndarray of shape (n, n)
        A'A.
    """

    def __init__(self, features, scale, y, gram):
        self.features, self.scale, self.y, self.gram = features, scale, y, gram

    def set_noise(self, noise):
        """Factor the system for this noise variance; return the log evidence of y."""
        self.noise = noise
        system = self.gram.copy()
        system.flat[:: system.shape[0] + 1] += noise
        self.factor = factor(system)
        white = solved(self.factor, self.y)
        return -np.log(np.diag(self.factor)).sum() - 0.5 * white @ white

    def inverse(self):
        """(A'A + σ² I)⁻¹ at the noise variance that was set."""
        return inverse_of(self.factor)

    def draw(self, rng):
        """Matheron's rule: a draw from the prior, corrected by what y says."""
        z = rng.standard_normal(self.scale.size)
        prior = (self.scale * z) @ self.features
        error = self.y - prior - sqrt(self.noise) * rng.standard_normal(self.y.size)
        solved, _ = lapack.dpotrs(self.factor, error, lower=1)
        return z + self.scale * (self.features @ solved)


class JointByUnits:
    """The same by the M x M system, the posterior precision of z.

    Parameters
    ----------
    gram : ndarray of shape (n_units, n_units)
        A A'.
    linear : ndarray of shape (n_units,)
        A y.
    y : ndarray of shape (n,)
    """

    def __init__(self, gram, linear, y):
        self.gram, self.linear, self.y = gram, linear, y

    def set_noise(self, noise):
        """Factor the system for this noise variance; return the log evidence of y."""
        system = self.gram / noise
        system.flat[:: system.shape[0] + 1] += 1.0
        self.factor = factor(system)
        self.white = solved(self.factor, self.linear / noise)
        quadratic = self.y @ self.y / noise - self.white @ self.white
        log_determinant = np.log(np.diag(self.factor)).sum() + 0.5 * self.y.size * log(noise)
        return -log_determinant - 0.5 * quadratic

    def draw(self, rng):
        """The posterior mean and a draw of the posterior's deviation in one solve."""
        z = self.white + rng.standard_normal(self.white.size)
        return solved(self.factor, z, trans=1)

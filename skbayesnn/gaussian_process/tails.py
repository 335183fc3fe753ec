"""Student-t tails of functions that a Gaussian process predicts. Not in the papers.

The hyperparameters of a Gaussian process are estimates. Some errors are therefore many times larger
than its variances suggest: next to a step, or where a rule has an exception, by hundreds of
standard deviations. In predictions with Gaussian noise, the function therefore has a Student-t
distribution with κ = 5 degrees of freedom. Let m and s² be its mean and variance, and σ² the
variance of the noise. Then a target is

    m + √v s z₁ + σ z₂,    1/v ~ Gamma(κ/2, κ/2), with v scaled to mean one,

so mean and variance do not change.
"""

import numpy as np

from skbayesnn.numerics.student_t import student_variances

DEGREES = 5.0
_LEVELS = np.array([0.0, 1e-8, 1e-6, 1e-4, 0.001, 0.01, 0.06, 0.25, 0.6, 1.0])
MASSES = np.diff(_LEVELS)
VARIANCES = student_variances(DEGREES, 0.5 * (_LEVELS[1:] + _LEVELS[:-1]))
VARIANCES /= MASSES @ VARIANCES
"""Values of v, whose probabilities are ``MASSES``. They are few because v does not multiply the
noise."""


def with_tails(means, variances, noise):
    """Distribution of targets, as weights, means and variances of Gaussians.

    Parameters
    ----------
    means, variances : ndarray of shape (n,)
        m and s².
    noise : float
        σ².

    Returns
    -------
    weights : ndarray of shape (9,)
    means, variances : ndarray of shape (n, 9)

    Examples
    --------
    >>> weights, means, variances = with_tails(np.zeros(1), np.ones(1), 0.5)
    >>> float((variances @ weights)[0].round(6))
    1.5
    """
    variances = np.multiply.outer(variances, VARIANCES) + noise
    return MASSES, np.broadcast_to(means[:, None], variances.shape), variances


def draw_scales(n, generator):
    """√v of n functions, (n,)."""
    return np.sqrt(generator.choice(VARIANCES, size=n, p=MASSES))

"""Calibration of the width of predictions.

With Gaussian noise, functions have the Student-t tails of :mod:`skbayesnn.gaussian_process.tails`,
and no other correction if there is noise (:data:`GIVEN`).

Training stops while the noise variance is still falling, and a function that is smoother than draws
of the process is predicted better than the process says. If there is no noise, all predictions are
therefore too wide, and the rows that are left out of the output layer show by how much. Given all
other rows, the target of a row is then

    m + √v (a s² + b σ²)^½ z,    a, b ≤ 1,    1/v ~ Gamma(κ/2, κ/2).

The factors a and b maximise the posterior density given these rows; their logarithms have standard
normal priors. Predictions are narrowed around their means by the same factors. The pooled process
of the networks (:mod:`skbayesnn.training.beside`) has a single factor. Not in the paper.
"""

from typing import NamedTuple

import numpy as np

from skbayesnn.dwp.noise import MOST_GROUPS, fewer
from skbayesnn.gaussian_process import tails
from skbayesnn.gaussian_process.tails import DEGREES
from skbayesnn.numerics.smooth_minimum import minimise_smooth
from skbayesnn.numerics.student_t import MASSES, student_variances

NO_NOISE = -14.0
"""If the log noise variance of standardised targets is below this, no noise was found. Without
noise, the search for the start of training ends at −16."""
VARIANCES = student_variances(DEGREES)
"""Values of v if it multiplies the noise, too; their probabilities are ``MASSES``."""
LEAST_LOG_FACTOR, LOG_FACTOR_STEP = -16.0, 1.0
"""Grid on which the search for the factors starts."""


class Width(NamedTuple):
    """Width of predictions relative to the variances of the process.

    Attributes
    ----------
    function, noise : float
        The factors a and b on the variances of the function and of the noise.
    together : bool, default=True
        Whether v also multiplies the noise.
    """

    function: float
    noise: float
    together: bool = True

    @property
    def noise_factor(self):
        """Factor on the noise variance."""
        return self.noise * (float(MASSES @ VARIANCES) if self.together else 1.0)

    @property
    def _law_of_v(self):
        """Values of v and their probabilities."""
        return (VARIANCES, MASSES) if self.together else (tails.VARIANCES, tails.MASSES)

    def law(self, means, variances, noises, n_groups=MOST_GROUPS):
        """Predictive mixture of Gaussians.

        Parameters
        ----------
        means, variances : ndarray of shape (n_draws, n)
            Mean and variance of the function in each draw.
        noises : ndarray of shape (n_draws,)
            Noise variances.
        n_groups : int
            Number of groups of draws; see :func:`skbayesnn.dwp.noise.fewer`.

        Returns
        -------
        weights : ndarray of shape (n_gaussians,)
        means, variances : ndarray of shape (n, n_gaussians)
        """
        centre, (v, chances) = means.mean(axis=0), self._law_of_v
        gaps, spreads = fewer(
            np.sqrt(self.function) * (means - centre), self.function * variances, n_groups
        )
        n_draws, n = gaps.shape
        noises = self.noise * noises.reshape(n_draws, -1).mean(axis=1)
        means = centre + np.multiply.outer(np.sqrt(v), gaps)
        of_noise = np.multiply.outer(v if self.together else np.ones(len(v)), noises)
        variances = np.multiply.outer(v, spreads) + of_noise[:, :, None]
        weights = np.repeat(chances, n_draws) / n_draws
        return weights, means.reshape(-1, n).T, variances.reshape(-1, n).T

    def draws(self, functions, means, noises, generator):
        """Draws of the function around its mean, plus noise.

        Parameters
        ----------
        functions : ndarray of shape (n, n_draws)
        means : ndarray of shape (n,)
            Mean of the function.
        noises : ndarray of shape (n_draws,)
            Noise variances.
        generator : numpy.random.Generator

        Returns
        -------
        draws : ndarray of shape (n, n_draws)
        """
        v, chances = self._law_of_v
        v = generator.choice(v, size=functions.shape[1], p=chances)
        gaps = np.sqrt(self.function * v) * (functions - means[:, None])
        scales = np.sqrt(self.noise * noises * (v if self.together else 1.0))
        return means[:, None] + gaps + scales * generator.standard_normal(functions.shape)


GIVEN = Width(1.0, 1.0, together=False)
"""Width of a process whose variances are not corrected."""


def loss_and_gradient(logs, squares, of_function, of_noise, weights):
    """Negative log posterior density of both logarithms, up to a constant, and its gradient.

    Parameters
    ----------
    logs : ndarray of shape (2,)
        Logarithms of a and b.
    squares, of_function : ndarray of shape (n,)
        Squared errors of left-out rows, and the variances of the function there.
    of_noise : float
    weights : ndarray of shape (n,)
        Number of rows that each row stands for.

    Returns
    -------
    loss : float
    gradient : ndarray of shape (2,)
    """
    function, noise = np.exp(logs[0]) * of_function, np.exp(logs[1]) * of_noise
    totals = function + noise
    tails = (DEGREES + 1.0) * np.log1p(squares / (DEGREES * totals))
    loss = 0.5 * (weights @ (np.log(totals) + tails) + logs @ logs)
    pulls = (DEGREES + 1.0) * squares / (DEGREES * totals + squares)
    d_totals = 0.5 * weights * (1.0 - pulls) / totals
    return loss, np.array([d_totals @ function, d_totals.sum() * noise]) + logs


def best_width(errors, of_function, of_noise, weights):
    """Factors of maximum posterior density given the errors of left-out rows.

    Parameters
    ----------
    errors, of_function : ndarray of shape (n,)
        Errors of left-out rows, and the variances of the function there.
    of_noise : float
        Noise variance.
    weights : ndarray of shape (n,)
        Number of rows that each row stands for.

    Returns
    -------
    width : Width

    Examples
    --------
    >>> import numpy as np
    >>> errors = 0.1 * np.random.default_rng(0).standard_t(5, size=1000)
    >>> width = best_width(errors, np.ones(1000), 1e-9, np.ones(1000))
    >>> round(width.function, 2)
    0.01
    """
    given = errors**2, of_function, of_noise, weights
    steps = np.arange(0.0, LEAST_LOG_FACTOR - 1e-9, -LOG_FACTOR_STEP)
    starts = [np.array([a, b]) for a in steps for b in steps]
    start = min(starts, key=lambda logs: loss_and_gradient(logs, *given)[0])
    found = minimise_smooth(loss_and_gradient, start, args=given, bounds=[(None, 0.0)] * 2)
    return Width(*map(float, np.exp(found.x)))

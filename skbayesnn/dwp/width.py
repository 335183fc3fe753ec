"""How wide predictions are where the targets are a function of the inputs.

Training stops while the noise variance still falls, and a function that is smoother than draws of
the process is predicted better than it says. So where there is no noise, all predictions are too
wide, and the rows that are left out of the output layer tell by how much. With the mean m and the
variance s² of the function given all other rows, and the variance σ² of the noise, the target of a
row is

    m + √v (a s² + b σ²)^½ z,    a, b ≤ 1,    1/v ~ Gamma(κ/2, κ/2),

which is Student's t of κ = 5 degrees of freedom: the errors of some rows are larger beside their
variances than those of others. The factors a and b make the rows most probable, where their logs
are standard normal a priori. Predictions are narrowed around their means in the same way. The
networks have one factor for the process beside them (:mod:`skbayesnn.training.beside`). Not in the
paper.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from skbayesnn.dwp.noise import MOST_GROUPS, fewer
from skbayesnn.numerics.student_t import MASSES, student_variances

NO_NOISE = -14.0
"""Where the log variance of the noise, of standardised targets, is below, none was found. The
search that training starts from ends at −16 where there is none."""
DEGREES = 5.0
VARIANCES = student_variances(DEGREES)
"""The values of v, whose probabilities are ``MASSES``."""
LEAST_LOG_FACTOR, LOG_FACTOR_STEP = -16.0, 1.0
"""Of the grid from which the search of the factors starts."""


class Width(NamedTuple):
    """How much narrower predictions are.

    Attributes
    ----------
    function, noise : float
        The factors a and b, in (0, 1].
    """

    function: float
    noise: float

    @property
    def noise_factor(self):
        """What the noise variance is multiplied by."""
        return self.noise * float(MASSES @ VARIANCES)

    def law(self, means, variances, noises):
        """Mixture that predicts.

        Parameters
        ----------
        means, variances : ndarray of shape (n_draws, n)
            Of the function in each draw.
        noises : ndarray of shape (n_draws,)
            Variances.

        Returns
        -------
        weights : ndarray of shape (n_gaussians,)
        means, variances : ndarray of shape (n, n_gaussians)
        """
        centre = means.mean(axis=0)
        gaps, totals = fewer(
            np.sqrt(self.function) * (means - centre),
            self.function * variances + self.noise * noises[:, None],
            MOST_GROUPS,
        )
        n_draws, n = gaps.shape
        means = centre + np.multiply.outer(np.sqrt(VARIANCES), gaps)
        variances = np.multiply.outer(VARIANCES, totals)
        weights = np.repeat(MASSES, n_draws) / n_draws
        return weights, means.reshape(-1, n).T, variances.reshape(-1, n).T

    def draws(self, functions, means, noises, generator):
        """Functions and noise, both narrower.

        Parameters
        ----------
        functions : ndarray of shape (n, n_draws)
        means : ndarray of shape (n,)
            Of the function.
        noises : ndarray of shape (n_draws,)
            Variances.
        generator : numpy.random.Generator

        Returns
        -------
        draws : ndarray of shape (n, n_draws)
        """
        v = generator.choice(VARIANCES, size=functions.shape[1], p=MASSES)
        gaps = np.sqrt(self.function) * (functions - means[:, None])
        noise = np.sqrt(self.noise * noises) * generator.standard_normal(functions.shape)
        return means[:, None] + np.sqrt(v) * (gaps + noise)


def loss_and_gradient(logs, squares, of_function, of_noise, weights):
    """Minus the log posterior density of both logs, but for a constant, with its gradient.

    Parameters
    ----------
    logs : ndarray of shape (2,)
        Of a and b.
    squares, of_function : ndarray of shape (n,)
        Squared errors of rows that were left out, and the variances of the function there.
    of_noise : float
    weights : ndarray of shape (n,)
        How many rows each stands for.

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
    """The factors that make rows that were left out most probable.

    Parameters
    ----------
    errors, of_function : ndarray of shape (n,)
        Of rows that were left out, and the variances of the function there.
    of_noise : float
        Variance.
    weights : ndarray of shape (n,)
        How many rows each stands for.

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
    found = minimize(
        loss_and_gradient, start, given, jac=True, method="L-BFGS-B", bounds=[(None, 0.0)] * 2
    )
    return Width(*map(float, np.exp(found.x)))

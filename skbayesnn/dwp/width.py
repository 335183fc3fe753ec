"""How wide predictions are, and that rows may be far outside of them.

The settings of a Gaussian process are estimates. Some errors are therefore many times larger than
its variances say: next to a step, by hundreds of deviations. So in predictions with Gaussian noise
the function has a Student's t distribution. With its mean m and variance s², and the variance σ² of
the noise, a target is

    m + √v s z₁ + σ z₂,    1/v ~ Gamma(κ/2, κ/2) but for a constant that makes the mean of v one,

κ = 5, which leaves mean and variance as they are (:data:`GIVEN`).

Training stops while the noise variance still falls, and a function that is smoother than draws of
the process is predicted better than it says. So where there is no noise, all predictions are too
wide, and the rows that are left out of the output layer tell by how much. Given all other rows, the
target of a row is there

    m + √v (a s² + b σ²)^½ z,    a, b ≤ 1,    1/v ~ Gamma(κ/2, κ/2).

The factors a and b make the rows most probable, where their logs are standard normal a priori.
Predictions are narrowed around their means in the same way. The networks have one factor for the
process beside them (:mod:`skbayesnn.training.beside`). Not in the paper.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from skbayesnn.dwp.noise import MOST_GROUPS, fewer
from skbayesnn.numerics.student_t import LEVELS, student_variances

NO_NOISE = -14.0
"""Where the log variance of the noise, of standardised targets, is below, none was found. The
search that training starts from ends at −16 where there is none."""
DEGREES = 5.0


def _values(levels):
    """Values of v and their probabilities, with the law of 1/v cut at these levels."""
    return student_variances(DEGREES, 0.5 * (levels[1:] + levels[:-1])), np.diff(levels)


VARIANCES, MASSES = _values(np.concatenate([[0.0], np.geomspace(1e-8, 1e-5, 4), LEVELS[1:]]))
"""The values of v and their probabilities; down to so low ones that tails are Student's for errors
of a hundred deviations."""
FEW_VARIANCES, FEW_MASSES = _values(
    np.array([0.0, 1e-8, 1e-6, 1e-4, 0.001, 0.01, 0.06, 0.25, 0.6, 1.0])
)
FEW_VARIANCES /= FEW_MASSES @ FEW_VARIANCES
"""The same beside noise of its own, where fewer are enough; with a mean of one."""
LEAST_LOG_FACTOR, LOG_FACTOR_STEP = -16.0, 1.0
"""Of the grid from which the search of the factors starts."""


class Width(NamedTuple):
    """How wide predictions are beside what the process says.

    Attributes
    ----------
    function, noise : float
        The factors a and b on its variances.
    together : bool, default=True
        Whether the noise is multiplied by v, too.
    """

    function: float
    noise: float
    together: bool = True

    @property
    def noise_factor(self):
        """What the noise variance is multiplied by."""
        return self.noise * (float(MASSES @ VARIANCES) if self.together else 1.0)

    @property
    def _law_of_v(self):
        """Values of v and their probabilities."""
        return (VARIANCES, MASSES) if self.together else (FEW_VARIANCES, FEW_MASSES)

    def law(self, means, variances, noises, n_groups=MOST_GROUPS):
        """Mixture that predicts.

        Parameters
        ----------
        means, variances : ndarray of shape (n_draws, n)
            Of the function in each draw.
        noises : ndarray of shape (n_draws,)
            Variances.
        n_groups : int
            Of draws, see :func:`skbayesnn.dwp.noise.fewer`.

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
        """Functions around their mean, plus noise.

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
        v, chances = self._law_of_v
        v = generator.choice(v, size=functions.shape[1], p=chances)
        gaps = np.sqrt(self.function * v) * (functions - means[:, None])
        scales = np.sqrt(self.noise * noises * (v if self.together else 1.0))
        return means[:, None] + gaps + scales * generator.standard_normal(functions.shape)


GIVEN = Width(1.0, 1.0, together=False)
"""That of a process whose variances are believed."""


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

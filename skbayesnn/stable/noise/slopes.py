"""Noise whose scale depends on the inputs: the slopes of its log variance, and their sampler.

The noise of a row x has variance σ² exp(h(x)), times the factor of the Student-t distribution, with

    h(x) = b(z(x)'β),    b(η) = η / √(1 + η²/c²).

The variance is thus approximately log-linear, and between exp(-c) and exp(c) times σ². The columns
of z are the inputs and an estimate of the mean of y that is known beforehand: that of the Gaussian
limit of the model (:class:`~skbayesnn.stable.additive.scales.GaussianLimit`), computed without the
row's own target. The noise may thus grow along an input or with the mean. Indicators of the values
of inputs that have few are further columns if, around the same mean, a law of the noise with them
predicts left-out rows better (:func:`~skbayesnn.gaussian_process.learned_noise.values_decide`).
Without the bound c, the likelihood of rows whose targets agree in all digits, for example because
they are rounded, is unbounded: the noise would vanish there at the expense of all other rows.

The slopes have the regularised horseshoe prior: β_j ~ N(0, τ²λ_j²) with half-Cauchy λ_j, and
half-Cauchy τ of scale q^{-½} for q columns (Carvalho, Polson and Scott 2010). If the noise is
constant, the slopes are therefore close to zero, however many there are. The horseshoe tails alone
would admit slopes so large that h is a step from -c to c. Each β_j therefore has, in addition, the
likelihood of an observation of zero with a normal error of standard deviation d (Piironen and
Vehtari 2017, in the form of Nishimura and Suchard 2023): the joint density of all β, λ and τ has
the factors exp(-β_j²/(2d²)). The slopes are updated by slice sampling given the residuals, with the
precisions of the Student-t distribution integrated out. In the first half of a warm-up, they are
fixed at those of the Gaussian limit, because the noise would otherwise explain what f does not
explain yet.
"""

from math import exp, inf, log, log1p, sqrt

import numpy as np

from skbayesnn.gaussian_process.noise import indicators
from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.stable.noise.precisions import sum_of_logs
from skbayesnn.stable.samplers.slice import slice_sample

BOUND = 3.0
"""c: the standard deviation of the noise is within a factor of 4.5 of the typical one."""

LARGE_SLOPE = 3.0
"""d: a change of the noise variance by a factor of twenty per standard deviation of a column is
unusual."""

_LARGEST = 100.0
"""Limit on |log τ| and |log λ|, such that the squares of τ and λ do not overflow."""

_WIDTH, _MAX_STEPS = 4.0, 6
"""Width of the initial slice interval, in standard deviations according to the information of the
Student-t distribution, and maximum number of steps out. Near the bound there is less
information."""

_MAX_MOVES, _MIN_MOVES, _ROWS_A_MOVE = 10.0, 1.0, 6000.0


def expected_moves(n_rows, n_slopes):
    """Mean number of slope updates per sweep, limited to about a tenth of the time of a sweep."""
    return min(max(_ROWS_A_MOVE / n_rows, _MIN_MOVES), _MAX_MOVES, 2.0 * n_slopes)


@helper
def bounded(eta):
    """b(η), for numbers or arrays."""
    return eta / np.sqrt(1.0 + (eta / BOUND) ** 2)


class NoiseBasis:
    """The columns of z for training rows and for new rows.

    Beyond the rows, the noise stays as at their edge: each column is clipped to its range.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Scaled rows.
    weights : ndarray of shape (n,)
    limit : GaussianLimit or None
        Provides the mean.
    values : dict of int to ndarray, optional
        Inputs with indicators, see :func:`~skbayesnn.gaussian_process.noise.few_values`.

    Attributes
    ----------
    train : ndarray of shape (n_columns, n)
        Columns at the training rows, with mean zero and variance one; zero if a column is constant.
    first : ndarray of shape (n_columns,)
        Initial slopes of the chains: those of the Gaussian limit, or zeros.
    """

    def __init__(self, X, weights, limit=None, values=None):
        self._limit, self._values = limit, values or {}
        columns = self._columns(X, () if limit is None else (limit.mean_at_rows(X),))
        self._low, self._high = columns.min(axis=0), columns.max(axis=0)
        shares = weights / weights.sum()
        self._location = shares @ columns
        spread = np.sqrt(shares @ (columns - self._location) ** 2)
        constant = spread <= 1e-12 * np.maximum(1.0, np.abs(columns).max(axis=0))
        self._scale = np.where(constant, np.inf, spread)
        self.train = np.ascontiguousarray(self._standardised(columns).T)
        self.first = np.zeros(len(spread))
        if limit is not None:
            p = X.shape[1]
            self.first[:p] = np.where(constant, 0.0, spread)[:p] * limit.noise_slopes

    def _columns(self, X, means):
        return np.column_stack([X, *means, indicators(X, self._values)])

    def _standardised(self, columns):
        return (np.clip(columns, self._low, self._high) - self._location) / self._scale

    def log_factors(self, X, slopes):
        """h at scaled rows, (n_rows, n_draws), for slopes (n_draws, n_columns)."""
        columns = self._columns(X, () if self._limit is None else (self._limit.mean(X),))
        return bounded(self._standardised(columns) @ slopes.T.astype(np.float64))


@helper
def log_density_along(t, eta, direction, squares, weights, degrees, linear, quadratic):
    """Log density of the slopes after a move by t along a direction, up to a constant.

    Parameters
    ----------
    t : float
    eta, direction : ndarray of shape (n,)
        z'β, and z'u for direction u.
    squares, weights : ndarray of shape (n,)
        Squared residuals over σ², and the weights of the rows.
    degrees : float
        κ.
    linear, quadratic : float
        Coefficients of the log prior, -t linear - t²/2 quadratic.
    """
    total, ratios = 0.0, np.empty(eta.shape[0])
    for i in range(eta.shape[0]):
        ratios[i] = bounded(eta[i] + t * direction[i])
    for i in range(eta.shape[0]):
        total += weights[i] * ratios[i]
        ratios[i] = squares[i] * exp(-ratios[i])
    if degrees == inf:
        for i in range(eta.shape[0]):
            total += weights[i] * ratios[i]
    else:
        total += (degrees + 1.0) * sum_of_logs(ratios, 1.0 / degrees, weights)
    return -0.5 * total - t * (linear + 0.5 * t * quadratic)


@helper
def log_density_of_scale(x, n, squares, log_crowd):
    """Log density of x = log τ given n normal variables of standard deviation τ and the sum of
    their squares; τ is half-Cauchy with scale exp(-log_crowd)."""
    if abs(x) > _LARGEST:
        return -inf
    y = x + log_crowd
    return y - log1p(exp(2.0 * y)) - n * x - 0.5 * squares * exp(-2.0 * x)


@kernel
def update_slopes(
    z, residuals, weights, degrees, log_noise, slopes, log_local, log_tau, n_moves, rng,
):  # fmt: skip
    """Update the slopes along random directions given the residuals, then their prior scales.

    Parameters
    ----------
    z : ndarray of shape (n_columns, n)
    residuals, weights : ndarray of shape (n,)
    degrees, log_noise : float
        κ and log σ².
    slopes, log_local : ndarray of shape (n_columns,)
        β and log λ, updated in place.
    log_tau : float
    n_moves : float
        Mean number of updates.
    rng : numpy.random.Generator

    Returns
    -------
    log_tau : float
    """
    q, n = z.shape
    squares, eta, direction, u = np.empty(n), np.zeros(n), np.empty(n), np.empty(q)
    for i in range(n):
        squares[i] = residuals[i] * residuals[i] * exp(-log_noise)
    for j in range(q):
        for i in range(n):
            eta[i] += slopes[j] * z[j, i]
    # Fisher information of a row about log σ². It only sets the width of the slice.
    information = 0.5 if degrees == inf else 0.5 * degrees / (degrees + 3.0)
    for _ in range(int(n_moves + rng.random())):
        along_one = rng.random() < 0.5
        chosen = min(int(q * rng.random()), q - 1)
        for i in range(n):
            direction[i] = 0.0
        linear, quadratic = 0.0, 0.0
        for j in range(q):
            u[j] = 1.0 if j == chosen else 0.0
            if not along_one:
                u[j] = exp(log_local[j]) * rng.standard_normal()
            if u[j] != 0.0:
                share = u[j] * (exp(-2.0 * (log_tau + log_local[j])) + 1.0 / LARGE_SLOPE**2)
                linear += share * slopes[j]
                quadratic += share * u[j]
                for i in range(n):
                    direction[i] += u[j] * z[j, i]
        seen = 0.0
        for i in range(n):
            seen += weights[i] * direction[i] * direction[i]
        arguments = eta, direction, squares, weights, degrees, linear, quadratic
        width = _WIDTH / sqrt(quadratic + information * seen)
        t = slice_sample(log_density_along, 0.0, arguments, width, _MAX_STEPS, rng)
        for j in range(q):
            slopes[j] += t * u[j]
        for i in range(n):
            eta[i] += t * direction[i]
    total = 0.0
    for j in range(q):
        square = (slopes[j] * exp(-log_tau)) ** 2
        log_local[j] = slice_sample(
            log_density_of_scale, log_local[j], (1.0, square, 0.0), 1.0, 10, rng
        )
        total += (slopes[j] * exp(-log_local[j])) ** 2
    arguments = 1.0 * q, total, 0.5 * log(1.0 * q)
    return slice_sample(log_density_of_scale, log_tau, arguments, 1.0, 10, rng)

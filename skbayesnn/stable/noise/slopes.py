"""Noise whose scale depends on the inputs: its slopes, and how they are sampled.

The noise of a row x has the variance σ² exp(h(x)), times the factor of Student's law, with

    h(x) = b(z(x)'β),    b(η) = η / √(1 + η²/c²),

so that it is log-linear, and between exp(-c) and exp(c) times σ². The columns of z are the inputs
and a mean of y that is known beforehand, that of the Gaussian limit of the model
(:class:`~skbayesnn.stable.additive.scales.GaussianLimit`), each row left out: so the noise may grow
along an input, or with the mean. Without the bound c rows whose targets agree to all their digits,
as those that are rounded do, have a likelihood without bound: it asks for no noise there at
the expense of all other rows.

The slopes have the regularised horseshoe prior, β_j ~ N(0, τ²λ_j²) with half-Cauchy λ_j, and τ
half-Cauchy of the scale q^{-½} for q columns (Carvalho, Polson and Scott 2010): where the noise is
the same everywhere they are next to zero, however many. Its tails alone would let slopes be so
large that h is a step from -c to c; so each β_j is as one that was seen with a normal error of the
deviation d and found to be zero (Piironen and Vehtari 2017, as Nishimura and Suchard 2023 write
it): the density of all β, λ and τ has the factors exp(-β_j²/(2d²)). They are moved by slice
sampling given the residuals, the precisions of Student's law integrated out. In the first half of a
warm-up they are those of the Gaussian limit: before f is found, noise would stand for it.
"""

from math import exp, inf, log, log1p, sqrt

import numpy as np

from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.stable.samplers.slice import slice_sample

BOUND = 3.0
"""c: the noise's standard deviation is within a factor of 4.5 of the typical one."""

LARGE_SLOPE = 3.0
"""d: a column whose standard deviation changes the noise's variance twentyfold is unusual."""

_LARGEST = 100.0
"""Of |log τ| and |log λ|: their squares are doubles."""

_WIDTH, _MAX_STEPS = 4.0, 6
"""Of the first interval of a slice, in standard deviations as the information of Student's law has
them, and the most steps out: where the bound is near there is less information."""

_MAX_MOVES, _MIN_MOVES, _ROWS_A_MOVE = 10.0, 1.0, 6000.0


def expected_moves(n_rows, n_slopes):
    """Moves of the slopes a sweep, on average: at most some tenth of the time of a sweep."""
    return min(max(_ROWS_A_MOVE / n_rows, _MIN_MOVES), _MAX_MOVES, 2.0 * n_slopes)


@helper
def bounded(eta):
    """b(η), of numbers or arrays."""
    return eta / np.sqrt(1.0 + (eta / BOUND) ** 2)


class NoiseBasis:
    """The columns of z, for the training rows and for new ones.

    Beyond the rows the noise is that at their edge: each column is cut at its range over them.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Scaled rows.
    weights : ndarray of shape (n,)
    limit : GaussianLimit or None
        Whose mean is the last column.

    Attributes
    ----------
    train : ndarray of shape (n_columns, n)
        Of the rows: with mean zero and variance one, or zero where a column is constant.
    first : ndarray of shape (n_columns,)
        Slopes that chains begin with: those of the Gaussian limit, or zeros.
    """

    def __init__(self, X, weights, limit=None):
        self._limit = limit
        columns = X if limit is None else np.column_stack([X, limit.mean_at_rows(X)])
        self._low, self._high = columns.min(axis=0), columns.max(axis=0)
        shares = weights / weights.sum()
        self._location = shares @ columns
        spread = np.sqrt(shares @ (columns - self._location) ** 2)
        constant = spread <= 1e-12 * np.maximum(1.0, np.abs(columns).max(axis=0))
        self._scale = np.where(constant, np.inf, spread)
        self.train = np.ascontiguousarray(self._standardised(columns).T)
        self.first = np.zeros(len(spread))
        if limit is not None:
            self.first[:-1] = np.where(constant, 0.0, spread)[:-1] * limit.noise_slopes

    def _standardised(self, columns):
        return (np.clip(columns, self._low, self._high) - self._location) / self._scale

    def log_factors(self, X, slopes):
        """h at scaled rows, (n_rows, n_draws), for slopes (n_draws, n_columns)."""
        columns = X if self._limit is None else np.column_stack([X, self._limit.mean(X)])
        return bounded(self._standardised(columns) @ slopes.T.astype(np.float64))


@helper
def log_density_along(t, eta, direction, squares, weights, degrees, linear, quadratic):
    """Log-density of the slopes moved by t along a direction, up to a constant.

    Parameters
    ----------
    t : float
    eta, direction : ndarray of shape (n,)
        z'β, and z'u of the direction u.
    squares, weights : ndarray of shape (n,)
        Squared residuals over σ², and the weights of the rows.
    degrees : float
        κ.
    linear, quadratic : float
        Of the prior, -t linear - t²/2 quadratic.
    """
    total, sum_of_logs, product = 0.0, 0.0, 1.0
    for i in range(eta.shape[0]):
        h = bounded(eta[i] + t * direction[i])
        square = squares[i] * exp(-h)
        total += weights[i] * h
        if degrees == inf:
            total += weights[i] * square
        elif weights[i] == 1.0:
            # The logarithm of a product costs less than a sum of logarithms.
            product *= 1.0 + square / degrees
            if product > 1e100:
                sum_of_logs += log(product)
                product = 1.0
        else:
            sum_of_logs += weights[i] * log1p(square / degrees)
    if degrees < inf:
        total += (degrees + 1.0) * (sum_of_logs + log(product))
    return -0.5 * total - t * (linear + 0.5 * t * quadratic)


@helper
def log_density_of_scale(x, n, squares, log_crowd):
    """Log-density of x = log τ given n normal numbers of the standard deviation τ, ``squares`` the
    sum of their squares, with τ half-Cauchy of the scale exp(-log_crowd)."""
    if abs(x) > _LARGEST:
        return -inf
    y = x + log_crowd
    return y - log1p(exp(2.0 * y)) - n * x - 0.5 * squares * exp(-2.0 * x)


@kernel
def update_slopes(
    z, residuals, weights, n_rows, degrees, log_noise, slopes, log_local, log_tau, n_moves, rng,
):  # fmt: skip
    """Move the slopes given the residuals, along random directions; then their prior's scales.

    Parameters
    ----------
    z : ndarray of shape (n_columns, n)
    residuals, weights : ndarray of shape (n,)
    n_rows : float
        Sum of the weights.
    degrees, log_noise : float
        κ and log σ².
    slopes, log_local : ndarray of shape (n_columns,)
        β and log λ, changed in place.
    log_tau : float
    n_moves : float
        On average.
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
    # What a row tells of log σ²; the slice is as valid whatever it is.
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

"""Positive stable laws: sampler and density, on a log scale throughout.

S has index ``a`` in (0, 1) and Laplace transform E exp(-r S) = exp(-r^a). In the
stable network (Loría and Bhadra 2024, section 2) the scale of a weight is such a
variable with a = alpha/2. Everything is in t = log S, since S itself overflows for
small ``a``: at a = 0.005 a typical draw lies between e^-600 and e^2000.

Kanter (1975): with U uniform on (0, π), E standard exponential and k = (1-a)/a,

    log S = k (log A(U) - log E),
    A(u) = [sin(au)^a sin((1-a)u)^(1-a) / sin u]^(1/(1-a)),

and so, by a change of variables (Zolotarev 1966), the density of t is

    g(t) = 1/(k π) ∫_0^π x e^-x du,   x = A(u) exp(-t/k).
"""

from functools import lru_cache
from math import exp, log, pi, sin
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import gammaln

from skbayesnn.numerics.jit import helper, kernel

_N_SERIES = 10
# The series in exp(-a t) is used where its argument is below 0.02: the first
# neglected term is then below 1e-17 of the leading one.
_SERIES_START = 3.9


class PositiveStableTable(NamedTuple):
    """The log-density of t = log S, interpolated; see :func:`positive_stable_table`.

    A bulk of fine spacing, a coarser stretch to its right, a convergent series beyond
    and Laplace's approximation to the left, where the density is below e^-60 of its top.
    """

    a: float
    t_left: float
    t_middle: float
    t_right: float
    bulk_per_unit: float
    bulk: np.ndarray
    middle_per_unit: float
    middle: np.ndarray
    series: np.ndarray
    left_constant: float
    left_rate: float


@helper
def sample_log_positive_stable(a, rng):
    """Draw log S by Kanter's method.

    Parameters
    ----------
    a : float
        Index in (0, 1); 1 gives S = 1.
    rng : numpy.random.Generator

    Returns
    -------
    t : float
    """
    if a == 1.0:
        return 0.0
    u, k = pi * (1.0 - rng.random()), (1.0 - a) / a
    # Two logarithms in place of four. At u = π, rounding keeps the last sine above zero.
    sine, exponential = sin(u), rng.standard_exponential()
    return log(sin(a * u) / sine) + k * log(sin((1.0 - a) * u) / (sine * exponential))


def _log_kanter(z, a):
    """log A(u) and log du/dz at u = π/(1 + e^-z), accurate at both ends of (0, π)."""
    u = pi / (1.0 + np.exp(-z))
    rest = pi / (1.0 + np.exp(z))
    sine = np.where(z < 0, np.sin(u), np.sin(rest))
    log_a = a * np.log(np.sin(a * u)) + (1 - a) * np.log(np.sin((1 - a) * u)) - np.log(sine)
    return log_a / (1 - a), np.log(u) + np.log(rest) - log(pi)


def log_density_by_quadrature(t, a):
    """log g(t) by Gauss-Legendre panels around the peak of Zolotarev's integrand.

    Parameters
    ----------
    t : ndarray of shape (n,)
        Values of log S.
    a : float
        Index in (0, 1).

    Returns
    -------
    log_g : ndarray of shape (n,)
        Log-density of log S, to about 1e-12 in relative terms.
    """
    t = np.asarray(t, dtype=np.float64)
    k = (1 - a) / a
    log_rate = -t / k
    log_a0 = log(1 - a) + a / (1 - a) * log(a)
    # Peak in z = logit(u/π): at x = 1 if x starts below 1, else near u = 0, where
    # log A(u) = log A(0) + a u²/2 + O(u⁴).
    low, high = np.full(t.shape, -40.0), np.full(t.shape, 60.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = _log_kanter(middle, a)[0] + log_rate > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    start = np.minimum(-0.5 * (log_rate + log_a0 + log(a)) - log(pi), 0.0)
    peak = np.where(log_rate + log_a0 < 0, low, start)

    # To the right x grows like exp(z/(1-a)), to the left all is smooth at scale one.
    n_doublings = int(np.ceil(np.log2(50 / (1 - a)))) + 2
    steps = np.concatenate([[0.0], (1 - a) * 0.5 * 2.0 ** np.arange(n_doublings)])
    edges = np.concatenate([-steps[:0:-1], steps])
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half = 0.5 * np.diff(edges)
    offsets = (edges[:-1, None] + half[:, None] * (nodes + 1)).ravel()
    log_weights = np.log((half[:, None] * weights).ravel())

    log_g = np.empty(t.shape)
    for rows in np.array_split(np.arange(t.size), max(1, t.size * offsets.size // 2**19)):
        # Beyond ±300 the change of variables underflows; the integrand is nil there.
        z = np.clip(peak[rows, None] + offsets, -300, 300)
        log_a, log_jacobian = _log_kanter(z, a)
        log_x = log_a + log_rate[rows, None]
        terms = log_x - np.exp(np.minimum(log_x, 700)) + log_jacobian + log_weights
        top = terms.max(axis=1)
        log_g[rows] = top + np.log(np.exp(terms - top[:, None]).sum(axis=1))
    return log_g - log(k * pi)


@lru_cache(maxsize=128)
def positive_stable_table(a):
    """Tabulate the log-density of log S for one index.

    Parameters
    ----------
    a : float
        Index in (0, 1).

    Returns
    -------
    table : PositiveStableTable
        For :func:`log_density`. Interpolated by cubic splines; the error of the
        log-density is below 1e-5 wherever it matters and far smaller in the bulk.
    """
    k = (1 - a) / a
    log_a0 = log(1 - a) + a / (1 - a) * log(a)
    # Tilted by S^-1/2, as in the posterior of a weight without data, E is
    # Gamma(1 + k/2): the table has to reach well below its bulk.
    reach = 60 + (1 + k / 2) + 8 * (1 + k / 2) ** 0.5
    t_left = -k * (log(reach) - log_a0)
    t_right = _SERIES_START / a
    t_middle = min(40 * k, t_right)

    def spline(start, stop, spacing):
        n = max(int(np.ceil((stop - start) / spacing)), 8)
        grid = np.linspace(start, stop, n + 1)
        coefficients = CubicSpline(grid, log_density_by_quadrature(grid, a)).c[::-1].T
        return n / (stop - start), np.ascontiguousarray(coefficients)

    bulk_per_unit, bulk = spline(t_left, t_middle, k / 16)
    if t_middle < t_right:
        spacing = max(2.5 * k, (t_right - t_middle) / 2**14)
        middle_per_unit, middle = spline(t_middle, t_right, spacing)
    else:
        middle_per_unit, middle = 1.0, np.zeros((1, 4))

    # g(t) = 1/π Σ_n (-1)^(n+1) sin(π n a) Γ(n a + 1)/n! e^(-n a t), and the first two
    # factors are sin(π n (1-a)), which stays accurate for a near 1.
    n = np.arange(1, _N_SERIES + 1)
    series = np.sin(pi * n * (1 - a)) * np.exp(gammaln(n * a + 1) - gammaln(n + 1)) / pi

    left_rate = exp(log_a0)
    left_constant = bulk[0, 0] + 0.5 * t_left / k + left_rate * exp(-t_left / k)
    return PositiveStableTable(
        a,
        t_left,
        t_middle,
        t_right,
        bulk_per_unit,
        bulk,
        middle_per_unit,
        middle,
        series,
        left_constant,
        left_rate,
    )


@helper
def log_density(t, table):
    """Log-density of t = log S from a table.

    Parameters
    ----------
    t : float
    table : PositiveStableTable

    Returns
    -------
    log_g : float
    """
    if t < table.t_left:
        log_rate = -t * table.a / (1.0 - table.a)
        return table.left_constant + 0.5 * log_rate - table.left_rate * exp(log_rate)
    if t < table.t_middle:
        x = (t - table.t_left) * table.bulk_per_unit
        i = min(int(x), table.bulk.shape[0] - 1)
        h = (x - i) / table.bulk_per_unit
        c = table.bulk[i]
    elif t < table.t_right:
        x = (t - table.t_middle) * table.middle_per_unit
        i = min(int(x), table.middle.shape[0] - 1)
        h = (x - i) / table.middle_per_unit
        c = table.middle[i]
    else:
        y = exp(-table.a * t)
        total = 0.0
        for i in range(table.series.shape[0] - 1, -1, -1):
            total = total * y + table.series[i]
        return log(total) - table.a * t
    return c[0] + h * (c[1] + h * (c[2] + h * c[3]))


@kernel
def log_densities(t, table):
    """:func:`log_density` of every entry of an array."""
    out = np.empty(t.shape[0])
    for i in range(t.shape[0]):
        out[i] = log_density(t[i], table)
    return out

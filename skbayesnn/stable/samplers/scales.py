"""Conditional draws of the scales s and of the noise variance, for any kind of cells.

The weight of a cell has variance v = ν q^{2/α} s, with s positive stable of index
α/2. A draw of v given the rest always has a target of the form

    log g(t) - ½ log(b + v) - δ²/(2 (b + v)),    v = exp(log_unit + t),  t = log s,

since, the weight integrated out, the data see v through one Gaussian number δ whose
variance is v plus a known b. Slice sampling (Neal 2003, figures 3 and 5) in t draws
from it, with at most a fixed number of steps out.
"""

from math import exp, inf, log, log1p, sqrt

from skbayesnn.numerics.jit import helper
from skbayesnn.numerics.stable_laws import log_density, sample_log_positive_stable
from skbayesnn.stable.samplers.slice import slice_sample

# Bounds of the noise variance, relative to that of y. Rows that repeat an input and
# its target exactly would otherwise send it to zero, where the posterior is improper.
LOG_NOISE_BOUNDS = (log(1e-10), log(1e10))

# Steps out of slice sampling.
_MAX_STEPS = 40

# δ² above so many variances of its noise b is a signal.
SIGNAL = 4.0


@helper
def _log_scale_target(t, log_unit, b, delta2, table):
    """Log-density of t = log s given the rest, up to a constant."""
    v = exp(log_unit + t)
    if v == inf:
        # The Gaussian factor tends to v^-1/2.
        return log_density(t, table) - 0.5 * (log_unit + t)
    total = b + v
    if total == 0.0:
        return -inf
    return log_density(t, table) - 0.5 * (log(total) + delta2 / total)


@helper
def draw_log_variance(log_variance, log_unit, b, delta2, table, width, rng):
    """One slice-sampling update of log v given a Gaussian number seen through it.

    Parameters
    ----------
    log_variance : float
        The present log v.
    log_unit : float
        log(ν q^{2/α}), so that log s = log v - log_unit.
    b, delta2 : float
        The data see δ ~ N(0, b + v); ``delta2`` is δ².
    table : PositiveStableTable
        Log-density of log s.
    width : float
        Width of the first interval, about that of the prior of log s.
    rng : numpy.random.Generator

    Returns
    -------
    log_variance : float
        The new log v.
    """
    t = log_variance - log_unit
    arguments = log_unit, b, delta2, table
    new = slice_sample(_log_scale_target, t, arguments, width, _MAX_STEPS, rng)
    # Without the rounding errors of going to log s and back.
    return log_variance if new == t else log_unit + new


@helper
def propose_log_variance(log_variance, log_unit, b, delta2, a, rng):
    """One Metropolis update of log v with a proposal from its prior (Algorithm S.2).

    A third of the cost of :func:`draw_log_variance`, and as good for the many cells of
    which the data say little.

    Parameters
    ----------
    log_variance, log_unit, b, delta2
        As in :func:`draw_log_variance`.
    a : float
        Index α/2 of the prior of s.
    rng : numpy.random.Generator

    Returns
    -------
    log_variance : float
    """
    proposal = log_unit + sample_log_positive_stable(a, rng)
    old, new = b + exp(log_variance), b + exp(proposal)
    if new == inf or old == inf:
        # Out of the range of doubles; the other update goes on from here.
        return log_variance
    return proposal if accepts_variance(old, new, delta2, rng) else log_variance


@helper
def accepts_variance(old, new, delta2, rng):
    """Whether a variance b + v of δ gives way to a proposal whose v is from its prior."""
    if old == 0.0 or new == 0.0:
        return False
    return -rng.standard_exponential() < 0.5 * (log(old / new) + delta2 / old - delta2 / new)


@helper
def move_log_variance(log_variance, log_unit, b, delta2, table, width, rng):
    """One update of log v: of the two above the one that suits δ, which v has no part in.

    Where δ may be all noise the prior's proposals are mostly accepted; where it is not,
    v has to follow it.

    Parameters
    ----------
    log_variance, log_unit, b, delta2, table, width, rng
        As in :func:`draw_log_variance`.

    Returns
    -------
    log_variance : float
    """
    if delta2 > SIGNAL * b:
        return draw_log_variance(log_variance, log_unit, b, delta2, table, width, rng)
    return propose_log_variance(log_variance, log_unit, b, delta2, table.a, rng)


@helper
def log_half_cauchy(x):
    """Log-density of x = log ν with ν half-Cauchy, up to a constant: ν/(1 + ν²)."""
    return -abs(x) - log1p(exp(-2.0 * abs(x)))


@helper
def log_noise_prior(x):
    """Log-density of x = log σ² with σ² half-Cauchy: σ²/(1 + σ⁴), up to a constant.

    In units of the variance of y (Algorithm S.2), cut at :data:`LOG_NOISE_BOUNDS`.
    """
    if x < LOG_NOISE_BOUNDS[0] or x > LOG_NOISE_BOUNDS[1]:
        return -inf
    return x - log(1.0 + exp(2.0 * x))


@helper
def propose_log_noise(log_noise, n, rng):
    """A symmetric proposal, around the spread √(2/n) of log σ² given n residuals."""
    return log_noise + 1.5 * sqrt(2.0 / n) * exp(rng.standard_normal()) * rng.standard_normal()


@helper
def _log_noise_target(x, n, rss):
    """Log-density of x = log σ² given the residuals."""
    return log_noise_prior(x) - 0.5 * (n * x + rss * exp(-x))


@helper
def draw_log_noise(log_noise, n, rss, rng):
    """One slice-sampling update of log σ² given the residual sum of squares.

    Parameters
    ----------
    log_noise : float
        The present log σ².
    n : int
        Number of rows.
    rss : float
        Residual sum of squares.
    rng : numpy.random.Generator

    Returns
    -------
    log_noise : float
    """
    return slice_sample(_log_noise_target, log_noise, (n, rss), 1.0, _MAX_STEPS, rng)

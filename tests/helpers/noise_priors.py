"""Draws from the prior of the slopes of the noise's scale."""

from functools import cache

import numpy as np
from scipy.stats import norm

from skbayesnn.stable.noise.slopes import LARGE_SLOPE


def draw_slopes(q, rng):
    """log τ, log λ and β from the regularised horseshoe: the horseshoe by rejection."""
    while True:
        log_tau = np.log(np.abs(rng.standard_cauchy())) - 0.5 * np.log(q)
        log_local = np.log(np.abs(rng.standard_cauchy(q)))
        slopes = np.exp(log_tau + log_local) * rng.standard_normal(q)
        if rng.random() < np.exp(-0.5 * np.sum((slopes / LARGE_SLOPE) ** 2)):
            return log_tau, log_local, slopes


@cache
def scales_of_slopes(q):
    """Draws of log τ and of a log λ, sorted: of the laws that have no closed form."""
    rng = np.random.default_rng(0)
    draws = [draw_slopes(q, rng) for _ in range(20_000)]
    return np.sort([log_tau for log_tau, *_ in draws]), np.sort([each[1][0] for each in draws])


def ranks_of_slopes(noise):
    """Numbers that are uniform under the prior, by name."""
    taus, locals_ = scales_of_slopes(noise.slopes.size)
    out = {"tau": np.searchsorted(taus, noise.log_tau) / taus.size}
    precisions = np.exp(-2.0 * (noise.log_tau + noise.log_local)) + LARGE_SLOPE**-2
    for j, slope in enumerate(noise.slopes * np.sqrt(precisions)):
        out[f"slope {j}"] = norm.cdf(slope)
        out[f"local {j}"] = np.searchsorted(locals_, noise.log_local[j]) / locals_.size
    return out

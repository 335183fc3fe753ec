"""Convergence of Markov chains: rank-normalised split R-hat and effective sample size.

Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding,
and localization". Ranks make both meaningful for heavy-tailed quantities.
"""

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata


def _split_and_rank(draws):
    """Halve each chain and replace values by normal scores: (2 n_chains, n/2, n_values)."""
    n_chains, n_draws, n_values = draws.shape
    half = n_draws // 2
    split = np.concatenate([draws[:, :half], draws[:, n_draws - half :]])
    flat = split.reshape(-1, n_values)
    ranks = rankdata(flat, axis=0)
    return ndtri((ranks - 0.375) / (flat.shape[0] + 0.25)).reshape(2 * n_chains, half, n_values)


def r_hat(draws):
    """Rank-normalised split R-hat.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, n_values)

    Returns
    -------
    r_hat : ndarray of shape (n_values,)
        Near one where the chains, and the halves of each, agree; NaN with fewer than
        four draws a chain.
    """
    if draws.shape[1] < 4:
        return np.full(draws.shape[2], np.nan)
    within, between, _ = _variances(_split_and_rank(draws))
    n = draws.shape[1] // 2
    with np.errstate(divide="ignore", invalid="ignore"):
        # A quantity that never moves (0/0) has converged.
        ratio = np.where(between + within > 0, between / (n * within), 0.0)
    return np.sqrt((n - 1) / n + ratio)


def _variances(z):
    """Mean variance within chains, n times the variance of their means, pooled variance."""
    n = z.shape[1]
    within = z.var(axis=1, ddof=1).mean(axis=0)
    between = n * z.mean(axis=1).var(axis=0, ddof=1)
    return within, between, (n - 1) / n * within + between / n


def effective_sample_size(draws):
    """Effective number of independent draws for the bulk of each quantity.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, n_values)

    Returns
    -------
    effective : ndarray of shape (n_values,)
        Geyer's initial monotone sequence on the split, rank-normalised chains; at most
        N log10 N for N draws in all, and NaN with fewer than four draws a chain.
    """
    if draws.shape[1] < 4:
        return np.full(draws.shape[2], np.nan)
    z = _split_and_rank(draws)
    n_chains, n, n_values = z.shape
    total = n_chains * n
    effective = np.empty(n_values)
    # A few quantities at a time: the transforms take n_chains * n complex numbers each.
    step = max(1, 2**21 // total)
    for start in range(0, n_values, step):
        block = z[..., start : start + step]
        within, _, pooled = _variances(block)
        centred = block - block.mean(axis=1, keepdims=True)
        length = next_fast_len(2 * n, real=True)
        spectrum = rfft(centred, length, axis=1)
        covariance = irfft(np.abs(spectrum) ** 2, length, axis=1)[:, :n].mean(axis=0) / (n - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            rho = 1.0 - (within - covariance) / pooled
        rho[0] = 1.0
        pairs = rho[0 : n - n % 2 : 2] + rho[1:n:2]
        positive = np.cumprod(pairs > 0, axis=0).astype(bool)
        monotone = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
        time = -1.0 + 2.0 * monotone.sum(axis=0)
        effective[start : start + step] = total / np.maximum(time, 1.0 / np.log10(total))
    return effective

"""Convergence of Markov chains: R-hat and effective sample sizes of bulk and tails.

Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and
localization". Ranks make these diagnostics meaningful for heavy-tailed quantities. Folding about
the median lets R-hat detect chains that agree on the location of a quantity but not on its spread.
"""

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

_TAILS = (0.05, 0.95)


def _split(draws):
    """Halve each chain: (2 n_chains, n/2, n_values)."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _normal_scores(split):
    """Replace values by the normal quantiles of their ranks."""
    flat = split.reshape(-1, split.shape[2])
    ranks = rankdata(flat, axis=0)
    return ndtri((ranks - 0.375) / (flat.shape[0] + 0.25)).reshape(split.shape)


def r_hat(draws):
    """Rank-normalised split R-hat: the larger of the values for plain and for folded draws.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, n_values)

    Returns
    -------
    r_hat : ndarray of shape (n_values,)
        Near one if the chains, and the halves of each, agree; NaN with fewer than four draws per
        chain.
    """
    if draws.shape[1] < 4:
        return np.full(draws.shape[2], np.nan)
    split = _split(draws)
    folded = np.abs(split - np.median(split, axis=(0, 1)))
    return np.maximum(_ratio(_normal_scores(split)), _ratio(_normal_scores(folded)))


def _ratio(z):
    within, between, _ = _variances(z)
    n = z.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        # A quantity that never changes (0/0) counts as converged.
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
        From Geyer's initial monotone sequence on the split, rank-normalised chains. At most N log10
        N for N draws in total, and NaN with fewer than four draws per chain.
    """
    if draws.shape[1] < 4:
        return np.full(draws.shape[2], np.nan)
    return _effective(_normal_scores(_split(draws)))


def tail_effective_sample_size(draws):
    """Effective number of independent draws for the 5 % or the 95 % quantile, whichever is smaller.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, n_values)

    Returns
    -------
    effective : ndarray of shape (n_values,)
        Computed as in :func:`effective_sample_size`, for the indicators of the tails. An indicator
        that never changes, for example because most draws are equal, is uninformative and counts as
        independent.
    """
    if draws.shape[1] < 4:
        return np.full(draws.shape[2], np.nan)
    split = _split(draws)
    ends = np.quantile(split, _TAILS, axis=(0, 1))
    sizes = []
    for end in ends:
        inside = (split <= end).astype(float)
        still = np.ptp(inside, axis=(0, 1)) == 0.0
        sizes.append(np.where(still, split[..., 0].size, _effective(inside)))
    return np.minimum(*sizes)


def _effective(z):
    """Effective sample sizes from chains of shape (n_chains, n, n_values)."""
    n_chains, n, n_values = z.shape
    total = n_chains * n
    effective = np.empty(n_values)
    # Process a few quantities at a time: their transforms take n_chains * n complex numbers each.
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

"""Training rows of the model with one input left out: the density of each given all others.

Given the variances of the weights and the noise's scale, degrees of freedom and precisions of all
other rows, f at a row is Gaussian, and the row's own precision has its prior: its target is
Student-t about a Gaussian number, integrated by the finite mixture of
:mod:`skbayesnn.numerics.student_t`. Draws do not keep precisions; given f they are drawn anew. A
row of weight w has a noise variance w times smaller with the same law, while chains count it as w
rows: nearly the same near the middle of the law, and the same where w is one.
"""

import numpy as np
from scipy.special import logsumexp

from skbayesnn.numerics.jit import kernel
from skbayesnn.numerics.student_t import MASSES, student_variances
from skbayesnn.stable.left_out import MOST_LEVERAGE, average_left_out
from skbayesnn.stable.noise.precisions import draw_precisions
from skbayesnn.stable.samplers.line import MAX_LOG_VARIANCE, function_moments

MOST_DRAWS = 250
"""So many draws, evenly spread over the chains, stand for all."""

_function_moments = kernel(function_moments)


def log_densities_left_out(partition, draws, X, y):
    """Log-density of training rows given all others.

    Parameters
    ----------
    partition : AdditiveCells
        With one input and without dense units.
    draws : AdditiveDraws
    X, y : ndarray of shape (n, 1) and (n,)
        Some of the rows of the partition.

    Returns
    -------
    log_densities : ndarray of shape (n,)
    """
    n_draws = draws.alpha.size
    draws = draws.take(np.arange(0, n_draws, -(-n_draws // MOST_DRAWS)))
    # Complex numbers are sorted as pairs are.
    rows = np.searchsorted(partition.rows[:, 0] + 1j * partition.y, X[:, 0] + 1j * y)
    index, weights, rng = partition.index[0], partition.weights[rows], np.random.default_rng(0)
    log_factors = partition.log_noise_factors(draws, partition.rows)
    logs = np.empty((y.size, draws.alpha.size))
    for d, (degrees, log_noise) in enumerate(zip(draws.degrees, draws.log_noise, strict=True)):
        # Of each row: how much it tells of f, which is its precision over σ².
        residuals = partition.y - draws.f[d].astype(np.float64)[index]
        h = np.broadcast_to(log_factors[:, d], index.size)
        told = draw_precisions(residuals, h, partition.weights, degrees, log_noise, rng)
        told *= np.exp(-log_noise)
        totals = np.bincount(index, told)
        steps = 4.0 * np.exp(np.minimum(draws.log_variances[d].astype(float), MAX_LOG_VARIANCE))
        targets = np.bincount(index, told * partition.y) / totals
        means, variances, _ = _function_moments(targets, 1.0 / totals, steps)
        means, variances = means[index[rows]], variances[index[rows]]
        left = 1.0 - np.minimum(variances * told[rows], MOST_LEVERAGE)
        gaps = (y - means) / left
        noise = np.outer(np.exp(log_noise + h[rows]) / weights, student_variances(degrees))
        spreads = (variances / left)[:, None] + noise
        logs[:, d] = logsumexp(
            -0.5 * (np.log(2.0 * np.pi * spreads) + gaps[:, None] ** 2 / spreads), b=MASSES, axis=1
        )
    return average_left_out(logs)

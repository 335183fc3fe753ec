"""Leave-one-out densities of training rows, for the model with one input.

Given the variances of the weights, the scale and degrees of freedom of the noise, and the
precisions of all other rows, f at a row is Gaussian, and the row's own precision has its prior. The
target is therefore Student-t distributed around a Gaussian variable, which the finite mixture of
:mod:`skbayesnn.numerics.student_t` integrates. Draws do not store precisions; they are redrawn
given f. Here, a row of weight w has a w times smaller noise variance with the same distribution,
whereas chains count it as w rows. These are nearly equal near the centre of the distribution, and
equal for w = 1.
"""

import numpy as np

from skbayesnn.numerics.jit import kernel
from skbayesnn.stable.left_out import MOST_LEVERAGE, average_left_out, student_log_densities
from skbayesnn.stable.noise.precisions import draw_precisions
from skbayesnn.stable.samplers.line import MAX_LOG_VARIANCE, function_moments

MOST_DRAWS = 250
"""Maximum number of draws to use; they are spread evenly over the chains."""

_function_moments = kernel(function_moments)


def log_densities_left_out(partition, draws, X, y):
    """Log density of training rows given all others.

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
    # Complex numbers sort in the same way as pairs.
    rows = np.searchsorted(partition.rows[:, 0] + 1j * partition.y, X[:, 0] + 1j * y)
    index, weights, rng = partition.index[0], partition.weights[rows], np.random.default_rng(0)
    log_factors = partition.log_noise_factors(draws, partition.rows)
    logs = np.empty((y.size, draws.alpha.size))
    for d, (degrees, log_noise) in enumerate(zip(draws.degrees, draws.log_noise, strict=True)):
        # Information of each row about f: its precision over σ².
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
        noise = np.exp(log_noise + h[rows]) / weights
        logs[:, d] = student_log_densities(gaps, variances / left, noise, degrees)
    return average_left_out(logs)

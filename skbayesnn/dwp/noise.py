"""Noise of a trained model that is not one Gaussian.

At the start, the law of the noise and the settings of a Gaussian process are learned in turns
(:mod:`skbayesnn.gaussian_process.stand_ins`). The hidden layers are trained with the rows that this
gives, and then the law is chosen and learned anew, given what the trained model predicts for rows
that are left out of its output. With many rows, the process of the start has seen but some of them,
and much that it cannot predict is no noise: the layers are then trained with Gaussian noise, and
the law is learned after that alone. Not in the paper.
"""

LAST_ROUNDS, LAST_DRAWS, FEWER_DRAWS = 2, 5, 2
"""Of the trained model: how often the law is learned, and draws of the hidden layers for that, the
second number where rows are more than those by which a law is learned."""
MOST_GROUPS = 10
"""Of draws of the hidden layers, where each is seen with several Gaussians of the noise."""
START_ROWS = 1500
"""With more, there is no law but the Gaussian one before the end."""
LAW_ROWS = 5000
"""By which a law is learned at most."""


def fewer(means, variances, n_groups):
    """Groups of draws as one Gaussian each, of the same mean and variance.

    Parameters
    ----------
    means, variances : ndarray of shape (n_draws, n)
    n_groups : int
        A divisor of the number of draws, or all draws are kept.

    Returns
    -------
    means, variances : ndarray of shape (n_groups, n)
    """
    if len(means) % n_groups:
        return means, variances
    means = means.reshape(n_groups, -1, means.shape[1])
    variances = variances.reshape(means.shape)
    return means.mean(axis=1), variances.mean(axis=1) + means.var(axis=1)

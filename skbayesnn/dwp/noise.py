"""Schedule for learning a noise distribution that is not Gaussian with a single variance.

The start of training alternates between the noise distribution and the hyperparameters of a
Gaussian process (:mod:`skbayesnn.gaussian_process.stand_ins`). The hidden layers are trained with
the resulting Gaussian stand-ins for the rows. The noise distribution is then chosen and learned
again, given the trained model's predictions for rows that are left out of its output. With many
rows, the process at the start sees only some of them, and much of what it cannot predict is not
noise. The layers are then trained with Gaussian noise, and the noise distribution is learned only
afterwards. Not in the paper.
"""

LAST_ROUNDS, LAST_DRAWS, FEWER_DRAWS = 2, 5, 2
"""For the trained model: how often the noise distribution is learned, and numbers of draws of the
hidden layers for this. The second number of draws applies above ``LAW_ROWS`` rows."""
MOST_GROUPS = 10
"""Number of groups of draws of the hidden layers, if each is combined with several Gaussians of the
noise."""
START_ROWS = 1500
"""With more rows, the noise is Gaussian until training ends."""
LAW_ROWS = 5000
"""Largest number of rows from which a noise distribution is learned."""


def fewer(means, variances, n_groups):
    """Merge draws into groups: one Gaussian per group, with the same mean and variance.

    Parameters
    ----------
    means, variances : ndarray of shape (n_draws, n)
    n_groups : int
        If it does not divide the number of draws, all draws are kept.

    Returns
    -------
    means, variances : ndarray of shape (n_groups, n)
    """
    if len(means) % n_groups:
        return means, variances
    means = means.reshape(n_groups, -1, means.shape[1])
    variances = variances.reshape(means.shape)
    return means.mean(axis=1), variances.mean(axis=1) + means.var(axis=1)

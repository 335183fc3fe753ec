"""The share of one of two predictions in a mixture of both, from rows that neither knows.

Not in the papers.
"""

import numpy as np
from scipy.special import expit, log_expit, logsumexp

_LOGITS = np.linspace(-100.0, 30.0, 1301)


def posterior_share(own, others, counts, prior_mean=0.5, prior_rows=2.0):
    """Posterior mean of the share, under a Beta distribution a priori.

    Parameters
    ----------
    own, others : ndarray of shape (n,)
        Log densities of the rows under the prediction and under the other one.
    counts : ndarray of shape (n,)
        How many rows each stands for.
    prior_mean, prior_rows : float, default=0.5, 2.0
        Mean of the prior, and how many rows it is worth: by default it is uniform.

    Returns
    -------
    share : float

    Examples
    --------
    >>> import numpy as np
    >>> round(posterior_share(np.zeros(9), np.full(9, -1.0), np.ones(9)), 2)
    0.86
    """
    log_share, log_rest = log_expit(_LOGITS), log_expit(-_LOGITS)
    # The density of the logit has one more power of both.
    logs = prior_rows * (prior_mean * log_share + (1.0 - prior_mean) * log_rest)
    # What both say alike of a row may be so much that rounding would drown the rest.
    most = np.maximum(own, others)
    own, others = own - most, others - most
    logs += np.logaddexp(log_share[:, None] + own, log_rest[:, None] + others) @ counts
    return float(expit(_LOGITS) @ np.exp(logs - logsumexp(logs)))

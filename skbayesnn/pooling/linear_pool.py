"""The linear pool f(y) = Σ_k w_k f_k(y): Gaussian mixtures are closed under it."""

import numpy as np

from skbayesnn.predictive import PredictiveMixture


def linear_pool(mixtures, weights=None):
    """Mixture of mixtures.

    Parameters
    ----------
    mixtures : list of PredictiveMixture
        At least one, all of the same rows.
    weights : array-like of shape (n_mixtures,) or None, default=None
        With sum one; None for equal ones.

    Returns
    -------
    pool : PredictiveMixture
        With the components of all.

    Examples
    --------
    >>> from skbayesnn.predictive import PredictiveMixture
    >>> low, high = (PredictiveMixture([1.0], [[m]], [[1.0]]) for m in (-1.0, 1.0))
    >>> linear_pool([low, high], [0.25, 0.75]).mean()
    array([0.5])
    """
    if weights is None:
        weights = np.full(len(mixtures), 1.0 / len(mixtures))
    # One row of weights serves all rows unless a member has weights of its own for each.
    by_row = any(m.weights.ndim == 2 for m in mixtures)
    parts = [
        w * (np.broadcast_to(m.weights, m.means.shape) if by_row else m.weights)
        for w, m in zip(weights, mixtures, strict=True)
    ]
    return PredictiveMixture(
        np.concatenate(parts, axis=-1),
        np.concatenate([m.means for m in mixtures], axis=1),
        np.concatenate([m.variances for m in mixtures], axis=1),
    )

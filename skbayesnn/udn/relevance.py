"""Input scales of a network in a pool, from the effects of the inputs in earlier networks.

Let e² be the mean square of an input's effect (:mod:`skbayesnn.training.effects`) over the networks
so far, and n the number of rows. The normalised input is multiplied by

    e² / (e² + 64 / n),

divided by the largest of these factors. By chance, an input without effect has an effect of some
multiple of n^(−1/2), so it is nearly removed; if there is little noise, small effects count in
full. Gradients alone do not remove inputs, because steps of Adam have the same size for all of
them. Not in the paper.
"""

import numpy as np

from skbayesnn.training.effects import LEAST

HALF = 8.0
"""Effect by which an input counts for half, times the root of the number of rows."""


def relevances(effects, n_rows):
    """What the normalised inputs of the next network are multiplied by.

    Parameters
    ----------
    effects : list of ndarray of shape (n_inputs,)
        Of each network so far.
    n_rows : float

    Returns
    -------
    relevance : ndarray of shape (n_inputs,)
        From ``LEAST`` to 1.

    Examples
    --------
    >>> import numpy as np
    >>> relevances([np.array([2.0, 0.5, 0.05])], 256).round(2)
    array([1.  , 0.53, 0.03])
    """
    squares = np.mean(np.square(effects), axis=0)
    relevance = squares / (squares + HALF**2 / n_rows)
    largest = relevance.max()
    return np.maximum(relevance / largest, LEAST) if largest > 0 else np.ones(len(relevance))

"""Targets that are rounded or counted: how small noise may be taken to be."""

import numpy as np

MOST_VALUES = 0.5
"""Targets with more values than this part of the rows are not rounded."""


def rounding_variance(y):
    """The variance of rounding, where targets are rounded: a twelfth of their unit's square.

    Rows that share a value deny all noise, and a density that may be narrow without bound would put
    spikes on the values. The unit is the median gap between neighbouring values.

    Parameters
    ----------
    y : ndarray of shape (n,)

    Returns
    -------
    variance : float
        Zero where more than half of the rows differ.

    Examples
    --------
    >>> import numpy as np
    >>> round(12 * rounding_variance(np.array([0.0, 1.0, 0.0, 2.0, 1.0, 1.0, 4.0])), 2)
    1.0
    """
    values = np.unique(y)
    if len(values) < 2 or len(values) > MOST_VALUES * len(y) + 1:
        return 0.0
    return float(np.median(np.diff(values)) ** 2 / 12.0)

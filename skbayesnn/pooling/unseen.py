"""What a law that is made of seen values says of targets beyond them.

Quantiles, errors and the targets in the leaves of a forest end where the rows end. Such a law is
mixed with Student's t distribution about the mean of all targets, with their variance. A row among
n + 1 is as likely as any other to be the odd one, so the weight is 1 / (n + 1). Three is the least
whole number of degrees of freedom with a variance: with heavy-tailed noise, the next row may be
hundreds of deviations outside, where a Gaussian would have no density left.
"""

import numpy as np

from skbayesnn.numerics.student_t import MASSES, student_variances
from skbayesnn.predictive import PredictiveMixture, linear_pool

DEGREES = 3.0


def part_unseen(n_rows):
    """Weight of targets that are unlike those seen, given the number of training rows."""
    return 1.0 / (n_rows + 1.0)


def unseen_targets(n_samples, mean, std):
    """The law of targets that are unlike those seen: Student's t, approximated by Gaussians.

    Parameters
    ----------
    n_samples : int
        Rows, which all have the same law.
    mean, std : float
        Of all training targets, and of the law.

    Returns
    -------
    law : PredictiveMixture
    """
    variances = student_variances(DEGREES)
    variances *= std**2 / (MASSES @ variances)
    shape = n_samples, len(MASSES)
    return PredictiveMixture(MASSES, np.full(shape, mean), np.broadcast_to(variances, shape))


def with_unseen(seen, mean, std, n_rows):
    """A law of seen values, mixed with that of :func:`unseen_targets`.

    Parameters
    ----------
    seen : PredictiveMixture
    mean, std : float
        Of all training targets.
    n_rows : float
        Number of training rows.

    Returns
    -------
    law : PredictiveMixture

    Examples
    --------
    >>> from skbayesnn.predictive import PredictiveMixture
    >>> seen = PredictiveMixture([1.0], [[0.0]], [[0.01]])
    >>> law = with_unseen(seen, mean=0.0, std=1.0, n_rows=99)
    >>> seen.logpdf(50.0).round(), law.logpdf(50.0).round()
    (array([-124999.]), array([-21.]))
    """
    part = part_unseen(n_rows)
    return linear_pool([seen, unseen_targets(len(seen), mean, std)], [1.0 - part, part])

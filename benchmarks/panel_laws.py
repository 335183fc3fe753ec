"""Laws of the target given the inputs, known exactly: what the problems of the panel are made of.

A law is that of one independent target a row. ``logpdf`` is in nats; where targets are counts or
rounded it is the logarithm of the mass over the width of a cell, so that the density of a model,
averaged over the cell (``panel_scores.log_density``), can be compared with it.
"""

import numpy as np
from scipy import stats
from scipy.special import log_ndtr

from skbayesnn.predictive import PredictiveMixture


class Law:
    """A frozen continuous distribution of scipy, its parameters arrays of shape (n_rows,).

    Attributes
    ----------
    cell : float
        Width of the cells of a law on a lattice; 0 for a continuous law.
    """

    cell = 0.0

    def __init__(self, distribution, n_rows):
        self.distribution, self.n_rows = distribution, n_rows

    def logpdf(self, y):
        """Log-density of one target a row."""
        return self.distribution.logpdf(y)

    def quantile(self, levels):
        """Quantiles, (n_rows, n_levels)."""
        values = self.distribution.ppf(np.asarray(levels)[:, None])
        return np.broadcast_to(values, (len(levels), self.n_rows)).T

    def sample(self, rng):
        """One target a row."""
        return self.distribution.rvs(size=self.n_rows, random_state=rng).astype(float)


def gaussian(mean, std):
    """Noise of one standard deviation, or of one a row."""
    return Law(stats.norm(mean, std), len(mean))


class Counts(Law):
    """Poisson variables with the given means."""

    cell = 1.0

    def __init__(self, mean):
        super().__init__(stats.poisson(mean), len(mean))

    def logpdf(self, y):
        return self.distribution.logpmf(y)


class Rounded(Law):
    """Gaussian variables rounded to whole multiples of a cell."""

    def __init__(self, mean, std, cell):
        super().__init__(stats.norm(mean, std), len(mean))
        self.cell = cell

    def logpdf(self, y):
        mean, std = self.distribution.mean(), self.distribution.std()
        low, high = ((y + side * self.cell / 2 - mean) / std for side in (-1, 1))
        return log_normal_mass(low, high) - np.log(self.cell)

    def quantile(self, levels):
        return self.cell * np.round(super().quantile(levels) / self.cell)

    def sample(self, rng):
        return self.cell * np.round(super().sample(rng) / self.cell)


class Mixture(Law):
    """Gaussians with the given weights, one column of means and of standard deviations each."""

    def __init__(self, weights, means, stds):
        self.distribution = PredictiveMixture(weights, means, np.square(stds))

    def quantile(self, levels):
        return self.distribution.quantile(levels)

    def sample(self, rng):
        return self.distribution.sample(1, int(rng.integers(2**31)))[:, 0]


class Exact(Law):
    """No noise: the density is infinite at the value of the function."""

    def __init__(self, values):
        self.values = values

    def logpdf(self, y):
        return np.where(y == self.values, np.inf, -np.inf)

    def quantile(self, levels):
        return np.tile(self.values[:, None], len(levels))

    def sample(self, rng):
        return self.values.copy()


class Classes:
    """Labels 0, 1, … with a row of probabilities each, (n_rows, n_classes)."""

    def __init__(self, probabilities):
        self.probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)

    def sample(self, rng):
        """One label a row."""
        below = (
            np.cumsum(self.probabilities, axis=1)
            < rng.uniform(size=len(self.probabilities))[:, None]
        )
        return np.minimum(below.sum(axis=1), self.probabilities.shape[1] - 1)


def log_normal_mass(low, high):
    """log(Φ(high) - Φ(low)) to full relative precision in both tails."""
    # Both on the left of zero, where Φ has all its digits.
    flip = low > -high
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    log_high = log_ndtr(high)
    with np.errstate(divide="ignore"):
        return log_high + np.log1p(-np.exp(log_ndtr(low) - log_high))

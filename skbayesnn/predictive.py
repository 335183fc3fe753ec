"""``PredictiveMixture``: the one predictive object of the package."""

import numpy as np
from sklearn.utils import check_random_state

from skbayesnn.numerics import mixtures


class PredictiveMixture:
    """A finite mixture of Gaussians for each row: what every regressor here predicts.

    Parameters
    ----------
    weights : array-like of shape (n_components,) or (n_samples, n_components)
        Weights, each at least zero, with sum one for each row.
    means : array-like of shape (n_samples, n_components)
        Means of the components, in the units of y.
    variances : array-like of shape (n_samples, n_components)
        Variances of the components, at least zero, in the squared units of y. A
        variance of zero is a point mass.

    Raises
    ------
    ValueError
        If the shapes do not fit, or a number is not finite or out of its range.

    References
    ----------
    Grimit, Gneiting, Berrocal and Johnson, "The continuous ranked probability score for
    circular variables and its application to mesoscale forecast ensemble
    verification", Quarterly Journal of the Royal Meteorological Society, 2006 (CRPS).

    Examples
    --------
    >>> from skbayesnn.predictive import PredictiveMixture
    >>> two_modes = PredictiveMixture([0.5, 0.5], [[-3.0, 3.0]], [[1.0, 1.0]])
    >>> two_modes.mean(), two_modes.std().round(3)
    (array([0.]), array([3.162]))
    >>> two_modes.quantile([0.25, 0.75]).round(3)
    array([[-3.,  3.]])
    """

    def __init__(self, weights, means, variances):
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.means = np.ascontiguousarray(means, dtype=np.float64)
        self.variances = np.ascontiguousarray(variances, dtype=np.float64)
        if self.means.ndim != 2 or self.variances.shape != self.means.shape:
            raise ValueError(
                "means and variances must have the same shape (n_samples, n_components). "
                f"Got {self.means.shape} and {self.variances.shape}."
            )
        if self.weights.shape not in (self.means.shape[1:], self.means.shape):
            raise ValueError(
                "weights must have shape (n_components,) or (n_samples, n_components) with "
                f"(n_samples, n_components) = {self.means.shape}. Got {self.weights.shape}."
            )
        if not np.isfinite(self.means).all():
            raise ValueError("means must be finite.")
        if not (np.isfinite(self.variances).all() and (self.variances >= 0).all()):
            raise ValueError("variances must be finite and not negative.")
        if not ((self.weights >= 0).all() and np.allclose(self.weights.sum(axis=-1), 1)):
            raise ValueError("weights must not be negative, with sum one for each row.")

    def __len__(self):
        return self.means.shape[0]

    def __repr__(self):
        return f"PredictiveMixture(n_samples={len(self)}, n_components={self.means.shape[1]})"

    def _rows(self):
        """Weights with two dimensions, means and standard deviations, for the kernels."""
        return np.atleast_2d(self.weights), self.means, np.sqrt(self.variances)

    def _points(self, y):
        """Y as (n_samples, n_points), and whether the result has one column only."""
        y = np.asarray(y, dtype=np.float64)
        if y.ndim <= 1:
            if y.ndim == 1 and y.shape != (len(self),):
                raise ValueError(
                    f"y must be a number, of shape ({len(self)},) or ({len(self)}, n_points). "
                    f"Got shape {y.shape}."
                )
            return np.ascontiguousarray(np.broadcast_to(y, (len(self),))[:, None]), True
        if y.ndim > 2 or y.shape[0] not in (1, len(self)):
            raise ValueError(
                f"y must be a number, of shape ({len(self)},) or ({len(self)}, n_points). "
                f"Got shape {y.shape}."
            )
        return np.ascontiguousarray(np.broadcast_to(y, (len(self), y.shape[1]))), False

    def mean(self):
        """Means, (n_samples,)."""
        return np.einsum("...k,...k->...", self.weights, self.means)

    def var(self):
        """Variances, (n_samples,)."""
        deviations = self.means - self.mean()[:, None]
        return np.einsum("...k,...k->...", self.weights, self.variances + deviations**2)

    def std(self):
        """Standard deviations, (n_samples,)."""
        return np.sqrt(self.var())

    def cdf(self, y):
        """Distribution function.

        Parameters
        ----------
        y : float or array-like of shape (n_samples,), (n_samples, n_points) or (1, n_points)
            One value a row, or several.

        Returns
        -------
        cdf : ndarray of shape (n_samples,), or (n_samples, n_points) for y of two dimensions
        """
        points, single = self._points(y)
        out = np.empty(points.shape)
        mixtures.mixture_cdf(points, *self._rows(), out)
        return out[:, 0] if single else out

    def logpdf(self, y):
        """Natural logarithm of the density, in units of 1/y; arguments as for `cdf`."""
        points, single = self._points(y)
        out = np.empty(points.shape)
        mixtures.mixture_logpdf(points, *self._rows(), out)
        return out[:, 0] if single else out

    def quantile(self, q):
        """Quantiles, which never cross.

        Parameters
        ----------
        q : array-like of shape (n_quantiles,) or float
            Levels in (0, 1), in any order.

        Returns
        -------
        quantiles : ndarray of shape (n_samples, n_quantiles)
            In the order of ``q``.
        """
        levels = check_levels(q)
        order = np.argsort(levels, kind="stable")
        out = np.empty((len(self), levels.size))
        mixtures.mixture_quantile(levels[order], *self._rows(), out)
        return out[:, np.argsort(order, kind="stable")]

    def interval(self, coverage=0.9):
        """Central intervals, (n_samples, 2), that hold y with this probability."""
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be in the range (0, 1). Got {coverage!r} instead.")
        return self.quantile([0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage])

    def crps(self, y):
        """Continuous ranked probability score of each row, in the units of y; 0 is best.

        Closed form; the cost is half the square of the number of components a row.

        Parameters
        ----------
        y : float or array-like of shape (n_samples,)

        Returns
        -------
        crps : ndarray of shape (n_samples,)
        """
        points, single = self._points(y)
        if not single:
            raise ValueError(f"y must be a number or of shape ({len(self)},).")
        out = np.empty(len(self))
        table = mixtures.expected_abs_table()
        mixtures.mixture_crps(np.ascontiguousarray(points[:, 0]), *self._rows(), table, out)
        return out

    def sample(self, n_samples=1, random_state=None):
        """Draw from each row.

        Parameters
        ----------
        n_samples : int, default=1
            Draws a row.
        random_state : int, RandomState instance or None, default=None
            Seed.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
        """
        rng = check_random_state(random_state)
        shape = (len(self), n_samples)
        cumulative = np.cumsum(np.broadcast_to(self.weights, self.means.shape), axis=1)
        levels = rng.uniform(size=shape) * cumulative[:, -1:]
        component = np.empty(shape, dtype=np.intp)
        for row in range(len(self)):
            component[row] = np.searchsorted(cumulative[row], levels[row], side="right")
        component = np.minimum(component, self.means.shape[1] - 1)
        means = np.take_along_axis(self.means, component, axis=1)
        sds = np.sqrt(np.take_along_axis(self.variances, component, axis=1))
        return means + sds * rng.standard_normal(shape)


def check_levels(q):
    """Quantile levels as an array of one dimension.

    Parameters
    ----------
    q : array-like of shape (n_quantiles,) or float

    Returns
    -------
    levels : ndarray of shape (n_quantiles,)

    Raises
    ------
    ValueError
        If there is none, or one is not in (0, 1).
    """
    levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
    if levels.ndim != 1 or levels.size == 0 or not ((levels > 0) & (levels < 1)).all():
        raise ValueError(
            "quantiles must be a number in the range (0, 1) or a list of such numbers. "
            f"Got {q!r} instead."
        )
    return levels

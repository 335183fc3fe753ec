"""``PredictiveMixture``: the predictive distribution of all regressors of the package."""

from numbers import Real
from typing import Self

import numpy as np
from scipy.special import ndtri
from sklearn.utils import check_random_state

from skbayesnn import _mixtures as mixtures
from skbayesnn._typing import ArrayLike, FloatArray, Seed
from skbayesnn._validation import central_levels, check_levels, check_n_samples

# More than rounding leaves in the sum of any number of weights.
_MAX_WEIGHT_ERROR = 1e-8


class PredictiveMixture:
    """Predictive distributions: a finite mixture of Gaussians for each row.

    Every regressor of this package predicts one. You can also build one from the means and
    variances of any other Gaussian prediction, in order to score it.

    Parameters
    ----------
    weights : array-like of shape (n_components,) or (n_samples, n_components)
        Weights of the components, not negative. For each row they sum to one, within 1e-8.
    means : array-like of shape (n_samples, n_components)
        Means of the components, in the units of y.
    variances : array-like of shape (n_samples, n_components)
        Variances of the components, not negative, in the squared units of y. A variance of zero is
        a point mass.

    Raises
    ------
    ValueError
        If the shapes do not match, or a number is not finite or is outside its range.

    Attributes
    ----------
    weights, means, variances : ndarray of float64
        As given.

    Notes
    -----
    ``len(mixture)`` is the number of rows, and ``mixture[rows]`` is the mixture for some of them.
    The results for a row do not depend on the other rows, to the last bit. Memory stays within a
    few times that of the means.

    References
    ----------
    E. Grimit, T. Gneiting, V. Berrocal and N. Johnson, "The continuous ranked probability score
    for circular variables and its application to mesoscale forecast ensemble verification",
    Quarterly Journal of the Royal Meteorological Society, 2006.

    Examples
    --------
    >>> from skbayesnn.predictive import PredictiveMixture
    >>> two_modes = PredictiveMixture([0.5, 0.5], [[-3.0, 3.0]], [[1.0, 1.0]])
    >>> two_modes.mean(), two_modes.std().round(3)
    (array([0.]), array([3.162]))
    >>> two_modes.quantile([0.25, 0.75]).round(3)
    array([[-3.,  3.]])
    """

    def __init__(self, weights: ArrayLike, means: ArrayLike, variances: ArrayLike) -> None:
        self.weights = _plain(weights)
        self.means = _plain(means)
        self.variances = _plain(variances)
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
        if not np.isfinite(self.weights).all() or (self.weights < 0).any():
            raise ValueError("weights must be finite and not negative.")
        totals = np.atleast_1d(self.weights.sum(axis=-1))
        if np.any(np.abs(totals - 1) > _MAX_WEIGHT_ERROR):
            worst = totals[np.argmax(np.abs(totals - 1))]
            raise ValueError(f"weights must sum to one for each row. Got a sum of {worst}.")

    def __len__(self):
        return self.means.shape[0]

    def __getitem__(self, rows):
        """Choose rows: a mixture again, of one row for an int."""
        rows = np.atleast_1d(np.arange(len(self))[rows])
        weights = self.weights if self.weights.ndim == 1 else self.weights[rows]
        return PredictiveMixture(weights, self.means[rows], self.variances[rows])

    def __repr__(self):
        return f"PredictiveMixture(n_samples={len(self)}, n_components={self.means.shape[1]})"

    def _rows(self):
        """Weights with two dimensions, means and standard deviations, for the kernels."""
        return np.atleast_2d(self.weights), self.means, np.sqrt(self.variances)

    def _points(self, y):
        """Y as (n_samples, n_points)."""
        y = np.asarray(y, dtype=np.float64)
        if np.isnan(y).any():
            raise ValueError("y must not contain NaN.")
        columns = y[:, None] if y.ndim == 1 else np.atleast_2d(y)
        n_rows = (len(self),) if y.ndim == 1 else (1, len(self))
        if y.ndim > 2 or len(columns) not in n_rows:
            raise ValueError(
                f"y must be a number, of shape ({len(self)},), ({len(self)}, n_points) or "
                f"(1, n_points). Got shape {y.shape}."
            )
        return _plain(np.broadcast_to(columns, (len(self), columns.shape[1])))

    def _evaluate(self, kernel, y):
        """One column of values for y of fewer than two dimensions."""
        points = self._points(y)
        out = np.empty(points.shape)
        kernel(points, *self._rows(), out)
        return out if np.ndim(y) == 2 else out[:, 0]

    def scaled(self, loc: float, scale: float) -> Self:
        """Distribution of ``loc + scale * y``, for example to undo a normalisation of y.

        Parameters
        ----------
        loc : float
            Location, in the new units.
        scale : float
            Number of new units in one old unit; not zero.

        Returns
        -------
        distribution : PredictiveMixture
            In the new units. Its densities are the old ones divided by ``|scale|``.

        Raises
        ------
        ValueError
            If ``loc`` or ``scale`` is not a finite number, or ``scale`` is zero.

        Examples
        --------
        >>> from skbayesnn.predictive import PredictiveMixture
        >>> celsius = PredictiveMixture([1.0], [[20.0]], [[4.0]])
        >>> fahrenheit = celsius.scaled(32.0, 1.8)
        >>> fahrenheit.mean(), fahrenheit.std()
        (array([68.]), array([3.6]))
        """
        if not (isinstance(loc, Real) and np.isfinite(loc)):
            raise ValueError(f"loc must be a finite number. Got {loc!r} instead.")
        if not (isinstance(scale, Real) and np.isfinite(scale) and scale != 0):
            raise ValueError(f"scale must be a finite number other than 0. Got {scale!r} instead.")
        # An overflow is refused with the rest of what is not finite.
        with np.errstate(over="ignore"):
            means = loc + scale * self.means
            variances = scale * (scale * self.variances)
        return PredictiveMixture(self.weights, means, variances)

    def mean(self) -> FloatArray:
        """Means.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
        """
        return (self.weights * self.means).sum(axis=1)

    def var(self) -> FloatArray:
        """Variances, in the squared units of y.

        Returns
        -------
        var : ndarray of shape (n_samples,)
        """
        with np.errstate(over="ignore"):
            return self.std() ** 2

    def std(self) -> FloatArray:
        """Standard deviations.

        Returns
        -------
        std : ndarray of shape (n_samples,)
        """
        deviations = np.hypot(self.means - self.mean()[:, None], np.sqrt(self.variances))
        # In units of the largest, squares neither overflow nor vanish.
        unit = deviations.max(axis=1)
        deviations /= np.where(unit > 0, unit, 1)[:, None]
        return unit * np.sqrt((self.weights * deviations**2).sum(axis=1))

    def cdf(self, y: ArrayLike) -> FloatArray:
        """Distribution function, P(Y <= y).

        Parameters
        ----------
        y : float or array-like of shape (n_samples,), (n_samples, n_points) or (1, n_points)
            One value for all rows, one for each row, several for each row, or several for all rows.
            Infinite values are allowed.

        Returns
        -------
        cdf : ndarray of shape (n_samples,), or (n_samples, n_points) for y of two dimensions

        Raises
        ------
        ValueError
            If y has another shape or contains NaN.
        """
        return self._evaluate(mixtures.mixture_cdf, y)

    def logpdf(self, y: ArrayLike) -> FloatArray:
        """Log density in nats, for y in its own units.

        Parameters
        ----------
        y : float or array-like of shape (n_samples,), (n_samples, n_points) or (1, n_points)
            As for `cdf`.

        Returns
        -------
        logpdf : ndarray of shape (n_samples,), or (n_samples, n_points) for y of two dimensions
            It is ``inf`` on a point mass.

        Raises
        ------
        ValueError
            If y has another shape or contains NaN.
        """
        return self._evaluate(mixtures.mixture_logpdf, y)

    def quantile(self, q: ArrayLike) -> FloatArray:
        """Quantiles: the smallest y with P(Y <= y) >= q. They never cross.

        Parameters
        ----------
        q : float or array-like of shape (n_quantiles,)
            Levels in (0, 1), in any order.

        Returns
        -------
        quantiles : ndarray of shape (n_samples, n_quantiles)
            In the order of ``q``.

        Raises
        ------
        ValueError
            If there is no level, or a level is not in (0, 1).
        """
        levels, inverse = np.unique(check_levels(q), return_inverse=True)
        out = np.empty((len(self), levels.size))
        mixtures.mixture_quantile(levels, ndtri(levels), *self._rows(), out)
        return out[:, inverse]

    def interval(self, coverage: float = 0.9) -> FloatArray:
        """Central intervals, between the quantiles at (1 - coverage)/2 and (1 + coverage)/2.

        Parameters
        ----------
        coverage : float, default=0.9
            Probability that y lies in its interval, in (0, 1).

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper ends.

        Raises
        ------
        ValueError
            If ``coverage`` is not in (0, 1).
        """
        return self.quantile(central_levels(coverage))

    def crps(self, y: ArrayLike) -> FloatArray:
        """Continuous ranked probability score of each row, in the units of y; 0 is best.

        ``∫ (P(Y <= t) - 1{y <= t})² dt = E|Y - y| - ½ E|Y - Y'|``, in closed form for Gaussian
        mixtures (Grimit et al., 2006). The cost for a row is proportional to the square of its
        number of components.

        Parameters
        ----------
        y : float or array-like of shape (n_samples,)
            One value for all rows, or one for each row.

        Returns
        -------
        crps : ndarray of shape (n_samples,)
            Exact to about 1e-13 of the scale of the row.

        Raises
        ------
        ValueError
            If y has another shape or contains NaN.
        """
        if np.ndim(y) > 1:
            raise ValueError(f"y must be a number or of shape ({len(self)},).")
        out = np.empty(len(self))
        table = mixtures.expected_abs_table()
        mixtures.mixture_crps(self._points(y)[:, 0].copy(), *self._rows(), table, out)
        return out

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> FloatArray:
        """Draw from the distribution of each row; all draws are independent.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws for each row.
        random_state : int, RandomState instance or None, default=None
            Seed.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)

        Raises
        ------
        ValueError
            If ``n_samples`` is not a positive integer.
        """
        check_n_samples(n_samples)
        rng = check_random_state(random_state)
        shape = (len(self), n_samples)
        cumulative = np.cumsum(np.broadcast_to(self.weights, self.means.shape), axis=1)
        totals = cumulative[:, -1:]
        # Below the total, so that no component without weight is ever drawn.
        levels = np.minimum(rng.uniform(size=shape) * totals, np.nextafter(totals, 0))
        component = np.empty(shape, dtype=np.intp)
        for row in range(len(self)):
            component[row] = np.searchsorted(cumulative[row], levels[row], side="right")
        means = np.take_along_axis(self.means, component, axis=1)
        variances = np.take_along_axis(self.variances, component, axis=1)
        return means + np.sqrt(variances) * rng.standard_normal(shape)


def linear_pool(mixtures, weights):
    """The linear pool f(y) = Σ_k w_k f_k(y): mixtures are closed under it.

    Parameters
    ----------
    mixtures : list of PredictiveMixture
        At least one, all of the same rows.
    weights : array-like of shape (n_mixtures,) or (n_samples, n_mixtures)
        With sum one, in each row where rows have their own.

    Returns
    -------
    pool : PredictiveMixture
        With the components of all.

    Examples
    --------
    >>> from skbayesnn.predictive import PredictiveMixture, linear_pool
    >>> low, high = (PredictiveMixture([1.0], [[m]], [[1.0]]) for m in (-1.0, 1.0))
    >>> linear_pool([low, high], [0.25, 0.75]).mean()
    array([0.5])
    """
    # One row of weights serves all rows unless the pool or a member has some for each.
    weights = np.asarray(weights)
    by_row = weights.ndim == 2 or any(m.weights.ndim == 2 for m in mixtures)
    parts = [
        w[..., None] * (np.broadcast_to(m.weights, m.means.shape) if by_row else m.weights)
        for w, m in zip(weights.T, mixtures, strict=True)
    ]
    return PredictiveMixture(
        np.concatenate(parts, axis=-1),
        np.concatenate([m.means for m in mixtures], axis=1),
        np.concatenate([m.variances for m in mixtures], axis=1),
    )


def moved(mixture, onto, factor):
    """The mixture with another mean in each row, and its distances from the mean scaled.

    Parameters
    ----------
    mixture : PredictiveMixture
    onto : ndarray of shape (n_samples,)
        Means that it is to have.
    factor : float
        On the distances from the mean, and so on the standard deviation.

    Returns
    -------
    moved : PredictiveMixture

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn.predictive import PredictiveMixture, moved
    >>> two_modes = PredictiveMixture([0.5, 0.5], [[-1.0, 1.0]], [[1.0, 3.0]])
    >>> narrow = moved(two_modes, np.array([5.0]), 0.5)
    >>> narrow.mean(), narrow.var()
    (array([5.]), array([0.75]))
    """
    gaps = mixture.means - mixture.mean()[:, None]
    return PredictiveMixture(
        mixture.weights, onto[:, None] + factor * gaps, factor**2 * mixture.variances
    )


def _plain(a):
    """A plain array that can be written to: kernels are compiled once, for those only."""
    return np.require(a, np.float64, ["C", "W", "E"])

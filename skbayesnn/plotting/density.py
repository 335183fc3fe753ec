"""Predictive densities: a curve for each of a few rows, or an image along one feature."""

from numbers import Integral

import numpy as np

from skbayesnn._validation import Interval
from skbayesnn.base import check_distribution
from skbayesnn.plotting._axes import check_x, check_y, distribution_of, get_axes, single_feature

_MAX_CURVES = 10
_MAX_CELLS = 2_000_000


class PredictiveDensityDisplay:
    """Predictive densities, which show what a mean and an interval cannot.

    Up to ten rows are drawn as curves. More rows are drawn as an image along their only feature.
    Each column of the image is scaled to its own maximum, so that wide densities are visible next
    to narrow ones. Use :meth:`from_estimator` or :meth:`from_predictions` to create a display.

    Parameters
    ----------
    grid : ndarray of shape (n_points,)
        Values of y.
    density : ndarray of shape (n_samples, n_points)
        Predictive density of each row at the values of the grid.
    x : ndarray of shape (n_samples,), default=None
        Positions of the rows for an image.
    y : ndarray of shape (n_samples,), default=None
        Observations.
    name : str, default=None
        Name of the feature.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes of the plot.
    figure_ : matplotlib.figure.Figure
        The figure of the plot.
    lines_ : list of matplotlib.lines.Line2D or None
        The curves.
    image_ : matplotlib.collections.QuadMesh or None
        The image.

    Examples
    --------
    >>> from skbayesnn.plotting import PredictiveDensityDisplay
    >>> from skbayesnn.predictive import PredictiveMixture
    >>> two_modes = PredictiveMixture([0.5, 0.5], [[-3.0, 3.0]], [[1.0, 1.0]])
    >>> display = PredictiveDensityDisplay.from_predictions(two_modes, [2.0])
    >>> display.density.shape
    (1, 400)
    """

    def __init__(self, grid, density, *, x=None, y=None, name=None):
        self.grid = grid
        self.density = density
        self.x = x
        self.y = y
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, n_points=400, ax=None):
        """Predict and draw.

        Parameters
        ----------
        estimator : fitted estimator
            A regressor of this package, or a pipeline or search that ends in one.
        X : array-like of shape (n_samples, n_features)
            Up to ten rows, or any number with one feature.
        y : array-like of shape (n_samples,), default=None
            Observations to draw.
        n_points : int, default=400
            Values of y at which densities are evaluated.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : PredictiveDensityDisplay

        Raises
        ------
        ValueError
            If X has several features and more than ten rows.
        """
        x, name = single_feature(X)
        distribution = distribution_of(estimator, X)
        return cls.from_predictions(distribution, y, x=x, name=name, n_points=n_points, ax=ax)

    @classmethod
    def from_predictions(cls, distribution, y=None, *, x=None, name=None, n_points=400, ax=None):
        """Draw predictive distributions.

        Parameters
        ----------
        distribution : PredictiveMixture
            Predictive distributions, one for each row.
        y : array-like of shape (n_samples,), default=None
            Observations to draw.
        x : array-like of shape (n_samples,), default=None
            Positions of the rows, needed for more than ten.
        name : str, default=None
            Name of the feature.
        n_points : int, default=400
            Number of values of y at which densities are evaluated.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : PredictiveDensityDisplay
        """
        check_distribution(distribution)
        if n_points not in Interval(Integral, 2, None, "left"):
            raise ValueError(f"n_points must be an int, at least 2. Got {n_points!r} instead.")
        n = len(distribution)
        if n > _MAX_CURVES and x is None:
            raise ValueError(
                f"{n} rows of several features are too many curves: choose up to {_MAX_CURVES} "
                "rows of X."
            )
        if n * n_points > _MAX_CELLS:
            raise ValueError(
                f"n_samples * n_points = {n * n_points} is more than {_MAX_CELLS} densities: "
                "choose fewer rows of X or lower 'n_points'."
            )
        ends = distribution.quantile([0.001, 0.999])
        low, high = ends[:, 0].min(), ends[:, 1].max()
        y = check_y(y, n)
        if y is not None:
            low, high = min(low, y.min()), max(high, y.max())
        margin = 0.05 * (high - low) or 1.0
        grid = np.linspace(low - margin, high + margin, n_points)
        density = np.exp(distribution.logpdf(grid[None, :]))
        return cls(grid, density, x=check_x(x, n), y=y, name=name).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : PredictiveDensityDisplay
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        self.lines_ = self.image_ = None
        if len(self.density) > _MAX_CURVES:
            self._draw_image()
        else:
            self._draw_curves()
        return self

    def _draw_curves(self):
        self.lines_ = []
        for i, row in enumerate(self.density):
            label = f"row {i}" if self.x is None else f"{self.name or 'x'} = {self.x[i]:.3g}"
            (line,) = self.ax_.plot(self.grid, row, label=label)
            self.lines_.append(line)
            if self.y is not None:
                self.ax_.axvline(self.y[i], color=line.get_color(), ls="--", lw=1)
        self.ax_.set(xlabel="y", ylabel="predictive density", ylim=(0, None))
        self.ax_.legend(frameon=False)

    def _draw_image(self):
        order = np.argsort(self.x, kind="stable")
        x, density = self.x[order], self.density[order]
        # Rows with equal inputs have equal densities.
        x, first = np.unique(x, return_index=True)
        density = density[first]
        if len(x) < 2:
            raise ValueError("All rows have the same input: choose at most 10 of them.")
        shades = density / density.max(axis=1, keepdims=True)
        self.image_ = self.ax_.pcolormesh(
            x, self.grid, shades.T, shading="gouraud", cmap="Blues", vmin=0, vmax=1
        )
        if self.y is not None:
            self.ax_.plot(self.x, self.y, "k.", ms=2)
        self.ax_.set(xlabel=self.name or "x", ylabel="y")
        bar = self.figure_.colorbar(self.image_, ax=self.ax_)
        bar.set_label("density / largest of its column")

"""Median and central prediction intervals of every row."""

import numpy as np

from skbayesnn.base import check_distribution
from skbayesnn.plotting._axes import check_x, check_y, distribution_of, get_axes, single_feature


class PredictionIntervalDisplay:
    """Median and central prediction intervals, with the observations.

    If there is one feature, it is the horizontal axis. If there are several, the rows are ordered
    by their medians. Use :meth:`from_estimator` or :meth:`from_predictions` to create a display.

    Parameters
    ----------
    median : ndarray of shape (n_samples,)
        Predictive medians.
    intervals : ndarray of shape (n_coverages, n_samples, 2)
        Lower and upper ends of the intervals.
    coverages : tuple of float
        Coverages of the intervals.
    x : ndarray of shape (n_samples,), default=None
        Positions on the horizontal axis; the ranks of the medians by default.
    y : ndarray of shape (n_samples,), default=None
        Observations.
    name : str, default=None
        Label of the horizontal axis.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes of the plot.
    figure_ : matplotlib.figure.Figure
        The figure of the plot.
    line_ : matplotlib.lines.Line2D
        The median.
    bands_ : list of matplotlib.collections.FillBetweenPolyCollection
        One for each coverage.
    points_ : matplotlib.lines.Line2D or None
        The observations.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn import UDNRegressor
    >>> from skbayesnn.plotting import PredictionIntervalDisplay
    >>> X = np.linspace(-2, 2, 50)[:, None]
    >>> model = UDNRegressor(max_iter=20, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> PredictionIntervalDisplay.from_estimator(model, X).ax_.get_ylabel()
    'y'
    """

    def __init__(self, median, intervals, coverages, *, x=None, y=None, name=None):
        self.median = median
        self.intervals = intervals
        self.coverages = coverages
        self.x = x
        self.y = y
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, X, y=None, *, coverages=(0.5, 0.9), color=None, ax=None):
        """Predict and draw.

        Parameters
        ----------
        estimator : fitted estimator
            A regressor of this package, or a pipeline or search that ends in one.
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,), default=None
            Observations to draw.
        coverages : float or sequence of float, default=(0.5, 0.9)
            Coverages of the intervals, in (0, 1).
        color : matplotlib color, default=None
            Color of the median and the bands; the next one of the axes by default.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : PredictionIntervalDisplay
        """
        x, name = single_feature(X)
        distribution = distribution_of(estimator, X)
        return cls.from_predictions(
            distribution, y, x=x, name=name, coverages=coverages, color=color, ax=ax
        )

    @classmethod
    def from_predictions(
        cls, distribution, y=None, *, x=None, name=None, coverages=(0.5, 0.9), color=None, ax=None
    ):
        """Draw predictive distributions.

        Parameters
        ----------
        distribution : PredictiveMixture
            Predictive distributions, one for each row.
        y : array-like of shape (n_samples,), default=None
            Observations to draw.
        x : array-like of shape (n_samples,), default=None
            Positions on the horizontal axis; the ranks of the medians by default.
        name : str, default=None
            Label of the horizontal axis.
        coverages : float or sequence of float, default=(0.5, 0.9)
            Coverages of the intervals, in (0, 1).
        color : matplotlib color, default=None
            Color of the median and the bands; the next one of the axes by default.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : PredictionIntervalDisplay
        """
        check_distribution(distribution)
        coverages = tuple(np.atleast_1d(coverages).tolist())
        if not coverages:
            raise ValueError("coverages must have at least one number in the range (0, 1).")
        display = cls(
            distribution.quantile(0.5)[:, 0],
            np.stack([distribution.interval(coverage) for coverage in coverages]),
            coverages,
            x=check_x(x, len(distribution)),
            y=check_y(y, len(distribution)),
            name=name,
        )
        return display.plot(color=color, ax=ax)

    def plot(self, *, color=None, ax=None):
        """Draw.

        Parameters
        ----------
        color : matplotlib color, default=None
            Color of the median and the bands; the next one of the axes by default.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : PredictionIntervalDisplay
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        order = np.argsort(self.median if self.x is None else self.x, kind="stable")
        x = np.arange(1, order.size + 1) if self.x is None else self.x[order]
        self.bands_ = []
        for i in np.argsort(self.coverages)[::-1]:
            low, high = self.intervals[i][order].T
            label = f"{100 * self.coverages[i]:g} % interval"
            band = self.ax_.fill_between(x, low, high, alpha=0.3, lw=0, color=color, label=label)
            color = band.get_facecolor()[0][:3]
            self.bands_.append(band)
        (self.line_,) = self.ax_.plot(x, self.median[order], color=color, label="median")
        self.points_ = None
        if self.y is not None:
            (self.points_,) = self.ax_.plot(x, self.y[order], "k.", ms=4, label="observed")
        default = "rows, by predicted median" if self.x is None else "x"
        self.ax_.set(xlabel=self.name or default, ylabel="y")
        self.ax_.legend(frameon=False)
        return self

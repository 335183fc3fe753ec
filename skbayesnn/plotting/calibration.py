"""Calibration of predictive distributions: the probability integral transform, two ways."""

from numbers import Integral

import numpy as np
from scipy.stats import binom

from skbayesnn._validation import positive
from skbayesnn.base import check_distribution, check_observations
from skbayesnn.plotting._axes import distribution_of, get_axes

_RANGE_LABEL = "95 % if calibrated"


class CalibrationDisplay:
    """Calibration of a regressor's predictive distributions.

    If predictions are calibrated, the probability integral transform F(y | x) of new observations
    is uniform on (0, 1) (Dawid, 1984; Gneiting et al., 2007). ``kind="pit"`` draws its histogram: a
    hump means that intervals are too wide, a bowl that they are too narrow, and a slope means bias.
    ``kind="reliability"`` draws the fraction of observations below each predicted quantile against
    the level of the quantile; the diagonal is best. Both show the range in which a calibrated model
    lies with 95 % probability, pointwise for each bin or level. The range is drawn once in each
    axes, so several models can share the axes if they are judged on the same number of rows.

    Use rows that the model was not fitted to. Use :meth:`from_estimator` or
    :meth:`from_predictions` to create a display.

    Parameters
    ----------
    pit : ndarray of shape (n_samples,)
        F(y | x) of each row.
    name : str, default=None
        Name of the model, for the legend.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes of the plot.
    figure_ : matplotlib.figure.Figure
        The figure of the plot.
    bars_ : matplotlib.container.BarContainer or None
        Of the histogram.
    line_ : matplotlib.lines.Line2D or None
        Of the reliability diagram.

    References
    ----------
    T. Gneiting, F. Balabdaoui and A. E. Raftery, "Probabilistic forecasts, calibration and
    sharpness", Journal of the Royal Statistical Society B, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn.plotting import CalibrationDisplay
    >>> from skbayesnn.predictive import PredictiveMixture
    >>> y = np.random.default_rng(0).normal(size=200)
    >>> normal = PredictiveMixture([1.0], np.zeros((200, 1)), np.ones((200, 1)))
    >>> display = CalibrationDisplay.from_predictions(y, normal, kind="reliability")
    >>> bool(abs(display.pit.mean() - 0.5) < 0.1)
    True
    """

    def __init__(self, pit, *, name=None):
        self.pit = pit
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, X, y, *, kind="pit", n_bins=10, name=None, ax=None):
        """Predict and draw.

        Parameters
        ----------
        estimator : fitted estimator
            A regressor of this package, or a pipeline or search that ends in one.
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Observations.
        kind : {"pit", "reliability"}, default="pit"
            "pit" draws the histogram, "reliability" the reliability curve.
        n_bins : int, default=10
            Number of bins of the histogram.
        name : str, default=None
            Name of the model, for the legend.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : CalibrationDisplay
        """
        distribution = distribution_of(estimator, X)
        return cls.from_predictions(y, distribution, kind=kind, n_bins=n_bins, name=name, ax=ax)

    @classmethod
    def from_predictions(cls, y_true, distribution, *, kind="pit", n_bins=10, name=None, ax=None):
        """Draw the calibration of predictive distributions.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Observations.
        distribution : PredictiveMixture
            Predictive distributions, one for each row.
        kind : {"pit", "reliability"}, default="pit"
            "pit" draws the histogram, "reliability" the reliability curve.
        n_bins : int, default=10
            Number of bins of the histogram.
        name : str, default=None
            Name of the model, for the legend.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : CalibrationDisplay
        """
        check_distribution(distribution)
        pit = distribution.cdf(check_observations(y_true, len(distribution)))
        return cls(pit, name=name).plot(kind=kind, n_bins=n_bins, ax=ax)

    def plot(self, *, kind="pit", n_bins=10, ax=None):
        """Draw.

        Parameters
        ----------
        kind : {"pit", "reliability"}, default="pit"
            "pit" draws the histogram, "reliability" the reliability curve.
        n_bins : int, default=10
            Number of bins of the histogram.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : CalibrationDisplay
        """
        if kind not in ("pit", "reliability"):
            raise ValueError(f"kind must be 'pit' or 'reliability'. Got {kind!r} instead.")
        if n_bins not in positive(Integral):
            raise ValueError(f"n_bins must be a positive int. Got {n_bins!r} instead.")
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        self.bars_ = self.line_ = None
        drawn = _RANGE_LABEL in self.ax_.get_legend_handles_labels()[1]
        draw = self._draw_histogram if kind == "pit" else self._draw_reliability
        draw(n_bins, with_range=not drawn)
        self.ax_.legend(frameon=False)
        return self

    def _draw_histogram(self, n_bins, with_range):
        n = self.pit.size
        counts, edges = np.histogram(self.pit, bins=n_bins, range=(0.0, 1.0))
        low, high = binom.ppf([0.025, 0.975], n, 1 / n_bins) * n_bins / n
        self.bars_ = self.ax_.bar(
            edges[:-1], counts * n_bins / n, width=1 / n_bins, align="edge", alpha=0.7,
            label=self.name,
        )  # fmt: skip
        top = 1.2 * max(high, counts.max() * n_bins / n)
        if with_range:
            self.ax_.axhspan(low, high, color="k", alpha=0.15, lw=0, label=_RANGE_LABEL)
            self.ax_.axhline(1.0, color="k", ls="--", lw=1)
        else:
            top = max(top, self.ax_.get_ylim()[1])
        self.ax_.set(
            xlabel="probability integral transform", ylabel="density", xlim=(0, 1), ylim=(0, top)
        )

    def _draw_reliability(self, n_bins, with_range):
        n, levels = self.pit.size, np.linspace(0, 1, 101)
        share = np.searchsorted(np.sort(self.pit), levels, side="right") / n
        if with_range:
            low, high = binom.ppf([[0.025], [0.975]], n, levels) / n
            self.ax_.fill_between(
                levels, low, high, color="k", alpha=0.15, lw=0, label=_RANGE_LABEL
            )
            self.ax_.plot([0, 1], [0, 1], "k--", lw=1)
        (self.line_,) = self.ax_.plot(levels, share, label=self.name or "observed")
        self.ax_.set(
            xlabel="level of the predicted quantile", ylabel="share of observations below",
            xlim=(0, 1), ylim=(0, 1),
        )  # fmt: skip

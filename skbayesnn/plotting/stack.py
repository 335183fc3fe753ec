"""The weights of a stack, with what each member scored on rows that it was not fitted to."""

import numpy as np

from skbayesnn.plotting._axes import get_axes, part_with


class StackingWeightsDisplay:
    """Weight and out-of-fold score of every member of a stack.

    Use :meth:`from_estimator` to create a display.

    Parameters
    ----------
    names : list of str
        Names of the members.
    weights : array-like of shape (n_members,)
        Weights of the members.
    scores : array-like of shape (n_members,)
        Mean out-of-fold log densities; NaN for members that failed.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes of the plot.
    figure_ : matplotlib.figure.Figure
        The figure of the plot.
    bars_ : matplotlib.container.BarContainer
        The bars.
    labels_ : list of matplotlib.text.Text
        The scores, beside the bars.

    Examples
    --------
    >>> from skbayesnn.plotting import StackingWeightsDisplay
    >>> display = StackingWeightsDisplay(["line", "forest"], [0.25, 0.75], [-1.3, -1.1]).plot()
    >>> display.labels_[0].get_text()
    ' -1.300'
    """

    def __init__(self, names, weights, scores):
        self.names = list(names)
        self.weights = np.asarray(weights, dtype=float)
        self.scores = np.asarray(scores, dtype=float)

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw the weights of a fitted stack.

        Parameters
        ----------
        estimator : StackingDistributionRegressor
            Fitted, or a pipeline or search that ends in one.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : StackingWeightsDisplay

        Raises
        ------
        TypeError
            If the estimator is no stack of predictive distributions.
        """
        stack, _ = part_with("cv_log_densities_", estimator, "StackingDistributionRegressor")
        densities = stack.cv_log_densities_
        scored = np.isfinite(densities)
        sums = np.where(scored, densities, 0.0).sum(axis=1)
        counts = scored.sum(axis=1)
        scores = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        return cls(stack.names_, stack.weights_, scores).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : StackingWeightsDisplay
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        places = np.arange(len(self.names))
        self.bars_ = self.ax_.barh(places, self.weights)
        texts = [f" {s:.3f}" if np.isfinite(s) else " failed" for s in self.scores]
        self.labels_ = [
            self.ax_.text(weight, place, text, va="center")
            for place, weight, text in zip(places, self.weights, texts, strict=True)
        ]
        self.ax_.set_yticks(places, self.names)
        self.ax_.invert_yaxis()
        self.ax_.set(
            xlabel="weight (beside it: mean out-of-fold log density)",
            xlim=(0, 1.25 * max(self.weights.max(), 1e-9)),
        )
        return self

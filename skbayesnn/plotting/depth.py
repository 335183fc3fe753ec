"""The posterior of the depth of an unbounded-depth network."""

import numpy as np

from skbayesnn.plotting._axes import get_axes, part_with


class DepthPosteriorDisplay:
    """Posterior probability of each depth of a network of unbounded depth.

    Use :meth:`from_estimator` to create a display.

    Parameters
    ----------
    depth_posterior : ndarray of shape (n_layers,)
        Probability of each depth, from 1.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
        The axes of the plot.
    figure_ : matplotlib.figure.Figure
        The figure of the plot.
    bars_ : matplotlib.container.BarContainer
        The bars.
    mean_line_ : matplotlib.lines.Line2D
        At the expected depth.

    Examples
    --------
    >>> from skbayesnn.plotting import DepthPosteriorDisplay
    >>> DepthPosteriorDisplay([0.25, 0.5, 0.25]).plot().ax_.get_xlabel()
    'depth'
    """

    def __init__(self, depth_posterior):
        self.depth_posterior = np.asarray(depth_posterior, dtype=float)

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        """Draw the posterior of a fitted network.

        Parameters
        ----------
        estimator : UDNClassifier or UDNRegressor
            Fitted, or a pipeline or search that ends in one.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : DepthPosteriorDisplay

        Raises
        ------
        TypeError
            If the estimator has no posterior of its depth.
        """
        network, _ = part_with("depth_posterior_", estimator, "UDNClassifier or UDNRegressor")
        return cls(network.depth_posterior_).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        self : DepthPosteriorDisplay
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        depths = np.arange(1, self.depth_posterior.size + 1)
        mean = float(depths @ self.depth_posterior)
        self.bars_ = self.ax_.bar(depths, self.depth_posterior, width=0.8)
        self.mean_line_ = self.ax_.axvline(
            mean, color="k", ls="--", lw=1, label=f"expected depth {mean:.1f}"
        )
        top = 1.2 * self.depth_posterior.max()
        self.ax_.set(xlabel="depth", ylabel="posterior probability", ylim=(0, top))
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        self.ax_.legend(frameon=False)
        return self

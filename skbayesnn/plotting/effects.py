"""The parts of a function of many inputs: each input's own effect, and the rest."""

from numbers import Integral

import numpy as np

from skbayesnn._validation import Interval
from skbayesnn.plotting._axes import part_with, pyplot

_COLUMNS = 3


class PartialEffectsDisplay:
    """Effects of single inputs with their bands, one panel for each, and the rest.

    Use :meth:`from_estimator` to create a display. The panels of inputs are ordered by their shares
    of the variance, which are in the titles. The last panel shows the rest, the part that
    depends on all inputs together, at the rows of X, ordered from its smallest to its largest
    value.

    Parameters
    ----------
    effects : PartialEffects
        From ``StableNNRegressor.partial_effects``.
    X : array-like of shape (n_rows, n_features)
        The rows that they were computed at.
    feature_names : list of str
        Names of the inputs.
    features : array-like of int, default=None
        The inputs to draw; the six with the largest shares by default.

    Attributes
    ----------
    axes_ : list of matplotlib.axes.Axes
        The panels.
    figure_ : matplotlib.figure.Figure
        The figure of the plot.
    lines_ : list of matplotlib.lines.Line2D
        The posterior mean in each panel.
    bands_ : list of matplotlib.collections.PolyCollection
        The band in each panel.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn import StableNNRegressor
    >>> from skbayesnn.plotting import PartialEffectsDisplay
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))
    >>> y = 2.0 * (X[:, 1] > 0) + X[:, 2]
    >>> model = StableNNRegressor(n_warmup=50, n_posterior_draws=50, thin=1, random_state=0)
    >>> import warnings; warnings.simplefilter("ignore")  # too few sweeps for real use
    >>> display = PartialEffectsDisplay.from_estimator(model.fit(X, y), X)
    >>> len(display.axes_)
    4
    """

    def __init__(self, effects, X, feature_names, features=None):
        self.effects = effects
        self.X = np.asarray(X, dtype=float)
        self.feature_names = list(feature_names)
        if features is None:
            features = np.argsort(-effects.variance_shares[:-1], kind="stable")[:6]
        self.features = [int(feature) for feature in features]

    @classmethod
    def from_estimator(cls, estimator, X, *, features=None, coverage=0.9, ax=None):
        """Compute the effects at the rows of X and draw them.

        Parameters
        ----------
        estimator : StableNNRegressor
            Fitted with additive cells, or a pipeline or search that ends in such a network. The
            panels show the inputs that the network itself sees.
        X : array-like of shape (n_rows, n_features)
            As a rule the training rows: effects are about their means over these rows.
        features : int, str or array-like of them, default=None
            The inputs to draw, by their numbers or names, in this order; by default the six with
            the largest shares of the variance.
        coverage : float, default=0.9
            Posterior probability of the bands, pointwise at each value.
        ax : array-like of matplotlib axes, default=None
            Where to draw, one for each input and one for the rest; a new figure by default.

        Returns
        -------
        display : PartialEffectsDisplay

        Raises
        ------
        TypeError
            If the estimator has no effects.
        ValueError
            If the network was fitted with other cells, a feature is not there, or the number of
            axes is wrong.
        """
        network, X = part_with("partial_effects", estimator, "StableNNRegressor", X)
        names = getattr(
            network, "feature_names_in_", [f"x{i}" for i in range(network.n_features_in_)]
        )
        names = [str(name) for name in names]
        effects = network.partial_effects(X, coverage=coverage)
        if features is not None:
            features = [features] if isinstance(features, str | Integral) else features
            features = [_number_of(feature, names) for feature in features]
        return cls(effects, X, names, features).plot(ax=ax)

    def plot(self, *, ax=None):
        """Draw.

        Parameters
        ----------
        ax : array-like of matplotlib axes, default=None
            One for each input and, where there are dense units, one for the rest.

        Returns
        -------
        self : PartialEffectsDisplay
        """
        effects, n_inputs = self.effects, len(self.features)
        smooth = effects.variance_shares[-1] > 0
        self.axes_ = _panels(n_inputs + smooth, ax)
        self.figure_ = self.axes_[0].figure
        self.lines_, self.bands_ = [], []
        panels = [
            (self.X[:, k], effects.mean[:, k], effects.lower[:, k], effects.upper[:, k])
            for k in self.features
        ]
        labels = [(self.feature_names[k], effects.variance_shares[k]) for k in self.features]
        if smooth:
            order = np.argsort(effects.smooth_mean, kind="stable")
            rank = np.empty(order.size)
            rank[order] = np.arange(1, order.size + 1)
            rest = effects.smooth_mean, effects.smooth_lower, effects.smooth_upper
            panels.append((rank, *rest))
            labels.append(("rest of all inputs (rows, sorted)", effects.variance_shares[-1]))
        for axes, (x, mean, lower, upper), (name, share) in zip(
            self.axes_, panels, labels, strict=True
        ):
            x, first = np.unique(x, return_index=True)
            band = axes.fill_between(x, lower[first], upper[first], alpha=0.3, linewidth=0)
            (line,) = axes.plot(x, mean[first])
            axes.set(xlabel=name, title=f"{100 * share:.0f} % of the variance")
            self.lines_.append(line)
            self.bands_.append(band)
        low = min(axes.get_ylim()[0] for axes in self.axes_)
        high = max(axes.get_ylim()[1] for axes in self.axes_)
        for axes in self.axes_:
            axes.set_ylim(low, high)
        return self


def _number_of(feature, names):
    """The place of an input that is given by its number or its name."""
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"features: there is no input {feature!r}. Inputs are {names}.")
        return names.index(feature)
    if feature not in Interval(Integral, 0, len(names) - 1):
        raise ValueError(
            f"features: there are {len(names)} inputs, so there is no number {feature!r}."
        )
    return int(feature)


def _panels(n_panels, ax):
    """So many axes: those given, or those of a new figure."""
    if ax is not None:
        panels = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(panels) != n_panels:
            raise ValueError(f"ax has {len(panels)} axes, but {n_panels} panels are to be drawn.")
        return panels
    columns = min(n_panels, _COLUMNS)
    rows = -(-n_panels // columns)
    _, panels = pyplot().subplots(
        rows, columns, figsize=(3.4 * columns, 2.8 * rows), squeeze=False, layout="constrained"
    )
    for unused in panels.ravel()[n_panels:]:
        unused.remove()
    return list(panels.ravel()[:n_panels])

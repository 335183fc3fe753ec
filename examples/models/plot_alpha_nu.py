"""
What α and ν do
===============

Two parameters of :class:`~skbayesnn.StableNNRegressor` describe which functions it expects before
it sees any data: α determines how rare and how large the jumps are, and ν how large the function
is.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import StableNNRegressor
from skbayesnn.plotting import PredictionIntervalDisplay

x = np.linspace(-2, 2, 40)
y = np.select([x < -1, x < 0, x < 1], [1.0, 5.0, -3.0], 2.0)
y = y + 0.5 * np.random.default_rng(0).standard_normal(x.size)
grid = np.linspace(-3, 3, 601)[:, None]


def panels(parameter, values, title):
    """A fit and a panel for each value of a parameter."""
    _, axes = plt.subplots(1, len(values), figsize=(13, 3.4), sharey=True, layout="constrained")
    for value, ax in zip(values, axes, strict=True):
        # Extreme values need longer chains than the default. The network predicts alone, without
        # the Gaussian process that would take over where it suits the rows better.
        model = StableNNRegressor(
            alpha=1.1, nu=1.0, gaussian_process=False, thin=16, random_state=0
        ).set_params(**{parameter: value})
        model.fit(x[:, None], y)
        PredictionIntervalDisplay.from_estimator(model, grid, coverages=0.9, ax=ax)
        ax.plot(x, y, "k.", ms=4)
        ax.set(title=title.format(value), ylim=(-8, 10))
        ax.legend().remove()
        ax.label_outer()
    plt.show()


# %%
# The index α
# -----------
#
# At α = 2 the network is a Gaussian process, which mistakes the jumps for noise. Below 2, a few
# large weights make the jumps, and all other weights are small. The smaller α is, the flatter are
# the plateaus, and the narrower are the intervals on them and beyond the data. Another jump always
# remains possible, but it lies in the far tails, outside these 90 % intervals.

panels("alpha", (0.7, 1.1, 1.6, 2.0), "α = {}")

# %%
# The scale ν
# -----------
#
# ν is in units of the variance of y. With a small ν the plateaus are flat. With a large ν, the
# median follows the noise, and the intervals widen quickly beyond the data. If you do not know
# which values to choose, ``nu="sample"`` and ``alpha="sample"`` infer them, at the price of chains
# that mix more slowly.

panels("nu", (0.03, 0.3, 3.0, 30.0), "ν = {}")

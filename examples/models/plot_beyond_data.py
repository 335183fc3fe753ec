"""
Predictions in gaps and beyond the data
=======================================

How certain should a model be where it has seen no data? Here each model of this package, with its
default settings, predicts in a gap in the middle of the data, and beyond the data on both sides.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import DeepWishartRegressor, SIPRegressor, StableNNRegressor, UDNRegressor
from skbayesnn.plotting import PredictionIntervalDisplay

generator = np.random.default_rng(0)
x = np.concatenate([generator.uniform(-2, -0.6, 70), generator.uniform(0.6, 2, 70)])
y = np.sin(2.5 * x) + 0.15 * generator.normal(size=140)
grid = np.linspace(-4, 4, 401)[:, None]

# %%
# The table shows how much of the true curve the 90 % intervals contain, in the gap and beyond the
# data.

models = (
    StableNNRegressor(random_state=0),
    UDNRegressor(random_state=0),
    DeepWishartRegressor(random_state=0),
    SIPRegressor(random_state=0),
)
truth = np.sin(2.5 * grid[:, 0])
in_gap, beyond = np.abs(grid[:, 0]) < 0.6, np.abs(grid[:, 0]) > 2
print("                       gap   beyond")
for model in models:
    low, high = model.fit(x[:, None], y).predict_interval(grid, coverage=0.9).T
    inside = (low < truth) & (truth < high)
    name = type(model).__name__
    print(f"{name:21}  {inside[in_gap].mean():4.0%}     {inside[beyond].mean():4.0%}")

# %%
# The intervals of all four models contain the curve in the gap and beyond the data. Beyond the
# data, the deep Wishart process returns to its prior, with wide intervals, within about a length
# scale. The network of unbounded depth and the sparse implicit process do much the same, because
# where no row is near their prediction is that of a Gaussian process. The stable network expects
# the function to stay at its level, or to jump. Left-out rows show that this function is smooth, so
# a Gaussian process contributes to its predictions where no row is near (``extrapolation``). In the
# figure, the dashed curve is the truth.

figure, axes = plt.subplots(1, 4, figsize=(14, 3.7), sharey=True, layout="constrained")
for model, ax in zip(models, axes, strict=True):
    PredictionIntervalDisplay.from_estimator(model, grid, coverages=0.9, ax=ax)
    ax.plot(grid, truth, "k--", lw=1)
    ax.plot(x, y, "k.", ms=2)
    ax.set(title=type(model).__name__, ylim=(-3, 3))
    ax.legend().remove()
    ax.label_outer()
plt.show()

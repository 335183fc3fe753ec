"""
Kernels learned in layers
=========================

No stationary kernel fits a function that is flat, then steep, then flat again. This example
compares a Gaussian process (no hidden layer) with :class:`~skbayesnn.DeepWishartRegressor` with one
and with three hidden layers.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import DeepWishartRegressor
from skbayesnn.plotting import PredictionIntervalDisplay

generator = np.random.default_rng(0)
X = np.sort(generator.uniform(-3, 3, 120))[:, None]
y = np.tanh(12 * X[:, 0]) + 0.05 * generator.normal(size=len(X))
grid = np.linspace(-3.5, 3.5, 400)[:, None]

# %%
# The Gaussian process has one length scale for the step and for the plateaus. It chooses a short
# one, so it ripples on the plateaus, and its intervals widen soon after the last point. Hidden
# layers stretch the inputs where the function is steep, and leave the plateaus flat. The titles
# show the objective of training, in nats per row. Do not use it to choose a depth: compare scores
# on held-out rows.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), sharey=True, layout="constrained")
for n_layers, ax in zip((0, 1, 3), axes, strict=True):
    model = DeepWishartRegressor(
        n_layers=n_layers, n_inducing=40, degrees_of_freedom=2, random_state=0
    )
    model.fit(X, y)
    PredictionIntervalDisplay.from_estimator(model, grid, coverages=0.9, ax=ax)
    ax.plot(X[:, 0], y, "k.", ms=3, label="data")
    objective = -np.mean(model.loss_curve_[-50:])
    layers = {0: "no hidden layer", 1: "one hidden layer", 3: "three hidden layers"}[n_layers]
    ax.set(title=f"{layers}, objective {objective:.2f}", ylim=(-2.4, 1.7))
    ax.legend(loc="lower right", frameon=False)
    ax.label_outer()

plt.show()

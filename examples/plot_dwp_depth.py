"""
Kernels learned in layers
=========================

A step that no stationary kernel fits: flat, then steep, then flat again. From left to right a
Gaussian process (no hidden layer) and deep Wishart processes with one and with three hidden
layers, each with its 90 % interval and evidence lower bound. One length scale must serve the
step and the plains; hidden layers stretch the inputs where the function is steep.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import DeepWishartRegressor

generator = np.random.default_rng(0)
X = np.sort(generator.uniform(-3, 3, 120))[:, None]
y = np.tanh(12 * X[:, 0]) + 0.05 * generator.normal(size=len(X))
grid = np.linspace(-3.5, 3.5, 400)[:, None]

figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), sharey=True, layout="constrained")
for n_layers, axis in zip((0, 1, 3), axes, strict=True):
    model = DeepWishartRegressor(n_layers=n_layers, n_inducing=40, width=2, random_state=0)
    model.fit(X, y)
    low, median, high = model.predict_quantiles(grid, [0.05, 0.5, 0.95]).T
    axis.fill_between(grid[:, 0], low, high, color="C0", alpha=0.25, lw=0)
    axis.plot(grid[:, 0], median, color="C0")
    axis.plot(X[:, 0], y, "k.", ms=3)
    elbo = np.mean(model.elbo_curve_[-50:])
    axis.set_title(f"{n_layers} hidden layers: ELBO a row {elbo:.2f}")
axes[0].set_ylabel("y")

plt.show()

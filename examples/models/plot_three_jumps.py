"""
A function with three jumps
===========================

This example compares :class:`~skbayesnn.StableNNRegressor`, with its default settings, with a
Gaussian process on the data of section 4.1 of Loría and Bhadra (UAI 2024): 40 points on [-2, 2],
with noise of standard deviation 0.5. To save the figure, run the script with the name of a file.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from skbayesnn import StableNNRegressor
from skbayesnn.plotting import PredictionIntervalDisplay
from skbayesnn.predictive import PredictiveMixture


def three_jumps(x):
    return np.select([x < -1, x < 0, x < 1], [1.0, 5.0, -3.0], 2.0)


x = np.linspace(-2, 2, 40)
y = three_jumps(x) + 0.5 * np.random.default_rng(0).standard_normal(x.size)
grid = np.linspace(-2.5, 2.5, 1001)

# %%
# Both models predict a distribution for each input. The stable network predicts a mixture with one
# Gaussian for each draw of its chains, the Gaussian process a single Gaussian.

stable = StableNNRegressor(random_state=0).fit(x[:, None], y)
stable_distribution = stable.predict_distribution(grid[:, None])

kernel = ConstantKernel() * RBF() + WhiteKernel()
gaussian = GaussianProcessRegressor(
    kernel, normalize_y=True, n_restarts_optimizer=5, random_state=0
).fit(x[:, None], y)
mean, std = gaussian.predict(grid[:, None], return_std=True)
gaussian_distribution = PredictiveMixture([1.0], mean[:, None], std[:, None] ** 2)

# %%
# The Gaussian process has one length scale for jumps and plateaus, so it smooths the jumps away and
# mistakes the remainder for noise. The stable network finds sharp jumps between flat plateaus. The
# dashed lines are the truth.

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
panels = (
    ("StableNNRegressor", stable_distribution, "C0"),
    ("GaussianProcessRegressor (RBF)", gaussian_distribution, "C1"),
)
for ax, (title, distribution, colour) in zip(axes, panels, strict=True):
    PredictionIntervalDisplay.from_predictions(
        distribution, x=grid, coverages=0.9, color=colour, ax=ax
    )
    # A line for each piece, so that the jumps are not joined.
    for left, right in ((-2.5, -1), (-1, 0), (0, 1), (1, 2.5)):
        ax.plot([left, right], [three_jumps((left + right) / 2)] * 2, "k--", lw=1)
    ax.plot(x, y, "k.", ms=4, label="data")
    ax.set(title=title, xlim=(-2.5, 2.5), ylim=(-8, 10))
    ax.legend(loc="lower left", frameon=False, ncols=3)
    ax.label_outer()

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()

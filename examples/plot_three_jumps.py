"""A function with three jumps: the stable network beside a Gaussian process.

Section 4.1 of Loría and Bhadra (UAI 2024): 40 points on [-2, 2] with noise of standard
deviation 0.5, α = 1.1, ν = 1. Run it with the name of a file to save the figure to.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from skbayesnn import StableNNRegressor


def three_jumps(x):
    return np.select([x < -1, x < 0, x < 1], [1.0, 5.0, -3.0], 2.0)


x = np.linspace(-2, 2, 40)
y = three_jumps(x) + 0.5 * np.random.default_rng(0).standard_normal(x.size)
grid = np.linspace(-2.5, 2.5, 1001)

stable = StableNNRegressor(alpha=1.1, nu=1.0, random_state=0).fit(x[:, None], y)
low, median, high = stable.predict_quantiles(grid[:, None], (0.05, 0.5, 0.95)).T

kernel = ConstantKernel() * RBF() + WhiteKernel()
gaussian = GaussianProcessRegressor(
    kernel, normalize_y=True, n_restarts_optimizer=5, random_state=0
).fit(x[:, None], y)
mean, std = gaussian.predict(grid[:, None], return_std=True)

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
panels = (
    ("StableNNRegressor", median, low, high, "C0"),
    ("GaussianProcessRegressor (RBF)", mean, mean - 1.645 * std, mean + 1.645 * std, "C1"),
)
for ax, (title, centre, lower, upper, colour) in zip(axes, panels, strict=True):
    ax.fill_between(grid, lower, upper, color=colour, alpha=0.25, lw=0, label="90 % interval")
    ax.plot(grid, centre, color=colour, label="prediction")
    # A line for each piece, so that the jumps are not joined.
    for left, right in ((-2.5, -1), (-1, 0), (0, 1), (1, 2.5)):
        ax.plot([left, right], [three_jumps((left + right) / 2)] * 2, "k--", lw=1)
    ax.plot(x, y, "k.", ms=4, label="data")
    ax.set(title=title, xlabel="x", xlim=(-2.5, 2.5), ylim=(-8, 10))
axes[0].set_ylabel("y")
axes[0].legend(loc="lower left", frameon=False, ncols=3)

if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
else:
    plt.show()

"""
Predictions of any shape
========================

A mean and an interval cannot describe the two data sets of this example: observations that follow
one of two curves at random, and observations whose noise changes with the input (Rodríguez-Santana
et al., 2022).
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import SIPRegressor
from skbayesnn.plotting import PredictiveDensityDisplay
from skbayesnn.predictive import PredictiveMixture

generator = np.random.default_rng(0)
x = generator.uniform(-4, 4, 1000)
noise = generator.normal(size=1000)
first = generator.random(1000) < 0.5
data = {
    "one of two curves": np.where(first, 10 * np.cos(x - 0.5), 10 * np.sin(x - 0.5)) + noise,
    "noise that changes": 7 * np.sin(x) + 2 * noise * np.sin(x) + 10,
}
# Separating two curves takes more training than estimating the noise.
epochs = {"one of two curves": 220, "noise that changes": 110}
models = {
    title: SIPRegressor(n_inducing=30, n_networks=1, max_iter=epochs[title], random_state=0)
    for title in data
}
for title, y in data.items():
    models[title].fit(x[:, None], y)

# %%
# Functions, and observations
# ---------------------------
#
# The upper panels show functions drawn from the prior that :class:`~skbayesnn.SIPRegressor`
# learned, without noise. The lower panels show the predictive density of a new observation; each
# column is scaled to its own maximum. There are two ridges on the left, and one that narrows and
# widens on the right. The ticks at the bottom are the inducing inputs.

grid = np.linspace(-4, 4, 161)[:, None]
figure, axes = plt.subplots(2, 2, figsize=(10, 7.5), layout="constrained")
for (title, y), (prior, posterior) in zip(data.items(), axes.T, strict=True):
    model, foot = models[title], y.min() - 2
    prior.plot(grid, model.sample_prior(grid, 40), color="C0", lw=0.6)
    prior.plot(x, y, ".", color="0.3", ms=1)
    prior.set(title=f"{title}: draws from the prior", ylabel="y")
    PredictiveDensityDisplay.from_estimator(model, grid, ax=posterior)
    posterior.plot(x, y, ".", color="0.3", ms=1)
    posterior.plot(model.inducing_inputs_, np.full(30, foot), "k|", ms=8)
    posterior.set(title="density of a new observation")
    for ax in (prior, posterior):
        ax.set(xlim=(-4, 4), ylim=(foot - 1, y.max() + 3))
plt.show()

# %%
# Comparison with the truth
# -------------------------
#
# The last figure shows the predictive densities at three inputs (solid) and the densities that the
# data come from (dotted).

shown = np.array([[-2.5], [0.8], [2.5]])
z = shown[:, 0]
curves = np.column_stack([10 * np.cos(z - 0.5), 10 * np.sin(z - 0.5)])
truths = {
    "one of two curves": PredictiveMixture([0.5, 0.5], curves, np.ones(curves.shape)),
    "noise that changes": PredictiveMixture([1.0], 7 * np.sin(shown) + 10, 4 * np.sin(shown) ** 2),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for (title, truth), ax in zip(truths.items(), axes, strict=True):
    display = PredictiveDensityDisplay.from_estimator(models[title], shown, ax=ax)
    densities = np.exp(truth.logpdf(display.grid[None, :]))
    for line, density in zip(display.lines_, densities, strict=True):
        ax.plot(display.grid, density, ":", color=line.get_color())
    ax.set(title=title, ylim=(0, 1.45 * densities.max()))
plt.show()

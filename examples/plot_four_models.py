"""
Four models, three kinds of data
================================

The four models of this package make different assumptions, and so they draw different conclusions
from the same data. Here each of them, with its default settings, is fitted to a function that
jumps, to noise that changes with the input, and to observations that follow one of two curves.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import DeepWishartRegressor, SIPRegressor, StableNNRegressor, UDNRegressor
from skbayesnn.plotting import PredictiveDensityDisplay

generator = np.random.default_rng(1)
x = np.sort(generator.uniform(-2, 2, 150))
noise = generator.normal(size=150)
branch = np.where(generator.random(150) < 0.5, -1.0, 1.0)
data = {
    "a function that jumps": np.select([x < -0.8, x < 0.7], [1.0, -1.5], 0.5) + 0.2 * noise,
    "noise that changes": np.sin(2 * x) + 0.3 * np.abs(x) * noise,
    "one of two curves": branch * (1 + 0.5 * np.sin(2 * x)) + 0.15 * noise,
}
models = (
    StableNNRegressor(random_state=0),
    UDNRegressor(random_state=0),
    DeepWishartRegressor(random_state=0),
    SIPRegressor(random_state=0),
)

# %%
# Each image shows the predictive density of a new observation; each column is scaled to its own
# maximum. No model is best in every row. The stable network keeps jumps sharp, and the deep Wishart
# process draws the smoothest curves. The noise of the stable network itself can only grow or only
# fall along an input. The Gaussian process that takes part in its predictions finds that the noise
# is smallest in the middle. Only the network of unbounded depth and the sparse implicit process can
# represent two curves at once.

grid = np.linspace(-2, 2, 200)[:, None]
figure, axes = plt.subplots(3, 4, figsize=(13, 8), sharex=True, sharey="row", layout="constrained")
for (title, y), row in zip(data.items(), axes, strict=True):
    for model, ax in zip(models, row, strict=True):
        display = PredictiveDensityDisplay.from_estimator(model.fit(x[:, None], y), grid, ax=ax)
        display.image_.colorbar.remove()
        ax.plot(x, y, "k.", ms=2)
        margin = 0.15 * np.ptp(y)
        ax.set(ylim=(y.min() - margin, y.max() + margin), xlabel="", ylabel="")
    row[0].set_ylabel(title)
for model, ax in zip(models, axes[0], strict=True):
    ax.set_title(type(model).__name__)
plt.show()

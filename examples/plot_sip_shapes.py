"""
Predictions of any shape
========================

Left, data that follow one of two curves at random; right, data whose noise changes with the
input (Rodríguez-Santana et al., 2022, section 5.1). Above, functions drawn from the prior that
:class:`~skbayesnn.SIPRegressor` learned, without noise; in the middle, new observations from
the posterior; below, the predictive density at three inputs beside the true one.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import SIPRegressor
from skbayesnn.predictive import PredictiveMixture

generator = np.random.default_rng(0)
x = generator.uniform(-4, 4, 1000)
noise = generator.normal(size=1000)
first = generator.random(1000) < 0.5
data = {
    "one of two curves": np.where(first, 10 * np.cos(x - 0.5), 10 * np.sin(x - 0.5)) + noise,
    "noise that changes": 7 * np.sin(x) + 2 * noise * np.sin(x) + 10,
}
grid, shown = np.linspace(-4, 4, 161)[:, None], np.array([[-2.5], [0.8], [2.5]])
z = shown[:, 0]
curves = np.column_stack([10 * np.cos(z - 0.5), 10 * np.sin(z - 0.5)])
truths = [
    PredictiveMixture([0.5, 0.5], curves, np.ones(curves.shape)),
    PredictiveMixture([1.0], 7 * np.sin(shown) + 10, 4 * np.sin(shown) ** 2),
]

figure, axes = plt.subplots(3, 2, figsize=(10, 9), layout="constrained")
for (title, y), truth, column in zip(data.items(), truths, axes.T, strict=True):
    model = SIPRegressor(n_inducing=30, max_iter=2000, random_state=0).fit(x[:, None], y)
    prior, posterior, density = column
    prior.plot(grid, model.sample_prior(grid, 40), color="C0", lw=0.6)
    prior.set_title(f"{title}\nprior draws")
    draws = model.sample_y(grid, 60)
    posterior.plot(np.tile(grid, 60), draws, ".", color="C1", ms=1.5, alpha=0.5)
    posterior.plot(model.inducing_inputs_, np.full(30, y.min() - 2), "k|", ms=6)
    posterior.set_title("new observations, and inducing inputs (below)")
    for axis in (prior, posterior):
        axis.plot(x, y, ".", color="0.3", ms=1)
        axis.set(xlim=(-4, 4), ylim=(y.min() - 3, y.max() + 3))
    values = np.linspace(y.min() - 2, y.max() + 2, 400)
    fitted = model.predict_distribution(shown)
    for row, x_shown in enumerate(shown[:, 0]):
        for mixture, style in ((fitted, "-"), (truth, ":")):
            p = np.exp(mixture[row].logpdf(values[None]))[0]
            label = f"x = {x_shown:g}" if mixture is fitted else None
            density.plot(values, p, style, color=f"C{row + 2}", label=label)
    density.legend(title="dotted: the truth")
    density.set_title("predictive densities")
plt.show()

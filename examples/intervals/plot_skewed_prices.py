"""
Intervals for a skewed price
============================

Prices have a long upper tail: most flats cost about what their size suggests, a few cost twice as
much, and none costs half. A symmetric interval around the mean is then wrong on both sides. The
mixture that :class:`~skbayesnn.UDNRegressor` predicts by default is as skewed as the data.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from skbayesnn import UDNRegressor
from skbayesnn.metrics import mean_crps, mean_log_predictive_density
from skbayesnn.plotting import PredictiveDensityDisplay

generator = np.random.default_rng(0)
n = 1500
area = generator.uniform(25, 140, n)  # square metres
distance = generator.exponential(4, n)  # kilometres from the centre
luxury = generator.random(n) < 0.12
log_price = np.log(4.2 * area) - 0.05 * distance + 0.08 * generator.normal(size=n)
price = np.exp(log_price + luxury * generator.uniform(0.3, 0.9, n))  # thousands
X = np.column_stack([area, distance])
X_train, X_test, y_train, y_test = train_test_split(X, price, test_size=0.4, random_state=0)

# %%
# Compare two likelihoods of the same network: a Gaussian with one noise variance, and a mixture of
# five Gaussians whose weights, means and variances depend on the inputs. The first is the network
# alone, because the noise of the Gaussian process that is pooled with it by default may be skewed.
# 5 % of the prices should lie below a 90 % interval, and 5 % above.

models = {
    "one Gaussian": UDNRegressor(likelihood="gaussian", gaussian_process=False, random_state=0),
    "mixture (default)": UDNRegressor(random_state=0),
}
print("                    below    above    width    CRPS   log density")
for name, model in models.items():
    prediction = model.fit(X_train, y_train).predict_distribution(X_test)
    low, high = prediction.interval(0.9).T
    print(
        f"{name:18}  {(y_test < low).mean():5.1%}    {(y_test > high).mean():5.1%}  "
        f"{(high - low).mean():7.0f}  {mean_crps(y_test, prediction):6.1f}   "
        f"{mean_log_predictive_density(y_test, prediction):11.2f}"
    )

# %%
# The figure shows the predicted densities for three flats, two kilometres from the centre. The
# Gaussian gives probability to prices that never occur, and too little to the expensive flats.

flats = np.array([[40.0, 2.0], [80.0, 2.0], [120.0, 2.0]])
figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), sharex=True, layout="constrained")
for (name, model), ax in zip(models.items(), axes, strict=True):
    PredictiveDensityDisplay.from_estimator(model, flats, ax=ax)
    for line, flat in zip(ax.lines, flats, strict=False):
        line.set_label(f"{flat[0]:.0f} m²")
    ax.set(title=name, xlabel="price, thousands", xlim=(0, 1100))
    ax.legend(frameon=False)
plt.show()

# %%
# The next figure shows the whole range of sizes at that distance, with all flats whose distance
# from the centre differs by less than one kilometre.

grid = np.column_stack([np.linspace(28, 137, 150), np.full(150, 2.0)])
near = np.abs(distance - 2) < 1
figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
for (name, model), ax in zip(models.items(), axes, strict=True):
    low, median, high = model.predict(grid, quantiles=[0.05, 0.5, 0.95]).T
    ax.fill_between(grid[:, 0], low, high, alpha=0.25, lw=0, label="90 % interval")
    ax.plot(grid[:, 0], median, label="median")
    ax.plot(area[near], price[near], "k.", ms=3, label="flats")
    ax.set(title=name, xlabel="area, square metres", ylabel="price, thousands")
    ax.legend(frameon=False, loc="upper left")
    ax.label_outer()
plt.show()

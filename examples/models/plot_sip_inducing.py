"""
Training moves the inducing inputs
==================================

Here all inducing inputs of :class:`~skbayesnn.SIPRegressor` start at one point, and only the
objective moves them apart (Rodríguez-Santana et al., 2022, Figure 3). The predictions depend little
on their positions, because the networks of the prior also follow the data.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import SIPRegressor
from skbayesnn.plotting import PredictionIntervalDisplay

generator = np.random.default_rng(0)
X = generator.uniform(-4, 4, (1000, 1))
y = 7 * np.sin(X[:, 0]) + 2 * generator.normal(size=1000) * np.sin(X[:, 0]) + 10

# %%
# Each call of ``partial_fit`` makes one pass of ten steps over the rows, and continues from the
# last. ``total_samples`` is the true number of rows, so that repeated passes do not count as new
# rows.

model = SIPRegressor(
    inducing_inputs=np.full((20, 1), -1.0), n_draws=50, learning_rate=0.01, total_samples=1000,
    random_state=0,
)  # fmt: skip
path = [np.full(20, -1.0)]
for _ in range(200):
    model.partial_fit(X, y)
    path.append(model.inducing_inputs_[:, 0].copy())

# %%
# The intervals include noise that changes with the input. The lower panel has a line for each
# inducing input, from the common start at the top.

figure, (above, below) = plt.subplots(
    2, 1, figsize=(8, 7), sharex=True, layout="constrained", height_ratios=(2, 1)
)
above.plot(X, y, ".", color="0.6", ms=2, label="data")
grid = np.linspace(-4, 4, 161)[:, None]
PredictionIntervalDisplay.from_estimator(model, grid, coverages=0.9, ax=above)
above.set(title="data and predictions")
above.label_outer()
below.plot(np.array(path), 10 * np.arange(len(path)), color="C1", lw=0.8)
below.set(xlabel="x", ylabel="steps", title="where the inducing inputs go")
below.invert_yaxis()
plt.show()

# %%
# In numbers:

ends = np.sort(path[-1])
print(f"inducing inputs from {ends[0]:.2f} to {ends[-1]:.2f}, widest gap {np.diff(ends).max():.2f}")
print(f"their standard deviation is {ends.std():.2f}, that of the data {X.std():.2f}")

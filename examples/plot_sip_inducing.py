"""
Inducing inputs that find the data
==================================

All inducing inputs of :class:`~skbayesnn.SIPRegressor` start at one point; the objective alone
spreads them over the data (Rodríguez-Santana et al., 2022, Figure 3).
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import SIPRegressor

generator = np.random.default_rng(0)
X = generator.uniform(-4, 4, (1000, 1))
y = 7 * np.sin(X[:, 0]) + 2 * generator.normal(size=1000) * np.sin(X[:, 0]) + 10

model = SIPRegressor(
    inducing_inputs=np.full((20, 1), -1.0), n_draws=50, learning_rate=0.01, total_samples=1000,
    random_state=0,
)  # fmt: skip
path = [np.full(20, -1.0)]
for _ in range(200):  # passes over the data, ten steps each
    model.partial_fit(X, y)
    path.append(model.inducing_inputs_[:, 0].copy())

figure, (left, right) = plt.subplots(
    2, 1, figsize=(8, 7), sharex=True, layout="constrained", height_ratios=(2, 1)
)
left.plot(X, y, ".", color="0.6", ms=2)
grid = np.linspace(-4, 4, 161)[:, None]
left.plot(grid, model.predict_quantiles(grid, [0.05, 0.5, 0.95]), color="C0")
left.set_title("data, and 5 %, 50 % and 95 % quantiles")
right.plot(np.array(path), 10 * np.arange(len(path)), color="C1", lw=0.8)
right.set(xlabel="x", ylabel="steps", title="where the inducing inputs go")
right.invert_yaxis()
ends = np.sort(path[-1])
print(f"inducing inputs from {ends[0]:.2f} to {ends[-1]:.2f}, standard deviation {ends.std():.2f}")
print(f"(the data's: 2.31); widest gap {np.diff(ends).max():.2f}")
plt.show()

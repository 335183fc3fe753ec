"""
What the likelihood does
========================

:class:`~skbayesnn.UDNRegressor` offers four likelihoods: distributions of the target given the
network. They differ in the noise that they can describe. The network is the same.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import UDNRegressor
from skbayesnn.metrics import mean_log_predictive_density
from skbayesnn.plotting import PredictiveDensityDisplay


def observe(n, generator):
    """Noise that grows with x, is skewed, and has an outlier now and then."""
    x = generator.uniform(-2, 2, n)
    noise = (0.1 + 0.25 * (x + 2)) * (generator.exponential(1, n) - 1)
    return x[:, None], np.sin(2 * x) + noise + 2.5 * (generator.random(n) < 0.03)


generator = np.random.default_rng(0)
X, y = observe(600, generator)
X_test, y_test = observe(2000, generator)

# %%
# "gaussian" has one noise variance for all rows, and "heteroscedastic" one for each row.
# "student_t" has heavy tails as well. "mixture", the default, can have any shape that five
# Gaussians can form. The titles show the mean log density of held-out rows.

grid = np.linspace(-2, 2, 200)[:, None]
figure, axes = plt.subplots(1, 4, figsize=(14, 3.7), sharey=True, layout="constrained")
for likelihood, ax in zip(
    ("gaussian", "heteroscedastic", "student_t", "mixture"), axes, strict=True
):
    model = UDNRegressor(likelihood=likelihood, random_state=0).fit(X, y)
    display = PredictiveDensityDisplay.from_estimator(model, grid, ax=ax)
    display.image_.colorbar.remove()
    score = mean_log_predictive_density(y_test, model.predict_distribution(X_test))
    ax.plot(X[:, 0], y, "k.", ms=2)
    ax.set(title=f"{likelihood}: {score:.2f} nats per row", ylim=(-2, 5))
    ax.label_outer()
plt.show()

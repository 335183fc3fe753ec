"""
Fitting two modes with ``alpha_divergence``
===========================================

:class:`~skbayesnn.SIPRegressor` predicts a mixture with one component for each draw from its
posterior. ``alpha_divergence`` determines what training requires of the draws. Near zero, every
single draw has to explain every row. At one, the default, only the mixture as a whole has to
explain the rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import SIPRegressor
from skbayesnn.plotting import PredictiveDensityDisplay

generator = np.random.default_rng(0)
x = generator.uniform(-2, 2, 400)
branch = np.where(generator.random(400) < 0.5, -1.0, 1.0)
y = branch * (1 + 0.5 * np.sin(2 * x)) + 0.15 * generator.normal(size=400)

# %%
# The observations lie on one of two curves. A draw that has to explain all of them passes between
# the curves, and treats the distance as noise. Draws that can share the work follow one curve each.

grid = np.linspace(-2, 2, 200)[:, None]
figure, axes = plt.subplots(1, 3, figsize=(13, 3.9), sharey=True, layout="constrained")
for alpha, ax in zip((0.05, 0.5, 1.0), axes, strict=True):
    model = SIPRegressor(alpha_divergence=alpha, n_networks=1, random_state=0)
    model.fit(x[:, None], y)
    display = PredictiveDensityDisplay.from_estimator(model, grid, ax=ax)
    display.image_.colorbar.remove()
    ax.plot(x, y, "k.", ms=2)
    ax.set(title=f"alpha_divergence = {alpha}", ylim=(-2.5, 2.5))
    ax.label_outer()
plt.show()

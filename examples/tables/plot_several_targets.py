"""
Several targets at once
=======================

Predict the weight, waist and pulse of twenty men from three physical exercises, with the Linnerud
data that come with scikit-learn. With only twenty rows, an honest interval has to be wide.
:class:`~skbayesnn.DeepWishartRegressor` predicts one for each target from a single fit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_linnerud
from sklearn.model_selection import KFold

from skbayesnn import DeepWishartRegressor

X, y = load_linnerud(return_X_y=True, as_frame=True)
print(X.join(y).head(3))

# %%
# Cross-validation predicts each man with a model that was fitted to others. The targets share the
# hidden layers of the kernel. Quantiles have shape (n_samples, n_targets, n_quantiles).

quantiles = np.empty((*y.shape, 3))
for train, test in KFold(10, shuffle=True, random_state=0).split(X):
    model = DeepWishartRegressor(max_iter=200, random_state=0).fit(X.iloc[train], y.iloc[train])
    quantiles[test] = model.predict(X.iloc[test], quantiles=[0.05, 0.5, 0.95])

# %%
# The men are sorted by the predicted median; the bars are 90 % intervals.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for k, (name, ax) in enumerate(zip(y.columns, axes, strict=True)):
    low, median, high = quantiles[:, k].T
    order = np.argsort(median)
    place = np.arange(len(y))
    ax.errorbar(
        place, median[order], [(median - low)[order], (high - median)[order]], fmt="o", ms=4
    )
    ax.plot(place, y[name].to_numpy()[order], "k.", label="observed")
    inside = np.mean((low < y[name]) & (y[name] < high))
    ax.set(title=f"{name}: {inside:.0%} inside", xlabel="men", xticks=[])
plt.show()

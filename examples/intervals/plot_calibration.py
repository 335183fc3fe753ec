"""
Are the intervals honest?
=========================

A model that says 90 % should be right nine times in ten, and 50 % half of the time. Three models
of the same data, the disease progression of 442 patients, judged on patients that none of them
has seen.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import train_test_split

from skbayesnn import DeepWishartRegressor, UDNRegressor
from skbayesnn.metrics import interval_coverage, mean_crps
from skbayesnn.plotting import CalibrationDisplay
from skbayesnn.predictive import PredictiveMixture

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# Two estimators of this package, and a habit: to take the spread of the trees of a random forest
# for the uncertainty of its prediction. Any Gaussian prediction, and any mixture of them, is a
# :class:`~skbayesnn.predictive.PredictiveMixture`, so that it can be judged in the same way.

deep_wishart = DeepWishartRegressor(random_state=0).fit(X_train, y_train)
udn = UDNRegressor(random_state=0).fit(X_train, y_train)
forest = RandomForestRegressor(200, min_samples_leaf=5, random_state=0).fit(X_train, y_train)
trees = np.column_stack([tree.predict(X_test) for tree in forest.estimators_])
spread = PredictiveMixture([1.0], trees.mean(axis=1)[:, None], trees.var(axis=1)[:, None])

predictions = {
    "DeepWishartRegressor": deep_wishart.predict_distribution(X_test),
    "UDNRegressor": udn.predict_distribution(X_test),
    "spread of a forest's trees": spread,
}
print("                              coverage of 90 % intervals   CRPS")
for name, distribution in predictions.items():
    coverage = interval_coverage(y_test, distribution.interval(0.9))
    print(f"{name:28}  {coverage:26.2f}   {mean_crps(y_test, distribution):4.1f}")

# %%
# The probability integral transform
# ----------------------------------
#
# Each observation is put at its level in its own predictive distribution: 0.5 is the median. If
# the distributions are right, all levels are equally common, and nearly all bars end in the grey
# band. High bars at both ends are observations far from what was predicted, more of them than
# the model expected: it is too sure of itself. A hump in the middle would be a model that is not
# sure enough, a slope one whose predictions are too low or too high.

figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), sharey=True, layout="constrained")
for (name, distribution), ax in zip(predictions.items(), axes, strict=True):
    CalibrationDisplay.from_predictions(y_test, distribution, ax=ax)
    ax.set_title(name)
    ax.label_outer()
plt.show()

# %%
# Reliability
# -----------
#
# The same levels, cumulated: the share of observations below each predicted quantile. A curve
# above the diagonal on the left and below it on the right is too sure of itself: here, a fifth
# of the patients is below what the trees' spread makes the lowest tenth.

figure, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
for name, distribution in predictions.items():
    CalibrationDisplay.from_predictions(y_test, distribution, kind="reliability", name=name, ax=ax)
ax.set_aspect("equal")
plt.show()

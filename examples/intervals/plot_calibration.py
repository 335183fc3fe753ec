"""
Are the intervals calibrated?
=============================

90 % intervals should contain nine observations in ten, and 50 % intervals half of them. This
example checks three models of the disease progression of 442 patients, on patients that none of the
models has seen.
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
# Two of the models are estimators of this package. The third is a common habit: to take the spread
# of the trees of a random forest for the uncertainty of its prediction. Any Gaussian prediction can
# be written as a :class:`~skbayesnn.predictive.PredictiveMixture`, and then judged in the same way.

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
# For each observation, evaluate its predictive distribution function there: 0.5 means that the
# observation is at the predicted median. If the predictive distributions are right, these values
# are uniformly distributed, and nearly all bars end in the grey band. High bars at both ends mean
# that observations are far from the prediction more often than the model expected: it is
# overconfident. A hump in the middle would mean that its intervals are too wide, and a slope that
# its predictions are too low or too high.

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
# The next plot shows the fraction of observations below each predicted quantile. A curve above the
# diagonal on the left and below it on the right belongs to an overconfident model. Here, a fifth of
# the patients are below the 10 % quantile that the spread of the trees predicts.

figure, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
for name, distribution in predictions.items():
    CalibrationDisplay.from_predictions(y_test, distribution, kind="reliability", name=name, ax=ax)
ax.set_aspect("equal")
plt.show()

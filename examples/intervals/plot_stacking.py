"""
One answer from several models
==============================

It is hard to tell beforehand which model suits a table. A stack combines several: it weights their
predictive distributions so that the mixture has the best log score on rows that the models were not
fitted to. The members can be any regressors. Here the members are one model of this package and two
of scikit-learn, a Bayesian linear model and a random forest, on scikit-learn's diabetes data.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split

from skbayesnn import StackingDistributionRegressor, UDNRegressor
from skbayesnn.metrics import crps_scorer, log_predictive_density_scorer
from skbayesnn.plotting import PredictiveDensityDisplay, StackingWeightsDisplay

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)

members = [
    ("network", UDNRegressor()),
    ("linear", BayesianRidge()),
    ("forest", RandomForestRegressor(200, min_samples_leaf=3)),
]
stack = StackingDistributionRegressor(members, random_state=0, n_jobs=2).fit(X_train, y_train)

# %%
# The forest predicts points only, so the stack adds the distribution of its out-of-fold errors.

for name, weight in zip(stack.names_, stack.weights_, strict=True):
    print(f"{name:>8}  {weight:.2f}")
print(f"log density {log_predictive_density_scorer(stack, X_test, y_test):.3f}")
print(f"CRPS {-crps_scorer(stack, X_test, y_test):.2f}")

# %%
# The left panel shows the weight and the score of each member, the right panel the predicted
# densities for three patients.

_, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
StackingWeightsDisplay.from_estimator(stack, ax=left)
PredictiveDensityDisplay.from_estimator(stack, X_test[:3], y_test[:3], ax=right)
plt.show()

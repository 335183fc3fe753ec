"""
Which inputs matter?
====================

Two models of this package answer this question without refitting. The stable network splits its
function into the effects of single inputs and a rest. The deep Wishart process has a length
scale for each input. The data are the disease progression of 442 patients.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from skbayesnn import DeepWishartRegressor, StableNNRegressor
from skbayesnn.plotting import PartialEffectsDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X = X.rename(columns={"s1": "tc", "s2": "ldl", "s3": "hdl", "s4": "tch", "s5": "ltg", "s6": "glu"})
# The parts of the function need longer chains than their sum.
stable = StableNNRegressor(thin=20, random_state=0, n_jobs=2).fit(X, y)
deep = DeepWishartRegressor(random_state=0).fit(X, y)

# %%
# How much each input contributes
# -------------------------------
#
# ``partial_effects`` gives the share of the function's variance that is due to each input by
# itself, and finally the share of the rest, where inputs act together.
# ``feature_relevance_`` is the contribution of each input to the distances that the first kernel
# sees. The two measures differ, but they rank the same three inputs first: the logarithm of the
# triglycerides (ltg), the body mass index, and sex.

effects = stable.partial_effects(X)
order = np.argsort(deep.feature_relevance_)
names = X.columns[order]

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
left.barh(names, effects.variance_shares[:-1][order], color="C0")
left.set(title=f"stable network; the rest has {effects.variance_shares[-1]:.2f}")
left.set(xlabel="share of the variance")
right.barh(names, deep.feature_relevance_[order], color="C1")
right.set(title="deep Wishart process", xlabel="part of the distance")
plt.show()

# %%
# The effect of each input
# ------------------------
#
# The panels show the effects of five single inputs according to the stable network, with 90 %
# bands, in the units of the target. The last panel shows the rest, to which any input may
# contribute.

PartialEffectsDisplay.from_estimator(stable, X, features=["ltg", "bmi", "sex", "hdl", "age"])
plt.show()

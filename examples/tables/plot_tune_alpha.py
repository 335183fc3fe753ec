"""
Tune α and ν on two cores
=========================

:class:`~skbayesnn.StableNNRegressorCV` compares pairs of α and ν by cross-validation, and refits
the best pair to all rows. It does less work than ``GridSearchCV``, because it finds the cells of
each fold only once.
"""

import matplotlib.pyplot as plt
import numpy as np

from skbayesnn import StableNNRegressorCV
from skbayesnn.plotting import PredictionIntervalDisplay

x = np.linspace(-2, 2, 60)
y = np.select([x < -1, x < 0, x < 1], [1.0, 5.0, -3.0], 2.0)
y = y + 0.5 * np.random.default_rng(1).standard_normal(x.size)

# %%
# Twelve pairs and five folds make 60 short fits. ``n_jobs=2`` distributes them over two cores; the
# result is the same to the last bit. The default score is minus the CRPS, so that larger is better.
# A warning says that the chains of nine fits have not quite converged, so their scores are noisy.
# The difference between α below 2 and α = 2 is far larger than this noise.

alphas, nus = (0.7, 1.1, 1.5, 2.0), (0.1, 0.5, 2.0)
model = StableNNRegressorCV(alphas, nus, n_jobs=2, random_state=0)
model.fit(x[:, None], y)
print(f"α = {model.alpha_}, ν = {model.nu_}, CRPS {-model.best_score_:.3f}")

# %%
# ``cv_results_`` has the whole table, in the format of scikit-learn's searches. Any α below 2 is
# far better than the Gaussian process at 2, and the exact values matter little: below 2 all scores
# are within 0.03 of each other.

scores = -model.cv_results_["mean_test_score"].reshape(len(alphas), len(nus))
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.9), layout="constrained")
image = left.imshow(scores, cmap="viridis_r", aspect="auto")
left.set_xticks(range(len(nus)), nus)
left.set_yticks(range(len(alphas)), alphas)
left.set(xlabel="ν", ylabel="α", title="CRPS on rows left out, smaller is better")
for (row, column), score in np.ndenumerate(scores):
    dark = score > 0.8
    left.text(column, row, f"{score:.3f}", ha="center", va="center", color="w" if dark else "k")
figure.colorbar(image, ax=left)
grid = np.linspace(-2.5, 2.5, 601)[:, None]
PredictionIntervalDisplay.from_estimator(model, grid, coverages=0.9, ax=right)
right.plot(x, y, "k.", ms=4, label="data")
right.set(title=f"refitted to all rows: α = {model.alpha_}, ν = {model.nu_}")
right.legend(frameon=False)
plt.show()

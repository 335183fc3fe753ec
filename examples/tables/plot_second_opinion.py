"""
Which patients need a second opinion?
=====================================

If a classifier knows when it is uncertain, its doubtful cases can be referred to a person. This
example uses :class:`~skbayesnn.UDNClassifier` to classify tumours as benign or malignant, with the
breast cancer data that come with scikit-learn.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from skbayesnn import UDNClassifier

X, y = load_breast_cancer(return_X_y=True)
y = 1 - y  # 1 for malignant

# %%
# Cross-validation predicts each patient with networks that were fitted to other patients.

folds = StratifiedKFold(5, shuffle=True, random_state=0)
p = cross_val_predict(
    UDNClassifier(random_state=0), X, y, cv=folds, method="predict_proba", n_jobs=2
)[:, 1]
print(f"accuracy {np.mean((p > 0.5) == y):.3f}, log loss {log_loss(y, p):.3f}")

# %%
# The left panel checks the calibration: of the tumours with a predicted probability of 30 %, about
# 30 % should be malignant. The right panel shows that most probabilities are near 0 or 1, and that
# the errors are among the few that are not.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.9), layout="constrained")
CalibrationDisplay.from_predictions(y, p, n_bins=5, strategy="uniform", ax=left)
left.set(xlabel="predicted probability", ylabel="share that is malignant")
left.legend(["perfect", "UDNClassifier"], frameon=False)
doubt = np.minimum(p, 1 - p)
errors = (p > 0.5) != y
limits = np.geomspace(0.001, 0.5, 60)
right.plot(limits, [100 * np.mean(doubt > limit) for limit in limits], label="referred")
right.plot(
    limits,
    [100 * np.mean(errors & (doubt <= limit)) for limit in limits],
    label="wrong, and not referred",
)
right.set(xlabel="refer above this probability of an error", ylabel="% of patients", xscale="log")
right.set(ylim=(0, None))
right.legend(frameon=False)
plt.show()

# %%
# In numbers:

for limit in (0.02, 0.1, 0.5):
    referred, missed = np.mean(doubt > limit), np.sum(errors & (doubt <= limit))
    print(f"limit {limit:4.0%}: {referred:5.1%} are referred, {missed:2d} of the others are wrong")

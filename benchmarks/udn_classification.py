"""Digits, breast cancer and wine: accuracy, log loss and calibration error, nested CV.

Five outer folds; in each the hyper-parameters are chosen by log loss in three inner ones:
the prior's scale for ``UDNClassifier`` and for the average of five of them from different
seeds, width, depth and penalty for ``MLPClassifier``, the penalty for logistic regression. All
stand in a pipeline with ``StandardScaler``. The calibration error is that of the most probable
class, in ten bins of its probability.

    python benchmarks/udn_classification.py
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayesnn.udn import UDNClassifier

SETS = {"digits": load_digits, "cancer": load_breast_cancer, "wine": load_wine}
MODELS = {
    "udn": (
        UDNClassifier(max_iter=200, random_state=0),
        {"weight_scale": [0.1, 0.2, 0.5, 1.0]},
    ),
    "udn x5": (
        BaggingClassifier(UDNClassifier(max_iter=200), 5, bootstrap=False, random_state=0),
        {"estimator__weight_scale": [0.1, 0.2, 0.5, 1.0]},
    ),
    "mlp": (
        MLPClassifier(max_iter=500, random_state=0),
        {"hidden_layer_sizes": [(32,), (100,), (32, 32)], "alpha": [1e-4, 1e-1, 1.0, 10.0]},
    ),
    "logistic": (LogisticRegression(max_iter=2000), {"C": [0.01, 0.1, 1.0, 10.0]}),
}


def calibration_error(p, y, n_bins=10):
    """Mean distance of confidence from accuracy, weighted by the rows of each bin."""
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.minimum((confidence * n_bins).astype(int), n_bins - 1)
    gaps = [abs(np.sum(confidence[bins == b] - right[bins == b])) for b in range(n_bins)]
    return sum(gaps) / len(y)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("set      model     accuracy  log loss (s.e.)  calibration error  seconds a fold")
    for name in options.sets:
        X, y = SETS[name](return_X_y=True)
        for key in options.models:
            model, grid = MODELS[key]
            pipe = make_pipeline(StandardScaler(), model)
            grid = {f"{type(model).__name__.lower()}__{k}": v for k, v in grid.items()}
            search = GridSearchCV(pipe, grid, cv=3, scoring="neg_log_loss", n_jobs=options.n_jobs)
            begin, p = time.perf_counter(), np.empty((len(y), len(np.unique(y))))
            for rows, other in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
                p[other] = search.fit(X[rows], y[rows]).predict_proba(X[other])
            own = -np.log(p[np.arange(len(y)), y])
            print(
                f"{name:8s} {key:8s}  {np.mean(p.argmax(axis=1) == y):8.4f}  {own.mean():8.4f} "
                f"({own.std() / np.sqrt(len(y)):.3f})"
                f" {calibration_error(p, y):17.4f}  {(time.perf_counter() - begin) / 5:14.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

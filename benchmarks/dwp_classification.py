"""Classification tables: the deep Wishart process beside scikit-learn's Gaussian process.

Log loss, Brier score and accuracy over five folds, and seconds of processor time a fit. "gpc" is
``GaussianProcessClassifier()``, whose default kernel has a fixed length scale of 1, and "gpc rbf"
the same with a squared exponential kernel of fitted height and length scale; both stand behind
``StandardScaler``. "dwc" is ``DeepWishartClassifier()``, and "dwc0" the same without hidden
layers.

    python benchmarks/dwp_classification.py
    python benchmarks/dwp_classification.py --sets moons --rows 500 1000 2000 --folds 1
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_moons,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayesnn import DeepWishartClassifier


def four(n_rows):
    """Four classes in ten inputs, of which six matter, 5 % of the labels drawn anew."""
    return make_classification(
        n_rows, 10, n_informative=6, n_redundant=0, n_classes=4, flip_y=0.05, class_sep=1.5,
        random_state=0,
    )  # fmt: skip


def digits(n_rows):
    """The first so many digits."""
    X, y = load_digits(return_X_y=True)
    return X[:n_rows], y[:n_rows]


SETS = {
    "iris": lambda n: load_iris(return_X_y=True),
    "wine": lambda n: load_wine(return_X_y=True),
    "cancer": lambda n: load_breast_cancer(return_X_y=True),
    "moons": lambda n: make_moons(n, noise=0.3, random_state=0),
    "four": four,
    "digits": digits,
}
MODELS = {
    "gpc": lambda: make_pipeline(StandardScaler(), GaussianProcessClassifier()),
    "gpc rbf": lambda: make_pipeline(StandardScaler(), GaussianProcessClassifier(1.0 * RBF(1.0))),
    "dwc0": lambda: DeepWishartClassifier(n_layers=0, random_state=0),
    "dwc": lambda: DeepWishartClassifier(random_state=0),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS)[:-1])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--rows", nargs="+", type=int, default=[1250], help="of sets of any size")
    parser.add_argument("--folds", type=int, default=5, help="how many of the five to fit")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("set       rows model     log loss (s.e.)    Brier  accuracy  seconds a fit")
    for name in options.sets:
        sized = name in ("moons", "four", "digits")
        for n_rows in options.rows if sized else options.rows[:1]:
            X, y = SETS[name](n_rows)
            folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
            folds = list(folds)[: options.folds]
            for key in options.models:
                seconds, parts = 0.0, []
                for rows, other in folds:
                    begin = time.process_time()
                    model = MODELS[key]().fit(X[rows], y[rows])
                    seconds += time.process_time() - begin
                    parts.append((model.predict_proba(X[other]), y[other]))
                p, truth = (np.concatenate(part) for part in zip(*parts, strict=True))
                own = -np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-15))
                brier = ((p - np.eye(p.shape[1])[truth]) ** 2).sum(axis=1).mean()
                print(
                    f"{name:9s}{len(X):5d} {key:9s} {own.mean():8.4f} "
                    f"({own.std() / np.sqrt(len(own)):.3f}) {brier:8.4f} "
                    f"{np.mean(p.argmax(axis=1) == truth):9.4f} {seconds / len(folds):14.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()

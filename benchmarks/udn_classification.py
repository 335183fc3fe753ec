"""Classification tables: log loss, Brier score, calibration error and accuracy, five folds.

Six sets that scikit-learn ships or makes: digits, breast cancer, wine, noisy moons, four classes
with 5 % of the labels flipped, four classes with 30 % flipped. All models have their defaults; a
support vector machine gets probabilities by Platt's method on three folds; those that need it
stand behind ``StandardScaler``. "udn conv" is the convolutional network, for digits alone; "udn
x5" averages the probabilities of five networks from different seeds. The Brier score is summed
over classes. The calibration error is that of the most probable class, in ten bins of its
probability.

    python benchmarks/udn_classification.py
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_wine,
    make_classification,
    make_moons,
)
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayesnn.udn import UDNClassifier


def flipped(n_samples, part):
    """Four classes in ten inputs, of which six matter, with a part of the labels moved on."""
    X, y = make_classification(
        n_samples, 10, n_informative=6, n_redundant=0, n_classes=4, flip_y=0.0, class_sep=1.5,
        random_state=0,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    return X, (y + (rng.random(n_samples) < part) * rng.integers(1, 4, n_samples)) % 4


SETS = {
    "digits": lambda: load_digits(return_X_y=True),
    "cancer": lambda: load_breast_cancer(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "moons": lambda: make_moons(1000, noise=0.3, random_state=0),
    "flip 5%": lambda: flipped(3000, 0.05),
    "flip 30%": lambda: flipped(1000, 0.3),
}
IMAGES = {"layer_generator": "convolutional", "image_shape": (8, 8)}
MODELS = {
    "udn": lambda: UDNClassifier(random_state=0),
    "udn x5": lambda: BaggingClassifier(UDNClassifier(), 5, bootstrap=False, random_state=0),
    "udn conv": lambda: UDNClassifier(random_state=0, **IMAGES),
    "svc": lambda: make_pipeline(
        StandardScaler(), CalibratedClassifierCV(SVC(), cv=3, ensemble=False)
    ),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
    "forest": lambda: RandomForestClassifier(random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "mlp": lambda: make_pipeline(StandardScaler(), MLPClassifier(max_iter=500, random_state=0)),
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
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("set       model     log loss (s.e.)    Brier  calibration  accuracy  seconds a fit")
    for name in options.sets:
        X, y = SETS[name]()
        for key in options.models:
            if key == "udn conv" and name != "digits":
                continue
            seconds, p = 0.0, np.empty((len(y), y.max() + 1))
            for rows, other in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
                begin = time.process_time()
                model = MODELS[key]().fit(X[rows], y[rows])
                seconds += (time.process_time() - begin) / 5
                p[other] = model.predict_proba(X[other])
            # Forests give a probability of zero, which no finite log loss forgives.
            own = -np.log(np.maximum(p[np.arange(len(y)), y], 1e-15))
            brier = ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1).mean()
            print(
                f"{name:9s} {key:9s} {own.mean():8.4f} ({own.std() / np.sqrt(len(y)):.3f})"
                f" {brier:8.4f} {calibration_error(p, y):12.4f}"
                f" {np.mean(p.argmax(axis=1) == y):9.4f} {seconds:14.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

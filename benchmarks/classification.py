"""Classification tables: log loss, Brier score, calibration error and accuracy, five folds.

Seven sets that scikit-learn ships or makes: digits, breast cancer, wine, noisy moons, four classes
with 5 % of the labels flipped, four classes with 30 % flipped, two classes told by five of a
hundred inputs. All models have their defaults; a support vector machine gets probabilities by
Platt's method on three folds; those that need it stand behind ``StandardScaler``. "udn conv" is the
convolutional network, for digits alone; "udn x5" averages the probabilities of five networks from
different seeds. The Brier score is summed over classes. The calibration error is that of the most
probable class, in ten bins of its probability.

With ``--out`` each line is written to a file as it is known, and lines that are there are not run
again; ``--page`` writes the tables of the documentation from them.

    python benchmarks/classification.py --out classes.csv --page docs/classification.rst \\
        --models udn "udn conv" "deep wishart" svc logistic forest boosting mlp
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

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

from skbayesnn import DeepWishartClassifier, UDNClassifier


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
    "100 inputs": lambda: make_classification(
        500, 100, n_informative=5, n_redundant=0, n_clusters_per_class=1, random_state=0
    ),
}
TOLD = {
    "digits": "digits: 1797 rows, 64 inputs, 10 classes",
    "cancer": "breast cancer: 569, 30, 2",
    "wine": "wine: 178, 13, 3",
    "moons": "moons, noise of 0.3: 1000, 2, 2",
    "flip 5%": "5 % of labels flipped: 3000, 10, 4",
    "flip 30%": "30 % flipped: 1000, 10, 4",
    "100 inputs": "five of a hundred inputs: 500, 100, 2",
}
IMAGES = {"layer_generator": "convolutional", "image_shape": (8, 8)}
MODELS = {
    "udn": lambda: UDNClassifier(random_state=0),
    "udn x5": lambda: BaggingClassifier(UDNClassifier(), 5, bootstrap=False, random_state=0),
    "udn conv": lambda: UDNClassifier(random_state=0, **IMAGES),
    "deep wishart": lambda: DeepWishartClassifier(random_state=0),
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


SCORES = ["log loss", "Brier score", "calibration error", "accuracy"]
COLUMNS = ["set", "model", *SCORES, "log loss s.e.", "seconds"]


def evaluate(name, key):
    """Scores of one model on one set, over five folds."""
    X, y = SETS[name]()
    seconds, p = 0.0, np.empty((len(y), y.max() + 1))
    for rows, other in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        begin = time.process_time()
        model = MODELS[key]().fit(X[rows], y[rows])
        seconds += (time.process_time() - begin) / 5
        p[other] = model.predict_proba(X[other])
    # Forests give a probability of zero, which no finite log loss forgives.
    own = -np.log(np.maximum(p[np.arange(len(y)), y], 1e-15))
    return {
        "set": name,
        "model": key,
        "log loss": own.mean(),
        "log loss s.e.": own.std() / np.sqrt(len(y)),
        "Brier score": ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1).mean(),
        "calibration error": calibration_error(p, y),
        "accuracy": np.mean(p.argmax(axis=1) == y),
        "seconds": seconds,
    }


def known(path):
    """Lines of a file of earlier runs, by set and model."""
    if path is None or not path.exists():
        return {}
    with path.open() as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        line.update({c: float(line[c]) for c in COLUMNS[2:]})
    return {(line["set"], line["model"]): line for line in lines}


HEAD = """\
How the classifiers compare
===========================

These tables compare :class:`~skbayesnn.UDNClassifier` and
:class:`~skbayesnn.DeepWishartClassifier` with scikit-learn's classifiers by five-fold
cross-validation, on data sets that scikit-learn ships or generates. All have default settings,
except that logistic regression and the perceptron may take more iterations. The best value of each
row is bold. The three numbers after a data set are its numbers of rows, inputs and classes.
:doc:`guide/dwp` compares the deep Wishart classifier with scikit-learn's Gaussian process
classifier.

* "udn" is :class:`~skbayesnn.UDNClassifier`; "udn conv" is the same with
  ``layer_generator="convolutional"`` and the shape of the images. "deep wishart" is
  :class:`~skbayesnn.DeepWishartClassifier`.
* "svc", "logistic", "forest", "boosting" and "mlp" are a support vector machine, logistic
  regression, a random forest, histogram-based gradient boosting and a multilayer perceptron. The
  support vector machine, logistic regression and the perceptron follow a ``StandardScaler``. The
  probabilities of the support vector machine follow Platt's method.
* Log loss, Brier score and calibration error judge the probabilities: smaller is better. The Brier
  score is summed over the classes. The calibration error is that of the most probable class, in ten
  bins of its probability.

.. code-block:: bash

   python benchmarks/classification.py --out classes.csv --page docs/classification.rst \\
       --models udn "udn conv" "deep wishart" svc logistic forest boosting mlp
"""


def page(lines):
    """A table a score, models side by side, the best in bold."""
    models = [m for m in MODELS if any(key[1] == m for key in lines)]
    out = [HEAD]
    for score in [*SCORES, "seconds"]:
        title = {"seconds": "Processor seconds per fit"}.get(score, score.capitalize())
        out += [f".. list-table:: {title}", "   :header-rows: 1", ""]
        out += ["   * - data set", *[f"     - {m}" for m in models]]
        digits = 1 if score == "seconds" else 3
        for name in [n for n in SETS if any(key[0] == n for key in lines)]:
            values = {m: lines[name, m][score] for m in models if (name, m) in lines}
            best = (max if score == "accuracy" else min)(values.values())
            out.append(f"   * - {TOLD[name]}")
            for m in models:
                text = f"{values[m]:.{digits}f}" if m in values else "–"
                bold = m in values and text == f"{best:.{digits}f}"
                out.append(f"     - **{text}**" if bold else f"     - {text}")
        out.append("")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--out", type=Path, help="file of scores, added to")
    parser.add_argument("--page", type=Path, help="where to write the tables")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    lines = known(options.out)
    print("set         model     log loss (s.e.)    Brier  calibration  accuracy  seconds a fit")
    for name in options.sets:
        for key in options.models:
            if key == "udn conv" and name != "digits":
                continue
            if (name, key) not in lines:
                lines[name, key] = evaluate(name, key)
                if options.out:
                    new = not options.out.exists()
                    with options.out.open("a", newline="") as file:
                        writer = csv.DictWriter(file, COLUMNS)
                        if new:
                            writer.writeheader()
                        writer.writerow(lines[name, key])
            s = lines[name, key]
            print(
                f"{name:11s} {key:9s} {s['log loss']:8.4f} ({s['log loss s.e.']:.3f})"
                f" {s['Brier score']:8.4f} {s['calibration error']:12.4f}"
                f" {s['accuracy']:9.4f} {s['seconds']:14.1f}",
                flush=True,
            )
    if options.page:
        options.page.write_text(page(lines))


if __name__ == "__main__":
    main()

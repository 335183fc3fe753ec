"""Digits: networks of fixed depths 2 to 6 beside one that infers its depth, and learning rates.

After Table 2 and Figures 6 and 8 of Nazaret and Blei (2022), whose image data do not ship with a
package: CIFAR-10 and ImageNet are out of reach here, and so are their residual networks of 18 to
50 layers. The digits that scikit-learn ships stand in for them, with the layers of
``layer_generator``: "residual" is small enough to run all of it in some minutes on one core.

Prints accuracy, log loss, expected depth and processor seconds a fit, means over folds: of each
fixed depth (``depth_prior="point"``), of a search over these depths by three folds of the training
rows (what finding a depth costs otherwise), and of the network of unbounded depth, at several
learning rates. The picture has log loss against depth, with the posterior of the depth below it,
and the course of the expected depth over the epochs for each learning rate; it falls where the next
of the networks begins that a fit with more than twenty inputs tries.

    python benchmarks/udn_depths.py --folds 2 --picture depths.png
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from skbayesnn.udn import UDNClassifier

DEPTHS = [2, 3, 4, 5, 6]
RATES = [0.001, 0.003, 0.01]


class ExpectedDepth:
    """A callback that notes the expected depth after each epoch."""

    def setup(self, estimator, context):
        self.course = []

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "epoch":
            self.course.append(estimator._depth.expected_depth())


def models(generator):
    """Name to (estimator, callback or None)."""
    images = {"image_shape": (8, 8)} if generator == "convolutional" else {}
    base = {"layer_generator": generator, "n_networks": 1, "random_state": 0, **images}
    finite = UDNClassifier(depth_prior="point", **base)
    out = {}
    for depth in DEPTHS:
        out[f"depth {depth}"] = UDNClassifier(depth_prior="point", max_depth=depth, **base), None
    grid = GridSearchCV(finite, {"max_depth": DEPTHS}, scoring="neg_log_loss", cv=3)
    out["search over depths"] = grid, None
    for rate in RATES:
        notes = ExpectedDepth()
        model = UDNClassifier(learning_rate=rate, **base).set_callbacks(notes)
        out[f"unbounded, rate {rate:g}"] = model, notes
    return out


def draw(path, results, posterior):
    """Log loss by depth over the posterior, and the course of the expected depth."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
    left.plot(DEPTHS, [results[f"depth {d}"][1] for d in DEPTHS], "o-", label="fixed depth")
    left.axhline(results["unbounded, rate 0.003"][1], color="tab:red", label="unbounded")
    left.set(xlabel="depth", ylabel="log loss")
    left.legend()
    mass = left.twinx()
    mass.bar(np.arange(1, len(posterior) + 1), posterior, alpha=0.2, color="tab:red")
    mass.set(ylabel="posterior of the depth", ylim=(0, 1))
    for name, (*_, course) in results.items():
        if course:
            right.plot(np.arange(1, len(course) + 1), course, label=name.split(", ")[1])
    right.set(xlabel="epoch", ylabel="expected depth", xscale="log")
    right.legend()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--generator", choices=["residual", "convolutional"], default="residual")
    parser.add_argument("--folds", type=int, default=5, help="of five, how many to run")
    parser.add_argument("--picture", help="where to draw")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y = load_digits(return_X_y=True)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))[: options.folds]
    results = {}
    print("model                 accuracy  log loss  expected depth  seconds a fit")
    for name, (model, notes) in models(options.generator).items():
        scores = []
        for rows, other in folds:
            begin = time.process_time()
            model.fit(X[rows], y[rows])
            seconds = time.process_time() - begin
            p = model.predict_proba(X[other])
            fitted = getattr(model, "best_estimator_", model)
            right = np.mean(p.argmax(axis=1) == y[other])
            scores.append((right, log_loss(y[other], p), fitted.expected_depth_, seconds))
        results[name] = (*np.mean(scores, axis=0), notes.course if notes else [])
        if name == "unbounded, rate 0.003":
            posterior = fitted.depth_posterior_
        print(
            f"{name:22s} {results[name][0]:7.4f}  {results[name][1]:8.4f}"
            f"  {results[name][2]:14.1f}  {results[name][3]:13.1f}",
            flush=True,
        )
    if options.picture:
        draw(options.picture, results, posterior)


if __name__ == "__main__":
    main()

"""Spirals of growing difficulty (Nazaret and Blei, 2022, Figure 3, Table 1, appendix B.1).

For each number of turns ω and each seed: 1024 points each for training, validation and
test. Prints the test accuracy, log loss and expected depth of the unbounded-depth network,
of finite networks Ω_2 … Ω_8 and of a depth-uncertainty network with ten layers (all by the
code of this package), of an RBF support vector machine tuned on the validation points, and
of one nearest neighbour; at the end the averages over ω.

    python benchmarks/udn_spirals.py --models udn svm 1nn --seeds 5
"""

import argparse
import json
import time

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from skbayesnn.udn import UDNClassifier

NOISE = 0.02  # a standard deviation


def spiral(omega, n, generator):
    """Two arms of a spiral, points (n, 2) and labels (n,); ω quarter turns an arm."""
    t = generator.uniform(-1, 1, n)
    radius = np.sign(t) * np.sqrt(np.abs(t))
    angle = omega * np.pi / 2 * np.abs(radius)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return points + generator.normal(0, NOISE, (n, 2)), (t >= 0).astype(int)


def tuned_svm(X, y, X_validation, y_validation):
    """RBF support vector machine, C and gamma by accuracy on the validation points."""
    grid = [(c, g) for c in 10.0 ** np.arange(-1, 5) for g in 10.0 ** np.arange(0, 4.5, 0.5)]
    models = [SVC(C=c, gamma=g).fit(X, y) for c, g in grid]
    return max(models, key=lambda model: model.score(X_validation, y_validation))


def fit(name, seed, epochs, train, validation):
    """The fitted model of that name."""
    if name == "svm":
        return tuned_svm(*train, *validation)
    if name == "1nn":
        return KNeighborsClassifier(1).fit(*train)
    options = {"max_iter": epochs, "batch_size": 256, "n_networks": 1, "random_state": seed}
    if name.startswith("finite"):
        options |= {"depth_prior": "point", "max_depth": int(name[6:])}
    elif name.startswith("dun"):
        options |= {"depth_prior": "categorical", "max_depth": int(name[3:])}
    return UDNClassifier(**options).fit(*train)


def run(name, omega, seed, epochs):
    """One model on one data set; a dictionary of results."""
    generator = np.random.default_rng(1000 + seed)
    train, validation, (X, y) = (spiral(omega, 1024, generator) for _ in range(3))
    begin = time.perf_counter()
    model = fit(name, seed, epochs, train, validation)
    seconds = time.perf_counter() - begin
    loss = log_loss(y, model.predict_proba(X)) if hasattr(model, "predict_proba") else np.nan
    return {
        "model": name,
        "omega": omega,
        "seed": seed,
        "epochs": epochs,
        "accuracy": model.score(X, y),
        "log_loss": loss,
        "depth": getattr(model, "expected_depth_", np.nan),
        "layers": getattr(model, "n_layers_", 0),
        "seconds": seconds,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = ["udn", *(f"finite{d}" for d in range(2, 9)), "dun10", "svm", "1nn"]
    parser.add_argument("--models", nargs="+", default=names, help="of " + ", ".join(names))
    parser.add_argument("--omegas", nargs="+", type=float, default=list(range(0, 31, 2)))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=4000)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--json", help="write every result to this file")
    options = parser.parse_args()
    results = []
    print("model     omega  accuracy  log loss  depth  seconds   (means over seeds)")
    for name in options.models:
        for omega in options.omegas:
            part = Parallel(n_jobs=options.n_jobs)(
                delayed(run)(name, omega, seed, options.epochs) for seed in range(options.seeds)
            )
            results += part
            mean = {k: np.mean([r[k] for r in part]) for k in part[0] if k != "model"}
            print(
                f"{name:9s} {omega:5.1f}  {mean['accuracy']:8.4f}  {mean['log_loss']:8.4f}  "
                f"{mean['depth']:5.2f}  {mean['seconds']:7.1f}",
                flush=True,
            )
            if options.json:
                with open(options.json, "w") as file:
                    json.dump(results, file, indent=1)
        own = [r for r in results if r["model"] == name]
        print(f"{name:9s}  mean  {np.mean([r['accuracy'] for r in own]):8.4f}", flush=True)


if __name__ == "__main__":
    main()

"""What fits and predictions cost as rows grow: figure and table of ``docs/guide/costs.rst``.

Every estimator with its defaults on tables with ten inputs (Friedman's function, five of them
matter): seconds of processor time of one core for a fit and for the distributions of 1000 rows,
and the memory that both take above that of the process before. A small fit first loads the compiled
kernels.

    python -u benchmarks/scaling.py > docs/_static/scaling.csv  # and, from what it has written:
    python benchmarks/scaling.py --draw docs/_static/scaling.csv docs/_static/scaling.png
"""

import argparse
import csv
import os
import resource
import subprocess
import sys
import time
import warnings

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
ROWS = (100, 300, 1000, 3000, 10_000)
SMALL = {
    "SIPRegressor": {"max_iter": 2},
    "UDNRegressor": {"max_iter": 2},
    "StableNNRegressor": {"n_warmup": 5, "n_posterior_draws": 5, "n_chains": 1},
    "DeepWishartRegressor": {"max_iter": 2},
}


def friedman(n, seed):
    import numpy as np
    from sklearn.datasets import make_friedman1

    X, y = make_friedman1(n + 1000, n_features=10, noise=1.0, random_state=seed)
    return X[:n], y[:n], np.ascontiguousarray(X[n:])


def peak():
    """Largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name, n):
    """Print the costs of one estimator for n rows; in a process of its own, for its memory."""
    import skbayesnn

    warnings.simplefilter("ignore")
    estimator = getattr(skbayesnn, name)

    def seconds(**parameters):
        model = estimator(random_state=0, **parameters)
        begin = time.process_time()
        model.fit(X, y)
        fitted = time.process_time()
        model.predict(X_new, quantiles=[0.05, 0.5, 0.95])
        return fitted - begin, time.process_time() - fitted

    X, y, X_new = friedman(60, 1)
    seconds(**SMALL[name])
    X, y, X_new = friedman(n, 0)
    before = peak()
    fit, predict = seconds()
    print(f"{name},{n},{fit:.2f},{predict:.2f},{peak() - before:.0f}", flush=True)


def draw(table, picture):
    import matplotlib.pyplot as plt

    with open(table) as file:
        rows = list(csv.DictReader(file))
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), sharex=True, layout="constrained")
    for name in sorted(SMALL):
        mine = [row for row in rows if row["estimator"] == name]
        n = [int(row["rows"]) for row in mine]
        left.plot(n, [float(row["fit"]) for row in mine], "o-", label=name)
        right.plot(n, [float(row["predict"]) for row in mine], "o-")
    left.set(ylabel="seconds of one core", title="one fit, defaults, ten inputs")
    right.set(title="three quantiles of 1000 rows")
    for ax in (left, right):
        ax.set(xscale="log", yscale="log", xlabel="rows fitted")
        ax.grid(alpha=0.3)
    left.legend(frameon=False)
    figure.savefig(picture, dpi=130)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", nargs=2, metavar=("CSV", "PNG"))
    parser.add_argument("--one", nargs=2, metavar=("ESTIMATOR", "ROWS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.draw:
        draw(*arguments.draw)
    elif arguments.one:
        measure(arguments.one[0], int(arguments.one[1]))
    else:
        print("estimator,rows,fit,predict,memory", flush=True)
        for name in SMALL:
            for n in ROWS:
                subprocess.run([sys.executable, __file__, "--one", name, str(n)], check=True)


if __name__ == "__main__":
    main()

"""Every estimator of the package beside what users reach for today.

Nine standard tables on their 90/10 splits and the Taipei real estate (all columns, splits of the
same kind at random), each model with one setting for all of them, chosen without a look at test
rows. Prints a table each for log predictive density, CRPS, RMSE, coverage and mean width of 90 %
intervals, and seconds of processor time for the fit, with the mean rank of each model; writes
every score to a file. Peers: see ``peers.py``.

    python benchmarks/compare.py --data-dir DIR --splits 0 1 2 --n-jobs 2 --out scores.csv

The folder is that of ``uci.py``, with taipei_real_estate.csv.gz (the target last).
"""

import argparse
import os

# Before numpy is loaded: models side by side, one core each.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import sys
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from peers import PEERS
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from uci import SETS, load

from skbayesnn import (
    DeepWishartRegressor,
    EnsembleRegressor,
    SIPRegressor,
    StableNNRegressor,
    UDNRegressor,
)

OURS = {
    "StableNN": StableNNRegressor(
        alpha=1.8, nu=5.0, activation="erf", input_scale="evidence", move_units=True,
        n_units=300, n_chains=2, n_warmup=800, n_draws=200, thin=2, random_state=0,
    ),
    "UDN": UDNRegressor(random_state=0),
    "5 UDN": EnsembleRegressor(UDNRegressor(), n_estimators=5, random_state=0),
    "SIP": SIPRegressor(random_state=0),
    "DeepWishart": DeepWishartRegressor(random_state=0),
}  # fmt: skip
SCORES = ["log density", "CRPS", "RMSE", "coverage", "width", "seconds"]
HIGH_IS_BEST = {"log density"}


def ours(estimator):
    """An estimator of the package as a peer is."""

    def fit(X, y):
        model = make_pipeline(StandardScaler(), estimator).fit(X, y)
        return lambda X_test: model.predict(X_test, return_distribution=True)

    return fit


MODELS = {**{name: ours(estimator) for name, estimator in OURS.items()}, **PEERS}


def rows_of(folder, name, split):
    """Training and test rows: X, y, X_test, y_test."""
    if name != "taipei":
        return load(folder, name, split)
    table = np.loadtxt(folder / "taipei_real_estate.csv.gz", delimiter=",", skiprows=1)
    order = np.random.default_rng(split).permutation(len(table))
    test, rows = table[order[: len(table) // 10]], table[order[len(table) // 10 :]]
    return rows[:, :-1], rows[:, -1], test[:, :-1], test[:, -1]


def scores(folder, name, model, split):
    """The scores of one fit, in the order of ``SCORES``."""
    X, y, X_test, y_test = rows_of(folder, name, split)
    warnings.simplefilter("ignore")
    begin = time.process_time()
    predict = MODELS[model](X, y)
    seconds = time.process_time() - begin
    law = predict(X_test)
    low, high = law.interval(0.9).T
    result = [
        law.logpdf(y_test).mean(),
        law.crps(y_test).mean(),
        np.sqrt(np.mean((law.mean() - y_test) ** 2)),
        np.mean((low <= y_test) & (y_test <= high)),
        np.mean(high - low),
        seconds,
    ]
    print(f"{name} {model} {split}: " + " ".join(f"{v:.4g}" for v in result), flush=True)
    return result


def print_tables(names, models, results):
    """One table a score, means over splits; ranks where there is a best."""
    for i, score in enumerate(SCORES):
        print(f"\n{score}")
        print(f"{'':10s}" + "".join(f"{m:>17s}" for m in models))
        table = np.array([[np.mean(results[n, m], axis=0)[i] for m in models] for n in names])
        for name, row in zip(names, table, strict=True):
            print(f"{name:10s}" + "".join(f"{v:17.4g}" for v in row))
        if score in ("log density", "CRPS", "RMSE"):
            signed = -table if score in HIGH_IS_BEST else table
            ranks = signed.argsort(axis=1).argsort(axis=1) + 1
            print(f"{'mean rank':10s}" + "".join(f"{v:17.2f}" for v in ranks.mean(axis=0)))
            first = [sum(ranks[:, j] == 1) for j in range(len(models))]
            print(f"{'first':10s}" + "".join(f"{v:17d}" for v in first))


def main():
    names = [*SETS, "taipei"]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("SKBAYESNN_DATA"))
    parser.add_argument("--sets", nargs="+", choices=names, default=names)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--splits", nargs="+", type=int, default=range(3))
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write every score to this file")
    options = parser.parse_args()
    if not options.data_dir or not Path(options.data_dir).is_dir():
        sys.exit("Give the folder of the tables by --data-dir or SKBAYESNN_DATA.")
    folder = Path(options.data_dir)
    tasks = [(n, m, s) for n in options.sets for m in options.models for s in options.splits]
    values = Parallel(n_jobs=options.n_jobs)(delayed(scores)(folder, *task) for task in tasks)
    results = {}
    for (name, model, _), value in zip(tasks, values, strict=True):
        results.setdefault((name, model), []).append(value)
    if options.out:
        lines = [
            ",".join(map(str, (*task, *value))) for task, value in zip(tasks, values, strict=True)
        ]
        options.out.write_text("\n".join([",".join(["set", "model", "split", *SCORES]), *lines]))
    print_tables(options.sets, options.models, results)


if __name__ == "__main__":
    main()

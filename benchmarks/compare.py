"""Every estimator of the package beside what users reach for today, each with its defaults.

Nine standard tables on their 90/10 splits and the Taipei real estate (all columns, splits of the
same kind at random). Development looked at splits 0 to 2 of the tables. Prints a table each for
CRPS, log predictive density, both once more for test rows that are no copies of training rows,
RMSE, coverage and mean width of 90 % intervals, and seconds of processor time for fit and
predictions, over the splits that all models of a row have, with the mean rank of each model.
Peers: see ``peers.py``.

    python benchmarks/compare.py --data-dir DIR --splits 0 1 2 3 4 --n-jobs 2 --out scores.csv

Every score is added to the file as soon as it is known, with the version that gave it; what the
file has is not run again, so that the command may be stopped and given once more, with other
splits or models, too. The tables say where a model's scores are of several versions.

The folder is that of ``uci.py``, with taipei_real_estate.csv.gz (the target last).
"""

import argparse
import csv
import os

# Before numpy is loaded: models side by side, one core each.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from peers import PEERS
from scipy.stats import rankdata
from sklearn.base import clone
from uci import SETS, load

import skbayesnn
from skbayesnn import (
    DeepWishartRegressor,
    EnsembleRegressor,
    SIPRegressor,
    StableNNRegressor,
    StackingDistributionRegressor,
    UDNRegressor,
)
from skbayesnn.pooling.forest import ForestDistributionRegressor

OURS = {
    "StableNN": StableNNRegressor(random_state=0),
    "UDN": UDNRegressor(random_state=0),
    "5 UDN": EnsembleRegressor(UDNRegressor(), n_estimators=5, random_state=0),
    "SIP": SIPRegressor(random_state=0),
    "DeepWishart": DeepWishartRegressor(random_state=0),
    "forest": ForestDistributionRegressor(random_state=0),
    "stack": StackingDistributionRegressor(random_state=0),
}

SCORES = [
    "CRPS", "log density", "CRPS, new rows", "log density, new rows", "RMSE", "coverage", "width",
    "fit seconds", "predict seconds",
]  # fmt: skip
HIGH_IS_BEST = {"log density", "log density, new rows"}
RANKED = [*SCORES[:5]]


def ours(estimator):
    """An estimator of the package as a peer is."""

    def fit(X, y):
        model = clone(estimator).fit(X, y)
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


def is_new(X, y, X_test, y_test):
    """Whether a test row, target included, is no copy of a training row."""
    known = {row.tobytes() for row in np.column_stack([X, y])}
    return np.array([row.tobytes() not in known for row in np.column_stack([X_test, y_test])])


def scores(folder, name, model, split):
    """The scores of one fit, in the order of ``SCORES``."""
    X, y, X_test, y_test = rows_of(folder, name, split)
    warnings.simplefilter("ignore")
    begin = time.process_time()
    predict = MODELS[model](X, y)
    fitted = time.process_time()
    law = predict(X_test)
    predicted = time.process_time()
    new = is_new(X, y, X_test, y_test)
    density, crps = law.logpdf(y_test), law.crps(y_test)
    low, high = law.interval(0.9).T
    return [
        crps.mean(),
        density.mean(),
        crps[new].mean(),
        density[new].mean(),
        np.sqrt(np.mean((law.mean() - y_test) ** 2)),
        np.mean((low <= y_test) & (y_test <= high)),
        np.mean(high - low),
        fitted - begin,
        predicted - fitted,
    ]


def version():
    """The commit of the package that is imported, with a plus where files have changed since.

    If that is not the package beside this script, its release.
    """
    folder = Path(__file__).resolve().parent
    if Path(skbayesnn.__file__).resolve().parents[1] != folder.parent:
        return f"release {skbayesnn.__version__}"

    def git(*words):
        return subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "..") else "")


def read_scores(path):
    """Scores by table, model and split, from a file of an earlier run, if there is one.

    Also prints the models whose scores are of several versions.
    """
    if path is None or not path.exists():
        return {}
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    versions = {}
    for _, model, _, commit, *_ in rows:
        versions.setdefault(model, set()).add(commit)
    for model, commits in versions.items():
        if len(commits) > 1:
            print(f"{model}: scores of several versions, {' '.join(sorted(commits))}")
    return {(name, model, int(split)): [*map(float, rest)] for name, model, split, _, *rest in rows}


def run(folder, tasks, n_jobs, path):
    """The scores of all tasks, those of the file included; new ones are added to it."""
    results = read_scores(path)
    if path is not None and not results:
        path.write_text(
            ",".join(["set", "model", "split", "version", *(f'"{s}"' for s in SCORES)]) + "\n"
        )
    missing, commit = [task for task in tasks if task not in results], version()
    # One after the other as they end: what is written is safe.
    values = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(scores)(folder, *task) for task in missing
    )
    for task, value in zip(missing, values, strict=True):
        results[task] = value
        line = ",".join([*map(str, task), commit, *(f"{v:.6g}" for v in value)])
        print(line, flush=True)
        if path is not None:
            with path.open("a") as file:
                file.write(line + "\n")
    return {task: results[task] for task in tasks if task in results}


def means(results, names, models):
    """Means over the splits that all models with any have: (names, models, scores), and splits."""
    table, used = np.full((len(names), len(models), len(SCORES)), np.nan), []
    for i, name in enumerate(names):
        done = {m: {s for n, k, s in results if (n, k) == (name, m)} for m in models}
        done = {m: splits for m, splits in done.items() if splits}
        used.append(sorted(set.intersection(*done.values())) if done else [])
        if not used[-1]:
            continue
        for j, model in enumerate(models):
            if model in done:
                table[i, j] = np.mean([results[name, model, s] for s in used[-1]], axis=0)
    return table, used


def print_tables(results, names, models):
    """One table a score; ranks (of those that have a score) where there is a best."""
    table, used = means(results, names, models)
    for i, score in enumerate(SCORES):
        print(f"\n{score:22s}" + "".join(f"{m:>21s}" for m in models) + "  splits")
        for name, row, splits in zip(names, table[:, :, i], used, strict=True):
            cells = "".join(f"{v:21.4g}" if np.isfinite(v) else f"{'':>21s}" for v in row)
            print(f"{name:22s}{cells}  {' '.join(map(str, splits))}")
        if score in RANKED:
            signed = -table[:, :, i] if score in HIGH_IS_BEST else table[:, :, i]
            ranks = rankdata(signed, axis=1, nan_policy="omit")
            average = np.ma.masked_invalid(ranks).mean(axis=0).filled(np.nan)
            print(f"{'mean rank':22s}" + "".join(f"{v:21.2f}" for v in average))
            first = np.sum(ranks == 1, axis=0)
            print(f"{'first':22s}" + "".join(f"{v:21d}" for v in first))


def print_page(results, names, models):
    """The same as tables of the documentation: a row for each model, the best in bold."""
    table, used = means(results, names, models)
    names = [name for name, splits in zip(names, used, strict=True) if splits]
    table = table[[bool(splits) for splits in used]]
    for i, score in enumerate(SCORES):
        print(f"\n.. csv-table:: {score}\n   :header-rows: 1\n   :stub-columns: 1\n")
        print("   method, " + ", ".join(names))
        columns = [_cells(score, column) for column in table[:, :, i]]
        for model, row in zip(models, zip(*columns, strict=True), strict=True):
            print(f"   {model}, " + ", ".join(row))


def _cells(score, values):
    """Numbers of a column, all with the decimals that the smallest of them needs."""
    if score.endswith("seconds"):
        return [f"{v:.0f}" for v in values]
    decimals = 2 if score == "coverage" else 3
    if score not in HIGH_IS_BEST and score != "coverage":
        decimals = max(3, 2 - int(np.floor(np.log10(np.nanmin(values)))))
    cells = [f"{v:.{decimals}f}".replace("-", "−") for v in values]
    if score in RANKED:
        best = np.nanargmax(values) if score in HIGH_IS_BEST else np.nanargmin(values)
        cells[best] = f"**{cells[best]}**"
    return cells


def main():
    names = [*SETS, "taipei"]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("SKBAYESNN_DATA"))
    parser.add_argument("--sets", nargs="+", choices=names, default=names)
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--splits", nargs="+", type=int, default=range(3))
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="add every score to this file")
    parser.add_argument("--no-run", action="store_true", help="only print what the file has")
    parser.add_argument("--page", action="store_true", help="print tables for the documentation")
    options = parser.parse_args()
    if not options.data_dir or not Path(options.data_dir).is_dir():
        sys.exit("Give the folder of the tables by --data-dir or SKBAYESNN_DATA.")
    tasks = [(n, m, s) for n in options.sets for s in options.splits for m in options.models]
    if options.no_run and options.out is None:
        parser.error("--no-run prints the scores of a file: give it by --out.")
    if options.no_run:
        done = read_scores(options.out)
        results = {task: done[task] for task in tasks if task in done}
    else:
        results = run(Path(options.data_dir), tasks, options.n_jobs, options.out)
    (print_page if options.page else print_tables)(results, options.sets, options.models)


if __name__ == "__main__":
    main()

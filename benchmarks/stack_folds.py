"""What the default members of a stack predict out of fold and for test rows, kept in files.

Rules for the weights of a stack can then be compared without fits: see ``stack_rules.py``. A task
is NAME:SPLIT:FOLDS, a standard table (see ``uci.py``) or a problem of the panel (its name with
underscores, its seed; 250 rows):

    python benchmarks/stack_folds.py --data-dir DIR --out FOLDER yacht:0:5 friedman:1:5

A file of a task, NAME_SPLIT_FOLDS.npz, has, with K members, F folds, n rows and m test rows:
``X``, ``X_test``, ``names``, ``fold`` (n) of each row, ``densities`` (K, n) out of fold and
``crps`` (n, K, K), so that weights w have the CRPS w'Aw at a row; ``test_densities`` (K, F + 1, m)
under the fits to the folds and, last, to all rows, ``test_crps`` (m, K (F + 1), K (F + 1))
likewise, and ``seconds`` (K, F + 1) of processor time.
"""

import argparse
import os

# Before numpy is loaded: one core.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import time
import warnings
from pathlib import Path

import numpy as np
from panel import draw
from sklearn.base import clone
from sklearn.model_selection import KFold
from uci import SETS, load

from skbayesnn.pooling.default_members import default_members
from skbayesnn.pooling.laws import MemberLaw, TargetSpread, kind_of
from skbayesnn.pooling.members import with_seed
from skbayesnn.pooling.out_of_fold import FoldPrediction, error_law, mixtures_of

N_ROWS, N_TEST = 250, 300
"""Rows of a problem of the panel."""

LEVELS = np.array([0.001, 0.01, 0.05, 0.15, 0.3, 0.45, 0.55, 0.7, 0.85, 0.95, 0.99, 0.999])


def rows_of(folder, name, split):
    """Training and test rows."""
    if name in SETS:
        return load(folder, name, split)
    problem = draw(name.replace("_", " "), split, "medium")
    return problem.X[:N_ROWS], problem.y[:N_ROWS], problem.X_test[:N_TEST], problem.y_test[:N_TEST]


def crps_matrices(laws, y):
    """The matrix of every row: trapezia between quantiles of all laws and y.

    ``pooling.weights.crps_matrix`` has their mean, on a grid that is too fine for 55 laws.
    """
    points = np.concatenate([law.quantile(LEVELS) for law in laws] + [y[:, None]] * 2, axis=1)
    points.sort(axis=1)
    above = points >= y[:, None]
    # Of the two points at y the first is below the step.
    above[np.arange(len(y)), np.argmax(above, axis=1)] = False
    gaps = np.stack([law.cdf(points) for law in laws], axis=1) - above[:, None]
    steps = np.diff(points, axis=1)
    masses = np.zeros(points.shape)
    masses[:, :-1] += 0.5 * steps
    masses[:, 1:] += 0.5 * steps
    return np.matmul(gaps * masses[:, None], gaps.transpose(0, 2, 1)).astype(np.float32)


def fitted(member, X, y):
    """A fitted clone, and the seconds it took."""
    begin = time.process_time()
    member = clone(member).fit(X, y)
    return member, time.process_time() - begin


def run(folder, name, split, n_folds):
    """The contents of a file."""
    X, y, X_test, y_test = rows_of(folder, name, split)
    names, members = zip(*default_members(len(y)), strict=True)
    seeds = np.random.RandomState(split).randint(2**31 - 1, size=len(names))
    members = [with_seed(member, seed) for member, seed in zip(members, seeds, strict=True)]
    splits = list(KFold(n_folds, shuffle=True, random_state=split).split(X))
    tests = [test for _, test in splits]
    fold = np.empty(len(y), dtype=int)
    for f, test in enumerate(tests):
        fold[test] = f
    laws, held_out, seconds = [], [], np.zeros((len(names), n_folds + 1))
    for k, member in enumerate(members):
        fits, folds = [], []
        for f, (train, test) in enumerate(splits):
            fit, seconds[k, f] = fitted(member, X[train], y[train])
            spread = TargetSpread(y[train])
            if kind_of(member) == "point":
                values = fit.predict(X[test])
            else:
                values = MemberLaw(fit, spread).predict_distribution(X[test])
            folds.append(FoldPrediction(values, spread, fit))
        errors = error_law(folds, tests, y) if kind_of(member) == "point" else None
        fits = [MemberLaw(fold.member, fold.spread, errors) for fold in folds]
        fit, seconds[k, -1] = fitted(member, X, y)
        fits.append(MemberLaw(fit, TargetSpread(y), errors))
        laws.append([law.predict_distribution(X_test) for law in fits])
        held_out.append(mixtures_of(folds, tests, y)[0])
        print("   ", names[k], seconds[k].round(1), flush=True)
    densities = np.empty((len(names), len(y)))
    crps = np.empty((len(y), len(names), len(names)), dtype=np.float32)
    for f, test in enumerate(tests):
        of_fold = [mixtures[f] for mixtures in held_out]
        densities[:, test] = [mixture.logpdf(y[test]) for mixture in of_fold]
        crps[test] = crps_matrices(of_fold, y[test])
    return {
        "X": X,
        "X_test": X_test,
        "names": np.array(names),
        "fold": fold,
        "densities": densities,
        "crps": crps,
        "test_densities": np.array([[law.logpdf(y_test) for law in fits] for fits in laws]),
        "test_crps": crps_matrices([law for fits in laws for law in fits], y_test),
        "seconds": seconds,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("SKBAYESNN_DATA"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("tasks", nargs="+", metavar="NAME:SPLIT:FOLDS")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for task in options.tasks:
        name, split, n_folds = task.split(":")
        path = options.out / f"{task.replace(':', '_')}.npz"
        if not path.exists():
            begin = time.process_time()
            found = run(Path(options.data_dir), name, int(split), int(n_folds))
            np.savez_compressed(path, **found)
            print(task, f"{time.process_time() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()

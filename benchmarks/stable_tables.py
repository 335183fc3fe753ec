"""The stable network on the standard tables: scores, convergence and processor time.

    python benchmarks/stable_tables.py --data-dir DIR --sets boston yacht --splits 0 1 2

Every split is fitted with the default settings and ``random_state=0``; ``--options`` takes
further parameters as JSON. Columns: log density, CRPS, RMSE, 90 % coverage, the largest R-hat and
the least effective sample size of what is followed, processor seconds of fit and predictions.
The folder is that of ``uci.py``.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path

# Before numpy is loaded: one core, whatever the machine has.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from uci import SETS, load

from skbayesnn import StableNNRegressor

COLUMNS = ["log density", "CRPS", "RMSE", "coverage", "R-hat", "ESS", "seconds"]


def score(folder, name, split, options):
    """One line of the table, and the worst R-hat and least effective sample of each kind."""
    X, y, X_test, y_test = load(folder, name, split)
    start = time.process_time()
    model = StableNNRegressor(random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    distribution = model.predict_distribution(X_test)
    seconds = time.process_time() - start
    low, high = distribution.quantile([0.05, 0.95]).T
    r_hats = {"f": np.max(model.r_hat_), **model.parameter_r_hat_}
    tails, bulks = model.parameter_tail_effective_sample_size_, model.effective_sample_size_
    sizes = {"f": min(np.min(bulks), np.min(model.tail_effective_sample_size_))}
    for kind, bulk in model.parameter_effective_sample_size_.items():
        sizes[kind] = min(bulk, tails[kind])
    kinds = {kind: (r_hats[kind], sizes[kind]) for kind in r_hats}
    line = [
        distribution.logpdf(y_test).mean(),
        distribution.crps(y_test).mean(),
        np.sqrt(np.mean((distribution.mean() - y_test) ** 2)),
        np.mean((low <= y_test) & (y_test <= high)),
        max(worst for worst, _ in kinds.values()),
        min(least for _, least in kinds.values()),
        seconds,
    ]
    return line, kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("SKBAYESNN_DATA"))
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--splits", nargs="+", type=int, default=[0, 1, 2, 3, 4])
    parser.add_argument("--options", type=json.loads, default={})
    arguments = parser.parse_args()
    if arguments.data_dir is None:
        parser.error("where are the data? Give --data-dir or set SKBAYESNN_DATA.")
    print(f"{'':12}" + "".join(f"{name:>12}" for name in COLUMNS))
    for name in arguments.sets:
        lines = []
        for split in arguments.splits:
            line, kinds = score(Path(arguments.data_dir), name, split, arguments.options)
            lines.append(line)
            print(f"{name:9}{split:3}" + "".join(f"{value:12.3f}" for value in line), flush=True)
            print("    " + ", ".join(f"{k} {r:.3f} {e:.0f}" for k, (r, e) in kinds.items()))
        mean = np.mean(lines, axis=0)
        print(f"{name:8}mean" + "".join(f"{value:12.3f}" for value in mean), flush=True)


if __name__ == "__main__":
    main()

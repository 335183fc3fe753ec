"""What the factor on the spread of a stack's pool brings: one fit a task, scored without and with.

A task is NAME:SPLIT:FOLDS as in ``stack_folds.py``: a standard table, or a problem of the panel
(its name with underscores, its seed). Prints the factor, and log density, CRPS and coverage of 90 %
intervals without it and with it; then the mean difference of the log density and the mean ratio of
the CRPS.

    python benchmarks/stack_spread.py --data-dir DIR yacht:0:3 friedman:1:3
"""

import argparse
import os

# Before numpy is loaded: one core.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import warnings
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold
from stack_folds import rows_of

from skbayesnn import StackingDistributionRegressor


def scores(model, X, y):
    """Mean log density and CRPS, and the coverage of 90 % intervals."""
    law = model.predict_distribution(X)
    low, high = law.interval(0.9).T
    return law.logpdf(y).mean(), law.crps(y).mean(), np.mean((low <= y) & (y <= high))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("SKBAYESNN_DATA"))
    parser.add_argument("tasks", nargs="+", metavar="NAME:SPLIT:FOLDS")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    gains, ratios = [], []
    for task in options.tasks:
        name, split, n_folds = task.split(":")
        X, y, X_test, y_test = rows_of(Path(options.data_dir or "."), name, int(split))
        folds = KFold(int(n_folds), shuffle=True, random_state=int(split))
        model = StackingDistributionRegressor(cv=folds, random_state=int(split)).fit(X, y)
        factor, spread = model.spread_factor_, scores(model, X_test, y_test)
        model.spread_factor_ = 1.0
        plain = scores(model, X_test, y_test)
        gains.append(spread[0] - plain[0])
        ratios.append(spread[1] / plain[1])
        texts = ["{:.3f}, {:.4f}, {:.3f}".format(*each) for each in (plain, spread)]
        print(f"{task:24s} factor {factor:.3f}   {texts[0]}   {texts[1]}", flush=True)
    print(f"mean gain {np.mean(gains):+.4f} nats, mean ratio of CRPS {np.mean(ratios):.4f}")


if __name__ == "__main__":
    main()

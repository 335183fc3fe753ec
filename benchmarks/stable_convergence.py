"""Convergence of the stable network at its default settings: every quantity that a fit follows.

    python benchmarks/stable_convergence.py --data-dir DIR
    python benchmarks/stable_convergence.py --sets "three jumps" yacht --options '{"thin": 8}'

A line for each data set and quantity: the largest R-hat, the least effective sample size of bulk
and of tails, and for the function also their medians over the rows that it is followed at; then
whether R-hat is at most 1.01 and both sizes at least 400. Data sets are the first split of the
standard tables (the folder is that of ``uci.py``), three jumps on the line, and in the plane two
jumps that cross on a 7 x 7 grid, nested squares and a curved jump (those of ``stable.py``, seed 0).
``random_state=0``; seconds are processor time of one core.
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
from stable import LINE, NOISE, PLANE, square
from uci import load

from skbayesnn import StableNNRegressor

TABLES = ["yacht", "boston", "energy", "concrete", "power"]
FUNCTIONS = {"three jumps": LINE["three jumps"]}
FUNCTIONS |= {name: PLANE[name] for name in ("two jumps that cross", "nested squares")}
FUNCTIONS |= {"curved jump": PLANE["curved jump"]}


def data(name, folder):
    """Training rows and targets."""
    if name in TABLES:
        return load(folder, name, 0)[:2]
    X = np.linspace(-2, 2, 40)[:, None] if name in LINE else square(7)
    return X, FUNCTIONS[name](*X.T) + NOISE * np.random.default_rng(0).standard_normal(len(X))


def judged(model):
    """R-hat, bulk and tail size of each quantity: the worst, and of the function the median."""
    judges = [
        (np.max, model.r_hat_, model.parameter_r_hat_),
        (np.min, model.effective_sample_size_, model.parameter_effective_sample_size_),
        (np.min, model.tail_effective_sample_size_, model.parameter_tail_effective_sample_size_),
    ]
    found = {"f": [worst(values) for worst, values, _ in judges]}
    found["f, median row"] = [np.median(values) for _, values, _ in judges]
    for name in model.parameter_r_hat_:
        found[name] = [of_parameters[name] for _, _, of_parameters in judges]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("SKBAYESNN_DATA"))
    parser.add_argument("--sets", nargs="+", default=[*FUNCTIONS, *TABLES])
    parser.add_argument("--options", type=json.loads, default={})
    arguments = parser.parse_args()
    if arguments.data_dir is None and set(arguments.sets) & set(TABLES):
        parser.error("where are the data? Give --data-dir or set SKBAYESNN_DATA.")
    print(f"{'':22}{'':22}{'R-hat':>8}{'bulk':>8}{'tail':>8}")
    for name in arguments.sets:
        X, y = data(name, arguments.data_dir and Path(arguments.data_dir))
        model = StableNNRegressor(random_state=0, **arguments.options)
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        print(f"{name}, {len(y)} rows, {time.process_time() - start:.1f} s", flush=True)
        for quantity, (r_hat, bulk, tail) in judged(model).items():
            good = "good" if r_hat <= 1.01 and min(bulk, tail) >= 400 else "short"
            print(f"{'':22}{quantity:22}{r_hat:8.3f}{bulk:8.0f}{tail:8.0f}  {good}", flush=True)


if __name__ == "__main__":
    main()

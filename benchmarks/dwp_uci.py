"""Regression tables (Ober et al., 2023, Tables 1 and 2): log density, RMSE and CRPS.

Standard 90/10 splits (Gal and Ghahramani, 2016). "gp" is scikit-learn's Gaussian process
with a length scale an input, a noise term and two restarts; above 1000 rows its
hyperparameters come from 1000 rows and its predictions from 3000. "dwp0" is the
model of this package without hidden layers, an exact Gaussian process up to 1500 rows, and
"sgp" the same with inducing points; "dwp2" and "dwp5" have two and five hidden layers, "dgp2"
and "dgp5" are deep Gaussian processes on the same layers.
"paper" is what the paper reports for its five-layer AB-GW posterior, over 20 splits.

The folder is that of ``uci.py``.

    python benchmarks/dwp_uci.py --data-dir DIR --sets boston yacht --splits 0 1 2
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
from peers import gaussian_process
from uci import SETS, load

from skbayesnn.dwp import DeepWishartRegressor

PAPER = {
    "boston": -2.38, "concrete": -3.08, "energy": -0.70, "yacht": -0.18, "wine": -0.96,
    "power": -2.76, "kin8nm": 1.41,
}  # fmt: skip


def dwp(X, y, X_test, **options):
    """The deep Wishart process of this package."""
    model = DeepWishartRegressor(random_state=0, **options).fit(X, y)
    return model.predict_distribution(X_test), -np.mean(model.loss_curve_[-20:])


def gp(X, y, X_test):
    """scikit-learn's Gaussian process."""
    return gaussian_process(X, y)(X_test), np.nan


MODELS = {
    "gp": gp,
    "sgp": lambda *data: dwp(*data, n_layers=0, output="inducing"),
    "dwp0": lambda *data: dwp(*data, n_layers=0),
    "dgp2": lambda *data: dwp(*data, n_layers=2, posterior="dgp"),
    "dgp5": lambda *data: dwp(*data, n_layers=5, posterior="dgp"),
    "dwp1": lambda *data: dwp(*data, n_layers=1),
    "dwp2": lambda *data: dwp(*data, n_layers=2),
    "dwp5": lambda *data: dwp(*data, n_layers=5),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data-dir", default=os.environ.get("SKBAYESNN_DATA"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--splits", nargs="+", type=int, default=range(10))
    parser.add_argument(
        "--models", nargs="+", choices=list(MODELS), default=["gp", "dwp0", "dwp2", "dwp5"]
    )
    parser.add_argument("--json", help="add every result to this file")
    options = parser.parse_args()
    if not options.data_dir or not Path(options.data_dir).is_dir():
        sys.exit("Give the folder of the tables by --data-dir or SKBAYESNN_DATA.")
    folder, results = Path(options.data_dir), []
    if options.json and Path(options.json).exists():
        results = json.loads(Path(options.json).read_text())
    print("set       model  log density (s.e.)  RMSE (s.e.)          CRPS objective CPU s   paper")
    for name in options.sets:
        if not (folder / f"{name}.csv.gz").exists():
            print(f"{name:9s} is missing in {folder}")
            continue
        for model in options.models:
            rows = []
            for split in options.splits:
                X, y, X_test, y_test = load(folder, name, split)
                begin = time.process_time()
                distribution, elbo = MODELS[model](X, y, X_test)
                log_density = distribution.logpdf(y_test).mean()
                seconds = time.process_time() - begin
                rmse = np.sqrt(np.mean((distribution.mean() - y_test) ** 2))
                crps = distribution.crps(y_test).mean()
                rows.append((log_density, rmse, crps, elbo, seconds))
                results.append({"set": name, "model": model, "split": split, "row": rows[-1]})
                if options.json:
                    Path(options.json).write_text(json.dumps(results))
            if not rows:
                continue
            mean = np.mean(rows, axis=0)
            error = np.std(rows, axis=0) / np.sqrt(max(len(rows) - 1, 1))
            print(
                f"{name:9s} {model:5s} {mean[0]:8.3f} ({error[0]:.3f})   {mean[1]:8.4g} "
                f"({error[1]:.2g})   {mean[2]:8.4g} {mean[3]:7.3f} {mean[4]:6.1f}  "
                f"{PAPER.get(name, np.nan):6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

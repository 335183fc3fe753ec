"""Tables of section 5.3 (Rodríguez-Santana et al., 2022): log density, RMSE, CRPS.

Standard 90/10 splits (Gal and Ghahramani, 2016); the paper used 80/20 splits of its own, so
that its numbers (the better of its two SIP columns in its Tables 2 to 4) are not quite
comparable. The peers are scikit-learn's Gaussian process with one length scale an input, NGBoost
and a quantile forest, all in ``peers.py``; "sip x5" pools five fits. Seconds are of processor
time, fit alone.

The folder is that of ``uci.py``.

    python benchmarks/sip_uci.py --data-dir DIR --sets boston yacht --splits 0 1 2 3 4
"""

import argparse
import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import json
import sys
import time
from pathlib import Path

import numpy as np
from peers import gaussian_process, ngboost, quantile_forest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from uci import SETS, load

from skbayesnn import EnsembleRegressor, SIPRegressor

MODELS = {
    "gp": gaussian_process,
    "ngboost": ngboost,
    "forest": quantile_forest,
}


def sip(estimator):
    """A model of this package, as a peer is."""

    def fit(X, y):
        model = make_pipeline(StandardScaler(), estimator).fit(X, y)
        return lambda X_test: model.predict(X_test, return_distribution=True)

    return fit


def scores(mixture, y):
    """Log density, RMSE, CRPS and coverage of 90 % intervals."""
    ends = mixture.interval(0.9)
    return (
        mixture.logpdf(y).mean(),
        np.sqrt(np.mean((mixture.mean() - y) ** 2)),
        mixture.crps(y).mean(),
        np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data-dir", default=os.environ.get("SKBAYESNN_DATA"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--splits", nargs="+", type=int, default=range(5))
    parser.add_argument("--models", nargs="+", default=["sip", "gp", "ngboost", "forest"])
    parser.add_argument("--options", default="{}", help="of SIPRegressor, as JSON")
    parser.add_argument("--json", help="add every result to this file, one a line")
    options = parser.parse_args()
    if not options.data_dir or not Path(options.data_dir).is_dir():
        sys.exit("Give the folder of the tables by --data-dir or SKBAYESNN_DATA.")
    single = SIPRegressor(random_state=0, **json.loads(options.options))
    pooled = EnsembleRegressor(single, n_estimators=5, random_state=0)
    models = {"sip": sip(single), "sip x5": sip(pooled), **MODELS}
    folder = Path(options.data_dir)
    print("set       model    log density (s.e.)   RMSE (s.e.)        CRPS (s.e.)     cover  s")
    for name in options.sets:
        if not (folder / f"{name}.csv.gz").exists():
            print(f"{name:9s} is missing in {folder}")
            continue
        for kind in options.models:
            rows = []
            for split in options.splits:
                X, y, X_test, y_test = load(folder, name, split)
                begin = time.process_time()
                predict = models[kind](X, y)
                seconds = time.process_time() - begin
                rows.append([*(float(s) for s in scores(predict(X_test), y_test)), seconds])
                if options.json:
                    line = {"set": name, "model": kind, "split": split, "row": rows[-1]}
                    with Path(options.json).open("a") as file:
                        file.write(json.dumps(line) + "\n")
            mean = np.mean(rows, axis=0)
            error = np.std(rows, axis=0) / np.sqrt(max(len(rows) - 1, 1))
            print(
                f"{name:9s} {kind:8s} {mean[0]:8.3f} ({error[0]:.2g})   {mean[1]:8.4g} "
                f"({error[1]:.2g})   {mean[2]:8.4g} ({error[2]:.2g})   {mean[3]:.2f}  "
                f"{mean[4]:.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

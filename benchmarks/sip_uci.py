"""Tables of section 5.3 (Rodríguez-Santana et al., 2022): log density, RMSE, CRPS.

Standard 90/10 splits (Gal and Ghahramani, 2016); the paper used 80/20 splits of its own, so
that its numbers (the better of its two SIP columns; with a star where ours is at least as good)
are not quite comparable. "sip sampler" has the paper's other prior; "sip one" is one network,
whatever the rows; "sip x5" pools five of them. The peers are scikit-learn's Gaussian process with
one length scale an input, NGBoost and a quantile forest, all in ``peers.py``. Seconds are of
processor time, fit alone. Mean ranks, 1 the best, are over the tables of the run.

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
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from uci import SETS, load

from skbayesnn import EnsembleRegressor, SIPRegressor

PAPER = {
    "boston": (-2.51, 1.45),
    "power": (-2.76, 2.11),
    "concrete": (-2.93, 2.49),
    "energy": (-1.00, 0.53),
    "wine": (-0.97, 0.353),
    "yacht": (-0.21, 0.154),
    "kin8nm": (1.22, 0.042),
    "naval": (7.28, 6.8e-5),
}
"""Log density and CRPS of the better of the paper's SIP_BNN and SIP_NS."""

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


def beside_the_paper(name, mean):
    """The paper's two numbers, each with a star where ours is at least as good."""
    if name not in PAPER:
        return ""
    density, crps = PAPER[name]
    stars = "*" if mean[0] >= density else " ", "*" if mean[2] <= crps else " "
    return f"{density:7.2f}{stars[0]} {crps:8.3g}{stars[1]}"


def print_mean_ranks(means):
    """Mean rank of each model by log density, RMSE and CRPS; ``means`` is {table: {model: row}}."""
    tables = list(means.values())
    kinds = [kind for kind in tables[0] if all(kind in table for table in tables)]
    print(f"\nmean rank of {len(kinds)} models   log density   RMSE   CRPS")
    for kind in kinds:
        ranks = [
            np.mean([1 + sum(s * t[k][c] > s * t[kind][c] for k in kinds) for t in tables])
            for c, s in ((0, 1.0), (1, -1.0), (2, -1.0))
        ]
        print(f"{kind:23s} {ranks[0]:12.2f} {ranks[1]:6.2f} {ranks[2]:6.2f}")


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
    default = SIPRegressor(random_state=0, **json.loads(options.options))
    one = clone(default).set_params(n_networks=1)
    pooled = EnsembleRegressor(one, n_estimators=5, random_state=0)
    sampler = clone(default).set_params(prior="sampler")
    models = {
        "sip": sip(default), "sip one": sip(one), "sip sampler": sip(sampler),
        "sip x5": sip(pooled), **MODELS,
    }  # fmt: skip
    folder, means = Path(options.data_dir), {}
    print(
        "set       model       log density (s.e.)   RMSE (s.e.)        CRPS (s.e.)     cover  s"
        "        paper: log density, CRPS"
    )
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
                f"{name:9s} {kind:11s} {mean[0]:8.3f} ({error[0]:.2g})   {mean[1]:8.4g} "
                f"({error[1]:.2g})   {mean[2]:8.4g} ({error[2]:.2g})   {mean[3]:.2f}  "
                f"{mean[4]:7.1f} {beside_the_paper(name, mean)}",
                flush=True,
            )
            means.setdefault(name, {})[kind] = mean
    if len(options.models) > 1 and means:
        print_mean_ranks(means)


if __name__ == "__main__":
    main()

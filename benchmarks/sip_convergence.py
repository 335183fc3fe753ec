"""Test scores against seconds of training (section 5.2 of Rodríguez-Santana et al., 2022).

Rows come as a stream: batches in random order, again and again, through ``partial_fit``. Two
data sets: protein (45,730 rows, one split), and rows made here, 10 inputs and targets with two
branches, as many as ``--rows`` says (the paper's is a million flights). Seconds are of processor
time, scoring not counted. Scores of a fixed thousand test rows.

The folder is that of ``uci.py``.

    python benchmarks/sip_convergence.py --data made --rows 1000000 --seconds 600 --figure made.png
    python benchmarks/sip_convergence.py --data protein --data-dir DIR --figure protein.png
"""

import argparse
import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import sys
import time
from pathlib import Path

import numpy as np
from uci import load

from skbayesnn import DeepWishartRegressor, SIPRegressor, UDNRegressor

N_TEST = 1000
NOISE = 0.2


def made(n_rows, seed):
    """Ten normal inputs; the targets follow one of two branches where the first is positive."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 10))
    branch = rng.choice([-1.0, 1.0], n_rows) * np.maximum(X[:, 0], 0.0)
    f = np.sin(2 * X[:, 1]) + 0.5 * X[:, 2] * X[:, 3]
    return X, f + branch + NOISE * rng.standard_normal(n_rows)


def models(n_rows):
    return {
        "sip": SIPRegressor(total_samples=n_rows, random_state=0),
        "sip sampler": SIPRegressor(prior="sampler", total_samples=n_rows, random_state=0),
        "udn": UDNRegressor(random_state=0),
        "dwp": DeepWishartRegressor(random_state=0),
    }


def curve(model, X, y, X_test, y_test, seconds, rows_a_call):
    """Seconds, rows seen, log density, RMSE and CRPS at looks ever 1.4 times later."""
    rng, spent, seen, look, lines = np.random.default_rng(0), 0.0, 0, 1.0, []
    while spent < seconds:
        order = rng.permutation(len(X))
        for begin in range(0, len(X), rows_a_call):
            rows = order[begin : begin + rows_a_call]
            start = time.process_time()
            model.partial_fit(X[rows], y[rows])
            spent, seen = spent + time.process_time() - start, seen + len(rows)
            if spent >= min(look, seconds):
                d = model.predict_distribution(X_test)
                scores = (
                    d.logpdf(y_test).mean(),
                    np.sqrt(np.mean((d.mean() - y_test) ** 2)),
                    d.crps(y_test).mean(),
                )
                lines.append((spent, seen, *(float(s) for s in scores)))
                look = 1.4 * spent
            if spent >= seconds:
                break
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", choices=["protein", "made"], default="made")
    parser.add_argument("--data-dir", default=os.environ.get("SKBAYESNN_DATA"))
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the data made here")
    parser.add_argument("--split", type=int, default=0, help="of protein")
    parser.add_argument("--models", nargs="+", choices=models(1), default=["sip"])
    parser.add_argument("--seconds", type=float, default=120.0, help="of training, a model")
    parser.add_argument("--rows-a-call", type=int, default=1000)
    parser.add_argument("--figure", help="file to draw to")
    options = parser.parse_args()
    if options.data == "made":
        X, y = made(options.rows, 0)
        X_test, y_test = made(N_TEST, 1)
    elif not options.data_dir or not Path(options.data_dir).is_dir():
        sys.exit("Give the folder of the tables by --data-dir or SKBAYESNN_DATA.")
    else:
        X, y, X_test, y_test = load(Path(options.data_dir), "protein", options.split)
        X_test, y_test = X_test[:N_TEST], y_test[:N_TEST]
    curves = {}
    print("model        seconds      rows  log density    RMSE    CRPS")
    for kind in options.models:
        model = models(len(X))[kind]
        curves[kind] = curve(model, X, y, X_test, y_test, options.seconds, options.rows_a_call)
        for line in curves[kind]:
            print(
                f"{kind:11s} {line[0]:8.1f} {line[1]:9d} {line[2]:12.3f} {line[3]:7.4g} "
                f"{line[4]:7.4g}",
                flush=True,
            )
    if options.figure:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained", sharex=True)
        for kind, lines in curves.items():
            lines = np.array(lines)
            for ax, column in zip(axes, (2, 3, 4), strict=True):
                ax.semilogx(lines[:, 0], lines[:, column], "o-", label=kind)
        for ax, title in zip(axes, ("log density", "RMSE", "CRPS"), strict=True):
            ax.set(title=title, xlabel="seconds of training")
        axes[0].legend()
        figure.savefig(options.figure, dpi=120)


if __name__ == "__main__":
    main()

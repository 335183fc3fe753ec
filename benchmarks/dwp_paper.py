"""The paper's experiment (Ober et al., 2023, Tables 1 and 2): posteriors and depths, by a bound.

For each table, posterior and depth: the evidence lower bound a row (of the standardised target,
with ``output="inducing"``, whose objective is one; the mean over draws after training, without the
prior of the length scales), log density and RMSE of test rows in the target's own units, and
seconds of processor time a step, as a part of those of GW. "paper" is the bound that the paper
reports for five layers of AB-GW. "none" has no hidden layer: what depth adds. A plus stands
for a posterior with a scale matrix of its own (eqs 15 to 17 of the paper).

The folder is that of ``uci.py``.

    python benchmarks/dwp_paper.py --data-dir DIR --sets boston yacht --splits 0 1 --layers 2 5
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from uci import SETS, load

from skbayesnn.dwp import DeepWishartRegressor
from skbayesnn.dwp.objective import loss_and_gradient
from skbayesnn.dwp.sizes import draw_noise

PAPER = {
    "boston": -0.36, "concrete": -0.45, "energy": 1.41, "kin8nm": -0.11, "naval": 3.63,
    "power": 0.03, "protein": -1.00, "wine": -1.19, "yacht": 1.79,
}  # fmt: skip
POSTERIORS = ["none", "dgp", "gw", "a-gw", "ab-gw", "gw+", "a-gw+", "ab-gw+"]


def fit(X, y, posterior, n_layers, max_iter):
    """A model with pseudo-observations, and its seconds a step."""
    model = DeepWishartRegressor(
        n_layers=0 if posterior == "none" else n_layers,
        posterior="gw" if posterior == "none" else posterior.rstrip("+"),
        own_scale=posterior.endswith("+"),
        gaussian_process=False,
        output="inducing",
        max_iter=max_iter,
        random_state=0,
    )
    begin = time.process_time()
    model.fit(X, y)
    return model, (time.process_time() - begin) / model.n_iter_


def bound(model, X, y, n_draws=50, block=2000):
    """Evidence lower bound a row of the standardised target, mean over draws."""
    inner, rng, total = model._model, np.random.default_rng(0), 0.0
    rows, targets = inner.scales.inputs(X), inner.scales.targets(y)
    for begin in range(0, len(X), block):
        part = slice(begin, begin + block)
        n = len(rows[part])
        noise = draw_noise(inner.sizes, rng, n_draws if inner.sizes.n_layers else 1, n)
        total -= (
            n
            * loss_and_gradient(
                inner.sizes, inner.theta, rows[part], targets[part], np.ones(n), noise, len(X)
            )[0]
        )
    return total / len(X)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data-dir", default=os.environ.get("SKBAYESNN_DATA"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--splits", nargs="+", type=int, default=range(5))
    parser.add_argument("--layers", nargs="+", type=int, default=[2, 3, 4, 5])
    parser.add_argument("--posteriors", nargs="+", choices=POSTERIORS, default=POSTERIORS)
    parser.add_argument("--max-iter", type=int, help="epochs; by default the model's own")
    options = parser.parse_args()
    if not options.data_dir or not Path(options.data_dir).is_dir():
        sys.exit("Give the folder of the tables by --data-dir or SKBAYESNN_DATA.")
    print("set       layers posterior  bound (s.e.)   paper  log density      RMSE  time of GW's")
    for name in options.sets:
        for n_layers in options.layers:
            unit = None
            for posterior in options.posteriors:
                rows = []
                for split in options.splits:
                    X, y, X_test, y_test = load(Path(options.data_dir), name, split)
                    max_iter = options.max_iter or "auto"
                    model, seconds = fit(X, y, posterior, n_layers, max_iter)
                    law = model.predict_distribution(X_test)
                    rmse = np.sqrt(np.mean((law.mean() - y_test) ** 2))
                    log_density = law.logpdf(y_test).mean()
                    rows.append((bound(model, X, y), log_density, rmse, seconds))
                mean = np.mean(rows, axis=0)
                error = np.std(rows, axis=0)[0] / np.sqrt(max(len(rows) - 1, 1))
                unit = mean[3] if posterior == "gw" else unit
                ratio = mean[3] / unit if unit else np.nan
                print(
                    f"{name:9s} {n_layers:6d} {posterior:9s} {mean[0]:6.3f} ({error:.3f}) "
                    f"{PAPER[name]:7.2f} {mean[1]:12.3f} {mean[2]:9.4g} {ratio:9.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()

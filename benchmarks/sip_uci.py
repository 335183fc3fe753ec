"""Tables of section 5.3 (Rodríguez-Santana et al., 2022): log density, RMSE, CRPS.

Standard 90/10 splits (Gal and Ghahramani, 2016); the paper used 80/20 splits of its own, so
that its numbers (the better of its two SIP columns in its Tables 2 to 4) are not quite
comparable. Every model stands in a pipeline with ``StandardScaler``; the peers are
scikit-learn's Gaussian process with one length scale an input (its hyperparameters are fitted
to 1000 rows at random where there are more, and it is conditioned on 3000 at most), NGBoost and
a quantile forest (its log density is left out: a forest has quantiles, no density). Seconds are
of processor time, fit alone.

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
import warnings
from pathlib import Path

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from uci import SETS, load

from skbayesnn.metrics import mean_pinball_loss
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.sip import SIPRegressor

GP_FIT_ROWS, GP_ROWS = 1000, 3000
"""Rows for the hyperparameters of the Gaussian process, and rows it is conditioned on."""


def of_mixture(mixture, y):
    """Log density, RMSE, CRPS and coverage of 90 % intervals."""
    ends = mixture.interval(0.9)
    return (
        mixture.logpdf(y).mean(),
        np.sqrt(np.mean((mixture.mean() - y) ** 2)),
        mixture.crps(y).mean(),
        np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])),
    )


def sip(options):
    """The model of this package."""

    def fit(X, y):
        return make_pipeline(StandardScaler(), SIPRegressor(random_state=0, **options)).fit(X, y)

    def scores(model, X, y):
        return of_mixture(model.predict(X, return_distribution=True), y)

    return fit, scores


def fit_gp(X, y):
    """Exact, with one length scale an input; on large tables a subset of the rows."""
    order = np.random.default_rng(0).permutation(len(X))
    few, many = order[:GP_FIT_ROWS], order[:GP_ROWS]
    kernel = ConstantKernel() * RBF(np.ones(X.shape[1]), (1e-2, 1e4)) + WhiteKernel(0.1, (1e-8, 10))
    model = make_pipeline(StandardScaler(), GaussianProcessRegressor(kernel, normalize_y=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X[few], y[few])
        if len(many) > len(few):
            model[-1].set_params(kernel=model[-1].kernel_, optimizer=None)
            model.fit(X[many], y[many])
    return model


def gp_scores(model, X, y):
    mean, std = model.predict(X, return_std=True)
    return of_mixture(PredictiveMixture([1.0], mean[:, None], std[:, None] ** 2), y)


def fit_ngboost(X, y):
    """With its defaults."""
    from ngboost import NGBRegressor

    return NGBRegressor(verbose=False, random_state=0).fit(X, y)


def ngboost_scores(model, X, y):
    d = model.pred_dist(X)
    return of_mixture(PredictiveMixture([1.0], d.loc[:, None], d.scale[:, None] ** 2), y)


def fit_forest(X, y):
    """Quantile forest with its defaults."""
    from quantile_forest import RandomForestQuantileRegressor

    return RandomForestQuantileRegressor(random_state=0).fit(X, y)


def forest_scores(model, X, y):
    """CRPS as twice the mean pinball loss over 99 levels."""
    levels = np.arange(1, 100) / 100
    q = model.predict(X, quantiles=levels.tolist())
    ends = model.predict(X, quantiles=[0.05, 0.95])
    mean = model.predict(X, quantiles="mean")
    return (
        np.nan,
        np.sqrt(np.mean((mean - y) ** 2)),
        2 * mean_pinball_loss(y, q, levels),
        np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data-dir", default=os.environ.get("SKBAYESNN_DATA"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--splits", nargs="+", type=int, default=range(5))
    parser.add_argument("--models", nargs="+", default=["sip", "gp", "ngboost", "forest"])
    parser.add_argument("--options", default="", help="of SIPRegressor, as in a call")
    parser.add_argument("--json", help="add every result to this file, one a line")
    options = parser.parse_args()
    if not options.data_dir or not Path(options.data_dir).is_dir():
        sys.exit("Give the folder of the tables by --data-dir or SKBAYESNN_DATA.")
    models = {
        "sip": sip(eval(f"dict({options.options})")),
        "gp": (fit_gp, gp_scores),
        "ngboost": (fit_ngboost, ngboost_scores),
        "forest": (fit_forest, forest_scores),
    }
    folder = Path(options.data_dir)
    print("set       model    log density (s.e.)   RMSE (s.e.)        CRPS (s.e.)     cover  s")
    for name in options.sets:
        if not (folder / f"{name}.csv.gz").exists():
            print(f"{name:9s} is missing in {folder}")
            continue
        for kind in options.models:
            fit, scores = models[kind]
            rows = []
            for split in options.splits:
                X, y, X_test, y_test = load(folder, name, split)
                begin = time.process_time()
                model = fit(X, y)
                seconds = time.process_time() - begin
                rows.append([*(float(s) for s in scores(model, X_test, y_test)), seconds])
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

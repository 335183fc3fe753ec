"""Regression tables (Nazaret and Blei, 2022, appendix B.4): RMSE and log predictive density.

Standard 90/10 splits (Gal and Ghahramani, 2016). Every model stands in a pipeline with
``StandardScaler``. Point predictors get a Gaussian predictive distribution: the random
forest with the variance of its out-of-bag residuals, ``MLPRegressor`` (width and depth
chosen by three-fold cross-validation on up to 4000 rows, early stopping) with that of the
residuals of a held-out tenth.

The folder is that of ``uci.py``.

    python benchmarks/udn_uci.py --data-dir DIR --sets boston yacht --splits 0 1 2 3 4
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import norm
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from uci import SETS, load

from skbayesnn import EnsembleRegressor, UDNRegressor


def udn(X, y, X_test, y_test, **options):
    """The network of this package; its predictive distribution is its own."""
    model = make_pipeline(StandardScaler(), UDNRegressor(random_state=0, **options)).fit(X, y)
    distribution = model.predict(X_test, return_distribution=True)
    return distribution.mean(), distribution.logpdf(y_test), model[-1].expected_depth_


def ensemble(X, y, X_test, y_test):
    """Five networks from different seeds, pooled."""
    pool = EnsembleRegressor(UDNRegressor(), n_estimators=5, random_state=0)
    model = make_pipeline(StandardScaler(), pool).fit(X, y)
    distribution = model.predict(X_test, return_distribution=True)
    depth = np.mean([member.expected_depth_ for member in model[-1].estimators_])
    return distribution.mean(), distribution.logpdf(y_test), depth


def forest(X, y, X_test, y_test):
    """Random forest."""
    model = RandomForestRegressor(300, oob_score=True, random_state=0).fit(X, y)
    prediction, spread = model.predict(X_test), np.std(y - model.oob_prediction_)
    return prediction, norm.logpdf(y_test, prediction, spread), np.nan


def mlp(X, y, X_test, y_test):
    """scikit-learn's network, tuned."""
    network = MLPRegressor(early_stopping=True, n_iter_no_change=30, max_iter=500, random_state=0)
    model = make_pipeline(
        StandardScaler(), TransformedTargetRegressor(network, transformer=StandardScaler())
    )
    name = "transformedtargetregressor__regressor__"
    sizes = [(width,) * depth for width in (32, 100) for depth in (1, 2, 4)]
    grid = GridSearchCV(model, {name + "hidden_layer_sizes": sizes}, cv=3)
    rows, other = train_test_split(np.arange(len(X)), test_size=0.1, random_state=0)
    best = grid.fit(X[rows[:4000]], y[rows[:4000]]).best_estimator_
    spread = np.std(y[other] - best.fit(X[rows], y[rows]).predict(X[other]))
    prediction = best.fit(X, y).predict(X_test)
    return prediction, norm.logpdf(y_test, prediction, spread), np.nan


MODELS = {
    "udn": udn,
    "udn x5": ensemble,
    "finite1": lambda *data: udn(*data, depth_prior="point", max_depth=1),
    "finite2": lambda *data: udn(*data, depth_prior="point", max_depth=2),
    "finite4": lambda *data: udn(*data, depth_prior="point", max_depth=4),
    "forest": forest,
    "mlp": mlp,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data-dir", default=os.environ.get("SKBAYESNN_DATA"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--splits", nargs="+", type=int, default=range(5))
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--json", help="write every result to this file")
    options = parser.parse_args()
    if not options.data_dir or not Path(options.data_dir).is_dir():
        sys.exit("Give the folder of the tables by --data-dir or SKBAYESNN_DATA.")
    folder, results = Path(options.data_dir), []
    print("set       model    RMSE (s.e.)         log density (s.e.)   depth  seconds")
    for name in options.sets:
        if not (folder / f"{name}.csv.gz").exists():
            print(f"{name:9s} is missing in {folder}")
            continue
        splits = [s for s in options.splits if name != "protein" or s < 3]
        for model in options.models:
            rows = []
            for split in splits:
                X, y, X_test, y_test = load(folder, name, split)
                begin = time.perf_counter()
                prediction, log_density, depth = MODELS[model](X, y, X_test, y_test)
                seconds = time.perf_counter() - begin
                rmse = np.sqrt(np.mean((prediction - y_test) ** 2))
                rows.append((rmse, log_density.mean(), depth, seconds))
                results.append({"set": name, "model": model, "split": split, "row": rows[-1]})
            mean = np.mean(rows, axis=0)
            error = np.std(rows, axis=0) / np.sqrt(max(len(rows) - 1, 1))
            print(
                f"{name:9s} {model:8s} {mean[0]:8.4g} ({error[0]:.2g})   {mean[1]:8.3f} "
                f"({error[1]:.2g})   {mean[2]:5.1f}  {mean[3]:7.1f}",
                flush=True,
            )
            if options.json:
                Path(options.json).write_text(json.dumps(results))


if __name__ == "__main__":
    main()

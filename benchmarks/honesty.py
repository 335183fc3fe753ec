"""Honest where nobody looked: every estimator and its peers on problems whose truth is known.

Some thirty problems, each of a kind that users have, drawn anew from a seed, in three sizes (20 to
50 rows, 200 to 500, 1000 to 3000), with 1000 test rows. Models have their defaults. Prints one
table (log density below the truth's own and coverage of 90 % intervals; log loss above the
truth's own and calibration error), the promises of the package that are broken, and the fits that
failed.

    python benchmarks/honesty.py --seed 0 --sizes medium --folder DIR

Every score is added to a file of the folder as soon as it is known, one file a seed and size; what
is there is not run again, but for fits that failed. So a run can be stopped and started again, and
runs of different seeds or sizes, at different times, are put together by giving the same folder.
The page of the documentation, its picture and all scores are written from it by

    python benchmarks/honesty.py --seed 11 101 102 103 --folder DIR --no-run --page docs

Problems depend on the seed, their name and the size alone. Not for settings that are chosen with
a look at it: for those take other seeds than the ones that are reported.
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
from panel_page import write_page
from panel_problems import SIZES
from panel_report import TRUTH, broken_promises, failures, markdown
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


def file_of(folder, seed, size):
    """Where the rows of a seed and a size are."""
    return folder / f"seed-{seed}-{size}.csv"


def read_rows(folder, tasks):
    """Rows of earlier runs, by task; numbers as numbers."""
    rows = {}
    for path in dict.fromkeys(file_of(folder, seed, size) for seed, size, *_ in tasks):
        if not path.exists():
            continue
        for row in csv.DictReader(whole_lines(path)):
            for key in COLUMNS[len(KEYS) : -2]:
                row[key] = float(row[key]) if row[key] else None
            row["seed"] = int(row["seed"])
            row["curve"] = [float(value) for value in row["curve"].split()]
            rows[task_of(row)] = row
    return rows


def whole_lines(path):
    """Lines of a file; a run that is killed as it writes may leave a part of one, which is cut."""
    with path.open(newline="") as file:
        return [line for line in file if line.endswith("\n")]


def task_of(row):
    """What was run to get a row."""
    return tuple(row[key] for key in KEYS)


def add_row(folder, row):
    """Add a row to its file, with a header where that is new."""
    path = file_of(folder, row["seed"], row["size"])
    path.parent.mkdir(parents=True, exist_ok=True)
    before = whole_lines(path) if path.exists() else []
    with path.open("r+" if before else "w", newline="") as file:
        file.seek(sum(len(line.encode()) for line in before))
        file.truncate()
        writer = csv.DictWriter(file, COLUMNS)
        if not before:
            writer.writeheader()
        text = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()}
        text["curve"] = " ".join(f"{value:.4f}" for value in row.get("curve", ()))
        writer.writerow(text)


def run(tasks, n_jobs, folder):
    """Rows of all tasks, those of the folder included; new ones are added to it."""
    done = {} if folder is None else read_rows(folder, tasks)
    rows = {task: row for task, row in done.items() if not row["failed"]}
    missing = [task for task in tasks if task not in rows]
    # As they end, whatever their order: what is written is safe.
    results = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(evaluate)(*task) for task in missing
    )
    for row in results:
        rows[task_of(row)] = row
        if folder is not None:
            add_row(folder, row)
    return [rows[task] for task in tasks]


def main():
    standard = [TRUTH, *dict.fromkeys([*REGRESSORS, *CLASSIFIERS])]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", nargs="+", type=int, default=[0])
    parser.add_argument("--problems", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES)
    parser.add_argument("--models", nargs="+", choices=[*standard, *EXTRAS], default=standard)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="add every score to a file (csv) in there")
    parser.add_argument("--no-run", action="store_true", help="only show what the folder has")
    parser.add_argument("--page", type=Path, metavar="DOCS", help="write honesty.rst in there")
    options = parser.parse_args()
    tasks = list(tasks_of(options))
    if options.no_run:
        if options.folder is None:
            parser.error("--no-run shows the scores of a folder: give it by --folder.")
        done = read_rows(options.folder, tasks)
        rows = [done[task] for task in tasks if task in done]
    else:
        rows = run(tasks, options.n_jobs, options.folder)
    print(markdown(rows))
    for title, lines in (("Broken promises", broken_promises(rows)), ("Failed", failures(rows))):
        print(f"\n{title}: {len(lines)}\n" + "\n".join(f"- {line}" for line in lines))
    if options.page is not None:
        write_page(rows, options.page)


if __name__ == "__main__":
    main()

"""What the panel shows: one table, the promises that are broken.

Rows are dictionaries, one a fit, as ``honesty.py`` writes them.
"""

import numpy as np
from panel import CLASSIFICATION, PROBLEMS
from panel_models import CLASSIFIER_BARS, OUR_CLASSIFIERS, OURS
from panel_problems import SIZES

COVERAGE = (0.84, 0.96)
"""Of 90 % intervals, from 200 rows on."""

LEAST_COVERAGE = 0.75
BELOW_GP = {"StableNN": 0.3}
"""Log density that may be missing to the Gaussian process, smooth functions with one noise."""

BELOW_GP_ELSE = 0.1
ABOVE_BEST, ABOVE_BEST_EVER = 0.02, 0.1
SHARE_NEAR_BEST = 0.75
CALIBRATION_ERROR = 0.03

TRUTH = "truth"


def case_of(row):
    """What a fit is compared within."""
    return row["seed"], row["size"], row["problem"]


def is_ours(row):
    """Whether the promises are about this model."""
    if row["problem"] in CLASSIFICATION:
        return row["model"] in OUR_CLASSIFIERS
    return row["model"] in OURS or row["model"] == "5 UDN"


def broken_by_itself(row):
    """What a fit breaks, without a look at the others: a list of phrases."""
    if row["failed"]:
        return [f"failed: {row['failed']}"]
    if row["problem"] in CLASSIFICATION:
        error = row["calibration error"]
        bad = row["size"] == "large" and not error < CALIBRATION_ERROR
        return [f"calibration error {error:.3f}"] if bad else []
    phrases, covered = [], row["coverage 90"]
    low, high = COVERAGE if row["size"] != "small" else (LEAST_COVERAGE, 1.0)
    if not low <= covered <= high:
        phrases.append(f"90 % intervals cover {covered:.3f}")
    if not np.isfinite(row["log density"]):
        phrases.append(f"log density {row['log density']}")
    return phrases


def broken_beside_peers(row, peers):
    """What a fit breaks beside the peers' fits of the same problem, a dictionary of rows."""
    kind = PROBLEMS[row["problem"]]
    if row["problem"] in CLASSIFICATION:
        bars = [peers[m]["log loss"] for m in CLASSIFIER_BARS if m in peers]
        if bars and not row["log loss"] <= min(bars) + ABOVE_BEST_EVER:
            return [f"log loss {row['log loss'] - min(bars):+.3f} beside the best peer"]
    elif kind.gaussian and "GP" in peers:
        allowed = BELOW_GP.get(row["model"], BELOW_GP_ELSE) if kind.smooth else BELOW_GP_ELSE
        gap = peers["GP"]["log density"] - row["log density"]
        if not gap <= allowed:
            return [f"log density {-gap:+.3f} beside the Gaussian process"]
    return []


def by_case(rows):
    """Rows that did not fail, by case and model."""
    cases = {}
    for row in rows:
        if not row["failed"]:
            cases.setdefault(case_of(row), {})[row["model"]] = row
    return cases


def broken(row, cases):
    """All that a fit breaks; ``cases`` are those of ``by_case``."""
    if not is_ours(row):
        return []
    beside = [] if row["failed"] else broken_beside_peers(row, cases[case_of(row)])
    return broken_by_itself(row) + beside


def broken_promises(rows):
    """One line for each promise that a fit of ours breaks."""
    cases, lines = by_case(rows), []
    for row in rows:
        phrases = broken(row, cases)
        place = f"{row['problem']}, {row['size']} ({row['n_rows']:.0f} rows), seed {row['seed']}"
        lines += [f"{row['model']}: {place}: {phrase}" for phrase in phrases]
    return lines + _shares_near_best(cases)


def _shares_near_best(cases):
    lines = []
    for model in OUR_CLASSIFIERS:
        excess = [
            models[model]["log loss"] - min(models[m]["log loss"] for m in CLASSIFIER_BARS)
            for (*_, name), models in cases.items()
            if name in CLASSIFICATION and {model, *CLASSIFIER_BARS} <= models.keys()
        ]
        near = np.mean(np.array(excess) <= ABOVE_BEST) if excess else 1.0
        if near < SHARE_NEAR_BEST:
            lines.append(
                f"{model} (classifier): log loss within {ABOVE_BEST} of the best peer on "
                f"{near:.0%} of {len(excess)} problems"
            )
    return lines


def cell(rows, cases):
    """Means over seeds: the gap, and coverage of 90 % intervals or the calibration error.

    Bold where one of the fits breaks a promise.
    """
    if any(row["failed"] for row in rows):
        return "failed"
    second = "calibration error" if rows[0]["problem"] in CLASSIFICATION else "coverage 90"
    gap, value = (np.mean([row[key] for row in rows]) for key in ("gap", second))
    text = f"{gap:.2f} · {value:.{3 if second != 'coverage 90' else 2}f}"
    return f"**{text}**" if any(broken(row, cases) for row in rows) else text


def markdown(rows):
    """The table: a row a problem and size, a column a model; regression, then classification."""
    lines, cases = [], by_case(rows)
    for title, of_classes in (
        ("log density below the truth · coverage of 90 % intervals", False),
        ("log loss above the truth · calibration error", True),
    ):
        chosen = [row for row in rows if (row["problem"] in CLASSIFICATION) == of_classes]
        models = list(dict.fromkeys(row["model"] for row in chosen))
        if not models:
            continue
        lines += ["", f"| {title} | size | " + " | ".join(models) + " |"]
        lines.append("| --- " * (len(models) + 2) + "|")
        groups = {}
        for row in chosen:
            key = row["problem"], row["size"]
            groups.setdefault(key, {}).setdefault(row["model"], []).append(row)
        for name, size in sorted(
            groups, key=lambda key: (list(PROBLEMS).index(key[0]), SIZES.index(key[1]))
        ):
            fits = [groups[name, size].get(model) for model in models]
            cells = ["" if f is None else cell(f, cases) for f in fits]
            lines.append(f"| {name} | {size} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def failures(rows):
    """One line for each fit that failed, whoever's."""
    return [
        f"{r['model']}: {', '.join(map(str, case_of(r)))}: {r['failed']}"
        for r in rows
        if r["failed"]
    ]

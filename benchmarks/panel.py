"""The panel: a problem drawn by its name, a seed and a size, whatever else is drawn."""

from typing import NamedTuple
from zlib import crc32

import numpy as np
from panel_classes import CLASSIFICATION
from panel_problems import REGRESSION, SIZES

PROBLEMS = {**REGRESSION, **CLASSIFICATION}
ROWS = {"small": (20, 50), "medium": (200, 500), "large": (1000, 3000)}
"""Range of the number of training rows, drawn evenly."""

LEAST_OF_A_CLASS = 2


class Problem(NamedTuple):
    """Training and test rows, and the law of the test rows' targets."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    truth: object


def draw(name, seed, size):
    """One problem.

    Classifiers cannot say anything of a class that they have not seen: where a class has fewer
    than two rows, the first further rows of that class are added.
    """
    # The name, not its place: problems may be chosen, added and taken out.
    rng = np.random.default_rng([seed, crc32(name.encode()), SIZES.index(size)])
    low, high = ROWS[size]
    n_rows = int(rng.integers(low, high + 1))
    of_classes = name in CLASSIFICATION
    # A pool of rows to look for classes in.
    n_drawn = n_rows + (20_000 if of_classes else 0)
    setting = PROBLEMS[name].setting(rng, n_drawn)
    X, truth = setting.X, setting.law(setting.X_test)
    y, y_test = setting.law(X).sample(rng), truth.sample(rng)
    if of_classes:
        rows = _with_all_classes(y, n_rows, truth.probabilities.shape[1])
    else:
        rows = np.arange(len(X)) if setting.rows is None else setting.rows
    return Problem(X[rows], y[rows], setting.X_test, y_test, truth)


def _with_all_classes(y, n_rows, n_classes):
    further = []
    for label in range(n_classes):
        n_missing = max(LEAST_OF_A_CLASS - np.sum(y[:n_rows] == label), 0)
        found = n_rows + np.flatnonzero(y[n_rows:] == label)[:n_missing]
        if len(found) < n_missing:
            raise ValueError(f"class {label} is not among {len(y)} rows: it is too rare to fit.")
        further.append(found)
    return np.concatenate([np.arange(n_rows), *further])

"""The regression tables and their standard 90/10 splits (Gal and Ghahramani, 2016).

The folder holds NAME.csv.gz (target in column ``y``, last) and NAME_splits.npz (arrays
``test_0``, … of row numbers). Scripts beside this one take it as ``--data-dir``, or from
the environment variable ``SKBAYESNN_DATA``.
"""

import gzip

import numpy as np

SETS = ["boston", "concrete", "energy", "yacht", "wine", "kin8nm", "power", "naval", "protein"]


def load(folder, name, split):
    """Training and test rows of a split: X, y, X_test, y_test."""
    with gzip.open(folder / f"{name}.csv.gz", "rt") as file:
        data = np.loadtxt(file, delimiter=",", skiprows=1)
    test = np.zeros(len(data), dtype=bool)
    test[np.load(folder / f"{name}_splits.npz")[f"test_{split}"]] = True
    X, y = data[:, :-1], data[:, -1]
    return X[~test], y[~test], X[test], y[test]

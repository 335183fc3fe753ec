"""Twenty-four kinds of tables, each small and of one structure: our defaults beside three peers.

Parity, interactions, categories, ratios, steps, periods, many inputs of which few matter, and more.
For regressors the table has R² of the mean against the function without noise, and after a slash
the log density below that of the truth, in nats per row; peers (random forest, boosted trees, the
lasso) have R² alone. With ``--classes`` the targets are cut at their median, and the table has log
losses, beside SVC, forest, boosted trees and logistic regression. Test tables have 1000 rows.

    python benchmarks/kinds.py --rows 200 --seed 0
    python benchmarks/kinds.py --rows 150 --seed 0 1 --kinds together --models DeepWishart forest
"""

import argparse
import os

# Before numpy is loaded: one core for all.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LassoCV, LogisticRegressionCV
from sklearn.metrics import log_loss, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skbayesnn import (
    DeepWishartClassifier,
    DeepWishartRegressor,
    SIPRegressor,
    StableNNRegressor,
    UDNClassifier,
    UDNRegressor,
)

N_TEST = 1000
# Of categories, which are the same in every table.
EFFECTS = np.random.default_rng(1).normal(size=30)


def normal(p):
    return lambda rng, n: rng.normal(size=(n, p))


def uniform(p, low=0.0, high=1.0):
    return lambda rng, n: rng.uniform(low, high, (n, p))


def binary(p):
    return lambda rng, n: rng.integers(0, 2, (n, p)).astype(float)


def categories(k, codes):
    """The code of one of k categories, then two normal inputs."""
    return lambda rng, n: np.c_[codes(rng.integers(0, k, n)), rng.normal(size=(n, 2))]


def together(X):
    """One input matters alone, another only together with it."""
    return np.cos(2 * X[:, 0]) + np.sin(X[:, 0]) * np.cos(2 * X[:, 1])


KINDS = {  # inputs, function, standard deviation of the noise
    "parity of three": (binary(6), lambda X: 2.0 * (X[:, :3].sum(axis=1) % 2) - 1.0, 0.2),
    "one-hot of twelve": (
        categories(12, lambda k: np.eye(12)[k]), lambda X: X[:, :12] @ EFFECTS[:12] + X[:, 12], 0.3
    ),
    "25 groups as a number": (
        categories(25, lambda k: k), lambda X: 2 * EFFECTS[X[:, 0].astype(int)] + X[:, 1], 0.3
    ),
    "ratio": (
        lambda rng, n: np.exp(rng.normal(size=(n, 4))),
        lambda X: np.log(X[:, 0] / X[:, 1]) + 0.5 * X[:, 2] / (1 + X[:, 3]), 0.2,
    ),
    "product of positives": (uniform(5, 0.5, 3), lambda X: np.sqrt(X[:, :4].prod(axis=1)), 0.2),
    "product of three": (normal(10), lambda X: X[:, :3].prod(axis=1), 0.2),
    "eight of 200, linear": (normal(200), lambda X: X[:, :8].sum(axis=1), 0.5),
    "step times slope": (
        uniform(6, -1, 1),
        lambda X: 2 * np.where(X[:, 0] > 0, X[:, 1], -X[:, 1]) + (X[:, 2] > 0.3), 0.2,
    ),
    "heavy-tailed inputs": (
        lambda rng, n: rng.standard_t(1.5, (n, 4)),
        lambda X: np.tanh(X[:, 0]) + np.sign(X[:, 1]) * np.log1p(np.abs(X[:, 1])), 0.2,
    ),
    "twenty periods": (
        lambda rng, n: np.c_[rng.uniform(0, 20, n), rng.normal(size=n)],
        lambda X: np.sin(2 * np.pi * X[:, 0]) + 0.1 * X[:, 0], 0.2,
    ),
    "twenty periods, four inputs": (
        lambda rng, n: np.c_[rng.uniform(0, 20, n), rng.normal(size=(n, 3))],
        lambda X: np.sin(2 * np.pi * X[:, 0]) + 0.1 * X[:, 0], 0.2,
    ),
    "nearly equal columns": (
        lambda rng, n: rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, 8)),
        lambda X: 10 * (X[:, 0] - X[:, 1]) + X[:, 2], 0.3,
    ),
    "checkerboard": (
        uniform(2), lambda X: 2.0 * (np.floor(4 * X).sum(axis=1) % 2) - 1.0, 0.2
    ),
    "largest of four": (normal(8), lambda X: 2 * X[:, :4].max(axis=1), 0.2),
    "absolute differences": (
        uniform(10), lambda X: 5 * np.abs(X[:, 0] - X[:, 1]) + 3 * np.abs(X[:, 2] - X[:, 3]), 0.2
    ),
    "sine of the radius": (
        normal(6), lambda X: 2 * np.sin(2 * np.sqrt(np.square(X).sum(axis=1))), 0.2
    ),
    "two of forty": (normal(40), lambda X: 2 * np.sin(1.5 * X[:, 0]) + X[:, 1] ** 2, 0.3),
    "steps of two inputs": (
        uniform(12), lambda X: np.floor(5 * X[:, 0]) + np.floor(3 * X[:, 1]), 0.2
    ),
    "exponential": (normal(5), lambda X: np.exp(X[:, 0] + 0.5 * X[:, 1]), 0.1),
    "twenty binary": (
        binary(20), lambda X: 3 * X[:, 0] * X[:, 1] + 2 * X[:, 2] - X[:, 3], 0.3
    ),
    "sixty made of three": (
        lambda rng, n: rng.normal(size=(n, 3)) @ EFFECTS[:18].reshape(3, 6).repeat(10, axis=1)
        + 0.05 * rng.normal(size=(n, 60)),
        lambda X: np.sin(X[:, 0]) + 0.2 * X[:, 10] * X[:, 20], 0.2,
    ),
    "together": (normal(60), together, 0.2),
    "together, 100 inputs": (normal(100), together, 0.2),
    "product, 40 inputs": (normal(40), lambda X: X[:, 0] * X[:, 1], 0.2),
}  # fmt: skip

OURS = {
    "StableNN": StableNNRegressor(random_state=0),
    "UDN": UDNRegressor(random_state=0),
    "SIP": SIPRegressor(random_state=0),
    "DeepWishart": DeepWishartRegressor(random_state=0),
}
PEERS = {
    "forest": RandomForestRegressor(300, random_state=0),
    "boosted trees": HistGradientBoostingRegressor(random_state=0),
    "lasso": make_pipeline(StandardScaler(), LassoCV()),
}
CLASSIFIERS = {
    "UDN": UDNClassifier(random_state=0),
    "DeepWishart": DeepWishartClassifier(random_state=0),
    "SVC": make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)),
    "forest": RandomForestClassifier(300, random_state=0),
    "boosted trees": HistGradientBoostingClassifier(random_state=0),
    "logistic": make_pipeline(StandardScaler(), LogisticRegressionCV()),
}


def draw(kind, n, seed):
    """Inputs, function and targets of n rows and of the test rows."""
    inputs, function, std = KINDS[kind]
    rng = np.random.default_rng(seed)
    X = inputs(rng, n + N_TEST)
    f = function(X)
    return X, f, f + std * rng.normal(size=len(f)), std


def cell(model, X, f, y, std, n):
    """Scores of a regressor that is fitted to the first n rows."""
    model = clone(model).fit(X[:n], y[:n])
    if not hasattr(model, "predict_distribution"):
        return f"{r2_score(f[n:], model.predict(X[n:])):.2f}"
    law = model.predict_distribution(X[n:])
    truth = -0.5 - 0.5 * np.log(2 * np.pi * std**2)
    return f"{r2_score(f[n:], law.mean()):.2f} / {truth - law.logpdf(y[n:]).mean():.2f}"


def class_cell(model, X, y, n):
    """Log loss of a classifier that is fitted to the first n rows."""
    codes = (y > np.median(y)).astype(int)
    p = clone(model).fit(X[:n], codes[:n]).predict_proba(X[n:])
    return f"{log_loss(codes[n:], np.clip(p, 1e-6, 1.0)):.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--models", nargs="+", help="by default all")
    parser.add_argument("--classes", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    models = CLASSIFIERS if options.classes else {**OURS, **PEERS}
    models = {name: models[name] for name in options.models or models}
    print("| kind | inputs | seed |", " | ".join(models), "|")
    print("| --- " * (len(models) + 3) + "|")
    for kind in options.kinds:
        for seed in options.seed:
            X, f, y, std = draw(kind, options.rows, seed)
            if options.classes:
                cells = [class_cell(m, X, y, options.rows) for m in models.values()]
            else:
                cells = [cell(m, X, f, y, std, options.rows) for m in models.values()]
            print(f"| {kind} | {X.shape[1]} | {seed} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()

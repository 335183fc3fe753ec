"""Many inputs, few rows: 300 rows of 100 normal inputs, of which two matter; noise of 0.3.

By default y = sin(2 x₁) + x₂ + 0.3 ε; 1000 test rows. Their log density at the truth is −0.21.

    python benchmarks/dwp_many_inputs.py --seeds 0 1
    python benchmarks/dwp_many_inputs.py --rows 60 --inputs 1000 --function product
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time

import numpy as np
from peers import PEERS

from skbayesnn import DeepWishartRegressor

MODELS = {
    "DeepWishart": {},
    "no hidden layer": {"n_layers": 0},
    "inducing": {"output": "inducing"},
}


FUNCTIONS = {
    "two": lambda X: np.sin(2 * X[:, 0]) + X[:, 1],
    "one": lambda X: X[:, 0],
    "product": lambda X: X[:, 0] * X[:, 1],
    "all": lambda X: X.sum(axis=1) / np.sqrt(X.shape[1]),
    "none": lambda X: np.zeros(len(X)),
}


def table(seed, n_rows, n_inputs, function, n_test=1000):
    """Training and test rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows + n_test, n_inputs))
    y = FUNCTIONS[function](X) + 0.3 * rng.normal(size=len(X))
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", nargs="+", type=int, default=range(3))
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--inputs", type=int, default=100)
    parser.add_argument("--function", choices=FUNCTIONS, default="two")
    parser.add_argument("--models", nargs="+", default=["DeepWishart", "quantile forest"])
    options = parser.parse_args()
    print("seed  model             log density    RMSE  coverage  CPU s")
    for seed in options.seeds:
        X, y, X_test, y_test = table(seed, options.rows, options.inputs, options.function)
        for name in options.models:
            begin = time.process_time()
            if name in MODELS:
                model = DeepWishartRegressor(random_state=0, **MODELS[name]).fit(X, y)
                law = model.predict_distribution(X_test)
            else:
                law = PEERS[name](X, y)(X_test)
            seconds = time.process_time() - begin
            low, high = law.quantile(0.05)[:, 0], law.quantile(0.95)[:, 0]
            print(
                f"{seed:4d}  {name:16s} {law.logpdf(y_test).mean():12.3f}"
                f" {np.sqrt(np.mean((law.mean() - y_test) ** 2)):7.3f}"
                f" {np.mean((low < y_test) & (y_test < high)):9.3f} {seconds:6.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

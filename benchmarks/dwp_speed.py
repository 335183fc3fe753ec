"""Milliseconds of CPU a gradient step of the deep Wishart process, on one core.

The bound and its whole gradient, random numbers included, at depth 5 with 100 inducing
points, 13 inputs and ten draws. The authors' library takes some 500 ms at 455 rows and
800 ms at 1000 (PyTorch, one core, float64).

    python benchmarks/dwp_speed.py
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time

import numpy as np

from skbayesnn.dwp.objective import loss_and_gradient
from skbayesnn.dwp.sizes import LayerSizes, draw_noise
from skbayesnn.dwp.start import start


def milliseconds(n_layers, n_rows, n_draws, repeats, n_inducing=100, n_inputs=13):
    """Least CPU time of a step."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_inputs))
    Y = np.sin(2 * X[:, :1]) + 0.1 * rng.normal(size=(n_rows, 1))
    a = LayerSizes(n_inputs, 1, n_inducing, n_inputs, n_layers, "ab-gw")
    theta = np.zeros(a.size())
    ones = np.ones(n_rows)
    start(a, a.views(theta), X, Y, ones, rng)
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        loss_and_gradient(a, theta, X, Y, ones, draw_noise(a, rng, n_draws, n_rows), n_rows)
        times.append(time.process_time() - begin)
    return 1e3 * min(times), 1e3 * np.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    print("layers  rows  draws   least ms   median ms")
    for case in ((5, 455, 10), (5, 1000, 10), (5, 455, 1), (2, 455, 1), (2, 1000, 1)):
        least, median = milliseconds(*case, options.repeats)
        print("{:6d} {:5d} {:6d} {:10.1f} {:11.1f}".format(*case, least, median), flush=True)


if __name__ == "__main__":
    main()

"""Paths of one input, rough and smooth: α that left-out rows choose beside the paper's 1.1.

Half of the points of a path on [0, 10] are training rows, with noise, the other half test rows.
"error" is the mean absolute error of the median against the path without noise; everything is in
standard deviations of the training targets. Further parameters are those of ``stable.py``.

    python benchmarks/stable_paths.py --rows 300 --splits 3 4 5 6
"""

import argparse
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from stable import GP, head, network, report, scores, timed

MODELS = {
    "stable": network(),
    "stable, α = 1.1": network(alpha=1.1),
    "GP, squared exponential": GP,
}


def random_walk(rng, times):
    return np.cumsum(rng.normal(size=len(times)) * np.sqrt(np.diff(times, prepend=0)))


def mean_reverting(rng, times):
    """An Ornstein-Uhlenbeck process of variance one that forgets half in a third of a unit."""
    path = np.zeros(len(times))
    for i in range(1, len(times)):
        kept = np.exp(-2.0 * (times[i] - times[i - 1]))
        path[i] = kept * path[i - 1] + np.sqrt(1.0 - kept**2) * rng.normal()
    return path


def two_sines(rng, times):
    return np.sin(1.5 * times) + 0.5 * np.cos(4.0 * times)


def steps(rng, times):
    """Five steps on average."""
    n = len(times)
    return np.cumsum(np.where(rng.random(n) < 5.0 / n, 3.0 * rng.normal(size=n), 0.0))


def walk_with_a_jump(rng, times):
    return 0.5 * random_walk(rng, times) + np.where(times > 5.0, 4.0, 0.0)


PATHS = {random_walk: 0.05, mean_reverting: 0.2, two_sines: 0.3, steps: 0.3, walk_with_a_jump: 0.1}
"""Deviation of the noise of each."""


def draw(path, noise, seed, n_rows):
    """Training rows, test rows, and the path at the test rows."""
    rng, n = np.random.default_rng(1000 + seed), 2 * n_rows
    times = np.sort(rng.uniform(0.0, 10.0, n))
    f = path(rng, times)
    y = f + noise * rng.normal(size=n)
    train = rng.permutation(n) < n_rows
    mean, std = y[train].mean(), y[train].std()
    X, y, f = ((times - 5.0) / 2.9)[:, None], (y - mean) / std, (f - mean) / std
    return X[train], y[train], X[~train], y[~train], f[~train]


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--splits", nargs="+", type=int, default=range(10), help="seeds of paths")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    options = parser.parse_args()
    head()
    for path, noise in PATHS.items():
        print(path.__name__.replace("_", " "))
        for label in options.models:
            rows = []
            for seed in options.splits:
                X, y, X_test, y_test, truth = draw(path, noise, seed, options.rows)
                distribution, seconds = timed(MODELS[label], X, y, X_test)
                rows.append((*scores(distribution, y_test, truth), seconds))
            report("  " + label, rows)


if __name__ == "__main__":
    main()

"""Functions without noise that are often used to compare emulators: ours beside a Gaussian process.

Inputs are uniform on the usual ranges, scaled to the unit cube; test tables have 1000 rows. Scores
are those of the target divided by its standard deviation: log density, CRPS, root mean squared
error and coverage of 90 % intervals, then seconds of fit and prediction. The peer is scikit-learn's
Gaussian process, with a length scale for each input, restarts, and noise variances down to 1e-10:
with less, some of its predicted variances are negative, and become zero.

    python benchmarks/emulators.py --rows 1000 --functions borehole piston
"""

import argparse
import os

# Before numpy is loaded: one core for all.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import time
import warnings

import numpy as np
import peers
from panel_models import OURS
from scipy.linalg import LinAlgError

N_TEST = 1000


def branin(a, b):
    curve = b - 5.1 / (4 * np.pi**2) * a**2 + 5 / np.pi * a - 6
    return curve**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10


def ishigami(a, b, c):
    return np.sin(a) + 7 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a)


def friedman(*x):
    """Five of ten inputs matter."""
    return 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]


def kink(a, b):
    return np.abs(a - 0.5) + b


def borehole(r_w, r, t_u, h_u, t_l, h_l, length, k_w):
    """Flow of water through a borehole."""
    ratio = np.log(r / r_w)
    resistance = 1 + 2 * length * t_u / (ratio * r_w**2 * k_w) + t_u / t_l
    return 2 * np.pi * t_u * (h_u - h_l) / (ratio * resistance)


def circuit(b1, b2, f, c1, c2, beta):
    """Midpoint voltage of a push-pull circuit without transformer."""
    v, series = 12 * b2 / (b1 + b2), beta * (c2 + 9)
    return ((v + 0.74) * series + 11.35 * f + 0.74 * f * series / c1) / (series + f)


def piston(mass, s, v0, k, p0, t_a, t0):
    """Seconds of a cycle of a piston."""
    a = p0 * s + 19.62 * mass - k * v0 / s
    v = s / (2 * k) * (np.sqrt(a**2 + 4 * k * p0 * v0 / t0 * t_a) - a)
    return 2 * np.pi * np.sqrt(mass / (k + s**2 * p0 * v0 / t0 * t_a / v**2))


def wing(s_w, w_fw, a, sweep, q, taper, t_c, n_z, w_dg, w_p):
    """Weight of the wing of a light aircraft."""
    angle = np.cos(np.radians(sweep))
    shape = 0.036 * s_w**0.758 * w_fw**0.0035 * (a / angle**2) ** 0.6 * q**0.006 * taper**0.04
    return shape * (100 * t_c / angle) ** -0.3 * (n_z * w_dg) ** 0.49 + s_w * w_p


FUNCTIONS = {  # function, and the ranges of its inputs
    "branin": (branin, [(-5, 10), (0, 15)]),
    "ishigami": (ishigami, [(-np.pi, np.pi)] * 3),
    "friedman": (friedman, [(0, 1)] * 10),
    "kink": (kink, [(0, 1)] * 2),
    "borehole": (borehole, [
        (0.05, 0.15), (100, 50_000), (63_070, 115_600), (990, 1110), (63.1, 116), (700, 820),
        (1120, 1680), (9855, 12_045),
    ]),
    "circuit": (circuit, [(50, 150), (25, 70), (0.5, 3), (1.2, 2.5), (0.25, 1.2), (50, 300)]),
    "piston": (piston, [
        (30, 60), (0.005, 0.02), (0.002, 0.01), (1000, 5000), (90_000, 110_000), (290, 296),
        (340, 360),
    ]),
    "wing": (wing, [
        (150, 200), (220, 300), (6, 10), (-10, 10), (16, 45), (0.5, 1), (0.08, 0.18), (2.5, 6),
        (1700, 2500), (0.025, 0.08),
    ]),
}  # fmt: skip


def gaussian_process(X, y, seed):
    """The peer, with bounds that suit functions without noise."""
    return peers.gaussian_process(X, y, largest_height=1e5, least_noise=1e-10)


MODELS = {**OURS, "GP": gaussian_process}


def draw(name, n_rows, seed):
    """Inputs in the unit cube, and targets of unit variance."""
    function, ranges = FUNCTIONS[name]
    X = np.random.default_rng(seed).uniform(size=(n_rows + N_TEST, len(ranges)))
    low, high = np.array(ranges, dtype=float).T
    y = function(*(low + (high - low) * X).T)
    return X, y / y[:n_rows].std()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1000])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--functions", nargs="+", choices=FUNCTIONS, default=list(FUNCTIONS))
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| function | rows | model | log density | CRPS | RMSE | coverage | seconds |")
    print("| --- " * 8 + "|")
    for name in options.functions:
        for n in options.rows:
            X, y = draw(name, n, options.seed)
            for model in options.models:
                start = time.perf_counter()
                try:
                    law = MODELS[model](X[:n], y[:n], 0)(X[n:])
                except LinAlgError:  # a failure is a result, too
                    print(f"| {name} | {n} | {model} | failed: singular |", flush=True)
                    continue
                seconds = time.perf_counter() - start
                low, high = law.quantile([0.05, 0.95]).T
                inside = np.mean((low <= y[n:]) & (y[n:] <= high))
                error = np.sqrt(np.mean((law.mean() - y[n:]) ** 2))
                print(
                    f"| {name} | {n} | {model} | {law.logpdf(y[n:]).mean():.2f} "
                    f"| {law.crps(y[n:]).mean():.2g} | {error:.2g} | {inside:.3f} "
                    f"| {seconds:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()

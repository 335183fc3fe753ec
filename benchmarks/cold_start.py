"""How long a new user waits: import, first fit and second fit of every estimator.

Each in a fresh process, with an empty and with a warm cache of compiled kernels, on 200 rows
(three inputs, and one and two for the stable network's exact cells). Fits are short (a few sweeps
or steps), so that a first fit is what compiling or loading the kernels takes; the second fit, in
the same process, is what remains. Seconds of processor time, which on an idle machine are those
of the clock.

    python benchmarks/cold_start.py
"""

import os
import subprocess
import sys
import tempfile

SHORT = "n_warmup=50, n_posterior_draws=25, n_chains=1"
SHORTER = "n_warmup=5, n_posterior_draws=5, n_chains=1"
ESTIMATORS = {
    "StableNNRegressor, one input": (1, f"StableNNRegressor({SHORT})"),
    "StableNNRegressor, two inputs": (2, f"StableNNRegressor({SHORTER})"),
    "StableNNRegressor, more": (3, f"StableNNRegressor({SHORT})"),
    "StableNNRegressor, units that move": (
        3, f"StableNNRegressor({SHORTER}, n_units=50, move_units=True)",
    ),
    "UDNRegressor": (3, "UDNRegressor(max_iter=5)"),
    "UDNClassifier": (3, "UDNClassifier(max_iter=5)"),
    "SIPRegressor": (3, "SIPRegressor(n_networks=1, max_iter=50, n_draws=20)"),
    "DeepWishartRegressor": (3, "DeepWishartRegressor(max_iter=1, n_inducing=20)"),
    "StableNNRegressorCV, one input": (1, f"StableNNRegressorCV([1.1], [1.0], cv=2, {SHORT})"),
    "EnsembleRegressor": (
        3, "EnsembleRegressor(skbayesnn.UDNRegressor(max_iter=5), n_estimators=2)",
    ),
    "StackingDistributionRegressor": (
        3, "StackingDistributionRegressor([('udn', skbayesnn.UDNRegressor(max_iter=5))], cv=2)",
    ),
}  # fmt: skip
FRESH = """
import time
import skbayesnn
model = skbayesnn.{model}
imported = time.process_time()
import numpy as np, warnings
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=({rows}, {n_inputs}))
y = (X[:, 0] > 0).astype(int)
times = [time.process_time()]
for _ in range(2):
    model.fit(X, y).predict(X)
    times.append(time.process_time())
print(imported, *np.diff(times))
"""
DEPENDENCIES = """
import time
import numba, joblib, scipy.stats, scipy.interpolate, sklearn.base, sklearn.callback
import sklearn.utils.validation, sklearn.utils.parallel
print(time.process_time())
"""


def run(code, cache):
    """The numbers that a fresh process prints."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "OPENBLAS_NUM_THREADS": "1"}
    out = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return [float(value) for value in out.stdout.split()]


def main():
    print("seconds                             cache  import  first fit  second fit")
    with tempfile.TemporaryDirectory() as folder:
        run(DEPENDENCIES, folder)  # reads the files from disk
        print(f"{'numba, scipy, scikit-learn alone':42s}{run(DEPENDENCIES, folder)[0]:6.2f}")
        for name, (n_inputs, model) in ESTIMATORS.items():
            # Exact cells in the plane have about half the square of the rows: fewer rows.
            rows = 30 if n_inputs == 2 else 200
            with tempfile.TemporaryDirectory() as cache:
                for state in ("empty", "warm"):
                    code = FRESH.format(model=model, n_inputs=n_inputs, rows=rows)
                    imported, first, second = run(code, cache)
                    print(
                        f"{name:35s} {state:5s}  {imported:6.2f} {first:10.2f} {second:11.2f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()

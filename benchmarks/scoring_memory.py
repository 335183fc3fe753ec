"""Peak memory of scoring many rows of many posterior draws.

    python benchmarks/scoring_memory.py --rows 100000 --draws 1000

prints, for each scorer, the peak of the resident memory above what the data take.
"""

import argparse
import resource

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

from skbayesnn import metrics
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.predictive import PredictiveMixture


class Draws(ProbabilisticRegressorMixin, RegressorMixin, BaseEstimator):
    """Linear functions, drawn at random: the cheapest model with so many components."""

    def __init__(self, n_draws=1000):
        self.n_draws = n_draws

    def fit(self, X, y):
        rng = np.random.default_rng(0)
        self.slopes_ = rng.normal(size=(X.shape[1], self.n_draws))
        return self

    def predict_distribution(self, X):
        means = X @ self.slopes_
        weights = np.full(self.n_draws, 1.0 / self.n_draws)
        return PredictiveMixture(weights, means, np.ones(means.shape))


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--draws", type=int, default=1000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(options.rows, 5))
    y = rng.normal(size=options.rows)
    model = Draws(options.draws).fit(X, y)
    for name in ("log_predictive_density", "crps", "pinball", "interval"):
        getattr(metrics, f"{name}_scorer")(model, X[:10], y[:10])  # compiled before
    before = peak_mb()
    print(f"{'scorer':>24} {'MB above the data':>18}")
    for name in ("log_predictive_density", "pinball", "interval", "crps"):
        getattr(metrics, f"{name}_scorer")(model, X, y)
        print(f"{name:>24} {peak_mb() - before:18.0f}", flush=True)


if __name__ == "__main__":
    main()

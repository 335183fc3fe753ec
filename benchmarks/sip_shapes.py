"""Bimodal and heteroscedastic data (Rodríguez-Santana et al., 2022, section 5.1 and eq. 20).

1000 training and 1000 fresh test points; scores beside those of the true density, of a
Gaussian process and, where it is installed, of NGBoost.

- bimodal: y is 10 cos(x − ½) or 10 sin(x − ½), each with probability ½, plus N(0, 1) noise;
- heteroscedastic: y = 7 sin x + ε sin x + 10, ε ~ N(0, 2²);

x uniform on (−4, 4). "modes" is the part of the x, among 400 on a grid where the branches are
at least 6 apart, at which the predictive density has exactly two maxima (of at least a tenth
of the highest), each within 1 of its branch. "spread" is the correlation of the predicted with
the true standard deviation. "prior" is the energy distance, 2 ∫ (F − G)² dy, of the fitted prior's
draws, with the noise, from the true distribution, mean over the grid: small for a prior that
resembles the data. Seconds are of processor time, fit alone.

The model has its defaults; ``--options`` sets others.

    python benchmarks/sip_shapes.py --seeds 0 1 2 3 4
"""

import argparse
import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import time
import warnings

import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from skbayesnn.predictive import PredictiveMixture
from skbayesnn.sip import SIPRegressor

GRID = np.linspace(-4, 4, 400)[:, None]


def bimodal(n, rng):
    """Inputs (n, 1) and targets."""
    x, first = rng.uniform(-4, 4, n), rng.random(n) < 0.5
    f = np.where(first, 10 * np.cos(x - 0.5), 10 * np.sin(x - 0.5))
    return x[:, None], f + rng.normal(size=n)


def bimodal_truth(X):
    """True distribution."""
    branches = np.column_stack([10 * np.cos(X[:, 0] - 0.5), 10 * np.sin(X[:, 0] - 0.5)])
    return PredictiveMixture([0.5, 0.5], branches, np.ones(branches.shape))


def heteroscedastic(n, rng):
    """Inputs (n, 1) and targets."""
    x = rng.uniform(-4, 4, n)
    return x[:, None], 7 * np.sin(x) + rng.normal(0, 2, n) * np.sin(x) + 10


def heteroscedastic_truth(X):
    """True distribution."""
    return PredictiveMixture([1.0], 7 * np.sin(X) + 10, 4 * np.sin(X) ** 2)


DATA = {
    "bimodal": (bimodal, bimodal_truth),
    "heteroscedastic": (heteroscedastic, heteroscedastic_truth),
}


def part_with_two_modes(distribution, truth):
    """Part of the rows, branches 6 apart, with two modes in the right places."""
    y = np.linspace(-15, 15, 1201)
    density = np.exp(distribution.logpdf(y[None, :]))
    rows = np.flatnonzero(np.abs(np.diff(truth.means)) >= 6)
    right = 0
    for row in rows:
        p = density[row]
        top = 1 + np.flatnonzero((p[1:-1] > p[:-2]) & (p[1:-1] >= p[2:]))
        top = top[p[top] > 0.1 * p.max()]
        distances = np.abs(y[top][:, None] - truth.means[row])
        right += len(top) == 2 and distances.min(axis=0).max() < 1.0
    return right / len(rows)


def prior_distance(model, truth):
    """Mean energy distance of the fitted prior's draws from the truth, over the grid."""
    draws = model.sample_prior(GRID, 1000)
    draws += np.sqrt(model.noise_variance_) * np.random.default_rng(0).normal(size=draws.shape)
    levels = np.linspace(min(draws.min(), -25.0), max(draws.max(), 35.0), 2001)
    found = np.array([np.searchsorted(np.sort(row), levels) for row in draws]) / draws.shape[1]
    return (
        2.0
        * np.mean(np.sum((found - truth.cdf(levels[None, :])) ** 2, axis=1))
        * (levels[1] - levels[0])
    )


def gaussian_process(X, y):
    """Exact, one length scale."""
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianProcessRegressor(kernel, normalize_y=True).fit(X, y)

    def predict(X):
        mean, std = model.predict(X, return_std=True)
        return PredictiveMixture([1.0], mean[:, None], std[:, None] ** 2)

    return predict


def boosting(X, y):
    """NGBoost with its defaults."""
    from ngboost import NGBRegressor

    model = NGBRegressor(verbose=False, random_state=0).fit(X, y)

    def predict(X):
        d = model.pred_dist(X)
        return PredictiveMixture([1.0], d.loc[:, None], d.scale[:, None] ** 2)

    return predict


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--seeds", nargs="+", type=int, default=range(5))
    parser.add_argument("--peers", action="store_true", help="also the peers")
    parser.add_argument("--options", default="", help="of SIPRegressor, as in a call")
    options = parser.parse_args()
    extra = eval(f"dict({options.options})")
    models = {"sip": lambda X, y, seed: SIPRegressor(random_state=seed, **extra).fit(X, y)}
    if options.peers:
        models["gp"] = lambda X, y, seed: gaussian_process(X, y)
        models["ngboost"] = lambda X, y, seed: boosting(X, y)
    print(
        "data             seed model    log density  truth    gap    CRPS   truth  ratio  shape  "
        "prior  s"
    )
    for name in options.data:
        make, true = DATA[name]
        for seed in options.seeds:
            X, y = make(1000, np.random.default_rng([seed, 0]))
            X_test, y_test = make(1000, np.random.default_rng([seed, 1]))
            truth = true(X_test)
            for kind, fit in models.items():
                begin = time.process_time()
                predict = fit(X, y, seed)
                seconds, prior = time.process_time() - begin, ""
                if kind == "sip":
                    prior = f"prior {prior_distance(predict, true(GRID)):.2f}"
                    predict = predict.predict_distribution
                d, on_grid = predict(X_test), predict(GRID)
                if name == "bimodal":
                    shape = f"modes {part_with_two_modes(on_grid, true(GRID)):.2f}"
                else:
                    shape = np.corrcoef(on_grid.std(), true(GRID).std())[0, 1]
                    shape = f"spread {shape:.3f}"
                score, best = d.logpdf(y_test).mean(), truth.logpdf(y_test).mean()
                crps, best_crps = d.crps(y_test).mean(), truth.crps(y_test).mean()
                print(
                    f"{name:16s} {seed:3d}  {kind:8s} {score:8.3f}  {best:8.3f}  "
                    f"{best - score:6.3f}  {crps:6.3f}  {best_crps:6.3f}  "
                    f"{crps / best_crps:.3f}  {shape}  {prior}  {seconds:.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()

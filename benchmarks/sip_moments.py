"""Bias and standard error of the conditional's moments: integrated last layer beside draws.

The prior is a network of two hidden layers of 50 as a fit starts it, one input. u is one of its
functions at 20 inducing inputs; the mean and the variance of f given u at 100 rows are estimated
again and again, from whole functions as in eqs 6 and 13 of Rodríguez-Santana et al. (2022), and
from hidden networks with the last layer integrated. The reference has 3000 networks. Numbers are
root mean squares over the rows, of the error of the mean over repetitions (bias) and of the
deviation from it. ``--figure FILE`` draws them against the number of networks.

    python benchmarks/sip_moments.py --figure moments.png
"""

import argparse
import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
from scipy.linalg import solve_triangular

from skbayesnn.sip.conditional import FeatureConditional
from skbayesnn.sip.priors import BNNPrior

SIZES, JITTER = (10, 20, 50, 100, 200), 3e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", help="file to draw to")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    prior, X = BNNPrior(1, 50), np.linspace(-2, 2, 100)[:, None]
    Z = np.linspace(-2, 2, 20)[:, None]
    both, theta = np.concatenate([X, Z]), prior.start(X, rng)
    u = prior.functions(theta, Z, prior.draw_noise(rng, 1, np.float64))

    def given_u(mean, features):
        conditional = FeatureConditional(mean[100:], features[100:], JITTER)
        w = solve_triangular(conditional.factor, (u - conditional.mean_z).T, lower=True).T
        means, variances = conditional.moments(mean[:100], features[:100], w)
        return np.array([means[0], variances])

    def integrated(n):
        return given_u(*prior.moments(theta, both, prior.draw_noise(rng, n, np.float64)))

    def empirical(n):
        f = prior.functions(theta, both, prior.draw_noise(rng, n, np.float64))
        return given_u(f.mean(axis=0), (f - f.mean(axis=0)).T / np.sqrt(n - 1.0))

    truth, lines = integrated(3000), []
    print("networks  estimator   mean: bias   s.e.   variance: bias   s.e.   its size")
    for n in SIZES:
        for kind in (integrated, empirical):
            found = np.array([kind(n) for _ in range(options.repeats)])
            bias = np.sqrt(np.mean((found.mean(axis=0) - truth) ** 2, axis=1))
            error = np.sqrt(found.var(axis=0).mean(axis=1))
            lines.append((kind.__name__, n, *bias, *error))
            print(
                f"{n:8d}  {kind.__name__:10s}  {bias[0]:10.4f}  {error[0]:.4f}  "
                f"{bias[1]:14.5f}  {error[1]:.5f}  {truth[1].mean():.4f}",
                flush=True,
            )
    if options.figure:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharex=True)
        for kind, color in (("integrated", "C0"), ("empirical", "C1")):
            rows = np.array([line[1:] for line in lines if line[0] == kind])
            for ax, k in zip(axes, (1, 2), strict=True):
                ax.loglog(rows[:, 0], rows[:, k], f"{color}o-", label=f"{kind}: bias")
                ax.loglog(rows[:, 0], rows[:, k + 2], f"{color}s--", label=f"{kind}: s.e.")
        for ax, title in zip(axes, ("mean of f given u", "variance of f given u"), strict=True):
            ax.set(title=title, xlabel="networks")
        axes[0].legend()
        figure.savefig(options.figure, dpi=120)


if __name__ == "__main__":
    main()

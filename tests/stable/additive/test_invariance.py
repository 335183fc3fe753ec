"""Calibration: sweeps that begin at a draw from the prior, its data included, leave it as it is.

Parameters, latent scales and parts are drawn from the prior, then targets; after a few sweeps
given those targets each of them still has its prior law, if every step is right. Statistics
are chosen whose law is known in closed form, but for the scales of the slopes of the noise, which
are compared with many draws.
"""

import numpy as np
import pytest
from noise_priors import draw_slopes, ranks_of_slopes
from scipy.special import expit
from scipy.stats import chi2, halfcauchy, kstest, norm

from skbayesnn.numerics.stable_laws import sample_log_positive_stable
from skbayesnn.stable.additive import chain as chain_module
from skbayesnn.stable.additive.chain import AdditiveChain
from skbayesnn.stable.additive.dense import DenseBasis
from skbayesnn.stable.additive.dense_kernel import DenseKernel
from skbayesnn.stable.additive.joint import draw_axes_prior
from skbayesnn.stable.additive.partition import AdditiveCells
from skbayesnn.stable.noise.precisions import DEGREES
from skbayesnn.stable.noise.slopes import bounded
from skbayesnn.stable.samplers import hyper
from skbayesnn.stable.samplers.problem import Prior
from skbayesnn.stable.samplers.transport import logit_curve

N_REPLICATES = 400
# A false alarm in one of some hundred comparisons would come once in thousands of changes.
LEAST_P = 1e-5


def draw_from_prior(chain, alphas):
    """Everything from the prior, in place; the targets too."""
    partition, prior, rng, state = chain.partition, chain.prior, chain.rng, chain.state
    state.alpha = float(rng.choice(alphas)) if prior.alpha is None else prior.alpha
    state.log_nu = np.log(np.abs(rng.standard_cauchy(len(partition.axes))))
    state.log_nu -= 2.0 / state.alpha * partition.log_crowd
    state.log_variances = partition.log_units(state.alpha, state.log_nu)
    if state.alpha < 2.0:
        a = state.alpha / 2.0
        state.log_variances += [sample_log_positive_stable(a, rng) for _ in state.log_variances]
    variances, rest = np.exp(state.log_variances), np.zeros(partition.y.size)
    draw_axes_prior(variances, *partition.axis_ranges, rng, state.f, rest)
    state.log_noise = np.log(np.abs(rng.standard_cauchy()))
    state.degrees = float(rng.choice(DEGREES)) if prior.degrees is None else prior.degrees
    state.precisions = partition.weights.copy()
    if np.isfinite(state.degrees):
        # A row of weight w stands for w rows with one target, which is not how data come:
        # with weights other than one only Gaussian noise has a law that data can be drawn from.
        half = state.degrees / 2.0
        state.precisions = rng.gamma(half, 1.0 / half, partition.y.size)
    if partition.n_slopes:
        state.log_tau, state.log_local, state.slopes = draw_slopes(partition.n_slopes, rng)
        state.log_factors = bounded(state.slopes @ partition.noise_basis.train)
        state.precisions *= np.exp(-state.log_factors)
    if partition.basis is not None:
        state.log_amplitude = np.log(np.abs(rng.standard_cauchy()))
        state.theta = np.exp(state.log_amplitude / 2) * rng.standard_normal(partition.n_basis)
        state.g = partition.basis.train @ state.theta
    chain.sum_up()
    noise = np.exp(state.log_noise) / state.precisions
    partition.y[:] = chain.fit + np.sqrt(noise) * rng.standard_normal(partition.y.size)


def statistics(chain):
    """Numbers that are uniform under the prior, by name."""
    partition, rng, state = chain.partition, chain.rng, chain.state
    log_nu = state.log_nu + 2.0 / state.alpha * partition.log_crowd
    out = {
        "noise": halfcauchy.cdf(np.exp(state.log_noise)),
    }
    out |= {f"nu {k}": halfcauchy.cdf(np.exp(x)) for k, x in enumerate(log_nu)}
    residuals = partition.y - chain.fit
    out["residuals"] = chi2.cdf(
        state.precisions @ residuals**2 / np.exp(state.log_noise), residuals.size
    )
    i = np.searchsorted(DEGREES, state.degrees)
    out["degrees"] = (i + rng.random()) / DEGREES.size
    for k, (_, part) in enumerate(partition.parts()):
        f, v = state.f[part], np.exp(state.log_variances[part])
        weights = np.append(0.5 * (f[0] + f[-1]), 0.5 * np.diff(f))
        out[f"weights {k}"] = chi2.cdf((weights**2 / v).sum(), f.size)
        out[f"level {k}"] = norm.cdf(weights[0] / np.sqrt(v[0]))
    if partition.basis is not None:
        out["amplitude"] = halfcauchy.cdf(np.exp(state.log_amplitude))
        out["g"] = chi2.cdf((state.theta**2).sum() / np.exp(state.log_amplitude), state.theta.size)
    if partition.n_slopes:
        out |= ranks_of_slopes(state)
    if state.alpha < 2.0:
        scales = state.log_variances - partition.log_units(state.alpha, state.log_nu)
        for j in (0, 1, scales.size - 1):
            out[f"scale {j}"] = expit(np.interp(scales[j], *logit_curve(state.alpha / 2.0)))
    return out


CASES = {
    "all": (1.2, None, True, True, False),
    "no joint draws": (1.2, None, True, False, False),
    "Gaussian noise": (1.6, np.inf, True, False, True),
    "Gaussian noise by input": (1.6, np.inf, True, True, False),
    "axes alone": (0.9, None, False, False, True),
    "alpha is two": (2.0, None, True, True, True),
    "alpha sampled": (None, np.inf, False, True, True),
    "three degrees": (1.2, 3.0, True, False, False),
    "an axis now and then": (1.2, None, True, True, False),
    "one input": (1.2, None, False, False, False),
    "one input, alpha sampled": (None, None, False, False, False),
    "one input, Gaussian noise by input, alpha sampled": (None, np.inf, False, False, False),
}


@pytest.mark.parametrize("case", CASES)
def test_sweeps_leave_the_prior_as_it_is(case, monkeypatch):
    alpha, degrees, dense, joint, same_noise = CASES[case]
    prior = Prior(alpha, None, None, degrees)
    alphas = np.round(np.arange(0.8, 1.91, 0.02), 2)
    for module in (chain_module, hyper):
        monkeypatch.setattr(module, "ALPHAS", alphas)
    monkeypatch.setattr(chain_module, "_SWEEPS_A_JOINT_DRAW", 2)
    if case == "an axis now and then":
        monkeypatch.setattr(chain_module, "AT_A_TIME", 1)
    rng = np.random.default_rng(1)
    # Ties in one input, one value in another.
    X = np.column_stack([rng.integers(0, 3, 8) - 1.0, rng.normal(size=8), np.full(8, 0.3)])
    if case.startswith("one input"):
        X = np.append(rng.integers(0, 2, 3) - 1.0, rng.normal(size=5))[:, None]
    weights = np.ones(8)
    if degrees == np.inf:
        weights = np.array([1.0, 1.0, 2.0, 0.5, 1.0, 1.0, 1.0, 1.5])
        weights *= 8 / weights.sum()
    # Sorted, as they are inside.
    X = X[np.lexsort(X.T[::-1])]
    # Of different targets, so that rows that are tied stay rows of their own.
    y = np.arange(8.0)
    partition = AdditiveCells(X, y, weights, dense=False, same_noise=same_noise)
    if dense:
        kernel = DenseKernel(np.full(3, 1.0 / 1.5), slopes=np.array([0.5, -1.0, 0.2]))
        partition.set_basis(DenseBasis(X, kernel, rng))
    partition.joint, partition.log_crowd = joint, 0.7
    table = {}
    for _ in range(N_REPLICATES):
        chain = AdditiveChain(partition, prior, partition.start(prior, rng), None, rng)
        draw_from_prior(chain, alphas)
        chain.state.chances[:] = (0.9, 0.5, 0.2)[: X.shape[1]]
        for _ in range(3):
            chain.sweep_once()
        found = statistics(chain)
        if prior.alpha is None:
            i = np.searchsorted(alphas, chain.state.alpha - 1e-9)
            found["alpha"] = (i + rng.random()) / alphas.size
        for name, value in found.items():
            table.setdefault(name, []).append(value)
    if prior.degrees is not None:
        del table["degrees"]
    p = {name: kstest(values, "uniform").pvalue for name, values in table.items()}
    assert min(p.values()) > LEAST_P, p

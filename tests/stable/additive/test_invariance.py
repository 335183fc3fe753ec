"""Calibration: sweeps that begin at a draw from the prior, its data included, leave it as it is.

Parameters, latent scales and parts are drawn from the prior, then targets; after a few sweeps
given those targets each of them still has its prior law, if every step is right. Statistics
are chosen whose law is known in closed form, so that nothing is compared with a simulation.
"""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import chi2, halfcauchy, kstest, norm

from skbayesnn.numerics.stable_laws import sample_log_positive_stable
from skbayesnn.numerics.stable_transport import logit_curve
from skbayesnn.stable.additive import chain as chain_module
from skbayesnn.stable.additive.axes import Axis
from skbayesnn.stable.additive.chain import Chain, Model, Prior
from skbayesnn.stable.additive.dense import DenseBasis
from skbayesnn.stable.additive.joint import draw_axis_prior
from skbayesnn.stable.additive.noise import DEGREES

N_REPLICATES = 400
# A false alarm in one of some hundred comparisons would come once in thousands of changes.
LEAST_P = 1e-5


def draw_from_prior(chain, alphas):
    """Everything from the prior, in place; the targets too."""
    model, prior, rng = chain.model, chain.model.prior, chain.rng
    chain.alpha = float(rng.choice(alphas)) if prior.alpha is None else prior.alpha
    chain.log_nu = np.log(np.abs(rng.standard_cauchy(len(model.axes))))
    chain.log_variances = model.log_units(chain.alpha, chain.log_nu)
    if chain.alpha < 2.0:
        a = chain.alpha / 2.0
        chain.log_variances += [sample_log_positive_stable(a, rng) for _ in chain.log_variances]
    for _, part in model.parts():
        draw_axis_prior(np.exp(chain.log_variances[part]), rng, chain.f[part])
    chain.log_noise = np.log(np.abs(rng.standard_cauchy()))
    chain.degrees = float(rng.choice(DEGREES)) if prior.degrees is None else prior.degrees
    chain.precisions = model.weights.copy()
    if np.isfinite(chain.degrees):
        # A row of weight w stands for w rows with one target, which is not how data come:
        # with weights other than one only Gaussian noise has a law that data can be drawn from.
        half = chain.degrees / 2.0
        chain.precisions = rng.gamma(half, 1.0 / half, model.y.size)
    if model.basis is not None:
        chain.log_amplitude = np.log(np.abs(rng.standard_cauchy()))
        chain.theta = np.exp(chain.log_amplitude / 2) * rng.standard_normal(model.n_basis)
        chain.g = model.basis.train @ chain.theta
    chain._sum_up()
    noise = np.exp(chain.log_noise) / chain.precisions
    model.y[:] = chain.fit + np.sqrt(noise) * rng.standard_normal(model.y.size)


def statistics(chain):
    """Numbers that are uniform under the prior, by name."""
    model, rng = chain.model, chain.rng
    out = {
        "noise": halfcauchy.cdf(np.exp(chain.log_noise)),
        "nu 0": halfcauchy.cdf(np.exp(chain.log_nu[0])),
        "nu 1": halfcauchy.cdf(np.exp(chain.log_nu[1])),
    }
    residuals = chain.model.y - chain.fit
    out["residuals"] = chi2.cdf(
        chain.precisions @ residuals**2 / np.exp(chain.log_noise), residuals.size
    )
    i = np.searchsorted(DEGREES, chain.degrees)
    out["degrees"] = (i + rng.random()) / DEGREES.size
    for k, (_, part) in enumerate(model.parts()):
        f, v = chain.f[part], np.exp(chain.log_variances[part])
        weights = np.append(0.5 * (f[0] + f[-1]), 0.5 * np.diff(f))
        out[f"weights {k}"] = chi2.cdf((weights**2 / v).sum(), f.size)
        out[f"level {k}"] = norm.cdf(weights[0] / np.sqrt(v[0]))
    if model.basis is not None:
        out["amplitude"] = halfcauchy.cdf(np.exp(chain.log_amplitude))
        out["g"] = chi2.cdf((chain.theta**2).sum() / np.exp(chain.log_amplitude), chain.theta.size)
    if chain.alpha < 2.0:
        scales = chain.log_variances - model.log_units(chain.alpha, chain.log_nu)
        for j in (0, 1, scales.size - 1):
            out[f"scale {j}"] = expit(np.interp(scales[j], *logit_curve(chain.alpha / 2.0)))
    return out


CASES = {
    "all": (Prior(alpha=1.2), True, True),
    "no joint draws": (Prior(alpha=1.2), True, False),
    "Gaussian noise": (Prior(alpha=1.6, degrees=np.inf), True, False),
    "axes alone": (Prior(alpha=0.9), False, False),
    "alpha is two": (Prior(alpha=2.0), True, True),
    "alpha sampled": (Prior(degrees=np.inf), False, True),
    "three degrees": (Prior(alpha=1.2, degrees=3.0), True, False),
}


@pytest.mark.parametrize("case", CASES)
def test_sweeps_leave_the_prior_as_it_is(case, monkeypatch):
    prior, dense, joint = CASES[case]
    alphas = np.round(np.arange(0.8, 1.91, 0.02), 2)
    monkeypatch.setattr(chain_module, "ALPHAS", alphas)
    monkeypatch.setattr(chain_module, "_SWEEPS_A_JOINT_DRAW", 2)
    rng = np.random.default_rng(1)
    # Ties in one input; the other is fine.
    X = np.column_stack([rng.integers(0, 3, 8) - 1.0, rng.normal(size=8)])
    basis = DenseBasis(X / 1.5, rng) if dense else None
    weights = np.ones(8)
    if prior.degrees == np.inf:
        weights = np.array([1.0, 1.0, 2.0, 0.5, 1.0, 1.0, 1.0, 1.5])
        weights *= 8 / weights.sum()
    model = Model([Axis(x) for x in X.T], basis, np.zeros(8), weights, prior)
    model.joint = model.joint and joint
    table = {}
    for _ in range(N_REPLICATES):
        chain = Chain(model, rng)
        draw_from_prior(chain, alphas)
        for _ in range(3):
            chain.sweep()
        found = statistics(chain)
        if prior.alpha is None:
            i = np.searchsorted(alphas, chain.alpha - 1e-9)
            found["alpha"] = (i + rng.random()) / alphas.size
        for name, value in found.items():
            table.setdefault(name, []).append(value)
    if prior.degrees is not None:
        del table["degrees"]
    p = {name: kstest(values, "uniform").pvalue for name, values in table.items()}
    assert min(p.values()) > LEAST_P, p

"""The posterior's own scale matrix: densities by brute force, gradients, no change without it."""

from dataclasses import replace

import numpy as np
import pytest
from deep_wishart import quick, wave
from gradients import assert_gradient
from scipy.special import logit
from wishart_densities import draw, log_posterior, log_prior, log_volume

from skbayesnn._validation import InvalidParameterError
from skbayesnn.dwp import objective as ob
from skbayesnn.dwp import wishart as w
from skbayesnn.dwp.layers import condition
from skbayesnn.dwp.scale_mixture import mix, mixed_divergence
from skbayesnn.dwp.sizes import LayerSizes, draw_noise

SIZES = [(4, 2), (3, 3), (3, 6)]


def perturbed(posterior, n_points, freedom, seed=0, scale=0.15):
    rng = np.random.default_rng(seed)
    parameters = w.prior_parameters(posterior, n_points, freedom)
    for value in parameters.values():
        value += scale * rng.normal(size=value.shape)
    parameters["log_std"] += 0.2
    return parameters


def mixture(n_points, part=0.4, seed=1):
    rng = np.random.default_rng(seed)
    X = 2.0 * rng.normal(size=(n_points, 2))
    c = condition(X, 0.3)
    V = np.tril(0.5 * rng.normal(size=(n_points, n_points))) + np.eye(n_points)
    return mix(c, V, np.eye(n_points) + 0.2, np.array([logit(part)]))


def test_the_scale_matrix_is_the_mixture():
    m = mixture(4)
    K, V = m.conditional.factor @ m.conditional.factor.T, m.triangle
    own = m.conditional.factor @ m.ratio
    np.testing.assert_allclose(own @ own.T, 0.6 * K + 0.4 * V @ V.T, rtol=1e-10)
    assert np.abs(np.triu(own, 1)).max() < 1e-12


@pytest.mark.parametrize("posterior", w.POSTERIORS)
@pytest.mark.parametrize(("n_points", "freedom"), SIZES)
def test_divergence_is_the_mean_log_ratio_of_the_densities(posterior, n_points, freedom):
    """log Q − log P at draws of G, each with the volume of its own scale matrix."""
    parameters, m = perturbed(posterior, n_points, freedom), mixture(n_points)
    rank, L = min(freedom, n_points), m.conditional.factor
    draws = draw(parameters, np.random.default_rng(3), 30_000)
    log_q = log_posterior(draws) - log_volume(rank, m.factor)
    whitened = np.linalg.solve(L, m.factor @ draws.factors)
    log_p = log_prior(whitened, freedom) - log_volume(rank, L)
    value = mixed_divergence(m, parameters, freedom)[0]
    error = (log_q - log_p).std() / np.sqrt(30_000)
    assert value > 10 * error
    assert abs((log_q - log_p).mean() - value) < 4 * error
    # It is a density: that of the prior over it has a mean of one under draws of it.
    wide = perturbed(posterior, n_points, freedom, scale=0.05)
    m = mixture(n_points, part=0.05)
    draws = draw(wide, np.random.default_rng(4), 30_000)
    log_q = log_posterior(draws) - log_volume(rank, m.factor)
    whitened = np.linalg.solve(m.conditional.factor, m.factor @ draws.factors)
    log_p = log_prior(whitened, freedom) - log_volume(rank, m.conditional.factor)
    ratio = np.exp(log_p - log_q)
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(30_000)


@pytest.mark.parametrize("posterior", w.POSTERIORS)
def test_gradient_of_the_bound(posterior):
    a = LayerSizes(2, 1, 4, 3, 2, posterior, own_scale=True)
    rng = np.random.default_rng(0)
    theta = 0.4 * rng.normal(size=a.size())
    p = a.views(theta)
    p["inducing"][:] = rng.normal(size=(4, 2))
    for name, value in p.items():
        if name.startswith(("root", "left")) or (name.startswith("scale_") and value.size > 1):
            value += np.eye(4)
    X, y = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    noise, weights = draw_noise(a, rng, 2, 6), np.array([1.0, 0.3, 2.0, 1.0, 3.0, 0.7])

    def loss():
        return ob.loss_and_gradient(a, theta, X, y, weights, noise, 20)[0]

    exact = ob.loss_and_gradient(a, theta, X, y, weights, noise, 20)[1]
    assert_gradient(loss, theta, exact, a.shapes(), np.random.default_rng(1))
    assert all(np.abs(a.views(exact)[f"scale_logit_{k}"]) > 1e-6 for k in range(2))


def test_no_part_of_it_changes_nothing():
    plain = LayerSizes(2, 1, 4, 3, 2, "ab-gw")
    a = replace(plain, own_scale=True)
    rng = np.random.default_rng(0)
    theta, own = np.zeros(plain.size()), np.zeros(a.size())
    p, q = plain.views(theta), a.views(own)
    for name, value in p.items():
        value[:] = 0.3 * rng.normal(size=value.shape)
        if name.startswith(("root", "left")):
            value += np.eye(4)
        q[name][:] = value
    for k in range(2):
        q[f"scale_base_{k}"][:] = q[f"scale_{k}"][:] = np.eye(4)
        q[f"scale_logit_{k}"][:] = -40.0
    X, y, noise = rng.normal(size=(6, 2)), rng.normal(size=(6, 1)), draw_noise(a, rng, 2, 6)
    losses = [
        ob.loss_and_gradient(s, t, X, y, np.ones(6), noise, 6)[0]
        for s, t in ((plain, theta), (a, own))
    ]
    np.testing.assert_allclose(*losses, rtol=1e-10)


@pytest.mark.parametrize("output", ["exact", "inducing"])
def test_the_estimator_has_it(output):
    X, y = wave()
    model = quick(own_scale=True, output=output).fit(X, y)
    base = model._model.parameters["scale_base_0"]
    assert not np.array_equal(model._model.parameters["scale_0"], np.eye(15))
    assert np.isfinite(base).all()
    assert model.score(X, y) > 0.9
    with pytest.raises(InvalidParameterError, match="own_scale"):
        quick(own_scale=True, posterior="dgp").fit(X, y)

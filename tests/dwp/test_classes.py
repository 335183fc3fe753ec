"""Softmax likelihood, natural-gradient steps and the bound of classes, against brute force."""

from dataclasses import replace

import numpy as np
import pytest
from gradients import assert_gradient, difference
from scipy.integrate import quad
from scipy.special import log_expit, log_softmax
from scipy.stats import norm

from skbayesnn.dwp import objective as ob
from skbayesnn.dwp import pseudo_observations
from skbayesnn.dwp.likelihoods import Gaussian, Softmax
from skbayesnn.dwp.pseudo_observations import start_output
from skbayesnn.dwp.scales import ClassScales
from skbayesnn.dwp.sites import RIDGE, Sites
from skbayesnn.dwp.sizes import LayerSizes, draw_noise

SIZES = {
    2: LayerSizes(2, 1, 4, 3, 2, "ab-gw", "softmax"),
    3: LayerSizes(2, 3, 4, 2, 1, "gw", "softmax"),
}
WEIGHTS = np.array([1.0, 0.3, 2.0, 1.0, 3.0, 0.7])


def labelled(n_classes, n_rows=6, n_draws=2, seed=0):
    """A model away from its start, rows, indicators of their classes, noise."""
    a, rng = SIZES[n_classes], np.random.default_rng(seed)
    theta = 0.4 * rng.normal(size=a.size())
    p = a.views(theta)
    p["inducing"][:] = rng.normal(size=p["inducing"].shape)
    p["root"] += np.eye(a.n_inducing)
    for k in range(a.n_layers):
        if f"left_{k}" in p:
            p[f"left_{k}"] += np.eye(a.n_inducing)
    Y = np.eye(n_classes)[np.arange(n_rows) % n_classes]
    return a, theta, rng.normal(size=(n_rows, 2)), Y, draw_noise(a, rng, n_draws, n_rows)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradient_of_the_bound(n_classes):
    a, theta, X, Y, noise = labelled(n_classes)

    def loss():
        return ob.loss_and_gradient(a, theta, X, Y, WEIGHTS, noise, 20)[0]

    _, exact, _ = ob.loss_and_gradient(a, theta, X, Y, WEIGHTS, noise, 20)
    assert_gradient(loss, theta, exact, a.shapes(), np.random.default_rng(1))
    assert np.count_nonzero(exact) > 0.5 * exact.size


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradients_of_the_expectation(n_classes):
    rng = np.random.default_rng(0)
    n_targets = SIZES[n_classes].n_targets
    means, variances = rng.normal(size=(6, n_targets)), rng.uniform(0.2, 2, (6, n_targets))
    Y = np.eye(n_classes)[np.arange(6) % n_classes]
    nodes = Softmax().draw_nodes(rng, 1, n_targets, 8)
    nodes = None if nodes is None else nodes[0]

    def loss():
        return Softmax().expected(means, variances, Y, WEIGHTS, np.empty(0), nodes).loss

    found = Softmax().expected(means, variances, Y, WEIGHTS, np.empty(0), nodes)
    for x, gradient in ((means, found.d_means), (variances, found.d_variances)):
        direction = rng.normal(size=x.shape)
        expected = difference(loss, x, direction)
        np.testing.assert_allclose((gradient * direction).sum(), expected, rtol=1e-8)


def test_two_classes_by_integration():
    means, variances = np.array([[0.7], [-2.0]]), np.array([[0.5], [4.0]])
    Y, weights = np.eye(2)[[1, 1]], np.array([1.0, 2.5])

    def mean(function, i):
        law = norm(means[i, 0], variances[i, 0] ** 0.5)
        return quad(lambda f: function(f) * law.pdf(f), *law.interval(1 - 1e-14))[0]

    found = Softmax().expected(means, variances, Y, weights, np.empty(0), None)
    losses = [-mean(log_expit, i) for i in range(2)]
    np.testing.assert_allclose(found.loss, weights @ losses, rtol=1e-4)
    slopes = [mean(lambda f: np.exp(log_expit(f)) - 1, i) for i in range(2)]
    np.testing.assert_allclose(found.d_means[:, 0], weights * slopes, rtol=1e-3)
    bends = [mean(lambda f: np.exp(log_expit(f) + log_expit(-f)), i) for i in range(2)]
    np.testing.assert_allclose(found.curvature[:, 0], weights * bends, rtol=5e-3)
    # Half the curvature is the gradient in the variance (Price's theorem).
    np.testing.assert_allclose(found.d_variances, 0.5 * found.curvature, rtol=5e-3)
    p = Softmax().probabilities(means.T[None], variances.T[None], 2, None)
    expected = [mean(lambda f: np.exp(log_expit(f)), i) for i in range(2)]
    np.testing.assert_allclose(p[:, 1], expected, rtol=1e-3)
    logs = Softmax().log_densities(means.T[None], variances.T[None], Y, np.empty(0), None)
    np.testing.assert_allclose(logs, np.log(p[:, 1]))


def test_several_classes_by_many_draws():
    rng = np.random.default_rng(0)
    means, variances = rng.normal(size=(2, 3, 4)), rng.uniform(0.2, 2, (2, 3, 4))
    values = means + np.sqrt(variances) * rng.normal(size=(200_000, 2, 3, 4))
    expected = np.exp(log_softmax(values, axis=2)).mean(axis=(0, 1)).T
    nodes = Softmax().draw_nodes(rng, 2, 3, 250)
    found = Softmax().probabilities(means, variances, 3, nodes)
    np.testing.assert_allclose(found, expected, atol=0.03)
    Y, many = np.eye(3)[[0, 2, 1, 0]], rng.normal(size=(3, 100_000, 4))
    found = Softmax().expected(means[0].T, variances[0].T, Y, np.ones(4), np.empty(0), many)
    logs = log_softmax(values[:, 0], axis=1).mean(axis=0)
    np.testing.assert_allclose(found.loss, -(logs * Y.T).sum(), rtol=0.01)


def test_one_natural_step_is_the_maximum_with_gaussian_noise():
    """But for the ridge, which is taken off here: the gradient is then zero."""
    a = LayerSizes(2, 2, 4, 3, 0, "gw")
    rng = np.random.default_rng(0)
    theta = 0.3 * rng.normal(size=a.size())
    p = a.views(theta)
    p["root"][:] += np.eye(4)
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    noise, sites = draw_noise(a, rng, 1, 30), Sites(2, 4)
    ob.loss_and_gradient(a, theta, X, Y, np.ones(30), noise, 30, sites=sites)
    for t in range(2):
        sites.precision[t].ravel()[::5] -= RIDGE * np.exp(-p["log_noise"][t])
    sites.step(p, 1.0)
    g = a.views(ob.loss_and_gradient(a, theta, X, Y, np.ones(30), noise, 30)[1])
    # What the jitter of the inducing points' covariance leaves.
    assert max(np.abs(g["root"]).max(), np.abs(g["values"]).max()) < 1e-5
    assert np.abs(g["log_noise"]).max() > 1e-2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_natural_steps_lead_to_the_best_pseudo_observations(n_classes, monkeypatch):
    monkeypatch.setattr("skbayesnn.dwp.sites.RIDGE", 1e-9)
    theta = labelled(n_classes)[1]
    a = replace(SIZES[n_classes], n_layers=0)
    theta = theta[: a.size()].copy()
    p, rng = a.views(theta), np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = np.eye(n_classes)[rng.integers(n_classes, size=60)]
    p["root"][:], p["values"][:] = np.eye(4), 1.0

    def loss():
        noise = draw_noise(a, np.random.default_rng(1), 1, 60, 20_000)
        return ob.loss_and_gradient(a, theta, X, Y, np.ones(60), noise, 60)

    before = loss()[0]
    monkeypatch.setattr(pseudo_observations, "draw_noise", lambda *args: draw_noise(*args, 20_000))
    start_output(a, p, X, Y, np.ones(60), 60.0, rng, n_steps=20)
    after, gradient, _ = loss()
    g = a.views(gradient)
    assert after < before - 0.01
    # What the random nodes leave, with several classes.
    least = 1e-4 if n_classes == 2 else 2e-3
    assert max(np.abs(g["root"]).max(), np.abs(g["values"]).max()) < least


def evidence(a, theta, X, Y, rng, n_draws=20_000):
    """log p(Y) by draws of the prior of everything, and its standard error."""
    p, n = a.views(theta), len(X)
    features = np.broadcast_to(X * np.exp(-p["log_length_scales"]), (n_draws, n, X.shape[1]))
    for k in range(a.n_layers + 1):
        squares = ((features[:, :, None] - features[:, None]) ** 2).sum(axis=3)
        gram = np.exp(p["log_heights"][k] - 0.5 * squares)
        gram = gram / (a.freedom if k < a.n_layers else 1) + 1e-8 * np.eye(n)
        columns = a.freedom if k < a.n_layers else a.n_targets
        features = np.linalg.cholesky(gram) @ rng.normal(size=(n_draws, n, columns))
        if k < a.n_layers:
            features = features * np.exp(-p["log_lengths"][k])
    zeros = np.zeros((n_draws, n, Y.shape[1] - a.n_targets))
    log_p = log_softmax(np.concatenate([zeros, features], axis=2), axis=2)
    terms = (log_p * Y).sum(axis=(1, 2))
    weights = np.exp(terms - terms.max())
    return terms.max() + np.log(weights.mean()), weights.std() / weights.mean() / n_draws**0.5


@pytest.mark.parametrize("posterior", ["ab-gw", "a-gw", "gw", "dgp"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_bound_is_below_the_evidence(posterior, n_classes):
    n_targets = n_classes if n_classes > 2 else 1
    a = LayerSizes(1, n_targets, 3, 2, 1, posterior, "softmax")
    rng, theta = np.random.default_rng(0), np.zeros(a.size())
    p = a.views(theta)
    for name, value in a.family.prior_parameters(posterior, 3, 2).items():
        p[f"{name}_0"][:] = value
    X = np.array([[-2.0], [0.0], [0.3], [2.0]])
    p["inducing"][:], p["log_heights"][-1] = [[-2.0], [0.1], [2.0]], 1.0
    Y = np.eye(n_classes)[[0, 1, 1, n_classes - 1]]
    start_output(a, p, X, Y, np.ones(4), 4.0, rng, n_draws=20, n_steps=5)
    values = [
        -4 * ob.loss_and_gradient(a, theta, X, Y, np.ones(4), draw_noise(a, rng, 1, 4), 4)[0]
        for _ in range(300)
    ]
    error = np.std(values) / len(values) ** 0.5
    exact, spread = evidence(a, theta, X, Y, rng)
    # Below, and near: the bound is not one because it is loose.
    assert exact - 1.0 < np.mean(values) < exact + 4 * (error + spread)


def test_gaussian_log_densities_are_those_of_the_mixture():
    rng = np.random.default_rng(0)
    means, variances = rng.normal(size=(3, 1, 5)), rng.uniform(0.1, 1, (3, 1, 5))
    Y, log_noise = rng.normal(size=(5, 1)), np.array([-1.0])
    densities = norm(means, np.sqrt(variances + np.exp(-1.0))).pdf(Y.T).mean(axis=0)[0]
    found = Gaussian.log_densities(means, variances, Y, log_noise, None)
    np.testing.assert_allclose(found, np.log(densities))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_offsets_are_added_to_the_functions(n_classes):
    rng, n_targets = np.random.default_rng(0), SIZES[n_classes].n_targets
    means, variances = rng.normal(size=(6, n_targets)), rng.uniform(0.2, 2, (6, n_targets))
    Y = np.eye(n_classes)[np.arange(6) % n_classes]
    offsets = rng.normal(size=n_targets)
    law, plain = Softmax(tuple(offsets)), Softmax()
    nodes = law.draw_nodes(rng, 1, n_targets, 8)
    nodes = None if nodes is None else nodes[0]
    found = law.expected(means, variances, Y, WEIGHTS, np.empty(0), nodes)
    expected = plain.expected(means + offsets, variances, Y, WEIGHTS, np.empty(0), nodes)
    assert found.loss == expected.loss
    np.testing.assert_array_equal(found.d_means, expected.d_means)


@pytest.mark.parametrize("n_classes", [1, 2, 3])
def test_without_a_function_classes_have_their_frequencies(n_classes):
    codes, weights = np.array([0, 1, 1, 2, 1]) % n_classes, np.array([1.0, 2.0, 1.0, 0.5, 1.0])
    scales = ClassScales(np.arange(5.0)[:, None], codes, 1e6 * weights, True, n_classes)
    nothing = np.zeros((1, scales.n_targets, 4))
    nodes = np.zeros((1, scales.n_targets, 2, 1)) if n_classes == 3 else None
    p = Softmax(scales.offsets).probabilities(nothing, nothing + 1e-12, n_classes, nodes)
    frequencies = np.bincount(codes, weights) / weights.sum()
    # Half a row is added to each class, beside millions.
    np.testing.assert_allclose(p, np.tile(frequencies, (4, 1)), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_steps_of_pseudo_observations_do_not_overshoot(n_classes):
    """Full steps diverge here, with three classes: a row that is told apart has no curvature."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    scores = np.column_stack([np.sin(3 * X[:, 0]), np.cos(2 * X[:, 1]), X[:, 0] * X[:, 1]])
    Y = np.eye(n_classes)[scores[:, :n_classes].argmax(axis=1)]
    a = LayerSizes(2, 1 if n_classes == 2 else 3, 60, 2, 0, "gw", "softmax")
    theta = np.zeros(a.size())
    p = a.views(theta)
    p["inducing"][:], p["log_length_scales"][:], p["log_heights"][-1] = X[:60], -1.0, np.log(64.0)
    noise = draw_noise(a, rng, 1, 300)

    def loss():
        return ob.loss_and_gradient(a, theta, X, Y, np.ones(300), noise, 300)[0]

    losses = [loss()]
    for _ in range(3):
        start_output(a, p, X, Y, np.ones(300), 300.0, np.random.default_rng(1), n_steps=8)
        losses.append(loss())
    # Other random nodes than those of the steps, so that the loss may rise by a little.
    assert losses[1] < losses[0] - 1.0
    assert max(losses[2:]) < losses[1] + 0.02

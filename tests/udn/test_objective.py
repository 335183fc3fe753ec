"""The fused gradient of eq. 7 against numerical differentiation of plain numpy."""

from itertools import product

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp
from scipy.stats import norm, t

from skbayesnn.numerics.workers import Workers
from skbayesnn.udn.architecture import Architecture
from skbayesnn.udn.convolution import ConvolutionalLayers
from skbayesnn.udn.likelihoods import VARIANCE_UNIT, Likelihood
from skbayesnn.udn.network import Network
from skbayesnn.udn.objective import data_gradient, layered_gradient, run_steps, shrink

DEPTH, N = 3, 5
Q = np.array([0.2, 0.5, 0.3])
LAWS = ["gaussian", "heteroscedastic", "student_t"]
KINDS = ["dense", "residual", "convolutional"]
SHRINKING = ConvolutionalLayers(strides=(1, 2), pooling=(1, 1, 2), normalize=True)


def make(kind, likelihood, dtype=np.float64):
    """A network away from its start, with data."""
    rng = np.random.default_rng(0)
    shape = (2,) if kind in ("dense", "residual") else (5, 4, 2)
    n_inputs = int(np.prod(shape))
    law = Likelihood(
        likelihood, 3 if likelihood == "softmax" else 2, 1 + 2 * (likelihood == "mixture")
    )
    architecture = Architecture(kind, shape, 4, law)
    network = Network(architecture, rng, weight_scale=0.7, dtype=dtype)
    network.grow(DEPTH)
    network.theta += 0.3 * rng.normal(size=network.theta.size).astype(dtype)
    X = rng.normal(size=(N, n_inputs)).astype(dtype)
    if likelihood != "softmax":
        targets = rng.normal(size=(N, 2)).astype(dtype)
    else:
        targets = rng.integers(3, size=(N, 1)).astype(dtype)
    return network, X, targets, rng.uniform(0.5, 2, N).astype(dtype)


def log_likelihoods(network, X, targets, weights):
    """Weighted log-likelihood of each depth, from the numpy forward pass and scipy's densities."""
    outputs, shared = network.outputs(X, DEPTH), network.shared(DEPTH)[:, None]
    name = network.architecture.likelihood.name
    noise = 1e-6 + np.exp(shared[..., :2, None])
    if name == "softmax":
        p = log_softmax(outputs, axis=2)
        return p[:, np.arange(N), targets[:, 0].astype(int)] @ weights
    if name == "gaussian":
        return norm.logpdf(targets, outputs, np.exp(0.5 * shared)).sum(axis=2) @ weights
    columns = outputs.reshape(DEPTH, N, 2, -1)
    if name == "student_t":
        place, scale = columns[..., 0], np.sqrt(np.exp(2 * columns[..., 1]) + noise[..., 0])
        return t.logpdf(targets, 1 + np.exp(shared[..., 2:]), place, scale).sum(axis=2) @ weights
    logits, means, log_scales = np.split(columns[..., :-1], 3, axis=-1)
    means = means + columns[..., -1:]
    terms = norm.logpdf(targets[:, :, None], means, np.sqrt(np.exp(2 * log_scales) + noise))
    return logsumexp(terms + log_softmax(logits, axis=3), axis=3).sum(axis=2) @ weights


def loss(network, X, targets, weights):
    """−ELBO / n without the terms of q(ℓ) alone."""
    values = log_likelihoods(network, X, targets, weights) - network.divergence(DEPTH)
    return -Q @ values / N


def exact_gradient(network, X, targets, weights):
    totals = np.zeros(DEPTH)
    data_gradient(network, DEPTH, Q, Q, X, targets, weights, float(N), totals)
    factors = np.zeros(2 * DEPTH)
    factors[::2], factors[1::2] = Q[::-1].cumsum()[::-1] / N, Q / N
    shrink(
        network.theta, network.centre, network.precision, network.starts, factors,
        network.gradient,
    )  # fmt: skip
    return network.gradient.copy(), totals


@pytest.mark.parametrize(
    ("kind", "likelihood"),
    [*product([*KINDS, SHRINKING], ["softmax", "mixture"]), *product(["dense"], LAWS)],
)
def test_gradient(kind, likelihood):
    data = make(kind, likelihood)
    network = data[0]
    found, totals = exact_gradient(*data)
    np.testing.assert_allclose(totals, log_likelihoods(*data), rtol=1e-9)
    numerical = np.empty_like(found)
    step = 1e-6
    for j in range(found.size):
        ends = []
        for sign in (1, -1):
            network.theta[j] += sign * step
            ends.append(loss(*data))
            network.theta[j] -= sign * step
        numerical[j] = (ends[0] - ends[1]) / (2 * step)
    np.testing.assert_allclose(found, numerical, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("kind", ["dense", "residual"])
def test_one_kernel_does_what_a_call_a_layer_does(kind):
    network, *data = make(kind, "mixture")
    fused, apart = np.zeros(DEPTH), np.zeros(DEPTH)
    data_gradient(network, DEPTH, Q, np.ones(DEPTH), *data, float(N), fused)
    found = network.gradient.copy()
    scratch = {"gradient": np.full(found.size, np.nan)}
    layered_gradient(network, DEPTH, Q, np.ones(DEPTH), *data, float(N), apart, scratch)
    np.testing.assert_allclose(fused, apart, rtol=1e-12)
    np.testing.assert_allclose(found, scratch["gradient"], rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_pieces_of_a_batch_add_up(kind, n_jobs, monkeypatch):
    network, *data = make(kind, "mixture")
    whole, cut = np.zeros(DEPTH), np.zeros(DEPTH)
    data_gradient(network, DEPTH, Q, Q, *data, float(N), whole)
    assert network.n_pieces(N, DEPTH) == 1
    found = network.gradient.copy()
    monkeypatch.setattr("skbayesnn.udn.network.WORK_A_PIECE", 1)
    assert network.n_pieces(N, DEPTH) == 4
    with Workers(n_jobs) as workers:
        data_gradient(network, DEPTH, Q, Q, *data, float(N), cut, workers)
    np.testing.assert_allclose(cut, whole, rtol=1e-12)
    np.testing.assert_allclose(network.gradient, found, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_float32_agrees_with_float64(kind):
    wide, _ = exact_gradient(*make(kind, "softmax"))
    narrow, _ = exact_gradient(*make(kind, "softmax", np.float32))
    np.testing.assert_allclose(narrow, wide, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_new_layers_change_no_output(kind):
    network, X, _, _ = make(kind, "gaussian")
    network.set_noise(np.full((DEPTH, 2), [-1.0, 0.5]))
    before, value = network.outputs(X, DEPTH), network.divergence(DEPTH)[-1]
    network.grow(DEPTH + 2)
    after = network.outputs(X, DEPTH + 2)
    np.testing.assert_array_equal(after[:DEPTH], before)
    for k in (DEPTH, DEPTH + 1):
        np.testing.assert_allclose(after[k], before[-1], atol=1e-12)
        np.testing.assert_allclose(network.shared(k + 1)[-1], [-1.0, 0.5])
    if kind == "dense":  # and a new dense layer costs nothing either
        np.testing.assert_allclose(network.divergence(DEPTH + 1)[-1], value)


def test_heads_step_at_full_weight_and_unused_blocks_stay():
    network, X, targets, weights = make("dense", "softmax", np.float32)
    before = network.theta.copy()
    q = np.array([0.0, 1.0])
    run_steps(network, 2, q, np.array([0.0, 1.0]), X, targets, weights, 2, 0.01, N)
    moved = [
        not np.array_equal(network.theta[a:b], before[a:b])
        for a, b in zip(network.starts[:-1], network.starts[1:], strict=True)
    ]
    assert moved == [True, False, True, True, False, False]
    assert list(network.adam.counts) == [3, 0, 3, 3, 0, 0]


def test_noise_can_be_held():
    network, X, targets, weights = make("dense", "gaussian", np.float32)
    before = network.shared(DEPTH)
    for learn in (False, True):
        # Neither the data nor its prior may pull at a noise that is held.
        network.learn_noise(learn)
        run_steps(network, DEPTH, Q, np.ones(DEPTH), X, targets, weights, N, 0.01, N)
        same = np.array_equal(network.shared(DEPTH), before)
        assert same is not learn


def test_variance_unit_speeds_up_the_noise():
    network, X, targets, weights = make("dense", "gaussian", np.float32)
    before = network.shared(DEPTH)
    run_steps(network, DEPTH, Q, np.ones(DEPTH), X, targets, weights, N, 0.01, N)
    change = np.abs(network.shared(DEPTH) - before)
    np.testing.assert_allclose(change, 0.01 * float(VARIANCE_UNIT), rtol=0.02)

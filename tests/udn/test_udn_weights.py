"""Weights of rows, and what held-out rows may and may not set."""

import numpy as np
import pytest

from skbayesnn.numerics.copies import noisy_counts
from skbayesnn.udn import UDNClassifier, UDNRegressor
from skbayesnn.udn.inference import LEAST_LOG_NOISE, OF_AN_ATOM, DepthInference, least_log_noise

_RNG = np.random.default_rng(0)
X = _RNG.uniform(-2, 2, (120, 1))
Y = np.sin(2 * X[:, 0]) + 0.2 * _RNG.normal(size=120)
LABELS = (Y > 0).astype(int)
WEIGHTS = _RNG.integers(0, 4, 120)


@pytest.mark.parametrize(("model", "y"), [(UDNClassifier, LABELS), (UDNRegressor, Y)])
def test_rows_without_weight_are_no_rows(model, y):
    new = model(max_iter=5, random_state=0)
    predictions = []
    for data in ((X, y, WEIGHTS), (X[WEIGHTS > 0], y[WEIGHTS > 0], WEIGHTS[WEIGHTS > 0])):
        new.fit(*data)
        predictions.append(new.predict_proba(X) if model is UDNClassifier else new.predict(X))
        new.partial_fit(*data[:2], sample_weight=data[2])
        predictions.append(new.predict_proba(X) if model is UDNClassifier else new.predict(X))
    np.testing.assert_array_equal(predictions[:2], predictions[2:])
    # Rows of the fit count as copies do, those of a stream as given.
    own = WEIGHTS[WEIGHTS > 0]
    of_fit = noisy_counts(own).sum() if model is UDNRegressor else len(own)
    assert new.n_samples_seen_ == pytest.approx(of_fit + WEIGHTS.sum())


def test_the_bound_counts_a_weight_as_rows():
    """One step with all rows: the same gradient, but for float32, from weights and from copies."""
    k = np.flatnonzero(WEIGHTS)
    repeated = np.repeat(k, WEIGHTS[k])
    thetas = []
    for rows, weights in ((k, WEIGHTS[k]), (repeated, np.ones(len(repeated)))):
        model = UDNRegressor(random_state=0)
        model._initialise(1, 120, model._law(1))
        inference = DepthInference(
            model._network, model._depth, X[rows], Y[rows, None], weights.astype(float), 50
        )
        # Adam divides by the size of the gradient: of a second step only both directions matter.
        loss = inference.epoch(np.arange(len(rows)), len(rows), 1e-3)
        second = inference.epoch(np.arange(len(rows)), len(rows), 1e-3)
        thetas.append([loss, second, *model._network.theta[:64]])
        assert inference.n_total == WEIGHTS.sum()
    np.testing.assert_allclose(*thetas, rtol=1e-4, atol=1e-5)


def test_fits_with_weights_and_with_copies_agree_but_for_chance():
    repeated = np.repeat(np.arange(120), WEIGHTS)
    grid = np.linspace(-1.8, 1.8, 30)[:, None]
    groups = []
    for data in ((X, Y, WEIGHTS), (X[repeated], Y[repeated], None)):
        options = {"max_iter": 120, "early_stopping": False, "batch_size": 64, "n_networks": 1}
        groups.append(
            [UDNRegressor(random_state=s, **options).fit(*data).predict(grid) for s in range(4)]
        )
    groups = np.array(groups)
    error = np.sqrt(groups.var(axis=1, ddof=1).sum(axis=0) / 4)
    difference = np.abs(groups[0].mean(axis=0) - groups[1].mean(axis=0))
    assert np.mean(difference / np.maximum(error, 0.01)) < 2.0


def test_scales_come_from_the_training_part():
    far = Y.copy()
    options = {"likelihood": "gaussian", "n_networks": 1, "max_iter": 2, "random_state": 0}
    model = UDNRegressor(**options).fit(X, Y)
    for row in range(120):
        far[:] = Y
        far[row] += 8.0  # more would be clipped
        other = UDNRegressor(**options).fit(X, far)
        if other._y_scale[0] < 0.8:
            break
    assert row < 119  # some row is held out
    np.testing.assert_array_equal(other._y_scale, model._y_scale)


@pytest.mark.parametrize("law", ["gaussian", "mixture"])
def test_a_row_is_not_scored_by_noise_that_it_set(law):
    model = UDNRegressor(likelihood=law, random_state=0)
    model._initialise(1, 120, model._law(1))
    held_out = (X[:4], np.array([[0.0], [0.0], [9.0], [0.0]]), np.array([1.0, 2.0, 1.0, 1.0]))
    inference = DepthInference(
        model._network, model._depth, X, Y[:, None], np.ones(120), 50, held_out=held_out
    )
    first = model._network.architecture.likelihood.first_noise
    for _ in range(12):
        inference.epoch(np.arange(120), 32, 1e-4)
    even, odd = inference.halves[:, 0, 0]
    assert even > first > odd  # the far row is in the first half
    shared = model._network.shared(1)
    np.testing.assert_allclose(shared[0, 0], (even + odd) / 2, rtol=1e-5)
    found, outputs = inference.held_out_log_densities(), inference.outputs
    far = slice(2, 3)
    shared = model._network.shared(len(outputs))
    shared[:, 0] = inference.halves[1, :, 0]
    terms = inference.law.log_densities(outputs[:, far], shared, held_out[1][far])[..., 0]
    q = model._depth.probabilities()
    np.testing.assert_allclose(np.exp(found[2]), q @ np.exp(terms[: len(q), 0]), rtol=1e-6)


def test_noise_is_no_narrower_than_rounding(rng):
    counts = rng.integers(0, 6, (50, 1)).astype(float)
    single, fine = np.full((50, 1), 2.0), rng.normal(size=(5000, 1))
    ones = np.ones(50)
    np.testing.assert_allclose(least_log_noise(counts, ones), np.log(1 / 12))
    np.testing.assert_allclose(least_log_noise(single, ones), LEAST_LOG_NOISE)
    # It has no steps.
    np.testing.assert_allclose(least_log_noise(fine, np.ones(5000)), LEAST_LOG_NOISE)
    model = UDNRegressor(random_state=0, max_iter=200, refit=False, n_networks=1)
    labels = np.round(X[:, 0])  # a function of the inputs: noise would fall to nothing
    model.fit(X, labels)
    law = model.predict_distribution(X)
    gap = np.median(np.diff(np.unique(labels)))
    assert np.sqrt(law.variances.min()) > 0.099 * gap


def test_gaussian_noise_ends_at_the_mean_square(rng):
    model = UDNRegressor(likelihood="gaussian", random_state=0)
    model._initialise(1, 120, model._law(1))
    held_out = X[:40], Y[:40, None], rng.uniform(1, 2, 40)
    inference = DepthInference(
        model._network, model._depth, X, Y[:, None], np.ones(120), 50, held_out=held_out
    )
    for _ in range(20):
        inference._learn_noise(1)
    squares = (inference.outputs[0, :, 0] - Y[:40]) ** 2
    for half in range(2):
        rows = slice(half, None, 2)
        expected = np.log(np.average(squares[rows], weights=held_out[2][rows]))
        assert abs(inference.halves[half, 0, 0] - expected) < 0.03  # half the least step


def test_temperature_is_the_best_for_the_held_out_rows(rng):
    model = UDNClassifier(gaussian_process=False, n_networks=1, max_iter=30, random_state=0).fit(
        X, rng.integers(2, size=120)
    )
    assert model.temperature_ > 1  # nothing can be learned: less certain than the network
    logits = model._network.outputs(model._scaled(X), model.n_layers_)
    odds = np.exp(logits[..., 1] - logits[..., 0]) ** (1 / model.temperature_)
    expected = model.depth_posterior_ @ (odds / (1 + odds))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected)


def test_noise_is_narrower_if_most_rows_have_one_value():
    counts, ones = np.array([0.0, 0, 0, 1, 2, 3, 1, 2, 3])[:, None], np.ones(9)
    weights = np.where(counts[:, 0] == 0, 3.0, 1.0)
    narrow = np.log(OF_AN_ATOM**2 / 12)
    np.testing.assert_allclose(least_log_noise(counts, ones), np.log(1 / 12))
    np.testing.assert_allclose(least_log_noise(counts, weights), narrow)
    copies = np.repeat(counts, weights.astype(int), axis=0)
    np.testing.assert_allclose(least_log_noise(copies, np.ones(len(copies))), narrow)


def test_many_zeros_are_predicted_as_zeros(rng):
    X = rng.uniform(-1, 1, (300, 1))
    y = np.where(X[:, 0] > 0.3, rng.poisson(3.0, 300), 0).astype(float)
    law = UDNRegressor(random_state=0, n_networks=1).fit(X, y).predict_distribution([[-0.8]])
    # A component as wide as rounding has 0.27 there.
    assert law.cdf(0.1)[0] - law.cdf(-0.1)[0] > 0.9

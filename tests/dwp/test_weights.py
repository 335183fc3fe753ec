"""A row of weight k is k equal rows, and one of weight 0 is none."""

import numpy as np
import pytest
import sklearn
from deep_wishart import wave
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayesnn import DeepWishartRegressor
from skbayesnn.dwp import objective as ob
from skbayesnn.dwp.collapsed import sparse_evidence
from skbayesnn.dwp.prediction import ExactOutput
from skbayesnn.dwp.sizes import LayerSizes, Noise, draw_noise
from skbayesnn.dwp.sparse_output import SparseOutput
from skbayesnn.gaussian_process.evidence import evidence, log_evidence
from skbayesnn.numerics.copies import noisy_counts

COUNTS = np.array([1, 3, 2, 1, 4, 1])
TIMES = np.repeat(np.arange(6), COUNTS)


def rows(n_targets=2, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(6, 2)), rng.normal(size=(6, n_targets))


def quick(**options):
    defaults = {"max_iter": 60, "n_inducing": 15, "n_posterior_draws": 20, "random_state": 0}
    return DeepWishartRegressor(**{**defaults, **options})


@pytest.mark.parametrize("points", [None, np.array([0, 2, 5])])
def test_evidence(points):
    X, Y = rows()
    log_noise = np.log([0.2, 0.5])
    if points is None:
        weighted = evidence(X, Y, COUNTS.astype(float), 0.4, log_noise)
        repeated = evidence(X[TIMES], Y[TIMES], np.ones(12), 0.4, log_noise)
    else:
        weighted = sparse_evidence(X, Y, COUNTS.astype(float), points, 0.4, log_noise)
        points = np.array([list(TIMES).index(i) for i in points])
        repeated = sparse_evidence(X[TIMES], Y[TIMES], np.ones(12), points, 0.4, log_noise)
    for j in (0, 2, 3):
        np.testing.assert_allclose(weighted[j], repeated[j], rtol=1e-9)
    # A row's gradient is the sum of those of its copies.
    summed = np.zeros((6, 2))
    np.add.at(summed, TIMES, repeated[1])
    np.testing.assert_allclose(weighted[1], summed, rtol=1e-7, atol=1e-9)


def test_evidence_of_the_start():
    X, Y = rows()
    theta = np.array([0.3, -0.2, 0.4, -1.0])
    weighted = log_evidence(theta, X, Y, COUNTS.astype(float))
    repeated = log_evidence(theta, X[TIMES], Y[TIMES], np.ones(12))
    np.testing.assert_allclose(weighted[0], repeated[0], rtol=1e-9)
    np.testing.assert_allclose(weighted[1], repeated[1], rtol=1e-7)


def test_bound_of_pseudo_observations():
    a = LayerSizes(2, 2, 4, 3, 2, "ab-gw")
    rng, (X, Y) = np.random.default_rng(0), rows()
    theta = 0.3 * rng.normal(size=a.size())
    for name, value in a.views(theta).items():
        if name.startswith(("left", "root")):
            value += np.eye(4)
    noise = draw_noise(a, rng, 2, 6)
    copies = Noise(noise.uniform, noise.normal, noise.rows[:, :, TIMES])
    # Weights are parts of their mean.
    weighted = ob.loss_and_gradient(a, theta, X, Y, COUNTS / 2.0, noise, 12)
    repeated = ob.loss_and_gradient(a, theta, X[TIMES], Y[TIMES], np.ones(12), copies, 12)
    np.testing.assert_allclose(weighted[0], repeated[0], rtol=1e-10)
    np.testing.assert_allclose(weighted[1], repeated[1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", [ExactOutput, SparseOutput])
def test_predictions_given_rows(kind):
    a = LayerSizes(2, 2, 4, 3, 1, "gw")
    rng, (X, Y) = np.random.default_rng(0), rows()
    theta, noise = 0.3 * rng.normal(size=a.size()), draw_noise(a, rng, 3, 1)
    points = [[np.array([0, 2, 5])], [np.array([0, 4, 11])]]
    points = points if kind is SparseOutput else [[], []]
    weighted = kind(a, theta, noise, X, Y, COUNTS.astype(float), *points[0])
    repeated = kind(a, theta, noise, X[TIMES], Y[TIMES], np.ones(12), *points[1])
    new = rng.normal(size=(5, 2))
    np.testing.assert_allclose(weighted.predict(new), repeated.predict(new), rtol=1e-8)
    if kind is SparseOutput:
        # The least of a smooth function is found to the root of the rounding.
        np.testing.assert_allclose(weighted.best_noise(), repeated.best_noise(), atol=1e-4)


@pytest.mark.parametrize(
    ("output", "tolerance"),
    # The exact output takes the same draws whatever the number of rows, so only rounding
    # differs, which grows over the steps. The others take other batches, draws and points: a
    # standard deviation of the noise.
    [("exact", 1e-3), ("sparse", 0.1), ("inducing", 0.1)],
)
def test_fit(output, tolerance):
    X, y = wave()
    counts = np.r_[np.zeros(10), np.full(3, 2), np.ones(47)].astype(int)
    weighted = quick(output=output).fit(X, y, counts)
    order = np.random.default_rng(2).permutation(np.repeat(np.arange(60), counts))
    repeated = quick(output=output).fit(X[order], y[order])
    known = noisy_counts(counts[counts > 0]).sum()
    for model in (weighted, repeated):
        assert model.n_samples_seen_ == pytest.approx(known)
    new = wave(30, seed=3)[0]
    for a, b in zip(
        weighted.predict(new, return_std=True), repeated.predict(new, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=tolerance)
    np.testing.assert_allclose(weighted.loss_curve_[-1], repeated.loss_curve_[-1], atol=tolerance)


def test_rows_without_weight_are_not_there():
    X, y = wave()
    weights = np.ones(60)
    weights[::3] = 0.0
    wrong = np.where(weights > 0, y, 1e6)
    for options in ({}, {"early_stopping": True}):
        a = quick(max_iter=5, **options).fit(X, wrong, weights)
        b = quick(max_iter=5, **options).fit(X[weights > 0], y[weights > 0])
        np.testing.assert_array_equal(a.predict(X), b.predict(X))


def test_held_out_rows_set_no_scale():
    """Whatever the held-out targets are, what they are scored by stays the same."""
    X, y = wave()
    fits = []
    for shift in (0.0, 1e3):
        model = quick(max_iter=1, early_stopping=True)
        chosen = np.flatnonzero(np.abs(y - y.mean()) < np.inf)
        other = _held_out(model, len(chosen))
        moved = y.copy()
        moved[other] += shift
        fits.append(model.fit(X, moved)._model.scales)
    np.testing.assert_array_equal(fits[0].y_offset, fits[1].y_offset)
    np.testing.assert_array_equal(fits[0].y_scale, fits[1].y_scale)


def _held_out(model, n):
    from skbayesnn.numerics.random import spawn_generators
    from skbayesnn.training.rows import hold_out

    return hold_out(n, model.validation_fraction, spawn_generators(model.random_state, 5)[3])[1]


def test_streams():
    X, y = wave(120)
    a, b = quick(), quick()
    for part in (slice(0, 60), slice(60, 120)):
        counts = np.r_[np.full(4, 2), np.ones(56)].astype(int)
        a.partial_fit(X[part], y[part], counts)
        b.partial_fit(X[part].repeat(counts, axis=0), y[part].repeat(counts))
    assert a.n_samples_seen_ == b.n_samples_seen_ == 128
    np.testing.assert_allclose(a.predict(X), b.predict(X), atol=0.1)


def test_routed_through_a_pipeline():
    X, y = wave()
    weights = np.arange(60) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        model = quick(max_iter=5).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), model).fit(
            X, y, sample_weight=weights
        )
    known = noisy_counts(weights[weights > 0]).sum()
    assert pipeline[-1].n_samples_seen_ == pytest.approx(known)

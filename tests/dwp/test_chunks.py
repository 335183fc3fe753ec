"""Rows in chunks, and threads that share them: the same gradients, the same bits."""

import numpy as np
import pytest
from deep_wishart import quick, random_model, wave
from gradients import assert_gradient
from sklearn.base import clone

from skbayesnn import DeepWishartClassifier
from skbayesnn.dwp import objective as ob
from skbayesnn.dwp.collapsed import collapsed_loss_and_gradient
from skbayesnn.dwp.passes import CHUNK, FEW_ROWS, chunks
from skbayesnn.dwp.sizes import LayerSizes, draw_noise
from skbayesnn.numerics.workers import Workers

SMALL = {
    "ab-gw": LayerSizes(2, 2, 4, 3, 2, "ab-gw"),
    "own scale, three layers": LayerSizes(2, 1, 4, 6, 3, "gw", own_scale=True),
    "deep Gaussian process": LayerSizes(2, 1, 4, 3, 1, "dgp"),
    "no hidden layer": LayerSizes(2, 1, 4, 2, 0, "gw"),
}


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr("skbayesnn.dwp.passes.FEW_ROWS", 4)
    monkeypatch.setattr("skbayesnn.dwp.passes.CHUNK", 3)
    # In single precision, chunks would differ from all rows by more than rounding.
    monkeypatch.setattr("skbayesnn.dwp.collapsed.SINGLE_NOISE", np.inf)


@pytest.mark.parametrize("n_rows", [1, FEW_ROWS, FEW_ROWS + 1, 7373])
def test_chunks_are_all_rows_in_order(n_rows):
    parts = chunks(n_rows)
    rows = np.concatenate([np.arange(n_rows)[part] for part in parts])
    np.testing.assert_array_equal(rows, np.arange(n_rows))
    sizes = [part.stop - part.start for part in parts]
    assert (len(parts) == 1) == (n_rows <= FEW_ROWS)
    assert len(parts) == 1 or max(sizes) <= CHUNK


def objectives(a, n_draws=2):
    """The bound, and the objective through four of the rows, as functions of threads."""
    theta, X, Y, noise = random_model(a, n_rows=10, n_draws=n_draws)
    weights = np.linspace(0.5, 2.0, 10)
    every_row = draw_noise(a, np.random.default_rng(1), n_draws, 10)
    points = np.array([0, 3, 4, 8])

    def bound(workers):
        return ob.loss_and_gradient(a, theta, X, Y, weights, every_row, 20, workers=workers)

    def collapsed(workers):
        return collapsed_loss_and_gradient(
            a, theta, X, Y, weights, noise, points=points, workers=workers
        )

    return theta, (bound, collapsed)


@pytest.mark.parametrize("name", SMALL)
def test_chunks_change_no_objective_and_no_gradient(name, request):
    a = SMALL[name]
    _, functions = objectives(a)
    with Workers(1) as alone:
        whole = [function(alone) for function in functions]
        request.getfixturevalue("small_chunks")
        assert len(chunks(10)) == 4
        for function, before in zip(functions, whole, strict=True):
            after = function(alone)
            np.testing.assert_allclose(after[0], before[0], rtol=1e-12)
            np.testing.assert_allclose(after[1], before[1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", SMALL)
def test_gradients_through_chunks(name, small_chunks):
    a = SMALL[name]
    theta, functions = objectives(a)
    with Workers(2) as two:
        for function in functions:
            exact = function(two)[1]
            assert_gradient(
                lambda function=function: function(two)[0],
                theta, exact, a.shapes(), np.random.default_rng(1),
            )  # fmt: skip


@pytest.mark.parametrize("n_draws", [1, 2, 6])
@pytest.mark.parametrize("name", SMALL)
def test_threads_change_no_bit(name, n_draws, small_chunks):
    """They share the rows of one draw, or several draws."""
    _, functions = objectives(SMALL[name], n_draws)
    for function in functions:
        results = []
        for n_threads in (1, 2, 3):
            with Workers(n_threads) as workers:
                results.append(function(workers))
        for loss, gradient, _ in results[1:]:
            assert loss == results[0][0]
            np.testing.assert_array_equal(gradient, results[0][1])


@pytest.mark.parametrize("output", ["exact", "sparse", "inducing"])
def test_n_jobs_changes_no_bit_of_a_regression(output, small_chunks):
    X, y = wave(80)
    model = quick(output=output, max_iter=12, batch_size=40, early_stopping=True)
    fits = [clone(model).set_params(n_jobs=n).fit(X, y) for n in (None, 2, 3)]
    for fit in fits[1:]:
        assert fit.loss_curve_ == fits[0].loss_curve_
        assert fit.validation_scores_ == fits[0].validation_scores_
        for one, other in zip(
            fits[0].predict(X, return_std=True), fit.predict(X, return_std=True), strict=True
        ):
            np.testing.assert_array_equal(one, other)
    streams = [clone(model).set_params(n_jobs=n).partial_fit(X, y).predict(X) for n in (1, 2)]
    np.testing.assert_array_equal(*streams)


def test_n_jobs_changes_no_bit_of_a_classification(small_chunks):
    X, y = wave(80)
    model = DeepWishartClassifier(
        n_inducing=15, max_iter=8, n_posterior_draws=8, random_state=0, batch_size=40
    )
    probabilities = [
        clone(model).set_params(n_jobs=n).fit(X, y > y.mean()).predict_proba(X) for n in (None, 2)
    ]
    np.testing.assert_array_equal(*probabilities)

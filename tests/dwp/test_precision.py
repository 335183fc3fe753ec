"""Rows through some of them in single precision, where there is noise enough."""

import numpy as np
import pytest
from deep_wishart import random_model

from skbayesnn.dwp import collapsed
from skbayesnn.dwp.collapsed import row_precision, sparse_evidence
from skbayesnn.dwp.sizes import LayerSizes
from skbayesnn.dwp.sparse_output import SparseOutput
from skbayesnn.dwp.triangular import multiply_lower


def test_single_precision_is_for_noise_and_many_rows():
    assert row_precision(3, 0.0, np.log([0.1, 0.01])) is np.float32
    assert row_precision(1, 0.0, np.log([0.1, 0.01])) is np.float64
    assert row_precision(3, 0.0, np.log([0.1, 0.0001])) is np.float64  # of either target
    assert row_precision(3, 5.0, np.log([0.1, 0.1])) is np.float64  # beside the height


@pytest.mark.parametrize("transposed", [False, True])
def test_triangular_product_in_single_precision(transposed):
    rng = np.random.default_rng(0)
    factor = np.asfortranarray(np.tril(rng.normal(size=(6, 6))))
    rows = rng.normal(size=(9, 6))
    expected = rows @ (factor if transposed else factor.T)
    single = multiply_lower(factor.astype(np.float32), rows.astype(np.float32), transposed)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-5)
    with pytest.raises(ValueError, match="one precision"):
        multiply_lower(factor, rows.astype(np.float32))


@pytest.fixture
def in_chunks(monkeypatch):
    monkeypatch.setattr("skbayesnn.dwp.passes.FEW_ROWS", 4)
    monkeypatch.setattr("skbayesnn.dwp.passes.CHUNK", 50)


def table(n=200):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 2))
    return X, np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]]), rng.uniform(0.5, 2.0, n)


def test_bound_is_that_in_double_precision(in_chunks, monkeypatch):
    given = *table(), np.arange(0, 200, 10), 0.3, np.log([0.1, 0.05])
    single = sparse_evidence(*given)
    monkeypatch.setattr(collapsed, "SINGLE_NOISE", np.inf)
    double = sparse_evidence(*given)
    assert single[0] != double[0]
    # Single precision times the root of the points' condition, which is 1e3 at most.
    assert single[0] == pytest.approx(double[0], rel=1e-4)
    for one, other in zip(single[1:4], double[1:4], strict=True):
        assert np.asarray(one).dtype == np.float64
        np.testing.assert_allclose(one, other, atol=2e-3 * np.abs(other).max())


@pytest.mark.parametrize("n_layers", [0, 2])
def test_predictions_are_those_in_double_precision(in_chunks, monkeypatch, n_layers):
    X, Y, weights = table()
    a = LayerSizes(2, 2, 5, 3, n_layers, "ab-gw")
    theta, _, _, noise = random_model(a, n_rows=9, n_draws=3)
    a.views(theta)["log_noise"][:] = np.log([0.1, 0.05])

    def output():
        return SparseOutput(a, theta, noise, X, Y, weights, np.arange(0, 200, 10))

    new = np.random.default_rng(1).normal(size=(30, 2))
    single, single_left_out = output().predict(new), output().left_out(2)
    monkeypatch.setattr(collapsed, "SINGLE_NOISE", np.inf)
    double, double_left_out = output().predict(new), output().left_out(2)
    assert not np.array_equal(single[0], double[0])
    for one, other in zip([*single, *single_left_out], [*double, *double_left_out], strict=True):
        np.testing.assert_allclose(one, other, atol=2e-3 * np.abs(other).max())

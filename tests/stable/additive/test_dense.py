"""Dense units: features, and the evidence of the amplitude and the noise."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import Matern

from skbayesnn.stable.additive import dense
from skbayesnn.stable.additive.dense import DenseBasis, log_evidence
from skbayesnn.stable.additive.dense_kernel import DenseKernel


@pytest.mark.parametrize("roughness", [0.0, 0.4])
def test_features_are_the_process_itself(roughness):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(30, 3)), rng.normal(size=(5, 3))
    kernel = DenseKernel(np.ones(3), roughness, np.array([0.0, 1.5, -0.5]))
    basis = DenseBasis(X, kernel, rng)
    np.testing.assert_allclose(basis.train @ basis.train.T, kernel(X, X), atol=1e-8)
    np.testing.assert_allclose(basis.train.T @ basis.train, np.diag(basis.squares), atol=1e-8)
    rows = np.vstack([X[:2], new])
    psi, left = basis.features(rows)
    np.testing.assert_allclose(psi[:2], basis.train[:2], atol=1e-6)
    np.testing.assert_allclose(psi @ basis.train.T, kernel(rows, X), atol=1e-6)
    np.testing.assert_allclose(left[:2], 0.0, atol=1e-6)
    known = kernel(rows, X) @ np.linalg.solve(kernel(X, X), kernel(X, rows))
    np.testing.assert_allclose(left, np.diag(kernel(rows, rows) - known), atol=1e-6)
    assert (left[2:] > 1e-3).all()


def test_kernel_lies_between_two_of_matern():
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(6, 2)), rng.normal(size=(4, 2))
    lengths = np.array([0.5, 2.0])
    smooth = Matern(lengths, nu=1.5)(A, B)
    np.testing.assert_allclose(DenseKernel(1 / lengths)(A, B), smooth, rtol=1e-12)
    # The limit of Cauchy weights at the scale that r has: √3 times the distance.
    rough = Matern(lengths / np.sqrt(3.0), nu=0.5)(A, B)
    np.testing.assert_allclose(DenseKernel(1 / lengths, 1.0)(A, B), rough, rtol=1e-12)
    both = 0.7 * smooth + 0.3 * rough
    np.testing.assert_allclose(DenseKernel(1 / lengths, 0.3)(A, B), both, rtol=1e-12)


def test_kernel_is_larger_in_some_places():
    rng = np.random.default_rng(2)
    A, B, slopes = rng.normal(size=(6, 2)), rng.normal(size=(4, 2)), np.array([3.0, -1.0])
    factors = [np.exp(x @ slopes / np.sqrt(1 + (x @ slopes) ** 2 / 9) / 2) for x in (A, B)]
    kernel = DenseKernel(np.ones(2), slopes=slopes)
    np.testing.assert_allclose(kernel(A, B), np.outer(*factors) * Matern(nu=1.5)(A, B), rtol=1e-12)
    assert factors[0].max() / factors[0].min() > 3.0
    # Beyond the rows it is as at their edge.
    edges = A.min(axis=0), A.max(axis=0)
    held = DenseKernel(np.ones(2), slopes=slopes, edges=edges)
    far = np.array([[20.0, 0.0], [-20.0, 30.0]])
    at_edges = np.array([[edges[1][0], 0.0], [edges[0][0], edges[1][1]]])
    np.testing.assert_allclose(held.factors(far), kernel.factors(at_edges))
    np.testing.assert_allclose(held(A, A), kernel(A, A))


def test_landmarks_approximate_a_smooth_process(monkeypatch):
    monkeypatch.setattr(dense, "MAX_EXACT", 100)
    monkeypatch.setattr(dense, "number_of_landmarks", lambda n_rows: n_rows // 2)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    kernel = DenseKernel(np.full(2, 1 / 1.5), slopes=np.array([0.5, 0.0]))
    basis = DenseBasis(X, kernel, rng)
    assert not basis.exact
    # In single precision, of columns up to 20 long.
    np.testing.assert_allclose(basis.train.T @ basis.train, np.diag(basis.squares), atol=1e-3)
    theta = rng.normal(size=basis.squares.size)
    np.testing.assert_allclose(basis.values(theta), basis.train @ theta, atol=1e-5)
    # A Matérn process is rough: the landmarks know all but a hundredth of its variance.
    missing = kernel(X, X) - basis.train @ basis.train.T
    assert np.diag(missing).mean() < 0.01


def test_evidence_is_the_density_of_both_noises():
    rng = np.random.default_rng(1)
    n, least = 12, 0.6
    basis = DenseBasis(rng.normal(size=(n, 1)), DenseKernel(np.ones(1)), rng)
    u, e, d = rng.normal(size=n), rng.normal(size=5), rng.exponential(size=5)
    t = u @ basis.train
    outside = u @ u - (t**2 / basis.squares).sum()
    values, exact = [], []
    for log_a, log_noise in ((0.0, 0.0), (0.7, -1.2)):
        values.append(
            log_evidence(
                t, basis.squares, outside, (e**2 / d).sum(), 5.0, n, least, log_a, log_noise
            )
        )
        noise = np.exp(log_noise)
        covariance = np.exp(log_a) * basis.train @ basis.train.T + least * noise * np.eye(n)
        exact.append(
            multivariate_normal(np.zeros(n), covariance).logpdf(u)
            - 0.5 * np.sum(e**2 / d / noise + log_noise)
        )
    np.testing.assert_allclose(values[1] - values[0], exact[1] - exact[0], atol=1e-8)


def test_more_landmarks_where_there_are_fewer_rows():
    numbers = [dense.number_of_landmarks(n) for n in (2001, 6000, 10_000, 20_000, 1_000_000)]
    assert numbers == [1000, 1000, 600, 300, 300]

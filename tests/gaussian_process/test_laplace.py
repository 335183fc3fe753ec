"""Laplace's approximation for classes, against scikit-learn, brute force and Monte Carlo."""

import numpy as np
import pytest
from scipy.integrate import nquad
from scipy.optimize import approx_fprime
from scipy.special import expit, log_expit, log_softmax, softmax
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from skbayesnn.gaussian_process.kernels import squared_exponential
from skbayesnn.gaussian_process.laplace import Laplace, class_draws

LOG_HEIGHT = np.log(4.0)


def kernel(left, right):
    return squared_exponential(left, right, LOG_HEIGHT)


@pytest.fixture
def rows(rng):
    return rng.normal(size=(12, 2)), rng.integers(0, 3, 12), rng.integers(1, 4, 12).astype(float)


def test_two_classes_agree_with_scikit_learn(rng):
    X, at = rng.normal(size=(40, 2)), rng.normal(size=(6, 2))
    codes = (X[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int)
    known = GaussianProcessClassifier(ConstantKernel(4.0) * RBF(1.0), optimizer=None)
    known.fit(X, codes)
    found = Laplace(kernel(X, X), codes, np.ones(40), 2)
    # Theirs stops when the evidence rises by less than 1e-10, ours when the posterior does.
    assert found.log_evidence == pytest.approx(known.log_marginal_likelihood_value_, abs=1e-4)
    np.testing.assert_allclose(found.probabilities[0], known.base_estimator_.pi_, atol=1e-5)
    p = class_draws(*found.predict(kernel(X, at), 4.0)).mean(axis=0)
    # Their integral is a sum of five error functions.
    np.testing.assert_allclose(p, known.predict_proba(at), atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_mode_is_stationary(rows, n_classes):
    X, codes, weights = rows
    codes, gram = codes % n_classes, kernel(X, X) + 1e-6 * np.eye(12)
    found = Laplace(gram, codes, weights, n_classes)
    root = np.linalg.cholesky(gram)

    def log_posterior(flat):
        """Of f = L u, where u is standard normal a priori."""
        u = flat.reshape(found.functions.shape)
        f = u @ root.T
        if n_classes == 2:
            logs = log_expit(np.where(codes == 1, f[0], -f[0]))
        else:
            logs = log_softmax(f, axis=0)[codes, np.arange(12)]
        return weights @ logs - 0.5 * np.sum(u * u)

    def slope(u):
        """By central differences, which err by 1e-10 of rounding and curvature."""
        return 0.5 * (approx_fprime(u, log_posterior, h) + approx_fprime(u, log_posterior, -h))

    h, mode = 1e-5, np.linalg.solve(root, found.functions.T).T.ravel()
    # The search stops where a step raises the log posterior by less than 1e-10.
    assert np.abs(slope(mode)).max() < 1e-4
    assert np.abs(slope(mode + 0.01)).max() > 0.005


def curvature(known, weights):
    """−∇∇ log p(y | f) of softmax, all functions of a row together."""
    p = known.probabilities
    n_classes, n = p.shape
    W = np.zeros((n_classes * n, n_classes * n))
    for i in range(n):
        at = np.arange(n_classes) * n + i
        W[np.ix_(at, at)] = weights[i] * (np.diag(p[:, i]) - np.outer(p[:, i], p[:, i]))
    return W


def test_evidence_and_predictions_are_those_of_the_definition(rows, rng):
    X, codes, weights = rows
    found = Laplace(kernel(X, X), codes, weights, 3)
    gram, W = np.kron(np.eye(3), kernel(X, X)), curvature(found, weights)
    logs = np.log(found.probabilities[codes, np.arange(12)])
    expected = weights @ logs - 0.5 * found.solved.ravel() @ found.functions.ravel()
    expected -= 0.5 * np.linalg.slogdet(np.eye(36) + gram @ W)[1]
    assert found.log_evidence == pytest.approx(expected, rel=1e-9)
    at = rng.normal(size=(4, 2))
    means, covariances = found.predict(kernel(X, at), 4.0)
    shrunk = np.linalg.inv(np.eye(36) + gram @ W)  # (K⁻¹ + W)⁻¹ = (I + K W)⁻¹ K
    for j in range(4):
        cross = np.kron(np.eye(3), kernel(X, at[[j]]))
        left = 4.0 * np.eye(3) - cross.T @ W @ shrunk @ cross
        np.testing.assert_allclose(covariances[j], left, atol=1e-9)
        np.testing.assert_allclose(means[j], cross.T @ found.solved.ravel(), atol=1e-9)


def test_the_evidence_of_two_rows_is_near_the_integral():
    X, codes = np.array([[0.0], [1.0]]), np.array([0, 1])
    gram = squared_exponential(X, X, 0.0)
    law = multivariate_normal(np.zeros(2), gram)

    def two(f, g):
        return expit(-f) * expit(g) * law.pdf([f, g])

    expected = np.log(nquad(two, [(-7, 7), (-7, 7)])[0])
    # Functions of unit variance leave the posterior nearly Gaussian.
    assert Laplace(gram, codes, np.ones(2), 2).log_evidence == pytest.approx(expected, abs=0.02)


def test_two_classes_are_softmax_of_two_functions(rows):
    """The difference of two functions has twice their covariance."""
    X, codes, weights = rows
    one = Laplace(2.0 * kernel(X, X), codes % 2, weights, 2)
    n = len(X)
    p = one.probabilities[0]
    f = np.array([-0.5, 0.5])[:, None] * one.functions
    indicators = (codes % 2 == np.arange(2)[:, None]).astype(float)
    both = np.array([1.0 - p, p])
    np.testing.assert_allclose(softmax(f, axis=0), both, atol=1e-12)
    # So scaled the mode of one is that of two: K⁻¹ f is the gradient.
    np.testing.assert_allclose(f, weights * (indicators - both) @ kernel(X, X), atol=1e-6)
    assert n == p.size


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_is_a_number_of_rows(rows, n_classes):
    X, codes, weights = rows
    codes = codes % n_classes
    many = np.repeat(np.arange(12), weights.astype(int))
    one = Laplace(kernel(X, X), codes, weights, n_classes)
    other = Laplace(kernel(X[many], X[many]), codes[many], np.ones(len(many)), n_classes)
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-6)
    at = np.array([[0.3, -0.2]])
    laws = one.predict(kernel(X, at), 4.0), other.predict(kernel(X[many], at), 4.0)
    for a, b in zip(*laws, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_gradient_is_that_of_differences(rng, n_classes):
    X, codes = rng.normal(size=(15, 2)), rng.integers(0, n_classes, 15)
    weights, gram = rng.integers(1, 3, 15).astype(float), kernel(X, X)
    change = rng.normal(size=(15, 15))
    change = change @ change.T
    found = np.sum(Laplace(gram, codes, weights, n_classes).gradient() * change)
    step = 1e-3
    up, down = (
        Laplace(gram + s * change, codes, weights, n_classes).log_evidence for s in (step, -step)
    )
    # The modes are known to 1e-5, and so is the evidence to 1e-6.
    assert found == pytest.approx((up - down) / (2 * step), rel=1e-3, abs=2e-3)


def test_a_start_changes_nothing(rows):
    X, codes, weights = rows
    plain = Laplace(kernel(X, X), codes, weights, 3)
    for start in (plain.solved, 50.0 * plain.solved, np.full((3, 12), 1e3)):
        other = Laplace(kernel(X, X), codes, weights, 3, start)
        np.testing.assert_allclose(other.functions, plain.functions, atol=1e-4)


def test_large_functions_and_many_equal_rows_are_no_trouble(rng):
    X = np.repeat(rng.normal(size=(5, 1)), 20, axis=0)
    for codes in (np.repeat([0, 1, 2, 0, 1], 20), rng.integers(0, 3, 100)):
        gram = squared_exponential(X, X, 8.0)  # as high as the search may go
        found = Laplace(gram, codes, np.ones(100), 3)
        assert np.isfinite(found.log_evidence)
        assert np.isfinite(found.gradient()).all()
        p = found.weights * (found.indicators - found.probabilities)
        np.testing.assert_allclose(p @ gram, found.functions, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_probabilities_are_means_over_the_functions(rng, k):
    means, root = 2.0 * rng.normal(size=(4, k)), rng.normal(size=(4, k, k))
    covariances = root @ root.transpose(0, 2, 1) / k + 0.5 * np.eye(k)
    found = class_draws(means, covariances).mean(axis=0)
    for j in range(4):
        f = rng.multivariate_normal(means[j], covariances[j], size=200_000)
        p = softmax(f, axis=1) if k > 1 else np.hstack([expit(-f), expit(f)])
        # The Monte Carlo error is below 0.001; the points are 256.
        np.testing.assert_allclose(found[j], p.mean(axis=0), atol=0.01)

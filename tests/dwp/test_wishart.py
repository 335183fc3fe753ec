"""Densities, draws and divergences of the generalised singular Wishart distributions."""

import numpy as np
import pytest
from gradients import differences
from scipy.stats import gamma, kstest, ncx2, wishart
from wishart_densities import draw, log_posterior, log_prior, log_volume

from skbayesnn.dwp import wishart as w

# Points and features: singular, square, more features than points.
SIZES = [(4, 2), (3, 3), (3, 6)]


def perturbed(posterior, n_points, freedom, seed=0, scale=0.15):
    """Parameters near the prior, with tails no lighter than its own."""
    rng = np.random.default_rng(seed)
    parameters = w.prior_parameters(posterior, n_points, freedom)
    for value in parameters.values():
        value += scale * rng.normal(size=value.shape)
    parameters["log_std"] += 0.3
    parameters["log_shape"] -= 0.2
    return parameters


def scale_factor(n_points, seed=1):
    A = np.random.default_rng(seed).normal(size=(n_points, n_points))
    return np.linalg.cholesky(A @ A.T / n_points + np.eye(n_points))


@pytest.mark.parametrize("posterior", w.POSTERIORS)
@pytest.mark.parametrize(("n_points", "freedom"), SIZES)
def test_mean_of_p_over_q_is_one(posterior, n_points, freedom):
    parameters = perturbed(posterior, n_points, freedom)
    draws = draw(parameters, np.random.default_rng(2), 30_000)
    log_ratio = log_prior(draws.factors, freedom) - log_posterior(draws)
    ratio = np.exp(log_ratio)
    error = ratio.std() / np.sqrt(len(ratio))
    assert error < 0.03  # so that the next line can fail
    assert abs(ratio.mean() - 1) < 4 * error


@pytest.mark.parametrize("posterior", w.POSTERIORS)
@pytest.mark.parametrize(("n_points", "freedom"), SIZES)
def test_divergence_is_the_mean_log_ratio(posterior, n_points, freedom):
    parameters = perturbed(posterior, n_points, freedom, scale=0.4)
    draws = draw(parameters, np.random.default_rng(3), 30_000)
    log_ratio = log_posterior(draws) - log_prior(draws.factors, freedom)
    error = log_ratio.std() / np.sqrt(len(log_ratio))
    value, _ = w.divergence(parameters, freedom)
    assert value > 10 * error
    assert abs(log_ratio.mean() - value) < 4 * error


@pytest.mark.parametrize("posterior", w.POSTERIORS)
@pytest.mark.parametrize(("n_points", "freedom"), SIZES)
def test_posterior_set_to_the_prior(posterior, n_points, freedom):
    parameters = w.prior_parameters(posterior, n_points, freedom)
    draws = draw(parameters, np.random.default_rng(0), 5)
    expected = log_prior(draws.factors, freedom)
    np.testing.assert_allclose(log_posterior(draws), expected, rtol=1e-12)
    value, gradient = w.divergence(parameters, freedom)
    assert abs(value) < 1e-12
    for part in gradient.values():  # the least divergence
        np.testing.assert_allclose(part, 0, atol=1e-10)


@pytest.mark.parametrize(("n_points", "freedom"), SIZES)
def test_reductions_are_exact(n_points, freedom):
    """GW ⊂ A-GW ⊂ AB-GW: densities, draws and divergences agree to the last bits."""
    full = perturbed("ab-gw", n_points, freedom)
    full["right"][:] = 0
    left = {k: v for k, v in full.items() if k != "right"}
    plain = {k: v for k, v in full.items() if k not in ("left", "right")}
    for larger, smaller in ((full, left), ({**left, "left": np.eye(n_points)}, plain)):
        a, b = (draw(p, np.random.default_rng(1), 3) for p in (larger, smaller))
        np.testing.assert_allclose(a.factors, b.factors, rtol=1e-14)
        np.testing.assert_allclose(log_posterior(a), log_posterior(b), rtol=1e-13)
        np.testing.assert_allclose(
            w.divergence(larger, freedom)[0], w.divergence(smaller, freedom)[0]
        )


@pytest.mark.parametrize(("n_points", "freedom"), [(3, 3), (3, 6)])
def test_density_of_the_gram_matrix(n_points, freedom):
    """Eq. 11 against scipy's Wishart density, for every scale matrix."""
    L = scale_factor(n_points)
    parameters = w.prior_parameters("gw", n_points, freedom)
    S = draw(parameters, np.random.default_rng(0), 4).factors
    found = log_prior(S, freedom) - log_volume(n_points, L)
    G = L @ S @ S.transpose(0, 2, 1) @ L.T
    expected = [wishart.logpdf(g, freedom, L @ L.T) for g in G]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("posterior", w.POSTERIORS)
@pytest.mark.parametrize(("n_points", "freedom"), [(3, 2), (3, 4), (4, 1)])
def test_posterior_density_by_numerical_volume(posterior, n_points, freedom):
    """Change of variables from T to the Gram matrix, with a numerical Jacobian."""
    parameters = perturbed(posterior, n_points, freedom)
    draws = draw(parameters, np.random.default_rng(0), 1)
    T = draws.bartlett[0]
    rank = T.shape[1]
    free = np.tril_indices(n_points, 0, rank)

    def gram(values):
        t = np.zeros_like(T)
        t[free] = values
        t = t if draws.right is None else t @ draws.right
        t = t if draws.left is None else draws.left @ t
        return (t @ t.T)[free]

    step = 1e-6  # the map is quadratic: a central difference is exact but for rounding
    steps = step * np.eye(len(free[0]))
    jacobian = [(gram(T[free] + e) - gram(T[free] - e)) / (2 * step) for e in steps]
    shape, rate = draws.shape, np.exp(parameters["log_shape"] - parameters["log_square"])
    diagonal = np.diagonal(T)
    log_t = gamma.logpdf(diagonal**2, shape, scale=1 / rate) + np.log(2 * diagonal)
    low = w.below(n_points, rank)
    std = np.exp(parameters["log_std"][low])
    log_n = -0.5 * ((T[low] - parameters["mean"][low]) / std) ** 2 - np.log(std)
    log_n -= 0.5 * np.log(2 * np.pi)
    expected = log_t.sum() + log_n.sum() - np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(log_posterior(draws)[0], expected, rtol=1e-7)


def test_log_volume_by_numerical_volume():
    L = scale_factor(4)
    S = np.random.default_rng(0).normal(size=(4, 2))
    free = np.tril_indices(4, 0, 2)

    def jacobian(factor):
        step = 1e-6
        base = np.tril(S)
        out = []
        for i, j in zip(*free, strict=True):
            e = np.zeros_like(S)
            e[i, j] = step
            up, down = factor @ (base + e), factor @ (base - e)
            out.append(((up @ up.T) - (down @ down.T))[free] / (2 * step))
        return np.linalg.slogdet(out)[1]

    np.testing.assert_allclose(log_volume(2, L), jacobian(L) - jacobian(np.eye(4)), rtol=1e-7)


def test_bartlett_draws_have_wishart_moments():
    L, freedom = scale_factor(4), 2
    S = draw(w.prior_parameters("gw", 4, freedom), np.random.default_rng(0), 40_000).factors
    G = L @ S @ S.transpose(0, 2, 1) @ L.T
    scale = L @ L.T
    np.testing.assert_allclose(G.mean(axis=0), freedom * scale, atol=0.15)
    variance = freedom * (scale**2 + np.outer(np.diagonal(scale), np.diagonal(scale)))
    np.testing.assert_allclose(G.var(axis=0) / variance, 1, atol=0.1)
    assert np.linalg.matrix_rank(G[0]) == freedom


def test_top_left_element_is_a_noncentral_chi_square():
    """Figure 1: A brings normal elements into the first row, where GW has only a gamma."""
    mean, std, freedom = 1.5, 0.8, 1
    parameters = w.prior_parameters("a-gw", 2, freedom)
    parameters["mean"][1, 0], parameters["log_std"][1, 0] = mean, np.log(std)
    parameters["left"][:] = [[0.0, 1.0], [1.0, 0.0]]
    S = draw(parameters, np.random.default_rng(0), 20_000).factors
    element = (S @ S.transpose(0, 2, 1))[:, 0, 0] / std**2
    assert kstest(element, ncx2(1, (mean / std) ** 2).cdf).pvalue > 0.01
    alpha = element.mean() ** 2 / element.var()
    assert kstest(element, gamma(alpha, scale=element.mean() / alpha).cdf).pvalue < 1e-6


@pytest.mark.parametrize("posterior", w.POSTERIORS)
@pytest.mark.parametrize(("n_points", "freedom"), SIZES)
def test_gradients(posterior, n_points, freedom):
    parameters = perturbed(posterior, n_points, freedom, scale=0.3)
    rng = np.random.default_rng(0)
    rank = min(n_points, freedom)
    uniform, normal = rng.uniform(size=(2, rank)), rng.normal(size=(2, n_points, rank))
    weights = rng.normal(size=(2, n_points, rank))

    def values():
        draws = w.Draws(parameters, uniform, normal)
        return np.array([w.divergence(parameters, freedom)[0], (weights * draws.factors).sum()])

    exact = (
        w.divergence(parameters, freedom)[1],
        w.Draws(parameters, uniform, normal).adjoint(weights),
    )
    for name, value in parameters.items():
        found = np.stack([gradient[name] for gradient in exact], axis=-1)
        np.testing.assert_allclose(found, differences(values, value), rtol=1e-6, atol=1e-8)

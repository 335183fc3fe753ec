"""Kernels, layers, output and the whole bound: brute force, limits, numerical differentiation."""

import numpy as np
import pytest
from gradients import assert_gradient
from scipy.stats import f
from wishart_densities import draw

from skbayesnn.dwp import objective as ob
from skbayesnn.dwp import start as st
from skbayesnn.dwp import wishart
from skbayesnn.dwp.layers import condition, condition_rows, features, row_features
from skbayesnn.dwp.output import output, output_divergence
from skbayesnn.dwp.passes import Pass
from skbayesnn.dwp.sizes import LayerSizes, draw_noise
from skbayesnn.gaussian_process.evidence import log_evidence, relevance_prior
from skbayesnn.gaussian_process.kernels import squared_exponential

SMALL = {
    "ab-gw, wide": LayerSizes(2, 2, 4, 6, 2, "ab-gw"),
    "ab-gw": LayerSizes(2, 1, 5, 3, 2, "ab-gw"),
    "a-gw, one degree of freedom": LayerSizes(2, 1, 4, 1, 1, "a-gw"),
    "gw, three layers": LayerSizes(2, 1, 4, 2, 3, "gw"),
    "deep Gaussian process": LayerSizes(2, 1, 4, 3, 2, "dgp"),
    "no hidden layer": LayerSizes(2, 1, 4, 2, 0, "gw"),
}


def random_model(a, n_rows=6, n_draws=2, seed=0):
    """A model away from its start, rows, targets and noise."""
    rng = np.random.default_rng(seed)
    theta = 0.4 * rng.normal(size=a.size())
    p = a.views(theta)
    p["inducing"][:] = rng.normal(size=p["inducing"].shape)
    p["root"] += np.eye(a.n_inducing)
    for k in range(a.n_layers):
        if f"left_{k}" in p:
            p[f"left_{k}"] += np.eye(a.n_inducing)
    X, y = rng.normal(size=(n_rows, a.n_inputs)), rng.normal(size=(n_rows, a.n_targets))
    return theta, X, y, draw_noise(a, rng, n_draws, n_rows)


def gram(A, B, height=1.0):
    return height * np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=2))


def test_squared_exponential():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(squared_exponential(A, B, np.log(3)), gram(A, B, 3), rtol=1e-13)
    far = 1e6 + A  # rounding never gives more than the height
    assert squared_exponential(far, far, 0.0).max() <= 1.0


@pytest.mark.parametrize("name", SMALL)
def test_gradient_of_the_bound(name):
    a = SMALL[name]
    theta, X, y, noise = random_model(a)
    weights = np.array([1.0, 0.3, 2.0, 1.0, 3.0, 0.7])

    def loss():
        return ob.loss_and_gradient(a, theta, X, y, weights, noise, 20)[0]

    _, exact, _ = ob.loss_and_gradient(a, theta, X, y, weights, noise, 20)
    assert_gradient(loss, theta, exact, a.shapes(), np.random.default_rng(1))
    assert np.count_nonzero(exact) > 0.5 * exact.size


def test_annealing_weighs_the_divergences_alone():
    a = SMALL["ab-gw"]
    theta, X, y, noise = random_model(a)
    weights = np.ones(len(X))
    values = [ob.loss_and_gradient(a, theta, X, y, weights, noise, 20, w) for w in (0.0, 0.5, 1.0)]
    assert values[0][0] == values[1][0] == values[2][0]
    middle = 0.5 * (values[0][1] + values[2][1])
    np.testing.assert_allclose(values[1][1], middle, atol=1e-12)


def test_bound_by_brute_force():
    """Algorithm 1 in plain numpy, from Gram matrices, and the bound from its draws."""
    a = SMALL["ab-gw"]
    theta, X, y, noise = random_model(a, n_draws=1)
    weights = np.array([1.0, 0.3, 2.0, 1.0, 3.0, 0.7])
    p = a.views(theta)
    scales = np.exp(p["log_length_scales"])
    Z, rows = p["inducing"] / scales, X / scales
    P, total = a.n_inducing, 0.0
    G = np.vstack([Z, rows]) @ np.vstack([Z, rows]).T
    for k in range(a.n_layers + 1):
        length = 1.0 if k == 0 else np.exp(p["log_lengths"][k - 1])
        d = np.diagonal(G)
        K = np.exp(p["log_heights"][k] - 0.5 * (d[:, None] - 2 * G + d) / length**2)
        if k == a.n_layers:
            break
        K = K / a.freedom
        jitter = 1e-8 * K[0, 0]
        S = wishart.Draws(a.layer(p, k), noise.uniform[k], noise.normal[k]).factors[0]
        L = np.linalg.cholesky(K[:P, :P] + jitter * np.eye(P))
        F = L @ S
        conditional = np.linalg.solve(L @ L.T, K[:P, P:])
        variance = K[0, 0] + jitter - (K[:P, P:] * conditional).sum(axis=0)
        F = np.vstack([F, conditional.T @ F + np.sqrt(variance)[:, None] * noise.rows[k, 0]])
        G = F @ F.T
        total -= wishart.divergence(a.layer(p, k), a.freedom)[0]
    R, v = np.tril(p["root"][0]), p["values"][0]
    S_u = np.linalg.inv(np.linalg.inv(K[:P, :P]) + R @ R.T)
    m_u = S_u @ R @ v
    A = np.linalg.solve(K[:P, :P], K[:P, P:]).T
    mean = A @ m_u
    f_variance = np.diagonal(K[P:, P:] - A @ (K[:P, :P] - S_u) @ A.T)
    noise_variance = np.exp(p["log_noise"][0])
    squares = (y[:, 0] - mean) ** 2 + f_variance
    log_likelihood = -0.5 * (np.log(2 * np.pi * noise_variance) + squares / noise_variance)
    prior = np.linalg.inv(K[:P, :P])
    kl = np.trace(prior @ S_u) + m_u @ prior @ m_u - P
    kl += np.linalg.slogdet(K[:P, :P])[1] - np.linalg.slogdet(S_u)[1]
    total += 20 / 6 * weights @ log_likelihood - 0.5 * kl
    loss = ob.loss_and_gradient(a, theta, X, y, weights, noise, 20)[0]
    np.testing.assert_allclose(loss, -total / 20, rtol=1e-7)
    means, variances = ob.predict(a, p, X, noise)
    np.testing.assert_allclose(means[0, 0], mean, rtol=1e-6)
    np.testing.assert_allclose(variances[0, 0], f_variance, rtol=1e-6)


def test_output_is_the_exact_posterior_for_data_at_the_inducing_points():
    rng = np.random.default_rng(0)
    Z, new, y, noise = rng.normal(size=(6, 2)), rng.normal(size=(3, 2)), rng.normal(size=6), 0.3
    o = output(Z, new, 0.5, np.eye(6) / np.sqrt(noise), y / np.sqrt(noise))
    K, k = gram(Z, Z, np.exp(0.5)), gram(new, Z, np.exp(0.5))
    C = K + noise * np.eye(6)
    np.testing.assert_allclose(o.mean, k @ np.linalg.solve(C, y), rtol=1e-9)
    variance = np.exp(0.5) - np.einsum("ij,ji->i", k, np.linalg.solve(C, k.T))
    np.testing.assert_allclose(o.variance, variance, rtol=1e-9)
    # With the exact posterior, log-likelihood − KL is the log evidence.
    o = output(Z, Z, 0.5, np.eye(6) / np.sqrt(noise), y / np.sqrt(noise))
    expected = -0.5 * (np.log(2 * np.pi * noise) + ((y - o.mean) ** 2 + o.variance) / noise).sum()
    evidence = -0.5 * (y @ np.linalg.solve(C, y) + np.linalg.slogdet(2 * np.pi * C)[1])
    np.testing.assert_allclose(expected - output_divergence(o)[0], evidence, rtol=1e-9)


def test_features_have_the_conditional_distribution():
    """Rows drawn given the inducing features: jointly, prior draws have covariance K."""
    rng = np.random.default_rng(0)
    Z, X, freedom, n = rng.normal(size=(3, 2)), rng.normal(size=(1, 2)), 4, 20_000
    c = condition(Z, -np.log(freedom))
    conditional = condition_rows(c, X)
    S = draw(wishart.prior_parameters("gw", 3, freedom), rng, n).factors
    grams = np.zeros((n, 4))
    for i in range(n):
        inducing = features(c, S[i], freedom)
        rows = row_features(conditional, S[i], rng.normal(size=(1, freedom)))
        grams[i] = np.append(inducing @ rows[0], rows[0] @ rows[0])
    expected = np.append(gram(Z, X)[:, 0], 1.0)
    np.testing.assert_allclose(grams.mean(axis=0), expected, atol=4 * grams.std() / np.sqrt(n))
    # A Wishart diagonal has variance 2 K² / ν.
    np.testing.assert_allclose(grams[:, 3].var(), 2 / freedom, rtol=0.05)


def test_many_features_tend_to_the_gaussian_process_of_the_deep_kernel():
    """ν → ∞: the hidden Gram matrix is its mean, and the model a Gaussian process."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 2))
    errors = []
    for freedom in (100, 100_00):
        a = LayerSizes(2, 1, 6, freedom, 1, "gw")
        p = a.views(np.zeros(a.size()))
        for name, value in wishart.prior_parameters("gw", 6, freedom).items():
            p[f"{name}_0"][:] = value
        p["inducing"][:] = X
        p["root"][0], p["values"][0] = 2 * np.eye(6), 2 * np.sin(X[:, 0])  # noise ¼
        noise = draw_noise(a, np.random.default_rng(1), 20, 1)
        new = np.array([[0.2, -0.4]])
        means, _ = ob.predict(a, p, new, noise)
        both = np.vstack([X, new])
        K = np.exp(-(1 - gram(both, both)))  # |f_i − f_j|² = 2 (1 − K_ij)
        expected = K[6, :6] @ np.linalg.solve(K[:6, :6] + 0.25 * np.eye(6), np.sin(X[:, 0]))
        errors.append(np.sqrt(np.mean((means - expected) ** 2)))
    assert errors[1] < 0.005
    assert errors[1] < 0.2 * errors[0]  # falls as ν^-½: a tenth


def test_evidence_gradient_and_fit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    Y = np.sin(2 * X[:, :1]) + 0.1 * rng.normal(size=(40, 1))
    theta, ones = np.array([0.3, -0.2, 0.4, -1.0]), np.ones(40)
    _, exact = log_evidence(theta, X, Y, ones)
    C = gram(X * np.exp(-theta[:2]), X * np.exp(-theta[:2]), np.exp(0.4)) + np.exp(-1) * np.eye(40)
    evidence = Y[:, 0] @ np.linalg.solve(C, Y[:, 0]) + np.linalg.slogdet(2 * np.pi * C)[1]
    np.testing.assert_allclose(log_evidence(theta, X, Y, ones)[0], 0.5 * evidence / 40, rtol=1e-7)
    for j in range(4):
        e = 1e-6 * np.eye(4)[j]
        ends = log_evidence(theta + e, X, Y, ones)[0] - log_evidence(theta - e, X, Y, ones)[0]
        np.testing.assert_allclose(exact[j], ends / 2e-6, atol=1e-8)
    found, _ = st.fit_gaussian_process(X, Y, ones, rng)
    assert found[1] > found[0] + 1.5  # the second input does not matter
    assert 0.07 < np.exp(0.5 * found[-1]) < 0.14


def test_rows_that_come_again_without_noise_are_found():
    """With the other starts alone the noise variance is 0.4 and the loss 0.5 nats more a row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    Y = X[:, :1] + 0.7 * rng.normal(size=(100, 1))
    theta, loss = st.fit_gaussian_process(
        np.vstack([X, X[:15]]), np.vstack([Y, Y[:15]]), np.ones(115), rng
    )
    assert np.exp(theta[-1]) < 1e-6
    assert loss < 0.6
    theta, _ = st.fit_gaussian_process(X, Y, np.ones(len(X)), rng)
    assert np.exp(theta[-1]) > 0.2


def test_groups_that_two_inputs_identify_are_found():
    """Forty groups of eight rows, each with a level of its own, and noise of 1 % of the variance.

    A smooth function of the price has a maximum of its own (a loss of 1.07, noise variance 0.43),
    where searches from long length scales end.
    """
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(40), 8)
    size, price = rng.normal(size=(40, 2)), rng.normal(size=(320, 3))
    X = np.hstack([price, size[group] + 0.02 * rng.normal(size=(320, 2))])
    Y = (-price[:, 0] + rng.normal(size=40)[group] + 0.1 * rng.normal(size=320))[:, None]
    X, Y = (X - X.mean(axis=0)) / X.std(axis=0), (Y - Y.mean()) / Y.std()
    theta, loss = st.fit_gaussian_process(X, Y, np.ones(320), rng)
    assert loss < 0.4
    assert np.exp(theta[-1]) < 0.05


def test_prior_of_the_length_scales():
    """Inverse squares of an F law: their density by scipy, times that of the log."""
    scales = np.array([0.5, 3.0])
    value, gradient = relevance_prior(np.log(scales), 0.2)
    # The density of log l is that of l⁻² times 2 l⁻²; largest at l = 1/0.2: the value is zero.
    expected = [-f.logpdf(x**-2, 1.5, 1.5, scale=0.04) + 2 * np.log(x) for x in (scales, 5.0)]
    np.testing.assert_allclose(value, (expected[0] - expected[1]).sum(), rtol=1e-12)
    for j in range(2):
        e = 1e-6 * np.eye(2)[j]
        ends = [relevance_prior(np.log(scales) + s * e, 0.2)[0] for s in (1, -1)]
        np.testing.assert_allclose(gradient[j], (ends[0] - ends[1]) / 2e-6, rtol=1e-7)


def test_many_inputs_of_which_two_matter():
    """The evidence alone finds noise of 0.05 instead of 0.3 here, 0.23 with the prior."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 60))
    Y = (np.sin(2 * X[:, :1]) + X[:, 1:2] + 0.3 * rng.normal(size=(150, 1))) / 1.2
    theta, _ = st.fit_gaussian_process(X, Y, np.ones(150), rng)
    assert set(np.argsort(theta[:-2])[:2]) == {0, 1}
    assert np.sort(theta[:-2])[2] > theta[1] + 1.0
    assert 0.2 < 1.2 * np.exp(0.5 * theta[-1]) < 0.36


@pytest.mark.parametrize("seed", range(3))
def test_an_input_that_matters_only_together_with_another(seed):
    """Without the start of few inputs, noise is 0.3 of the variance and the loss 0.5 nats more."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 60))
    f = np.cos(2 * X[:, 0]) + np.sin(X[:, 0]) * np.cos(2 * X[:, 1])
    Y = (f + 0.2 * rng.normal(size=150))[:, None]
    Y = (Y - Y.mean()) / Y.std()
    theta, _ = st.fit_gaussian_process(X, Y, np.ones(150), rng)
    assert set(np.argsort(theta[:-2])[:2]) == {0, 1}
    assert np.exp(theta[-1]) < 0.1


def test_race_on_some_rows(monkeypatch):
    """The winner goes on with all rows, to where all of them lead."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    Y = np.sin(2 * X[:, :1]) + 0.1 * rng.normal(size=(120, 1))
    whole, loss = st.fit_gaussian_process(X, Y, np.ones(120), rng)
    monkeypatch.setattr("skbayesnn.dwp.start._RACE_ROWS", 40)
    raced, again = st.fit_gaussian_process(X, Y, np.ones(120), rng)
    np.testing.assert_allclose(again, loss, atol=1e-4)
    np.testing.assert_allclose(raced[0], whole[0], atol=0.05)


def test_inducing_rows_are_spread_and_distinct():
    x = np.repeat(np.linspace(0, 5, 11), 3)[:, None]
    rows = st.choose_inducing(x, 11)
    np.testing.assert_allclose(np.sort(x[rows, 0]), np.linspace(0, 5, 11))
    assert len(st.choose_inducing(x[:4], 6)) == 6


@pytest.mark.parametrize("n_layers", [1, 3])
@pytest.mark.parametrize("posterior", [*wishart.POSTERIORS, "dgp"])
def test_start_passes_the_inputs_through(n_layers, posterior):
    """At the start, the last features are the inputs in units of their length scales."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = np.sin(2 * X[:, :1]) + 0.1 * rng.normal(size=(60, 1))
    a = LayerSizes(2, 1, 20, 2, n_layers, posterior)
    p = a.views(np.zeros(a.size()))
    st.start(a, p, X, Y, np.ones(60), rng)
    theta, _ = st.fit_gaussian_process(X, Y, np.ones(len(X)), rng)
    run = Pass(a, p, X, draw_noise(a, rng, 8, 60))
    wanted = squared_exponential(X * np.exp(-theta[:2]), X * np.exp(-theta[:2]), 0.0)
    for d in range(8):
        F = run.forward(d)[1][0].right
        # The noise of a pass-through is 0.03 of the features' size, a layer.
        assert np.abs(squared_exponential(F, F, 0.0) - wanted).max() < 0.3
    means, _ = ob.predict(a, p, X, draw_noise(a, rng, 8, 1))
    assert np.sqrt(np.mean((means.mean(axis=0)[0] - Y[:, 0]) ** 2)) < 0.2

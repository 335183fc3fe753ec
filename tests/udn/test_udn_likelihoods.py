"""Laws of the target: against scipy's densities, as Gaussians, and on data that need them."""

import numpy as np
import pytest
from scipy.special import logsumexp, psi
from scipy.stats import norm, t

from skbayesnn.predictive import PredictiveMixture
from skbayesnn.udn import UDNRegressor
from skbayesnn.udn.adjoints import digamma
from skbayesnn.udn.likelihoods import START_SPREAD, Likelihood, log_mean

LAWS = ["gaussian", "heteroscedastic", "student_t", "mixture"]


def outputs_and_shared(law, rng, n=6):
    outputs = rng.normal(size=(2, n, law.n_outputs))
    shared = rng.normal(size=(2, law.n_shared)) - 1.0
    return outputs, shared


@pytest.mark.parametrize("name", LAWS)
def test_gaussians_are_the_law(name, rng):
    law = Likelihood(name, 2, 3 if name == "mixture" else 1)
    outputs, shared = outputs_and_shared(law, rng)
    if name == "student_t":
        shared[:, 2:] = np.log([1.5, 6.0])
    targets = rng.normal(size=(6, 2))
    found = law.log_densities(outputs, shared, targets)
    log_weights, means, log_variances = law.gaussians(outputs, shared)
    for d in range(2):
        for k in range(2):
            mixture = PredictiveMixture(
                np.exp(log_weights[d, :, k]), means[d, :, k], np.exp(log_variances[d, :, k])
            )
            # Fifteen Gaussians stand for a Student's t.
            tolerance = 0.08 if name == "student_t" else 1e-9
            np.testing.assert_allclose(
                mixture.logpdf(targets[:, k]), found[d, :, k], atol=tolerance
            )


@pytest.mark.parametrize("dof", [1.3, 2.0, 4.0, 30.0])
def test_gaussians_of_a_student(dof):
    law = Likelihood("student_t", 1)
    y = np.linspace(-6, 6, 25)
    outputs = np.zeros((1, 25, 2))
    shared = np.array([[-50.0, np.log(dof - 1.0)]])
    np.testing.assert_allclose(
        law.log_densities(outputs, shared, y[:, None])[0, :, 0], t.logpdf(y, dof), atol=1e-5
    )
    log_weights, means, log_variances = law.gaussians(outputs, shared)
    mixture = PredictiveMixture(
        *(v[0, :, 0] for v in (np.exp(log_weights), means, np.exp(log_variances)))
    )
    np.testing.assert_allclose(mixture.cdf(y), t.cdf(y, dof), atol=2e-3)


def test_digamma():
    x = np.array([0.3, 1.0, 2.5, 7.9, 8.1, 300.0])
    np.testing.assert_allclose([digamma(v) for v in x], psi(x), rtol=1e-9)


def test_components_start_apart_and_the_last_is_rare_and_wide():
    start = Likelihood("mixture", 1, 4).start()
    logits, offsets, log_scales = start[:12].reshape(3, 4)
    np.testing.assert_allclose(
        offsets, [*START_SPREAD * norm.ppf([1 / 6, 0.5, 5 / 6]), 0.0], atol=1e-12
    )
    assert logits[3] < logits[:3].min() - 2
    assert log_scales[3] > log_scales[:3].max() + 2


def test_outliers_do_not_drown_the_mean():
    # A held-out outlier once raised the noise that rows share for good.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 2))
    f = np.sin(2 * X[:, 0])
    y = f + np.where(rng.random(1200) < 0.05, 3.0, 0.2) * rng.normal(size=1200)
    for seed in range(3):
        model = UDNRegressor(max_iter=80, random_state=seed).fit(X[:200], y[:200])
        error = np.abs(model.predict(X[200:]) - f[200:])
        assert np.median(error) < 0.25


def test_copies_of_rows_do_not_make_intervals_narrow():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=600)
    rows = rng.permutation(np.repeat(np.arange(100), 3))
    model = UDNRegressor(max_iter=150, random_state=0).fit(X[rows], y[rows])
    low, high = model.predict_interval(X[100:], coverage=0.9).T
    assert np.mean((low < y[100:]) & (y[100:] < high)) > 0.75


def test_the_location_is_free_to_depend_on_the_inputs_and_the_shape_less():
    np.testing.assert_array_equal(
        Likelihood("mixture", 1, 2).slope_factors() == 1, [0, 0, 0, 0, 0, 0, 1]
    )
    np.testing.assert_array_equal(Likelihood("student_t", 2).slope_factors() == 1, [1, 0, 1, 0])
    np.testing.assert_array_equal(Likelihood("gaussian", 2).slope_factors(), [1, 1])
    model = UDNRegressor(likelihood="mixture", n_components=2, width=3, random_state=0)
    model._initialise(1, 10, model._law(1))
    network = model._network
    network.grow(2)
    for k in range(2):
        head = network.precision[network.starts[2 * k + 1] : network.starts[2 * k + 2]]
        slopes = head[:21].reshape(3, 7) * network.weight_scale**2
        np.testing.assert_allclose(slopes, [[5, 5, 5, 5, 5, 5, 1]] * 3, rtol=1e-6)


def test_many_inputs_have_small_weights_unless_a_scale_is_given():
    for scale, first, others in (("auto", 0.1, 0.3), (0.5, 0.5, 0.5)):
        model = UDNRegressor(weight_scale=scale, width=3, random_state=0)
        model._initialise(100, 10, model._law(1))
        network = model._network
        network.grow(2)
        for k, expected in ((0, first), (2, others)):
            block = network.precision[network.starts[k] : network.starts[k + 1]]
            np.testing.assert_allclose(block, expected**-2, rtol=1e-6)


@pytest.mark.parametrize("name", LAWS)
def test_the_noise_curve_is_the_sum_of_log_densities(name, rng):
    law = Likelihood(name, 2, 3 if name == "mixture" else 1)
    outputs = rng.normal(size=(3, 20, law.n_outputs))
    shared = rng.normal(size=(3, law.n_shared))
    targets, weights = rng.normal(size=(20, 2)), rng.uniform(0.5, 2, 20)
    log_noises = rng.normal(-1, 1, (4, 3, 2))
    found = law.noise_curve(outputs, shared, log_noises, targets, weights)
    for i, log_noise in enumerate(log_noises):
        given = np.concatenate([log_noise, shared[:, 2:]], axis=1)
        terms = law.log_densities(outputs, given, targets)
        np.testing.assert_allclose(found[i], np.einsum("n,dnt->dt", weights, terms))


def test_log_densities_over_depths_are_those_of_scipy(rng):
    terms = 300 * rng.normal(size=(4, 10))
    for q in ([0.1, 0.2, 0.3, 0.4], [0.0, 0.5, 0.5, 0.0]):
        expected = logsumexp(terms, axis=0, b=np.array(q)[:, None])
        np.testing.assert_allclose(log_mean(terms, np.array(q)), expected)


def scaled_noise(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 1))
    return X, X[:, 0] + np.exp(2 * X[:, 0] - 1) * rng.normal(size=n)


def two_branches(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 1))
    return X, rng.choice([-2, 2], n) + X[:, 0] + 0.3 * rng.normal(size=n)


def heavy_tails(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 1))
    return X, X[:, 0] + 0.2 * rng.standard_t(1.5, n)


@pytest.mark.parametrize(
    ("data", "name", "least"),
    [
        (scaled_noise, "heteroscedastic", 0.15),
        (two_branches, "mixture", 0.5),
        (heavy_tails, "student_t", 0.3),
        (scaled_noise, "mixture", 0.1),
    ],
)
def test_laws_pay_where_they_hold(data, name, least):
    fresh = data(1000, 1)
    scores = [
        # A process beside the network has such noise with any of these likelihoods.
        UDNRegressor(likelihood=law, width=16, max_iter=60, gaussian_process=False, random_state=0)
        .fit(*data(400, 0))
        .log_predictive_density(*fresh)
        .mean()
        for law in ("gaussian", name)
    ]
    assert scores[1] > scores[0] + least


def test_predictions_do_not_depend_on_the_unit_of_y():
    X, y = two_branches(120, 0)
    densities = [
        UDNRegressor(likelihood="mixture", max_iter=5, random_state=0)
        .fit(X, scale * y + 3)
        .log_predictive_density(X, scale * y + 3)
        + np.log(scale)
        for scale in (1.0, 1e5)
    ]
    np.testing.assert_allclose(*densities, atol=1e-3)


def test_several_targets_have_a_mixture_each():
    X, y = two_branches(120, 0)
    model = UDNRegressor(
        n_components=2, n_networks=1, max_iter=5, gaussian_process=False, random_state=0
    )
    mixtures = model.fit(X, np.column_stack([y, -y])).predict_distribution(X)
    assert mixtures[1].means.shape == (120, 2 * model.n_layers_)
    assert not hasattr(model, "noise_variance_")

"""The Gaussian process of classes beside networks: its settings, its part, and its rows."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm

from skbayesnn.training.label_noise import LABEL_NOISES, LOG_PRIOR
from skbayesnn.udn import classes_beside
from skbayesnn.udn.classes_beside import (
    SHARES,
    SUM_CHANCES,
    SUM_STDS,
    SUMS,
    ClassesBeside,
    HeldOutClasses,
    calibration,
    log_likelihoods,
    most_rows,
    product,
)


@pytest.fixture
def rows(rng):
    X = rng.uniform(-2, 2, size=(150, 2))
    return X, (np.sin(2 * X[:, 0]) > 0).astype(int)


def some_probabilities(rng, *shape):
    return softmax(rng.normal(size=shape), axis=-1)


def test_a_product_is_normalised_and_one_of_them_at_the_ends(rng):
    by_depth, process = some_probabilities(rng, 2, 5, 3), some_probabilities(rng, 5, 3)
    np.testing.assert_allclose(product(by_depth, process, (1.0, 0.0)), by_depth, rtol=1e-12)
    np.testing.assert_allclose(product(by_depth, process, (0.0, 1.0))[1], process, rtol=1e-12)
    found = product(by_depth, process, (0.5, 0.8))
    ratio = by_depth[0, 0] ** 0.5 * process[0] ** 0.8
    np.testing.assert_allclose(found[0, 0], ratio / ratio.sum(), rtol=1e-12)


def test_certain_probabilities_stay_numbers():
    by_depth = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    process = np.array([[0.0, 1.0], [0.0, 1.0]])
    found = product(by_depth, process, (1.0, 0.5))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[0].sum(axis=-1), 1.0)
    logs = log_likelihoods(by_depth, np.ones(1), process, np.array([0, 1]), np.ones(2))
    assert np.isfinite(logs).all()


@pytest.mark.parametrize("flipped", [0.0, 0.2])
def test_exponents_are_posterior_means(rng, flipped):
    """By brute force over exponents and shares of random labels."""
    n, by_depth, q = 200, some_probabilities(rng, 3, 200, 3), np.array([0.5, 0.3, 0.2])
    process = softmax(4.0 * rng.normal(size=(n, 3)), axis=-1)
    codes = np.array([rng.choice(3, p=row) for row in process])
    codes = np.where(rng.random(n) < flipped, rng.integers(0, 3, n), codes)
    weights = rng.integers(1, 3, n).astype(float)
    exponents, label_noise = calibration(log_likelihoods(by_depth, q, process, codes, weights))
    priors, total = dict.fromkeys(SUMS, 0.0), np.zeros(4)
    for chance, std in zip(SUM_CHANCES, SUM_STDS, strict=True):
        densities = norm.pdf(SUMS, 1.0, std)
        for s, density in zip(SUMS, densities / densities.sum(), strict=True):
            priors[s] += chance * density
    for e, log_prior in zip(LABEL_NOISES, LOG_PRIOR, strict=True):
        for s in SUMS:
            for r in SHARES:
                p = np.tensordot(q, product(by_depth, process, (s * (1 - r), s * r)), axes=1)
                own = (1 - e) * p[np.arange(n), codes] + e / 3
                chance = np.exp(weights @ np.log(own) + log_prior) * priors[s]
                total += chance * np.array([1.0, s * (1 - r), s * r, e])
    np.testing.assert_allclose([*exponents, label_noise], total[1:] / total[0], rtol=1e-9)
    assert (label_noise > 0.1) == (flipped > 0)


def test_a_process_that_is_wrong_has_next_to_no_part(rng):
    codes = rng.integers(0, 2, 2000)
    right = np.where(codes[:, None] == np.arange(2), 0.9, 0.1)
    logs = log_likelihoods(right[None], np.ones(1), right[:, ::-1], codes, np.ones(2000))
    (a, b), label_noise = calibration(logs)
    assert b < 0.001 * a
    assert a > 2.0  # all labels are right
    assert label_noise < 0.001


def held_of(X, codes, n_networks, probabilities):
    """Networks that all say the same, each with another part of the rows held out."""
    parts = np.array_split(np.arange(len(X)), 5)[:n_networks]
    return [
        HeldOutClasses(
            np.setdiff1d(np.arange(len(X)), part), part, probabilities[None, part], np.ones(1)
        )
        for part in parts
    ]


def test_the_better_one_has_the_larger_part(rows, rng):
    X, codes = rows
    flat, sure = np.full((150, 2), 0.5), np.where(codes[:, None] == np.arange(2), 0.99, 0.01)
    weights = np.ones(150)
    one = ClassesBeside(X, codes, weights, held_of(X, codes, 2, flat), rng)
    other = ClassesBeside(X, codes, weights, held_of(X, codes, 2, sure), rng)
    assert one.weight > 0.9
    assert other.weight < 0.5
    noise = rng.integers(0, 2, 150)
    none = ClassesBeside(X, noise, weights, held_of(X, noise, 2, flat), rng)
    # Neither knows more: a product with what is flat changes nothing.
    p = none.process.probabilities(X)
    assert np.abs(p - 0.5).max() < 0.25


def test_the_process_is_given_all_rows_in_the_end(rows, rng):
    X, codes = rows
    flat = np.full((150, 2), 0.5)
    found = ClassesBeside(X, codes, np.ones(150), held_of(X, codes, 1, flat), rng)
    assert len(found.process.features) == 150


def test_rows_are_bounded_by_the_work(rows, rng, monkeypatch):
    X, codes = rows
    assert most_rows(8e6, 2) in (199, 200)
    assert most_rows(8e6, 8) in (99, 100)
    monkeypatch.setattr(classes_beside, "MOST_WORK", 50.5**3)
    flat = np.full((150, 2), 0.5)
    found = ClassesBeside(X, codes, np.ones(150), held_of(X, codes, 1, flat), rng)
    assert len(found.process.features) == 50


def test_many_held_out_rows_are_judged_by_some(rows, rng, monkeypatch):
    X, codes = rows
    judged = []
    monkeypatch.setattr(classes_beside, "MOST_HELD", 9)
    monkeypatch.setattr(
        classes_beside,
        "log_likelihoods",
        lambda *told: judged.append(told) or log_likelihoods(*told),
    )
    by_row = np.column_stack([np.arange(150.0), np.ones(150)])
    by_row /= by_row.sum(axis=1, keepdims=True)
    ClassesBeside(X, codes, np.ones(150), held_of(X, codes, 1, by_row), rng)
    by_depth, _, _, own, _ = judged[0]
    number = np.rint(by_depth[0, :, 0] / by_depth[0, :, 1]).astype(int)
    assert len(np.unique(number)) == 9
    np.testing.assert_array_equal(own, codes[number])

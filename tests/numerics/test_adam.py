"""Adam against the formulas of its paper."""

import numpy as np

from skbayesnn.numerics.adam import BETA_1, BETA_2, EPSILON, Adam


def reference(theta, gradients, rate):
    m, v = np.zeros_like(theta), np.zeros_like(theta)
    for t, g in enumerate(gradients, start=1):
        m = BETA_1 * m + (1 - BETA_1) * g
        v = BETA_2 * v + (1 - BETA_2) * g**2
        corrected = np.sqrt(v / (1 - BETA_2**t)) + EPSILON
        theta = theta - rate * m / (1 - BETA_1**t) / corrected
    return theta


def test_blocks_follow_the_formulas():
    rng = np.random.default_rng(0)
    theta, gradients = rng.normal(size=5), rng.normal(size=(7, 5))
    adam, moving = Adam([2, 3]), theta.copy()
    for g in gradients:
        adam.step(moving, g, np.array([0.1, 0.01]))
    np.testing.assert_allclose(moving[:2], reference(theta[:2], gradients[:, :2], 0.1), rtol=1e-10)
    np.testing.assert_allclose(moving[2:], reference(theta[2:], gradients[:, 2:], 0.01), rtol=1e-10)


def test_a_new_block_starts_fresh():
    rng = np.random.default_rng(0)
    theta, gradients = rng.normal(size=4), rng.normal(size=(6, 4))
    adam, moving = Adam([2]), theta.copy()
    for g in gradients[:3]:
        adam.step(moving[:2], g[:2], np.array([0.1]))
    adam.grow([2])
    for g in gradients[3:]:
        adam.step(moving, g, np.array([0.1, 0.1]))
    np.testing.assert_allclose(moving[:2], reference(theta[:2], gradients[:, :2], 0.1), rtol=1e-10)
    np.testing.assert_allclose(moving[2:], reference(theta[2:], gradients[3:, 2:], 0.1), rtol=1e-10)


def test_a_block_without_rate_stays_and_can_be_dropped():
    adam, theta = Adam([1, 2], dtype=np.float32), np.ones(3, dtype=np.float32)
    adam.step(theta, np.full(3, 2.0, dtype=np.float32), np.array([0.5, 0.0]))
    np.testing.assert_allclose(theta, [0.5, 1, 1], rtol=1e-4)
    assert list(adam.counts) == [1, 0]
    assert not adam.first[1:].any()
    adam.shrink(1)
    assert adam.first.shape == (1,)
    adam.reset()
    assert not adam.second.any()
    assert list(adam.counts) == [0]

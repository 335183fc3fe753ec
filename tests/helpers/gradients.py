"""Gradients by central differences."""

import numpy as np


def assert_gradient(loss, theta, gradient, blocks, rng, step=1e-5, most=5):
    """Compare a gradient with differences: some elements of every block, and all in a direction.

    Parameters
    ----------
    loss : callable
        Of nothing, at ``theta``, which is changed and put back.
    theta, gradient : ndarray of shape (n,)
    blocks : dict of str to tuple
        Shapes of the parts of ``theta``, in order.
    rng : numpy.random.Generator
    """
    directions, begin = [rng.normal(size=theta.size)], 0
    for shape in blocks.values():
        size = int(np.prod(shape))
        for j in rng.permutation(size)[:most]:
            directions.append(np.eye(1, theta.size, begin + j)[0])
        begin += size
    start = theta.copy()
    for direction in directions:
        ends = []
        for shift in (step, -step):
            theta[:] = start + shift * direction
            ends.append(loss())
        theta[:] = start
        # Truncation is about step² = 1e-10, rounding 1e-15 / step = 1e-10, a random direction
        # has the third derivatives of all.
        np.testing.assert_allclose(
            gradient @ direction, (ends[0] - ends[1]) / (2 * step), rtol=1e-6, atol=2e-8
        )

"""Gradients by differences."""

import numpy as np


def difference(function, x, direction, step=3e-4):
    """The derivative of a function along a direction, from four points.

    Truncation is step⁴ = 1e-14 and rounding 1e-16 / step = 3e-13, both times what a function
    makes of them: with two points neither could be below 1e-10.

    Parameters
    ----------
    function : callable
        Of nothing, at ``x``, which is changed and put back.
    x, direction : ndarray of the same shape
    """
    start, ends = x.copy(), []
    for steps in (1, -1, 2, -2):
        x[...] = start + steps * step * direction
        ends.append(function())
    x[...] = start
    return (8 * (ends[0] - ends[1]) - (ends[2] - ends[3])) / (12 * step)


def differences(function, x, step=3e-4):
    """The derivatives by every entry of x, in its shape; those of arrays along last axes."""
    units = np.eye(x.size).reshape(-1, *x.shape)
    found = np.array([difference(function, x, unit, step) for unit in units])
    return found.reshape(*x.shape, *found.shape[1:])


def assert_gradient(loss, theta, gradient, blocks, rng, most=5):
    """Compare a gradient with differences: some elements of every block, and all in a direction.

    Parameters
    ----------
    loss : callable
        Of nothing, at ``theta``.
    theta, gradient : ndarray of shape (n,)
    blocks : dict of str to tuple
        Shapes of the parts of ``theta``, in order.
    rng : numpy.random.Generator
    """
    whole, begin = rng.normal(size=theta.size), 0
    directions = [whole / np.linalg.norm(whole)]
    for shape in blocks.values():
        size = int(np.prod(shape))
        for j in rng.permutation(size)[:most]:
            directions.append(np.eye(1, theta.size, begin + j)[0])
        begin += size
    for direction in directions:
        # Errors of differences are up to 1e-9 where rows share noise that is nearly zero.
        np.testing.assert_allclose(
            gradient @ direction, difference(loss, theta, direction), rtol=1e-6, atol=2e-8
        )

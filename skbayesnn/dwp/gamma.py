"""Gamma variables as smooth functions of their shape, at a fixed uniform variable."""

from scipy.special import gammaincinv

# Relative step of the difference quotient: quantiles are accurate to about 1e-14, so
# rounding (1e-14 / step) and truncation (step⁴) are both near 1e-11.
_STEP = 1e-3


def gamma_quantile(shape, uniform):
    """Quantile of a gamma variable of unit rate, and its derivative in the shape.

    A gamma draw by inversion of its distribution function at a uniform variable, which
    makes it differentiable in the shape. The derivative is a fourth-order central
    difference on a relative grid.

    Parameters
    ----------
    shape, uniform : ndarray
        Positive, and in (0, 1); of shapes that broadcast.

    Returns
    -------
    value, d_shape : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> value, slope = gamma_quantile(np.array([1.0]), np.array([0.5]))
    >>> value.round(6)  # the median of an exponential variable
    array([0.693147])
    """
    value = gammaincinv(shape, uniform)
    near = gammaincinv(shape * (1 + _STEP), uniform) - gammaincinv(shape * (1 - _STEP), uniform)
    far = gammaincinv(shape * (1 + 2 * _STEP), uniform) - gammaincinv(
        shape * (1 - 2 * _STEP), uniform
    )
    return value, (8 * near - far) / (12 * _STEP * shape)

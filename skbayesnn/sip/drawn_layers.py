"""Adjoint pairs for networks drawn many at a time: every draw has weights of its own.

Hidden arrays are (n_draws, n_rows, width), so that a layer of all the networks is one
batched matrix product (BLAS, outside) and one of the fused passes below. With the slope
a = :data:`SLOPE` a unit with a bend b is

    h(z) = (1 + a) z / 2 + (1 − a) √(z² + b) / 2,

a leaky ReLU for b = 0, and else smooth. It rises everywhere: its value tells its slope, and a pass
works in place.
"""

import numpy as np

from skbayesnn.numerics.jit import kernel

SLOPE = 0.1
"""Slope of a unit for inputs far below zero; above it is one."""


@kernel
def draw_weights(mean, log_std, noise, out):
    """Set ``out`` to ``mean + exp(log_std) * noise``: one network a row.

    Parameters
    ----------
    mean, log_std : ndarray of shape (n_weights,)
    noise, out : ndarray of shape (n_draws, n_weights)
    """
    last = noise.shape[0] - 1
    # The last row holds the deviations until its turn comes.
    for j in range(noise.shape[1]):
        out[last, j] = np.exp(log_std[j])
    for s in range(noise.shape[0]):
        for j in range(noise.shape[1]):
            out[s, j] = mean[j] + out[last, j] * noise[s, j]


@kernel
def draw_weights_adjoint(log_std, noise, d_out, d_mean, d_log_std):
    """Adjoint of :func:`draw_weights`; ``d_mean`` and ``d_log_std`` are overwritten."""
    for j in range(noise.shape[1]):
        d_mean[j] = 0
        d_log_std[j] = 0
    for s in range(noise.shape[0]):
        for j in range(noise.shape[1]):
            d_mean[j] += d_out[s, j]
            d_log_std[j] += d_out[s, j] * noise[s, j]
    for j in range(noise.shape[1]):
        d_log_std[j] *= np.exp(log_std[j])


@kernel
def bias_unit(hidden, bias, bend):
    """Add ``bias`` (n_draws, width) to ``hidden`` and take the units' values, in place.

    Arrays are C-contiguous, as in :func:`bias_unit_adjoint`: for others another version would be
    compiled, which is also slower.
    """
    slope, bend = hidden.dtype.type(SLOPE), hidden.dtype.type(bend)
    rise, turn = hidden.dtype.type(0.5 * (1.0 + SLOPE)), hidden.dtype.type(0.5 * (1.0 - SLOPE))
    # Here and below a loop for each sort of unit, which lets the compiler work on several units at
    # once. Numbers are copied in loops: ``a[:] = b`` takes more than a second to compile.
    for s in range(hidden.shape[0]):
        for i in range(hidden.shape[1]):
            if bend == 0:
                for j in range(hidden.shape[2]):
                    z = hidden[s, i, j] + bias[s, j]
                    hidden[s, i, j] = slope * z if slope * z > z else z
            else:
                for j in range(hidden.shape[2]):
                    z = hidden[s, i, j] + bias[s, j]
                    hidden[s, i, j] = rise * z + turn * np.sqrt(z * z + bend)


@kernel
def bias_unit_adjoint(hidden, d_hidden, d_bias, bend):
    """Adjoint of :func:`bias_unit`: ``d_hidden`` becomes the gradient before the bias."""
    one, slope = hidden.dtype.type(1.0), hidden.dtype.type(SLOPE)
    # Of a unit with a bend, the slope is 2a root / ((1 + a) root - (1 - a) h), a the least slope.
    twice, more, less = slope + slope, one + slope, one - slope
    extra = slope * hidden.dtype.type(bend)
    for s in range(hidden.shape[0]):
        for j in range(hidden.shape[2]):
            d_bias[s, j] = 0
        for i in range(hidden.shape[1]):
            # The sums in the same loop: one of their own, which reads what was just written, takes
            # three times as long as all the rest.
            if bend == 0:
                for j in range(hidden.shape[2]):
                    g = d_hidden[s, i, j] * (one if hidden[s, i, j] > 0 else slope)
                    d_hidden[s, i, j] = g
                    d_bias[s, j] += g
            else:
                for j in range(hidden.shape[2]):
                    h = hidden[s, i, j]
                    root = np.sqrt(h * h + extra)
                    g = d_hidden[s, i, j] * (twice * root / (more * root - less * h))
                    d_hidden[s, i, j] = g
                    d_bias[s, j] += g


@kernel
def read_out_adjoint(hidden, d_values, weights, d_hidden, d_bias):
    """Adjoint of ``hidden @ weights``, through the last :func:`bias_unit`, of bend 0, at once.

    Parameters
    ----------
    hidden : ndarray of shape (n_draws, n_rows, width)
        After the leaky ReLU.
    d_values : ndarray of shape (n_draws, n_rows)
    weights : ndarray of shape (n_draws, width)
    d_hidden : ndarray of shape (n_draws, n_rows, width)
        Set to the gradient before bias and leaky ReLU.
    d_bias : ndarray of shape (n_draws, width)
    """
    one, slope = hidden.dtype.type(1.0), hidden.dtype.type(SLOPE)
    for s in range(hidden.shape[0]):
        for j in range(hidden.shape[2]):
            d_bias[s, j] = 0
        for i in range(hidden.shape[1]):
            d = d_values[s, i]
            for j in range(hidden.shape[2]):
                g = d * weights[s, j] * (one if hidden[s, i, j] > 0 else slope)
                d_hidden[s, i, j] = g
                d_bias[s, j] += g


@kernel
def features_adjoint(hidden, d_features, d_means, mean, scale, d_hidden, d_bias, d_scale, bend):
    """Adjoint of ``hidden @ mean`` and of ``scale * hidden``, through the last :func:`bias_unit`.

    Parameters
    ----------
    hidden : ndarray of shape (n_draws, n_rows, width)
        Values of the units.
    d_features : ndarray of shape (n_rows, at least n_draws * width)
        In ``scale * hidden``, the units of all draws in a row.
    d_means : ndarray of shape (n_draws, n_rows)
        In ``hidden @ mean``.
    mean, scale : ndarray of shape (width,)
    d_hidden, d_bias, d_scale : ndarray
        Set, in the shapes of ``hidden``, of the biases (n_draws, width) and of ``scale``.
        The first is the gradient before bias and unit.
    bend : float
    """
    one, slope = hidden.dtype.type(1.0), hidden.dtype.type(SLOPE)
    twice, more, less = slope + slope, one + slope, one - slope
    extra = slope * hidden.dtype.type(bend)
    width = hidden.shape[2]
    for j in range(width):
        d_scale[j] = 0
        for s in range(hidden.shape[0]):
            d_bias[s, j] = 0
    # Rows outside: so the largest array, of the features, is read in the order of memory.
    for i in range(hidden.shape[1]):
        for s in range(hidden.shape[0]):
            d, start = d_means[s, i], s * width
            # Slopes and sums as in bias_unit_adjoint.
            if bend == 0:
                for j in range(width):
                    h, f = hidden[s, i, j], d_features[i, start + j]
                    g = (f * scale[j] + d * mean[j]) * (one if h > 0 else slope)
                    d_hidden[s, i, j] = g
                    d_bias[s, j] += g
                    d_scale[j] += f * h
            else:
                for j in range(width):
                    h, f = hidden[s, i, j], d_features[i, start + j]
                    root = np.sqrt(h * h + extra)
                    g = (f * scale[j] + d * mean[j]) * (twice * root / (more * root - less * h))
                    d_hidden[s, i, j] = g
                    d_bias[s, j] += g
                    d_scale[j] += f * h

"""Pairs of a forward map and its adjoint, written for fused kernels.

Each adjoint takes what its forward map kept and the gradient in the output, and gives
the gradient in every input. All work in place on arrays of the caller, float32 or
float64, C-contiguous.
"""

import numpy as np

from skbayesnn.numerics.jit import kernel


@kernel
def product(a, b, out):
    """Set ``out`` (m, p) to ``a`` (m, k) times ``b`` (k, p)."""
    np.dot(a, b, out)


@kernel
def product_tn(a, b, out):
    """Set ``out`` (m, p) to the transpose of ``a`` (k, m) times ``b`` (k, p)."""
    np.dot(a.T, b, out)


@kernel
def product_nt(a, b, out):
    """Set ``out`` (m, p) to ``a`` (m, k) times the transpose of ``b`` (p, k)."""
    np.dot(a, b.T, out)


@kernel
def affine(inputs, weights, bias, out):
    """Set ``out`` (n, p) to ``inputs`` (n, k) times ``weights`` (k, p) plus ``bias`` (p,)."""
    product(inputs, weights, out)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] += bias[j]


@kernel
def affine_adjoint(inputs, d_out, d_weights, d_bias):
    """Gradient of :func:`affine` in its weights and bias; that in its inputs is
    ``product_nt(d_out, weights, d_inputs)``.
    """
    product_tn(inputs, d_out, d_weights)
    d_bias[:] = 0
    for i in range(d_out.shape[0]):
        for j in range(d_out.shape[1]):
            d_bias[j] += d_out[i, j]


@kernel
def affine_relu(inputs, weights, bias, out):
    """Set ``out`` to ``max(inputs @ weights + bias, 0)``; NaN stays NaN."""
    product(inputs, weights, out)
    zero = out.dtype.type(0.0)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            z = out[i, j] + bias[j]
            out[i, j] = zero if z < zero else z


@kernel
def affine_relu_adjoint(inputs, out, d_out, d_weights, d_bias):
    """Gradient of :func:`affine_relu` in its weights and bias.

    ``d_out`` is overwritten with the gradient before the activation, so that
    ``product_nt(d_out, weights, d_inputs)`` gives the gradient in the inputs.
    """
    zero = out.dtype.type(0.0)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            d_out[i, j] = d_out[i, j] if out[i, j] > zero else zero
    affine_adjoint(inputs, d_out, d_weights, d_bias)


@kernel
def image_patches(images, height, width, patches):
    """Set ``patches`` to the 3 × 3 neighbourhoods of every pixel, zero outside the image.

    Parameters
    ----------
    images : ndarray of shape (n * height * width, channels)
    height, width : int
    patches : ndarray of shape (n * height * width, 9 * channels)
    """
    channels = images.shape[1]
    n = images.shape[0] // (height * width)
    for i in range(n):
        for r in range(height):
            for c in range(width):
                row = (i * height + r) * width + c
                for k in range(9):
                    y, x = r + k // 3 - 1, c + k % 3 - 1
                    inside = 0 <= y < height and 0 <= x < width
                    source = (i * height + y) * width + x if inside else 0
                    for j in range(channels):
                        patches[row, k * channels + j] = images[source, j] if inside else 0


@kernel
def image_patches_adjoint(d_patches, height, width, d_images):
    """Add to ``d_images`` the gradient that :func:`image_patches` sends back."""
    channels = d_images.shape[1]
    n = d_images.shape[0] // (height * width)
    for i in range(n):
        for r in range(height):
            for c in range(width):
                row = (i * height + r) * width + c
                for k in range(9):
                    y, x = r + k // 3 - 1, c + k % 3 - 1
                    if 0 <= y < height and 0 <= x < width:
                        target = (i * height + y) * width + x
                        for j in range(channels):
                            d_images[target, j] += d_patches[row, k * channels + j]


@kernel
def softmax_log_loss(logits, labels, weights, scale, d_logits):
    """Softmax cross-entropy of each row, and ``scale`` times its gradient.

    Parameters
    ----------
    logits : ndarray of shape (n, n_classes)
    labels : ndarray of shape (n, 1)
        The class numbers, in the type of the logits.
    weights : ndarray of shape (n,)
    scale : float
    d_logits : ndarray of shape (n, n_classes)
        Set to ``scale`` times the gradient of the weighted sum of -log p in the logits;
        may be ``logits`` itself.

    Returns
    -------
    total : float
        Weighted sum of log p over the rows, accumulated in float64.
    """
    kind = logits.dtype.type
    total = 0.0
    for i in range(logits.shape[0]):
        label = int(labels[i, 0])
        top = logits[i, 0]
        for j in range(1, logits.shape[1]):
            top = max(top, logits[i, j])
        chosen = logits[i, label] - top
        mass = kind(0.0)
        for j in range(logits.shape[1]):
            e = np.exp(logits[i, j] - top)
            d_logits[i, j] = e
            mass += e
        total += weights[i] * (chosen - np.log(mass))
        factor = kind(scale) * weights[i]
        for j in range(logits.shape[1]):
            d_logits[i, j] *= factor / mass
        d_logits[i, label] -= factor
    return total


@kernel
def gaussian_log_loss(means, targets, log_variances, weights, scale, d_means, d_log_variances):
    """Gaussian -log density, one variance a target, and ``scale`` times its gradient.

    Parameters
    ----------
    means, targets : ndarray of shape (n, n_targets)
    log_variances : ndarray of shape (n_targets,)
    weights : ndarray of shape (n,)
    scale : float
    d_means, d_log_variances : ndarray of shapes (n, n_targets) and (n_targets,)
        Set to ``scale`` times the gradients of the weighted sum of -log p; ``d_means``
        may be ``means`` itself.

    Returns
    -------
    total : float
        Weighted sum of log p over rows and targets, accumulated in float64.
    """
    kind = means.dtype.type
    total = 0.0
    for t in range(means.shape[1]):
        precision = np.exp(-log_variances[t])
        squares = 0.0
        mass = 0.0
        for i in range(means.shape[0]):
            r = means[i, t] - targets[i, t]
            squares += weights[i] * r * r
            mass += weights[i]
            d_means[i, t] = kind(scale) * weights[i] * precision * r
        total -= 0.5 * (squares * precision + mass * (log_variances[t] + np.log(2.0 * np.pi)))
        d_log_variances[t] = kind(scale * 0.5 * (mass - squares * precision))
    return total

"""Layers for images: convolutions with stride, pooling and normalisation."""

from dataclasses import dataclass

import numpy as np

from skbayesnn.numerics.jit import kernel
from skbayesnn.udn.adjoints import affine_relu, product_nt, product_tn
from skbayesnn.udn.layers import Layer

STEADY = 1e-5
"""Added to variances that are divided by."""
BLOCK = 1 << 15
"""Numbers of the patches that are worked on at a time: they stay in the cache."""


@kernel
def image_patches(images, size, stride, patches):
    """Set ``patches`` to the neighbourhoods of every ``stride``-th pixel, zero outside the image.

    Parameters
    ----------
    images : ndarray of shape (n, height, width, channels)
    size : int
        Side of the neighbourhoods, odd.
    stride : int
    patches : ndarray of shape (n, ⌈height / stride⌉, ⌈width / stride⌉, size² * channels)
    """
    height, width, channels = images.shape[1:]
    half = size // 2
    for i in range(images.shape[0]):
        for r in range(patches.shape[1]):
            for c in range(patches.shape[2]):
                out = patches[i, r, c]
                for k in range(size * size):
                    y, x = stride * r + k // size - half, stride * c + k % size - half
                    if 0 <= y < height and 0 <= x < width:
                        for j in range(channels):
                            out[k * channels + j] = images[i, y, x, j]
                    else:
                        for j in range(channels):
                            out[k * channels + j] = 0


@kernel
def image_patches_adjoint(d_patches, size, stride, d_images):
    """Add to ``d_images`` the gradient that :func:`image_patches` sends back."""
    height, width, channels = d_images.shape[1:]
    half = size // 2
    for i in range(d_images.shape[0]):
        for r in range(d_patches.shape[1]):
            for c in range(d_patches.shape[2]):
                out = d_patches[i, r, c]
                for k in range(size * size):
                    y, x = stride * r + k // size - half, stride * c + k % size - half
                    if 0 <= y < height and 0 <= x < width:
                        for j in range(channels):
                            d_images[i, y, x, j] += out[k * channels + j]


@kernel
def convolve_relu(images, size, stride, weights, bias, patches, out):
    """Set ``out`` to relu(patches W + b).

    Parameters
    ----------
    images : ndarray of shape (n, height, width, channels)
    size, stride : int
        As in :func:`image_patches`.
    weights : ndarray of shape (size² * channels, n_outputs)
    bias : ndarray of shape (n_outputs,)
    patches : ndarray of shape (some, rows, columns, size² * channels)
        Scratch for some of the images at a time.
    out : ndarray of shape (n * rows * columns, n_outputs)
    """
    some, area, fan_in = patches.shape[0], patches.shape[1] * patches.shape[2], patches.shape[3]
    for begin in range(0, images.shape[0], some):
        m = min(some, images.shape[0] - begin)
        image_patches(images[begin : begin + m], size, stride, patches[:m])
        flat = patches[:m].reshape((m * area, fan_in))
        affine_relu(flat, weights, bias, out[begin * area : (begin + m) * area])


@kernel
def convolve_adjoint(images, size, stride, weights, d_z, patches, part, d_weights, d_images):
    """Gradient of the convolution, given that in its output before the activation.

    Parameters
    ----------
    d_z : ndarray of shape (n * rows * columns, n_outputs)
    patches
        Scratch; see :func:`convolve_relu`.
    part : ndarray of shape (size² * channels, n_outputs)
        Scratch.
    d_weights : ndarray of shape (size² * channels, n_outputs)
        Set.
    d_images : ndarray of shape (n, height, width, channels)
        Added to.
    """
    some, area, fan_in = patches.shape[0], patches.shape[1] * patches.shape[2], patches.shape[3]
    d_weights[:] = 0
    for begin in range(0, images.shape[0], some):
        m = min(some, images.shape[0] - begin)
        image_patches(images[begin : begin + m], size, stride, patches[:m])
        flat = patches[:m].reshape((m * area, fan_in))
        rows = d_z[begin * area : (begin + m) * area]
        product_tn(flat, rows, part)
        d_weights += part
        product_nt(rows, weights, flat)
        image_patches_adjoint(patches[:m], size, stride, d_images[begin : begin + m])


class ConvolutionalLayer(Layer):
    """h' = pool(h + relu(patches(normalise(h)) W + b) U); layer 1 is pool(relu(patches(x) W + b)).

    With a stride of s, patches are those of every s-th pixel, and h is every s-th pixel.

    Parameters
    ----------
    number : int
        Counted from 1.
    input_shape : tuple (height, width, channels)
    width : int
        Channels of the output.
    kernel_size, stride, pooling, normalize
        See :class:`ConvolutionalLayers`.
    """

    def __init__(self, number, input_shape, width, kernel_size, stride, pooling, normalize):
        height, image_width, channels = input_shape
        self.first, self.width = number == 1, width
        self.kernel_size, self.stride = kernel_size, stride
        self.normalize = normalize and not self.first
        self.fan_in = kernel_size**2 * channels
        self.inner_shape = (-(-height // stride), -(-image_width // stride))
        self.windows = tuple(min(pooling, side) for side in self.inner_shape)
        sides = (a // b for a, b in zip(self.inner_shape, self.windows, strict=True))
        self.output_shape = (*sides, width)
        self.n_weights = self.fan_in * width
        self.n_parameters = self.n_weights + width + (0 if self.first else width**2)

    def start(self, generator):
        """U = 0 and small W; layer 1: He's, with offsets that differ."""
        theta = np.zeros(self.n_parameters)
        spread = np.sqrt((2.0 if self.first else 0.5) / self.fan_in)
        theta[: self.n_weights] = generator.normal(0.0, spread, self.n_weights)
        if self.first:
            theta[self.n_weights :] = generator.uniform(-1, 1, self.width)
        return theta

    def _parts(self, theta):
        weights = theta[: self.n_weights].reshape(self.fan_in, self.width)
        rest = theta[self.n_weights :]
        return weights, rest[: self.width], rest[self.width :].reshape(-1, self.width)

    def _patches(self, inputs):
        """Scratch for the neighbourhoods of some of the images."""
        size = self.inner_shape[0] * self.inner_shape[1] * self.fan_in
        some = min(len(inputs), max(1, BLOCK // size))
        return np.empty((some, *self.inner_shape, self.fan_in), dtype=inputs.dtype)

    def forward(self, theta, inputs):
        """See :class:`Layer`."""
        weights, bias, mixing = self._parts(theta)
        source, spread = _normalised(inputs) if self.normalize else (inputs, None)
        inner = np.empty((len(inputs) * int(np.prod(self.inner_shape)), self.width), inputs.dtype)
        steps = self.kernel_size, self.stride
        convolve_relu(source, *steps, weights, bias, self._patches(inputs), inner)
        full = (inner if self.first else inner @ mixing).reshape(
            len(inputs), *self.inner_shape, self.width
        )
        if not self.first:
            full += inputs[:, :: self.stride, :: self.stride]
        out = full if max(self.windows) == 1 else _windows(full, self.windows).max(axis=(2, 4))
        return out, (inner, full, out, source, spread)

    def adjoint(self, theta, inputs, kept, d_outputs):
        """See :class:`Layer`."""
        weights, _, mixing = self._parts(theta)
        inner, full, out, source, spread = kept
        d_full = d_outputs
        if max(self.windows) > 1:
            d_full = np.zeros_like(full)
            top = _windows(full, self.windows) == out[:, :, None, :, None]
            share = d_outputs / top.sum(axis=(2, 4), dtype=out.dtype)
            _windows(d_full, self.windows)[:] = top * share[:, :, None, :, None]
        rows = d_full.reshape(-1, self.width)
        d_z = rows * (inner > 0) if self.first else (rows @ mixing.T) * (inner > 0)
        d_weights, part = np.empty_like(weights), np.empty_like(weights)
        d_source = np.zeros_like(inputs)
        convolve_adjoint(
            source, self.kernel_size, self.stride, weights, d_z, self._patches(inputs), part,
            d_weights, d_source,
        )  # fmt: skip
        pieces = [d_weights.ravel(), d_z.sum(axis=0)]
        if not self.first:
            pieces.append((inner.T @ rows).ravel())
        if self.normalize:
            d_source = _normalised_adjoint(source, spread, d_source)
        if not self.first:
            d_source[:, :: self.stride, :: self.stride] += d_full
        return np.concatenate(pieces), d_source


def _windows(images, sides):
    """View of the images as windows of pixels; (n, rows, side, columns, side, channels)."""
    n, height, width, channels = images.shape
    rows, columns = height // sides[0], width // sides[1]
    whole = images[:, : rows * sides[0], : columns * sides[1]]
    a, b, c, d = whole.strides
    return np.lib.stride_tricks.as_strided(
        whole,
        (n, rows, sides[0], columns, sides[1], channels),
        (a, sides[0] * b, b, sides[1] * c, c, d),
    )


def _normalised(images):
    """Each image with mean 0 and variance 1 over pixels and channels; and the deviations."""
    centred = images - images.mean(axis=(1, 2, 3), keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=(1, 2, 3), keepdims=True) + STEADY)
    return centred / spread, spread


def _normalised_adjoint(normalised, spread, d_out):
    along = (normalised * d_out).mean(axis=(1, 2, 3), keepdims=True)
    return (d_out - d_out.mean(axis=(1, 2, 3), keepdims=True) - along * normalised) / spread


@dataclass(frozen=True)
class ConvolutionalLayers:
    """Layers for images, as the ``layer_generator`` of a network of unbounded depth.

    Layer 1 is ``pool(relu(patches(x) W + b))``, and the layers above are ``pool(h +
    relu(patches(normalise(h)) W + b) U)``. Patches are the neighbourhoods of pixels, with zeros
    beyond the edge. ``width`` of the estimator is the number of channels, and its ``image_shape``
    is the shape of the image in a row of X. ``layer_generator="convolutional"`` is the same as
    ``ConvolutionalLayers(pooling=(2,), normalize=True)``.

    Parameters
    ----------
    strides : tuple of int, default=()
        Steps from one neighbourhood to the next in layers 1, 2, …; 1 in layers beyond the tuple.
        With a stride of s, the output has one pixel for s × s pixels of the input.
    pooling : tuple of int, default=()
        Side of the windows of pixels in layers 1, 2, …; each layer keeps the largest value of a
        window, channel by channel. It is 1, which means no pooling, in layers beyond the tuple.
        Pixels that do not fill a window are left out; an image narrower than a window is one
        window.
    normalize : bool, default=False
        Whether layers above the first standardise each image, over all its pixels and channels,
        before the convolution.
    kernel_size : int, default=3
        Side of the neighbourhoods; odd.

    Examples
    --------
    The digits at half their resolution from the second layer on:

    >>> from sklearn.datasets import load_digits
    >>> from skbayesnn.udn import ConvolutionalLayers, UDNClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = UDNClassifier(
    ...     layer_generator=ConvolutionalLayers(pooling=(1, 2)), image_shape=(8, 8), width=8,
    ...     max_iter=10, random_state=0,
    ... )
    >>> model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.9
    True
    """

    strides: tuple = ()
    pooling: tuple = ()
    normalize: bool = False
    kernel_size: int = 3

    def __post_init__(self):
        for name in ("strides", "pooling"):
            values = getattr(self, name)
            if not isinstance(values, tuple) or any(not _counts(v) for v in values):
                raise ValueError(f"{name} must be a tuple of positive ints. Got {values!r}.")
        if not _counts(self.kernel_size) or self.kernel_size % 2 == 0:
            raise ValueError(f"kernel_size must be an odd int. Got {self.kernel_size!r}.")

    def __call__(self, number, input_shape, width):
        """Layer ``number``, counted from 1."""
        if len(input_shape) != 3:
            raise ValueError("convolutional layers need 'image_shape', the shape of the images.")
        stride, pooling = (
            values[number - 1] if number <= len(values) else 1
            for values in (self.strides, self.pooling)
        )
        return ConvolutionalLayer(
            number, input_shape, width, self.kernel_size, stride, pooling, self.normalize
        )


def _counts(value):
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value > 0

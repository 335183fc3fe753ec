"""Hidden layers f_k and output heads o_k (Nazaret and Blei, 2022).

Three kinds of layer, all a matrix product on the rows of a hidden array (n × positions,
channels), one position for a table, one a pixel for an image:

- dense: h' = relu(h W + b);
- residual: h' = h + relu(h W + b) U;
- convolutional: h' = h + relu(patches(h) W + b) U, patches the 3 × 3 neighbourhoods.

Layer 1 lifts the inputs to the width, h' = relu(x W + b), for every kind. A head is an
affine map of the flattened hidden array, and may have parameters that all rows share
(:mod:`skbayesnn.udn.likelihoods`). All parameters lie in one flat vector, block after block:
layer 1, head 1, layer 2, head 2, …

A new layer starts as a pass-through (W = I, or U = 0) and its head as a copy of the head
before it, so that creating it changes no output.
"""

from dataclasses import dataclass

import numpy as np

from skbayesnn.numerics.jit import helper
from skbayesnn.udn.adjoints import (
    affine_relu,
    affine_relu_adjoint,
    image_patches,
    image_patches_adjoint,
    product,
    product_nt,
    product_tn,
)
from skbayesnn.udn.likelihoods import Likelihood

DENSE, RESIDUAL, CONVOLUTIONAL = 0, 1, 2
KINDS = {"dense": DENSE, "residual": RESIDUAL, "convolutional": CONVOLUTIONAL}


@dataclass(frozen=True)
class Architecture:
    """Sizes of the blocks, and how each starts.

    Parameters
    ----------
    kind : {"dense", "residual", "convolutional"}
    n_inputs : int
        Columns of X.
    width : int
        Units, or channels, of each hidden layer.
    likelihood : skbayesnn.udn.likelihoods.Likelihood
        Says what the outputs of a head are.
    height, image_width : int, default=1
        Of the images, for convolutional layers.
    """

    kind: str
    n_inputs: int
    width: int
    likelihood: Likelihood
    height: int = 1
    image_width: int = 1

    @property
    def positions(self):
        """Rows of a hidden array for each row of X."""
        return self.height * self.image_width

    @property
    def channels(self):
        """Columns of the hidden array that X is reshaped to."""
        return self.n_inputs // self.positions

    @property
    def patch(self):
        """Neighbours that a layer looks at."""
        return 9 if self.kind == "convolutional" else 1

    def layer_size(self, k):
        """Parameters of layer ``k``, counted from 0."""
        if k == 0:
            return (self.patch * self.channels + 1) * self.width
        size = (self.patch * self.width + 1) * self.width
        return size if self.kind == "dense" else size + self.width**2

    @property
    def head_size(self):
        """Parameters of a head."""
        law = self.likelihood
        return (self.positions * self.width + 1) * law.n_outputs + law.n_shared

    def starts(self, depth):
        """Where each block begins, layers and heads in turn; (2 * depth + 1,) int64."""
        sizes = [s for k in range(depth) for s in (self.layer_size(k), self.head_size)]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def packed(self):
        """The sizes that kernels need; (8,) int64."""
        law = self.likelihood
        numbers = [
            KINDS[self.kind],
            self.height,
            self.image_width,
            self.channels,
            self.width,
            law.n_outputs,
            law.n_shared,
            self.patch,
        ]
        return np.array(numbers, dtype=np.int64)

    def centre(self, k):
        """Prior mean of layer ``k``: where the layer is a pass-through; zero for layer 0."""
        block = np.zeros(self.layer_size(k))
        if k > 0 and self.kind == "dense":
            block[: self.width**2] = np.eye(self.width).ravel()
        return block

    def start_layer(self, k, generator):
        """Starting values of layer ``k``: He's for layer 0, else a pass-through."""
        block = self.centre(k)
        if k == 0 or self.kind != "dense":
            fan_in = self.patch * (self.channels if k == 0 else self.width)
            n_weights = fan_in * self.width
            spread = np.sqrt(2.0 / fan_in) if k == 0 else np.sqrt(0.5 / fan_in)
            block[:n_weights] = generator.normal(0.0, spread, n_weights)
        if k == 0:  # kinks spread over the inputs, not all at the origin
            block[n_weights : n_weights + self.width] = generator.uniform(-1, 1, self.width)
        return block

    def apply_layer(self, k, block, hidden):
        """Output of layer ``k``, in numpy.

        Parameters
        ----------
        k : int
        block : ndarray of shape (layer_size,)
        hidden : ndarray of shape (n * positions, channels)

        Returns
        -------
        hidden : ndarray of shape (n * positions, width)
        """
        source = self.neighbourhoods(hidden) if self.kind == "convolutional" else hidden
        fan_in, width = source.shape[1], self.width
        bias = block[fan_in * width : (fan_in + 1) * width]
        active = np.maximum(source @ block[: fan_in * width].reshape(fan_in, width) + bias, 0.0)
        if k == 0 or self.kind == "dense":
            return active
        return hidden + active @ block[(fan_in + 1) * width :].reshape(width, width)

    def apply_head(self, block, hidden):
        """Outputs of a head, in numpy: (n, n_outputs)."""
        flat, n_outputs = hidden.reshape(-1, self.positions * self.width), self.likelihood.n_outputs
        end = flat.shape[1] * n_outputs
        return flat @ block[:end].reshape(-1, n_outputs) + block[end : end + n_outputs]

    def neighbourhoods(self, hidden):
        """3 × 3 neighbourhoods of every pixel, zero outside the image, in numpy."""
        images = hidden.reshape(-1, self.height, self.image_width, hidden.shape[1])
        padded = np.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
        h, w = self.height, self.image_width
        parts = [padded[:, r : r + h, c : c + w] for r in range(3) for c in range(3)]
        return np.concatenate(parts, axis=3).reshape(len(hidden), -1)


@helper
def layer_forward(shape, first, block, inputs, patches, out, inner):
    """One hidden layer.

    Parameters
    ----------
    shape : ndarray of shape (8,), int64
        From :meth:`Architecture.packed`.
    first : bool
        Whether this is layer 1, which lifts the inputs.
    block : ndarray of shape (layer_size,)
    inputs : ndarray of shape (rows, channels)
    patches : ndarray of shape (rows, 9 * channels), or None
        Scratch of convolutional layers, kept for the adjoint; None for the others, for which
        numba leaves out what images need.
    out : ndarray of shape (rows, width)
        Set to the layer's output.
    inner : ndarray of shape (rows, width)
        Set to the activations before U (residual kinds); kept for the adjoint.
    """
    kind, width = shape[0], shape[4]
    fan_in = shape[7] * (shape[3] if first else width)
    weights = block[: fan_in * width].reshape((fan_in, width))
    bias = block[fan_in * width : fan_in * width + width]
    source = inputs
    if patches is not None:
        image_patches(inputs, shape[1], shape[2], patches)
        source = patches
    if first or kind == 0:
        affine_relu(source, weights, bias, out)
    else:
        affine_relu(source, weights, bias, inner)
        begin = (fan_in + 1) * width
        product(inner, block[begin : begin + width * width].reshape((width, width)), out)
        for i in range(out.shape[0]):
            for j in range(width):
                out[i, j] += inputs[i, j]


@helper
def layer_adjoint(
    shape, first, block, inputs, patches, out, inner, d_out, d_block, d_inputs, scratch, d_patches
):
    """Adjoint of :func:`layer_forward`: ``d_block`` and, but for layer 1, ``d_inputs``.

    ``d_out`` is overwritten, ``patches`` recomputed; ``scratch`` is (rows, width) and
    ``d_patches`` as ``patches``.
    """
    kind, width = shape[0], shape[4]
    fan_in = shape[7] * (shape[3] if first else width)
    n_weights = fan_in * width
    weights = block[:n_weights].reshape((fan_in, width))
    d_weights = d_block[:n_weights].reshape((fan_in, width))
    d_bias = d_block[n_weights : n_weights + width]
    source = inputs
    if patches is not None:
        image_patches(inputs, shape[1], shape[2], patches)
        source = patches
    if first or kind == 0:
        affine_relu_adjoint(source, out, d_out, d_weights, d_bias)
        if not first:
            product_nt(d_out, weights, d_inputs)
    else:
        begin = n_weights + width
        mixing = block[begin : begin + width * width].reshape((width, width))
        product_tn(inner, d_out, d_block[begin : begin + width * width].reshape((width, width)))
        product_nt(d_out, mixing, scratch)
        affine_relu_adjoint(source, inner, scratch, d_weights, d_bias)
        if patches is not None:
            product_nt(scratch, weights, d_patches)
            d_inputs[:] = 0
            image_patches_adjoint(d_patches, shape[1], shape[2], d_inputs)
        else:
            product_nt(scratch, weights, d_inputs)
        for i in range(d_out.shape[0]):
            for j in range(width):
                d_inputs[i, j] += d_out[i, j]

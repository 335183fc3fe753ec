"""Which layers a network has, how large its heads are, and where their parameters lie.

A head is an affine map of the flattened hidden array, and may have parameters that all rows share
(:mod:`skbayesnn.udn.likelihoods`). All parameters lie in one flat vector, block after block:
layer 1, head 1, layer 2, head 2, …
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skbayesnn._validation import InvalidParameterError
from skbayesnn.udn.convolution import ConvolutionalLayers
from skbayesnn.udn.layers import DenseLayer, Layer, ResidualLayer, check_shape
from skbayesnn.udn.likelihoods import Likelihood

GENERATORS = {
    "dense": DenseLayer,
    "residual": ResidualLayer,
    "convolutional": ConvolutionalLayers(pooling=(2,), normalize=True),
}
"""The layer generators that have a name."""

MANY_INPUTS = 20
"""With more inputs than this a short fit says which of them matter."""
FUSED = ("dense", "residual")
"""Those whose passes are one kernel (:mod:`skbayesnn.udn.fused`), number in this order: on tables a
call a layer would cost as much as its work."""


@dataclass(frozen=True)
class Architecture:
    """The layers and heads of a network.

    Parameters
    ----------
    generator : {"dense", "residual", "convolutional"} or callable
        See :class:`skbayesnn.udn.Layer`.
    input_shape : tuple of int
        Shape of a row of X: (n_features,), or (height, width, channels).
    width : int
        What the generator is told.
    likelihood : skbayesnn.udn.likelihoods.Likelihood
        Says what the outputs of a head are.
    """

    generator: str | Callable
    input_shape: tuple
    width: int
    likelihood: Likelihood

    @property
    def fused(self):
        """Whether one kernel does whole passes."""
        return isinstance(self.generator, str) and self.generator in FUSED

    @property
    def bend(self):
        """Whether the relu of layer 1 is rounded; see :mod:`skbayesnn.udn.layers`."""
        regressor = self.likelihood.name != "softmax"
        return self.fused and regressor and self.input_shape[0] <= MANY_INPUTS

    def layer(self, number, below):
        """Make layer ``number``, counted from 1, and try it on two rows.

        Parameters
        ----------
        number : int
        below : tuple of int
            Shape of what the layer is given for one row.

        Raises
        ------
        InvalidParameterError
            What the generator returned is no layer, or its shapes do not fit.
        """
        if self.fused:
            return GENERATORS[self.generator](number, below, self.width, self.bend)
        if isinstance(self.generator, str):
            return GENERATORS[self.generator](number, below, self.width)
        where = f"layer_generator({number}, {below}, {self.width})"
        try:
            layer = self.generator(number, below, self.width)
            if not isinstance(layer, Layer):
                raise ValueError(
                    f"it returned {layer!r}, which is not a skbayesnn.udn.Layer: derive its class "
                    "from Layer."
                )
            theta = np.asarray(layer.start(np.random.default_rng(0)), dtype=np.float32)
            check_shape("start", theta, (layer.n_parameters,))
            check_shape("centre", layer.centre(), (layer.n_parameters,))
            inputs = np.ones((2, *below), dtype=np.float32)
            outputs, kept = layer.forward(theta, inputs)
            check_shape("forward", outputs, (2, *layer.output_shape))
            pair = layer.adjoint(theta, inputs, kept, np.zeros_like(outputs))
            check_shape("adjoint, in the parameters,", pair[0], theta.shape)
            check_shape("adjoint, in the inputs,", pair[1], inputs.shape)
        except Exception as error:
            raise InvalidParameterError(
                f"The 'layer_generator' parameter: {where} does not work: {error}"
            ) from error
        return layer

    def head_size(self, layer):
        """Parameters of the head after a layer."""
        law = self.likelihood
        return (int(np.prod(layer.output_shape)) + 1) * law.n_outputs + law.n_shared

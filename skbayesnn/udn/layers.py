"""Hidden layers f_k (Nazaret and Blei, 2022): what a layer is, and the layers of tables.

A layer generator makes them: ``layer_generator(number, input_shape, width)`` returns layer
``number``, counted from 1, a :class:`Layer`. It is what the paper calls the generator L of an
infinite network; the generators by name are "dense" and "residual" here, "convolutional" in
:mod:`skbayesnn.udn.convolution`. With w a layer's width,

- dense: h' = relu(h W + b);
- residual: h' = h + relu(h W + b) U;
- layer 1 of both lifts the inputs to the width, h' = relu(x W + b). In regressors of up to twenty
  inputs its relu is rounded, h' = (z + √(z² + c)) / 2 with z = x W + b
  (:data:`skbayesnn.udn.adjoints.CURVATURE`): where one layer is enough, kinks would be all that is
  not smooth. Its values are positive, so that layers above, started at the identity, pass them on
  unchanged. Classes are told apart by sharp boundaries, and the scout that looks for the inputs
  that matter starts with weights so small that a rounded relu would be a straight line.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal

import numpy as np

from skbayesnn.udn.adjoints import CURVATURE


class Layer(ABC):
    """One hidden layer: a map with parameters, and its adjoint.

    To write your own layers, subclass it, and pass a function that makes them as
    ``layer_generator``: ``layer_generator(number, input_shape, width)`` returns layer ``number``,
    counted from 1. ``input_shape`` is the shape of its input for one row: (n_features,) or
    ``image_shape`` with its channels for layer 1, and the ``output_shape`` of the previous layer
    otherwise. ``width`` is that of the estimator. Define the class and the function in a module
    that can be imported, so that fitted estimators can be pickled.

    A layer does not store parameters, but receives them in one vector ``theta``, of float32 in
    training and of float64 in predictions. New layers are added on top when the posterior of the
    depth reaches them. Training works best if a layer starts as the identity, as ``inputs +
    relu(...) U`` does with U = 0, because it then does not disturb the existing network. Rows must
    not influence each other (no batch normalisation), because the prediction for a row could then
    depend on other rows.

    Attributes
    ----------
    output_shape : tuple of int
        Shape of the output for one row. A head reads it flattened.
    n_parameters : int
        Length of ``theta``.

    See Also
    --------
    check_layer : Compares ``adjoint`` with numerical differentiation.
    ConvolutionalLayers : A generator of layers for images.

    Examples
    --------
    Layers that are periodic in their inputs:

    >>> import numpy as np
    >>> from skbayesnn.udn import Layer, UDNRegressor, check_layer
    >>> class Waves(Layer):
    ...     "h' = sin(x W + b) at layer 1, and h' = h + sin(h W + b) U above."
    ...     def __init__(self, number, input_shape, width):
    ...         (self.n_inputs,), self.width, self.first = input_shape, width, number == 1
    ...         self.output_shape = (width,)
    ...         self.n_weights = self.n_inputs * width
    ...         self.n_parameters = self.n_weights + width + (0 if self.first else width**2)
    ...     def start(self, generator):
    ...         theta = np.zeros(self.n_parameters)
    ...         theta[: self.n_weights] = generator.normal(0, self.n_inputs**-0.5, self.n_weights)
    ...         return theta
    ...     def parts(self, theta):
    ...         W, b, U = np.split(theta, [self.n_weights, self.n_weights + self.width])
    ...         return W.reshape(-1, self.width), b, U.reshape(-1, self.width)
    ...     def forward(self, theta, inputs):
    ...         W, b, U = self.parts(theta)
    ...         z = inputs @ W + b
    ...         return np.sin(z) if self.first else inputs + np.sin(z) @ U, z
    ...     def adjoint(self, theta, inputs, kept, d_outputs):
    ...         W, b, U = self.parts(theta)
    ...         d_z = np.cos(kept) * (d_outputs if self.first else d_outputs @ U.T)
    ...         pieces = [inputs.T @ d_z, d_z.sum(axis=0)]
    ...         if not self.first:
    ...             pieces.append(np.sin(kept).T @ d_outputs)
    ...         d_inputs = d_z @ W.T + (0 if self.first else d_outputs)
    ...         return np.concatenate([p.ravel() for p in pieces]), d_inputs
    >>> check_layer(Waves(1, (3,), 4), (3,))
    >>> check_layer(Waves(2, (4,), 4), (4,))
    >>> X = np.linspace(-2, 2, 200)[:, None]
    >>> y = np.sin(3 * X[:, 0])
    >>> model = UDNRegressor(layer_generator=Waves, max_iter=60, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    output_shape: tuple
    n_parameters: int

    @abstractmethod
    def start(self, generator):
        """Starting values.

        Parameters
        ----------
        generator : numpy.random.Generator

        Returns
        -------
        theta : ndarray of shape (n_parameters,)
        """

    def centre(self):
        """Prior mean of the parameters, (n_parameters,); zero unless a layer overrides it."""
        return np.zeros(self.n_parameters)

    @abstractmethod
    def forward(self, theta, inputs):
        """The map.

        Parameters
        ----------
        theta : ndarray of shape (n_parameters,)
        inputs : ndarray, rows of `input_shape`
            Of the same type as ``theta``. Do not change it.

        Returns
        -------
        outputs : ndarray, rows of `output_shape`
        kept : object
            Whatever ``adjoint`` needs of this pass.
        """

    @abstractmethod
    def adjoint(self, theta, inputs, kept, d_outputs):
        """Gradient of a loss in parameters and inputs, from its gradient in the outputs.

        Parameters
        ----------
        theta, inputs : ndarray
            As ``forward`` was given them.
        kept : object
            What ``forward`` kept.
        d_outputs : ndarray, rows of `output_shape`
            Do not change it.

        Returns
        -------
        d_theta : ndarray of shape (n_parameters,)
            Summed over the rows.
        d_inputs : ndarray, rows of `input_shape`
        """


LayerGenerator = (
    Literal["dense", "residual", "convolutional"] | Callable[[int, tuple[int, ...], int], Layer]
)
"""What ``layer_generator`` may be."""


class DenseLayer(Layer):
    """h' = relu(h W + b), started and centred at W = I but for layer 1.

    Parameters
    ----------
    number : int
        Counted from 1.
    input_shape : tuple of int
    width : int
    bend : bool, default=False
        Whether the relu of layer 1 is rounded.
    """

    def __init__(self, number, input_shape, width, bend=False):
        self.bend = bend and number == 1
        self.n_inputs, self.width, self.first = int(np.prod(input_shape)), width, number == 1
        self.output_shape = (width,)
        self.n_weights = self.n_inputs * width
        self.n_parameters = self.n_weights + width

    def _lift(self, theta, generator):
        """He's weights, and kinks spread over the inputs, not all at the origin."""
        spread = np.sqrt(2.0 / self.n_inputs)
        theta[: self.n_weights] = generator.normal(0.0, spread, self.n_weights)
        theta[self.n_weights :] = generator.uniform(-1, 1, self.width)
        return theta

    def start(self, generator):
        """The prior's mean; layer 1: He's."""
        return self._lift(self.centre(), generator) if self.first else self.centre()

    def centre(self):
        """Where the layer passes on what is positive; zero for layer 1."""
        theta = np.zeros(self.n_parameters)
        if not self.first:
            theta[: self.n_weights] = np.eye(self.width).ravel()
        return theta

    def _affine(self, theta):
        weights = theta[: self.n_weights].reshape(self.n_inputs, self.width)
        return weights, theta[self.n_weights : self.n_weights + self.width]

    def forward(self, theta, inputs):
        """See :class:`Layer`."""
        weights, bias = self._affine(theta)
        z = inputs @ weights + bias
        if not self.bend:
            out = np.maximum(z, 0)
            return out, out
        root = np.sqrt(z * z + CURVATURE)
        out = np.where(z > 0, 0.5 * (root + z), 0.5 * CURVATURE / (root + np.abs(z)))
        return out, out

    def adjoint(self, theta, inputs, kept, d_outputs):
        """See :class:`Layer`."""
        d_z = d_outputs * (kept**2 / (kept**2 + 0.25 * CURVATURE) if self.bend else kept > 0)
        d_theta = np.concatenate([(inputs.T @ d_z).ravel(), d_z.sum(axis=0)])
        return d_theta, d_z @ self._affine(theta)[0].T


class ResidualLayer(DenseLayer):
    """h' = h + relu(h W + b) U, started at U = 0; layer 1 is dense.

    Parameters
    ----------
    number : int
        Counted from 1.
    input_shape : tuple of int
    width : int
    bend : bool, default=False
        Whether the relu of layer 1 is rounded.
    """

    def __init__(self, number, input_shape, width, bend=False):
        super().__init__(number, input_shape, width, bend)
        if not self.first:
            self.n_parameters += width**2

    def start(self, generator):
        """U = 0 and small W; layer 1: He's."""
        theta = np.zeros(self.n_parameters)
        if self.first:
            return self._lift(theta, generator)
        theta[: self.n_weights] = generator.normal(0.0, np.sqrt(0.5 / self.width), self.n_weights)
        return theta

    def centre(self):
        """Zero."""
        return np.zeros(self.n_parameters)

    def _mixing(self, theta):
        return theta[self.n_weights + self.width :].reshape(self.width, self.width)

    def forward(self, theta, inputs):
        """See :class:`Layer`."""
        out, inner = super().forward(theta, inputs)
        return (out if self.first else inputs + inner @ self._mixing(theta)), inner

    def adjoint(self, theta, inputs, kept, d_outputs):
        """See :class:`Layer`."""
        if self.first:
            return super().adjoint(theta, inputs, kept, d_outputs)
        d_inner = d_outputs @ self._mixing(theta).T
        d_theta, d_inputs = super().adjoint(theta, inputs, kept, d_inner)
        return np.concatenate([d_theta, (kept.T @ d_outputs).ravel()]), d_inputs + d_outputs


def check_layer(layer, input_shape, n_rows=3, random_state=0):
    """Compare the adjoint of a layer with numerical differentiation.

    At random inputs and parameters, in float64, by central differences along twenty directions
    in the parameters and twenty in the inputs.

    Parameters
    ----------
    layer : Layer
    input_shape : tuple of int
        Shape of the input for one row.
    n_rows : int, default=3
        Rows to try.
    random_state : int, default=0
        Seed of inputs, parameters and directions.

    Raises
    ------
    ValueError
        If a shape is wrong, or a derivative is wrong by more than one part in 10,000.
    """
    rng = np.random.default_rng(random_state)
    theta = layer.start(rng) + 0.3 * rng.normal(size=layer.n_parameters)
    inputs = rng.normal(size=(n_rows, *input_shape))
    seed = rng.normal(size=(n_rows, *layer.output_shape))
    outputs, kept = layer.forward(theta, inputs)
    check_shape("forward", outputs, seed.shape)
    d_theta, d_inputs = layer.adjoint(theta, inputs, kept, seed)
    check_shape("adjoint, in the parameters,", d_theta, theta.shape)
    check_shape("adjoint, in the inputs,", d_inputs, inputs.shape)

    def loss(theta, inputs):
        return np.sum(seed * layer.forward(theta, inputs)[0])

    def compare(what, gradient, along):
        step = 1e-5
        for _ in range(20):
            direction = rng.normal(size=gradient.shape) / np.sqrt(max(1, gradient.size))
            numerical = (along(step * direction) - along(-step * direction)) / (2 * step)
            found = np.sum(gradient * direction)
            if not abs(found - numerical) <= 1e-4 * (abs(numerical) + np.linalg.norm(gradient)):
                raise ValueError(
                    f"The adjoint of {type(layer).__name__} gives a derivative of {found:.6g} in "
                    f"its {what}, along a random direction, but the forward map has "
                    f"{numerical:.6g}."
                )

    compare("parameters", d_theta, lambda step: loss(theta + step, inputs))
    compare("inputs", d_inputs, lambda step: loss(theta, inputs + step))


def check_shape(what, array, shape):
    """Raise if what a layer gave has another shape than it should."""
    if np.shape(array) != tuple(shape):
        raise ValueError(
            f"{what} gave an array of shape {np.shape(array)}; it should have shape {tuple(shape)}."
        )

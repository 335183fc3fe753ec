"""A small dense network with leaky ReLUs over one flat parameter vector, and its adjoint."""

from itertools import pairwise

import numpy as np

from skbayesnn.sip.drawn_layers import bias_unit, bias_unit_adjoint


class LeakyNetwork:
    """Shape of the network; the parameters stay with the caller, as one flat vector.

    Parameters
    ----------
    sizes : sequence of int
        Inputs, hidden units of each layer, outputs.

    Attributes
    ----------
    n_parameters : int

    Examples
    --------
    >>> import numpy as np
    >>> network = LeakyNetwork([1, 2, 1])
    >>> theta = np.array([1.0, -1.0, 0.0, 0.0, 1.0, 1.0, 0.0])  # leaky(x) + leaky(-x)
    >>> network.forward(theta, np.array([[2.0], [-3.0]]))[-1]
    array([[1.8],
           [2.7]])
    """

    def __init__(self, sizes):
        self.sizes = list(sizes)
        self.n_parameters = sum((k + 1) * p for k, p in pairwise(sizes))
        ends = np.cumsum([0] + [(k + 1) * p for k, p in pairwise(sizes)]).tolist()
        self._places = [
            (slice(begin, end - p), (k, p), slice(end - p, end))
            for (k, p), (begin, end) in zip(pairwise(sizes), pairwise(ends), strict=True)
        ]

    def layers(self, theta):
        """Views of the weights (k, p) and the bias (p,) of each layer."""
        return [
            (theta[weights].reshape(shape), theta[bias]) for weights, shape, bias in self._places
        ]

    def start(self, generator):
        """Starting parameters: He's weights, kinks spread; float64."""
        theta = np.zeros(self.n_parameters)
        for weights, bias in self.layers(theta):
            weights[:] = generator.normal(0.0, np.sqrt(2.0 / len(weights)), weights.shape)
            bias[:] = generator.uniform(-0.5, 0.5, bias.shape)
        self.layers(theta)[-1][1][:] = 0
        return theta

    def forward(self, theta, inputs):
        """Arrays of all layers, inputs first and outputs last, as the adjoint needs them."""
        kept = [inputs]
        layers = self.layers(theta)
        for weights, bias in layers[:-1]:
            z = kept[-1] @ weights
            bias_unit(z[None], bias[None], 0.0)
            kept.append(z)
        weights, bias = layers[-1]
        kept.append(kept[-1] @ weights + bias)
        return kept

    def adjoint(self, theta, kept, d_out, gradient=None, in_inputs=True):
        """Gradient in the inputs; that in the parameters is written to ``gradient``.

        Parameters
        ----------
        theta : ndarray of shape (n_parameters,)
        kept : list of ndarray
            From :meth:`forward`.
        d_out : ndarray of shape (n, n_outputs)
        gradient : ndarray of shape (n_parameters,) or None, default=None
            None where that in the parameters is not wanted.
        in_inputs : bool, default=True
            Whether the gradient in the inputs is wanted.

        Returns
        -------
        d_inputs : ndarray of shape (n, n_inputs) or None
        """
        layers = self.layers(theta)
        # Where no gradient is wanted that of the biases is written, too, and forgotten.
        d_layers = self.layers(np.empty_like(theta) if gradient is None else gradient)
        d_layers[-1][1][:] = d_out.sum(axis=0)
        for k in range(len(layers) - 1, -1, -1):
            if gradient is not None:
                np.matmul(kept[k].T, d_out, out=d_layers[k][0])
            if k == 0 and not in_inputs:
                return None
            d_out = d_out @ layers[k][0].T
            if k > 0:
                bias_unit_adjoint(kept[k][None], d_out[None], d_layers[k - 1][1][None], 0.0)
        return d_out

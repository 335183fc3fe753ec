"""The prior process f ~ IP(θ) of sparse implicit processes (section 2 and appendix A).

A draw of the noise z is one function, x ↦ g_θ(x, z). Two processes:

- :class:`BNNPrior`: a network of two hidden layers whose weights and biases are drawn,
  each N(m, s²) with m and s learned;
- :class:`SamplerPrior`: a network with learned weights whose inputs are x and a few
  standard normal variables, the same for all x of a function.

``forward`` gives all functions at all rows and keeps what ``adjoint`` needs.
"""

from copy import copy

import numpy as np

from skbayesnn.numerics.random import normals_like
from skbayesnn.sip.drawn_layers import (
    bias_leaky,
    bias_leaky_adjoint,
    draw_weights,
    draw_weights_adjoint,
    read_out_adjoint,
)


class _Prior:
    """Buffers, and the start at unit variance.

    Parameters
    ----------
    n_inputs, width : int
        Inputs, and units of each of the two hidden layers.

    Attributes
    ----------
    n_noise : int
        Normal variables a draw.
    n_parameters : int
    """

    def __init__(self, n_inputs, width):
        self.n_inputs, self.width = n_inputs, width
        self._buffers, self.kept = {}, None

    def buffer(self, name, shape, dtype):
        """An array to be overwritten, kept from step to step: fresh pages cost more than
        the arithmetic on them.
        """
        array = self._buffers.get(name)
        if array is None or array.shape != shape or array.dtype != dtype:
            array = self._buffers[name] = np.empty(shape, dtype)
        return array

    def draw_noise(self, generator, n_draws, dtype=np.float32):
        """Noise of ``n_draws`` functions, (n_draws, n_noise); float64 is exact and slow."""
        return normals_like(generator, (n_draws, self.n_noise), dtype)

    def copy(self):
        """The same process with buffers of its own."""
        other = copy(self)
        other._buffers, other.kept = {}, None
        return other

    def __getstate__(self):
        return {**self.__dict__, "_buffers": {}, "kept": None}


class BNNPrior(_Prior):
    """Network with random weights: f = v'leaky(W₂ leaky(W₁x + b₁) + b₂) + c, all random.

    Parameters are the means of all weights and biases, then the logs of their standard
    deviations.
    """

    def __init__(self, n_inputs, width):
        super().__init__(n_inputs, width)
        self.shapes = [(n_inputs, width), (width,), (width, width), (width,), (width,), (1,)]
        self.n_noise = sum(int(np.prod(shape)) for shape in self.shapes)
        self.n_parameters = 2 * self.n_noise

    def blocks(self):
        """Names and sizes of the blocks of parameters."""
        return {"prior means": self.n_noise, "prior scales": self.n_noise}

    def _views(self, flat):
        """Weights and biases of all draws, from (n_draws, n_noise)."""
        views, begin = [], 0
        for shape in self.shapes:
            size = int(np.prod(shape))
            views.append(flat[:, begin : begin + size].reshape(len(flat), *shape))
            begin += size
        return views

    def start(self, X, generator, mean_part=0.5):
        """Parameters whose draws have variance one over the rows of X, mean zero.

        ``mean_part`` is the part of the squared weights that the means take.
        """
        total = np.ones((1, self.n_noise))
        w_1, _, w_2, b_2, v, c = self._views(total)
        w_1 *= np.sqrt(2.0 / self.n_inputs)
        w_2 *= np.sqrt(2.0 / self.width)
        b_2 *= 0.3
        v *= np.sqrt(1.0 / self.width)
        c *= 0.1
        mean = np.sqrt(mean_part) * total * generator.standard_normal(total.shape)
        std = np.sqrt(1.0 - mean_part) * total
        theta = np.concatenate([mean[0], np.log(std[0])])
        for _ in range(2):
            f = self.forward(theta, X, self.draw_noise(generator, 200, np.float64))
            # Within each row, over draws: what is the same for all draws is the mean.
            centre, spread = f.mean(), np.sqrt(f.var(axis=0).mean())
            theta[self.n_noise - 1] -= centre
            for block, log in ((theta[: self.n_noise], False), (theta[self.n_noise :], True)):
                _, _, _, _, v, c = self._views(block[None])
                for part in (v, c):
                    if log:
                        part -= np.log(spread)
                    else:
                        part /= spread
        return theta

    def forward(self, theta, X, noise):
        """Functions at rows.

        Parameters
        ----------
        theta : ndarray of shape (n_parameters,)
        X : ndarray of shape (n_rows, n_inputs)
        noise : ndarray of shape (n_draws, n_noise)

        Returns
        -------
        f : ndarray of shape (n_draws, n_rows)
        """
        n_draws, n_rows, dtype = len(noise), len(X), theta.dtype
        weights = self.buffer("weights", noise.shape, dtype)
        draw_weights(theta[: self.n_noise], theta[self.n_noise :], noise, weights)
        w_1, b_1, w_2, b_2, v, c = self._views(weights)
        shape = (n_draws, n_rows, self.width)
        first, second = self.buffer("first", shape, dtype), self.buffer("second", shape, dtype)
        np.matmul(X, w_1, out=first)
        bias_leaky(first, b_1)
        np.matmul(first, w_2, out=second)
        bias_leaky(second, b_2)
        f = np.matmul(second, v[:, :, None])[:, :, 0]
        f += c
        self.kept = X, noise
        return f

    def adjoint(self, theta, d_f, gradient, n_wanted):
        """Gradient in the parameters, into ``gradient``, and in the last rows of X.

        Parameters
        ----------
        theta : ndarray of shape (n_parameters,)
        d_f : ndarray of shape (n_draws, n_rows)
        gradient : ndarray of shape (n_parameters,)
            Overwritten.
        n_wanted : int
            How many rows of X, at its end, have a gradient.

        Returns
        -------
        d_X : ndarray of shape (n_wanted, n_inputs)
        """
        X, noise = self.kept
        dtype = theta.dtype
        weights = self._buffers["weights"]
        first, second = self._buffers["first"], self._buffers["second"]
        w_1, _, w_2, _, v, _ = self._views(weights)
        d_weights = self.buffer("d_weights", noise.shape, dtype)
        d_w_1, d_b_1, d_w_2, d_b_2, d_v, d_c = self._views(d_weights)
        d_hidden = self.buffer("d_hidden", first.shape, dtype)
        d_c[:, 0] = d_f.sum(axis=1)
        np.matmul(d_f[:, None, :], second, out=d_v[:, None, :])
        read_out_adjoint(second, d_f, v, d_hidden, d_b_2)
        np.matmul(first.transpose(0, 2, 1), d_hidden, out=d_w_2)
        # ``second`` is not needed any more: its memory takes the next gradient.
        d_first = second
        np.matmul(d_hidden, w_2.transpose(0, 2, 1), out=d_first)
        bias_leaky_adjoint(first, d_first, d_b_1)
        np.matmul(X.T, d_first, out=d_w_1)
        draw_weights_adjoint(
            theta[self.n_noise :], noise, d_weights, gradient[: self.n_noise],
            gradient[self.n_noise :],
        )  # fmt: skip
        wanted = d_first[:, len(X) - n_wanted :]
        return np.matmul(wanted, w_1.transpose(0, 2, 1)).sum(axis=0)


class SamplerPrior(_Prior):
    """Neural sampler: f = v'leaky(W₂ leaky(W₁x + U z + b₁) + b₂) + c, with z ~ N(0, I).

    Parameters are W₁, U, b₁, W₂, b₂, v, c, one after the other.

    Parameters
    ----------
    n_inputs, width : int
    n_noise : int, default=10
        Normal variables z of a function.
    """

    def __init__(self, n_inputs, width, n_noise=10):
        super().__init__(n_inputs, width)
        self.n_noise = n_noise
        self.shapes = [
            (n_inputs, width), (n_noise, width), (width,), (width, width), (width,), (width,), (1,),
        ]  # fmt: skip
        self.n_parameters = sum(int(np.prod(shape)) for shape in self.shapes)

    def blocks(self):
        """Names and sizes of the blocks of parameters."""
        return {"prior weights": self.n_parameters}

    def _views(self, flat):
        views, begin = [], 0
        for shape in self.shapes:
            size = int(np.prod(shape))
            views.append(flat[begin : begin + size].reshape(shape))
            begin += size
        return views

    def start(self, X, generator):
        """Parameters whose draws have variance one over the rows of X, mean zero."""
        theta = generator.standard_normal(self.n_parameters)
        w_1, u, _, w_2, b_2, v, c = self._views(theta)
        w_1 *= np.sqrt(2.0 / self.n_inputs)
        u *= np.sqrt(2.0 / self.n_noise)
        w_2 *= np.sqrt(2.0 / self.width)
        b_2 *= 0.3
        v *= np.sqrt(1.0 / self.width)
        c[:] = 0
        f = self.forward(theta, X, self.draw_noise(generator, 200, np.float64))
        v /= np.sqrt(f.var(axis=0).mean())
        c[:] = -self.forward(theta, X, self.draw_noise(generator, 200, np.float64)).mean()
        return theta

    def forward(self, theta, X, noise):
        """Functions at rows, as :meth:`BNNPrior.forward`."""
        n_draws, n_rows, dtype = len(noise), len(X), theta.dtype
        w_1, u, b_1, w_2, b_2, v, c = self._views(theta)
        shape = (n_draws, n_rows, self.width)
        first, second = self.buffer("first", shape, dtype), self.buffer("second", shape, dtype)
        first[:] = X @ w_1
        bias_leaky(first, noise @ u + b_1)
        np.matmul(first.reshape(-1, self.width), w_2, out=second.reshape(-1, self.width))
        bias_leaky(second, np.tile(b_2, (n_draws, 1)))
        self.kept = X, noise
        return second @ v + c

    def adjoint(self, theta, d_f, gradient, n_wanted):
        """Gradients, as :meth:`BNNPrior.adjoint`."""
        X, noise = self.kept
        w_1, _, _, w_2, _, v, _ = self._views(theta)
        d_w_1, d_u, d_b_1, d_w_2, d_b_2, d_v, d_c = self._views(gradient)
        first, second = self._buffers["first"], self._buffers["second"]
        d_hidden = self.buffer("d_hidden", first.shape, theta.dtype)
        d_bias = self.buffer("d_bias", (len(noise), self.width), theta.dtype)
        flat = (-1, self.width)
        d_c[0] = d_f.sum()
        d_v[:] = d_f.reshape(-1) @ second.reshape(flat)
        read_out_adjoint(second, d_f, np.tile(v, (len(noise), 1)), d_hidden, d_bias)
        d_b_2[:] = d_bias.sum(axis=0)
        np.matmul(first.reshape(flat).T, d_hidden.reshape(flat), out=d_w_2)
        d_first = second
        np.matmul(d_hidden.reshape(flat), w_2.T, out=d_first.reshape(flat))
        bias_leaky_adjoint(first, d_first, d_bias)
        d_b_1[:] = d_bias.sum(axis=0)
        d_u[:] = noise.T @ d_bias
        over_draws = d_first.sum(axis=0)
        d_w_1[:] = X.T @ over_draws
        return over_draws[len(X) - n_wanted :] @ w_1.T

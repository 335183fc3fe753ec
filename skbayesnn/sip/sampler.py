"""The neural sampler, the second of the paper's prior processes: see ``priors.py``."""

import numpy as np

from skbayesnn.sip.drawn_layers import bias_unit, bias_unit_adjoint, read_out_adjoint
from skbayesnn.sip.priors import Prior, centred, centred_adjoint


class SamplerPrior(Prior):
    """Neural sampler: f = v'leaky(W₂ leaky(W₁x + U z + b₁) + b₂) + c, with z ~ N(0, I).

    Parameters are W₁, U, b₁, W₂, b₂, v, c, one after the other. Nothing of its last layer is
    random: its moments are those of its draws.

    Parameters
    ----------
    n_inputs, width : int
    n_noise : int, default=10
        Normal variables z of a function.
    """

    keeps_networks = False

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

    def n_networks(self, n_draws):
        """As :meth:`BNNPrior.n_networks`."""
        return n_draws

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
        v /= self._spread_and_centre(theta, X, generator)[0]
        c[:] = -self._spread_and_centre(theta, X, generator)[1]
        scales = [np.full(part.size, np.sqrt(np.mean(part**2))) for part in self._views(theta)]
        scales[-1][:] = 1.0
        self.hyper_scales = np.concatenate(scales)
        return theta

    def functions(self, theta, X, noise):
        """Functions at rows, as :meth:`BNNPrior.functions`."""
        n_draws, n_rows, dtype = len(noise), len(X), theta.dtype
        w_1, u, b_1, w_2, b_2, v, c = self._views(theta)
        shape = (n_draws, n_rows, self.width)
        first, second = self.buffer("first", shape, dtype), self.buffer("second", shape, dtype)
        first[:] = X @ w_1
        bias_unit(first, noise @ u + b_1, 0.0)
        np.matmul(first.reshape(-1, self.width), w_2, out=second.reshape(-1, self.width))
        bias_unit(second, np.tile(b_2, (n_draws, 1)), 0.0)
        return second @ v + c

    def moments(self, theta, X, noise):
        """Mean and features, as :meth:`BNNPrior.moments`: those of the functions."""
        drawn = self.functions(theta, X, noise)
        self.kept = X, noise, drawn
        mean, deviations = centred(drawn.astype(np.float64), len(noise) - 1.0)
        return mean, deviations.T

    def draws(self, theta, n_wanted, n_draws, generator):
        """The functions themselves, as :meth:`BNNPrior.draws`."""
        return self.kept[-1][:n_draws, -n_wanted:]

    def adjoint(self, theta, d_mean, d_features, n_wanted, gradient):
        """Gradients, as :meth:`BNNPrior.adjoint`."""
        X, noise, _ = self.kept
        d_f = centred_adjoint(d_mean, d_features.T, len(noise) - 1.0).astype(theta.dtype)
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
        bias_unit_adjoint(first, d_first, d_bias, 0.0)
        d_b_1[:] = d_bias.sum(axis=0)
        d_u[:] = noise.T @ d_bias
        over_draws = d_first.sum(axis=0)
        d_w_1[:] = X.T @ over_draws
        return over_draws[len(X) - n_wanted :] @ w_1.T

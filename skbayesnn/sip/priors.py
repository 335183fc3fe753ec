"""The prior process f ~ IP(θ) of sparse implicit processes.

A draw of the noise z is one function, x ↦ g_θ(x, z). Three processes:

- :class:`BNNPrior`: a network of two hidden layers whose weights and biases are drawn,
  each N(m, s²) with m and s learned;
- :class:`SmoothPrior`: the same with smooth units, and a scale for each input, learned;
- :class:`~skbayesnn.sip.sampler.SamplerPrior`: a network with learned weights whose inputs are
  x and a few standard normal variables, the same for all x of a function.

``moments`` estimates mean and covariance of the process from a few networks: the paper takes
them from draws of the functions. Given the hidden units h a function of the first two is
Gaussian, so that its last layer is integrated,

    Cov[f(x), f(x')] = E[h(x)' S_v h(x')] + s_c² + Cov[m_v' h(x), m_v' h(x')],

E and Cov over the networks: n of them give it rank n (width + 1), where n draws of the functions
give rank n − 1. It comes as features φ, one row an input: the covariance is φ(x)·φ(x').
``adjoint`` takes gradients in these moments back to the parameters.

The networks of the first two keep their noise z from the first step to the last prediction:
the prior is that of a few networks, each as likely as the others, whose weights m + s z follow
the parameters, and these are its moments exactly. With new networks at every step the mean
function is another one every time, which the fit takes for noise of y.
"""

from copy import copy
from math import prod

import numpy as np

from skbayesnn.numerics.random import normals_like
from skbayesnn.numerics.scratch import kept
from skbayesnn.sip.drawn_layers import (
    bias_unit,
    bias_unit_adjoint,
    draw_weights,
    draw_weights_adjoint,
    features_adjoint,
)

DRAWS_A_NETWORK, LEAST_NETWORKS = 10, 10
"""Functions drawn from each hidden network in a training step, and how few networks there are."""


def centred(values, n):
    """Mean over the networks, and deviations whose squares sum to n-ths of theirs."""
    mean = values.mean(axis=0)
    return mean, (values - mean) / np.sqrt(n)


def centred_adjoint(d_mean, d_deviations, n):
    out = (d_deviations - d_deviations.mean(axis=0)) / np.sqrt(n)
    return out + d_mean / len(d_deviations)


class Prior:
    """Buffers, and the start at unit variance.

    Parameters
    ----------
    n_inputs, width : int
        Inputs, and units of each of the two hidden layers.

    Attributes
    ----------
    n_noise : int
        Normal variables a function.
    n_parameters : int
    keeps_networks : bool
        Whether the noise of the networks stays the same.
    hyper_scales : ndarray of shape (n_parameters,)
        After ``start``, standard deviations of a normal prior of the parameters, of mean zero;
        infinite where a parameter has none.
    """

    def __init__(self, n_inputs, width):
        self.n_inputs, self.width = n_inputs, width
        self._buffers, self.kept = {}, None

    def buffer(self, name, shape, dtype):
        """An array to be overwritten, kept from step to step."""
        return kept(self._buffers, name, shape, dtype)

    def draw_noise(self, generator, n, dtype=np.float32):
        """Noise of ``n`` networks or functions, (n, n_noise); float64 is exact and slow."""
        return normals_like(generator, (n, self.n_noise), dtype)

    def noise_of_functions(self, generator, n, networks):
        """Noise of ``n`` functions, their hidden layers those of ``networks`` if not None."""
        noise = self.draw_noise(generator, n, np.float64)
        if networks is not None:
            chosen = generator.integers(len(networks), size=n)
            noise[:, : self.n_hidden] = networks[chosen, : self.n_hidden]
        return noise

    def copy(self):
        """The same process with buffers of its own."""
        other = copy(self)
        other._buffers, other.kept = {}, None
        return other

    def __getstate__(self):
        return {**self.__dict__, "_buffers": {}, "kept": None}

    def hyperprior(self, theta):
        """Minus their log density by :attr:`hyper_scales`, but for a constant; its gradient."""
        distance = theta / self.hyper_scales
        return 0.5 * float(distance @ distance), distance / self.hyper_scales

    def _spread_and_centre(self, theta, X, generator):
        """Standard deviation over functions, within an input; mean over functions and inputs."""
        noise = self.draw_noise(generator, 200, np.float64)
        mean, features = self.moments(theta, X, noise)
        return np.sqrt((features**2).sum(axis=1).mean()), mean.mean()


class BNNPrior(Prior):
    """Network with random weights: f = v'leaky(W₂ leaky(W₁x + b₁) + b₂) + c, all random.

    Parameters are the means of all weights and biases, then the logs of their standard
    deviations.
    """

    keeps_networks = True
    bend = 0.0

    def __init__(self, n_inputs, width):
        super().__init__(n_inputs, width)
        self.shapes = [(n_inputs, width), (width,), (width, width), (width,), (width,), (1,)]
        ends = np.cumsum([0] + [prod(shape) for shape in self.shapes]).tolist()
        self._places = [*map(slice, ends[:-1], ends[1:])]
        self.n_noise = ends[-1]
        self.n_hidden = self.n_noise - width - 1
        self.n_parameters = 2 * self.n_noise

    def blocks(self):
        """Names and sizes of the blocks of parameters."""
        return {"prior means": self.n_noise, "prior scales": self.n_noise}

    def _means_and_scales(self, theta):
        """Views of the means, and of the logs of the standard deviations."""
        return theta[: self.n_noise], theta[self.n_noise : 2 * self.n_noise]

    def _placed(self, theta, X):
        """Inputs as the first layer sees them."""
        return X

    def n_networks(self, n_draws):
        """Networks a training step that draws so many functions."""
        return max(LEAST_NETWORKS, -(-n_draws // DRAWS_A_NETWORK))

    def _views(self, flat):
        """Weights and biases of all draws, from (n_draws, n_noise) or without the last layer."""
        n, n_columns = flat.shape
        return [
            flat[:, place].reshape(n, *shape)
            for place, shape in zip(self._places, self.shapes, strict=True)
            if place.stop <= n_columns
        ]

    def _last(self, theta):
        """Means and standard deviations of v, then of c."""
        mean, log_std = (part[self.n_hidden :] for part in self._means_and_scales(theta))
        return mean[:-1], np.exp(log_std[:-1]), mean[-1], np.exp(log_std[-1])

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
        theta = np.zeros(self.n_parameters)
        means, log_stds = self._means_and_scales(theta)
        means[:], log_stds[:] = mean[0], np.log(std[0])
        for _ in range(2):
            spread, centre = self._spread_and_centre(theta, X, generator)
            means[-1] -= centre
            means[self.n_hidden :] /= spread
            log_stds[self.n_hidden :] -= np.log(spread)
        # A mean has the scale that its weight has at the start; logs of scales are free.
        self.hyper_scales = np.full(self.n_parameters, np.inf)
        self.hyper_scales[: self.n_noise] = np.exp(log_stds - 0.5 * np.log1p(-mean_part))
        self.hyper_scales[self.n_noise - 1] = 1.0
        return theta

    def _spread_and_centre(self, theta, X, generator):
        """As :meth:`Prior._spread_and_centre`, without features, of which there would be 40 MB."""
        noise = self.draw_noise(generator, 200, np.float64)
        second = self._hidden(theta, X, noise)
        m_v, s_v, m_c, s_c = self._last(theta)
        mean, deviations = centred(second @ m_v, len(noise))
        of_units = np.einsum("sij,sij->j", second, second) / len(noise)
        squares = s_v**2 @ of_units + np.sum(deviations**2)
        return np.sqrt(squares / len(X) + s_c**2), mean.mean() + m_c

    def _hidden(self, theta, X, noise):
        """Second hidden layer of the networks, (n_networks, n_rows, width)."""
        n, dtype = len(noise), theta.dtype
        weights = self.buffer("weights", (n, self.n_hidden), dtype)
        log_std = theta[self.n_noise : self.n_noise + self.n_hidden]
        draw_weights(theta[: self.n_hidden], log_std, noise[:, : self.n_hidden], weights)
        w_1, b_1, w_2, b_2 = self._views(weights)
        shape = (n, len(X), self.width)
        first, second = self.buffer("first", shape, dtype), self.buffer("second", shape, dtype)
        np.matmul(self._placed(theta, X), w_1, out=first)
        bias_unit(first, np.ascontiguousarray(b_1), self.bend)
        np.matmul(first, w_2, out=second)
        bias_unit(second, np.ascontiguousarray(b_2), self.bend)
        return second

    def functions(self, theta, X, noise):
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
        m_v, s_v, m_c, s_c = self._last(theta)
        last = noise[:, self.n_hidden :]
        v = m_v + s_v * last[:, :-1]
        f = np.matmul(self._hidden(theta, X, noise), v[:, :, None])[:, :, 0]
        return f + (m_c + s_c * last[:, -1:])

    def moments(self, theta, X, noise):
        """Mean and features of the process, estimated from networks.

        Parameters
        ----------
        theta : ndarray of shape (n_parameters,)
        X : ndarray of shape (n_rows, n_inputs)
        noise : ndarray of shape (n_networks, n_noise)
            The last layer's is not used.

        Returns
        -------
        mean : ndarray of shape (n_rows,), float64
        features : ndarray of shape (n_rows, n_features)
            Products of rows are covariances. In the precision of the parameters.
        """
        n, rows = len(noise), len(X)
        second = self._hidden(theta, X, noise)
        m_v, s_v, m_c, s_c = self._last(theta)
        through_means = second @ m_v
        mean, deviations = centred(through_means.astype(np.float64), n)
        features = self.buffer("features", (rows, n * (self.width + 1) + 1), second.dtype)
        units = features[:, : n * self.width].reshape(rows, n, self.width)
        np.multiply(second.transpose(1, 0, 2), s_v * s_v.dtype.type(1 / np.sqrt(n)), out=units)
        features[:, n * self.width : -1] = deviations.T
        features[:, -1] = s_c
        self.kept = self._placed(theta, X), noise, through_means
        return mean + m_c, features

    def draws(self, theta, n_wanted, n_draws, generator):
        """Functions at the last rows of the last ``moments``, of its networks in turn.

        Returns
        -------
        f : ndarray of shape (n_draws, n_wanted)
        """
        second = self._buffers["second"][:, -n_wanted:]
        n = len(second)
        noise = normals_like(generator, (n, -(-n_draws // n), self.width + 1), theta.dtype)
        _, s_v, m_c, s_c = self._last(theta)
        f = np.matmul(noise[:, :, :-1] * s_v, second.transpose(0, 2, 1))
        f += self.kept[-1][:, None, -n_wanted:] + m_c
        f += s_c * noise[:, :, -1:]
        return f.reshape(-1, n_wanted)[:n_draws]

    def adjoint(self, theta, d_mean, d_features, n_wanted, gradient):
        """Gradient in the parameters, into ``gradient``, and in the last rows of X.

        Parameters
        ----------
        theta : ndarray of shape (n_parameters,)
        d_mean : ndarray of shape (n_rows,)
        d_features : ndarray of shape (n_rows, n_features)
        n_wanted : int
            How many rows of X.
        gradient : ndarray of shape (n_parameters,)
            Overwritten.

        Returns
        -------
        d_X : ndarray of shape (n_wanted, n_inputs)
        """
        X, noise, _ = self.kept
        n, dtype = len(noise), theta.dtype
        first, second = self._buffers["first"], self._buffers["second"]
        w_1, _, w_2, _ = self._views(self._buffers["weights"])
        m_v, s_v, _, s_c = self._last(theta)
        d_weights = self.buffer("d_weights", (n, self.n_hidden), dtype)
        d_w_1, d_b_1, d_w_2, d_b_2 = self._views(d_weights)
        d_means = centred_adjoint(d_mean, d_features[:, n * self.width : -1].T, n).astype(dtype)
        d_hidden = self.buffer("d_hidden", second.shape, dtype)
        d_bias, d_scale = np.empty((n, self.width), dtype), np.empty(self.width, dtype)
        scale = s_v * dtype.type(1 / np.sqrt(n))
        features_adjoint(
            second, d_features, d_means, m_v, scale, d_hidden, d_bias, d_scale, self.bend
        )
        d_b_2[:] = d_bias
        d_m_v = d_means.ravel() @ second.reshape(-1, self.width)
        np.matmul(first.transpose(0, 2, 1), d_hidden, out=d_w_2)
        # ``second`` is not needed any more: its memory takes the next gradient.
        d_first = second
        np.matmul(d_hidden, np.ascontiguousarray(w_2.transpose(0, 2, 1)), out=d_first)
        bias_unit_adjoint(first, d_first, d_bias, self.bend)
        d_b_1[:] = d_bias
        np.matmul(X.T, d_first, out=d_w_1)
        means, scales = self._means_and_scales(gradient)
        draw_weights_adjoint(
            theta[self.n_noise : self.n_noise + self.n_hidden], noise[:, : self.n_hidden],
            d_weights, means[: self.n_hidden], scales[: self.n_hidden],
        )  # fmt: skip
        means[self.n_hidden : -1], means[-1] = d_m_v, d_means.sum()
        scales[self.n_hidden : -1] = d_scale * scale
        scales[-1] = s_c * d_features[:, -1].sum()
        wanted = d_first[:, len(X) - n_wanted :]
        return np.matmul(wanted, w_1.transpose(0, 2, 1)).sum(axis=0)


class SmoothPrior(BNNPrior):
    """A network with random weights, smooth units, and a scale for each input.

    With units √(z² + 1) in place of |z|, and inputs that can lose their say, draws are like those
    of a Gaussian process with a length scale for each input. The logs of the scales, zero at the
    start, come after the parameters of :class:`BNNPrior`.
    """

    bend = 1.0

    def __init__(self, n_inputs, width):
        super().__init__(n_inputs, width)
        self.n_parameters += n_inputs

    def blocks(self):
        """Names and sizes of the blocks of parameters."""
        return {**super().blocks(), "input scales": self.n_inputs}

    def _scales(self, theta):
        return np.exp(theta[-self.n_inputs :])

    def _placed(self, theta, X):
        return X * self._scales(theta)

    def adjoint(self, theta, d_mean, d_features, n_wanted, gradient):
        """As :meth:`BNNPrior.adjoint`; an input's scale is one of all its weights, too."""
        d_placed = super().adjoint(theta, d_mean, d_features, n_wanted, gradient)
        w_1, d_w_1 = (self._views(self._buffers[name])[0] for name in ("weights", "d_weights"))
        gradient[-self.n_inputs :] = np.einsum("sij,sij->i", w_1, d_w_1)
        return d_placed * self._scales(theta)

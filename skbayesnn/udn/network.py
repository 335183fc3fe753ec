"""The network's parameters and scratch: blocks made on demand, outputs of every depth."""

import numpy as np

from skbayesnn.numerics.adam import Adam
from skbayesnn.udn.likelihoods import VARIANCE_UNIT
from skbayesnn.udn.objective import divergences


class Network:
    """Layers and heads of an unbounded-depth network, as many as were asked for so far.

    Parameters
    ----------
    architecture : skbayesnn.udn.layers.Architecture
    generator : numpy.random.Generator
        For the starting values.
    weight_scale : float, default=1.0
        Prior standard deviation of a weight.
    dtype : numpy dtype, default=numpy.float32
    first_scale : float or None, default=None
        That of layer 1; None for ``weight_scale``.

    Attributes
    ----------
    theta, gradient, centre, precision : ndarray of shape (n_parameters,)
        Posterior means, scratch for the gradient, and the prior's mean and precision.
    adam : Adam
        One block a layer and a head.
    depth : int
        Layers created so far.
    learns_noise : bool
        Whether the noise that all rows share takes part in the bound, or is set from outside.
    """

    def __init__(
        self, architecture, generator, weight_scale=1.0, dtype=np.float32, first_scale=None
    ):
        self.architecture = architecture
        self.shape = architecture.packed()
        self.generator = generator
        self.weight_scale, self.first_scale = weight_scale, first_scale or weight_scale
        self.dtype = np.dtype(dtype)
        self.depth = 0
        self.theta, self.gradient, self.centre, self.precision = (
            np.zeros(0, dtype=dtype) for _ in range(4)
        )
        self.adam = Adam([], dtype=dtype)
        self.learns_noise = True
        self.rows, self.buffers = 0, None

    @property
    def starts(self):
        """Where each block begins."""
        return self.adam.starts

    def grow(self, depth):
        """Create layers and heads until there are ``depth``; no output changes."""
        a, law = self.architecture, self.architecture.likelihood
        own, offsets = law.precision(self.learns_noise), law.start()
        while self.depth < depth:
            k = self.depth
            layer = a.start_layer(k, self.generator)
            slopes = np.zeros(a.head_size - offsets.size)
            head = self.head(k - 1).copy() if k else np.concatenate([slopes, offsets])
            precision = np.full(layer.size + head.size, self.weight_scale**-2)
            precision[: layer.size] = (self.weight_scale if k else self.first_scale) ** -2
            if own is not None:
                slopes = precision[layer.size : precision.size - own.size]
                slopes *= np.resize(law.slope_factors(), slopes.size)
                precision[-own.size :] = own
            self.theta = self._append(self.theta, layer, head)
            self.centre = self._append(self.centre, a.centre(k), np.zeros(a.head_size))
            self.precision = self._append(self.precision, precision)
            self.gradient = self._append(self.gradient, np.zeros(layer.size + head.size))
            self.adam.grow([layer.size, head.size])
            self.depth += 1

    def shrink(self, depth):
        """Forget the layers and heads after the first ``depth``."""
        if depth < self.depth:
            self.adam.shrink(2 * depth)
            size = self.starts[-1]
            self.theta, self.gradient, self.centre, self.precision = (
                v[:size].copy() for v in (self.theta, self.gradient, self.centre, self.precision)
            )
            self.depth = depth

    def _append(self, vector, *parts):
        return np.concatenate([vector, *[p.astype(self.dtype) for p in parts]])

    def layer(self, k):
        """View of the parameters of layer ``k``, counted from 0."""
        return self.theta[self.starts[2 * k] : self.starts[2 * k + 1]]

    def head(self, k):
        """View of the parameters of head ``k``, counted from 0."""
        return self.theta[self.starts[2 * k + 1] : self.starts[2 * k + 2]]

    def learn_noise(self, learn):
        """Say whether the noise takes part in the bound; if not, nothing pulls at it."""
        self.learns_noise = learn
        own = self.architecture.likelihood.precision(learn)
        for k in range(self.depth if own is not None else 0):
            end = self.starts[2 * k + 2]
            self.precision[end - own.size : end] = own

    def shared(self, depth):
        """What rows share, of the first ``depth`` heads; (depth, n_shared)."""
        n = self.architecture.likelihood.n_shared
        units = [self.head(k)[self.head(k).size - n :] for k in range(depth)]
        return float(VARIANCE_UNIT) * np.array(units, dtype=float)

    def set_noise(self, values):
        """Set the log noise that all rows share for the first heads; (depth, n_targets)."""
        n = self.architecture.likelihood.n_shared
        for k, row in enumerate(values):
            begin = self.head(k).size - n
            self.head(k)[begin : begin + row.size] = row / VARIANCE_UNIT

    def divergence(self, depth):
        """Divergence R_ℓ from the prior of layers 1 to ℓ with head ℓ; (depth,)."""
        parts = divergences(self.theta, self.centre, self.precision, self.starts, 2 * depth)
        return np.cumsum(parts[::2]) + parts[1::2]

    def scratch(self, n, depth):
        """Arrays that the kernels work in, for batches of ``n`` rows; kept and reused."""
        a = self.architecture
        rows = n * a.positions
        if self.rows < n or self.buffers["hidden"].shape[0] < depth:
            depth = depth + 4
            n_inner = (1, 1) if a.kind == "dense" else (depth, rows)

            def empty(*size):
                return np.empty(size, dtype=self.dtype)

            patches = None
            if a.kind == "convolutional":
                patches = tuple(empty(rows, a.patch * c) for c in (a.channels, a.width, a.width))
            self.rows = n
            self.buffers = {
                "patches": patches,
                "hidden": empty(depth, rows, a.width),
                "inner": empty(*n_inner, a.width),
                "d_hidden": empty(rows, a.width),
                "d_lower": empty(rows, a.width),
                "scratch": empty(rows, a.width),
                "outputs": empty(n, a.likelihood.n_outputs),
                "shared": empty(a.likelihood.n_shared),
            }
        return self.buffers

    def outputs(self, X, depth):
        """Outputs of the first ``depth`` heads, in float64 whatever the type of ``theta``.

        Plain numpy: predictions need more digits than gradients, since the output of a row
        must not depend on the rows beside it.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
        depth : int

        Returns
        -------
        outputs : ndarray of shape (depth, n, n_outputs)
        """
        a = self.architecture
        chunk = max(1, 4096 // a.positions)
        layers = [self.layer(k).astype(float) for k in range(depth)]
        heads = [self.head(k).astype(float) for k in range(depth)]
        out = np.empty((depth, len(X), a.likelihood.n_outputs))
        for begin in range(0, len(X), chunk):
            rows = slice(begin, begin + chunk)
            hidden = np.asarray(X[rows], dtype=float).reshape(-1, a.channels)
            for k in range(depth):
                hidden = a.apply_layer(k, layers[k], hidden)
                out[k, rows] = a.apply_head(heads[k], hidden)
        return out

    def __getstate__(self):
        return {**self.__dict__, "rows": 0, "buffers": None}

"""Parameters and scratch arrays of a network, created on demand, and outputs at every depth."""

from itertools import pairwise
from math import prod

import numpy as np

from skbayesnn.numerics.adam import Adam
from skbayesnn.numerics.workers import ALONE
from skbayesnn.udn.likelihoods import VARIANCE_UNIT
from skbayesnn.udn.objective import divergences

WORK_A_PIECE, MOST_PIECES = 10_000_000, 4
"""Rows times parameters, at the least, of a piece of a batch, and pieces at the most: a piece is to
take a millisecond or so: handing it to a thread costs some hundredths of that, and products of
few rows are slow."""
ROWS_AT_A_TIME = 1024


class Network:
    """Layers and heads of an unbounded-depth network, as many as were asked for so far.

    Parameters
    ----------
    architecture : skbayesnn.udn.architecture.Architecture
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
    layers : list of skbayesnn.udn.layers.Layer
        Those layers.
    learns_noise : bool
        Whether the noise that all rows share takes part in the bound, or is set from outside.
    """

    def __init__(
        self, architecture, generator, weight_scale=1.0, dtype=np.float32, first_scale=None
    ):
        self.architecture = architecture
        self.generator = generator
        self.weight_scale, self.first_scale = weight_scale, first_scale or weight_scale
        self.dtype = np.dtype(dtype)
        self.depth, self.layers = 0, []
        self.theta, self.gradient, self.centre, self.precision = (
            np.zeros(0, dtype=dtype) for _ in range(4)
        )
        self.adam = Adam([], dtype=dtype)
        self.learns_noise = True
        self.rows, self.deepest, self.buffers = 0, 0, []

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
            below = self.layers[-1].output_shape if k else a.input_shape
            self.layers.append(made := a.layer(k + 1, below))
            layer = np.asarray(made.start(self.generator), dtype=float)
            head = np.concatenate([np.zeros(a.head_size(made) - offsets.size), offsets])
            if k and made.output_shape == below:
                head = self.head(k - 1).copy()
            elif k:  # what the head below says of all rows holds for another array too
                head[-offsets.size :] = self.head(k - 1)[-offsets.size :]
            precision = np.full(layer.size + head.size, self.weight_scale**-2)
            precision[: layer.size] = (self.weight_scale if k else self.first_scale) ** -2
            if own is not None:
                slopes = precision[layer.size : precision.size - own.size]
                slopes *= np.resize(law.slope_factors(), slopes.size)
                precision[-own.size :] = own
            self.theta = self._append(self.theta, layer, head)
            self.centre = self._append(self.centre, made.centre(), np.zeros(head.size))
            self.precision = self._append(self.precision, precision)
            self.gradient = self._append(self.gradient, np.zeros(layer.size + head.size))
            self.adam.grow([layer.size, head.size])
            self.depth += 1

    def shrink(self, depth):
        """Forget the layers and heads after the first ``depth``."""
        if depth < self.depth:
            self.adam.shrink(2 * depth)
            del self.layers[depth:]
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
        parts = np.empty(2 * depth)
        divergences(self.theta, self.centre, self.precision, self.starts, parts)
        return np.cumsum(parts[::2]) + parts[1::2]

    def n_pieces(self, n, depth):
        """Into how many pieces a batch of ``n`` rows is cut, whatever works on them."""
        positions = prod(self.architecture.input_shape[:-1])
        work = n * positions * int(self.starts[2 * depth])
        return max(1, min(work // WORK_A_PIECE, MOST_PIECES))

    def shares(self, depth, n_pieces):
        """Slices of about equal length that make up the parameters of the first layers."""
        ends = np.linspace(0, self.starts[2 * depth], n_pieces + 1).astype(int)
        return [slice(a, b) for a, b in pairwise(ends)]

    def block_masks(self, depth, n_pieces):
        """For each piece of an update 1 where it takes a block, else 0; (n_pieces, n_blocks)."""
        middle = 0.5 * (self.starts[:-1] + self.starts[1:])
        owner = (middle * n_pieces / self.starts[2 * depth]).astype(int)
        return [(owner == i).astype(float) for i in range(n_pieces)]

    def scratch(self, n, depth, n_pieces):
        """Arrays to work in, a dictionary a piece of at most ``n`` rows; kept and reused.

        The first piece writes its gradient to ``gradient``, the others each to their own.
        """
        if self.rows < n or self.deepest < depth:
            self.rows, self.deepest = max(n, self.rows), max(self.deepest, depth + 4)
            self.buffers = []
        while len(self.buffers) < n_pieces:
            self.buffers.append(self._buffers(self.rows, self.deepest))
        for i, one in enumerate(self.buffers[:n_pieces]):
            if i == 0:
                one["gradient"] = self.gradient
            elif one["gradient"].size != self.gradient.size:
                one["gradient"] = np.zeros_like(self.gradient)
        return self.buffers[:n_pieces]

    def _buffers(self, n, depth):
        a = self.architecture
        out = {"gradient": np.zeros(0, dtype=self.dtype)}
        if a.fused:
            n_inner = (1, 1) if a.generator == "dense" else (depth, n)
            sizes = {
                "hidden": (depth, n, a.width),
                "inner": (*n_inner, a.width),
                "d_hidden": (n, a.width),
                "d_lower": (n, a.width),
                "scratch": (n, a.width),
                "outputs": (n, a.likelihood.n_outputs),
                "shared": (a.likelihood.n_shared,),
                "terms": a.likelihood.terms,
            }
            out |= {name: np.empty(size, dtype=self.dtype) for name, size in sizes.items()}
        return out

    def outputs(self, X, depth, workers=ALONE):
        """Outputs of the first ``depth`` heads, in float64 whatever the type of ``theta``.

        Plain numpy: predictions need more digits than gradients, since the output of a row
        must not depend on the rows beside it.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
        depth : int
        workers : skbayesnn.numerics.workers.Workers

        Returns
        -------
        outputs : ndarray of shape (depth, n, n_outputs)
        """
        law, shape = self.architecture.likelihood, self.architecture.input_shape
        chunk = max(1, ROWS_AT_A_TIME // prod(shape[:-1]))
        layers = [self.layer(k).astype(float) for k in range(depth)]
        heads = [self.head(k).astype(float) for k in range(depth)]
        out = np.empty((depth, len(X), law.n_outputs))

        def piece(i):
            rows = slice(i * chunk, (i + 1) * chunk)
            hidden = np.asarray(X[rows], dtype=float).reshape(-1, *shape)
            for k in range(depth):
                hidden = self.layers[k].forward(layers[k], hidden)[0]
                flat = hidden.reshape(len(hidden), -1)
                end = flat.shape[1] * law.n_outputs
                slopes = heads[k][:end].reshape(-1, law.n_outputs)
                out[k, rows] = flat @ slopes + heads[k][end : end + law.n_outputs]

        workers.run(piece, -(-len(X) // chunk))
        return out

    def __getstate__(self):
        return {**self.__dict__, "rows": 0, "deepest": 0, "buffers": []}

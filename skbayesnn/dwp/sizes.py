"""Structure of a deep Wishart process: sizes, named parameters, random numbers of a pass."""

from dataclasses import dataclass, field
from functools import cache
from math import prod

import numpy as np

from skbayesnn.dwp import gaussian, wishart
from skbayesnn.dwp.likelihoods import TRAINING_NODES, Gaussian, Softmax
from skbayesnn.numerics.random import quick_normals


@dataclass(frozen=True)
class LayerSizes:
    """Sizes of a deep Wishart process.

    Attributes
    ----------
    n_inputs, n_targets : int
        Number of functions: one for each target, or those that the classes need.
    n_inducing : int
        P.
    freedom : int
        Degrees of freedom ν of every hidden layer.
    n_layers : int
        Number L of hidden layers; without any, the model is a sparse Gaussian process.
    posterior : {"ab-gw", "a-gw", "gw", "dgp"}
    likelihood : {"gaussian", "softmax"}, default="gaussian"
        Distribution of the target given the functions.
    own_scale : bool, default=False
        Whether the posterior has a scale matrix of its own, see
        :mod:`skbayesnn.dwp.scale_mixture`.
    offsets : tuple of float, default=()
        Constants that are added to the latent functions of classes.
    """

    n_inputs: int
    n_targets: int
    n_inducing: int
    freedom: int
    n_layers: int
    posterior: str
    likelihood: str = "gaussian"
    own_scale: bool = False
    offsets: tuple = field(default=(), compare=False)

    def shapes(self):
        """Names and shapes of all parameters, in order.

        ``log_heights`` are the log signal variances of the kernels K (the scale matrices are K/ν).
        ``log_lengths`` belong to the kernels after the first. The first kernel has a length scale
        for each input, ``log_length_scales``.
        """
        shapes = {
            "inducing": (self.n_inducing, self.n_inputs),
            "log_length_scales": (self.n_inputs,),
            "log_lengths": (self.n_layers,),
            "log_heights": (self.n_layers + 1,),
            "log_noise": (self.law.n_noises(self.n_targets),),
            "root": (self.n_targets, self.n_inducing, self.n_inducing),
            "values": (self.n_targets, self.n_inducing),
        }
        layer = self.family.parameter_shapes(self.posterior, self.n_inducing, self.freedom)
        for k in range(self.n_layers):
            shapes.update({f"{name}_{k}": shape for name, shape in layer.items()})
            if self.own_scale:
                square = self.n_inducing, self.n_inducing
                names = f"scale_base_{k}", f"scale_{k}", f"scale_logit_{k}"
                shapes.update(zip(names, (square, square, (1,)), strict=True))
        return shapes

    @property
    def law(self):
        """The likelihood model."""
        return Softmax(self.offsets) if self.likelihood == "softmax" else Gaussian

    @property
    def family(self):
        """Module that implements the posterior of a hidden layer."""
        return gaussian if self.posterior == "dgp" else wishart

    @property
    def rank(self):
        """Number of columns of S."""
        return self.freedom if self.posterior == "dgp" else min(self.freedom, self.n_inducing)

    @property
    def layer_names(self):
        """Names of the parameters of a hidden layer, without its number."""
        return tuple(self.family.parameter_shapes(self.posterior, self.n_inducing, self.freedom))

    def views(self, theta):
        """Parameters by name, as views of the flat vector."""
        return {name: theta[part].reshape(shape) for name, part, shape in _layout(self)}

    def size(self):
        """Length of the flat vector."""
        return sum(prod(shape) for shape in self.shapes().values())

    def layer(self, parameters, k):
        """Parameters of hidden layer k (from 0), named as in :mod:`~skbayesnn.dwp.wishart`."""
        return {name: parameters[f"{name}_{k}"] for name in self.layer_names}


@cache
def _layout(sizes):
    """Name, slice of the flat vector and shape of every parameter."""
    out, begin = [], 0
    for name, shape in sizes.shapes().items():
        end = begin + prod(shape)
        out.append((name, slice(begin, end), shape))
        begin = end
    return out


@dataclass
class Noise:
    """Random numbers of one evaluation: Gram matrices, row features, likelihood nodes."""

    uniform: np.ndarray  # (n_layers, n_draws, r)
    normal: np.ndarray  # (n_layers, n_draws, P, r)
    rows: np.ndarray  # (n_layers, n_draws, n or 1, ν)
    nodes: np.ndarray | None = None  # (n_draws, n_targets, n_nodes, 1)

    def only(self, d):
        """The random numbers of draw d only."""
        return self.take(slice(d, d + 1))

    def first(self, n_draws):
        """The random numbers of the first draws."""
        return self.take(slice(n_draws))

    def take(self, draws):
        """The random numbers of some draws, given by a slice or by indices."""
        nodes = None if self.nodes is None else self.nodes[draws]
        return Noise(self.uniform[:, draws], self.normal[:, draws], self.rows[:, draws], nodes)

    def nodes_of(self, d):
        """The likelihood's nodes for draw d."""
        return None if self.nodes is None else self.nodes[d]


def draw_noise(sizes, generator, n_draws, n_rows, n_nodes=TRAINING_NODES):
    """Random numbers for ``n_draws`` draws and ``n_rows`` rows.

    ``n_nodes`` is the number of nodes of the likelihood per draw.

    Returns
    -------
    noise : Noise
    """
    a = sizes
    rank, n_layers = a.rank, a.n_layers
    uniform = generator.uniform(1e-12, 1 - 1e-12, (n_layers, n_draws, rank))
    normal = generator.standard_normal((n_layers, n_draws, a.n_inducing, rank))
    shape = (n_layers, n_draws, n_rows, a.freedom)
    # Predictions store a single row. The many rows of a training step need only 16 random bits
    # each.
    rows = generator.standard_normal(shape) if n_rows == 1 else None
    if rows is None:
        rows = quick_normals(generator, shape).astype(float)
    nodes = a.law.draw_nodes(generator, n_draws if n_layers else 1, a.n_targets, n_nodes)
    return Noise(uniform, normal, rows, nodes)

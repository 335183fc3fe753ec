"""Sampled cells for any number of inputs: hidden units drawn from their prior.

M units, each of mass 1/M, form a network with one hidden layer and stable output weights, which
tends to the infinite network as M grows. Each unit is a cell of its own, and a new point never
splits it. A draw of the weights is therefore all that predictions need:

    f(x) = Σ_l w_l h(b_l + w_l · x),    where h is the sign, the error function or a cosine.

The hyperplanes (b_l, w_l) stay as drawn, or move with the chain
(:mod:`skbayesnn.stable.samplers.units`).
"""

from math import log, pi, sqrt

import numpy as np
from scipy.special import erf

from skbayesnn.stable.partitions.base import AS_IT_IS
from skbayesnn.stable.partitions.features import FeaturePartition
from skbayesnn.stable.samplers.units import MovingChain
from skbayesnn.stable.samplers.weights import WeightChain

_ROWS_A_BLOCK = 4096
# A unit separates rows if its values there differ by at least this much.
_LEAST_SPREAD = 1e-3


def sign(arguments):
    """The sign, with positive sign at zero."""
    # Adding zero removes negative zeros: a point on a hyperplane is on its positive side.
    return np.copysign(1.0, arguments + 0.0)


def cosine(arguments):
    """√2 cos, whose mean square is one."""
    return sqrt(2.0) * np.cos(arguments)


ACTIVATIONS = {"sign": sign, "erf": erf, "cosine": cosine}
"""Activation functions of b + w · x."""

BIAS_SCALES = {"sign": 1.0, "erf": 1.0, "cosine": pi}
"""Standard deviations of the biases. The bias of a cosine is a phase that is nearly uniform on the
circle: cosines have no preferred place, up to exp(-2π²) = 3e-9."""


class UnitCells(FeaturePartition):
    """Hidden units whose hyperplanes each chain draws from their prior.

    Parameters
    ----------
    X, y, sample_weight, inputs
        See the base class.
    n_units : int
    activation : {"sign", "erf", "cosine"}, default="sign"
    bias_scale : float, default=1.0
        Standard deviation of the biases; the input weights have standard deviation one.
    moving : bool, default=False
        Whether chains move their hyperplanes.
    """

    recorded = ("weights",)

    def __init__(
        self,
        X,
        y=None,
        sample_weight=None,
        inputs=AS_IT_IS,
        *,
        n_units,
        activation="sign",
        bias_scale=1.0,
        moving=False,
    ):
        super().__init__(X, y, sample_weight, inputs)
        self.activation, self.bias_scale, self.moving = activation, bias_scale, moving
        self.log_masses = np.full(n_units, -log(n_units))
        self.chain = MovingChain if moving else WeightChain

    def draw_planes(self, rng):
        """Input weights of each unit and, last, its bias in units of ``bias_scale``.

        All are standard normal and rounded to single precision, in which they are recorded, so that
        a row near a hyperplane is on the same side of it in the chain and in predictions.
        """
        shape = self.log_masses.size, self.rows.shape[1] + 1
        return rng.standard_normal(shape, dtype=np.float32).astype(np.float64)

    def _planes_shape(self, n_draws):
        return n_draws if self.moving else 1, self.log_masses.size, self.rows.shape[1] + 1

    def values(self, X, planes):
        """h(b + w · x) at scaled rows, (n_rows, n_units)."""
        arguments = X @ planes[:, :-1].T
        arguments += self.bias_scale * planes[:, -1]
        return ACTIVATIONS[self.activation](arguments)

    def features(self, planes):
        """T, (n, n_units): values of the units at the rows."""
        return self.values(self.rows, planes)

    def separating_mass(self):
        """Share of units, in a separate draw, that separate any two rows."""
        planes = self.draw_planes(np.random.default_rng(0))
        return np.mean(np.ptp(self.features(planes), axis=0) > _LEAST_SPREAD)

    def _predict(self, problem, draws, X):
        """Means, and variances of zero, because f is known given a draw of the units."""
        means = np.empty((len(X), draws.place.size))
        for place in np.unique(draws.place):
            chosen = np.flatnonzero(draws.place == place)
            weights = draws.weights[chosen].astype(np.float64)
            planes = draws.planes[place].astype(np.float64)
            for start in range(0, len(X), _ROWS_A_BLOCK):
                rows = slice(start, start + _ROWS_A_BLOCK)
                means[rows, chosen] = self.values(X[rows], planes) @ weights.T
        return means, np.zeros_like(means)

    def _sample(self, draws, X, rng):
        return self._predict(None, draws, X)[0]

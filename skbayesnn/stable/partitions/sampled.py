"""Sampled cells for any number of inputs: hidden units drawn from their prior.

M units, each of mass 1/M, are a network with one hidden layer and stable output weights; it
tends to the infinite network as M grows. A unit is a cell of its own and a new point never
splits it, so a draw of the weights is all that a prediction needs:

    f(x) = Σ_l w_l h(b_l + w_l · x),    h the sign, the error function or a cosine.

The hyperplanes (b_l, w_l) stay as they were drawn, or move with the chain (``unit_moves``).
"""

from math import log, pi, sqrt

import numpy as np
from scipy.special import erf

from skbayesnn.stable.samplers.chain import new_record, start_state
from skbayesnn.stable.samplers.hyper import HyperMoves
from skbayesnn.stable.samplers.units import UnitMoves
from skbayesnn.stable.samplers.weights import WeightChain

_ROWS_A_BLOCK = 4096
# A unit tells rows apart if its values at them differ by this much.
_LEAST_SPREAD = 1e-3


def sign(arguments):
    """The sign, never zero."""
    # Negative zeros to positive ones, as a point on a hyperplane is on its positive side.
    return np.copysign(1.0, arguments + 0.0)


def cosine(arguments):
    """√2 cos, whose mean square is one."""
    return sqrt(2.0) * np.cos(arguments)


ACTIVATIONS = {"sign": sign, "erf": erf, "cosine": cosine}
"""What a hidden unit makes of b + w · x."""

BIAS_SCALES = {"sign": 1.0, "erf": 1.0, "cosine": pi}
"""Standard deviations of the biases. That of a cosine is a phase, as good as uniform on the
circle: cosines have no preferred place, but for exp(-2π²) = 3e-9."""


class UnitCells:
    """Hidden units with hyperplanes drawn from their prior.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Distinct rows.
    n_units : int
    rng : numpy.random.Generator
    activation : {"sign", "erf", "cosine"}, default="sign"
    bias_scale : float, default=1.0
        Standard deviation of the biases; that of the input weights is one.
    moving : bool, default=False
        Each chain draws hyperplanes of its own, and moves them.

    Attributes
    ----------
    planes : ndarray of shape (n_units, n_features + 1)
        Input weights of each unit and, last, its bias in units of ``bias_scale``: all
        standard normal. Where they move, no draw of the posterior is here.
    log_masses : ndarray of shape (n_units,)
    kept : tuple of str
        What a record keeps of each draw.
    """

    def __init__(self, X, n_units, rng, activation="sign", bias_scale=1.0, moving=False):
        self.activation, self.bias_scale, self.moving = activation, bias_scale, moving
        self.planes = rng.standard_normal((n_units, X.shape[1] + 1))
        self.log_masses = np.full(n_units, -log(n_units))
        self.kept = ("weights", "planes") if moving else ("weights",)
        self._X = X

    def features(self, X, planes):
        """h(b + w · x), (n_rows, n_units)."""
        arguments = X @ planes[:, :-1].T
        arguments += self.bias_scale * planes[:, -1]
        return ACTIVATIONS[self.activation](arguments)

    def separating_mass(self):
        """Share of the units that tell any two rows apart."""
        return np.mean(np.ptp(self.sign_matrix(), axis=0) > _LEAST_SPREAD)

    def sign_matrix(self):
        """T, (n, n_units): signs, or what the activation makes of the rows."""
        return self.features(self._X, self.planes)

    def new_chain(self, problem, prior, monitored, n_draws, thin, rng):
        """A function that runs sweeps of a new chain, and the record that it fills."""
        hyper = HyperMoves(prior, self.log_masses, rng)
        problem = hyper.start(problem)
        state = start_state(problem, prior, rng)
        planes, unit_moves, size = self.planes, None, self.log_masses.size
        if self.moving:
            unit_moves = UnitMoves(self, self._X, np.sqrt(problem.counts), rng)
            planes, size = unit_moves.planes, size + self.planes.size
        record = new_record(prior, size, monitored, n_draws, thin)
        features = self.features(self._X, planes)
        chain = WeightChain(features, problem, hyper, state, record, rng, unit_moves=unit_moves)
        return chain.sweep, record

    def predict(self, problem, draws, log_noise, levels, X, log_gain):
        """Means and variances (all zero) of f given each draw, (n_rows, n_draws)."""
        n_units = self.log_masses.size
        weights = draws[:, :n_units].astype(np.float64)
        means = np.empty((X.shape[0], log_noise.size))
        for start in range(0, X.shape[0], _ROWS_A_BLOCK):
            rows = slice(start, start + _ROWS_A_BLOCK)
            if not self.moving:
                means[rows] = self.features(X[rows], self.planes) @ weights.T
                continue
            for d, draw in enumerate(draws):
                planes = draw[n_units:].astype(np.float64).reshape(self.planes.shape)
                means[rows, d] = self.features(X[rows], planes) @ weights[d]
        return means, np.zeros_like(means)

    def sample(self, problem_of, draws, log_noise, chosen, X, rng):
        """The function at all new inputs, jointly: given a draw of the units it is known.

        Parameters
        ----------
        problem_of, draws, log_noise, X, rng
            As in the exact cells.
        chosen : ndarray of int, shape (n_samples,)
            The posterior draw of each sample.

        Returns
        -------
        f : ndarray of shape (n_rows, n_samples)
        """
        distinct, place = np.unique(chosen, return_inverse=True)
        values, _ = self.predict(None, draws[distinct], log_noise[distinct], None, X, None)
        return values[:, place]

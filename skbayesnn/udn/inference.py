"""Variational inference of weights and depth together (eq. 7), as a model to train.

Weights take steps of Adam on eq. 7. The depth posterior is not another parameter for Adam: given
the value of each depth, eq. 7 is a small problem in q(ℓ), and q is moved towards its solution on
running averages of the values. The depth found therefore depends on the data and not on the number
of steps.

One depth more than q(ℓ) supports, and at least five, are always trained. Their values are thus
measured and not guessed, while in the layers that they share their gradients have a hundredth of
the weight of the last depth. The support grows when this pays, even if a shallow network has
learned nothing yet.
"""

import numpy as np

from skbayesnn.numerics.rounding import rounding_variance
from skbayesnn.numerics.workers import ALONE
from skbayesnn.training.loop import Trainable
from skbayesnn.udn.depth import TruncatedPoisson
from skbayesnn.udn.likelihoods import log_mean
from skbayesnn.udn.objective import run_steps

PROBE_WEIGHT, LEAST_TRAINED = 0.01, 5
BATCHES_BETWEEN_DEPTH_UPDATES = 16
MEMORY = 0.9
NOISE_STEPS = (0.0, 0.05, -0.05, 0.25, 0.7)
NOISE_FALL = 0.005
"""Most that the log noise falls a step of the optimiser, and 0.05 an epoch in any case. While the
noise is wide, components cannot stand for different values of the mean, so the network has to
learn it; later they can, and then nothing makes it learn."""
ROWS_AT_A_TIME = 512
LEAST_LOG_NOISE = -18.0
OF_AN_ATOM = 0.05
"""Least standard deviation of a component, relative to that of rounding, if most rows have the same
value."""


def least_log_noise(targets, weights):
    """Least log noise variance of each target: that of rounding, where it is rounded; (n_targets,).

    Otherwise, narrow components at the possible values would gain more than predicting which value
    it will be. But if most rows have one value, often zero, the distribution has a spike there.
    """
    rounding = np.empty(targets.shape[1])
    for t, column in enumerate(targets.T):
        rows_of_a_value = np.bincount(np.unique(column, return_inverse=True)[1], weights)
        has_atom = rows_of_a_value.max() > 0.5 * weights.sum()
        rounding[t] = rounding_variance(column) * (OF_AN_ATOM**2 if has_atom else 1.0)
    return np.log(np.maximum(rounding, np.exp(LEAST_LOG_NOISE)))


class DepthInference(Trainable):
    """Weights and depth of one network, on training rows and held-out rows.

    Parameters
    ----------
    network : skbayesnn.udn.network.Network
    depth : skbayesnn.udn.depth.DepthPosterior
    X : ndarray of shape (n, n_inputs)
    targets : ndarray of shape (n, n_outputs) or (n, 1)
        Regression targets, or class numbers.
    weights : ndarray of shape (n,)
        How many rows each row stands for.
    max_depth : int
        Largest support allowed.
    n_total : float or None, default=None
        Number of rows that the prior is weighed against; by default the sum of the weights.
    held_out : tuple of (X, targets, weights) or None, default=None
        The rows that set the noise, each half of them for itself: a row is scored by the noise
        of the other half, and training takes the geometric mean.
    noise : ndarray of shape (depth, n_outputs) or None, default=None
        Log noise variances to keep, the last for all deeper heads; None to learn them.
    workers : skbayesnn.numerics.workers.Workers
        Threads to share the work out to.
    """

    def __init__(
        self,
        network,
        depth,
        X,
        targets,
        weights,
        max_depth,
        n_total=None,
        held_out=None,
        noise=None,
        workers=ALONE,
    ):
        kind = network.dtype
        self.network, self.depth, self.max_depth = network, depth, max_depth
        self.X = np.ascontiguousarray(X, dtype=kind)
        self.targets = np.ascontiguousarray(targets, dtype=kind)
        self.weights = np.ascontiguousarray(weights / weights.mean(), dtype=kind)
        self.n_rows = len(X)
        self.n_total = float(n_total or weights.sum())
        self.held_out, self.noise, self.workers = held_out, noise, workers
        self.held_out_weights = None if held_out is None else held_out[2]
        self.halves = None
        self.least_log_noise = least_log_noise(targets, weights)
        self.mean_log_likelihood = np.zeros(0)
        self.law = network.architecture.likelihood
        network.learn_noise(held_out is None and noise is None)
        network.grow(depth.support)
        # A narrow prior makes the start expensive for few rows, which is no divergence.
        self.loss_limit += network.divergence(depth.support).max() / self.n_total

    def weighting(self):
        """Weights of the depths in use, for the trunk and for the heads.

        Returns
        -------
        q : ndarray of shape (m,)
        heads : ndarray of shape (m,)
        """
        q = self.depth.probabilities()
        if isinstance(self.depth, TruncatedPoisson):
            ahead = min(max(len(q) + 1, LEAST_TRAINED), self.max_depth) - len(q)
            q = np.append(q, np.full(ahead, PROBE_WEIGHT * q[-1]))
            return q, np.ones(len(q))
        return q, (q > 0).astype(float)

    def epoch(self, order, batch_size, rate):
        size = batch_size * BATCHES_BETWEEN_DEPTH_UPDATES
        total = 0.0
        for begin in range(0, len(order), size):
            part = order[begin : begin + size]
            total += len(part) * self._block(part, batch_size, rate)
        if self.held_out is not None and self.law.n_shared:
            self._learn_noise(-(-len(order) // batch_size))
        return total / len(order)

    def _block(self, order, batch_size, rate):
        """Steps on these rows, then one update of q(ℓ); the mean loss a row."""
        net = self.network
        q, heads = self.weighting()
        m = len(q)
        net.grow(m)
        if self.noise is not None:
            last = len(self.noise) - 1
            net.set_noise(self.noise[np.minimum(np.arange(m), last)])
        log_likelihood = run_steps(
            net, m, q, heads, self.X[order], self.targets[order], self.weights[order],
            batch_size, rate, self.n_total, self.workers,
        )  # fmt: skip
        return self._update_depth(log_likelihood)

    def _update_depth(self, log_likelihood):
        known = min(len(self.mean_log_likelihood), len(log_likelihood))
        smooth = log_likelihood.copy()
        smooth[:known] += MEMORY * (self.mean_log_likelihood[:known] - log_likelihood[:known])
        self.mean_log_likelihood = smooth
        divergence = self.network.divergence(len(smooth))
        loss = -self.depth.elbo(self.n_total * log_likelihood - divergence) / self.n_total
        if np.isfinite(loss):
            self.depth.update(self.n_total * smooth - divergence, self.max_depth)
        return loss

    def state(self):
        net = self.network
        return (
            net.depth, net.theta.copy(), net.adam.first.copy(), net.adam.second.copy(),
            net.adam.counts.copy(), self.depth.state(), self.mean_log_likelihood.copy(),
            self.halves,
        )  # fmt: skip

    def restore(self, state):
        net = self.network
        net.grow(state[0])  # an undone epoch may have left fewer layers than the best had
        net.shrink(state[0])
        net.theta[:], net.adam.first[:], net.adam.second[:], net.adam.counts[:] = state[1:5]
        self.depth.restore(state[5])
        self.mean_log_likelihood, self.halves = state[6].copy(), state[7]

    def non_finite(self):
        theta, starts = self.network.theta, self.network.starts
        if np.isfinite(theta).all():
            return None
        for b in range(2 * self.network.depth):
            if not np.isfinite(theta[starts[b] : starts[b + 1]]).all():
                return f"{('layer', 'head')[b % 2]} {b // 2 + 1}"
        return None

    def _look(self):
        """Outputs of the held-out rows, for every depth in use."""
        m = len(self.weighting()[0])
        self.network.grow(m)
        self.outputs = self.network.outputs(self.held_out[0], m, self.workers)

    def score_held_out(self):
        """Log densities of the held-out rows under the network as it stands."""
        self._look()
        return self.held_out_log_densities()

    def _learn_noise(self, n_batches):
        """Move the noise of each depth and half towards what makes its rows most probable."""
        _, targets, weights = self.held_out
        moves = np.array([*NOISE_STEPS, -max(0.05, NOISE_FALL * n_batches)])
        self._look()
        m = len(self.outputs)
        shared = self.network.shared(m)
        if self.halves is None:
            self.halves = np.full((2, m, targets.shape[1]), self.law.first_noise)
        kept = np.minimum(np.arange(m), self.halves.shape[1] - 1)
        self.halves = self.halves[:, kept]
        log_noises = self.halves[:, None] + moves[:, None, None]
        pieces = [
            (half, slice(begin, begin + 2 * ROWS_AT_A_TIME, 2))
            for half in range(2)
            for begin in range(half, len(targets), 2 * ROWS_AT_A_TIME)
        ]

        def piece(i):
            half, rows = pieces[i]
            return self.law.noise_curve(
                self.outputs[:, rows], shared, log_noises[half], targets[rows], weights[rows]
            )

        parts = self.workers.map(piece, len(pieces))
        # As if part of one more row lay a standard deviation off: none of few rows' noise.
        n_rows = np.array([max(1, len(targets[half::2])) for half in range(2)], dtype=float)
        values = -0.5 * (log_noises + np.exp(-log_noises)) / n_rows[:, None, None, None] ** 3
        for (half, _), part in zip(pieces, parts, strict=True):
            values[half] += part
        steps = moves[values.argmax(axis=1)]
        self.halves = np.maximum(self.halves + steps, self.least_log_noise)
        self.network.set_noise(self.halves.mean(axis=0))

    def held_out_log_densities(self):
        if self.held_out is None:
            return None
        targets = self.held_out[1]
        if self.halves is None:
            self._look()
        shared = self.network.shared(len(self.outputs))
        q = self.depth.probabilities()
        out = np.empty(len(targets))

        def piece(half):
            rows, given = slice(half, None, 2), shared.copy()
            if self.halves is not None:
                given[:, : targets.shape[1]] = self.halves[1 - half]
            terms = self.law.log_densities(self.outputs[:, rows], given, targets[rows])
            out[rows] = log_mean(terms.sum(axis=2)[: len(q)], q)

        self.workers.run(piece, 2)
        return out

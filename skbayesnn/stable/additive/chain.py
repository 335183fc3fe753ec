"""One Markov chain of the additive model.

A sweep draws g given the rest (:mod:`~skbayesnn.stable.additive.dense`), then each f_k in random
order with its ν_k (:mod:`~skbayesnn.stable.additive.axes`), the levels of the f_k, the index α, the
slopes of the noise scale (:mod:`~skbayesnn.stable.noise.slopes`), and the noise
(:mod:`~skbayesnn.stable.noise.precisions`). Unless there are too many rows, every fourth sweep
draws all parts jointly (:mod:`~skbayesnn.stable.additive.joint`), together with some precisions
(:mod:`~skbayesnn.stable.noise.outliers`).
"""

from math import exp, log

import numpy as np
from numpy.linalg import LinAlgError
from sklearn.exceptions import ConvergenceWarning

from skbayesnn._warnings import warn_user
from skbayesnn.numerics.stable_laws import positive_stable_table
from skbayesnn.stable.additive.alone import move_alpha_without_f
from skbayesnn.stable.additive.axes import (
    add_up,
    log_prior_of_variances,
    move_levels,
    update_axes,
)
from skbayesnn.stable.additive.dense import update_dense
from skbayesnn.stable.additive.joint import TargetCovariance, parts_given_variances
from skbayesnn.stable.noise.outliers import N_ROWS, move_precisions
from skbayesnn.stable.noise.rows import NoiseMoves
from skbayesnn.stable.samplers.hyper import ALPHAS, log_nu_change
from skbayesnn.stable.samplers.line import MAX_LOG_VARIANCE
from skbayesnn.stable.samplers.problem import table_and_width
from skbayesnn.stable.samplers.scales import log_half_cauchy, log_noise_prior

_SWEEPS_A_JOINT_DRAW = 4
AT_A_TIME = 20
"""Number of axes up to which every sweep updates each axis. If there are more, a warm-up sweep
updates this many on average; afterwards, every sweep updates the ones that varied most in the
warm-up. Each other axis is updated with a fixed probability, so that sweeps remain valid."""
# Largest value of this probability; if it is lower, the others together have as many updates as the
# most variable axes.
_NOW_AND_THEN = 0.25
# Weight of a warm-up sweep in the running estimate of the variances.
_LEARNING = 0.02
# Largest log ratio of a weight's variance to the noise variance at which sums are still accurate.
_MAX_LOG_RATIO = 25.0
# Numbers of updates per sweep of each ν, of α, and of the noise parameters. With a single f_k: of ν
# and of the noise parameters, then the number of updates of f_k per sweep, and the number of sweeps
# between updates of α. All are chosen for fast mixing.
_MOVES, _MOVES_ALONE = 3, 10
_TURNS_ALONE, _SWEEPS_AN_ALPHA = 2, 5
# With at least a quarter as many inputs as rows, the sizes move at every joint draw, and less often
# with fewer inputs: these gain little from a move that takes as long as a joint draw.
_SIZE_MOVES = 4.0
# Range of the log standard deviation of the steps of the sizes, which is uniform.
_LOG_SIZE_STEPS = log(0.02), log(1.0)
# Of a noise variance that becomes smaller than this part of itself, too few digits would be left.
_MUCH_LESS = 1e-6


def _log_half_cauchys(x):
    """Sum of :func:`~skbayesnn.stable.samplers.scales.log_half_cauchy` over an array."""
    return -np.logaddexp(x, -x).sum()


class AdditiveChain:
    """Sweeps of one chain.

    Parameters
    ----------
    partition : AdditiveCells
    prior : Prior
    state : AdditiveState
        Initial state, updated in place.
    record : AdditiveRecord
        Receives the draws.
    rng : numpy.random.Generator
    """

    def __init__(self, partition, prior, state, record, rng):
        self.partition, self.prior, self.state = partition, prior, state
        self.record, self.rng = record, rng
        self._n_moves = _MOVES_ALONE if partition.alone else _MOVES
        self._noise = NoiseMoves(
            partition.noise_basis, partition.weights, prior, partition.least_log_noise,
            self._n_moves,
        )  # fmt: skip
        self.least_log_noise = self._noise.least_log_noise
        self._gram = partition.gram() if partition.joint else None
        self.sum_up()

    def sweep(self, first, n_sweeps):
        """Run sweeps, starting with number ``first``.

        Sweeps with nonnegative numbers are recorded.
        """
        for sweep in range(first, first + n_sweeps):
            self.sweep_once(sweep)
            if sweep >= 0:
                self.record.write(sweep, self.state, self.fit)
            elif len(self.partition.axes) > AT_A_TIME:
                self._learn_chances(last=sweep == -1)

    def sweep_once(self, sweep=0):
        """Run one sweep; its number is negative during the warm-up."""
        partition, state = self.partition, self.state
        # If all parts are drawn jointly, g is drawn often enough.
        if partition.basis is not None and not (partition.joint and state.n_sweeps % 2):
            self._update_dense()
        if partition.alone and self.prior.alpha is None and state.n_sweeps % _SWEEPS_AN_ALPHA == 0:
            move_alpha_without_f(partition, self.prior, state, self.rng)
        self._update_axes()
        if not partition.alone:
            self._move_levels()
            if self.prior.alpha is None:
                for _ in range(_MOVES):
                    self._move_alpha()
        state.n_sweeps += 1
        if partition.joint and state.n_sweeps % _SWEEPS_A_JOINT_DRAW == 0:
            self._draw_jointly()
        # Running sums accumulate rounding errors.
        self.sum_up()
        state.log_noise = self._noise.update(
            state, partition.y - self.fit, state.log_noise, sweep, self.rng
        )

    def _learn_chances(self, last):
        """Track how much each axis varies; after the warm-up, fix the update probabilities."""
        partition, state = self.partition, self.state
        sizes = partition.ends - partition.starts
        means = np.add.reduceat(state.f, partition.starts) / sizes
        squares = np.add.reduceat((state.f - np.repeat(means, sizes)) ** 2, partition.starts)
        state.spreads += _LEARNING * (squares / sizes - state.spreads)
        if last:
            state.chances[:] = min(_NOW_AND_THEN, AT_A_TIME / sizes.size)
            state.chances[np.argsort(-state.spreads, kind="stable")[:AT_A_TIME]] = 1.0

    def sum_up(self):
        """Recompute the sum of all parts at the rows."""
        partition, state = self.partition, self.state
        self.fit = add_up(partition.index, partition.starts, state.f, state.g)

    def _update_dense(self):
        partition, state = self.partition, self.state
        g, state.theta, state.log_amplitude, state.log_noise = update_dense(
            partition.basis, partition.y - self.fit + state.g, state.g, state.precisions,
            partition.n_rows, state.log_amplitude, state.log_noise,
            self.least_log_noise, self.rng,
        )  # fmt: skip
        self.fit += g - state.g
        state.g = g

    def _update_axes(self):
        partition, state, prior = self.partition, self.state, self.prior
        order = self.rng.permutation(len(partition.axes))
        if order.size > AT_A_TIME:
            order = order[self.rng.random(order.size) < state.chances[order]]
        n_moves = self._n_moves
        if partition.alone:
            order, n_moves = np.zeros(_TURNS_ALONE, dtype=np.int64), n_moves // _TURNS_ALONE
        state.log_noise = update_axes(
            order, *partition.axis_ranges, partition.y, self.fit,
            state.precisions, partition.n_rows, partition.log_masses, partition.log_crowd,
            state.log_variances, state.f, state.log_nu, state.log_noise, state.alpha,
            *table_and_width(state.alpha), state.alpha < 2.0, prior.nu is None,
            self.least_log_noise, n_moves, self.rng,
        )  # fmt: skip

    def _move_levels(self):
        partition, state = self.partition, self.state
        shifts = np.empty(len(partition.axes))
        first, last = state.f[partition.starts], state.f[partition.ends - 1]
        move_levels(first, last, state.log_variances[partition.starts], self.rng, shifts)
        state.f += np.repeat(shifts, partition.ends - partition.starts)

    def _move_alpha(self):
        """Metropolis step for α with all v fixed; each ν_k changes to preserve typical v."""
        partition, state, rng = self.partition, self.state, self.rng
        step = round(rng.normal(scale=exp(rng.uniform(0.0, log(10.0)))))
        i = int(np.searchsorted(ALPHAS, state.alpha - 1e-9)) + step
        if step == 0 or not 0 <= i < ALPHAS.size:
            return
        alpha, log_nu = float(ALPHAS[i]), state.log_nu
        if self.prior.nu is None and rng.random() < 0.7:
            log_nu = log_nu + log_nu_change(partition.typical, state.alpha, alpha)
        old, new = (
            log_prior_of_variances(
                state.log_variances, partition.log_masses, partition.starts, nu, index,
                positive_stable_table(index / 2.0),
            )
            + _log_half_cauchys(nu + 2.0 / index * partition.log_crowd)
            for nu, index in ((state.log_nu, state.alpha), (log_nu, alpha))
        )  # fmt: skip
        if -rng.standard_exponential() < new - old:
            state.alpha, state.log_nu = alpha, log_nu

    def _draw_jointly(self):
        partition, state = self.partition, self.state
        try:
            least_noise = state.log_noise + state.log_factors.min()
            if state.log_variances.max() > least_noise + _MAX_LOG_RATIO:
                raise LinAlgError
            some = self.rng.permutation(partition.y.size)[: N_ROWS if state.degrees < np.inf else 0]
            covariance = self._covariance(some)
        except LinAlgError:
            # Skipping the draw keeps the sweep valid: whether it is possible does not depend on its
            # result.
            state.n_failed += 1
            if state.n_failed == 1:
                warn_user(
                    "The covariance of all targets could not be factored, and a joint draw of all "
                    "parts was left out: chains mix more slowly. Look at r_hat_; an alpha nearer "
                    "to 2 helps.",
                    ConvergenceWarning,
                )
            return
        if self.rng.random() < _SIZE_MOVES * len(partition.axes) / partition.y.size:
            covariance = self._move_sizes(covariance)
        if some.size:
            covariance = self._move_precisions(covariance)
        state.f, state.theta = parts_given_variances(partition, covariance, partition.y, self.rng)
        if partition.basis is not None:
            state.g = partition.basis.values(state.theta)

    def _covariance(self, some, log_axes=0.0, log_dense=0.0, log_noise=0.0):
        """Covariance of the targets, with numbers added to the log variances of its three sums."""
        partition, state = self.partition, self.state
        return TargetCovariance(
            partition, self._gram, state.log_variances + log_axes, state.log_amplitude + log_dense,
            np.exp(state.log_noise + log_noise) / state.precisions, some,
        )  # fmt: skip

    def _move_sizes(self, covariance):
        """Metropolis step for the sizes of all f_k, g and the noise, with the parts integrated out.

        The scales s are kept: all v are multiplied by the same factor as all ν_k."""
        partition, state, prior, rng = self.partition, self.state, self.prior, self.rng
        free = prior.nu is None, partition.basis is not None, prior.log_noise is None
        steps = np.where(free, rng.normal(size=3), 0.0) * exp(rng.uniform(*_LOG_SIZE_STEPS))
        log_nu, log_amplitude = state.log_nu + steps[0], state.log_amplitude + steps[1]
        log_noise = state.log_noise + steps[2]
        least_noise, top = log_noise + state.log_factors.min(), state.log_variances.max()
        if free[2] and log_noise < self.least_log_noise:
            return covariance
        # Beyond the first limit there are no joint draws; beyond the second, C is inaccurate.
        if max(top, top + steps[0]) > min(least_noise + _MAX_LOG_RATIO, MAX_LOG_VARIANCE):
            return covariance
        try:
            other = self._covariance(covariance.some, *steps)
        except LinAlgError:
            return covariance
        crowd = 2.0 / state.alpha * partition.log_crowd
        log_ratio = (
            other.log_density(partition.y) - covariance.log_density(partition.y)
            + _log_half_cauchys(log_nu + crowd) - _log_half_cauchys(state.log_nu + crowd)
            + log_half_cauchy(log_amplitude) - log_half_cauchy(state.log_amplitude)
        )  # fmt: skip
        if free[2]:  # noise that is given may be outside of the prior
            log_ratio += log_noise_prior(log_noise) - log_noise_prior(state.log_noise)
        if -rng.standard_exponential() >= log_ratio:
            return covariance
        state.log_nu, state.log_variances = log_nu, state.log_variances + steps[0]
        state.log_amplitude, state.log_noise = log_amplitude, log_noise
        return other

    def _move_precisions(self, covariance):
        """Draw the precisions of some rows with all parts integrated out."""
        partition, state, rows = self.partition, self.state, covariance.some
        factors, before = np.exp(state.log_factors[rows]), state.precisions[rows]
        noise, chosen = exp(state.log_noise) * factors, before * factors
        move_precisions(
            *covariance.inverse_at_some(partition.y), chosen, partition.weights[rows], noise,
            state.degrees, self.rng,
        )  # fmt: skip
        state.precisions[rows] = chosen / factors
        noise = noise / chosen
        if not (noise < _MUCH_LESS * covariance.noise[rows]).any():
            covariance.change_noise(noise)
            return covariance
        try:
            return self._covariance(rows)
        except LinAlgError:
            # The move is rejected: joint draws are made where the covariance can be factored.
            state.precisions[rows] = before
            return covariance

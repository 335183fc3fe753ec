"""Draws of the index α and of the scale ν, which the paper leaves open.

Priors: α uniform on the grid :data:`ALPHAS` (each index has a table of its own), ν
half-Cauchy, as σ² is. A cell's weight has the variance v = ν q^{2/α} s. A Metropolis
move proposes new (α, log ν) and for each cell either

- keeps v: the data have no say, the ratio is that of the prior densities of v, and where
  this is done for many cells the move has to be short; or
- carries s to the same quantile of its new law: the prior has no say, the ratio is that
  of the evidence, all weights integrated out, and where the data fix v the move has to be
  short.

So cells of large v are kept and those of small v are carried: each is kept with the
probability v/(v + c), where c is random (sometimes so extreme that all are kept, or all
carried), and the ratio has the probability of the same choice on the way back.

A move may also go along the direction in which the typical v stays the same.
"""

from math import exp, inf, log, log1p

import numpy as np

from skbayesnn.numerics.jit import kernel
from skbayesnn.numerics.stable_laws import log_density
from skbayesnn.stable.samplers.problem import problem_at
from skbayesnn.stable.samplers.scales import log_half_cauchy
from skbayesnn.stable.samplers.transport import logit_curve, transport

ALPHAS = np.round(np.arange(0.2, 1.99, 0.02), 2)
"""The values that a sampled α can take: below, weights leave the digits of a double."""

_MOVES_AN_UPDATE = 12
# Where α = 2 there is an update each sweep, and ν alone to move.
_MOVES_AN_UPDATE_GAUSSIAN = 6


def log_nu_change(typical, alpha, other):
    """Change of log ν that keeps the typical v when α changes to ``other``.

    E log v = log ν + 2/α E log q + γ (2/α - 1), where γ is Euler's constant.

    Parameters
    ----------
    typical : float or ndarray
        E log q.
    alpha, other : float
    """
    return (2.0 / alpha - 2.0 / other) * (typical + np.euler_gamma)


class HyperMoves:
    """The moves of one chain; with nothing to sample :meth:`update` changes nothing.

    Parameters
    ----------
    prior : Prior
        α and ν that are None are sampled.
    log_masses : ndarray of shape (n_cells,)
    state : State
        Changed in place.
    rng : numpy.random.Generator
    """

    def __init__(self, prior, log_masses, state, rng):
        self.log_masses, self.state, self.rng = log_masses, state, rng
        self.sample_alpha, self.sample_nu = prior.alpha is None, prior.nu is None
        self.active = self.sample_alpha or self.sample_nu
        # The mean of log q under the masses: that of a typical cell.
        self._typical = float(np.exp(log_masses) @ log_masses)

    def update(self, problem, log_evidence):
        """Make a few moves of both kinds.

        Parameters
        ----------
        problem : Problem
        log_evidence : callable
            Log-likelihood of log-variances (n_cells,), the weights integrated out; minus
            infinity for those that the chain cannot go to.

        Returns
        -------
        problem : Problem
            At the new values.
        """
        if not self.active:
            return problem
        state = self.state
        evidence = log_evidence(state.log_variances)
        for _ in range(_MOVES_AN_UPDATE if problem.move_scales else _MOVES_AN_UPDATE_GAUSSIAN):
            alpha, log_nu = self._propose()
            if alpha is None:
                continue
            proposal = problem_at(problem, self.log_masses, alpha, log_nu)
            kept, log_c = self._choose(problem, state)
            log_variances, log_ratio = self._move(problem, proposal, state, kept, log_c)
            log_ratio += log_half_cauchy(log_nu) - log_half_cauchy(state.log_nu[0])
            new_evidence = evidence if kept.all() else log_evidence(log_variances)
            log_ratio += new_evidence - evidence
            if -self.rng.standard_exponential() < log_ratio:
                problem, evidence = proposal, new_evidence
                state.alpha[0], state.log_nu[0] = alpha, log_nu
                state.log_variances[:] = log_variances
        return problem

    def _propose(self):
        """New values of α and log ν by a symmetric step, (None, None) outside the grid."""
        alpha, log_nu = old, _ = float(self.state.alpha[0]), float(self.state.log_nu[0])
        kind = self.rng.random()
        if self.sample_alpha and (kind < 0.7 or not self.sample_nu):
            size = exp(self.rng.uniform(0.0, log(20.0)))
            step = round(self.rng.normal(scale=size))
            i = int(np.searchsorted(ALPHAS, alpha - 1e-9)) + step
            if not 0 <= i < ALPHAS.size:
                return None, None
            alpha = float(ALPHAS[i])
            if self.sample_nu and kind < 0.5:
                log_nu += log_nu_change(self._typical, old, alpha)
        if self.sample_nu and (kind > 0.4 or not self.sample_alpha):
            log_nu += self.rng.normal(scale=exp(self.rng.uniform(log(0.03), log(2.0))))
        return alpha, log_nu

    def _choose(self, problem, state):
        """The cells that keep v, and log c of the choice."""
        kind = self.rng.random()
        if not problem.move_scales or kind < 0.2:
            return np.zeros(self.log_masses.size, dtype=bool), np.inf
        if kind < 0.4:
            return np.ones(self.log_masses.size, dtype=bool), -np.inf
        log_c = state.log_noise[0] + self.rng.uniform(-5.0, 5.0)
        draws = self.rng.logistic(size=self.log_masses.size)
        return draws < state.log_variances - log_c, log_c

    def _move(self, problem, proposal, state, kept, log_c):
        """New log-variances; log of the ratio of all but evidence and prior of ν."""
        if not problem.move_scales:
            return state.log_variances + proposal.log_units - problem.log_units, 0.0
        curves = logit_curve(problem.table.a), logit_curve(proposal.table.a)
        new = state.log_variances.copy()
        log_ratio = _carry(
            new, kept, log_c, *curves, problem.log_units, proposal.log_units,
            problem.table, proposal.table,
        )  # fmt: skip
        return new, log_ratio


@kernel
def _carry(
    log_variances, kept, log_c, old_curve, new_curve, old_units, new_units, old_table, new_table
):
    """Carry the scales that are not kept, in place; the log ratio of both choices."""
    total = 0.0
    for cell in range(log_variances.shape[0]):
        old = log_variances[cell]
        t = old - old_units[cell]
        total -= log_density(t, old_table)
        if kept[cell]:
            total += log_density(old - new_units[cell], new_table)
            continue
        carried, log_slope = transport(t, old_curve, new_curve)
        new = new_units[cell] + carried
        total += log_slope + log_density(carried, new_table)
        if log_c < inf:
            # The probability of being carried is c/(v + c).
            total += log1p(exp(min(old - log_c, 700.0))) - log1p(exp(min(new - log_c, 700.0)))
        log_variances[cell] = new
    return total

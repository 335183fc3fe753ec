"""The chain for the exact cells of one input.

A sweep draws each v_j with all of f but f_0 integrated out (forward messages updated as
the sweep goes, backward messages computed before it), then the noise variance in the
same way, then f and the noise variance given f, then proposes to exchange the variances
of neighbouring cells, which moves a jump from a gap to the next.
"""

from math import exp

import numpy as np

from skbayesnn.numerics.jit import kernel
from skbayesnn.stable.samplers.chain import Chain
from skbayesnn.stable.samplers.line import (
    MAX_LOG_VARIANCE,
    draw_function,
    draw_variances,
    exchange_neighbours,
    log_evidence,
    move_log_noise,
    move_log_nu,
)
from skbayesnn.stable.samplers.scales import draw_log_noise

_SWEEPS_A_MOVE = 5
# As many as leave ν with a tenth of the sweeps as effective draws (40 rows; benchmarks/LOG.md).
_NU_MOVES = 10


@kernel
def sweep_line(first, n_sweeps, n_nu_moves, problem, state, record, rng):
    """Run Gibbs sweeps.

    Parameters
    ----------
    first : int
        Number of the first sweep; those with a negative number are not recorded.
    n_sweeps : int
    n_nu_moves : int
        Moves of log ν a sweep, which change ``problem.log_units`` with it.
    problem : Problem
    state : State
        Changed in place.
    record : Record
        Written to.
    rng : numpy.random.Generator
    """
    y, counts, log_units, table = problem.y, problem.counts, problem.log_units, problem.table
    log_variances, f = state.log_variances, state.f
    n = y.shape[0]
    n_rows = 0.0
    noise, steps, numbers = np.empty(n), np.empty(n), np.empty(2)
    for j in range(n):
        n_rows += counts[j]
        noise[j] = exp(state.log_noise[0]) / counts[j]
        steps[j] = 4.0 * exp(min(log_variances[j], MAX_LOG_VARIANCE))
    for sweep in range(first, first + n_sweeps):
        if problem.move_scales:
            draw_variances(
                y,
                noise,
                f[0],
                log_units,
                log_variances,
                steps,
                table,
                problem.width,
                sweep % 2 != 0,
                rng,
            )
            if n == 1:
                # There v was drawn without f_0, and the moves to come are given f_0.
                draw_function(y, noise, steps, rng, f)
        if n_nu_moves > 0:
            numbers[0], numbers[1] = state.log_nu[0], state.log_noise[0]
            move_log_nu(
                y, counts, problem.within, f[0], log_units, log_variances, steps, numbers, table,
                problem.move_scales, n_nu_moves, rng,
            )  # fmt: skip
            state.log_nu[0] = numbers[0]
        if problem.move_noise:
            log_noise = move_log_noise(
                y, counts, problem.within, n_rows, state.log_noise[0], f[0], steps, rng
            )
            for j in range(n):
                noise[j] = exp(log_noise) / counts[j]
            draw_function(y, noise, steps, rng, f)
            rss = problem.within
            for j in range(n):
                rss += counts[j] * (y[j] - f[j]) ** 2
            log_noise = draw_log_noise(log_noise, n_rows, rss, rng)
            for j in range(n):
                noise[j] = exp(log_noise) / counts[j]
            state.log_noise[0] = log_noise
        else:
            draw_function(y, noise, steps, rng, f)
        if sweep >= 0:
            record.log_noise[sweep] = state.log_noise[0]
            record.log_nu[sweep] = state.log_nu[0]
            for i in range(record.monitored.shape[0]):
                record.f[sweep, i] = f[record.monitored[i]]
        if problem.move_scales:
            exchange_neighbours(y, noise, log_units, log_variances, steps, f, table, rng)
        if sweep >= 0 and (sweep + 1) % record.thin == 0:
            for j in range(n):
                record.log_scales[sweep // record.thin, j] = log_variances[j] - log_units[j]


class LineChain(Chain):
    """The sweeps of a chain for the cells of one input, and between them moves of α and ν."""

    def sweep(self, first, n_sweeps):
        """Run sweeps."""
        # ν alone moves within the sweeps; α takes other tables, and moves between them.
        n_nu_moves = _NU_MOVES if self.moves.sample_nu else 0
        stride = _SWEEPS_A_MOVE if self.moves.sample_alpha else n_sweeps
        for start in range(first, first + n_sweeps, stride):
            if self.moves.sample_alpha:
                self.problem = self.moves.update(self.problem, self._log_evidence)
            n = min(stride, first + n_sweeps - start)
            self.write_parameters(start, n)
            sweep_line(start, n, n_nu_moves, self.problem, self.state, self.record, self.rng)

    def _log_evidence(self, log_variances):
        """All of f but f_0 integrated out."""
        y, counts, within = self.problem.y, self.problem.counts, self.problem.within
        steps = 4.0 * np.exp(np.minimum(log_variances, MAX_LOG_VARIANCE))
        return log_evidence(y, counts, within, self.state.log_noise[0], self.state.f[0], steps)

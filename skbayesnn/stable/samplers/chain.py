"""One Markov chain: what it samples, its state, what is kept of it, and its loop."""

from functools import partial
from typing import NamedTuple

import numpy as np

from skbayesnn.numerics.stable_laws import PositiveStableTable, positive_stable_table

# Large enough that Python costs nothing beside the sweeps, small enough that progress
# is seen and Ctrl-C is prompt.
_SWEEPS_A_BLOCK = 100


class Prior(NamedTuple):
    """Index α, scale ν, and log σ², each None where it is sampled.

    The priors are in :mod:`skbayesnn.stable.samplers.hyper`; σ² is half-Cauchy.
    """

    alpha: float | None
    nu: float | None
    log_noise: float | None


class Problem(NamedTuple):
    """What a chain samples from, at given α and ν.

    Attributes
    ----------
    y, counts : ndarray of shape (n,)
        Mean of the targets at each distinct input row, and number of rows there.
    within : float
        Sum of squares of the targets about those means.
    log_units : ndarray of shape (n_cells,)
        log(ν q^{2/α}): the log-variance of a cell's weight where its scale s is one.
    table : PositiveStableTable
        Log-density of log s.
    width : float
        First interval of the slice sampler for log s: about its prior spread.
    move_scales, move_noise : bool
        False where the scales are one (α = 2) or the noise variance is known.
    """

    y: np.ndarray
    counts: np.ndarray
    within: float
    log_units: np.ndarray
    table: PositiveStableTable
    width: float
    move_scales: bool
    move_noise: bool


class State(NamedTuple):
    """The state of a chain, changed in place by its sweeps.

    ``log_variances`` (n_cells,) of the weights, ``f`` (n,) at the distinct rows, and
    ``log_noise`` (1,), which is log σ².
    """

    log_variances: np.ndarray
    f: np.ndarray
    log_noise: np.ndarray


class Record(NamedTuple):
    """What is kept of a chain after its warm-up.

    Attributes
    ----------
    thin : int
        Sweeps a draw.
    cells : ndarray of shape (n_draws, n_cells), float32
        Of each draw what predictions need: log s, or the weights.
    log_noise, alpha, log_nu : ndarray of shape (n_sweeps,)
        log σ², α and log ν after every sweep.
    monitored : ndarray of shape (n_monitored,)
        Distinct rows at which f is followed.
    f : ndarray of shape (n_sweeps, n_monitored)
        f there after every sweep.
    """

    thin: int
    cells: np.ndarray
    log_noise: np.ndarray
    alpha: np.ndarray
    log_nu: np.ndarray
    monitored: np.ndarray
    f: np.ndarray

    def first(self, n_draws):
        """The record of the first draws only."""
        n_sweeps = n_draws * self.thin
        return Record(
            self.thin,
            self.cells[:n_draws],
            self.log_noise[:n_sweeps],
            self.alpha[:n_sweeps],
            self.log_nu[:n_sweeps],
            self.monitored,
            self.f[:n_sweeps],
        )


def make_problem(prior, log_masses, y, counts, within):
    """Gather what a chain needs to know; the arguments are as in the classes above.

    An α or ν that is sampled is set to one: see :func:`problem_at`.
    """
    alpha, nu = prior.alpha or 1.0, prior.nu or 1.0
    move_noise = prior.log_noise is None
    problem = Problem(y, counts, within, log_masses, None, 1.0, alpha != 2.0, move_noise)
    return problem_at(problem, log_masses, alpha, np.log(nu))


def problem_at(problem, log_masses, alpha, log_nu):
    """The problem at other values of α and log ν."""
    # Where all scales are one the table is not looked at, and any will do.
    a = alpha / 2.0 if problem.move_scales else 0.5
    return problem._replace(
        log_units=log_nu + (2.0 / alpha) * log_masses,
        table=positive_stable_table(a),
        width=max(1.0, np.pi * np.sqrt((1.0 / a**2 - 1.0) / 6.0)),
    )


def start_state(problem, prior, rng):
    """A random state, spread wide so that R-hat means something."""
    log_variances = problem.log_units.copy()
    if problem.move_scales:
        log_variances += np.abs(rng.normal(scale=2.0, size=log_variances.shape))
    log_noise = rng.uniform(-4.0, 0.0) if problem.move_noise else prior.log_noise
    return State(log_variances, problem.y.copy(), np.array([log_noise]))


def new_record(prior, n_cells, monitored, n_draws, thin):
    """An empty record, but for α and log ν where they are given."""
    n_sweeps = n_draws * thin
    log_nu = np.nan if prior.nu is None else np.log(prior.nu)
    return Record(
        thin,
        np.empty((n_draws, n_cells), dtype=np.float32),
        np.empty(n_sweeps),
        np.full(n_sweeps, np.nan if prior.alpha is None else prior.alpha),
        np.full(n_sweeps, log_nu),
        monitored,
        np.empty((n_sweeps, monitored.size)),
    )


def sweep_blocks(n_warmup, n_sweeps):
    """The blocks of a chain, as (number of the first sweep, number of sweeps).

    Sweeps of the warm-up have negative numbers.
    """
    starts = [*range(-n_warmup, 0, _SWEEPS_A_BLOCK), *range(0, n_sweeps, _SWEEPS_A_BLOCK)]
    stops = [min(s + _SWEEPS_A_BLOCK, 0 if s < 0 else n_sweeps) for s in starts]
    return [(start, stop - start) for start, stop in zip(starts, stops, strict=True)]


def run_chain(sweep, record, n_warmup, estimator, data, context, attributes):
    """Run a chain block by block and report each block to scikit-learn's callbacks.

    Parameters
    ----------
    sweep : callable
        ``sweep(first, n)`` runs n sweeps, the first of which is number ``first``; those
        with a number of zero or more it writes to the record.
    record : Record
        Filled.
    n_warmup : int
        Sweeps before number zero.
    estimator : estimator
        What callbacks are told is fitted.
    data : tuple of ndarray
        X and y, for callbacks.
    context : sklearn.callback.CallbackContext
        Of this chain; it has a subtask for each block.
    attributes : callable
        The fitted attributes of the estimator from a list of records: what a callback
        that scores the fit so far needs. Without a draw there is nothing to score.

    Returns
    -------
    record : Record
        What was filled: shorter where a callback has asked to stop.
    """
    told = dict(zip(("estimator", "X", "y"), (estimator, *data), strict=True))
    context.call_on_fit_task_begin(**told)
    for first, n_sweeps in sweep_blocks(n_warmup, record.log_noise.size):
        block = context.subcontext(task_name="sweeps")
        block.call_on_fit_task_begin(**told)
        sweep(first, n_sweeps)
        n_draws = max(first + n_sweeps, 0) // record.thin
        so_far = partial(attributes, [record.first(n_draws)]) if n_draws else None
        stop = block.call_on_fit_task_end(**told, reconstruction_attributes=so_far)
        if stop and n_draws:
            record = record.first(n_draws)
            break
    context.call_on_fit_task_end(**told)
    return record

"""One Markov chain: its moves of α and ν, what is kept of it, and its loop."""

from abc import ABC, abstractmethod
from functools import partial
from typing import NamedTuple

import numpy as np

from skbayesnn.stable.samplers.hyper import HyperMoves

# Large enough that Python costs nothing beside the sweeps, small enough that progress
# is seen and Ctrl-C is prompt.
_SWEEPS_A_BLOCK = 100


_OF_DRAWS = "weights", "log_scales", "planes", "slopes"
_OF_SWEEPS = "log_noise", "alpha", "log_nu", "f", "inverse_degrees", "log_factors"


class Record(NamedTuple):
    """What is kept of a chain after its warm-up.

    Attributes
    ----------
    thin : int
        Sweeps a draw.
    weights, log_scales : ndarray of shape (n_draws, n_cells), float32
        The weights, and log s, of each draw; without columns where predictions need none.
    planes : ndarray of shape (n_draws, n_units, n_features + 1), float32
        Hyperplanes of each draw; one for all draws where they stay, none for exact cells.
    log_noise, alpha, log_nu : ndarray of shape (n_sweeps,)
        log σ², α and log ν after every sweep.
    monitored : ndarray of shape (n_monitored,)
        Distinct rows at which f is followed.
    f : ndarray of shape (n_sweeps, n_monitored)
        f there after every sweep.
    inverse_degrees : ndarray of shape (n_sweeps,)
        Of Student's law, the noise's: zero where it is Gaussian.
    slopes : ndarray of shape (n_draws, n_slopes), float32
    log_factors : ndarray of shape (n_sweeps, n_monitored)
        What the log-variance of the noise has from the inputs: its slopes, and its value there;
        without columns where it has nothing.
    """

    thin: int
    weights: np.ndarray
    log_scales: np.ndarray
    planes: np.ndarray
    log_noise: np.ndarray
    alpha: np.ndarray
    log_nu: np.ndarray
    monitored: np.ndarray
    f: np.ndarray
    inverse_degrees: np.ndarray
    slopes: np.ndarray
    log_factors: np.ndarray

    @property
    def n_draws(self):
        return len(self.weights)

    def first(self, n_draws):
        """The record of the first draws only, of which there is at least one."""
        lengths = dict.fromkeys(_OF_DRAWS, n_draws) | dict.fromkeys(_OF_SWEEPS, n_draws * self.thin)
        return self._replace(**{name: getattr(self, name)[:n] for name, n in lengths.items()})


class Chain(ABC):
    """A chain over cells with a weight each; what a sweep does is up to those derived from this.

    Parameters
    ----------
    partition : FeaturePartition
    prior : Prior
    state : State
        Where it starts. Changed in place.
    record : Record
        Filled.
    rng : numpy.random.Generator
    """

    def __init__(self, partition, prior, state, record, rng):
        self.partition, self.state, self.record, self.rng = partition, state, record, rng
        self.problem = partition.problem(state.alpha[0], state.log_nu[0], prior.log_noise is None)
        self.moves = HyperMoves(prior, partition.log_masses, state, rng)
        # Those that move are written draw by draw.
        record.planes[:] = state.planes

    @abstractmethod
    def sweep(self, first, n_sweeps):
        """Run sweeps, the first of which has the number ``first``.

        Those with a number of zero or more are written to the record.
        """

    def write_parameters(self, first, n_sweeps):
        """Write the present α and ν to the record for these sweeps."""
        kept = slice(max(first, 0), max(first + n_sweeps, 0))
        self.record.alpha[kept] = self.state.alpha[0]
        self.record.log_nu[kept] = self.state.log_nu[0]


def sweep_blocks(n_warmup, n_sweeps):
    """The blocks of a chain, as (number of the first sweep, number of sweeps).

    Sweeps of the warm-up have negative numbers.
    """
    starts = [*range(-n_warmup, 0, _SWEEPS_A_BLOCK), *range(0, n_sweeps, _SWEEPS_A_BLOCK)]
    stops = [min(s + _SWEEPS_A_BLOCK, 0 if s < 0 else n_sweeps) for s in starts]
    return [(start, stop - start) for start, stop in zip(starts, stops, strict=True)]


def run_chain(chain, n_warmup, told, context, attributes):
    """Run a chain block by block and report each block to scikit-learn's callbacks.

    Parameters
    ----------
    chain : Chain
    n_warmup : int
        Sweeps before number zero.
    told : dict
        What callbacks are told: ``estimator``, ``X`` and ``y``.
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
    record = chain.record
    context.call_on_fit_task_begin(**told)
    for first, n_sweeps in sweep_blocks(n_warmup, record.log_noise.size):
        block = context.subcontext(task_name="sweeps")
        block.call_on_fit_task_begin(**told)
        chain.sweep(first, n_sweeps)
        n_draws = max(first + n_sweeps, 0) // record.thin
        so_far = partial(attributes, [record.first(n_draws)]) if n_draws else None
        stop = block.call_on_fit_task_end(**told, reconstruction_attributes=so_far)
        if stop and n_draws:
            record = record.first(n_draws)
            break
    context.call_on_fit_task_end(**told)
    return record

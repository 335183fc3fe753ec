"""Chains of the stable network without the estimator around them."""

import numpy as np

from skbayesnn.stable.partitions.features import Draws
from skbayesnn.stable.partitions.sampled import UnitCells
from skbayesnn.stable.samplers.metropolis import MetropolisChain


class FixedUnits(UnitCells):
    """Sampled units with the same hyperplanes in all chains."""

    def __init__(self, rng, X, *args, **options):
        super().__init__(X, *args, **options)
        self.planes = super().draw_planes(rng)

    def draw_planes(self, rng):
        """Those of all."""
        return self.planes.copy()


def run_chain(cells, prior, monitored, n_draws, thin, seed, n_warmup, sampler="gibbs"):
    """The record of a new chain."""
    rng = np.random.default_rng(seed)
    record = cells.new_record(monitored, n_draws, thin)
    make = MetropolisChain if sampler == "metropolis" else cells.chain
    chain = make(cells, prior, cells.start(prior, rng), record, rng)
    chain.sweep(-n_warmup, n_warmup + record.log_noise.size)
    return record


def draws_at(prior, n_draws, **arrays):
    """Draws that share what the prior says; others by name."""
    none = np.empty((n_draws, 0), np.float32)
    values = {
        "log_noise": np.full(n_draws, prior.log_noise),
        "alpha": np.full(n_draws, prior.alpha),
        "log_nu": np.full(n_draws, np.log(prior.nu)),
        "degrees": np.full(n_draws, np.inf),
        "noise_levels": np.full(n_draws, 0.5),
        "slopes": none,
        "levels": (np.random.default_rng(0).permutation(n_draws) + 0.5) / n_draws,
        "weights": none,
        "log_scales": none,
        "place": np.zeros(n_draws, int),
        "planes": np.empty((0, 0, 0), np.float32),
    }
    return Draws(**(values | arrays))

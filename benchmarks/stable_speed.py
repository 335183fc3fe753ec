"""Speed and mixing of the stable network's sampler, on one core.

    python benchmarks/stable_speed.py

prints, each measured once all is compiled:

- the three-jump data of section 4.1 (40 points): time of 3000 sweeps, and split R-hat
  and effective sample size of every f_j over four chains of 2000 sweeps after 1000;
- 1000 sweeps of one chain at n = 100,000 distinct inputs, and the peak memory;
- 1000 sweeps of one chain at 500 rows, ten inputs and 1000 units.

The authors' R code takes 57 s for 3000 sweeps of the first, with 3 to 7 effective draws
of 2000 near the jumps.
"""

import os
import resource
import time

# Before numpy is loaded: one core, whatever the machine has.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np

from skbayesnn.numerics.random import spawn_generators
from skbayesnn.stable.diagnostics import effective_sample_size, r_hat
from skbayesnn.stable.partitions.line import LineCells
from skbayesnn.stable.partitions.sampled import UnitCells
from skbayesnn.stable.samplers.problem import Prior

PRIOR = Prior(1.1, 1.0, None)


def three_jumps(x):
    return np.select([x < -1, x < 0, x < 1], [1.0, 5.0, -3.0], 2.0)


def standardised(y):
    return (y - y.mean()) / y.std()


def new_chain(cells, n_draws, rng, thin=8):
    n = len(cells.rows)
    monitored = np.unique(np.linspace(0, n - 1, min(n, 100)).astype(int))
    record = cells.new_record(monitored, n_draws, thin)
    return cells.chain(cells, PRIOR, cells.start(PRIOR, rng), record, rng)


def seconds(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def three_jump_chains():
    x = np.linspace(-2, 2, 40)
    rngs = spawn_generators(0, 5)
    y = three_jumps(x) + 0.5 * rngs[0].standard_normal(40)
    cells = LineCells(x[:, None], standardised(y))
    new_chain(cells, 1, rngs[0]).sweep(-10, 10)
    times, records = [], []
    for rng in rngs[1:]:
        chain = new_chain(cells, 250, rng)
        times.append(seconds(chain.sweep, -1000, 3000))
        records.append(chain.record.f)
    f = np.stack(records)
    print("Three jumps, 40 points")
    print(f"  3000 sweeps             {np.median(times):8.3f} s  (median of four chains)")
    print(f"  largest split R-hat     {r_hat(f).max():8.4f}")
    print(f"  least effective size    {effective_sample_size(f).min():8.0f}    of 8000")


def many_rows():
    rng = np.random.default_rng(0)
    x = np.sort(rng.normal(size=100_000))
    y = three_jumps(x) + 0.5 * rng.standard_normal(x.size)
    # 100 draws kept of 1000 sweeps.
    chain = new_chain(LineCells(x[:, None], standardised(y)), 100, rng, thin=10)
    elapsed = seconds(chain.sweep, 0, 1000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print("One input, n = 100,000")
    print(f"  1000 sweeps             {elapsed:8.1f} s")
    print(f"  peak memory             {peak:8.2f} GiB, of the whole process")


def many_inputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 10))
    y = np.sign(X[:, 0] + X[:, 1]) + X[:, 2] + 0.3 * rng.standard_normal(500)
    chain = new_chain(UnitCells(X, standardised(y), n_units=1000), 125, rng)
    chain.sweep(-10, 10)
    print("500 rows, ten inputs, 1000 units")
    print(f"  1000 sweeps             {seconds(chain.sweep, 0, 1000):8.1f} s")


if __name__ == "__main__":
    three_jump_chains()
    many_rows()
    many_inputs()

"""Runs the chains of a fit, and turns their records into draws and convergence diagnostics."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.parallel import Parallel, delayed

from skbayesnn._warnings import warn_user
from skbayesnn.stable.diagnostics import effective_sample_size, r_hat, tail_effective_sample_size
from skbayesnn.stable.samplers.chain import run_chain, sweep_blocks
from skbayesnn.stable.samplers.metropolis import MetropolisChain

_MAX_MONITORED = 100
_MAX_R_HAT = 1.01
_MIN_EFFECTIVE = 400


def start_chains(partition, prior, generators):
    """A random state and a generator for each chain, as :func:`sample_posterior` takes them."""
    return [(partition.of_chain(i).start(prior, rng), rng) for i, rng in enumerate(generators)]


def sample_posterior(estimator, partition, prior, starts, n_warmup, told, context):
    """Run the chains of an estimator.

    Parameters
    ----------
    estimator : StableNNRegressor
        With the lengths of the chains, and the scale of its targets.
    partition : Partition
    prior : Prior
    starts : list of (State, numpy.random.Generator)
        One per chain. Both are changed in place, so that the chain can continue later.
    n_warmup : int
    told : dict
        What callbacks are told: ``estimator``, ``X`` and ``y``.
    context : sklearn.callback.CallbackContext

    Returns
    -------
    attributes : dict
    """
    n_rows = len(partition.rows)
    monitored = np.unique(np.linspace(0, n_rows - 1, min(n_rows, _MAX_MONITORED)).astype(int))
    n_kept = -(-estimator.n_posterior_draws // estimator.n_chains)
    n_blocks = len(sweep_blocks(n_warmup, n_kept * estimator.thin))
    make_chain = MetropolisChain if estimator.sampler == "metropolis" else partition.chain
    chains = []
    for i, (state, rng) in enumerate(starts):
        cells = partition.of_chain(i)
        record = cells.new_record(monitored, n_kept, estimator.thin)
        chains.append(make_chain(cells, prior, state, record, rng))

    def attributes(records):
        return fitted_attributes(partition, prior, records, estimator._scale)

    # One BLAS thread: more do not help with systems of this size, and parallel chains would compete
    # for the cores.
    records = Parallel(n_jobs=estimator.n_jobs, prefer="threads")(
        delayed(run_chain)(
            chain,
            n_warmup,
            told,
            context.subcontext(task_name="chain", task_id=i, max_subtasks=n_blocks),
            attributes,
        )
        for i, chain in enumerate(chains)
    )
    return attributes(records)


def convergence(estimator, of_parts=False):
    """The largest R-hat and the smallest effective sample size, and whether both are acceptable.

    Parameters
    ----------
    estimator : StableNNRegressor
    of_parts : bool, default=False
        Judge the parts of the function instead of the quantities that predictions use.

    Returns
    -------
    worst, fewest : float
    good : bool
    """
    names = [
        name
        for name in estimator.parameter_r_hat_
        if (name in estimator.cells_.part_names) == of_parts
    ]
    r_hats = [estimator.parameter_r_hat_[name] for name in names]
    sizes = [estimator.parameter_effective_sample_size_[name] for name in names]
    sizes += [estimator.parameter_tail_effective_sample_size_[name] for name in names]
    if not of_parts:
        r_hats.append(estimator.r_hat_.max())
        sizes.append(estimator.effective_sample_size_.min())
        sizes.append(estimator.tail_effective_sample_size_.min())
    worst, fewest = np.max(r_hats), np.min(sizes)
    # NaN, from fewer than four sweeps, counts as not converged.
    return worst, fewest, bool(worst <= _MAX_R_HAT and fewest >= _MIN_EFFECTIVE)


def warn_unless_converged(estimator, of_parts=False):
    """Warn if the chains have not converged, and suggest remedies."""
    worst, fewest, good = convergence(estimator, of_parts)
    if not good:
        what = "for the parts of the function" if of_parts else "for predictions"
        warn_user(
            f"The chains may not have converged {what}: R-hat is {worst:.3f} (1 is best, up to "
            f"{_MAX_R_HAT} is good) and the least effective sample size {fewest:.0f} "
            f"({_MIN_EFFECTIVE} or more is good). Set warm_start=True and fit again, which "
            "continues the chains, or increase n_warmup and thin.",
            ConvergenceWarning,
        )


def fitted_attributes(partition, prior, records, scale):
    """Fitted attributes of the estimator, with which it predicts.

    Parameters
    ----------
    partition : Partition
    prior : Prior
    records : list of Record
        One per chain; all are truncated to the shortest.
    scale : float
        Standard deviation of y.

    Returns
    -------
    attributes : dict
    """
    n_draws = min(record.n_draws for record in records)
    records = [record.first(n_draws) for record in records]
    draws = partition.draws_of(records)
    f, parameters = np.stack([r.f for r in records]), partition.followed(prior, records)
    # Chains with different posteriors are judged in separate groups.
    judges = {
        "r_hat_": (r_hat, np.maximum, np.max),
        "effective_sample_size_": (effective_sample_size, np.add, np.min),
        "tail_effective_sample_size_": (tail_effective_sample_size, np.add, np.min),
    }
    groups, attributes = partition.alike(records), {}
    for name, (judge, together, worst) in judges.items():
        attributes[name] = together.reduce([judge(f[group]) for group in groups])
        attributes[f"parameter_{name}"] = {
            parameter: float(worst(together.reduce([judge(values[group]) for group in groups])))
            for parameter, values in parameters.items()
        }
    noise, nu = scale**2 * np.exp(draws.log_noise), np.exp(draws.log_nu)
    # With one input, there is a single ν.
    nu = nu.reshape(len(nu), -1)[:, 0] if nu.size == len(nu) else nu
    return attributes | {
        "cells_": partition,
        "directions_": partition.directions,
        "noise_variance_": float(noise.mean()),
        "alpha_": float(np.median(draws.alpha)),
        "nu_": float(np.median(nu)),
        "noise_variance_draws_": noise,
        "alpha_draws_": draws.alpha,
        "nu_draws_": nu,
        "degrees_of_freedom_draws_": draws.degrees,
        "noise_slopes_draws_": partition.noise_slopes(draws),
        "monitored_rows_": partition.inputs.unscaled(partition.rows[records[0].monitored]),
        "_draws": draws,
    }

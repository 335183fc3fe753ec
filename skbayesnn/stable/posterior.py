"""From the records of the chains to fitted attributes: draws, and how far to trust them."""

import numpy as np

from skbayesnn.stable.diagnostics import effective_sample_size, r_hat, tail_effective_sample_size
from skbayesnn.stable.partitions.base import Draws


def fitted_attributes(partition, prior, records, scale):
    """The attributes of the estimator with which it predicts.

    Parameters
    ----------
    partition : Partition
    prior : Prior
    records : list of Record
        One a chain; they are cut to the shortest of them.
    scale : float
        Of y.

    Returns
    -------
    attributes : dict
    """
    n_draws = min(len(record.weights) for record in records)
    records = [record.first(n_draws) for record in records]
    draws = Draws.of_records(records)
    parameters = {"noise_variance": "log_noise"} if prior.log_noise is None else {}
    if prior.alpha is None:
        parameters["alpha"] = "alpha"
    if prior.nu is None:
        parameters["nu"] = "log_nu"
    followed = np.stack(
        [np.column_stack([r.f, *(getattr(r, n) for n in parameters.values())]) for r in records]
    )
    n_f = records[0].f.shape[1]
    found = {
        "r_hat_": r_hat(followed),
        "effective_sample_size_": effective_sample_size(followed),
        "tail_effective_sample_size_": tail_effective_sample_size(followed),
    }
    attributes = {name: values[:n_f] for name, values in found.items()}
    for name, values in found.items():
        of_parameters = zip(parameters, values[n_f:].tolist(), strict=True)
        attributes[f"parameter_{name}"] = dict(of_parameters)
    noise, nu = scale**2 * np.exp(draws.log_noise), np.exp(draws.log_nu)
    return attributes | {
        "cells_": partition,
        "noise_variance_": float(noise.mean()),
        "alpha_": float(np.median(draws.alpha)),
        "nu_": float(np.median(nu)),
        "noise_variance_draws_": noise,
        "alpha_draws_": draws.alpha,
        "nu_draws_": nu,
        "monitored_rows_": partition.inputs.unscaled(partition.rows[records[0].monitored]),
        "_draws": draws,
    }

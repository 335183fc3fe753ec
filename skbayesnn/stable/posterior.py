"""From the records of the chains to fitted attributes: draws, and how far to trust them."""

import numpy as np

from skbayesnn.stable.diagnostics import effective_sample_size, r_hat


def fitted_attributes(cells, problem, prior, records, rows, scale):
    """The attributes of the estimator with which it predicts.

    Parameters
    ----------
    cells : LineCells, FaceCells or UnitCells
    problem : Problem
    prior : Prior
    records : list of Record
        One a chain; they are cut to the shortest of them.
    rows : ndarray of shape (n_distinct, n_features)
    scale : float
        Of y.

    Returns
    -------
    attributes : dict
    """
    n_draws = min(len(record.cells) for record in records)
    records = [record.first(n_draws) for record in records]
    thin = records[0].thin

    def draws(name):
        return np.concatenate([getattr(record, name)[thin - 1 :: thin] for record in records])

    noise = scale**2 * np.exp(draws("log_noise"))
    alpha, nu = draws("alpha"), np.exp(draws("log_nu"))
    parameters = {"noise_variance": "log_noise"}
    if prior.alpha is None:
        parameters["alpha"] = "alpha"
    if prior.nu is None:
        parameters["nu"] = "log_nu"
    followed = np.stack(
        [np.column_stack([r.f, *(getattr(r, n) for n in parameters.values())]) for r in records]
    )
    r_hats, effective = r_hat(followed), effective_sample_size(followed)
    n_f, n_components = records[0].f.shape[1], noise.size
    return {
        "cells_": cells,
        "noise_variance_": float(noise.mean()),
        "alpha_": float(np.median(alpha)),
        "nu_": float(np.median(nu)),
        "noise_variance_draws_": noise,
        "alpha_draws_": alpha,
        "nu_draws_": nu,
        "r_hat_": r_hats[:n_f],
        "effective_sample_size_": effective[:n_f],
        "parameter_r_hat_": dict(zip(parameters, r_hats[n_f:].tolist(), strict=True)),
        "parameter_effective_sample_size_": dict(
            zip(parameters, effective[n_f:].tolist(), strict=True)
        ),
        "monitored_rows_": rows[records[0].monitored],
        "_problem": problem,
        "_cell_draws": np.concatenate([record.cells for record in records]),
        # Of each draw the level at which the law of a split is taken, evenly spread.
        "_levels": (np.random.default_rng(0).permutation(n_components) + 0.5) / n_components,
    }

"""Constraints on the parameters of the network, and those that a warm start must not change."""

from numbers import Integral, Real

import numpy as np

from skbayesnn._validation import BOOLEAN, N_JOBS, Interval, Options, positive
from skbayesnn.base import POINT_ESTIMATES
from skbayesnn.stable.partitions.sampled import ACTIVATIONS

CONSTRAINTS = {
    "alpha": [Interval(Real, 0, 2, "right"), Options(("auto", "sample"))],
    "nu": [positive(), Options(("auto", "sample"))],
    "cells": [Options(("auto", "line", "plane", "additive", "sampled"))],
    "likelihood": [Options(("auto", "gaussian", "student_t"))],
    "dense_units": BOOLEAN,
    "n_units": [positive(Integral)],
    "activation": [Options(tuple(ACTIVATIONS))],
    "move_units": BOOLEAN,
    "sampler": [Options(("gibbs", "metropolis"))],
    "extrapolation": [Options(("stacked", "posterior"))],
    "gaussian_process": BOOLEAN,
    "noise_variance": [positive(), Options(("sample",))],
    "normalize_X": BOOLEAN,
    "normalize_y": BOOLEAN,
    "point_estimate": POINT_ESTIMATES,
    "n_chains": [positive(Integral)],
    "n_warmup": [Interval(Integral, 0, None, "left")],
    "n_posterior_draws": [positive(Integral)],
    "thin": [positive(Integral)],
    "warm_start": BOOLEAN,
    "n_jobs": N_JOBS,
}

# These set the length of the chains and what is reported, but not the distribution that is sampled.
_OF_THE_RUN = {"n_warmup", "n_posterior_draws", "thin", "warm_start", "n_jobs", "random_state"}
_OF_THE_RUN |= {"point_estimate", "extrapolation"}


def model_parameters(estimator):
    """The parameters that determine which distribution the chains sample, and how."""
    parameters = estimator.get_params(deep=False)
    return {name: parameters[name] for name in set(parameters) - _OF_THE_RUN}


def check_unchanged(estimator, X, y, sample_weight):
    """Raise an error if the data or the model parameters differ from those of the last fit."""
    before, now = estimator._fitted_with, model_parameters(estimator)
    changed = sorted(name for name in now if not np.array_equal(before[name], now[name]))
    if changed or not estimator.cells_.is_of(X, y, sample_weight):
        what = f"the parameters {changed}" if changed else "X, y or sample_weight"
        raise ValueError(
            f"warm_start=True continues the chains of the last fit, but {what} have changed "
            "since. Use warm_start=False to begin anew."
        )

"""A stable network that is quick to fit, and a function of three jumps."""

import numpy as np
import pytest

from skbayesnn import StableNNRegressor

unconverged = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def short(**parameters):
    """A model that is quick to fit."""
    defaults = {
        "n_warmup": 60,
        "n_posterior_draws": 60,
        "thin": 2,
        "n_chains": 2,
        "n_units": 60,
        "random_state": 0,
    }
    return StableNNRegressor(**{**defaults, **parameters})


def three_jumps(x):
    return np.select([x < -1, x < 0, x < 1], [1.0, 5.0, -3.0], 2.0)

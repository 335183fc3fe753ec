"""Deep Wishart processes that tests share."""

import numpy as np

from skbayesnn import DeepWishartRegressor
from skbayesnn.dwp.sizes import draw_noise


def random_model(a, n_rows=7, n_draws=2, seed=0):
    """A model away from its start, rows, targets and noise that the rows share."""
    rng = np.random.default_rng(seed)
    theta = 0.4 * rng.normal(size=a.size())
    p = a.views(theta)
    for name, value in p.items():
        if name.startswith("left"):
            value += np.eye(a.n_inducing)
    X, Y = rng.normal(size=(n_rows, a.n_inputs)), rng.normal(size=(n_rows, a.n_targets))
    return theta, X, Y, draw_noise(a, rng, n_draws, 1)


def quick(**options):
    """A model that is quick to fit."""
    defaults = {"max_iter": 40, "n_inducing": 15, "n_posterior_draws": 8, "random_state": 0}
    return DeepWishartRegressor(**{**defaults, **options})


def wave(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 2))
    return X, 5 + 2 * np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)

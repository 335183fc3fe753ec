"""A size of SIP that is quick to fit, and data."""

import numpy as np

SMALL = {
    "n_inducing": 10, "n_draws": 30, "width": 15, "n_posterior_draws": 100,
    "early_stopping": False, "n_networks": 1,
}  # fmt: skip


def wave(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    return X, 5 + 2 * np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=n)

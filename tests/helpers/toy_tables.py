"""Tables that tests of UDN share."""

import numpy as np


def spiral(omega, n, seed):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-1, 1, n)
    r = np.sign(t) * np.sqrt(np.abs(t))
    angle = omega * np.pi / 2 * np.abs(r)
    X = np.column_stack([r * np.cos(angle), r * np.sin(angle)])
    return X + rng.normal(0, 0.02, X.shape), (t >= 0).astype(int)


def wave(n=150, seed=0, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    return X, 5 + 2 * np.sin(2 * X[:, 0]) + noise * rng.normal(size=n)

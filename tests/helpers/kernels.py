"""Kernels in closed form that limits of the models are tested against."""

import numpy as np


def arc_cosine_kernel(X, Y, nu=1.0):
    """ν (1 - 2θ/π), θ the angle between (1, x) and (1, y), accurate for small angles too."""
    A = np.column_stack([np.ones(len(X)), X])
    B = np.column_stack([np.ones(len(Y)), Y])
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    B /= np.linalg.norm(B, axis=1, keepdims=True)
    apart = np.linalg.norm(A[:, None] - B, axis=2)
    together = np.linalg.norm(A[:, None] + B, axis=2)
    return nu * (1 - 4 * np.arctan2(apart, together) / np.pi)


def gaussian_process(X, y, new, noise, nu=1.0):
    """Posterior mean and variance of the function under the arc-cosine kernel."""
    K = arc_cosine_kernel(X, X, nu) + noise * np.eye(len(X))
    k = arc_cosine_kernel(new, X, nu)
    var = nu - np.einsum("ij,ji->i", k, np.linalg.solve(K, k.T))
    return k @ np.linalg.solve(K, y), var

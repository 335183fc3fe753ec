"""A deep Gaussian process with the same layers: a Gaussian posterior over features.

A Gram matrix with a Wishart prior is G = F F', where the ν columns of F are independent Gaussian
processes, so a deep Gaussian process is the same model. Only the approximate posterior differs: it
is a distribution over the features rather than over their Gram matrix. With F = L S, it is

    S = A T,  T_ij ~ N(μ_ij, σ_ij²),  A (P, P) invertible,

and the prior is S_ij ~ N(0, 1). The inducing points pass through the layers together with the rows
(the global inducing points of Ober and Aitchison, 2021). Here the posterior is given in whitened
coordinates; theirs has pseudo-observations.

The functions have the interface of :mod:`skbayesnn.dwp.wishart`.

"""

import numpy as np
from scipy.linalg import lapack


def parameter_shapes(posterior, n_points, freedom):
    """Shapes of the parameters: ``mean`` and ``log_std`` of T, and ``left``, the matrix A."""
    return {
        "mean": (n_points, freedom),
        "log_std": (n_points, freedom),
        "left": (n_points, n_points),
    }


def prior_parameters(posterior, n_points, freedom):
    """Parameters with which the posterior equals the prior."""
    out = {k: np.zeros(s) for k, s in parameter_shapes(posterior, n_points, freedom).items()}
    out["left"][:] = np.eye(n_points)
    return out


class Draws:
    """Draws of S from the posterior, and intermediate results for their gradient.

    Parameters
    ----------
    parameters : dict of str to ndarray
    uniform : object
        Not used.
    normal : ndarray of shape (n_draws, P, ν)
        Standard normal variables.

    Attributes
    ----------
    factors : ndarray of shape (n_draws, P, ν)
        S.
    """

    def __init__(self, parameters, uniform, normal):
        self.parameters = p = parameters
        self.scaled = np.exp(p["log_std"]) * normal
        self.inner = p["mean"] + self.scaled
        self.factors = p["left"] @ self.inner

    def adjoint(self, d_factors):
        """Gradient with respect to every parameter from that with respect to ``factors``."""
        d_inner = self.parameters["left"].T @ d_factors
        return {
            "left": np.einsum("dij,dkj->ik", d_factors, self.inner, optimize=True),
            "mean": d_inner.sum(axis=0),
            "log_std": (d_inner * self.scaled).sum(axis=0),
        }


def divergence(parameters, freedom):
    """Kullback–Leibler divergence of the posterior from the prior.

    Parameters
    ----------
    parameters : dict of str to ndarray
    freedom : int
        ν.

    Returns
    -------
    value : float
    gradient : dict of str to ndarray
    """
    left, mean, log_std = (parameters[name] for name in ("left", "mean", "log_std"))
    variance = np.exp(2 * log_std)
    squares = (left**2).sum(axis=0)
    s_mean = left @ mean
    lu, pivots, _ = lapack.dgetrf(left)
    value = 0.5 * ((s_mean**2).sum() + squares @ variance.sum(axis=1) - mean.size)
    value -= log_std.sum() + freedom * np.log(np.abs(np.diagonal(lu))).sum()
    d_left = s_mean @ mean.T + left * variance.sum(axis=1)
    d_left -= freedom * lapack.dgetri(lu, pivots)[0].T
    return float(value), {
        "left": d_left,
        "mean": left.T @ s_mean,
        "log_std": squares[:, None] * variance - 1.0,
    }

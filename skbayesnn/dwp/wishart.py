"""Generalised singular Wishart distributions: draws and divergences.

A draw of the Gram matrix of P points with ν features is G = L S S' L', L L' the prior's
scale matrix and S (P, r), r = min(ν, P).

- Under the (singular) Wishart prior, S is lower trapezoidal, S_jj² ~ Gamma((ν − j + 1)/2, ½)
  and S_ij ~ N(0, 1) below the diagonal (Bartlett).
- Under the approximate posterior, S = A T B, A (P, P) invertible, B (r, r) lower
  triangular, T lower trapezoidal, T_jj² ~ Gamma(α_j, β_j) and T_ij ~ N(μ_ij, σ_ij²): the
  AB-generalised singular Wishart. B = I gives the A-generalised one, A = B = I the
  generalised one.

Densities are those of Z = S S' with respect to the volume of the elements of its first r columns on
and below the diagonal, which determine a matrix of rank r. Let S₁ be the first r rows of S. Then

    dZ = 2^r Π_j S_jj^(P−j+1) dS (trapezoidal S),
    d(A Z A') = |A|^r (|(A S)₁| / |S₁|)^(P+1−r) dZ,

so the log density of the prior contains (ν − P − 1) log|S₁|, and that of the posterior contains, in
addition to the log density of T, −r log|A| − (P + 1 − r) (log|S₁| − log|(T B)₁|). The scale matrix
L changes both in the same way and cancels in log Q − log P. In this difference, log|S₁| has the
factor r − ν: the term vanishes if ν ≤ P, and if ν > P it is log|A| + log|T B|. Only moments of
gamma and normal variables remain, so the divergence of the posterior from the prior has a closed
form for every scale matrix (:func:`divergence`), whereas the paper averages log Q − log P over
draws. This requires that the posterior has the scale matrix L of the prior;
:mod:`skbayesnn.dwp.scale_mixture` adds the paper's mixture with a learned V V'.
"""

import numpy as np
from scipy.linalg import lapack
from scipy.special import digamma, gammaln, polygamma

from skbayesnn.dwp.gamma import gamma_quantile
from skbayesnn.gaussian_process.evidence import LOG_2PI

POSTERIORS = ("ab-gw", "a-gw", "gw")


def below(n_points, rank):
    """Which elements of a lower trapezoidal (n_points, rank) matrix lie below its diagonal."""
    return np.tri(n_points, rank, -1, dtype=bool)


def triangular(raw):
    """Lower triangular matrix whose diagonal is the exponential of that of ``raw``."""
    out = np.tril(raw, -1)
    np.fill_diagonal(out, np.exp(np.diagonal(raw)))
    return out


def triangular_adjoint(matrix, d_matrix):
    """Gradient in ``raw`` of :func:`triangular`."""
    out = np.tril(d_matrix, -1)
    np.fill_diagonal(out, np.diagonal(d_matrix) * np.diagonal(matrix))
    return out


def parameter_shapes(posterior, n_points, freedom):
    """Shapes of the parameters of a posterior.

    Parameters
    ----------
    posterior : {"ab-gw", "a-gw", "gw"}
    n_points : int
        P.
    freedom : int
        Degrees of freedom ν.

    Returns
    -------
    shapes : dict of str to tuple
        ``mean`` and ``log_std`` of the elements of T below the diagonal; ``log_square``, the
        log of the mean α/β of T_jj², and ``log_shape``, log α; ``left``, the matrix A; and
        ``right``, the matrix B with the log of its diagonal.
    """
    rank = min(freedom, n_points)
    shapes = {
        "mean": (n_points, rank),
        "log_std": (n_points, rank),
        "log_square": (rank,),
        "log_shape": (rank,),
    }
    if posterior in ("ab-gw", "a-gw"):
        shapes["left"] = (n_points, n_points)
    if posterior == "ab-gw":
        shapes["right"] = (rank, rank)
    return shapes


def prior_parameters(posterior, n_points, freedom):
    """Parameters with which the posterior equals the prior."""
    rank = min(freedom, n_points)
    shape = 0.5 * (freedom - np.arange(rank))
    out = {k: np.zeros(s) for k, s in parameter_shapes(posterior, n_points, freedom).items()}
    if "left" in out:
        out["left"][:] = np.eye(n_points)
    out["log_shape"][:] = np.log(shape)
    out["log_square"][:] = np.log(2 * shape)
    return out


class Draws:
    """Draws of S from the posterior, and intermediate results for their gradient.

    Parameters
    ----------
    parameters : dict of str to ndarray
        See :func:`parameter_shapes`.
    uniform : ndarray of shape (n_draws, r)
        Values in (0, 1), from which the gamma variables are computed by inversion.
    normal : ndarray of shape (n_draws, P, r)
        Standard normal variables; those on and above the diagonal are not used.

    Attributes
    ----------
    bartlett : ndarray of shape (n_draws, P, r)
        T.
    factors : ndarray of shape (n_draws, P, r)
        S = A T B.
    """

    def __init__(self, parameters, uniform, normal):
        self.parameters = p = parameters
        n_points, rank = p["mean"].shape
        self.below = below(n_points, rank)
        self.scaled = np.where(self.below, np.exp(p["log_std"]), 0.0) * normal
        self.bartlett = self.scaled + np.where(self.below, p["mean"], 0.0)
        self.shape = np.exp(p["log_shape"])
        self.gamma, self.d_gamma = gamma_quantile(self.shape, uniform)
        # If the shape is near zero, quantiles underflow.
        self.gamma = np.maximum(self.gamma, 1e-200)
        self.diagonal = np.sqrt(self.gamma * np.exp(p["log_square"]) / self.shape)
        j = np.arange(rank)
        self.bartlett[:, j, j] = self.diagonal
        self.left = p.get("left")
        self.right = triangular(p["right"]) if "right" in p else None
        self.inner = self.bartlett if self.right is None else self.bartlett @ self.right
        self.factors = self.inner if self.left is None else self.left @ self.inner

    def adjoint(self, d_factors):
        """Gradient with respect to every parameter from that with respect to ``factors``.

        Parameters
        ----------
        d_factors : ndarray of shape (n_draws, P, r)

        Returns
        -------
        gradient : dict of str to ndarray
        """
        out = {}
        if self.left is not None:
            out["left"] = np.einsum("dij,dkj->ik", d_factors, self.inner, optimize=True)
            d_factors = self.left.T @ d_factors
        if self.right is not None:
            product = np.einsum("dij,dik->jk", self.bartlett, d_factors, optimize=True)
            out["right"] = triangular_adjoint(self.right, product)
            d_factors = d_factors @ self.right.T
        out["mean"] = np.where(self.below, d_factors.sum(axis=0), 0.0)
        out["log_std"] = np.where(self.below, (d_factors * self.scaled).sum(axis=0), 0.0)
        j = np.arange(self.diagonal.shape[1])
        half = 0.5 * d_factors[:, j, j] * self.diagonal  # gradient with respect to log T_jj²
        out["log_square"] = half.sum(axis=0)
        out["log_shape"] = (half * (self.shape * self.d_gamma / self.gamma - 1)).sum(axis=0)
        return out


def prior_constant(n_points, freedom):
    """Normalising constant of the log density of the trapezoidal S."""
    rank = min(freedom, n_points)
    shape = 0.5 * (freedom - np.arange(rank))
    constant = (np.log(2) * (1 - shape) - gammaln(shape)).sum()
    return constant - 0.5 * LOG_2PI * below(n_points, rank).sum()


def divergence(parameters, freedom):
    """Kullback–Leibler divergence of the posterior from the prior, in closed form.

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
    p = parameters
    n_points, rank = p["mean"].shape
    j = np.arange(rank)
    low = below(n_points, rank)
    shape, log_rate = np.exp(p["log_shape"]), p["log_shape"] - p["log_square"]
    prior_power = freedom - j - 1.0  # exponent of S_jj in the prior density of a trapezoidal S
    left = p.get("left")
    right = triangular(p["right"]) if "right" in p else None

    # Moments of T.
    ratio = np.exp(gammaln(shape + 0.5) - gammaln(shape) - 0.5 * np.log(shape))
    square = np.exp(p["log_square"])
    t_mean, t_var = np.where(low, p["mean"], 0.0), np.where(low, np.exp(2 * p["log_std"]), 0.0)
    t_mean[j, j] = ratio * np.sqrt(square)
    t_var[j, j] = square * (1 - ratio**2)

    # The mean of log Q − log P, see the module docstring.
    log_s = 0.5 * (digamma(shape) - log_rate)
    value = (np.log(2) - gammaln(shape) + (shape - 0.5) * digamma(shape)).sum()
    value += (0.5 * log_rate - shape).sum() - prior_power @ log_s
    value -= np.where(low, 0.5 + p["log_std"], 0.0).sum()
    right_counts = n_points - j + prior_power
    if left is not None:
        lu, pivots, _ = lapack.dgetrf(left)
        value -= freedom * np.log(np.abs(np.diagonal(lu))).sum()
    if right is not None:
        value -= right_counts @ np.diagonal(p["right"])
    # Both densities contain log 2π for the normal elements.
    value -= prior_constant(n_points, freedom) + 0.5 * LOG_2PI * low.sum()
    left_sq = np.ones(n_points) if left is None else (left**2).sum(axis=0)
    right_sq = np.ones(rank) if right is None else (right**2).sum(axis=1)
    inner = t_mean if right is None else t_mean @ right
    s_mean = inner if left is None else left @ inner
    value += 0.5 * (s_mean**2).sum() + 0.5 * left_sq @ t_var @ right_sq

    out = {}
    d_var = 0.5 * np.outer(left_sq, right_sq)
    d_mean = s_mean
    if left is not None:
        out["left"] = s_mean @ inner.T + left * (t_var @ right_sq)
        out["left"] -= freedom * lapack.dgetri(lu, pivots)[0].T
        d_mean = left.T @ s_mean
    if right is not None:
        d_right = np.tril(t_mean.T @ d_mean) + right * (left_sq @ t_var)[:, None]
        out["right"] = triangular_adjoint(right, d_right)
        out["right"].ravel()[:: rank + 1] -= right_counts
        d_mean = d_mean @ right.T
    out["mean"] = np.where(low, d_mean, 0.0)
    out["log_std"] = np.where(low, 2 * d_var * t_var - 1.0, 0.0)
    d_t, d_v = d_mean[j, j], d_var[j, j]
    half = 0.5 * d_t * t_mean[j, j]
    # The rate is shape / square.
    out["log_square"] = half + d_v * t_var[j, j] - 0.5 - 0.5 * prior_power
    d_log_ratio = shape * (digamma(shape + 0.5) - digamma(shape)) - 0.5
    d_log_shape = (d_t * t_mean[j, j] - 2 * d_v * square * ratio**2) * d_log_ratio
    trigamma = polygamma(1, shape)
    d_log_shape += shape * ((shape - 0.5) * trigamma - 1.0) + 0.5
    d_log_shape -= 0.5 * prior_power * (shape * trigamma - 1.0)
    out["log_shape"] = d_log_shape
    return float(value), out

"""Generalised singular Wishart distributions: densities, draws, divergences (section 3).

A draw of the Gram matrix of P points with ν features is G = C C', C = L S, with L L' the
prior's scale matrix and S (P, r), r = min(ν, P), lower trapezoidal with positive diagonal.

- Under the (singular) Wishart prior, S_jj² ~ Gamma((ν − j + 1)/2, ½) and S_ij ~ N(0, 1)
  below the diagonal (Bartlett).
- Under the approximate posterior, S = A T B, with A (P, P) and B (r, r) lower triangular
  and T_jj² ~ Gamma(α_j, β_j), T_ij ~ N(μ_ij, σ_ij²): the AB-generalised singular Wishart.
  B = I gives the A-generalised one, A = B = I the generalised one.

The map from S to G is the same on both sides, so log Q(G) − log P(G) is that of S, in
which L does not appear: the divergence of the posterior from the prior is the same for
every scale matrix. It is a sum of moments of gamma and normal variables, which
:func:`divergence` has in closed form where the paper averages log Q − log P over draws.
"""

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from skbayesnn.numerics.gamma import gamma_quantile

POSTERIORS = ("ab-gw", "a-gw", "gw")
_LOG_2PI = np.log(2 * np.pi)


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


def parameter_shapes(posterior, n_points, width):
    """Shapes of the parameters of a posterior.

    Parameters
    ----------
    posterior : {"ab-gw", "a-gw", "gw"}
    n_points : int
        P.
    width : int
        Degrees of freedom ν.

    Returns
    -------
    shapes : dict of str to tuple
        ``mean`` and ``log_std`` of the elements of T below the diagonal; ``log_square``, the
        log of the mean α/β of T_jj², and ``log_shape``, log α; ``left`` and ``right``, the
        matrices A and B with the log of their diagonals.
    """
    rank = min(width, n_points)
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


def prior_parameters(posterior, n_points, width):
    """Parameters with which the posterior equals the prior."""
    rank = min(width, n_points)
    shape = 0.5 * (width - np.arange(rank))
    out = {k: np.zeros(s) for k, s in parameter_shapes(posterior, n_points, width).items()}
    out["log_shape"][:] = np.log(shape)
    out["log_square"][:] = np.log(2 * shape)
    return out


class Draws:
    """Draws of S from the posterior, with what their gradient needs.

    Parameters
    ----------
    parameters : dict of str to ndarray
        See :func:`parameter_shapes`.
    uniform : ndarray of shape (n_draws, r)
        In (0, 1): the gamma variables by inversion.
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
        # A shape near zero has quantiles that underflow.
        self.gamma = np.maximum(self.gamma, 1e-200)
        self.diagonal = np.sqrt(self.gamma * np.exp(p["log_square"]) / self.shape)
        j = np.arange(rank)
        self.bartlett[:, j, j] = self.diagonal
        self.left = triangular(p["left"]) if "left" in p else None
        self.right = triangular(p["right"]) if "right" in p else None
        self.inner = self.bartlett if self.right is None else self.bartlett @ self.right
        self.factors = self.inner if self.left is None else self.left @ self.inner

    def adjoint(self, d_factors):
        """Gradient in every parameter from that in ``factors``.

        Parameters
        ----------
        d_factors : ndarray of shape (n_draws, P, r)

        Returns
        -------
        gradient : dict of str to ndarray
        """
        out = {}
        if self.left is not None:
            product = np.einsum("dij,dkj->ik", d_factors, self.inner, optimize=True)
            out["left"] = triangular_adjoint(self.left, product)
            d_factors = self.left.T @ d_factors
        if self.right is not None:
            product = np.einsum("dij,dik->jk", self.bartlett, d_factors, optimize=True)
            out["right"] = triangular_adjoint(self.right, product)
            d_factors = d_factors @ self.right.T
        out["mean"] = np.where(self.below, d_factors.sum(axis=0), 0.0)
        out["log_std"] = np.where(self.below, (d_factors * self.scaled).sum(axis=0), 0.0)
        j = np.arange(self.diagonal.shape[1])
        half = 0.5 * d_factors[:, j, j] * self.diagonal  # gradient in log T_jj²
        out["log_square"] = half.sum(axis=0)
        out["log_shape"] = (half * (self.shape * self.d_gamma / self.gamma - 1)).sum(axis=0)
        return out


def draw(parameters, generator, n_draws):
    """Draw S from the posterior.

    Parameters
    ----------
    parameters : dict of str to ndarray
    generator : numpy.random.Generator
    n_draws : int

    Returns
    -------
    draws : Draws
    """
    n_points, rank = parameters["mean"].shape
    uniform = generator.uniform(1e-12, 1 - 1e-12, size=(n_draws, rank))
    return Draws(parameters, uniform, generator.standard_normal((n_draws, n_points, rank)))


def log_prior(factors, width):
    """Log-density of S under the prior (eq. 11, in S).

    Parameters
    ----------
    factors : ndarray of shape (..., P, r)
    width : int
        ν.

    Returns
    -------
    log_density : ndarray of shape (...)
    """
    n_points, rank = factors.shape[-2:]
    j = np.arange(rank)
    shape = 0.5 * (width - j)
    log_diagonal = np.log(factors[..., j, j])
    constant = (np.log(2) * (1 - shape) - gammaln(shape)).sum()
    constant -= 0.5 * _LOG_2PI * below(n_points, rank).sum()
    squares = (factors**2).sum(axis=(-2, -1))
    return constant + ((2 * shape - 1) * log_diagonal).sum(axis=-1) - 0.5 * squares


def log_posterior(draws):
    """Log-density of the draws of S under the posterior they come from (eqs 12 to 14, in S).

    Parameters
    ----------
    draws : Draws

    Returns
    -------
    log_density : ndarray of shape (n_draws,)
    """
    p, t = draws.parameters, draws.bartlett
    n_points, rank = p["mean"].shape
    j = np.arange(rank)
    shape, log_rate = draws.shape, p["log_shape"] - p["log_square"]
    log_t = np.log(draws.diagonal)
    density = np.log(2) + shape * log_rate - gammaln(shape) + (2 * shape - 1) * log_t
    density = (density - np.exp(log_rate) * draws.diagonal**2).sum(axis=-1)
    standard = np.where(draws.below, (t - p["mean"]) * np.exp(-p["log_std"]), 0.0)
    density -= 0.5 * (standard**2).sum(axis=(-2, -1))
    density -= np.where(draws.below, p["log_std"] + 0.5 * _LOG_2PI, 0.0).sum()
    if draws.left is not None:
        density -= np.minimum(np.arange(1, n_points + 1), rank) @ np.diagonal(p["left"])
    if draws.right is not None:
        density -= (n_points - j) @ np.diagonal(p["right"])
    return density


def log_volume(factors, scale_factor):
    """Log of the volume ratio between G = (L S)(L S)' and S: log-density in G is less by it.

    The volume in G is that of its first r columns on and below the diagonal, which
    determine a matrix of rank r.

    Parameters
    ----------
    factors : ndarray of shape (..., P, r)
    scale_factor : ndarray of shape (P, P)
        L.

    Returns
    -------
    log_volume : ndarray of shape (...)
    """
    n_points, rank = factors.shape[-2:]
    j = np.arange(rank)
    log_scale = np.log(np.diagonal(scale_factor))
    log_c = np.log(factors[..., j, j]) + log_scale[:rank]
    counts = np.minimum(np.arange(1, n_points + 1), rank)
    return counts @ log_scale + rank * np.log(2) + log_c @ (n_points - j)


def divergence(parameters, width, gradient=True):
    """Kullback–Leibler divergence of the posterior from the prior, in closed form.

    Parameters
    ----------
    parameters : dict of str to ndarray
    width : int
        ν.
    gradient : bool, default=True

    Returns
    -------
    value : float
    gradient : dict of str to ndarray
        Only with ``gradient=True``.
    """
    p = parameters
    n_points, rank = p["mean"].shape
    j = np.arange(rank)
    low = below(n_points, rank)
    shape, log_rate = np.exp(p["log_shape"]), p["log_shape"] - p["log_square"]
    prior_power = width - j - 1.0  # that of S_jj in the prior, plus one gives ν − j
    left = triangular(p["left"]) if "left" in p else None
    right = triangular(p["right"]) if "right" in p else None

    # Moments of T.
    ratio = np.exp(gammaln(shape + 0.5) - gammaln(shape) - 0.5 * np.log(shape))
    square = np.exp(p["log_square"])
    t_mean, t_var = np.where(low, p["mean"], 0.0), np.where(low, np.exp(2 * p["log_std"]), 0.0)
    t_mean[j, j] = ratio * np.sqrt(square)
    t_var[j, j] = square * (1 - ratio**2)

    # E log q(T), with the volumes of A and B, and E log p(S) without its constants.
    log_s = 0.5 * (digamma(shape) - log_rate)
    value = (np.log(2) - gammaln(shape) + (shape - 0.5) * digamma(shape)).sum()
    value += (0.5 * log_rate - shape).sum() - prior_power @ log_s
    value -= np.where(low, 0.5 + p["log_std"], 0.0).sum()
    left_counts = np.minimum(np.arange(1, n_points + 1), rank).astype(float)
    left_counts[:rank] += prior_power
    right_counts = n_points - j + prior_power
    if left is not None:
        value -= left_counts @ np.diagonal(p["left"])
    if right is not None:
        value -= right_counts @ np.diagonal(p["right"])
    prior_shape = 0.5 * (width - j)
    value -= (np.log(2) * (1 - prior_shape) - gammaln(prior_shape)).sum()
    left_sq = np.ones(n_points) if left is None else (left**2).sum(axis=0)
    right_sq = np.ones(rank) if right is None else (right**2).sum(axis=1)
    inner = t_mean if right is None else t_mean @ right
    s_mean = inner if left is None else left @ inner
    value += 0.5 * (s_mean**2).sum() + 0.5 * left_sq @ t_var @ right_sq
    if not gradient:
        return float(value)

    out = {}
    d_var = 0.5 * np.outer(left_sq, right_sq)
    d_mean = s_mean
    if left is not None:
        d_left = np.tril(s_mean @ inner.T) + left * (t_var @ right_sq)
        out["left"] = triangular_adjoint(left, d_left)
        out["left"].ravel()[:: n_points + 1] -= left_counts
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
    d_log_shape += shape * ((shape - 0.5) * polygamma(1, shape) - 1.0) + 0.5
    d_log_shape -= 0.5 * prior_power * (shape * polygamma(1, shape) - 1.0)
    out["log_shape"] = d_log_shape
    return float(value), out

"""Dense units: a Gaussian process g with the kernel of
:mod:`~skbayesnn.stable.additive.dense_kernel`.

g = Ψ θ with θ ~ N(0, a I), where the columns of Ψ are orthogonal. Up to :data:`MAX_EXACT` rows,
they are the eigenvectors of the Gram matrix times the roots of its eigenvalues, which represents
the process exactly. Beyond, they come from Nyström's approximation by some of the rows
(:func:`number_of_landmarks`).

Rows have their own noise variances, σ²/p_i, so g does not have independent coefficients in this
basis. The noise is therefore written as a sum e' + e'' in which Var e' = c σ² is the same for all
rows, c = min 1/p. The step draws u = g + e' given g and the residuals; given u, everything about g
is diagonal in the basis Ψ. With equal precisions, u is the residual itself, and the step draws g
exactly.
"""

from math import exp, inf, log, sqrt

import numpy as np
from scipy.linalg import eigh

from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.stable.samplers.scales import log_half_cauchy, log_noise_prior, propose_log_noise

MAX_EXACT = 2000
"""Number of rows up to which g is exact."""

_ROWS_A_BLOCK = 4096
_LEAST_EIGENVALUE = 1e-13


def number_of_landmarks(n_rows):
    """Number of rows that represent all of them, beyond :data:`MAX_EXACT` rows.

    It keeps Ψ, which a sweep reads twice, at six million numbers, but is at least 300 and at most
    1000. With 900 instead of 300, the log density of 819 test rows of kin8nm rose from 0.94 to
    1.11, and that of power by 0.006 (``benchmarks/LOG.md``).
    """
    return int(np.clip(6_000_000 // n_rows, 300, 1000))


class DenseBasis:
    """Ψ at the training rows and at new rows.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Scaled rows.
    kernel : DenseKernel
        Covariance of g at unit amplitude.
    rng : numpy.random.Generator
        Selects the landmarks.

    Attributes
    ----------
    kernel : DenseKernel
    train : ndarray of shape (n, n_basis)
        Ψ, with orthogonal columns; in single precision if it is an approximation.
    squares : ndarray of shape (n_basis,)
        Squared norms of the columns.
    """

    def __init__(self, X, kernel, rng):
        self.exact, self.kernel = len(X) <= MAX_EXACT, kernel
        if self.exact:
            self._landmarks = X
            values, vectors = eigh(self.kernel(X, X))
            kept = values > _LEAST_EIGENVALUE * values[-1]
            self.squares, vectors = values[kept], vectors[:, kept]
            # Fix the arbitrary signs of the eigenvectors.
            vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), range(kept.sum())])
            self.train = np.ascontiguousarray(vectors * np.sqrt(self.squares))
            self._map = None
            return
        n_landmarks = number_of_landmarks(len(X))
        rows = np.unique(X[rng.choice(len(X), min(len(X), 2 * n_landmarks), replace=False)], axis=0)
        rows = rows[rng.permutation(len(rows))[:n_landmarks]]
        self._landmarks = rows
        values, vectors = eigh(self.kernel(rows, rows))
        kept = values > _LEAST_EIGENVALUE * values[-1]
        self._map = vectors[:, kept] / np.sqrt(values[kept])
        gram = np.zeros((kept.sum(),) * 2)
        for start in range(0, len(X), _ROWS_A_BLOCK):
            psi = self.features(X[start : start + _ROWS_A_BLOCK])[0]
            gram += psi.T @ psi
        values, rotation = eigh(gram)
        kept = values > _LEAST_EIGENVALUE * values[-1]
        self.squares = values[kept]
        self._map = np.ascontiguousarray(self._map @ rotation[:, kept])
        self.train = np.empty((len(X), kept.sum()), dtype=np.float32)
        for start in range(0, len(X), _ROWS_A_BLOCK):
            part = slice(start, start + _ROWS_A_BLOCK)
            self.train[part] = self.features(X[part])[0]

    def values(self, theta):
        """Ψ θ at the training rows."""
        return (self.train @ theta.astype(self.train.dtype)).astype(np.float64)

    def features(self, X):
        """Ψ at new rows, and the part of g's variance that is left given θ (zero for landmarks)."""
        k = self.kernel(X, self._landmarks)
        psi = k @ self.train / self.squares if self._map is None else k @ self._map
        if not self.exact:
            return psi, np.zeros(len(X))
        return psi, np.maximum(self.kernel.factors(X) ** 2 - (psi**2).sum(axis=1), 0.0)


def update_dense(
    basis, r, g, precisions, n_rows, log_amplitude, log_noise, least_log_noise, rng,
):  # fmt: skip
    """Draw g given the partial residuals; log a and log σ² are updated with g integrated out.

    Parameters
    ----------
    basis : DenseBasis
    r, g, precisions : ndarray of shape (n,)
        Targets minus all f_k, the current g, and p.
    n_rows : float
        Sum of the sample weights.
    log_amplitude, log_noise : float
    least_log_noise : float
        See :func:`~skbayesnn.stable.noise.precisions.update_noise`.
    rng : numpy.random.Generator

    Returns
    -------
    g : ndarray of shape (n,)
    theta : ndarray of shape (n_basis,)
    log_amplitude, log_noise : float
    """
    ratio = 1.0 / precisions
    least = ratio.min()
    u = np.empty_like(r)
    rest, n_rest = _draw_common(r, g, ratio, least, np.exp(log_noise), rng, u)
    t = (u.astype(basis.train.dtype) @ basis.train).astype(np.float64)
    outside = max(u @ u - (t**2 / basis.squares).sum(), 0.0)
    log_amplitude, log_noise = _move_scales(
        t, basis.squares, outside, rest, n_rest, n_rows, least, log_amplitude, log_noise,
        least_log_noise, rng,
    )  # fmt: skip
    c = least * np.exp(log_noise)
    precision = np.exp(-log_amplitude) + basis.squares / c
    theta = t / c / precision + rng.standard_normal(t.size) / np.sqrt(precision)
    return basis.values(theta), theta, log_amplitude, log_noise


@kernel
def _draw_common(r, g, ratio, least, noise, rng, u):
    """Draw u = g + e' given r = g + e' + e''; return σ² Σ e''²/Var e'' and its number of terms."""
    rest, n_rest = 0.0, 0.0
    for i in range(r.shape[0]):
        d = ratio[i] - least
        if d <= 0.0:
            u[i] = r[i]
            continue
        z = rng.standard_normal()
        e = r[i] - g[i]
        u[i] = g[i] + e * least / ratio[i] + sqrt(noise * least * d / ratio[i]) * z
        root = e * sqrt(d) / ratio[i] - sqrt(noise * least / ratio[i]) * z
        rest += root * root
        n_rest += 1.0
    return rest, n_rest


@helper
def log_evidence(
    t, squares, outside, rest, n_rest, n_rows, least, log_amplitude, log_noise
):  # fmt: skip
    """Log density of u and e'' as a function of log a and log σ², with g integrated out.

    Parameters
    ----------
    t : ndarray of shape (n_basis,)
        Ψ'u.
    squares : ndarray of shape (n_basis,)
        Squared norms of the columns of Ψ.
    outside : float
        Squared norm of the component of u orthogonal to Ψ's columns.
    n_rest, n_rows : float
        Number of rows with an e'', and sum of the sample weights.
    rest, least : float
        σ² Σ e''²/Var e'', and c = min 1/p.
    log_amplitude, log_noise : float
    """
    a, noise = exp(log_amplitude), exp(log_noise)
    c = least * noise
    total, product = 0.0, 1.0
    for j in range(t.shape[0]):
        v = a * squares[j] + c
        total += t[j] * t[j] / (squares[j] * v)
        # The logarithm of a product is cheaper than a sum of logarithms.
        product *= v
        if product > 1e100 or product < 1e-100:
            total += log(product)
            product = 1.0
    total += log(product) + outside / c + rest / noise
    return -0.5 * (total + (n_rest + n_rows - t.shape[0]) * log_noise)


@kernel
def _move_scales(
    t, squares, outside, rest, n_rest, n_rows, least, log_amplitude, log_noise,
    least_log_noise, rng,
):  # fmt: skip
    """Metropolis steps for log a and log σ², three of each."""
    old = log_evidence(t, squares, outside, rest, n_rest, n_rows, least, log_amplitude, log_noise)
    for move in range(6):
        a, s = log_amplitude, log_noise
        if move % 2 == 0:
            a += exp(log(0.05) + rng.random() * log(40.0)) * rng.standard_normal()
        elif least_log_noise < inf:
            s = propose_log_noise(s, n_rows, rng)
            if s < least_log_noise:
                continue
        else:
            continue
        new = log_evidence(t, squares, outside, rest, n_rest, n_rows, least, a, s)
        log_ratio = (
            new - old + log_half_cauchy(a) - log_half_cauchy(log_amplitude)
            + log_noise_prior(s) - log_noise_prior(log_noise)
        )  # fmt: skip
        if -rng.standard_exponential() < log_ratio:
            log_amplitude, log_noise, old = a, s, new
    return log_amplitude, log_noise

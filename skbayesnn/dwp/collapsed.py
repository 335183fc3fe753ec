"""The objective with the output process integrated out: the evidence of the rows given features.

Given the features of the rows after the last hidden layer, the function is a Gaussian process, and
with Gaussian noise its log evidence needs no approximate posterior. Training maximises

    E[log N(y; 0, K(F) + σ² I)] − Σ_ℓ KL(Q(G_ℓ | G_ℓ₋₁) ‖ P(G_ℓ | G_ℓ₋₁)),

where the expectation is over draws of the hidden layers. This is at least the bound of
:mod:`skbayesnn.dwp.objective`, which replaces the exact posterior by the best Gaussian of P points.
Its cost grows with the cube of the number of rows. With many rows, a lower bound of the evidence
summarises them by some rows; its cost per row grows with the square of their number.

In a draw, all rows share the standard normal numbers of the conditional distribution of their
features (``Noise.rows`` of one row). A draw is thus a smooth map from inputs to features, the same
for training rows and new rows. Each single row has the distribution of Algorithm 1 of the paper,
but the correlation between rows given the inducing points is one instead of that of the kernel.
With hidden layers, this objective is therefore not a bound of the evidence of the paper's model. It
bounds the evidence of another model, in which the features are a smooth map given those of the
inducing points, which are parameters of that model. ``tests/dwp/test_bounds.py`` has three rows for
which it exceeds the paper's evidence. The objective of :mod:`skbayesnn.dwp.objective`, a sum over
rows, needs only the marginals and remains a bound.
"""

from functools import reduce
from operator import add

import numpy as np

from skbayesnn.dwp.passes import HiddenAdjoint, Pass, chunks
from skbayesnn.dwp.triangular import multiply_lower
from skbayesnn.gaussian_process.evidence import LOG_2PI, evidence
from skbayesnn.gaussian_process.factors import cholesky, cholesky_adjoint, inverse
from skbayesnn.gaussian_process.kernels import (
    squared_exponential,
    squared_exponential_adjoint,
    symmetric_adjoint,
)
from skbayesnn.numerics.workers import ALONE

SPARSE_JITTER = 1e-6
"""Jitter on the diagonal of the covariance of the summarising points, relative to the diagonal."""
SINGLE_NOISE = 1e-3
"""Noise variance relative to the signal variance ("height") from which rows in several chunks are
whitened in single precision. The error is about 1e-4 of the standard deviation of the function,
which is small compared with such noise."""


def row_precision(n_chunks, log_height, log_noise):
    """Floating-point precision for computations on rows that others summarise.

    Parameters
    ----------
    n_chunks : int
        Number of chunks of the rows.
    log_height : float
    log_noise : ndarray of shape (n_targets,)

    Returns
    -------
    precision : type
    """
    noisy = np.min(log_noise) - log_height > np.log(SINGLE_NOISE)
    return np.float32 if n_chunks > 1 and noisy else np.float64


def sparse_evidence(features, Y, weights, points, log_height, log_noise, workers=ALONE):
    """Lower bound of the evidence, with summarising rows (Titsias, 2009), and its gradients.

    Let L L' be the covariance of the summarising points, A = L⁻¹ K_mn K_nm L⁻¹' and B = A + σ² I.
    Then

        log N(y; 0, K_nm K_mm⁻¹ K_mn + σ² I) − tr(K_nn − K_nm K_mm⁻¹ K_mn) / 2σ²

    needs only the m × m matrices A and B. If all rows are points, it is the evidence. A row of
    weight w enters every sum over rows w times.

    Parameters
    ----------
    features : ndarray of shape (n, k)
        In units of the length scale.
    Y : ndarray of shape (n, n_targets)
    weights : ndarray of shape (n,)
    points : ndarray of shape (m,) of int
        Indices of the rows that summarise the others.
    log_height : float
    log_noise : ndarray of shape (n_targets,)
        Log noise variances.
    workers : Workers, default=ALONE
        Threads that share the rows.

    Returns
    -------
    loss, d_features, d_log_height, d_log_noise, n_failures
        See :func:`skbayesnn.gaussian_process.evidence.evidence`.
    """
    n, n_targets = weights.sum(), Y.shape[1]
    m, height = len(points), np.exp(log_height)
    roots = np.sqrt(weights)[:, None]
    Y = roots * Y
    some = features[points]
    gram = squared_exponential(some, some, log_height)
    factor, added, n_failures = cholesky(gram, SPARSE_JITTER)
    inv = inverse(factor)
    parts = chunks(len(features))
    precision = row_precision(len(parts), log_height, log_noise)
    own_inv, own_roots, own_Y = (each.astype(precision, copy=False) for each in (inv, roots, Y))

    def whiten(i):
        part = parts[i]
        cross = squared_exponential(features[part], some, log_height)
        cross = cross.astype(precision, copy=False)
        whitened = multiply_lower(own_inv, own_roots[part] * cross)
        sums = whitened.T @ whitened, whitened.T @ own_Y[part]
        return cross, whitened, *(each.astype(np.float64, copy=False) for each in sums)

    crosses, rows, *sums = zip(*workers.map(whiten, len(parts)), strict=True)
    products, totals = (reduce(add, each) for each in sums)
    rest = n * height - products.trace()
    loss, d_height, d_log_noise = 0.5 * n * n_targets * LOG_2PI, 0.0, np.empty(n_targets)
    # With respect to the whitened rows W (each times the root of its weight), the gradient is W
    # d_whitened + Y d_totals', and K_nm = W L'. A = B − σ² I avoids the product of d_whitened and
    # A.
    d_whitened, d_totals = np.zeros((m, m)), np.empty((m, n_targets))
    d_inner = np.zeros((m, m))
    for t in range(n_targets):
        noise, total = np.exp(log_noise[t]), totals[:, t]
        regular = products.copy()
        regular.ravel()[:: m + 1] += noise
        root, _, failures = cholesky(regular, 0.0)
        n_failures += failures
        inv_root = inverse(root)
        inv_regular = inv_root.T @ inv_root
        b = inv_regular @ total
        squares = Y[:, t] @ Y[:, t] - total @ b
        loss += np.log(np.diagonal(root)).sum()
        loss += 0.5 * ((n - m) * log_noise[t] + (squares + rest) / noise)
        scaled = b / noise
        d_whitened += inv_regular + np.outer(scaled, b)
        d_whitened.ravel()[:: m + 1] -= 1.0 / noise
        d_totals[:, t] = -scaled
        d_inner -= noise * inv_regular + np.outer(scaled, noise * b)
        d_inner -= products / noise
        d_inner.ravel()[:: m + 1] += 1.0
        d_height += 0.5 * n / noise
        d_log_noise[t] = 0.5 * (noise * inv_regular.trace() + b @ b + n - m)
        d_log_noise[t] -= 0.5 * (squares + rest) / noise
    # Symmetric matrices: their rows times L⁻¹, or the transpose of this, are needed.
    d_factor = -multiply_lower(inv, d_inner, transposed=True).T
    outer = multiply_lower(inv, d_whitened, transposed=True)
    d_totals = d_totals.T @ inv
    outer, d_totals = (each.astype(precision, copy=False) for each in (outer, d_totals))
    d_features = np.empty_like(features)

    def back(i):
        part = parts[i]
        d_cross = rows[i] @ outer
        d_cross += own_Y[part] @ d_totals
        d_cross *= own_roots[part]
        d_features[part], *own = squared_exponential_adjoint(
            features[part], some, crosses[i], d_cross
        )
        return own

    sums = zip(*workers.map(back, len(parts)), strict=True)
    d_gram = cholesky_adjoint(factor, inv, d_factor)
    d_log_height = height * d_height + added * d_gram.trace()
    d_some, height_part = symmetric_adjoint(some, gram, d_gram)
    more, rows_part = (reduce(add, each) for each in sums)
    np.add.at(d_features, points, d_some + more)
    return loss, d_features, d_log_height + height_part + rows_part, d_log_noise, n_failures


def collapsed_loss_and_gradient(
    sizes,
    theta,
    X,
    Y,
    weights,
    noise,
    prior_weight=1.0,
    *,
    n_total=None,
    points=None,
    workers=ALONE,
):
    """Negative objective per row, and its gradient.

    Parameters
    ----------
    sizes : LayerSizes
    theta : ndarray of shape (n_parameters,)
        The pseudo-observations of the output (``root``, ``values``) are not used.
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
    weights : ndarray of shape (n,)
        Number of rows that each row stands for.
    noise : Noise
        Random numbers of a single row, which all rows share.
    prior_weight : float, default=1.0
        Factor on the divergences, only in the gradient.
    n_total : float, optional
        Number of rows by which the divergences are divided; by default the sum of the weights.
    points : ndarray of shape (m,) of int, optional
        Indices of rows that summarise the others in the output; by default it is exact.
    workers : Workers, default=ALONE
        Threads that share the draws, or the rows of a single draw.

    Returns
    -------
    loss : float
    gradient : ndarray of shape (n_parameters,)
    n_failures : int
        Number of factorisations that needed more jitter.
    """
    a, p = sizes, sizes.views(theta)
    run = Pass(a, p, X, noise, workers)
    total = weights.sum()
    hidden = HiddenAdjoint(run, n_total or total, prior_weight)
    share = 1.0 / (run.n_draws * total)

    def draw(d):
        gradient = np.zeros(theta.size)
        g = a.views(gradient)
        layers = run.hidden(d)
        rows = layers.right, Y, weights
        scales = p["log_heights"][-1], p["log_noise"]
        if points is None:
            parts = evidence(*rows, *scales)
        else:
            parts = sparse_evidence(*rows, points, *scales, run.inner)
        value, d_right, d_log_height, d_log_noise, n_failures = parts
        g["log_heights"][-1] += share * d_log_height
        g["log_noise"] += share * d_log_noise
        hidden.add(d, g, layers, np.zeros_like(layers.left), share * d_right)
        return share * value, gradient, n_failures

    losses, gradients, failures = zip(*run.each_draw(draw, hidden.gather), strict=True)
    gradient = reduce(add, gradients)
    loss = sum(losses) + hidden.finish(a.views(gradient))
    return loss, gradient, run.n_failures + sum(failures)

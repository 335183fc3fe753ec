"""The objective with the output process collapsed: the evidence of the rows given their features.

Given the features of the rows after the last hidden layer, the function is a Gaussian
process, and with Gaussian noise its log evidence needs no approximate posterior. What
training raises is

    E[log N(y; 0, K(F) + σ² I)] − Σ_ℓ KL(Q(G_ℓ | G_ℓ₋₁) ‖ P(G_ℓ | G_ℓ₋₁)),

the expectation over draws of the hidden layers. It is at least the bound of
:mod:`skbayesnn.dwp.objective`, which has the best Gaussian of P points in place of the
exact posterior, and costs the cube of the number of rows. For many rows, the evidence has
a bound through some of them, which costs a row the square of their number.

Rows of a draw share the standard normal numbers of their features' conditional distribution
(``Noise.rows`` of one row): a draw is a smooth map from inputs to features, the same for
training and new rows. Each row alone has the distribution of Algorithm 1 of the paper; the
correlation among rows given the inducing points is one instead of the kernel's. So with hidden
layers this is no bound of the evidence of the paper's model: it bounds that of another, in which
features are a smooth map given those of the inducing points, which are parameters of that model.
``tests/dwp/test_bounds.py`` has three rows where it is above the paper's evidence; the objective
of :mod:`skbayesnn.dwp.objective`, a sum over rows, needs the marginals alone and stays below.
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
"""On the diagonal of the points' covariance, as a part of it."""
SINGLE_NOISE = 1e-3
"""Noise variance, over the height, from which on rows in several chunks are whitened in single
precision: this errs by about a ten thousandth of the height's root, beside which noise is large."""


def row_precision(n_chunks, log_height, log_noise):
    """Precision of what is computed of rows through some of them.

    Parameters
    ----------
    n_chunks : int
        Of the rows.
    log_height : float
    log_noise : ndarray of shape (n_targets,)

    Returns
    -------
    precision : type
    """
    noisy = np.min(log_noise) - log_height > np.log(SINGLE_NOISE)
    return np.float32 if n_chunks > 1 and noisy else np.float64


def sparse_evidence(features, Y, weights, points, log_height, log_noise, workers=ALONE):
    """Lower bound of the evidence through some of the rows (Titsias, 2009), with its gradients.

    With L L' the covariance of the points, A = L⁻¹ K_mn K_nm L⁻¹' and B = A + σ² I,

        log N(y; 0, K_nm K_mm⁻¹ K_mn + σ² I) − tr(K_nn − K_nm K_mm⁻¹ K_mn) / 2σ²

    takes the m x m matrices A and B alone. With all rows as points it is the evidence.
    A row of weight w enters every sum over rows w times.

    Parameters
    ----------
    features : ndarray of shape (n, k)
        In units of the length scale.
    Y : ndarray of shape (n, n_targets)
    weights : ndarray of shape (n,)
    points : ndarray of shape (m,) of int
        Rows that stand for the others.
    log_height : float
    log_noise : ndarray of shape (n_targets,)
        Log noise variances.
    workers : Workers, default=ALONE
        Threads that share the rows.

    Returns
    -------
    loss, d_features, d_log_height, d_log_noise, n_failures
        As :func:`evidence`.
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
    # In the whitened rows W (each times the root of its weight) the gradient is W d_whitened +
    # Y d_totals', and K_nm = W L'. The product of d_whitened and A needs none: A = B − σ² I.
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
    # Symmetric matrices: their rows times L⁻¹ are what is wanted, or its transpose.
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
    """Minus the objective a row, with its gradient.

    Parameters
    ----------
    sizes : LayerSizes
    theta : ndarray of shape (n_parameters,)
        The pseudo-observations of the output (``root``, ``values``) play no part.
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
    weights : ndarray of shape (n,)
        How many rows each stands for.
    noise : Noise
        Of one row, which all rows share.
    prior_weight : float, default=1.0
        Factor on the divergences, in the gradient alone.
    n_total : float, optional
        Rows that the divergences are weighed against; by default the sum of the weights.
    points : ndarray of shape (m,) of int, optional
        Rows through which the output sees the others; by default it is exact.
    workers : Workers, default=ALONE
        Threads that share the draws, or the rows of the only one.

    Returns
    -------
    loss : float
    gradient : ndarray of shape (n_parameters,)
    n_failures : int
        Factorisations that needed more jitter.
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

"""The evidence lower bound of a deep Wishart process and its gradient.

    ELBO = E[Σ log p(y | f)] − Σ_ℓ KL(Q(G_ℓ | G_ℓ₋₁) ‖ P(G_ℓ | G_ℓ₋₁)) − E[KL(q(u) ‖ p(u))],

where the expectations are over draws of the Gram matrices. The divergences of the hidden layers do
not depend on the draws (see :mod:`skbayesnn.dwp.wishart`) unless the posterior has its own scale
matrix (:mod:`skbayesnn.dwp.scale_mixture`); that of the output does.
"""

from functools import reduce
from operator import add

import numpy as np

from skbayesnn.dwp.output import grams_adjoint, output_adjoint, output_divergence
from skbayesnn.dwp.passes import HiddenAdjoint, Pass
from skbayesnn.dwp.sites import Sites
from skbayesnn.numerics.workers import ALONE


def predict(sizes, parameters, X, noise, workers=ALONE):
    """Marginals of the function, without noise, for each draw.

    Returns
    -------
    means, variances : ndarray of shape (n_draws, n_targets, n)
    """
    run = Pass(sizes, parameters, X, noise)
    out = np.empty((2, run.n_draws, sizes.n_targets, len(X)))

    def draw(d):
        for t, o in enumerate(run.forward(d)[1]):
            out[:, d, t] = o.mean, o.variance

    workers.run(draw, run.n_draws)
    return out[0], out[1]


def loss_and_gradient(
    sizes, theta, X, y, weights, noise, n_total, prior_weight=1.0, *, sites=None, workers=ALONE
):
    """Negative ELBO per row, and its gradient.

    Parameters
    ----------
    sizes : LayerSizes
    theta : ndarray of shape (n_parameters,)
    X : ndarray of shape (n, n_inputs)
    y : ndarray of shape (n, n_targets) or (n, n_classes)
        Targets in the form that the likelihood needs.
    weights : ndarray of shape (n,)
        Number of rows that each row stands for, divided by the mean over the whole table.
    noise : Noise
    n_total : float
        Number of rows by which the divergences are divided.
    prior_weight : float, default=1.0
        Factor on the divergences, only in the gradient.
    sites : Sites, optional
        Accumulates the sums for a natural-gradient step of the pseudo-observations.
    workers : Workers, default=ALONE
        Threads that share the draws, or the rows of a single draw.

    Returns
    -------
    loss : float
        Includes the full divergences, regardless of ``prior_weight``.
    gradient : ndarray of shape (n_parameters,)
        Gradient of the loss with the divergences multiplied by ``prior_weight``.
    n_failures : int
        Number of factorisations that needed more jitter.
    """
    a, p = sizes, sizes.views(theta)
    run = Pass(a, p, X, noise, workers)
    n, weight = len(X), prior_weight / n_total
    share = 1.0 / run.n_draws  # weight of a draw in the mean
    hidden = HiddenAdjoint(run, n_total, prior_weight)

    def draw(d):
        gradient, own_sites = np.zeros(theta.size), None
        g = a.views(gradient)
        layers, outputs = run.forward(d)
        expected = run.expected(outputs, d, y, weights)
        loss = share / n * expected.loss
        g["log_noise"] += share / n * expected.d_log_noise
        if sites is not None:
            own_sites = Sites(a.n_targets, a.n_inducing)
            own_sites.add(outputs, expected, share * n_total / n, weights.sum())
        d_gram, d_cross = 0.0, 0.0
        for t, o in enumerate(outputs):
            value, d_precision, d_values = output_divergence(o)
            loss += share / n_total * value
            d_root, d_values, part_gram, part_cross, d_log_height = output_adjoint(
                o,
                share / n * expected.d_means[:, t],
                share / n * expected.d_variances[:, t],
                share * weight * d_precision,
                share * weight * d_values,
            )
            g["root"][t] += np.tril(d_root)
            g["values"][t] += d_values
            g["log_heights"][-1] += d_log_height
            d_gram, d_cross = d_gram + part_gram, d_cross + part_cross
        d_left, d_right, d_log_height = grams_adjoint(outputs[0], d_gram, d_cross)
        g["log_heights"][-1] += d_log_height
        hidden.add(d, g, layers, d_left, d_right)
        return loss, gradient, own_sites

    losses, gradients, all_sites = zip(*run.each_draw(draw, hidden.gather), strict=True)
    if sites is not None:
        for own in all_sites:
            sites.merge(own)
    gradient = reduce(add, gradients)
    loss = sum(losses) + hidden.finish(a.views(gradient))
    return loss, gradient, run.n_failures

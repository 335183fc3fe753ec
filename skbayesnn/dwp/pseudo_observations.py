"""The best pseudo-observations for some rows, and the height of functions of classes."""

from dataclasses import replace

import numpy as np

from skbayesnn.dwp.output import output_divergence
from skbayesnn.dwp.passes import Pass
from skbayesnn.dwp.sites import Sites
from skbayesnn.dwp.sizes import draw_noise

# Rows that the pseudo-observations take at a time.
_BLOCK = 2000
# Of the functions of classes: log heights to choose from, and steps of the pseudo-observations.
_LOG_HEIGHTS, _STEPS = np.log([1.0, 4.0, 16.0, 64.0]), 8
# Factor on the part of the way that a step takes, after one that was taken back.
_SHORTER = 0.25


def start_output(sizes, parameters, X, Y, weights, n_total, generator, n_draws=4, n_steps=3):
    """Set the noise and the pseudo-observations to the best for these rows.

    The rows, in blocks, stand for ``n_total``. With Gaussian noise one step finds the best from
    anywhere. With classes ``n_steps`` of them improve what is there; three are enough where it is
    nearly the best.

    Returns
    -------
    loss : float or None
        Of classes: minus the bound a row, without the divergences of the hidden layers.
    """
    a, p = sizes, parameters
    blocks = [slice(i, i + _BLOCK) for i in range(0, len(X), _BLOCK)]
    draws = draw_noise(a, generator, n_draws if a.n_layers else 1, 1)
    total, runs, n_rows = weights.sum(), [], a.law.n_noise_rows
    for block in blocks:
        rows = draw_noise(a, generator, draws.uniform.shape[1], n_rows or len(X[block])).rows
        runs.append(Pass(a, p, X[block], replace(draws, rows=rows)))
    share = n_total / total / runs[0].n_draws

    def evaluations():
        for block, run in zip(blocks, runs, strict=True):
            run.roots = [np.tril(r) for r in p["root"]]
            for d in range(run.n_draws):
                outputs = run.forward(d)[1]
                yield outputs, run.expected(outputs, d, Y[block], weights[block]), weights[block]

    def evaluate():
        sites, loss = Sites(a.n_targets, a.n_inducing), 0.0
        for outputs, expected, own in evaluations():
            sites.add(outputs, expected, share, own.sum())
            divergence = sum(output_divergence(o)[0] for o in outputs)
            loss += share * expected.loss + divergence / len(blocks) / runs[0].n_draws
        return loss / n_total, sites

    if not a.law.n_noises(a.n_targets):
        return _improve(p, evaluate, n_steps)
    evaluate()[1].step(p, 1.0)
    slope = sum(expected.d_log_noise for _, expected, _ in evaluations())
    # The mean squared residual, as a part of the noise.
    ratios = 1.0 - 2.0 * slope / (total * runs[0].n_draws)
    p["log_noise"] += np.log(np.maximum(ratios, 1.0))
    return None


def _improve(parameters, evaluate, n_steps):
    """Natural-gradient steps of the pseudo-observations that never lower the bound.

    A full step overshoots where rows are classified with near certainty, because their curvature is
    next to nothing. It is then taken back, and shorter steps follow.

    Parameters
    ----------
    parameters : dict of str to ndarray
        Changed.
    evaluate : callable
        Gives minus the bound, and the Sites of a step.
    n_steps : int

    Returns
    -------
    loss : float
        Minus the bound at the end.
    """
    p, kept, part = parameters, None, 1.0
    for step in range(n_steps + 1):
        loss, sites = evaluate()
        if kept is None or loss < kept[0]:
            kept = loss, p["root"].copy(), p["values"].copy(), sites
        else:
            part *= _SHORTER
        best, p["root"][:], p["values"][:], sites = kept
        if step < n_steps:
            sites.step(p, part)
    return best


def start_classes(sizes, parameters, X, Y, weights, n_total, generator):
    """Set the height of the functions, and pseudo-observations, of a process without layers.

    The height is that of a few with the highest bound: with labels that depend on the inputs
    alone it is large.
    """
    a = replace(sizes, n_layers=0)
    theta, best = np.zeros(a.size()), None
    p = a.views(theta)
    for name in ("inducing", "log_length_scales"):
        p[name][:] = parameters[name]
    for log_height in _LOG_HEIGHTS:  # each goes on from the pseudo-observations of the last
        p["log_heights"][-1] = log_height
        loss = start_output(a, p, X, Y, weights, n_total, generator, n_steps=_STEPS)
        if best is None or loss < best[0]:
            best = loss, theta.copy()
    found = a.views(best[1])
    for name in ("root", "values"):
        parameters[name][:] = found[name]
    parameters["log_heights"][-1] = found["log_heights"][-1]

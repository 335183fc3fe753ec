"""Pairs of a forward map and its adjoint, and losses with their gradient, for fused kernels.

Each adjoint takes what its forward map kept and the gradient in the output, and gives
the gradient in every input. All work in place on arrays of the caller, float32 or
float64, C-contiguous.
"""

import math

import numpy as np

from skbayesnn.numerics.jit import helper

LEAST_VARIANCE = 1e-6
"""Least variance that a head may give a row, in standardised units."""
CURVATURE = 0.2
"""c of layer 1's activation, (z + √(z² + c)) / 2: how round the bend at zero is."""


@helper
def product(a, b, out):
    """Set ``out`` (m, p) to ``a`` (m, k) times ``b`` (k, p)."""
    np.dot(a, b, out)


@helper
def product_tn(a, b, out):
    """Set ``out`` (m, p) to the transpose of ``a`` (k, m) times ``b`` (k, p)."""
    np.dot(a.T, b, out)


@helper
def product_nt(a, b, out):
    """Set ``out`` (m, p) to ``a`` (m, k) times the transpose of ``b`` (p, k)."""
    np.dot(a, b.T, out)


@helper
def affine(inputs, weights, bias, out):
    """Set ``out`` (n, p) to ``inputs`` (n, k) times ``weights`` (k, p) plus ``bias`` (p,)."""
    product(inputs, weights, out)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] += bias[j]


@helper
def affine_adjoint(inputs, d_out, d_weights, d_bias):
    """Gradient of :func:`affine` in its weights and bias; that in its inputs is
    ``product_nt(d_out, weights, d_inputs)``.
    """
    product_tn(inputs, d_out, d_weights)
    d_bias[:] = 0
    for i in range(d_out.shape[0]):
        for j in range(d_out.shape[1]):
            d_bias[j] += d_out[i, j]


@helper
def affine_relu(inputs, weights, bias, out):
    """Set ``out`` to ``max(inputs @ weights + bias, 0)``; NaN stays NaN."""
    product(inputs, weights, out)
    zero = out.dtype.type(0.0)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            z = out[i, j] + bias[j]
            out[i, j] = zero if z < zero else z


@helper
def affine_relu_adjoint(inputs, out, d_out, d_weights, d_bias):
    """Gradient of :func:`affine_relu` in its weights and bias.

    ``d_out`` is overwritten with the gradient before the activation, so that
    ``product_nt(d_out, weights, d_inputs)`` gives the gradient in the inputs.
    """
    zero = out.dtype.type(0.0)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            d_out[i, j] = d_out[i, j] if out[i, j] > zero else zero
    affine_adjoint(inputs, d_out, d_weights, d_bias)


@helper
def affine_bend(inputs, weights, bias, out):
    """Set ``out`` to (z + √(z² + c)) / 2, z = ``inputs @ weights + bias``; NaN stays NaN.

    A smooth and positive relu ("squareplus"), whose derivative is known from its value alone.
    """
    product(inputs, weights, out)
    half, c = out.dtype.type(0.5), out.dtype.type(CURVATURE)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            z = out[i, j] + bias[j]
            root = np.sqrt(z * z + c)
            out[i, j] = half * (root + z) if z > 0 else half * c / (root - z)


@helper
def affine_bend_adjoint(inputs, out, d_out, d_weights, d_bias):
    """Gradient of :func:`affine_bend`, as :func:`affine_relu_adjoint`'s.

    With h the value the derivative is h² / (h² + c / 4).
    """
    quarter = out.dtype.type(0.25 * CURVATURE)
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            square = out[i, j] * out[i, j]
            d_out[i, j] *= square / (square + quarter)
    affine_adjoint(inputs, d_out, d_weights, d_bias)


@helper
def softmax_log_loss(logits, labels, weights, scale, d_logits):
    """Softmax cross-entropy of each row, and ``scale`` times its gradient.

    Parameters
    ----------
    logits : ndarray of shape (n, n_classes)
    labels : ndarray of shape (n, 1)
        The class numbers, in the type of the logits.
    weights : ndarray of shape (n,)
    scale : float
    d_logits : ndarray of shape (n, n_classes)
        Set to ``scale`` times the gradient of the weighted sum of -log p in the logits;
        may be ``logits`` itself.

    Returns
    -------
    total : float
        Weighted sum of log p over the rows, accumulated in float64.
    """
    kind = logits.dtype.type
    total = 0.0
    for i in range(logits.shape[0]):
        label = int(labels[i, 0])
        top = logits[i, 0]
        for j in range(1, logits.shape[1]):
            top = max(top, logits[i, j])
        chosen = logits[i, label] - top
        mass = kind(0.0)
        for j in range(logits.shape[1]):
            e = np.exp(logits[i, j] - top)
            d_logits[i, j] = e
            mass += e
        total += weights[i] * (chosen - np.log(mass))
        factor = kind(scale) * weights[i]
        for j in range(logits.shape[1]):
            d_logits[i, j] *= factor / mass
        d_logits[i, label] -= factor
    return total


@helper
def gaussian_log_loss(outputs, targets, shared, weights, scale, d_shared):
    """Gaussian -log density, one variance a target, and ``scale`` times its gradient.

    Parameters
    ----------
    outputs : ndarray of shape (n, n_targets)
        Means; overwritten with ``scale`` times the gradient of the weighted sum of -log p.
    targets : ndarray of shape (n, n_targets)
    shared, d_shared : ndarray of shape (n_targets,)
        Log variances, and where their gradient goes.
    weights : ndarray of shape (n,)
    scale : float

    Returns
    -------
    total : float
        Weighted sum of log p over rows and targets, accumulated in float64.
    """
    kind = outputs.dtype.type
    total = 0.0
    for t in range(outputs.shape[1]):
        precision = np.exp(-shared[t])
        squares = 0.0
        mass = 0.0
        for i in range(outputs.shape[0]):
            r = outputs[i, t] - targets[i, t]
            squares += weights[i] * r * r
            mass += weights[i]
            outputs[i, t] = kind(scale) * weights[i] * precision * r
        total -= 0.5 * (squares * precision + mass * (shared[t] + np.log(2.0 * np.pi)))
        d_shared[t] = kind(scale * 0.5 * (mass - squares * precision))
    return total


@helper
def mixture_log_loss(outputs, targets, shared, weights, scale, terms, d_shared):
    """-log density of a mixture of Gaussians a row, and ``scale`` times its gradient.

    Parameters
    ----------
    outputs : ndarray of shape (n, n_targets * (3 * n_components + 1))
        For each target logits, offsets, log scales and one location. The mean of a component is
        location + offset, its variance ``exp(2 log scale) + exp(shared) + LEAST_VARIANCE``.
        Overwritten with the gradient.
    targets, weights, scale, total
        As in :func:`gaussian_log_loss`.
    shared, d_shared : ndarray of shape (n_targets,)
        Log of the variance that all rows and components have in common, and where its gradient
        goes.
    terms : ndarray of shape (3, n_components)
        Scratch.
    """
    kind = outputs.dtype.type
    one, half = kind(1.0), kind(0.5)
    k = terms.shape[1]
    free, joint, own = terms[0], terms[1], terms[2]
    d_shared[:] = 0
    total = 0.0
    for i in range(outputs.shape[0]):
        factor = kind(scale) * weights[i]
        for t in range(targets.shape[1]):
            common = np.exp(shared[t]) + kind(LEAST_VARIANCE)
            row = outputs[i, (3 * k + 1) * t : (3 * k + 1) * (t + 1)]
            residual, pull = row[3 * k] - targets[i, t], kind(0.0)
            top, best = row[0], kind(-np.inf)
            for c in range(1, k):
                top = max(top, row[c])
            mass = kind(0.0)
            for c in range(k):
                free[c] = np.exp(row[c] - top)
                mass += free[c]
                own[c] = np.exp(kind(2.0) * row[2 * k + c])
                r = row[k + c] + residual
                variance = own[c] + common
                joint[c] = row[c] - top - half * (np.log(variance) + r * r / variance)
                best = max(best, joint[c])
            evidence = kind(0.0)
            for c in range(k):
                joint[c] = np.exp(joint[c] - best)
                evidence += joint[c]
            total += weights[i] * (best + np.log(evidence) - np.log(mass) - 0.9189385332046727)
            for c in range(k):
                share = joint[c] / evidence
                r = row[k + c] + residual
                variance = own[c] + common
                slope = factor * share * (one - r * r / variance) / variance
                row[c] = factor * (free[c] / mass - share)
                row[k + c] = factor * share * r / variance
                pull += row[k + c]
                row[2 * k + c] = slope * own[c]
                d_shared[t] += half * slope * (common - kind(LEAST_VARIANCE))
            row[3 * k] = pull
    return total


@helper
def digamma(x):
    """Derivative of the log gamma function, x > 0: recurrence, then its asymptotic series."""
    out = 0.0
    while x < 8.0:
        out -= 1.0 / x
        x += 1.0
    r = 1.0 / (x * x)
    return out + np.log(x) - 0.5 / x - r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r / 240)))


@helper
def student_log_loss(outputs, targets, shared, weights, scale, d_shared):
    """-log density of Student's t, and ``scale`` times its gradient.

    Parameters
    ----------
    outputs : ndarray of shape (n, n_targets * 2)
        For each target a location and a log scale; squared scales as the variances of
        :func:`mixture_log_loss`. Overwritten with the gradient.
    targets, weights, scale, total
        As in :func:`gaussian_log_loss`.
    shared, d_shared : ndarray of shape (2 * n_targets,)
        For each target the log of what rows have in common, then log(ν - 1) for ν degrees of
        freedom, and where their gradients go.
    """
    kind = outputs.dtype.type
    total = 0.0
    n_targets = targets.shape[1]
    for t in range(n_targets):
        common = np.exp(np.float64(shared[t]))
        nu = 1.0 + np.exp(np.float64(shared[n_targets + t]))
        constant = math.lgamma(0.5 * nu + 0.5) - math.lgamma(0.5 * nu) - 0.5 * np.log(nu * np.pi)
        bend = digamma(0.5 * nu + 0.5) - digamma(0.5 * nu) - 1.0 / nu
        d_nu = d_common = 0.0
        for i in range(outputs.shape[0]):
            own = np.exp(2.0 * np.float64(outputs[i, 2 * t + 1]))
            square = own + common + LEAST_VARIANCE
            r = np.float64(outputs[i, 2 * t] - targets[i, t])
            u = r * r / (nu * square)
            pull = (nu + 1.0) / (nu * square * (1.0 + u))
            log_p = constant - 0.5 * (np.log(square) + (nu + 1.0) * np.log1p(u))
            total += weights[i] * log_p
            d_nu -= 0.5 * weights[i] * (bend - np.log1p(u) + (nu + 1.0) / nu * u / (1.0 + u))
            factor = scale * weights[i]
            slope = factor * (1.0 - pull * r * r) / square
            outputs[i, 2 * t] = kind(factor * pull * r)
            outputs[i, 2 * t + 1] = kind(slope * own)
            d_common += 0.5 * slope * common
        d_shared[t] = kind(d_common)
        d_shared[n_targets + t] = kind(scale * d_nu * (nu - 1.0))
    return total

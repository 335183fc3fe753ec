"""The evidence lower bound of eq. 7 and its gradient, fused: one pass up, one pass down.

Per row of data the loss is

    −ELBO/n = Σ_ℓ q_ℓ [ −mean log p(y | Ω_ℓ(x)) + R_ℓ/n − (log p(ℓ) − log q_ℓ)/n ],

R_ℓ the divergence of layers 1 to ℓ and of head ℓ from the prior, with first-order
expectations at the mean. So layer k is shrunk with weight P_q(ℓ ≥ k). Everything that
head ℓ meets carries the factor q_ℓ; the head's own step drops it (each head maximises
its own depth's value, whose maximiser is the same), so that heads of little probability
keep up with the layers below them.
"""

import numpy as np

from skbayesnn.numerics.adam import adam_step
from skbayesnn.numerics.jit import helper, kernel
from skbayesnn.udn.adjoints import (
    affine,
    affine_adjoint,
    gaussian_log_loss,
    mixture_log_loss,
    product_nt,
    softmax_log_loss,
    student_log_loss,
)
from skbayesnn.udn.layers import layer_adjoint, layer_forward
from skbayesnn.udn.likelihoods import VARIANCE_UNIT


@helper
def forward(shape, starts, theta, depth, inputs, patches, hidden, inner):
    """Hidden arrays of all layers for one batch.

    Parameters
    ----------
    shape, starts : ndarray
        From the architecture.
    theta : ndarray of shape (n_parameters,)
    depth : int
    inputs : ndarray of shape (rows, channels)
    patches : tuple of three ndarrays, or None
        Scratch for the neighbourhoods of layer 1 and of the others, and for the gradient in the
        latter. None where layers have none: then numba leaves out what images need.
    hidden : ndarray of shape (max_depth, max_rows, width)
    inner : ndarray of shape (max_depth, max_rows, width) or (1, 1, width) for dense layers
    """
    rows = inputs.shape[0]
    for k in range(depth):
        block = theta[starts[2 * k] : starts[2 * k + 1]]
        source = inputs if k == 0 else hidden[k - 1][:rows]
        out, within = hidden[k][:rows], inner[k % inner.shape[0]][:rows]
        if patches is None:
            layer_forward(shape, k == 0, block, source, None, out, within)
        else:
            layer_forward(shape, k == 0, block, source, patches[min(k, 1)], out, within)


@kernel
def gradient(
    shape, starts, theta, depth, q, head_weights, inputs, targets, weights, n_mean,
    learn_noise, n_classes, n_components, student, gaussian, patches, hidden, inner, d_hidden,
    d_lower, scratch, outputs, shared, grad, totals,
):  # fmt: skip
    """Data term of the loss: its gradient, and the log-likelihood of every depth.

    Parameters
    ----------
    q : ndarray of shape (depth,), float64
        Probability of each depth.
    head_weights : ndarray of shape (depth,), float64
        Factor on the gradient of each head: ``q`` gives the exact gradient of eq. 7.
    targets : ndarray of shape (n, n_outputs) or (n, 1)
        Class numbers in one column, or regression targets.
    weights : ndarray of shape (n,)
    n_mean : float
        What the sums over the batch are divided by.
    learn_noise : bool
        Whether the noise that all rows have in common has a gradient.
    n_classes, n_components, student, gaussian : int or None
        From :attr:`Likelihood.branches`; only the loss in use is compiled.
    patches : tuple of three ndarrays, or None
        As in :func:`forward`.
    hidden, inner, d_hidden, d_lower, scratch, outputs, shared : ndarray
        Scratch; see :class:`skbayesnn.udn.network.Network`.
    grad : ndarray of shape (n_parameters,)
        Overwritten for the blocks in use.
    totals : ndarray of shape (depth,), float64
        The batch's log-likelihood of each depth is added.
    """
    n_outputs, width = shape[5], shape[4]
    n, rows = targets.shape[0], inputs.shape[0]
    n_flat = shape[1] * shape[2] * width
    forward(shape, starts, theta, depth, inputs, patches, hidden, inner)
    kind = theta.dtype.type
    for k in range(depth - 1, -1, -1):
        if head_weights[k] > 0.0:
            head = theta[starts[2 * k + 1] : starts[2 * k + 2]]
            d_head = grad[starts[2 * k + 1] : starts[2 * k + 2]]
            end = n_flat * n_outputs
            slopes = head[:end].reshape((n_flat, n_outputs))
            flat = hidden[k][:rows].reshape((n, n_flat))
            affine(flat, slopes, head[end : end + n_outputs], outputs)
            scale = head_weights[k] / n_mean
            d_shared = d_head[end + n_outputs :]
            for j in range(d_shared.shape[0]):
                shared[j] = VARIANCE_UNIT * head[end + n_outputs + j]
            # Alone each, not one after the other: then numba leaves out those not taken.
            if n_classes is not None:
                totals[k] += softmax_log_loss(outputs, targets, weights, scale, outputs)
            if n_components is not None:
                totals[k] += mixture_log_loss(
                    outputs, targets, shared, weights, scale, n_components, d_shared
                )
            if student is not None:
                totals[k] += student_log_loss(outputs, targets, shared, weights, scale, d_shared)
            if gaussian is not None:
                totals[k] += gaussian_log_loss(outputs, targets, shared, weights, scale, d_shared)
            for j in range(d_shared.shape[0]):
                if learn_noise or j >= targets.shape[1]:
                    d_shared[j] *= VARIANCE_UNIT
                else:
                    d_shared[j] = kind(0.0)
            affine_adjoint(
                flat, outputs, d_head[:end].reshape((n_flat, n_outputs)),
                d_head[end : end + n_outputs],
            )  # fmt: skip
            product_nt(outputs, slopes, scratch.reshape((n, n_flat)))
            factor = kind(q[k] / head_weights[k])
            for i in range(scratch.shape[0]):
                for j in range(width):
                    below = d_lower[i, j] if k < depth - 1 else kind(0.0)
                    d_hidden[i, j] = below + factor * scratch[i, j]
        else:
            for i in range(rows):
                for j in range(width):
                    d_hidden[i, j] = d_lower[i, j]
        layer_adjoint(
            shape, k == 0, theta[starts[2 * k] : starts[2 * k + 1]],
            inputs if k == 0 else hidden[k - 1][:rows],
            None if patches is None else patches[min(k, 1)],
            hidden[k][:rows], inner[k % inner.shape[0]][:rows], d_hidden,
            grad[starts[2 * k] : starts[2 * k + 1]], d_lower, scratch,
            None if patches is None else patches[2],
        )  # fmt: skip


@kernel
def shrink(theta, centre, precision, starts, factors, grad):
    """Add the prior's part: ``factors[b] * precision * (theta - centre)`` on each block."""
    for b in range(factors.shape[0]):
        if factors[b] > 0.0:
            factor = theta.dtype.type(factors[b])
            for j in range(starts[b], starts[b + 1]):
                grad[j] += factor * precision[j] * (theta[j] - centre[j])


@kernel
def divergences(theta, centre, precision, starts, n_blocks):
    """Half the scaled squared distance of each block from the prior mean, in float64."""
    out = np.zeros(n_blocks)
    for b in range(n_blocks):
        total = 0.0
        for j in range(starts[b], starts[b + 1]):
            distance = theta[j] - centre[j]
            total += precision[j] * distance * distance
        out[b] = 0.5 * total
    return out


def run_steps(network, depth, q, head_weights, X, targets, weights, batch_size, rate, n_total):
    """One step of Adam a batch, over rows in the order given.

    The loop is Python, the step two kernels: one kernel around it all would save some
    30 µs a step and cost three more seconds of compilation.

    Parameters
    ----------
    network : skbayesnn.udn.network.Network
    depth : int
        Depths in use.
    q, head_weights : ndarray of shape (depth,)
        Weights of the depths, for the layers below and for the heads themselves.
    X, targets, weights : ndarray of shapes (n, n_inputs), (n, n_outputs or 1), (n,)
        In the network's type.
    batch_size : int
    rate : float
        Learning rate.
    n_total : float
        The number of rows that the prior is weighed against.

    Returns
    -------
    log_likelihood : ndarray of shape (depth,)
        Mean log-likelihood a row under each depth, as seen on the way.
    """
    net, adam, positions = network, network.adam, network.architecture.positions
    b = net.scratch(min(batch_size, len(X)), depth)
    used = np.zeros(2 * net.depth)
    used[0 : 2 * depth : 2], used[1 : 2 * depth : 2] = q[::-1].cumsum()[::-1], head_weights
    rates, factors = rate * (used > 0), used / n_total
    inputs = X.reshape(len(X) * positions, -1)
    totals = np.zeros(depth)
    for begin in range(0, len(X), batch_size):
        m = min(batch_size, len(X) - begin)
        rows = m * positions
        batch = slice(begin, begin + m)
        gradient(
            net.shape, net.starts, net.theta, depth, q, head_weights,
            inputs[begin * positions : begin * positions + rows], targets[batch], weights[batch],
            float(m), net.learns_noise, *net.architecture.likelihood.branches,
            b["patches"] and tuple(part[:rows] for part in b["patches"]), b["hidden"],
            b["inner"], b["d_hidden"][:rows], b["d_lower"][:rows], b["scratch"][:rows],
            b["outputs"][:m], b["shared"], net.gradient, totals,
        )  # fmt: skip
        shrink(net.theta, net.centre, net.precision, net.starts, factors, net.gradient)
        adam_step(net.theta, net.gradient, adam.first, adam.second, net.starts, adam.counts, rates)
    return totals / len(X)

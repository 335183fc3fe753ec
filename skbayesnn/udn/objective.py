"""The evidence lower bound of eq. 7 and its gradient, in one pass up and one pass down.

Per row of data the loss is

    −ELBO/n = Σ_ℓ q_ℓ [ −mean log p(y | Ω_ℓ(x)) + R_ℓ/n − (log p(ℓ) − log q_ℓ)/n ],

where R_ℓ is the divergence of layers 1 to ℓ and of head ℓ from the prior, with first-order
expectations at the mean. Layer k is therefore shrunk with weight P_q(ℓ ≥ k). All gradients through
head ℓ carry the factor q_ℓ. The step of the head itself drops it: each head maximises the value of
its own depth, which has the same maximiser, so heads of low probability keep up with the layers
below them.
"""

import numpy as np

from skbayesnn.numerics.adam import adam_step
from skbayesnn.numerics.jit import kernel
from skbayesnn.numerics.workers import ALONE
from skbayesnn.udn.fused import fused_gradient
from skbayesnn.udn.heads import head_kernel


def data_gradient(
    network, depth, q, head_weights, X, targets, weights, n_mean, totals, workers=ALONE
):
    """Data term of the loss: its gradient, and the log-likelihood of every depth.

    The gradient goes to ``network.gradient``, overwritten for the blocks in use. A large batch is
    cut into pieces, by its size alone; they are worked on side by side and added in order.

    Parameters
    ----------
    network : skbayesnn.udn.network.Network
    depth : int
    q : ndarray of shape (depth,)
        Probability of each depth.
    head_weights : ndarray of shape (depth,)
        Factor on the gradient of each head: ``q`` gives the exact gradient of eq. 7.
    X, targets, weights : ndarray of shapes (n, n_inputs), (n, n_outputs or 1), (n,)
        In the network's type, C-contiguous.
    n_mean : float
        What the sums over the batch are divided by.
    totals : ndarray of shape (depth,)
        The batch's log-likelihood of each depth is added.
    workers : skbayesnn.numerics.workers.Workers
    """
    pass_through = fused_pass if network.architecture.fused else layered_gradient
    n_pieces = network.n_pieces(len(X), depth)
    if n_pieces == 1:  # small steps are many: nothing that is not needed
        (scratch,) = network.scratch(len(X), depth, 1)
        pass_through(
            network, depth, q, head_weights, X, targets, weights, n_mean, totals, scratch
        )  # fmt: skip
        return
    size = -(-len(X) // n_pieces)
    n_pieces = -(-len(X) // size)
    scratch = network.scratch(size, depth, n_pieces)
    parts = np.zeros((n_pieces, depth))

    def piece(i):
        rows = slice(i * size, (i + 1) * size)
        pass_through(
            network, depth, q, head_weights, X[rows], targets[rows], weights[rows], n_mean,
            parts[i], scratch[i],
        )  # fmt: skip

    workers.run(piece, n_pieces)
    for part in parts:
        totals += part
    shares = network.shares(depth, n_pieces)

    def add(i):
        for other in scratch[1:]:
            network.gradient[shares[i]] += other["gradient"][shares[i]]

    workers.run(add, len(shares))


def fused_pass(network, depth, q, head_weights, X, targets, weights, n_mean, totals, scratch):
    """:func:`data_gradient` of one piece, for dense and residual layers; to its scratch."""
    b, n, architecture = scratch, len(X), network.architecture
    residual = 1 if architecture.generator == "residual" else None
    fused_gradient(
        residual, 1 if architecture.bend else None, network.starts, network.theta, depth, q,
        head_weights, X, targets, weights, n_mean, network.learns_noise,
        *architecture.likelihood.branches, b["hidden"], b["inner"], b["d_hidden"][:n],
        b["d_lower"][:n], b["scratch"][:n], b["outputs"][:n], b["shared"], b["terms"],
        b["gradient"], totals,
    )  # fmt: skip


def layered_gradient(network, depth, q, head_weights, X, targets, weights, n_mean, totals, scratch):
    """The same for layers of any kind, one call each."""
    net, architecture = network, network.architecture
    theta, gradient, starts = net.theta, scratch["gradient"], net.starts
    hidden, kept = [X.reshape(len(X), *architecture.input_shape)], []
    for k in range(depth):
        out, keep = net.layers[k].forward(net.layer(k), hidden[-1])
        hidden.append(np.ascontiguousarray(out, dtype=net.dtype))
        kept.append(keep)
    law = architecture.likelihood
    outputs = np.empty((len(X), law.n_outputs), dtype=net.dtype)
    shared, terms = np.empty(law.n_shared, dtype=net.dtype), np.empty(law.terms, dtype=net.dtype)
    d_lower = None
    for k in range(depth - 1, -1, -1):
        out = hidden[k + 1]
        d_hidden = np.zeros_like(out) if d_lower is None else d_lower
        if head_weights[k] > 0:
            head = slice(starts[2 * k + 1], starts[2 * k + 2])
            d_flat = np.empty((len(X), out[0].size), dtype=net.dtype)
            totals[k] += head_kernel(
                theta[head], out.reshape(len(X), -1), targets, weights, head_weights[k] / n_mean,
                net.learns_noise, *law.branches, outputs, shared, terms, gradient[head], d_flat,
            )  # fmt: skip
            d_flat *= net.dtype.type(q[k] / head_weights[k])
            d_hidden = d_hidden + d_flat.reshape(out.shape)
        d_theta, d_lower = net.layers[k].adjoint(net.layer(k), hidden[k], kept[k], d_hidden)
        gradient[starts[2 * k] : starts[2 * k + 1]] = d_theta
        d_lower = np.asarray(d_lower, dtype=net.dtype)


@kernel
def shrink(theta, centre, precision, starts, factors, grad):
    """Add the prior's part: ``factors[b] * precision * (theta - centre)`` on each block."""
    for b in range(factors.shape[0]):
        if factors[b] > 0.0:
            factor = theta.dtype.type(factors[b])
            for j in range(starts[b], starts[b + 1]):
                grad[j] += factor * precision[j] * (theta[j] - centre[j])


@kernel
def divergences(theta, centre, precision, starts, out):
    """Half the scaled squared distance of the first blocks from the prior mean, in float64."""
    for b in range(out.shape[0]):
        total = 0.0
        for j in range(starts[b], starts[b + 1]):
            distance = theta[j] - centre[j]
            total += precision[j] * distance * distance
        out[b] = 0.5 * total


def run_steps(
    network, depth, q, head_weights, X, targets, weights, batch_size, rate, n_total, workers=ALONE
):
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
    workers : skbayesnn.numerics.workers.Workers

    Returns
    -------
    log_likelihood : ndarray of shape (depth,)
        Mean log-likelihood a row under each depth, as seen on the way.
    """
    net, adam = network, network.adam
    used = np.zeros(2 * net.depth)
    used[0 : 2 * depth : 2], used[1 : 2 * depth : 2] = q[::-1].cumsum()[::-1], head_weights
    rates, factors = rate * (used > 0), used / n_total
    totals = np.zeros(depth)
    masks = net.block_masks(depth, net.n_pieces(min(batch_size, len(X)), depth))
    updates = [(factors * mask, rates * mask) for mask in masks]

    def update(i):
        factor, rate = updates[i]
        shrink(net.theta, net.centre, net.precision, net.starts, factor, net.gradient)
        adam_step(net.theta, net.gradient, adam.first, adam.second, net.starts, adam.counts, rate)

    for begin in range(0, len(X), batch_size):
        batch = slice(begin, begin + batch_size)
        data = X[batch], targets[batch], weights[batch]
        data_gradient(net, depth, q, head_weights, *data, float(len(data[0])), totals, workers)
        if len(updates) == 1:
            update(0)
        else:
            workers.run(update, len(updates))
    return totals / len(X)

"""The pass through a whole network of dense or residual layers as one kernel.

It computes the same maps as :class:`skbayesnn.udn.layers.DenseLayer` and ``ResidualLayer``. For
small tables, a call for each layer would cost as much as its work.
"""

from skbayesnn.numerics.jit import kernel
from skbayesnn.udn.adjoints import (
    affine_bend,
    affine_bend_adjoint,
    affine_relu,
    affine_relu_adjoint,
    product,
    product_nt,
    product_tn,
)
from skbayesnn.udn.heads import head_gradient


@kernel
def fused_gradient(
    residual, bend, starts, theta, depth, q, head_weights, inputs, targets, weights, n_mean,
    learn_noise, n_classes, n_components, student, gaussian, hidden, inner, d_hidden, d_lower,
    scratch, outputs, shared, terms, grad, totals,
):  # fmt: skip
    """Data term of the loss: its gradient, and the log-likelihood of every depth.

    Parameters
    ----------
    residual, bend : int or None
        Not None where layers are residual, and where the relu of layer 1 is rounded; only what is
        in use is compiled.
    starts : ndarray of int64
        Where each block begins.
    theta : ndarray of shape (n_parameters,)
    depth : int
    q : ndarray of shape (depth,), float64
        Probability of each depth.
    head_weights : ndarray of shape (depth,), float64
        Factor on the gradient of each head: ``q`` gives the exact gradient of eq. 7.
    inputs : ndarray of shape (n, n_inputs)
    targets : ndarray of shape (n, n_outputs) or (n, 1)
        Class numbers in one column, or regression targets.
    weights : ndarray of shape (n,)
    n_mean : float
        What the sums over the batch are divided by.
    learn_noise : bool
        Whether the noise that all rows have in common has a gradient.
    hidden : ndarray of shape (max_depth, max_rows, width)
        Scratch, as those that follow; see :class:`skbayesnn.udn.network.Network`.
    inner : ndarray of shape (max_depth, max_rows, width) or (1, 1, width) for dense layers
    d_hidden, d_lower, scratch : ndarray of shape (n, width)
    outputs, shared, terms
        As in :func:`~skbayesnn.udn.heads.head_gradient`, as the four that say which loss it is.
    grad : ndarray of shape (n_parameters,)
        Overwritten for the blocks in use.
    totals : ndarray of shape (depth,), float64
        The batch's log-likelihood of each depth is added.
    """
    n, width = inputs.shape[0], hidden.shape[2]
    kind = theta.dtype.type
    # A layer's code stands here: functions of a layer would be compiled twice, alone and in this.
    for k in range(depth):
        source, out = inputs if k == 0 else hidden[k - 1][:n], hidden[k][:n]
        begin, end = starts[2 * k], starts[2 * k] + source.shape[1] * width
        slopes, bias = theta[begin:end].reshape((source.shape[1], width)), theta[end : end + width]
        units = out
        if residual is not None:
            units = out if k == 0 else inner[k][:n]
        if bend is not None and k == 0:
            affine_bend(source, slopes, bias, units)
        else:
            affine_relu(source, slopes, bias, units)
        if residual is not None and k > 0:
            begin = end + width
            mixing = theta[begin : begin + width * width].reshape((width, width))
            product(units, mixing, out)
            for i in range(n):
                for j in range(width):
                    out[i, j] += source[i, j]
    for k in range(depth - 1, -1, -1):
        if head_weights[k] > 0.0:
            totals[k] += head_gradient(
                theta[starts[2 * k + 1] : starts[2 * k + 2]], hidden[k][:n], targets, weights,
                head_weights[k] / n_mean, learn_noise, n_classes, n_components, student, gaussian,
                outputs, shared, terms,
                grad[starts[2 * k + 1] : starts[2 * k + 2]], scratch,
            )  # fmt: skip
            factor = kind(q[k] / head_weights[k])
            for i in range(n):
                for j in range(width):
                    below = d_lower[i, j] if k < depth - 1 else kind(0.0)
                    d_hidden[i, j] = below + factor * scratch[i, j]
        else:
            for i in range(n):
                for j in range(width):
                    d_hidden[i, j] = d_lower[i, j]
        source, units, d_units = inputs if k == 0 else hidden[k - 1][:n], hidden[k][:n], d_hidden
        begin, end = starts[2 * k], starts[2 * k] + source.shape[1] * width
        slopes = theta[begin:end].reshape((source.shape[1], width))
        d_slopes = grad[begin:end].reshape((source.shape[1], width))
        d_bias = grad[end : end + width]
        if residual is not None and k > 0:
            units, d_units, begin = inner[k][:n], scratch, end + width
            mixing = theta[begin : begin + width * width].reshape((width, width))
            d_mixing = grad[begin : begin + width * width].reshape((width, width))
            product_tn(units, d_hidden, d_mixing)
            product_nt(d_hidden, mixing, d_units)
        if bend is not None and k == 0:
            affine_bend_adjoint(source, units, d_units, d_slopes, d_bias)
        else:
            affine_relu_adjoint(source, units, d_units, d_slopes, d_bias)
        if k > 0:
            product_nt(d_units, slopes, d_lower)
        if residual is not None and k > 0:
            for i in range(n):
                for j in range(width):
                    d_lower[i, j] += d_hidden[i, j]

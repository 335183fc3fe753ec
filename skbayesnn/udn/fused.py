"""The pass through a whole network of dense or residual layers as one kernel.

It computes the same maps as :class:`skbayesnn.udn.layers.DenseLayer` and ``ResidualLayer``. For
small tables, a call for each layer would cost as much as its work.
"""

from skbayesnn.numerics.jit import helper, kernel
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


@helper
def layer_forward(first, bend, residual, block, inputs, out, inner):
    """One hidden layer.

    Parameters
    ----------
    first : bool
        Whether this is layer 1, which lifts the inputs.
    bend : bool
        Whether the relu of layer 1 is rounded.
    residual : bool
    block : ndarray of shape (n_parameters,)
    inputs : ndarray of shape (rows, n_inputs)
    out : ndarray of shape (rows, width)
        Set to the layer's output.
    inner : ndarray of shape (rows, width)
        Set to the activations before U (residual layers); kept for the adjoint.
    """
    fan_in, width = inputs.shape[1], out.shape[1]
    weights = block[: fan_in * width].reshape((fan_in, width))
    bias = block[fan_in * width : fan_in * width + width]
    if first and bend:
        affine_bend(inputs, weights, bias, out)
    elif first or not residual:
        affine_relu(inputs, weights, bias, out)
    else:
        affine_relu(inputs, weights, bias, inner)
        begin = (fan_in + 1) * width
        product(inner, block[begin : begin + width * width].reshape((width, width)), out)
        for i in range(out.shape[0]):
            for j in range(width):
                out[i, j] += inputs[i, j]


@helper
def layer_adjoint(
    first, bend, residual, block, inputs, out, inner, d_out, d_block, d_inputs, scratch
):  # fmt: skip
    """Adjoint of :func:`layer_forward`: ``d_block`` and, but for layer 1, ``d_inputs``.

    ``d_out`` is overwritten; ``scratch`` is (rows, width).
    """
    fan_in, width = inputs.shape[1], out.shape[1]
    n_weights = fan_in * width
    weights = block[:n_weights].reshape((fan_in, width))
    d_weights = d_block[:n_weights].reshape((fan_in, width))
    d_bias = d_block[n_weights : n_weights + width]
    if first and bend:
        affine_bend_adjoint(inputs, out, d_out, d_weights, d_bias)
    elif first or not residual:
        affine_relu_adjoint(inputs, out, d_out, d_weights, d_bias)
        if not first:
            product_nt(d_out, weights, d_inputs)
    else:
        begin = n_weights + width
        mixing = block[begin : begin + width * width].reshape((width, width))
        product_tn(inner, d_out, d_block[begin : begin + width * width].reshape((width, width)))
        product_nt(d_out, mixing, scratch)
        affine_relu_adjoint(inputs, inner, scratch, d_weights, d_bias)
        product_nt(scratch, weights, d_inputs)
        for i in range(d_out.shape[0]):
            for j in range(width):
                d_inputs[i, j] += d_out[i, j]


@kernel
def fused_gradient(
    residual, bend, starts, theta, depth, q, head_weights, inputs, targets, weights, n_mean,
    learn_noise, n_classes, n_components, student, gaussian, hidden, inner, d_hidden, d_lower,
    scratch, outputs, shared, grad, totals,
):  # fmt: skip
    """Data term of the loss: its gradient, and the log-likelihood of every depth.

    Parameters
    ----------
    residual : bool
        Whether layers are residual or dense.
    bend : bool
        Whether the relu of layer 1 is rounded.
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
    outputs, shared
        As in :func:`~skbayesnn.udn.heads.head_gradient`, as the four that say which loss it is.
    grad : ndarray of shape (n_parameters,)
        Overwritten for the blocks in use.
    totals : ndarray of shape (depth,), float64
        The batch's log-likelihood of each depth is added.
    """
    n, width = inputs.shape[0], hidden.shape[2]
    kind = theta.dtype.type
    for k in range(depth):
        block = theta[starts[2 * k] : starts[2 * k + 1]]
        source = inputs if k == 0 else hidden[k - 1][:n]
        layer_forward(
            k == 0, bend, residual, block, source, hidden[k][:n], inner[k % len(inner)][:n]
        )  # fmt: skip
    for k in range(depth - 1, -1, -1):
        if head_weights[k] > 0.0:
            totals[k] += head_gradient(
                theta[starts[2 * k + 1] : starts[2 * k + 2]], hidden[k][:n], targets, weights,
                head_weights[k] / n_mean, learn_noise, n_classes, n_components, student, gaussian,
                outputs, shared,
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
        layer_adjoint(
            k == 0, bend, residual, theta[starts[2 * k] : starts[2 * k + 1]],
            inputs if k == 0 else hidden[k - 1][:n], hidden[k][:n], inner[k % len(inner)][:n],
            d_hidden, grad[starts[2 * k] : starts[2 * k + 1]], d_lower, scratch,
        )  # fmt: skip

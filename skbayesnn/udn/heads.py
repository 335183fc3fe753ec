"""Output heads o_k: an affine map of the flattened hidden array, its loss and its adjoint."""

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
from skbayesnn.udn.likelihoods import VARIANCE_UNIT


@helper
def head_gradient(
    head, flat, targets, weights, scale, learn_noise, n_classes, n_components, student, gaussian,
    outputs, shared, terms, d_head, d_flat,
):  # fmt: skip
    """Loss of one head and its gradient, times ``scale``.

    Parameters
    ----------
    head, d_head : ndarray of shape (head_size,)
        Parameters, and where their gradient goes.
    flat, d_flat : ndarray of shape (n, n_flat)
        Flattened hidden arrays, and where the gradient in them goes.
    targets : ndarray of shape (n, n_targets) or (n, 1)
        Regression targets, or class numbers in one column.
    weights : ndarray of shape (n,)
    scale : float
    learn_noise : bool
        Whether the noise that all rows have in common has a gradient.
    n_classes, n_components, student, gaussian : int or None
        From :attr:`Likelihood.branches`; only the loss in use is compiled.
    outputs : ndarray of shape (n, n_outputs)
        Scratch, as are ``shared`` of shape (n_shared,) and ``terms``.

    Returns
    -------
    total : float
        Weighted log-likelihood of the rows, without ``scale``.
    """
    n_flat, n_outputs, total = flat.shape[1], outputs.shape[1], 0.0
    end = n_flat * n_outputs
    slopes = head[:end].reshape((n_flat, n_outputs))
    affine(flat, slopes, head[end : end + n_outputs], outputs)
    d_shared = d_head[end + n_outputs :]
    for j in range(shared.shape[0]):
        shared[j] = VARIANCE_UNIT * head[end + n_outputs + j]
    # Alone each, not one after the other: then numba leaves out those not taken.
    if n_classes is not None:
        total = softmax_log_loss(outputs, targets, weights, scale, outputs)
    if n_components is not None:
        total = mixture_log_loss(outputs, targets, shared, weights, scale, terms, d_shared)
    if student is not None:
        total = student_log_loss(outputs, targets, shared, weights, scale, d_shared)
    if gaussian is not None:
        total = gaussian_log_loss(outputs, targets, shared, weights, scale, d_shared)
    for j in range(d_shared.shape[0]):
        if learn_noise or j >= targets.shape[1]:
            d_shared[j] *= VARIANCE_UNIT
        else:
            d_shared[j] = flat.dtype.type(0.0)
    affine_adjoint(
        flat, outputs, d_head[:end].reshape((n_flat, n_outputs)), d_head[end : end + n_outputs]
    )
    product_nt(outputs, slopes, d_flat)
    return total


head_kernel = kernel(head_gradient)
"""For layers that are not fused with their heads (:mod:`skbayesnn.udn.fused`)."""

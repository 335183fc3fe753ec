"""Output heads o_k: an affine map of the flattened hidden array, its loss and its adjoint."""

from skbayesnn.numerics.jit import kernel
from skbayesnn.udn.adjoints import (
    affine,
    affine_adjoint,
    gaussian_log_loss,
    mixture_log_loss,
    product_nt,
    softmax_log_loss,
    student_log_loss,
)
from skbayesnn.udn.likelihoods import GAUSSIAN, MIXTURE, STUDENT_T, VARIANCE_UNIT


@kernel
def head_gradient(
    shape, head, flat, targets, weights, scale, learn_noise, outputs, d_head, d_flat
):  # fmt: skip
    """Loss of one head and its gradient, times ``scale``.

    Parameters
    ----------
    shape : ndarray of shape (6,), int64
        From :meth:`skbayesnn.udn.architecture.Architecture.packed`.
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
    outputs : ndarray of shape (n, n_outputs)
        Scratch.

    Returns
    -------
    total : float
        Weighted log-likelihood of the rows, without ``scale``.
    """
    n_flat, n_outputs, law = flat.shape[1], shape[2], shape[4]
    kind = flat.dtype.type
    end = n_flat * n_outputs
    slopes = head[:end].reshape((n_flat, n_outputs))
    affine(flat, slopes, head[end : end + n_outputs], outputs)
    shared = VARIANCE_UNIT * head[end + n_outputs :]
    d_shared = d_head[end + n_outputs :]
    if law == GAUSSIAN:
        total = gaussian_log_loss(outputs, targets, shared, weights, scale, d_shared)
    elif law == MIXTURE:
        total = mixture_log_loss(outputs, targets, shared, weights, scale, shape[5], d_shared)
    elif law == STUDENT_T:
        total = student_log_loss(outputs, targets, shared, weights, scale, d_shared)
    else:
        total = softmax_log_loss(outputs, targets, weights, scale, outputs)
    d_shared *= VARIANCE_UNIT
    if not learn_noise:
        d_shared[: targets.shape[1]] = kind(0.0)
    affine_adjoint(
        flat, outputs, d_head[:end].reshape((n_flat, n_outputs)), d_head[end : end + n_outputs]
    )
    product_nt(outputs, slopes, d_flat)
    return total

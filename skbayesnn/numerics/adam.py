"""Adam over one flat parameter vector cut into blocks, each with its own rate and step count.

A block whose rate is zero is left alone, its moments too; a block that starts later
starts with fresh moments and its own bias correction (Kingma and Ba, 2015).
"""

import numpy as np

from skbayesnn.numerics.jit import kernel

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-11


@kernel
def adam_step(theta, gradient, first, second, starts, counts, rates):
    """Move the parameters one step down the gradient, in place.

    Parameters
    ----------
    theta, gradient, first, second : ndarray of shape (n_parameters,), float32 or float64
        Parameters, the gradient of the loss in them, and the running averages of the
        gradient and of its square.
    starts : ndarray of shape (n_blocks + 1,), int64
        Block ``b`` is ``starts[b]:starts[b + 1]``.
    counts : ndarray of shape (n_blocks,), int64
        Steps that each block has taken; advanced for blocks with a positive rate.
    rates : ndarray of shape (n_blocks,), float64
        Learning rate of each block.
    """
    kind = theta.dtype.type
    beta_1, beta_2, epsilon = kind(BETA_1), kind(BETA_2), kind(EPSILON)
    one = kind(1.0)
    for b in range(rates.shape[0]):
        if rates[b] <= 0.0:
            continue
        counts[b] += 1
        step = kind(rates[b] / (1.0 - BETA_1 ** counts[b]))
        scale = kind(1.0 / np.sqrt(1.0 - BETA_2 ** counts[b]))
        for j in range(starts[b], starts[b + 1]):
            g = gradient[j]
            m = beta_1 * first[j] + (one - beta_1) * g
            s = beta_2 * second[j] + (one - beta_2) * g * g
            first[j] = m
            second[j] = s
            theta[j] -= step * m / (np.sqrt(s) * scale + epsilon)


class Adam:
    """The state of :func:`adam_step` for a parameter vector that may grow.

    Parameters
    ----------
    sizes : sequence of int
        Number of parameters of each block.
    dtype : numpy dtype, default=numpy.float64
        That of the parameters.

    Attributes
    ----------
    starts, counts, first, second : ndarray
        As :func:`adam_step` takes them.

    Examples
    --------
    >>> import numpy as np
    >>> adam = Adam([2])
    >>> theta = np.array([1.0, -2.0])
    >>> adam.step(theta, np.array([0.5, -4.0]), np.array([0.1]))
    >>> theta.round(6)
    array([ 0.9, -1.9])
    """

    def __init__(self, sizes, dtype=np.float64):
        self.starts = np.concatenate([[0], np.cumsum(np.asarray(sizes, dtype=np.int64))]).astype(
            np.int64
        )
        self.counts = np.zeros(len(sizes), dtype=np.int64)
        self.first = np.zeros(self.starts[-1], dtype=dtype)
        self.second = np.zeros(self.starts[-1], dtype=dtype)

    def grow(self, sizes):
        """Append blocks with fresh state.

        Parameters
        ----------
        sizes : sequence of int
        """
        ends = self.starts[-1] + np.cumsum(np.asarray(sizes, dtype=np.int64))
        added = int(ends[-1] - self.starts[-1])
        self.starts = np.concatenate([self.starts, ends])
        self.counts = np.concatenate([self.counts, np.zeros(len(sizes), dtype=np.int64)])
        fresh = np.zeros(added, dtype=self.first.dtype)
        self.first = np.concatenate([self.first, fresh])
        self.second = np.concatenate([self.second, fresh])

    def shrink(self, n_blocks):
        """Drop all blocks after the first ``n_blocks``."""
        self.starts = self.starts[: n_blocks + 1].copy()
        self.counts = self.counts[:n_blocks].copy()
        self.first = self.first[: self.starts[-1]].copy()
        self.second = self.second[: self.starts[-1]].copy()

    def step(self, theta, gradient, rates):
        """Apply one step to ``theta`` in place; ``rates`` is (n_blocks,) float64."""
        adam_step(theta, gradient, self.first, self.second, self.starts, self.counts, rates)

    def reset(self):
        """Forget every moment and step count."""
        self.counts[:] = 0
        self.first[:] = 0
        self.second[:] = 0

"""One BLAS thread while an estimator works.

The products and factors of these models are small: several threads do not pay, and fits that run
side by side would fight for the cores. And sums that are split among threads differ in their last
bits, so that a result would depend on where it was computed.
"""

from contextlib import ContextDecorator
from functools import cache
from threading import Lock, Thread

from threadpoolctl import ThreadpoolController


@cache
def _controller():
    # Finding the libraries takes half a millisecond: once.
    return ThreadpoolController()


def _by_a_thread_of_its_own(action):
    """threadpoolctl heeds the first thread that sets a limit, as long as it lives, and no other.

    A thread that ends at once leaves no claim: whoever comes last can lift the limit.
    """
    thread = Thread(target=action)
    thread.start()
    thread.join()


class OneBLASThread(ContextDecorator):
    """Hold the BLAS libraries of the process at one thread: ``with`` or a decorator.

    The limit is the process's. Where several Python threads work at a time (chains, or joblib's
    threading backend), the first sets it and the last lifts it; threadpoolctl's own is lifted by
    whichever set it, although others go on. Inside a ``with threadpool_limits(...)`` of the user
    that one holds, and this does nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn.numerics.threads import one_blas_thread
    >>> with one_blas_thread:
    ...     product = np.eye(2) @ np.eye(2)
    """

    def __init__(self):
        self._lock, self._n_inside, self._limit = Lock(), 0, None

    def _set(self):
        self._limit = _controller().limit(limits=1, user_api="blas")

    def _lift(self):
        self._limit.restore_original_limits()

    def __enter__(self):
        with self._lock:
            if self._n_inside == 0:
                _by_a_thread_of_its_own(self._set)
            self._n_inside += 1
        return self

    def __exit__(self, *error):
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                _by_a_thread_of_its_own(self._lift)


one_blas_thread = OneBLASThread()

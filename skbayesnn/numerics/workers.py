"""Threads that share out the pieces of a step: which piece goes where changes no result."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count

from joblib import effective_n_jobs


class Workers:
    """A ``with`` block's threads.

    Parameters
    ----------
    n_jobs : int or None, default=None
        As joblib counts them; the calling thread is one of them.

    Examples
    --------
    >>> squares = [0] * 4
    >>> with Workers(2) as workers:
    ...     workers.run(lambda i: squares.__setitem__(i, i * i), 4)
    >>> squares
    [0, 1, 4, 9]
    """

    def __init__(self, n_jobs=None):
        self.n_threads = effective_n_jobs(n_jobs)
        self._pool = None

    def __enter__(self):
        if self.n_threads > 1:
            self._pool = ThreadPoolExecutor(self.n_threads - 1)
        return self

    def __exit__(self, *error):
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def map(self, piece, n_pieces):
        """Results of ``piece(i)`` for each ``i`` below ``n_pieces``, in that order."""
        out = [None] * n_pieces

        def work(i):
            out[i] = piece(i)

        self.run(work, n_pieces)
        return out

    def run(self, piece, n_pieces):
        """Call ``piece(i)`` for each ``i`` below ``n_pieces``: in any order, some side by side."""
        numbers = count()

        def work():
            while (i := next(numbers)) < n_pieces:
                piece(i)

        helpers = []
        if self._pool is not None:
            n_helpers = min(self.n_threads, n_pieces) - 1
            helpers = [self._pool.submit(work) for _ in range(n_helpers)]
        try:
            work()
        finally:
            for helper in helpers:
                helper.result()


ALONE = Workers(1)
"""No threads but the caller's."""

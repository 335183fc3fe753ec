"""One BLAS thread, however many Python threads ask for it."""

from threading import Barrier, Thread

import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from skbayesnn.numerics.threads import one_blas_thread


def blas_threads():
    """Threads of the BLAS libraries that are loaded, of the one with the most."""
    libraries = ThreadpoolController().select(user_api="blas").info()
    return max(library["num_threads"] for library in libraries)


def by_another_thread(action):
    # Limits that a thread sets bind the others while it lives.
    thread = Thread(target=action)
    thread.start()
    thread.join()


@pytest.fixture
def two_threads():
    limits = []
    by_another_thread(lambda: limits.append(threadpool_limits(2, user_api="blas")))
    if blas_threads() != 2:
        pytest.skip("this BLAS was built for one thread")
    yield
    by_another_thread(limits[0].restore_original_limits)


@pytest.mark.usefixtures("two_threads")
def test_the_limit_holds_and_is_lifted():
    with one_blas_thread:
        assert blas_threads() == 1
        with one_blas_thread:
            assert blas_threads() == 1
        assert blas_threads() == 1
    assert blas_threads() == 2
    with pytest.raises(ValueError, match="stop"), one_blas_thread:
        raise ValueError("stop")
    assert blas_threads() == 2
    assert one_blas_thread(blas_threads)() == 1


@pytest.mark.usefixtures("two_threads")
def test_the_last_of_several_threads_lifts_it():
    """Where each lifts its own limit, the thread that goes on longer computes with two."""
    both_in, first_out, seen = Barrier(2), Barrier(2), []

    def leaves_first():
        with one_blas_thread:
            both_in.wait()
        first_out.wait()

    def stays():
        with one_blas_thread:
            both_in.wait()
            first_out.wait()
            seen.append(blas_threads())

    threads = [Thread(target=leaves_first), Thread(target=stays)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [1]
    assert blas_threads() == 2

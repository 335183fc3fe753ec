"""Arrays that are used again: one for each name, size and thread."""

import threading

import numpy as np
import pytest

from skbayesnn.gaussian_process.evidence import evidence
from skbayesnn.numerics import scratch as module
from skbayesnn.numerics.scratch import scratch


def test_an_array_is_kept_for_its_name_and_size():
    first = scratch("a test", (3, 4))
    assert first.shape == (3, 4)
    assert scratch("a test", (3, 4)) is first
    assert scratch("another test", (3, 4)) is not first
    assert scratch("a test", (4, 3)) is not first


def test_threads_do_not_share_arrays():
    own, others = scratch("a test", (3, 4)), []
    thread = threading.Thread(target=lambda: others.append(scratch("a test", (3, 4))))
    thread.start()
    thread.join()
    assert not np.shares_memory(own, others[0])


def test_large_arrays_are_not_kept(monkeypatch):
    monkeypatch.setattr(module, "_MOST_KEPT", 11)
    assert scratch("a large one", (3, 4)) is not scratch("a large one", (3, 4))


@pytest.mark.parametrize("log_noise", [[-1.0, -1.0], [-1.0, -2.0]])
def test_evidence_does_not_depend_on_what_the_arrays_hold(log_noise):
    """Nor do its results change when it is called again."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 20, 2))
    given = Y, np.ones(20), 0.3, np.array(log_noise)
    before = evidence(X, *given)
    kept = [np.copy(part) for part in before]
    for name in ("gram", "factor"):
        scratch(name, (20, 20))[:] = np.nan
    again = evidence(X, *given)
    evidence(2.0 * X, *given)
    for part, old, new in zip(before, kept, again, strict=True):
        np.testing.assert_array_equal(part, old)
        np.testing.assert_array_equal(new, old)

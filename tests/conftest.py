"""Nothing a test prints, compiles or draws depends on the order of the tests."""

import os
import sys
from pathlib import Path

# Before numpy is loaded: several threads in each of pytest's workers would fight for the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

# Helpers that several test modules share.
sys.path.insert(0, str(Path(__file__).parent / "helpers"))


@pytest.fixture
def rng():
    """A generator of the test's own: a module's would depend on which tests ran before."""
    return np.random.default_rng(0)

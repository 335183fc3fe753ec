"""Nothing a test prints, compiles or draws depends on the order of the tests."""

import sys
from pathlib import Path

import numpy as np
import pytest

# Helpers that several test modules share.
sys.path.insert(0, str(Path(__file__).parent / "helpers"))


@pytest.fixture
def rng():
    """A generator of the test's own: a module's would depend on which tests ran before."""
    return np.random.default_rng(0)

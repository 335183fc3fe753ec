"""Tables of one and of three inputs."""

import numpy as np
import pytest
from short_chains import three_jumps


@pytest.fixture
def jumps():
    rng = np.random.default_rng(0)
    x = np.linspace(-2, 2, 40)
    return x[:, None], three_jumps(x) + 0.5 * rng.standard_normal(40)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    return X, X[:, 0] + (X[:, 1] > 0) + 0.1 * rng.normal(size=50)

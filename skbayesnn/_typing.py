"""Types of the public interface."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
Seed = int | np.random.RandomState | None
Schedule = Literal["cosine", "constant", "drop"]

__all__ = ["ArrayLike", "FloatArray", "Schedule", "Seed"]

"""From scikit-learn's ``random_state`` to one generator a chain."""

import numpy as np
from sklearn.utils import check_random_state


def spawn_generators(random_state, n):
    """Make independent generators, fixed by ``random_state`` before any work is sent out.

    Results therefore depend on the seed alone, not on ``n_jobs`` or the backend.

    Parameters
    ----------
    random_state : None, int or numpy.random.RandomState
        As scikit-learn takes it. A ``RandomState`` is advanced.
    n : int
        Number of generators.

    Returns
    -------
    generators : list of numpy.random.Generator
    """
    entropy = check_random_state(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
    return [np.random.default_rng(s) for s in np.random.SeedSequence(entropy.tolist()).spawn(n)]

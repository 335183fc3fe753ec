"""The minimum of a smooth function whose gradient is known: one search for all models."""

from scipy.optimize import minimize

MOST_KEPT = 100
"""Largest number of steps that a search remembers."""


def minimise_smooth(function, start, *, bounds=None, args=(), max_iter=100, **options):
    """L-BFGS-B that remembers all of its steps, or the last 100.

    With the ten steps that scipy keeps by default, the searches for length scales (10 to 60
    parameters) need about a quarter more evaluations, each of which costs O(n³).

    Parameters
    ----------
    function : callable
        Returns the value and the gradient; called with the parameters and ``args``.
    start : ndarray of shape (n_parameters,)
    bounds : sequence of (low, high), optional
    args : tuple, default=()
    max_iter : int, default=100
    **options
        Further options of ``scipy.optimize.minimize(method="L-BFGS-B")``.

    Returns
    -------
    found : scipy.optimize.OptimizeResult

    Examples
    --------
    >>> import numpy as np
    >>> found = minimise_smooth(lambda x: ((x - 3.0) @ (x - 3.0), 2.0 * (x - 3.0)), np.zeros(2))
    >>> found.x.round(6)
    array([3., 3.])
    """
    options = {"maxiter": max_iter, "maxcor": min(max_iter, MOST_KEPT), **options}
    return minimize(
        function, start, args, method="L-BFGS-B", jac=True, bounds=bounds, options=options
    )

"""Slice sampling of one number, for kernels."""

from skbayesnn.numerics.jit import helper


@helper
def slice_sample(log_density, x, arguments, width, max_steps, rng):
    """One update of x that leaves a density as it is (Neal 2003, figures 3 and 5).

    Parameters
    ----------
    log_density : callable
        A helper: log-density, up to a constant, from a value and all ``arguments``.
    x : float
        The present value.
    arguments : tuple
    width : float
        Of the first interval.
    max_steps : int
        Steps out, shared at random between the two sides: from a start in the far tails the slice
        has a length without bound.
    rng : numpy.random.Generator

    Returns
    -------
    x : float
    """
    level = log_density(x, *arguments) - rng.standard_exponential()
    left = x - width * rng.random()
    right = left + width
    steps_left = int(max_steps * rng.random())
    steps_right = max_steps - 1 - steps_left
    while steps_left > 0 and log_density(left, *arguments) > level:
        left -= width
        steps_left -= 1
    while steps_right > 0 and log_density(right, *arguments) > level:
        right += width
        steps_right -= 1
    while True:
        proposal = left + (right - left) * rng.random()
        if log_density(proposal, *arguments) >= level:
            return proposal
        # Within rounding of the present value nothing is left to shrink to.
        if proposal == x or right - left <= 1e-13 * (1.0 + abs(x)):
            return x
        if proposal < x:
            left = proposal
        else:
            right = proposal

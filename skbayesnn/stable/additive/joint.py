"""A joint draw of all parts given all variances, so that f_k and g can exchange variation.

Given the variances of the weights, the amplitude and the noise, the parts are Gaussian, and the
covariance of y is

    C = Σ_k T_k V_k T_k' + a Ψ Ψ' + σ² diag(1/p).

Matheron's rule draws them: a draw of all parts from the prior is corrected by each part's
covariance with y, times C⁻¹ times the difference between y and the prior's y. This costs O(n³), so
not every sweep does it.

The factor of C has two more uses. First, the sizes of the three sums move together, with all parts
integrated out. Other moves learn only slowly how much of y is noise and how much belongs to many
small f_k. Second, the precisions p of a few rows are drawn with all parts integrated out
(:mod:`skbayesnn.stable.noise.outliers`). These rows come last in the factor, which then changes in
its last block only.
"""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from skbayesnn.numerics.jit import kernel
from skbayesnn.stable.gaussian_evidence import inverse_of
from skbayesnn.stable.samplers.line import MAX_LOG_VARIANCE


@kernel
def add_axes_covariance(variances, index, starts, ends, covariance):
    """Add Σ_k T_k V_k T_k' at the rows to the upper triangle of C.

    An element of T V T' is Σ v minus twice the sum of v between the two values.

    Parameters
    ----------
    variances : ndarray of shape (n_values,)
        Variances of the weights of all axes, one axis after the other.
    index : ndarray of int32, shape (n_axes, n)
        Index of each row among the values of each axis.
    starts, ends : ndarray of int, shape (n_axes,)
        Range of each axis in arrays of the values of all axes.
    covariance : ndarray of shape (n, n)
    """
    n = index.shape[1]
    place = np.empty(n)
    for k in range(starts.shape[0]):
        v = variances[starts[k] : ends[k]]
        total, sums = v[0], np.zeros(v.shape[0])
        for j in range(1, v.shape[0]):
            sums[j] = sums[j - 1] + v[j]
            total += v[j]
        for i in range(n):
            place[i] = sums[index[k, i]]
        for i in range(n):
            # Slices: with indices that start at i, numba does not vectorise.
            row, places = covariance[i, i:], place[i:]
            for j in range(n - i):
                row[j] += total - 2.0 * abs(place[i] - places[j])


@kernel
def add_axes_products(variances, index, starts, ends, solved, f):
    """Add T_k V_k T_k' times the sums of ``solved`` over the rows with each value to the f_k.

    Parameters
    ----------
    variances, index, starts, ends
        See :func:`add_axes_covariance`.
    solved : ndarray of shape (n,)
    f : ndarray of shape (n_values,)
    """
    for k in range(starts.shape[0]):
        v, out = variances[starts[k] : ends[k]], f[starts[k] : ends[k]]
        n_values = v.shape[0]
        s, steps = np.zeros(n_values), np.zeros(n_values)
        for i in range(solved.shape[0]):
            s[index[k, i]] += solved[i]
        total, below = 0.0, 0.0
        for j in range(n_values):
            total += s[j]
        # w = V T's, and f at the first value is w_0 - Σ_{j>0} w_j.
        here = v[0] * total
        for j in range(1, n_values):
            below += s[j - 1]
            weight = v[j] * (total - 2.0 * below)
            steps[j] = 2.0 * weight
            here -= weight
        for j in range(n_values):
            here += steps[j]
            out[j] += here


@kernel
def draw_axes_prior(variances, index, starts, ends, rng, f, rest):
    """Draw all f_k from their prior given the variances of their weights.

    Parameters
    ----------
    variances, index, starts, ends
        See :func:`add_axes_covariance`.
    rng : numpy.random.Generator
    f : ndarray of shape (n_values,)
        Overwritten.
    rest : ndarray of shape (n,)
        The f_k at the rows are subtracted from it.
    """
    for k in range(starts.shape[0]):
        v, drawn = variances[starts[k] : ends[k]], f[starts[k] : ends[k]]
        first = np.sqrt(v[0]) * rng.standard_normal()
        for j in range(1, v.shape[0]):
            drawn[j] = np.sqrt(v[j]) * rng.standard_normal()
            first -= drawn[j]
        drawn[0] = first
        for j in range(1, v.shape[0]):
            drawn[j] = drawn[j - 1] + 2.0 * drawn[j]
        for i in range(rest.shape[0]):
            rest[i] -= drawn[index[k, i]]


class TargetCovariance:
    """C, in the form of its Cholesky factor and its components.

    Parameters
    ----------
    partition : AdditiveCells
    gram : ndarray of shape (n, n)
        Ψ Ψ'.
    log_variances : ndarray of shape (n_values,)
        Log variances of the weights of all axes, one axis after the other.
    log_amplitude : float
    noise : ndarray of shape (n,)
        Noise variances.
    some : ndarray of int, shape (n_some,)
        Rows that change places with the last ones before C is factored: of the factor, their noise
        then changes the last block only.

    Attributes
    ----------
    variances : ndarray of shape (n_values,)
    amplitude : float
        a.
    noise : ndarray of shape (n,)
        Noise variances, including changes by :meth:`change_noise`.
    some : ndarray of int, shape (n_some,)
        The given rows, in the order in which the methods take and return their values.

    Raises
    ------
    numpy.linalg.LinAlgError
        If C is not positive definite to working precision.
    """

    def __init__(self, partition, gram, log_variances, log_amplitude, noise, some):
        self.amplitude, self.noise = np.exp(log_amplitude), noise
        self.variances = np.exp(np.minimum(log_variances, MAX_LOG_VARIANCE))
        n = noise.size
        there, chosen = np.arange(n - some.size, n), np.zeros(n, bool)
        chosen[some] = True
        here, there = some[some < n - some.size], there[~chosen[there]]
        # An exchange is its own inverse.
        self._order = np.arange(n)
        self._order[here], self._order[there] = there, here
        self.some = self._order[n - some.size :]
        ours, others = np.concatenate([[here, there], [there, here]], axis=1)
        covariance = self.amplitude * gram
        covariance[ours] = covariance[others]
        covariance[:, ours] = covariance[:, others]
        index, *ranges = partition.axis_ranges
        add_axes_covariance(self.variances, index[:, self._order], *ranges, covariance)
        covariance.flat[:: n + 1] += noise[self._order]
        # The transpose has the order that LAPACK wants.
        self._factor = cholesky(covariance.T, lower=True, overwrite_a=True, check_finite=False)
        self._block = self._factor[n - some.size :, n - some.size :]

    def _whitened(self, b):
        return solve_triangular(self._factor, b[self._order], lower=True, check_finite=False)

    def log_density(self, y):
        """log N(y; 0, C) up to n/2 log 2π."""
        white = self._whitened(y)
        return -0.5 * white @ white - np.log(np.diag(self._factor)).sum()

    def inverse_at_some(self, y):
        """C⁻¹ and C⁻¹y at the given rows, (n_some, n_some) and (n_some,)."""
        white = self._whitened(y)[len(y) - self.some.size :]
        solved = solve_triangular(self._block, white, lower=True, trans="T", check_finite=False)
        return inverse_of(self._block), solved

    def change_noise(self, noise):
        """Change the noise variances of the given rows to ``noise``, (n_some,)."""
        block = self._block @ self._block.T
        block.flat[:: self.some.size + 1] += noise - self.noise[self.some]
        self._block[:] = cholesky(block, lower=True, overwrite_a=True, check_finite=False)
        self.noise = self.noise.copy()
        self.noise[self.some] = noise

    def solve(self, b):
        """C⁻¹ b."""
        solved = solve_triangular(
            self._factor, self._whitened(b), lower=True, trans="T", check_finite=False
        )
        return solved[self._order]


def parts_given_variances(partition, covariance, y, rng=None):
    """Draw all f_k and θ, or compute their means if ``rng`` is None.

    Parameters
    ----------
    partition : AdditiveCells
    covariance : TargetCovariance
    y : ndarray of shape (n,)
    rng : numpy.random.Generator or None

    Returns
    -------
    f : ndarray of shape (n_values,)
    theta : ndarray of shape (n_basis,)
    """
    a, variances, basis = covariance.amplitude, covariance.variances, partition.basis
    f, theta, rest = np.zeros(variances.size), np.zeros(partition.n_basis), y
    if rng is not None:
        rest = y - np.sqrt(covariance.noise) * rng.standard_normal(y.size)
        draw_axes_prior(variances, *partition.axis_ranges, rng, f, rest)
        if basis is not None:
            theta = np.sqrt(a) * rng.standard_normal(theta.size)
            rest -= basis.train @ theta
    solved = covariance.solve(rest)
    add_axes_products(variances, *partition.axis_ranges, solved, f)
    if basis is not None:
        theta += a * (solved @ basis.train)
    return f, theta

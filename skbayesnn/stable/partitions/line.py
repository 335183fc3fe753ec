"""Cells of one input, in the form that the estimator uses: chains, and predictions by splits."""

from math import exp, log

import numpy as np

from skbayesnn.numerics.jit import kernel
from skbayesnn.stable.partitions.base import AS_IT_IS
from skbayesnn.stable.partitions.bridge import groups, split_draws
from skbayesnn.stable.partitions.families import Families
from skbayesnn.stable.partitions.features import FeaturePartition
from skbayesnn.stable.samplers.line import (
    MAX_LOG_VARIANCE,
    arc,
    draw_function,
    function_moments,
    line_log_masses,
)
from skbayesnn.stable.samplers.line_chain import LineChain

_draw_function = kernel(draw_function)


class LineCells(FeaturePartition):
    """Exact cells of distinct inputs on a line; see the base class for the parameters.

    Attributes
    ----------
    x : ndarray of shape (n,)
        The distinct inputs in increasing order.
    """

    recorded = ("log_scales",)
    may_be_stacked = True
    chain = LineChain

    def __init__(self, X, y=None, sample_weight=None, inputs=AS_IT_IS):
        super().__init__(X, y, sample_weight, inputs)
        self.x = np.ascontiguousarray(self.rows[:, 0])
        self.log_masses = line_log_masses(self.x)

    def separating_mass(self):
        """Probability that a hidden unit separates any two rows."""
        return -np.expm1(self.log_masses[0])

    def features(self, planes):
        """T, (n, n): f_j - f_{j-1} = 2 w_j and f_0 + f_{n-1} = 2 w_0."""
        n = self.x.size
        return np.where(np.arange(n)[:, None] < np.arange(n), -1.0, 1.0)

    def locate(self, x):
        """The cell of each x, and the log shares of the cell to the left and right of x.

        Returns
        -------
        cell : ndarray of int
        log_left, log_right : ndarray
        side : ndarray
            -1 for x below all inputs, else 1. The circle of sign changes runs from
            x_{n-1} through infinity, where f changes its sign, to x_0.
        """
        n = self.x.size
        cell = np.searchsorted(self.x, x, side="left")
        inside = (cell > 0) & (cell < n)
        below, above = self.x[cell - 1], self.x[cell % n]
        # Outside: arcs to the nearest input, and from there through infinity.
        near = np.where(cell == 0, arc(x, self.x[0]), arc(self.x[-1], x))
        far = np.where(cell == 0, arc_to_infinity(-x), arc_to_infinity(x)) + np.where(
            cell == 0, arc_to_infinity(self.x[-1]), arc_to_infinity(-self.x[0])
        )
        left = np.where(inside, arc(below, x), np.where(cell == 0, far, near))
        right = np.where(inside, arc(x, above), np.where(cell == 0, near, far))
        with np.errstate(divide="ignore"):
            log_left, log_right = np.log(left / (left + right)), np.log(right / (left + right))
        return np.where(inside, cell, 0), log_left, log_right, np.where(cell == 0, -1.0, 1.0)

    def splits(self, x, levels, log_scales, table):
        """How each x splits its cell, for each draw.

        Parameters
        ----------
        x : ndarray of shape (n_rows,)
        levels : ndarray of shape (n_draws,)
            Level of the quantile at which the distribution of the split is evaluated.
        log_scales : ndarray of shape (n_draws, n)
        table : PositiveStableTable or None
            None for α = 2, where variances are split in proportion to masses.

        Returns
        -------
        cell : ndarray of int, shape (n_rows,)
        side : ndarray of shape (n_rows,)
            See :meth:`locate`.
        z : ndarray of shape (n_rows, n_draws)
            log R - log(1 - R), where R is the share of the variance to the left of x.
        """
        cell, log_left, log_right, side = self.locate(x)
        # R is zero or one if no cell is split, and the share of the mass if α = 2.
        with np.errstate(invalid="ignore"):
            z = np.repeat((log_left - log_right)[:, None], levels.size, axis=1)
        if table is not None:
            split = np.flatnonzero(np.isfinite(log_left) & np.isfinite(log_right))
            for j, places in groups(cell[split]):
                rows = split[places]
                z[rows] = split_draws(
                    levels, log_scales[:, j], log_left[rows], log_right[rows], table
                )
        return cell, side, z

    def _predict(self, problem, draws, X):
        x = np.ascontiguousarray(X[:, 0])
        table = problem.table if problem.move_scales else None
        cell, side, z = self.splits(x, draws.levels, draws.log_scales, table)
        means, variances = np.empty_like(z), np.empty_like(z)
        log_scales = draws.log_scales + draws.log_nu[:, None]
        _predict_line(problem, log_scales, draws.log_noise, cell, side, z, means, variances)
        return means, variances

    def _sample(self, draws, X, rng):
        f = np.empty(self.x.size)

        def drawn(i, problem, log_variances):
            steps = 4.0 * np.exp(np.minimum(log_variances, MAX_LOG_VARIANCE))
            _draw_function(problem.y, np.exp(draws.log_noise[i]) / problem.counts, steps, rng, f)
            return f

        of_draws = draws.log_scales, draws.alpha, draws.log_nu
        return self.sample_between(X[:, 0], drawn, *of_draws, rng)

    def sample_between(self, x, f_of, log_scales, alpha, log_nu, rng):
        """Draw the function jointly at new inputs, given its values at the old inputs.

        Parameters
        ----------
        x : ndarray of shape (n_rows,)
        f_of : callable
            Returns f at the old inputs, (n,), given the number of a draw, its problem and its log
            v.
        log_scales : ndarray of shape (n_draws, n)
        alpha, log_nu : ndarray of shape (n_draws,)
        rng : numpy.random.Generator

        Returns
        -------
        f : ndarray of shape (n_rows, n_draws)
        """
        x, place = np.unique(x, return_inverse=True)
        n, cell = self.x.size, np.searchsorted(self.x, x)
        old = self.x[np.minimum(cell, n - 1)] == x
        outside = (cell == 0) | (cell == n)
        side = np.where((cell == 0) & ~old, -1.0, 1.0)
        new = np.flatnonzero(~old)
        # Along the circle, cell 0 continues from the largest input through infinity.
        circle = np.where(outside, 0, cell)[new]
        new = new[np.lexsort((x[new], -side[new], circle))]
        circle = np.where(outside, 0, cell)[new]
        parent = np.concatenate([circle, np.arange(n)])
        order = np.argsort(parent, kind="stable")
        end = np.concatenate([x[new], self.x])[order]
        # A piece begins where the previous one of its cell ends, or at x_{j-1}.
        begin = np.roll(end, 1)
        first = np.append(True, np.diff(parent[order]) > 0)
        begin[first] = np.roll(self.x, 1)
        through_infinity = arc_to_infinity(begin) + arc_to_infinity(-end)
        with np.errstate(over="ignore"):
            masses = np.where(begin < end, arc(begin, end), through_infinity)
        families = Families(parent[order], masses, n)
        piece = np.argsort(order)[: new.size]

        value, out = np.empty(end.size), np.empty((x.size, alpha.size))
        for i, scales in enumerate(log_scales.astype(np.float64)):
            problem = self.problem(alpha[i], log_nu[i])
            f = f_of(i, problem, problem.log_units + scales)
            start = np.roll(f, 1)
            weights = 0.5 * (f - start)
            weights[0] = -0.5 * (f[0] + f[-1])
            pieces = families.draw(weights, scales, problem, rng)
            _walk(families.start, start, pieces, value)
            out[old, i] = f[cell[old]]
            out[new, i] = side[new] * value[piece]
        return out[place]


@kernel
def _walk(start, first_value, pieces, value):
    """F at the end of each piece of each cell, given its value at the start of the cell."""
    for j in range(first_value.shape[0]):
        here = first_value[j]
        for c in range(start[j], start[j + 1]):
            here += 2.0 * pieces[c]
            value[c] = here


def arc_to_infinity(x):
    """Share of the circle of sign changes between x and infinity."""
    return np.arctan2(1.0, x) / np.pi


@kernel
def _predict_line(problem, log_scales, log_noise, cell, side, z, means, variances):
    """Run the filter once per draw; each row then costs O(1).

    Let w = w' + w'' be the weights of the children of the cell between x_{j-1} and x_j. Then f(x) =
    f_{j-1} + 2 w' and w' | w ~ N(R w, R (1-R) v), so that f(x) | draw ~ N((1-R) f_{j-1} + R f_j, 4
    R (1-R) v).
    """
    n = problem.y.shape[0]
    log_variances, steps, noise = np.empty(n), np.empty(n), np.empty(n)
    for d in range(log_noise.shape[0]):
        for j in range(n):
            log_variances[j] = problem.log_units[j] + log_scales[d, j]
            steps[j] = 4.0 * exp(min(log_variances[j], MAX_LOG_VARIANCE))
            noise[j] = exp(log_noise[d]) / problem.counts[j]
        mean, var, lag = function_moments(problem.y, noise, steps)
        for i in range(cell.shape[0]):
            j = cell[i]
            right, left = 1.0 / (1.0 + exp(-z[i, d])), 1.0 / (1.0 + exp(z[i, d]))
            # f changes its sign at infinity.
            sign = 1.0 if j > 0 else -1.0
            means[i, d] = side[i] * (left * mean[j - 1] + sign * right * mean[j])
            # Negative only because of rounding.
            variances[i, d] = max(
                left * left * var[j - 1]
                + right * right * var[j]
                + 2.0 * sign * left * right * lag[j],
                0.0,
            )
            if left > 0.0 and right > 0.0:
                spread = log_variances[j] + log(left) + log(right)
                variances[i, d] += 4.0 * exp(min(spread, MAX_LOG_VARIANCE))

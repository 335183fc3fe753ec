"""Gaussian processes given the nearest rows alone: rough functions, and any number of rows.

The function at a point hardly depends on rows that are far away once those nearby are known, so it
is conditioned on its ``m`` nearest rows (Vecchia, Journal of the Royal Statistical Society B 50,
1988; Stein, Chi and Welty, 66, 2004). This is an approximation, exact where there are no more than
m rows. The covariance is a Matérn one with a length scale for each input,

    h c(√(2ν) u),   c(t) = exp(−t) for ν = 1/2,   (1 + t) exp(−t) for ν = 3/2,
                    (1 + t + t²/3) exp(−t) for ν = 5/2,

for points at the distance u in units of the length scales; the smaller ν, the rougher. Settings
maximise the density of targets that are left out, each given its nearest rows. This density has
Student-t tails, so that a few extremes do not decide.

All blocks of a few rows are solved at once, as one stack. For the covariance K of the targets of a
block, of which the last is left out, let a = K⁻¹e with e the last unit vector, and b = K⁻¹y. Then
its variance given the others is v = 1 / a_last and its residual is r = b_last / a_last. Their
differentials are dv = v² a'(dK)a and dr = v (r a − b)'(dK)a.
"""

from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from skbayesnn.gaussian_process.evidence import (
    HEIGHT_BOUNDS,
    LARGEST_LOG_NOISE,
    LENGTH_BOUNDS,
    relevance_scale,
    settings_prior,
)
from skbayesnn.numerics.smooth_minimum import minimise_smooth
from skbayesnn.numerics.workers import ALONE

SMOOTHNESS = 0.5, 1.5, 2.5
"""Values that ν can have."""
JITTER = 1e-10
"""Noise variance that is always added, as a part of the height."""
LEAST_LOG_NOISE = -14.0
DEGREES = 4.0
"""Of Student's distribution of the targets left out, while settings are learned."""
NEAR, EARLIER = 80, 20
"""Rows that a prediction is conditioned on, and earlier points that a drawn function is."""
AT_ONCE = 50
"""Blocks that are solved at once: more do not stay in the processor's cache."""
NOTHING = 1e-20
"""Weight in place of zero: the noise of such a row is so large that it says nothing."""
TREE_INPUTS = 12
"""Inputs, those with the shortest length scales, by which near rows are looked for: a tree gains
nothing with many more."""


def matern(squares, smoothness):
    """Correlations at squared distances in units of the length scale, and their slopes.

    Parameters
    ----------
    squares : ndarray
        Squared distances.
    smoothness : {0.5, 1.5, 2.5}

    Returns
    -------
    correlations, slopes : ndarray of the shape of ``squares``
        The slopes are minus twice the derivatives in the squared distances. That of ν = 1/2 has
        no limit at 0, where it is 0 here: differences of equal points are 0 as well.
    """
    roots = np.sqrt(2.0 * smoothness * squares)
    decay = np.exp(-roots)
    if smoothness == 0.5:
        return decay, np.divide(decay, roots, out=np.zeros_like(roots), where=roots > 0)
    if smoothness == 1.5:
        return (1.0 + roots) * decay, 3.0 * decay
    return (1.0 + roots + roots**2 / 3.0) * decay, 5.0 / 3.0 * (1.0 + roots) * decay


def squared_distances(points):
    """Between all points of each block; (n_blocks, m, n_inputs) to (n_blocks, m, m)."""
    # From the last one: squares of large numbers would have large rounding errors.
    points = points - points[:, -1:]
    own = np.einsum("bij,bij->bi", points, points)
    squares = own[:, :, None] + own[:, None] - 2.0 * (points @ points.transpose(0, 2, 1))
    diagonal = np.arange(points.shape[1])
    squares[:, diagonal, diagonal] = 0.0
    return np.maximum(squares, 0.0, out=squares)


class Blocks:
    """Blocks of points with targets, of which the last is left out and predicted by the others.

    Parameters
    ----------
    settings : ndarray of shape (n_inputs + 2,)
        Logs of length scales, of the height and of the noise variance.
    smoothness : {0.5, 1.5, 2.5}
    points : ndarray of shape (n_blocks, m + 1, n_inputs)
    targets : ndarray of shape (n_blocks, m + 1)
    weights : ndarray of shape (n_blocks, m + 1)
        How many rows each stands for; that of the last should be one.

    Attributes
    ----------
    variances, residuals : ndarray of shape (n_blocks,)
        Of the target left out, noise included, and what it differs from its mean by.
    """

    def __init__(self, settings, smoothness, points, targets, weights):
        self.points = points * np.exp(-settings[:-2])
        height = np.exp(settings[-2])
        correlations, slopes = matern(squared_distances(self.points), smoothness)
        self.slopes = height * slopes
        covariances = height * correlations
        self.noise = np.exp(settings[-1]) / weights
        diagonal = np.arange(targets.shape[1])
        covariances[:, diagonal, diagonal] += self.noise + JITTER * height
        right = np.zeros((*targets.shape, 2))
        right[:, -1, 0], right[:, :, 1] = 1.0, targets
        self.a, self.b = np.moveaxis(np.linalg.solve(covariances, right), 2, 0)
        self.variances = 1.0 / self.a[:, -1]
        self.residuals = self.b[:, -1] * self.variances

    def loss_and_gradient(self, counts):
        """Minus the log density of the targets left out, but for a constant, and its gradient.

        Parameters
        ----------
        counts : ndarray of shape (n_blocks,)
            What each block counts.

        Returns
        -------
        loss : float
        gradient : ndarray of shape (n_inputs + 2,)
            In the settings.
        """
        v, r = self.variances, self.residuals
        ratios = r**2 / v
        logs = -0.5 * np.log(v) - 0.5 * (DEGREES + 1.0) * np.log1p(ratios / DEGREES)
        pull = (DEGREES + 1.0) / (DEGREES + ratios)
        by_v = counts * 0.5 * (pull * ratios - 1.0) / v
        by_r = -counts * pull * r / v
        # The gradient in K is a left' + left a', halved.
        left = ((by_v * v**2 + by_r * v * r)[:, None] * self.a) - (by_r * v)[:, None] * self.b
        by_noise = np.einsum("bi,bi,bi->", left, self.a, self.noise)
        whole = by_v @ v  # with all of K scaled, r stays
        by_k = self.slopes * (left[:, :, None] * self.a[:, None])
        by_k = 0.5 * (by_k + by_k.transpose(0, 2, 1))
        spread = by_k.sum(axis=2)[:, :, None] * self.points - by_k @ self.points
        by_scales = 2.0 * np.einsum("bik,bik->k", self.points, spread)
        return -(counts @ logs), -np.concatenate([by_scales, [whole - by_noise, by_noise]])


class LeftOut(NamedTuple):
    """Targets that are left out, and what is known where they are without them.

    Attributes
    ----------
    rows : ndarray of int of shape (m,)
        Numbers of the rows of :class:`NearRows` that they are a part of.
    targets, weights : ndarray of shape (m,)
        Their own, and how many rows each stands for.
    rest_targets, rest_weights : ndarray of shape (m,)
        Of what is left of the row; a weight of zero if nothing is.
    """

    rows: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    rest_targets: np.ndarray
    rest_weights: np.ndarray

    def take(self, chosen):
        """Some of them, given by their numbers or a slice."""
        return LeftOut(*(part[chosen] for part in self))


class NearRows:
    """Rows among which the nearest are found, in units of the length scales.

    Parameters
    ----------
    settings : ndarray of shape (n_inputs + 2,)
        As :class:`Blocks` has them.
    smoothness : {0.5, 1.5, 2.5}
    X : ndarray of shape (n, n_inputs)
        Rows with the same inputs are best given as one, with the mean of their targets and the sum
        of their weights: nothing is lost, and others are near as well.
    targets, weights : ndarray of shape (n,)
    """

    def __init__(self, settings, smoothness, X, targets, weights):
        self.settings, self.smoothness = settings, smoothness
        self.X, self.targets, self.weights = X, targets, weights
        self.inputs = np.sort(np.argsort(settings[:-2], kind="stable")[:TREE_INPUTS])
        self.tree = cKDTree(self._placed(X))

    def _placed(self, X):
        return (X * np.exp(-self.settings[:-2]))[:, self.inputs]

    def whole(self, some):
        """All that is known of rows with these numbers, as what is left out."""
        nothing = np.zeros(len(some))
        return LeftOut(some, self.targets[some], self.weights[some], nothing, nothing)

    def nearest(self, X, n_near, workers=ALONE):
        """Numbers of the nearest rows, the nearest last; (len(X), n_near) or fewer."""
        number = min(n_near, len(self.X))
        _, near = self.tree.query(self._placed(X), k=number, workers=workers.n_threads)
        return near.reshape(len(X), number)[:, ::-1]

    def members(self, X, near, targets, out=None):
        """Points, targets and weights of blocks that end with these points.

        Parameters
        ----------
        X : ndarray of shape (m, n_inputs)
        near : ndarray of shape (m, n_near)
            Numbers of the rows before them.
        targets : ndarray of shape (m,)
            Of the points.
        out : LeftOut, optional
            Of the rows that X are.

        Returns
        -------
        points : ndarray of shape (m, n_near + 1, n_inputs)
        targets, weights : ndarray of shape (m, n_near + 1)
        """
        known, weights = self.targets[near], self.weights[near]
        if out is not None:
            own = near == out.rows[:, None]
            known = np.where(own, out.rest_targets[:, None], known)
            rest = np.maximum(out.rest_weights, NOTHING)
            weights = np.where(own, rest[:, None], weights)
        return (
            np.concatenate([self.X[near], X[:, None]], axis=1),
            np.column_stack([known, targets]),
            np.column_stack([weights, np.ones(len(X))]),
        )

    def predict(self, X, out=None, workers=ALONE):
        """Mean and variance of the function at points.

        Parameters
        ----------
        X : ndarray of shape (m, n_inputs)
        out : LeftOut, optional
            What is left out of the rows that X are.
        workers : skbayesnn.numerics.workers.Workers, optional

        Returns
        -------
        means, variances : ndarray of shape (m,)
        """
        means, variances = np.empty((2, len(X)))
        near = self.nearest(X, NEAR + (out is not None), workers)
        noise = np.exp(self.settings[-1]) + JITTER * np.exp(self.settings[-2])

        def piece(i):
            part = slice(i * AT_ONCE, (i + 1) * AT_ONCE)
            now = None if out is None else out.take(part)
            members = self.members(X[part], near[part], np.zeros(len(near[part])), now)
            blocks = Blocks(self.settings, self.smoothness, *members)
            means[part] = -blocks.residuals
            variances[part] = np.maximum(blocks.variances - noise, 0.0)

        workers.run(piece, -(-len(X) // AT_ONCE))
        return means, variances

    def draws(self, X, n, generator):
        """Functions given the rows, with the means and variances of :meth:`predict`.

        Each point is also given the nearest of those drawn before, by their distances from their
        means. What these explain is at most the variance of the point.

        Parameters
        ----------
        X : ndarray of shape (m, n_inputs)
            Some thousand points at most: time and memory grow with their square.
        n : int
        generator : numpy.random.Generator

        Returns
        -------
        means, variances : ndarray of shape (m,)
        gaps : ndarray of shape (m, n)
            What the functions differ from the means by.
        """
        means, variances = self.predict(X)
        near, placed = self.nearest(X, NEAR), X * np.exp(-self.settings[:-2])
        rows, (height, noise) = self.X * np.exp(-self.settings[:-2]), np.exp(self.settings[-2:])
        gaps, covariances = np.empty((len(X), n)), np.diag(variances)
        for i, known in enumerate(near):
            distances = ((placed[:i] - placed[i]) ** 2).sum(axis=1)
            earlier = np.argsort(distances, kind="stable")[:EARLIER]
            points = np.concatenate([rows[known], placed[earlier], placed[[i]]])
            own = height * matern(squared_distances(points[None]), self.smoothness)[0][0]
            own.ravel()[: -1 : len(points) + 1] += JITTER * height
            own[np.arange(len(known)), np.arange(len(known))] += noise / self.weights[known]
            pulls = np.linalg.solve(own[:-1, :-1], own[:-1, -1])[len(known) :]
            explained = pulls @ covariances[np.ix_(earlier, earlier)] @ pulls
            if explained > variances[i]:
                pulls *= np.sqrt(variances[i] / explained)
                explained = variances[i]
            covariances[i, :i] = covariances[:i, i] = pulls @ covariances[earlier, :i]
            own_part = np.sqrt(variances[i] - explained) * generator.standard_normal(n)
            gaps[i] = pulls @ gaps[earlier] + own_part
        return means, variances, gaps


def objective(rows, out, n_near, workers=ALONE):
    """What settings are judged by, for the nearest rows of the present ones.

    Parameters
    ----------
    rows : NearRows
        With the present settings.
    out : LeftOut
        Targets that are predicted by others. The prior counts as much as it would if these were a
        part of all.
    n_near : int
        How many rows predict one.
    workers : skbayesnn.numerics.workers.Workers, optional

    Returns
    -------
    penalised : callable
        Gives minus the log posterior density of a row, but for a constant, and its gradient in the
        settings, for settings of shape (n_inputs + 2,).
    """
    counts, n_inputs, X = out.weights / out.weights.sum(), rows.X.shape[1], rows.X[out.rows]
    near, parts = rows.nearest(X, n_near + 1, workers), []
    for begin in range(0, len(X), AT_ONCE):
        part = slice(begin, begin + AT_ONCE)
        own = out.take(part)
        parts.append((counts[part], rows.members(X[part], near[part], own.targets, own)))
    whole, scale = rows.weights.sum(), relevance_scale(n_inputs)

    def penalised(settings):
        loss, gradient = settings_prior(settings, n_inputs, scale)
        loss, gradient = loss / whole, gradient / whole

        def piece(i):
            count, members = parts[i]
            return Blocks(settings, rows.smoothness, *members).loss_and_gradient(count)

        for own, slope in workers.map(piece, len(parts)):
            loss, gradient = loss + own, gradient + slope
        return loss, gradient

    return penalised


def search(rows, out, n_near, max_iter, workers=ALONE):
    """The most probable settings, by L-BFGS, from those of the rows.

    Parameters
    ----------
    rows, out, n_near
        As :func:`objective` has them.
    max_iter : int
    workers : skbayesnn.numerics.workers.Workers, optional

    Returns
    -------
    settings : ndarray of shape (n_inputs + 2,)
    loss : float
        Minus the log posterior density of a row, but for a constant.
    """
    n_inputs = rows.X.shape[1]
    penalised = objective(rows, out, n_near, workers)
    bounds = [LENGTH_BOUNDS] * n_inputs + [HEIGHT_BOUNDS, (LEAST_LOG_NOISE, LARGEST_LOG_NOISE)]
    start = np.clip(rows.settings, *np.transpose(bounds))
    found = minimise_smooth(penalised, start, bounds=bounds, max_iter=max_iter)
    return found.x, found.fun

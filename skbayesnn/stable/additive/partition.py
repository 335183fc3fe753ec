"""The additive model as an estimator uses it: its data, the start of its chains, and predictions.

There are two kinds of hidden units, infinitely many of each. Axis units are sign units with
α-stable weights, each of which sees one input. Dense units are smooth units with Gaussian weights
that see all inputs:

    f(x) = Σ_k f_k(x_k) + g(x),

where each f_k is an exact α-stable process on the line with its own scale ν_k, and g is a Gaussian
process. Both may see two linear combinations of the inputs as further ones
(:mod:`~skbayesnn.stable.additive.directions`).
"""

from copy import copy
from typing import NamedTuple

import numpy as np

from skbayesnn.stable.additive.axes import MAX_ALL_VALUES, Axis, most_values
from skbayesnn.stable.additive.chain import AT_A_TIME, AdditiveChain
from skbayesnn.stable.additive.dense import MAX_EXACT, DenseBasis
from skbayesnn.stable.additive.directions import fit_limits_and_directions, with_directions
from skbayesnn.stable.additive.left_out import log_densities_left_out
from skbayesnn.stable.additive.limit_objective import log_crowd
from skbayesnn.stable.additive.modes import for_each_mode
from skbayesnn.stable.additive.prediction import (
    draw_given_parts,
    moments_given_parts,
)
from skbayesnn.stable.additive.record import AdditiveRecord, AdditiveState
from skbayesnn.stable.noise.rows import first_noise, least_log_noise
from skbayesnn.stable.noise.slopes import NoiseBasis
from skbayesnn.stable.partitions.base import AS_IT_IS, Partition, distinct_pairs, evenly_spread
from skbayesnn.stable.samplers.hyper import ALPHAS, log_nu_change

MAX_FIRST_LOG_NU = 30.0
"""Approximate upper limit of log ν at the start of a chain."""

MAX_JOINT = 1200
"""Number of rows up to which all parts are drawn jointly every few sweeps."""


class AdditiveDraws(NamedTuple):
    """Posterior draws of all chains.

    Attributes
    ----------
    log_noise, alpha, degrees, log_amplitude : ndarray of shape (n_draws,)
        log σ², α, the degrees of freedom of the noise, and the log variance of g.
    log_nu : ndarray of shape (n_draws, n_axes)
    f, log_variances : ndarray of shape (n_draws, n_values), float32
        f_k at the values of all axes, one axis after the other, and log v.
    theta : ndarray of shape (n_draws, n_basis), float32
        Coefficients of g.
    slopes : ndarray of shape (n_draws, n_slopes), float32
        Slopes of the log variance of the noise; no columns if it is the same everywhere.
    levels : ndarray of shape (n_draws, n_axes)
        Levels of the quantiles at which the distributions of splits are evaluated.
    noise_levels : ndarray of shape (n_draws,)
        Levels of the quantiles at which the distribution of the noise scale is evaluated.
    mode : ndarray of int, shape (n_draws,)
        Number of the mode of the draw's chain. If the modes have bases of different sizes, rows of
        ``theta`` are padded with zeros.
    """

    log_noise: np.ndarray
    alpha: np.ndarray
    degrees: np.ndarray
    log_amplitude: np.ndarray
    log_nu: np.ndarray
    f: np.ndarray
    log_variances: np.ndarray
    theta: np.ndarray
    slopes: np.ndarray
    levels: np.ndarray
    noise_levels: np.ndarray
    mode: np.ndarray

    def take(self, chosen):
        """Some of the draws, given by their indices."""
        return AdditiveDraws(*(array[chosen] for array in self))


class AdditiveCells(Partition):
    """Axis units and dense units on the rows of a table.

    Parameters
    ----------
    X, y, sample_weight, inputs
        See :class:`~skbayesnn.stable.partitions.features.FeaturePartition`.
    dense : bool, default=True
        Whether there is a dense part.
    same_noise : bool, default=False
        Whether the scale of the noise is the same for all rows.
    rng : numpy.random.Generator or None
        For large tables: selects the rows for the length scales, and the landmarks.
    directions : ndarray of shape (n_features, n_directions), optional
        Of linear combinations that are further inputs beside dense units; None to find them.

    Attributes
    ----------
    directions : ndarray of shape (n_features, n_directions)
        Of the linear combinations that are further inputs; without columns if there are none.
    axes : list of Axis
        Of the inputs, then of their combinations.
    index : ndarray of int32, shape (n_axes, n)
        Index of each row among the values of each axis.
    basis : DenseBasis or None
    rows, y, weights : ndarray
        Distinct rows with their targets, in lexicographic order, and the sum of their weights.
    least_log_noise : float
        Log variance of rounding errors, the lower limit of log σ²: without it, rows with equal
        targets would drive σ² to zero.
    starts, ends : ndarray of int, shape (n_axes,)
        Range of each axis in arrays of the values of all axes.
    log_crowd : float
        See :func:`~skbayesnn.stable.additive.limit_objective.log_crowd`.
    first_log_nu : ndarray of shape (n_axes,) or None
        log ν with the largest evidence for α = 2, around which chains start.
    joint : bool
        Whether all parts are drawn jointly from time to time.
    alone : bool
        Whether f is a single f_k without g.
    modes : list of AdditiveCells
        If the kernel of the dense part has two modes between which the rows do not decide
        (:mod:`~skbayesnn.stable.additive.modes`), the cells with each mode; otherwise empty. The
        bases and ``first_log_nu`` are those of the first.
    mode : int
        The number of the mode of these cells.
    """

    chain = AdditiveChain
    part_names = frozenset({"effects", "nu", "smooth_part", "smooth_variance"})

    def __init__(
        self, X, y=None, sample_weight=None, inputs=AS_IT_IS, dense=True, same_noise=False,
        rng=None, directions=None,
    ):  # fmt: skip
        self.inputs = inputs
        self.rows, self.y, self.weights = distinct_pairs(inputs.scaled(X), y, sample_weight)
        self.n_rows = float(self.weights.sum())
        self.least_log_noise = least_log_noise(self.y)
        self.same_noise = same_noise
        self.alone = self.may_be_stacked = self.rows.shape[1] == 1 and not dense
        self.may_have_process = dense or self.alone
        limits, self.directions = [None], np.empty((self.rows.shape[1], 0))
        if dense:
            # Landmarks do not represent a rough process between them.
            limits, self.directions = fit_limits_and_directions(
                self.rows, self.y, self.weights, rng, self.y.size <= MAX_EXACT, directions
            )
        seen = with_directions(self.rows, self.directions)
        most = MAX_ALL_VALUES if self.alone else most_values(seen.shape[1])
        self.axes = [Axis(x, most) for x in seen.T]
        self.index = np.stack([axis.index for axis in self.axes])
        sizes = np.array([axis.cells.x.size for axis in self.axes])
        self.ends = np.cumsum(sizes)
        self.starts = self.ends - sizes
        self.log_masses = np.concatenate([axis.cells.log_masses for axis in self.axes])
        # Mean of log q under the masses, for each axis: the value for a typical cell.
        masses = (axis.cells.log_masses for axis in self.axes)
        self.typical = np.array([np.exp(q) @ q for q in masses])
        self.log_crowd = log_crowd(len(self.axes))
        # A single part is drawn as a whole in every sweep.
        self.joint = self.y.size <= MAX_JOINT and not self.alone
        self.basis, self.n_basis, self.first_log_nu = None, 0, None
        self.modes, self.mode = [], 0
        # The same columns of the noise in all modes.
        values = limits[0].values_decide(self.weights) if dense and not same_noise else None
        modes = [self, *(copy(self) for _ in limits[1:])]
        for cells, limit in zip(modes, limits, strict=True):
            cells._set_limit(limit, seen, values, rng)
        if len(modes) > 1:
            self.modes = [copy(self), *modes[1:]]
            for number, cells in enumerate(self.modes):
                cells.modes, cells.mode = [], number

    def _set_limit(self, limit, seen, values, rng):
        """Use the kernel and the mean of a Gaussian limit (None without dense units), and the
        values of inputs that the noise depends on."""
        if limit is not None:
            self.set_basis(DenseBasis(seen, limit.kernel, rng))
            self.first_log_nu = limit.log_nus
        if not self.same_noise:
            self.noise_basis = NoiseBasis(seen, self.weights, limit, values)

    def seen(self, X):
        """Scaled rows with their combinations, as all parts see them, (n_rows, n_axes)."""
        return with_directions(self.inputs.scaled(X), self.directions)

    def of_chain(self, number):
        """Cells of the chain with this number."""
        return self.modes[number % len(self.modes)] if self.modes else self

    def alike(self, records):
        """Numbers of the chains of each mode."""
        modes = np.array([record.mode for record in records])
        return [np.flatnonzero(modes == mode) for mode in np.unique(modes)]

    def set_basis(self, basis):
        """Use this basis for the dense part."""
        self.basis, self.n_basis = basis, basis.squares.size

    def gram(self):
        """Ψ Ψ', the covariance of g at the rows for unit amplitude, (n, n)."""
        if self.basis is None:
            return np.zeros((self.y.size, self.y.size))
        return self.basis.train @ self.basis.train.T

    @property
    def axis_ranges(self):
        """The index of the rows, and the ranges of the axes in arrays of all values."""
        return self.index, self.starts, self.ends

    def parts(self):
        """Each axis, with its slice of arrays of all axes."""
        for axis, start, end in zip(self.axes, self.starts, self.ends, strict=True):
            yield axis, slice(start, end)

    def log_units(self, alpha, log_nu):
        """log(ν_k q^{2/α}) for all values."""
        return np.repeat(log_nu, self.ends - self.starts) + 2.0 / alpha * self.log_masses

    def is_of(self, X, y, sample_weight):
        """Whether the partition was made from these data."""
        theirs = distinct_pairs(self.inputs.scaled(X), y, sample_weight)
        ours = self.rows, self.y, self.weights
        return all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))

    def separating_mass(self):
        """Probability that an axis unit separates any two rows."""
        return float(np.mean([axis.cells.separating_mass() for axis in self.axes]))

    def start(self, prior, rng):
        """A random state, overdispersed so that R-hat is meaningful."""
        n_axes = len(self.axes)
        alpha = float(rng.choice(ALPHAS)) if prior.alpha is None else prior.alpha
        if prior.nu is not None:
            log_nu = np.full(n_axes, np.log(prior.nu))
        elif self.first_log_nu is not None:
            middle = self.first_log_nu + log_nu_change(self.typical, 2.0, alpha)
            # With α near zero, typical v would need a ν that overflows.
            log_nu = np.minimum(middle, MAX_FIRST_LOG_NU) + rng.normal(size=n_axes)
        else:
            log_nu = rng.normal(-2.0, 1.0, n_axes) - 2.0 / alpha * self.log_crowd
        log_noise = prior.log_noise
        if log_noise is None:
            log_noise = max(rng.uniform(-4.0, 0.0), self.least_log_noise)
        log_variances = self.log_units(alpha, log_nu)
        if alpha < 2.0:
            log_variances += np.abs(rng.normal(size=log_variances.size))
        return AdditiveState(
            alpha=alpha,
            log_nu=log_nu,
            log_noise=log_noise,
            log_amplitude=rng.normal(-1.0, 1.0),
            log_variances=log_variances,
            f=np.zeros(log_variances.size),
            theta=np.zeros(self.n_basis),
            g=np.zeros(self.y.size),
            chances=np.full(n_axes, min(1.0, AT_A_TIME / n_axes)),
            spreads=np.zeros(n_axes),
            **vars(first_noise(self.noise_basis, self.weights, prior, rng)),
        )

    def new_record(self, monitored, n_draws, thin):
        """An empty record for a chain."""
        sizes = {"f": self.ends[-1], "log_variances": self.ends[-1], "theta": self.n_basis}
        sizes["slopes"] = self.n_slopes
        n_sweeps, n_axes = n_draws * thin, len(self.axes)
        # For each f_k, its values at the ends and in the middle, minus their mean.
        places = np.stack([self.starts, (self.starts + self.ends - 1) // 2, self.ends - 1])
        return AdditiveRecord(
            mode=self.mode,
            thin=thin,
            monitored=monitored,
            places=places,
            draws={name: np.empty((n_draws, n), np.float32) for name, n in sizes.items()},
            f=np.empty((n_sweeps, monitored.size)),
            parts=np.empty((n_sweeps, 3 * n_axes + monitored.size)),
            log_nu=np.empty((n_sweeps, n_axes)),
            log_factors=np.empty((n_sweeps, monitored.size if self.n_slopes else 0)),
            numbers=np.empty((n_sweeps, 4)),
        )

    def draws_of(self, records):
        """Combine the records of several chains into draws."""
        thin = records[0].thin
        numbers = np.concatenate([record.numbers[thin - 1 :: thin] for record in records])
        log_noise, alpha, inverse_degrees, log_amplitude = numbers.T.copy()
        with np.errstate(divide="ignore"):
            degrees = 1.0 / inverse_degrees
        per_draw = {}
        for name in records[0].draws:
            found = [record.draws[name] for record in records]
            most = max(values.shape[1] for values in found)
            found = [np.pad(values, ((0, 0), (0, most - values.shape[1]))) for values in found]
            per_draw[name] = np.concatenate(found)
        n, fixed = log_noise.size, np.random.default_rng(0)
        *levels, noise_levels = (evenly_spread(n, fixed) for _ in range(len(self.axes) + 1))
        return AdditiveDraws(
            log_noise=log_noise,
            alpha=alpha,
            degrees=degrees,
            log_amplitude=log_amplitude,
            log_nu=np.concatenate([record.log_nu[thin - 1 :: thin] for record in records]),
            levels=np.stack(levels, axis=1),
            noise_levels=noise_levels,
            mode=np.repeat([record.mode for record in records], [r.n_draws for r in records]),
            **per_draw,
        )

    def followed(self, prior, records):
        """Monitored quantities besides f: arrays (n_chains, n_sweeps, n_values) by name."""
        numbers = np.stack([record.numbers for record in records])
        parts, n_axes = np.stack([record.parts for record in records]), len(self.axes)
        found = {"effects": parts[..., : 3 * n_axes]}
        if prior.nu is None:
            found["nu"] = np.stack([record.log_nu for record in records])
        given = prior.log_noise, prior.alpha, prior.degrees
        names = "noise_variance", "alpha", "degrees_of_freedom"
        for i, (name, value) in enumerate(zip(names, given, strict=True)):
            if value is None:
                found[name] = numbers[..., i : i + 1]
        if self.n_slopes:
            found["noise_at_rows"] = np.stack([record.log_factors for record in records])
        if self.basis is not None:
            found["smooth_part"] = parts[..., 3 * n_axes :]
            found["smooth_variance"] = numbers[..., 3:]
        return found

    def log_noise_factors(self, draws, X):
        """h, the log variance of the noise relative to σ²; broadcasts to (n_rows, n_draws)."""
        X = with_directions(X, self.directions)
        return for_each_mode(
            self, draws, lambda cells, group: Partition.log_noise_factors(cells, group, X)
        )

    def log_densities_left_out(self, draws, X, y, weights):
        """Log density of (scaled) training rows given all others; only for one input alone."""
        return log_densities_left_out(self, draws, X, y)

    def predict(self, draws, X):
        """Means and variances (n_rows, n_draws) of f at new inputs, one Gaussian per draw."""
        X = self.seen(X)
        return for_each_mode(self, draws, lambda cells, group: moments_given_parts(cells, group, X))

    def sample(self, draws, X, rng):
        """Draw the function jointly at all new inputs, once per draw: (n_rows, n_draws)."""
        X = self.seen(X)
        return for_each_mode(
            self, draws, lambda cells, group: draw_given_parts(cells, group, X, rng)
        )

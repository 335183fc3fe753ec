"""What all partitions share: the data that a chain runs on, its start, and predictions.

A partition has the ways in which hidden units can label the rows, its cells, each with a mass.
It owns what is known of the data: how inputs are scaled, the distinct rows, and the targets
gathered by row. An estimator needs no more of it than :class:`Partition` promises; with a
:class:`FeaturePartition` f is a matrix of features times the cells' weights.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from skbayesnn.numerics.student_t import student_variances, with_tail
from skbayesnn.stable.left_out import gaussian_left_out
from skbayesnn.stable.noise.slopes import NoiseBasis
from skbayesnn.stable.samplers.chain import Record
from skbayesnn.stable.samplers.hyper import ALPHAS
from skbayesnn.stable.samplers.problem import State, make_problem

# Inputs beyond this are as good as there: the products of doubles need some room.
_FARTHEST = 1e300
# Rows whose noise stands for that of all.
_MAX_ROWS_OF_NOISE = 200


class InputScaling(NamedTuple):
    """What X becomes: (X - location) * scale; both of shape (n_features,) or numbers."""

    location: np.ndarray | float = 0.0
    scale: np.ndarray | float = 1.0

    def scaled(self, X):
        """X as the network sees it."""
        with np.errstate(over="ignore"):
            scaled = (X - self.location) * self.scale
        # Adding zero makes -0.0 equal to 0.0 where bytes are compared.
        return np.clip(scaled, -_FARTHEST, _FARTHEST) + 0.0

    def unscaled(self, rows):
        """Scaled rows in the units of X."""
        return rows / self.scale + self.location


AS_IT_IS = InputScaling()


class Draws(NamedTuple):
    """Posterior draws, of all chains.

    Attributes
    ----------
    log_noise, alpha, log_nu, degrees : ndarray of shape (n_draws,)
        log σ², α, log ν, and the degrees of freedom of the noise.
    levels, noise_levels : ndarray of shape (n_draws,)
        The levels at which the laws of the split of a cell, and of the noise's scale, are
        evaluated for each draw.
    weights, log_scales : ndarray of shape (n_draws, n_cells), float32
        As in :class:`~skbayesnn.stable.samplers.chain.Record`.
    slopes : ndarray of shape (n_draws, n_slopes), float32
        Of the logarithm of the noise's variance; none where it is the same everywhere.
    place : ndarray of int, shape (n_draws,)
        Which hyperplanes belong to each draw.
    planes : ndarray of shape (n_sets, n_units, n_features + 1), float32
    """

    log_noise: np.ndarray
    alpha: np.ndarray
    log_nu: np.ndarray
    degrees: np.ndarray
    levels: np.ndarray
    noise_levels: np.ndarray
    weights: np.ndarray
    log_scales: np.ndarray
    slopes: np.ndarray
    place: np.ndarray
    planes: np.ndarray

    def take(self, chosen):
        """Some of the draws, by their numbers."""
        return Draws(*(array[chosen] for array in self[:-1]), self.planes)


def evenly_spread(n, rng):
    """Levels in (0, 1), one for each of n draws, in an order that no draw knows of."""
    return (rng.permutation(n) + 0.5) / n


def distinct_pairs(rows, y, sample_weight):
    """Distinct pairs of a row and a target, and the sum of their weights."""
    y = np.zeros(len(rows)) if y is None else y
    pairs, place = np.unique(np.column_stack([rows, y]), axis=0, return_inverse=True)
    weights = np.bincount(place.reshape(-1), weights=sample_weight)
    return np.ascontiguousarray(pairs[:, :-1]), pairs[:, -1].copy(), weights.astype(np.float64)


def distinct_rows(X, y, sample_weight=None):
    """Distinct rows of X in lexicographic order, and the targets gathered by row.

    Returns
    -------
    rows : ndarray of shape (n_distinct, n_features)
    means, counts, squares : ndarray of shape (n_distinct,)
        Mean target, number of rows (sum of their weights), and the sum of squares of the
        targets about their mean.
    """
    rows, place = np.unique(X, axis=0, return_inverse=True)
    place = place.reshape(-1)
    weights = np.ones(len(X)) if sample_weight is None else sample_weight
    counts = np.bincount(place, weights=weights)
    means = np.bincount(place, weights=weights * y) / counts
    squares = np.bincount(place, weights=weights * (y - means[place]) ** 2)
    return rows, means, counts, squares


class Partition(ABC):
    """What an estimator asks of its cells.

    Attributes
    ----------
    inputs : InputScaling
    rows : ndarray of shape (n, n_features)
        The rows that f is followed at, as the network sees them.
    chain : type
        The Gibbs sampler: made like a :class:`~skbayesnn.stable.samplers.chain.Chain`, and run
        like one.
    bias_scale : float
        Standard deviation of the units' biases.
    part_names : frozenset of str
        Which of the names in :meth:`followed` are of parts of f that only its effects tell:
        predictions may have converged where these have not.
    may_be_stacked : bool
        Whether all functions have jumps only, so that away from the rows a smooth law may know
        more (:mod:`skbayesnn.stable.extrapolation`); such cells have
        ``log_densities_left_out(draws, X, y, weights)``, that of training rows, scaled, given all
        others.
    same_noise : bool
        Whether the noise is Gaussian, with the same variance everywhere.
    noise_basis : NoiseBasis or None
        What the scale of the noise depends on, where it is not the same for all rows.
    """

    bias_scale = 1.0
    part_names: ClassVar[frozenset[str]] = frozenset()
    may_be_stacked: bool = False
    same_noise: bool = True
    noise_basis: NoiseBasis | None = None

    @abstractmethod
    def is_of(self, X, y, sample_weight):
        """Whether these are the data that the partition was made from."""

    @abstractmethod
    def separating_mass(self):
        """Probability that a hidden unit tells any two rows apart."""

    def of_chain(self, number):
        """The cells that the chain of this number has: those of a mode where there are several."""
        return self

    def alike(self, records):
        """Numbers of the chains that have the same posterior, for each such group of them."""
        return [list(range(len(records)))]

    @abstractmethod
    def start(self, prior, rng):
        """A random state, spread wide so that R-hat means something."""

    @abstractmethod
    def new_record(self, monitored, n_draws, thin):
        """An empty record of a chain."""

    @abstractmethod
    def draws_of(self, records):
        """The draws of the records of several chains."""

    @abstractmethod
    def followed(self, prior, records):
        """What convergence is judged by beside f: arrays (n_chains, n_sweeps, n_values) by name."""

    @property
    def n_slopes(self):
        """How many slopes the scale of the noise has: none where it is the same everywhere."""
        return 0 if self.noise_basis is None else len(self.noise_basis.train)

    def noise_slopes(self, draws):
        """Of the log-variance of the noise, (n_draws, n_slopes)."""
        return draws.slopes.astype(np.float64)

    def log_noise_factors(self, draws, X):
        """h, the log-variance of the noise over σ², at scaled rows: (n_rows or 1, n_draws)."""
        if self.noise_basis is None:
            return np.zeros((1, draws.alpha.size))
        return self.noise_basis.log_factors(X, draws.slopes)

    def least_log_noises(self, draws):
        """Log of the noise's variance where it is least, of some of the rows: (n_draws,)."""
        some = self.rows[:: -(-len(self.rows) // _MAX_ROWS_OF_NOISE)]
        return draws.log_noise + self.log_noise_factors(draws, some).min(axis=0)

    def noise_components(self, draws, X):
        """Gaussians whose mixture is the noise at new inputs.

        There is one a draw, at its level, and some are added for the tails of Student's law.

        Returns
        -------
        scales : ndarray
            Their variances over σ²: to be broadcast to (n_rows, n_components).
        of_draw : ndarray of int of shape (n_components,)
            The draw to which each belongs.
        weights : ndarray of shape (n_components,)
        """
        levels = draws.noise_levels
        of_draw, weights = np.arange(len(levels)), np.full(len(levels), 1.0 / len(levels))
        if np.isfinite(draws.degrees).any():
            levels, of_draw, weights = with_tail(levels)
        scales = student_variances(draws.degrees[of_draw], levels)
        factors = self.log_noise_factors(draws, self.inputs.scaled(X))[:, of_draw]
        return scales * np.exp(factors), of_draw, weights

    def draw_noise_scales(self, draws, X, rng):
        """Variances of the noise over σ², drawn for each row: to be broadcast with them."""
        if self.same_noise:
            return np.ones(draws.alpha.size)
        scales = student_variances(draws.degrees, rng.random((len(X), draws.degrees.size)))
        return scales * np.exp(self.log_noise_factors(draws, self.inputs.scaled(X)))

    @abstractmethod
    def predict(self, draws, X):
        """Means and variances of f at new inputs, a Gaussian component a draw.

        Parameters
        ----------
        draws : tuple
            From :meth:`draws_of`.
        X : ndarray of shape (n_rows, n_features)
            In its own units.

        Returns
        -------
        means, variances : ndarray of shape (n_rows, n_draws)
        """

    @abstractmethod
    def sample(self, draws, X, rng):
        """Draw the function jointly at all new inputs, once for each posterior draw.

        Parameters
        ----------
        draws : tuple
            From :meth:`draws_of`.
        X : ndarray of shape (n_rows, n_features)
            In its own units.
        rng : numpy.random.Generator

        Returns
        -------
        f : ndarray of shape (n_rows, n_draws)

        Raises
        ------
        ValueError
            If old and new points of the plane are too many for their joint cells.
        """


class FeaturePartition(Partition):
    """Cells with one weight each, at distinct rows of X: f = T w, T the matrix of features.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,), default=None
        Targets, standardised; None for zeros.
    sample_weight : ndarray of shape (n_rows,), default=None
        How often each row counts, above zero; None for once.
    inputs : InputScaling, default=AS_IT_IS

    Attributes
    ----------
    rows : ndarray of shape (n, n_features)
        Distinct, in lexicographic order.
    y, counts : ndarray of shape (n,)
        Mean target and number of rows there.
    within : float
        Sum of squares of the targets about those means.
    log_masses : ndarray of shape (n_cells,)
        Logarithms of the cells' probabilities.
    """

    # What predictions need of each draw.
    recorded: ClassVar[tuple[str, ...]] = ()

    def __init__(self, X, y=None, sample_weight=None, inputs=AS_IT_IS):
        self.inputs = inputs
        y = np.zeros(len(X)) if y is None else y
        self.rows, self.y, self.counts, squares = distinct_rows(inputs.scaled(X), y, sample_weight)
        self.within = float(squares.sum())

    @abstractmethod
    def features(self, planes):
        """T, the values of the hidden units at the rows, (n, n_cells).

        Sampled units have them from their hyperplanes; others need none.
        """

    @abstractmethod
    def _predict(self, problem, draws, X):
        """As :meth:`predict`, of :class:`Draws` with the problem's index; X is scaled."""

    @abstractmethod
    def _sample(self, draws, X, rng):
        """As :meth:`sample`; X is scaled."""

    def is_of(self, X, y, sample_weight):
        """Whether these are the data that the partition was made from."""
        theirs = distinct_rows(self.inputs.scaled(X), y, sample_weight)
        ours = self.rows, self.y, self.counts
        same = all(np.array_equal(a, b) for a, b in zip(ours, theirs[:3], strict=True))
        return same and self.within == theirs[3].sum()

    def problem(self, alpha, log_nu, move_noise=True):
        """What a chain samples from at these values."""
        data = self.y, self.counts, self.within
        return make_problem(*data, self.log_masses, float(alpha), float(log_nu), move_noise)

    def draw_planes(self, rng):
        """Hyperplanes from their prior: none for exact cells."""
        return np.empty((0, 0))

    def start(self, prior, rng):
        """A random state, spread wide so that R-hat means something."""
        alpha = float(rng.choice(ALPHAS)) if prior.alpha is None else prior.alpha
        log_nu = rng.normal() if prior.nu is None else np.log(prior.nu)
        log_variances = self.problem(alpha, log_nu).log_units.copy()
        if alpha != 2.0:
            log_variances += np.abs(rng.normal(scale=2.0, size=log_variances.shape))
        log_noise = rng.uniform(-4.0, 0.0) if prior.log_noise is None else prior.log_noise
        numbers = (np.array([float(v)]) for v in (log_noise, alpha, log_nu))
        weights = np.zeros(log_variances.size)
        return State(log_variances, self.y.copy(), weights, self.draw_planes(rng), *numbers)

    def new_record(self, monitored, n_draws, thin):
        """An empty record of a chain."""
        n_sweeps, n_cells = n_draws * thin, self.log_masses.size
        sizes = (n_cells if name in self.recorded else 0 for name in ("weights", "log_scales"))
        return Record(
            thin,
            *(np.empty((n_draws, size), dtype=np.float32) for size in sizes),
            np.empty(self._planes_shape(n_draws), dtype=np.float32),
            *np.empty((3, n_sweeps)),
            monitored,
            np.empty((n_sweeps, monitored.size)),
            np.zeros(n_sweeps),
            np.empty((n_draws, self.n_slopes), dtype=np.float32),
            np.empty((n_sweeps, monitored.size if self.n_slopes else 0)),
        )

    def draws_of(self, records):
        """The draws of the records of several chains."""
        thin, n_draws = records[0].thin, len(records[0].weights)
        n = n_draws * len(records)
        sizes = [len(record.planes) for record in records]
        # One set for each draw, or one for all.
        within = [np.arange(n_draws) % max(size, 1) for size in sizes]
        starts = np.cumsum([0, *sizes[:-1]])
        per_sweep = {
            name: np.concatenate([getattr(record, name)[thin - 1 :: thin] for record in records])
            for name in ("log_noise", "alpha", "log_nu", "inverse_degrees")
        }
        with np.errstate(divide="ignore"):
            degrees = 1.0 / per_sweep.pop("inverse_degrees")
        per_draw = {
            name: np.concatenate([getattr(record, name) for record in records])
            for name in ("weights", "log_scales", "slopes", "planes")
        }
        fixed = np.random.default_rng(0)
        return Draws(
            degrees=degrees,
            levels=evenly_spread(n, fixed),
            noise_levels=evenly_spread(n, fixed),
            place=np.concatenate([start + k for start, k in zip(starts, within, strict=True)]),
            **per_sweep,
            **per_draw,
        )

    def followed(self, prior, records):
        """What convergence is judged by beside f: arrays (n_chains, n_sweeps, n_values) by name."""
        sampled = {"noise_variance": "log_noise"} if prior.log_noise is None else {}
        sampled |= {"alpha": "alpha"} if prior.alpha is None else {}
        sampled |= {"nu": "log_nu"} if prior.nu is None else {}
        sampled |= {"degrees_of_freedom": "inverse_degrees"} if prior.degrees is None else {}
        found = {
            name: np.stack([getattr(record, values)[:, None] for record in records])
            for name, values in sampled.items()
        }
        if self.n_slopes:
            found["noise_at_rows"] = np.stack([record.log_factors for record in records])
        return found

    def _planes_shape(self, n_draws):
        return 0, 0, 0

    def predict(self, draws, X):
        """Means and variances (n_rows, n_draws) of f at new inputs, a Gaussian a draw."""
        return self.predict_scaled(draws, self.inputs.scaled(X))

    def predict_scaled(self, draws, X):
        """As :meth:`predict`, of rows that are scaled already."""
        means, variances = np.empty((2, len(X), draws.alpha.size))
        # Each index has laws of its own.
        for alpha in np.unique(draws.alpha):
            chosen = np.flatnonzero(draws.alpha == alpha)
            means[:, chosen], variances[:, chosen] = self._predict(
                self.problem(alpha, 0.0), draws.take(chosen), X
            )
        return means, variances

    def log_densities_left_out(self, draws, X, y, weights):
        """Log-density of training rows, scaled, given all others."""
        noise = np.exp(draws.log_noise)
        return gaussian_left_out(*self.predict_scaled(draws, X), noise, y, weights)

    def sample(self, draws, X, rng):
        """Draw the function jointly at all new inputs, once for each draw: (n_rows, n_draws)."""
        return self._sample(draws, self.inputs.scaled(X), rng)

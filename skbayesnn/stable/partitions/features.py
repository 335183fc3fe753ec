"""Cells with one weight each, where f is a matrix of features times these weights."""

from abc import abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from skbayesnn.stable.left_out import gaussian_left_out
from skbayesnn.stable.partitions.base import AS_IT_IS, Partition, evenly_spread
from skbayesnn.stable.samplers.chain import Record
from skbayesnn.stable.samplers.hyper import ALPHAS
from skbayesnn.stable.samplers.problem import State, make_problem


class Draws(NamedTuple):
    """Posterior draws of all chains.

    Attributes
    ----------
    log_noise, alpha, log_nu, degrees : ndarray of shape (n_draws,)
        log σ², α, log ν, and the degrees of freedom of the noise.
    levels, noise_levels : ndarray of shape (n_draws,)
        Levels of the quantiles at which the distributions of a cell's split and of the noise scale
        are evaluated for each draw.
    weights, log_scales : ndarray of shape (n_draws, n_cells), float32
        See :class:`~skbayesnn.stable.samplers.chain.Record`.
    slopes : ndarray of shape (n_draws, n_slopes), float32
        Slopes of the log variance of the noise; no columns if it is the same everywhere.
    place : ndarray of int, shape (n_draws,)
        Index in ``planes`` of the hyperplanes of each draw.
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
        """Some of the draws, given by their indices."""
        return Draws(*(array[chosen] for array in self[:-1]), self.planes)


def distinct_rows(X, y, sample_weight=None):
    """Distinct rows of X in lexicographic order, and statistics of their targets.

    Returns
    -------
    rows : ndarray of shape (n_distinct, n_features)
    means, counts, squares : ndarray of shape (n_distinct,)
        Mean target, sum of the weights, and sum of squares of the targets about their mean, for
        each row.
    """
    rows, place = np.unique(X, axis=0, return_inverse=True)
    weights = np.ones(len(X)) if sample_weight is None else sample_weight
    counts = np.bincount(place, weights=weights)
    means = np.bincount(place, weights=weights * y) / counts
    squares = np.bincount(place, weights=weights * (y - means[place]) ** 2)
    return rows, means, counts, squares


class FeaturePartition(Partition):
    """Cells with one weight each, at the distinct rows of X: f = T w with feature matrix T.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,), default=None
        Standardised targets; None for zeros.
    sample_weight : ndarray of shape (n_rows,), default=None
        Weight of each row, above zero; None for ones.
    inputs : InputScaling, default=AS_IT_IS

    Attributes
    ----------
    rows : ndarray of shape (n, n_features)
        Distinct, in lexicographic order.
    y, counts : ndarray of shape (n,)
        Mean target and sum of the weights at each row.
    within : float
        Sum of squares of the targets about those means.
    log_masses : ndarray of shape (n_cells,)
        Logarithms of the cells' probabilities.
    """

    # Arrays of each draw that predictions need.
    recorded: ClassVar[tuple[str, ...]] = ()

    def __init__(self, X, y=None, sample_weight=None, inputs=AS_IT_IS):
        self.inputs = inputs
        y = np.zeros(len(X)) if y is None else y
        self.rows, self.y, self.counts, squares = distinct_rows(inputs.scaled(X), y, sample_weight)
        self.within = float(squares.sum())

    @abstractmethod
    def features(self, planes):
        """T, the values of the hidden units at the rows, (n, n_cells).

        Sampled units compute them from their hyperplanes; other cells ignore ``planes``.
        """

    @abstractmethod
    def _predict(self, problem, draws, X):
        """Implements :meth:`predict` for :class:`Draws` with the problem's index; X is scaled."""

    @abstractmethod
    def _sample(self, draws, X, rng):
        """Implements :meth:`sample`; X is scaled."""

    def is_of(self, X, y, sample_weight):
        """Whether the partition was made from these data."""
        theirs = distinct_rows(self.inputs.scaled(X), y, sample_weight)
        ours = self.rows, self.y, self.counts
        same = all(np.array_equal(a, b) for a, b in zip(ours, theirs[:3], strict=True))
        return same and self.within == theirs[3].sum()

    def problem(self, alpha, log_nu, move_noise=True):
        """The distribution that a chain samples from for these values."""
        data = self.y, self.counts, self.within
        return make_problem(*data, self.log_masses, float(alpha), float(log_nu), move_noise)

    def draw_planes(self, rng):
        """Draw hyperplanes from their prior; exact cells have none."""
        return np.empty((0, 0))

    def start(self, prior, rng):
        """A random state, overdispersed so that R-hat is meaningful."""
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
        """An empty record for a chain."""
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
        """Combine the records of several chains into draws."""
        thin, n_draws = records[0].thin, len(records[0].weights)
        n = n_draws * len(records)
        sizes = [len(record.planes) for record in records]
        # One set of hyperplanes for each draw, or one for all.
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
        """Monitored quantities besides f: arrays (n_chains, n_sweeps, n_values) by name."""
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
        """Means and variances (n_rows, n_draws) of f at new inputs, one Gaussian per draw."""
        return self.predict_scaled(draws, self.inputs.scaled(X))

    def predict_scaled(self, draws, X):
        """The same as :meth:`predict`, for rows that are already scaled."""
        means, variances = np.empty((2, len(X), draws.alpha.size))
        # Each index has its own distributions.
        for alpha in np.unique(draws.alpha):
            chosen = np.flatnonzero(draws.alpha == alpha)
            means[:, chosen], variances[:, chosen] = self._predict(
                self.problem(alpha, 0.0), draws.take(chosen), X
            )
        return means, variances

    def log_densities_left_out(self, draws, X, y, weights):
        """Log density of each (scaled) training row given all others."""
        noise = np.exp(draws.log_noise)
        return gaussian_left_out(*self.predict_scaled(draws, X), noise, y, weights)

    def sample(self, draws, X, rng):
        """Draw the function jointly at all new inputs, once per draw: (n_rows, n_draws)."""
        return self._sample(draws, self.inputs.scaled(X), rng)

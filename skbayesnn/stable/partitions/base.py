"""What all partitions share: the data that a chain runs on, its start, and predictions.

A partition has the ways in which hidden units can label the rows, its cells, each with a mass.
It owns what is known of the data: how inputs are scaled, the distinct rows, and the targets. An
estimator needs no more of it than :class:`Partition` promises.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from skbayesnn.numerics.student_t import student_variances, with_tail
from skbayesnn.stable.noise.slopes import NoiseBasis

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


def evenly_spread(n, rng):
    """Levels in (0, 1), one for each of n draws, in an order that no draw knows of."""
    return (rng.permutation(n) + 0.5) / n


def distinct_pairs(rows, y, sample_weight):
    """Distinct pairs of a row and a target, and the sum of their weights."""
    y = np.zeros(len(rows)) if y is None else y
    pairs, place = np.unique(np.column_stack([rows, y]), axis=0, return_inverse=True)
    weights = np.bincount(place.reshape(-1), weights=sample_weight)
    return np.ascontiguousarray(pairs[:, :-1]), pairs[:, -1].copy(), weights.astype(np.float64)


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

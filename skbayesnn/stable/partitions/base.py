"""The interface of all partitions: the data of a chain, its start, and predictions.

A partition contains the ways in which hidden units can label the rows. These are its cells, and
each has a mass. It also holds the data: the scaling of the inputs, the distinct rows, and the
targets. An estimator uses only what :class:`Partition` defines.
"""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np

from skbayesnn.numerics.student_t import student_variances, with_tail
from skbayesnn.stable.noise.slopes import NoiseBasis

# Inputs are clipped here, because products of larger numbers would overflow.
_FARTHEST = 1e300
# Number of rows whose noise represents that of all rows.
_MAX_ROWS_OF_NOISE = 200


class InputScaling(NamedTuple):
    """Maps X to (X - location) * scale; both have shape (n_features,) or are numbers."""

    location: np.ndarray | float = 0.0
    scale: np.ndarray | float = 1.0

    def scaled(self, X):
        """Scale rows of X to the units of the network."""
        with np.errstate(over="ignore"):
            scaled = (X - self.location) * self.scale
        # Adding zero turns -0.0 into 0.0, for comparisons of bytes.
        return np.clip(scaled, -_FARTHEST, _FARTHEST) + 0.0

    def unscaled(self, rows):
        """Convert scaled rows to the units of X."""
        return rows / self.scale + self.location


AS_IT_IS = InputScaling()


def evenly_spread(n, rng):
    """Evenly spaced levels in (0, 1), one per draw, in an order independent of the draws."""
    return (rng.permutation(n) + 0.5) / n


def distinct_pairs(rows, y, sample_weight):
    """Distinct pairs of a row and a target, and the sums of their weights."""
    y = np.zeros(len(rows)) if y is None else y
    pairs, place = np.unique(np.column_stack([rows, y]), axis=0, return_inverse=True)
    weights = np.bincount(place, weights=sample_weight)
    return np.ascontiguousarray(pairs[:, :-1]), pairs[:, -1].copy(), weights.astype(np.float64)


class Partition(ABC):
    """Interface between an estimator and its cells.

    Attributes
    ----------
    inputs : InputScaling
    rows : ndarray of shape (n, n_features)
        The rows at which f is monitored, in the scaling of the network.
    chain : type
        The Gibbs sampler, with the constructor and methods of
        :class:`~skbayesnn.stable.samplers.chain.Chain`.
    bias_scale : float
        Standard deviation of the biases of the hidden units.
    part_names : frozenset of str
        Names in :meth:`followed` of parts of f that only partial effects use. Predictions may have
        converged even if these have not.
    may_be_stacked : bool
        Whether all functions consist of jumps, so that a smooth model may predict better away from
        the rows (:mod:`skbayesnn.stable.extrapolation`). Such cells have a method
        ``log_densities_left_out(draws, X, y, weights)``, which returns the log density of each
        (scaled) training row given all others.
    may_have_process : bool
        Whether Gaussian processes may take part in predictions (:mod:`skbayesnn.stable.beside`).
    same_noise : bool
        Whether the noise is Gaussian, with the same variance everywhere.
    noise_basis : NoiseBasis or None
        What the scale of the noise depends on; None if it is the same for all rows.
    directions : ndarray of shape (n_features, n_directions) or None
        Of linear combinations that are further inputs; None if these cells never have any.
    """

    bias_scale = 1.0
    part_names: ClassVar[frozenset[str]] = frozenset()
    may_be_stacked: bool = False
    may_have_process: bool = False
    same_noise: bool = True
    noise_basis: NoiseBasis | None = None
    directions: np.ndarray | None = None

    def seen(self, X):
        """Scaled rows as all parts of the function see them, (n_rows, n_inputs)."""
        return self.inputs.scaled(X)

    @abstractmethod
    def is_of(self, X, y, sample_weight):
        """Whether the partition was made from these data."""

    @abstractmethod
    def separating_mass(self):
        """Probability that a hidden unit separates any two rows."""

    def of_chain(self, number):
        """Cells of the chain with this number: those of one mode if there are several."""
        return self

    def alike(self, records):
        """Groups of the numbers of chains that have the same posterior."""
        return [list(range(len(records)))]

    @abstractmethod
    def start(self, prior, rng):
        """A random state, overdispersed so that R-hat is meaningful."""

    @abstractmethod
    def new_record(self, monitored, n_draws, thin):
        """An empty record for a chain."""

    @abstractmethod
    def draws_of(self, records):
        """Combine the records of several chains into draws."""

    @abstractmethod
    def followed(self, prior, records):
        """Monitored quantities besides f: arrays (n_chains, n_sweeps, n_values) by name."""

    @property
    def n_slopes(self):
        """Number of slopes of the noise scale; zero if it is the same everywhere."""
        return 0 if self.noise_basis is None else len(self.noise_basis.train)

    def noise_slopes(self, draws):
        """Slopes of the log variance of the noise, (n_draws, n_slopes)."""
        return draws.slopes.astype(np.float64)

    def log_noise_factors(self, draws, X):
        """h, the log variance of the noise over σ², at scaled rows: (n_rows or 1, n_draws)."""
        if self.noise_basis is None:
            return np.zeros((1, draws.alpha.size))
        return self.noise_basis.log_factors(X, draws.slopes)

    def least_log_noises(self, draws):
        """Smallest log variance of the noise over a subset of the rows: (n_draws,)."""
        some = self.rows[:: -(-len(self.rows) // _MAX_ROWS_OF_NOISE)]
        return draws.log_noise + self.log_noise_factors(draws, some).min(axis=0)

    def noise_components(self, draws, X):
        """Gaussians whose mixture is the noise at new inputs.

        There is one per draw, at its level, and a few more for the tails of the Student-t
        distribution.

        Returns
        -------
        scales : ndarray
            Their variances relative to σ²; broadcast to (n_rows, n_components).
        of_draw : ndarray of int of shape (n_components,)
            The draw to which each component belongs.
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
        """Variances of the noise relative to σ², drawn for each row; broadcast with the rows."""
        if self.same_noise:
            return np.ones(draws.alpha.size)
        scales = student_variances(draws.degrees, rng.random((len(X), draws.degrees.size)))
        return scales * np.exp(self.log_noise_factors(draws, self.inputs.scaled(X)))

    @abstractmethod
    def predict(self, draws, X):
        """Means and variances of f at new inputs, one Gaussian component per draw.

        Parameters
        ----------
        draws : tuple
            From :meth:`draws_of`.
        X : ndarray of shape (n_rows, n_features)
            In the original units.

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
            In the original units.
        rng : numpy.random.Generator

        Returns
        -------
        f : ndarray of shape (n_rows, n_draws)

        Raises
        ------
        ValueError
            If there are too many old and new points in the plane for their joint cells.
        """

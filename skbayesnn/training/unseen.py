"""The predictive distribution away from the rows: Gaussian processes averaged over hyperparameters.

Networks that differ only in their starting weights agree across a gap, since all of them continue
their trend at its edges in the same way. Away from the rows, another model therefore predicts: a
Gaussian process with squared exponential covariance, noise, and one length scale for all inputs,
given up to 400 rows. Its length scale and noise ratio are not estimated, but averaged over with
their posterior probabilities on a grid. Its variance has an inverse gamma prior and is integrated
out. With C the correlations of the rows, W their weights and r the ratio of the noise variance to
the variance of the function,

    y = μ + s z,    z ~ N(0, (C + r W⁻¹) τ / (1 + r)),    τ ~ IG(1, 1).

Each length scale needs only one eigendecomposition of W^(1/2) C W^(1/2), which serves all r. Rows
near each other say little about how large a function becomes elsewhere, so a tenth of the
probability has 25 times the variance of the function. Not in the papers.
"""

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from skbayesnn._validation import location_and_scale
from skbayesnn.predictive import PredictiveMixture, linear_pool
from skbayesnn.training.novelty import Novelty, typical_distance

MOST_ROWS = 400
LENGTHS = np.geomspace(0.1, 10.0, 13)
"""Of the functions, over the median distance of the rows from their medians."""
NOISES = np.geomspace(1e-7, 10.0, 17)
"""The ratio r."""
LEAST_ERROR = 1e-3
"""Of each target, in standard deviations of all. Without it, rows without noise would make the
variance tiny, because draws of such a process are analytic functions."""
LEAST_PROBABILITY = 1e-3
"""Hyperparameters that are less probable than this fraction of the best are left out."""
SWITCH = 0.1
"""Distance from the rows, in excess of that between them and over their spread, where these
processes have a weight of 1 − 1/e."""
SHARES, FACTORS = np.array([0.9, 0.1]), np.array([1.0, 25.0])
"""Weights of two components, and factors of the variance of the function in them."""


class SmoothLaw:
    """Gaussian processes given the targets, averaged over their hyperparameters.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        In units in which rows have distances.
    targets : ndarray of shape (n, n_targets)
    weights : ndarray of shape (n,)
        How many rows each row stands for.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.append(np.linspace(-3, -1, 50), np.linspace(1, 3, 50))[:, None]
    >>> law = SmoothLaw(X, np.sin(2 * X), np.ones(100))
    >>> weights, means, variances = law(np.array([[0.25], [9.0]]))
    >>> means[0, 0].round(1), variances[:, 0, 0] > 0.5
    (array([0.5, 0.5]), array([False,  True]))
    """

    def __init__(self, X, targets, weights):
        self.X, self.targets, self.weights = (part[:MOST_ROWS] for part in (X, targets, weights))
        self.settings = None

    def __getstate__(self):
        return {**vars(self), "settings": None}

    def _learn(self):
        """Find the settings that are probable; only where they are asked for."""
        weights, roots = self.weights, np.sqrt(self.weights)
        self.location, self.scale = location_and_scale(self.targets, "y", weights)
        z = (self.targets - self.location) / self.scale * roots[:, None]
        spread = typical_distance(self.X)
        # Rows beyond the first of each; weights below one make rows uncertain, not fewer.
        copies = max(weights.sum() - len(weights), 0.0)
        shape, parts = 1.0 + 0.5 * (len(weights) + copies), NOISES / (1.0 + NOISES)
        distances = cdist(self.X, self.X)
        settings, scores = [], []
        for length in LENGTHS * spread:
            correlations = _correlation(distances, length) * np.outer(roots, roots)
            values, vectors = eigh(correlations)
            turned = vectors.T @ z
            spectra = (np.maximum(values, 0.0) + NOISES[:, None]) / (1.0 + NOISES[:, None])
            squares = (1.0 / spectra) @ (turned**2 + LEAST_ERROR**2)
            squares += copies * (LEAST_ERROR**2 / parts)[:, None]
            rates = 1.0 + 0.5 * squares
            logs = np.log(spectra).sum(axis=1) + copies * np.log(parts)
            scores.append(-0.5 * logs[:, None] - shape * np.log(rates))
            settings.append((length, vectors, turned, spectra, rates / (shape - 1.0)))
        scores = np.array(scores)
        chances = np.exp(scores - scores.max(axis=(0, 1)))
        chances[chances < LEAST_PROBABILITY] = 0.0
        chances /= chances.sum(axis=(0, 1))
        self.settings = [
            (*each, of_noises)
            for each, of_noises in zip(settings, chances, strict=True)
            if of_noises.any()
        ]

    def moments(self, X):
        """Mean of the targets, and variances of the function and of the noise.

        Parameters
        ----------
        X : ndarray of shape (m, n_inputs)

        Returns
        -------
        mean, of_function, of_noise : ndarray of shape (m, n_targets)
        """
        if self.settings is None:
            self._learn()
        distances, roots = cdist(X, self.X), np.sqrt(self.weights)
        first, second, noise = (np.zeros((len(X), len(self.scale))) for _ in range(3))
        for length, vectors, turned, spectra, sizes, of_noises in self.settings:
            seen = (_correlation(distances, length) * roots) @ vectors
            for i in np.flatnonzero(of_noises.any(axis=1)):
                part = NOISES[i] / (1.0 + NOISES[i])
                projected = seen * (1.0 - part)
                mean = projected @ (turned / spectra[i][:, None])
                left = 1.0 - part - np.sum(projected**2 / spectra[i], axis=1)
                function = np.maximum(left, 0.0)[:, None] * sizes[i]
                first += of_noises[i] * mean
                second += of_noises[i] * (mean**2 + function)
                noise += of_noises[i] * part * sizes[i]
        function = np.maximum(second - first**2, 0.0)
        return self.location + self.scale * first, self.scale**2 * function, self.scale**2 * noise

    def log_densities_left_out(self):
        """Log-density of the targets of each row given all others, and the settings of all.

        With K the covariance of the rows, in units in which their weights are one,

            y_i | others ~ N(y_i - (K⁻¹y)_i / (K⁻¹)_ii, 1 / (K⁻¹)_ii).

        Returns
        -------
        log_densities : ndarray of shape (n, n_targets)
        """
        if self.settings is None:
            self._learn()
        total = np.full(self.targets.shape, -np.inf)
        for _, vectors, turned, spectra, sizes, of_noises in self.settings:
            for i in np.flatnonzero(of_noises.any(axis=1)):
                precisions = (vectors**2 @ (1.0 / spectra[i]))[:, None]
                gaps = vectors @ (turned / spectra[i][:, None]) / precisions
                variances = sizes[i] / precisions
                logs = -0.5 * (np.log(2.0 * np.pi * variances) + gaps**2 / variances)
                with np.errstate(divide="ignore"):
                    total = np.logaddexp(total, np.log(of_noises[i]) + logs)
        return total + 0.5 * np.log(self.weights)[:, None] - np.log(self.scale)

    def __call__(self, X):
        """The predictive distribution as a mixture of Gaussians.

        Parameters
        ----------
        X : ndarray of shape (m, n_inputs)

        Returns
        -------
        weights : ndarray of shape (n_gaussians,)
        means, variances : ndarray of shape (m, n_targets, n_gaussians)
        """
        mean, function, noise = self.moments(X)
        variances = noise[..., None] + FACTORS * function[..., None]
        return SHARES, np.broadcast_to(mean[..., None], variances.shape), variances


def _correlation(distances, length):
    return np.exp(-0.5 * (distances / length) ** 2)


class Unseen:
    """Rows that were seen, and what is predicted where none of them is near.

    Parameters
    ----------
    generator : numpy.random.Generator
        Chooses rows where there are too many.

    Examples
    --------
    >>> import numpy as np
    >>> unseen = Unseen(np.random.default_rng(0))
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> unseen.add(X, np.sin(X), np.ones(50))
    >>> chance, (weights, means, variances) = unseen(np.array([[0.5], [1.1], [2.0]]))
    >>> chance.round(2), means.shape
    (array([0.  , 0.74, 1.  ]), (2, 1, 2))
    """

    def __init__(self, generator):
        self.novelty, self.law = Novelty(generator), None

    def add(self, X, targets, weights):
        """Take in the rows of a table, or of a batch of a stream.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
            In units in which rows have distances; the same in every call.
        targets : ndarray of shape (n, n_targets)
        weights : ndarray of shape (n,)
            How many rows each row stands for.
        """
        self.novelty.add(X, np.column_stack([targets, weights]))
        told = self.novelty.told
        self.law = SmoothLaw(self.novelty.rows, told[:, :-1], told[:, -1])

    def __call__(self, X):
        """The weight of the predictions away from the rows, and these predictions.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)

        Returns
        -------
        chance : ndarray of shape (n,)
            Zero among the rows.
        gaussians : tuple of ndarray, or None
            What :class:`SmoothLaw` gives for the rows whose chance is not zero, if there are any.
        """
        chance = -np.expm1(-((self.novelty.excess(X) / SWITCH) ** 2))
        return chance, self.law(X[chance > 0]) if chance.any() else None


def draws_where_unseen(draws, chance, gaussians, generator):
    """Replace draws by draws of the prediction away from the rows, each with its probability.

    Draws are independent between rows.

    Parameters
    ----------
    draws : ndarray of shape (n, n_draws)
        Changed.
    chance, gaussians
        What :class:`Unseen` gives, for one target.
    generator : numpy.random.Generator
    """
    if gaussians is None:
        return
    weights, means, variances = gaussians
    shape = len(means), draws.shape[1]
    which = generator.choice(len(weights), size=shape, p=weights)
    drawn = np.take_along_axis(means[:, 0], which, axis=1)
    drawn += np.sqrt(np.take_along_axis(variances[:, 0], which, axis=1)) * (
        generator.standard_normal(shape)
    )
    rows = chance > 0
    unseen = generator.random(shape) < chance[rows, None]
    draws[rows] = np.where(unseen, drawn, draws[rows])


def where_unseen(known, chance, gaussians, target=0):
    """The prediction of a model, mixed with that away from the rows.

    Parameters
    ----------
    known : PredictiveMixture
        Of n rows.
    chance, gaussians
        What :class:`Unseen` gives for these rows.
    target : int, default=0
        Which of several.

    Returns
    -------
    law : PredictiveMixture
    """
    if gaussians is None:
        return known
    weights, *moments = gaussians
    # Rows near others get their own Gaussians once more, with weight 0.
    other = [
        np.repeat(part[:, :1], len(weights), axis=1) for part in (known.means, known.variances)
    ]
    for part, given in zip(other, moments, strict=True):
        part[chance > 0] = given[:, target]
    shares = np.column_stack([1.0 - chance, chance])
    return linear_pool([known, PredictiveMixture(weights, *other)], shares)

"""Laws of the target given the function: Gaussian noise, and classes by softmax.

A law says what a draw of the hidden layers leaves to be known: given it, the values of the
function at a row are independent normal variables, one a latent function, and the bound needs
the mean of the log density over them with its gradients in their means and variances.

The curvature, the mean of minus the second derivative of the log density, is the precision of
the pseudo-observation that stands for a row (:mod:`skbayesnn.dwp.sites`).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from skbayesnn._validation import location_and_scale
from skbayesnn.gaussian_process.evidence import LOG_2PI

_NODES, _MASSES = np.polynomial.hermite_e.hermegauss(20)
_MASSES = _MASSES / _MASSES.sum()
TRAINING_NODES, PREDICTION_NODES = 20, 500
"""Normal variables a latent function, where there are several: in a draw of a training step, and
over all draws of a prediction."""


@dataclass
class Expected:
    """Minus the mean log density of a batch, with its gradients.

    Attributes
    ----------
    loss : float
        A weighted sum over rows.
    d_means, d_variances : ndarray of shape (n, n_targets)
    curvature : ndarray of shape (n, n_targets)
        Times the weights, too.
    d_log_noise : ndarray of shape (n_noises,)
    """

    loss: float
    d_means: np.ndarray
    d_variances: np.ndarray
    curvature: np.ndarray
    d_log_noise: np.ndarray


class Gaussian:
    """Normal noise of one variance a target; its means are in closed form."""

    n_noise_rows = None
    """Every row has random numbers of its own in a step of training."""

    @staticmethod
    def n_noises(n_targets):
        """How many log noise variances there are."""
        return n_targets

    @staticmethod
    def regression_targets(Y, weights, n_targets):
        """What a Gaussian process can be fitted to: the targets themselves."""
        return Y

    @staticmethod
    def draw_nodes(generator, n_draws, n_targets, n_nodes):
        """None: no random numbers are needed."""
        return None

    @staticmethod
    def expected(means, variances, Y, weights, log_noise, nodes):
        """See :class:`Expected`; Y are the targets, (n, n_targets)."""
        precision, total = np.exp(-log_noise), weights.sum()
        residuals = means - Y
        squares = weights @ (residuals**2 + variances)
        loss = 0.5 * (total * (LOG_2PI * len(precision) + log_noise.sum()) + precision @ squares)
        curvature = np.multiply.outer(weights, precision)
        d_log_noise = 0.5 * (total - precision * squares)
        return Expected(loss, curvature * residuals, 0.5 * curvature, curvature, d_log_noise)

    @staticmethod
    def log_densities(means, variances, Y, log_noise, nodes):
        """Log density of each row, all targets, in the mixture over draws.

        Parameters
        ----------
        means, variances : ndarray of shape (n_draws, n_targets, n)
        Y : ndarray of shape (n, n_targets)
        log_noise : ndarray of shape (n_targets,)
        nodes : None

        Returns
        -------
        log_densities : ndarray of shape (n,)
        """
        variances = variances + np.exp(log_noise)[:, None]
        terms = -0.5 * (LOG_2PI + np.log(variances) + (Y.T - means) ** 2 / variances)
        return (logsumexp(terms, axis=0) - np.log(len(terms))).sum(axis=0)


@dataclass(frozen=True)
class Softmax:
    """Classes, whose log odds are latent functions plus a constant.

    With two classes there is one latent function, the log odds of the second, and means over it
    are by Gauss–Hermite quadrature; else there is one a class, and means are over normal
    variables, each with its negative. Targets Y are (n, n_classes), one where the class is.

    Attributes
    ----------
    offsets : tuple of float
        The constants, one a latent function: the functions are zero a priori, and classes then
        have their frequencies. None for equal frequencies.
    """

    offsets: tuple = ()

    n_noise_rows: ClassVar = 1
    """All rows share random numbers, so that a row of weight k is k equal rows to the last bit but
    for rounding. The bound is a mean over each row's own law, which sharing leaves as it is."""

    @staticmethod
    def n_noises(n_targets):
        """None: the law has no noise of its own."""
        return 0

    @staticmethod
    def regression_targets(Y, weights, n_targets):
        """What a Gaussian process can be fitted to: indicators of the classes, standardised.

        Their regression has the length scales of the classes' borders, or nearly so.
        """
        indicators = Y[:, Y.shape[1] - n_targets :]
        location, scale = location_and_scale(indicators, "y", weights)
        return (indicators - location) / scale

    @staticmethod
    def draw_nodes(generator, n_draws, n_targets, n_nodes):
        """Normal variables for the mean over the latent functions, which all rows share.

        Returns
        -------
        nodes : ndarray of shape (n_draws, n_targets, n_nodes, 1), or None
            None with one latent function.
        """
        if n_targets == 1:
            return None
        half = generator.standard_normal((n_draws, n_targets, -(-n_nodes // 2), 1))
        return np.concatenate([half, -half], axis=2)

    def _log_p(self, means, variances, n_classes, nodes):
        """Log probabilities (n_classes, n_nodes, n); nodes, their masses, deviations.

        Rows come last: sums over the few classes are then sums of long vectors.
        """
        if nodes is None:
            nodes, masses = _NODES[:, None], _MASSES
        else:
            masses = np.full(nodes.shape[-2], 1.0 / nodes.shape[-2])
        deviations = np.sqrt(variances)
        if self.offsets:
            means = means + np.array(self.offsets)[:, None]
        values = means[:, None] + deviations[:, None] * nodes
        known = np.zeros((n_classes - len(means), *values.shape[1:]))
        values = np.concatenate([known, values])
        values -= values.max(axis=0)
        values -= np.log(np.exp(values).sum(axis=0))
        return values, nodes, masses, deviations

    def expected(self, means, variances, Y, weights, log_noise, nodes):
        """See :class:`Expected`; the gradients are those of the mean over the nodes."""
        indicators = Y.T[:, None]
        log_p, nodes, masses, deviations = self._log_p(means.T, variances.T, Y.shape[1], nodes)
        loss = -(masses @ (log_p * indicators).sum(axis=0)) @ weights
        first = Y.shape[1] - means.shape[1]
        p = np.exp(log_p[first:])
        residuals = p - indicators[first:]
        d_means = weights * np.einsum("s,tsn->tn", masses, residuals)
        d_variances = weights * np.einsum("s,tsn->tn", masses, residuals * nodes)
        d_variances *= 0.5 / deviations
        curvature = weights * np.einsum("s,tsn->tn", masses, p * (1.0 - p))
        return Expected(float(loss), d_means.T, d_variances.T, curvature.T, np.empty(0))

    def probabilities(self, means, variances, n_classes, nodes):
        """Class probabilities in the mixture over draws.

        Parameters
        ----------
        means, variances : ndarray of shape (n_draws, n_targets, n)
        n_classes : int
        nodes : ndarray of shape (n_draws, n_targets, n_nodes, 1), or None

        Returns
        -------
        probabilities : ndarray of shape (n, n_classes)
        """
        total = 0.0
        for d in range(len(means)):
            own = None if nodes is None else nodes[d]
            log_p, _, masses, _ = self._log_p(means[d], variances[d], n_classes, own)
            total = total + np.einsum("s,csn->nc", masses, np.exp(log_p))
        return total / total.sum(axis=1, keepdims=True)

    def log_densities(self, means, variances, Y, log_noise, nodes):
        """Log probability of each row's class; parameters as in :class:`Gaussian`."""
        p = self.probabilities(means, variances, Y.shape[1], nodes)
        return np.log(np.maximum((p * Y).sum(axis=1), 1e-300))

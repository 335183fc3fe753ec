"""Laws of the target given what a head says, on the side of numpy.

A head is affine, with one or more columns a target, and has parameters that all rows share. For
each target the columns of a regression head are

- "gaussian": the mean; shared, a log variance;
- "student_t": the location and a log scale; shared, the degrees of freedom;
- "mixture": for each component a logit, a mean and a log scale; "heteroscedastic" is the mixture
  of one.

Scales that depend on the inputs are ``LEAST_SCALE + exp(log scale)``: where targets repeat
exactly, the density of a mixture has no bound without it. The gradients are in
:mod:`skbayesnn.udn.adjoints`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, log_softmax, logsumexp, ndtri, roots_genlaguerre

from skbayesnn.udn.adjoints import LEAST_SCALE

SOFTMAX, GAUSSIAN, MIXTURE, STUDENT_T = 0, 1, 2, 3
VARIANCE_UNIT = np.float32(8.0)
"""Shared parameters are kept in this unit, so that steps of Adam move them fast enough."""
BIAS_SCALE = 10.0
"""Prior standard deviation of the offsets of regression heads and of what rows share."""
SCALE_NODES = 10
"""Gaussians that stand for a Student's t in predictions."""


@dataclass(frozen=True)
class Likelihood:
    """Sizes of a head, and what its outputs mean.

    Parameters
    ----------
    name : {"softmax", "gaussian", "heteroscedastic", "student_t", "mixture"}
    n_targets : int
        Regression targets, or classes.
    n_components : int, default=1
        Gaussians of a mixture.
    """

    name: str
    n_targets: int
    n_components: int = 1

    @property
    def code(self):
        """The law's number, for kernels."""
        codes = {"softmax": SOFTMAX, "gaussian": GAUSSIAN, "student_t": STUDENT_T}
        return codes.get(self.name, MIXTURE)

    @property
    def n_columns(self):
        """Outputs of a head for each target."""
        return {MIXTURE: 3 * self.n_components, STUDENT_T: 2}.get(self.code, 1)

    @property
    def n_outputs(self):
        """Outputs of a head."""
        return self.n_targets * self.n_columns

    @property
    def n_shared(self):
        """Parameters of a head that do not meet the inputs."""
        return self.n_targets if self.code in (GAUSSIAN, STUDENT_T) else 0

    def start(self):
        """Offsets and shared parameters of the first head.

        Components start side by side at quantiles of a standard normal, so that they differ.
        """
        offsets = np.zeros((self.n_targets, self.n_columns))
        k = self.n_components
        if self.code == MIXTURE:
            offsets[:, k : 2 * k] = ndtri((np.arange(k) + 0.5) / k)
            offsets[:, 2 * k :] = np.log(1.0 / np.sqrt(k))
        shared = np.full(self.n_shared, np.log(9.0) if self.code == STUDENT_T else 0.0)
        return np.concatenate([offsets.ravel(), shared / VARIANCE_UNIT])

    def precision(self):
        """Prior precision of offsets and shared parameters; None for that of other weights."""
        if self.code == SOFTMAX:
            return None
        precision = np.full(self.n_outputs + self.n_shared, BIAS_SCALE**-2)
        precision[self.n_outputs :] *= float(VARIANCE_UNIT) ** 2
        return precision

    def gaussians(self, outputs, shared):
        """The law as Gaussians, for every depth, row and target.

        Parameters
        ----------
        outputs : ndarray of shape (depth, n, n_outputs)
        shared : ndarray of shape (depth, n_shared)

        Returns
        -------
        log_weights, means, log_variances : ndarray of shape (depth, n, n_targets, n_gaussians)
        """
        columns = outputs.reshape(*outputs.shape[:2], self.n_targets, self.n_columns)
        k = self.n_components
        if self.code == MIXTURE:
            log_weights = log_softmax(columns[..., :k], axis=-1)
            scales = LEAST_SCALE + np.exp(columns[..., 2 * k :])
            return log_weights, columns[..., k : 2 * k], 2.0 * np.log(scales)
        if self.code == GAUSSIAN:
            log_variances = np.broadcast_to(shared[:, None, :, None], columns.shape)
            return np.zeros_like(columns), columns, log_variances
        log_weights = np.empty((*columns.shape[:3], SCALE_NODES))
        log_variances = np.empty_like(log_weights)
        scales = LEAST_SCALE + np.exp(columns[..., 1])
        for (d, t), a in np.ndenumerate(shared):
            half = 0.5 * (1.0 + np.exp(a))
            nodes, weights = roots_genlaguerre(SCALE_NODES, half - 1.0)
            log_weights[d, :, t] = np.log(weights / weights.sum())
            log_variances[d, :, t] = 2.0 * np.log(scales[d, :, t, None]) - np.log(nodes / half)
        return log_weights, np.broadcast_to(columns[..., :1], log_weights.shape), log_variances

    def log_densities(self, outputs, shared, targets):
        """Log density, or log probability, of every row under each depth.

        Parameters
        ----------
        outputs : ndarray of shape (depth, n, n_outputs)
        shared : ndarray of shape (depth, n_shared)
        targets : ndarray of shape (n, n_targets) or (n, 1)
            Regression targets, or class numbers.

        Returns
        -------
        log_densities : ndarray of shape (depth, n)
        """
        if self.code == SOFTMAX:
            codes = np.asarray(targets)[:, 0].astype(int)
            return log_softmax(outputs, axis=2)[:, np.arange(len(codes)), codes]
        if self.code == STUDENT_T:
            columns = outputs.reshape(*outputs.shape[:2], self.n_targets, 2)
            scales = LEAST_SCALE + np.exp(columns[..., 1])
            dof = 1.0 + np.exp(shared)[:, None, :]
            u = ((targets - columns[..., 0]) / scales) ** 2 / dof
            constant = gammaln(0.5 * dof + 0.5) - gammaln(0.5 * dof) - 0.5 * np.log(dof * np.pi)
            return (constant - np.log(scales) - 0.5 * (dof + 1.0) * np.log1p(u)).sum(axis=2)
        log_weights, means, log_variances = self.gaussians(outputs, shared)
        squares = (means - np.asarray(targets)[None, :, :, None]) ** 2
        terms = squares * np.exp(-log_variances) + log_variances + np.log(2.0 * np.pi)
        return logsumexp(log_weights - 0.5 * terms, axis=3).sum(axis=2)

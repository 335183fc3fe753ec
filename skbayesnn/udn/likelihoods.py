"""Distributions of the target given the output of a head (numpy part).

A head is affine, with one or more columns for each target, and has parameters that all rows share.
For each target, the columns of a regression head are

- "gaussian": the mean;
- "student_t": the location and a log scale; shared, the degrees of freedom;
- "mixture": for each component a logit, an offset and a log scale, and one location to which
  the offsets are added; "heteroscedastic" is the mixture with one component.

The first shared parameters are a log variance for each target, the noise. It is the variance of
"gaussian", and in the other distributions it is added to the variance of every row and component.
It stands for what the network does not know of the function, in addition to the noise that depends
on the inputs. A thousandth of the target's spread is always added (``LEAST_VARIANCE``): otherwise
the density of a mixture would have no bound if targets repeat exactly. The gradients are in
:mod:`skbayesnn.udn.adjoints`.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, log_softmax, ndtri

from skbayesnn.numerics.student_t import MASSES, student_variances
from skbayesnn.udn.adjoints import LEAST_VARIANCE

SOFTMAX, GAUSSIAN, MIXTURE, STUDENT_T = 0, 1, 2, 3
VARIANCE_UNIT = np.float32(8.0)
"""Shared parameters are kept in this unit, so that steps of Adam move them fast enough."""
BIAS_SCALE = 10.0
"""Prior standard deviation of the offsets of regression heads and of what rows share."""
START_SPREAD, START_LOG_SCALE = 0.3, -2.0
"""Where components start: near each other and narrow beside the noise that rows share, so that
the mean is learned before the shape."""
WIDE_LOGIT, WIDE_LOG_SCALE = -3.0, 0.7
"""The last component starts rare and wide. Where none is, the first outliers raise the noise that
rows share until it drowns the components, the mean is never learned, and nothing leads back."""
SHAPE_PRECISION = 5.0
"""Factor on the prior precision of the slopes of all but the location: with that of the location,
the shape follows single rows long before the mean is learned."""


def log_sum_exp(terms, axis):
    """Logarithm of a sum of exponentials: scipy's, for finite terms, in a third of its time."""
    highest = terms.max(axis=axis, keepdims=True)
    return np.log(np.exp(terms - highest).sum(axis=axis)) + highest.squeeze(axis)


def log_mean(log_densities, q):
    """Log density of each row under all depths together.

    Parameters
    ----------
    log_densities : ndarray of shape (depth, n)
    q : ndarray of shape (depth,)
        Probability of each depth; zeros may be among them.
    """
    some = q > 0
    return log_sum_exp(log_densities[some] + np.log(q[some, None]), axis=0)


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
        """The law's number."""
        codes = {"softmax": SOFTMAX, "gaussian": GAUSSIAN, "student_t": STUDENT_T}
        return codes.get(self.name, MIXTURE)

    @property
    def branches(self):
        """For kernels: numbers of classes and components, ones for Student's t and a Gaussian.

        All but one are None: numba compiles no branch that asks whether an argument is None,
        and is not taken.
        """
        return (
            self.n_targets if self.code == SOFTMAX else None,
            self.n_components if self.code == MIXTURE else None,
            1 if self.code == STUDENT_T else None,
            1 if self.code == GAUSSIAN else None,
        )

    @property
    def terms(self):
        """Shape of what :func:`skbayesnn.udn.adjoints.mixture_log_loss` works in."""
        return 3, self.n_components

    @property
    def n_columns(self):
        """Outputs of a head for each target."""
        return {MIXTURE: 3 * self.n_components + 1, STUDENT_T: 2}.get(self.code, 1)

    @property
    def n_outputs(self):
        """Outputs of a head."""
        return self.n_targets * self.n_columns

    @property
    def n_shared(self):
        """Parameters of a head that do not meet the inputs."""
        return self.n_targets * {SOFTMAX: 0, STUDENT_T: 2}.get(self.code, 1)

    def start(self):
        """Offsets and shared parameters of the first head.

        Components start side by side at quantiles of a standard normal, so that they differ; the
        last of several is the wide one.
        """
        offsets = np.zeros((self.n_targets, self.n_columns))
        k = self.n_components
        if self.code == MIXTURE:
            near = max(1, k - 1)
            offsets[:, k : k + near] = START_SPREAD * ndtri((np.arange(near) + 0.5) / near)
            offsets[:, 2 * k : 3 * k] = START_LOG_SCALE
            if k > near:
                offsets[:, near], offsets[:, 2 * k + near] = WIDE_LOGIT, WIDE_LOG_SCALE
        shared = np.zeros(self.n_shared)
        shared[: self.n_targets] = self.first_noise
        shared[self.n_targets :] = np.log(9.0)
        return np.concatenate([offsets.ravel(), shared / VARIANCE_UNIT])

    def slope_factors(self):
        """Factor on the prior precision of the slopes of each output: 1 for the location."""
        factors = np.full((self.n_targets, self.n_columns), SHAPE_PRECISION)
        factors[:, -1 if self.code == MIXTURE else 0] = 1.0
        return factors.ravel()

    @property
    def first_noise(self):
        """Log of the noise that rows share, at the start."""
        return 0.0 if self.code == GAUSSIAN else -1.0

    def precision(self, learn_noise):
        """Prior precision of offsets and shared parameters; None for that of other weights."""
        if self.code == SOFTMAX:
            return None
        precision = np.full(self.n_outputs + self.n_shared, BIAS_SCALE**-2)
        precision[self.n_outputs :] *= float(VARIANCE_UNIT) ** 2
        precision[self.n_outputs :][: self.n_targets] *= learn_noise
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
            logits = columns[..., :k]
            log_weights = logits - log_sum_exp(logits, axis=-1)[..., None]
            means = columns[..., k : 2 * k] + columns[..., -1:]
            return log_weights, means, self._log_squares(columns[..., 2 * k : 3 * k], shared)
        if self.code == GAUSSIAN:
            log_variances = np.broadcast_to(shared[:, None, :, None], columns.shape)
            return np.zeros_like(columns), columns, log_variances
        log_weights = np.empty((*columns.shape[:3], len(MASSES)))
        log_variances = np.empty_like(log_weights)
        log_squares = self._log_squares(columns[..., 1:], shared)
        for (d, t), a in np.ndenumerate(shared[:, self.n_targets :]):
            log_weights[d, :, t] = np.log(MASSES)
            spread = student_variances(1.0 + np.exp(a))
            log_variances[d, :, t] = log_squares[d, :, t] + np.log(spread)
        return log_weights, np.broadcast_to(columns[..., :1], log_weights.shape), log_variances

    def _log_squares(self, log_scales, shared):
        """Logarithms of squared scales that depend on the inputs."""
        noise = np.exp(shared[:, None, : self.n_targets, None]) + LEAST_VARIANCE
        return np.log(np.exp(2.0 * log_scales) + noise)

    def noise_curve(self, outputs, shared, log_noises, targets, weights):
        """Log-likelihood of rows under each depth, for several values of the noise that they share.

        What :meth:`log_densities` would give for each value, summed over the rows, at a
        fraction of its time: what does not depend on the noise is found once.

        Parameters
        ----------
        outputs : ndarray of shape (depth, n, n_outputs)
        shared : ndarray of shape (depth, n_shared)
            All that rows share; the noise in it is not looked at.
        log_noises : ndarray of shape (n_values, depth, n_targets)
        targets : ndarray of shape (n, n_targets)
        weights : ndarray of shape (n,)

        Returns
        -------
        log_likelihoods : ndarray of shape (n_values, depth, n_targets)
        """
        if self.code != MIXTURE:
            given = [np.concatenate([v, shared[:, self.n_targets :]], axis=1) for v in log_noises]
            return np.stack(
                [
                    np.tensordot(weights, self.log_densities(outputs, each, targets), axes=(0, 1))
                    for each in given
                ]
            )
        k = self.n_components
        columns = outputs.reshape(*outputs.shape[:2], self.n_targets, self.n_columns)
        columns = np.ascontiguousarray(np.moveaxis(columns, 3, 0))  # components first: long loops
        logits = columns[:k] - columns[:k].max(axis=0)
        squares = (columns[k : 2 * k] + columns[-1] - targets) ** 2
        own = np.exp(2.0 * columns[2 * k : 3 * k])
        noises = np.exp(log_noises[:, None, :, None]) + LEAST_VARIANCE
        variances = own + noises
        terms = squares / variances
        terms += np.log(variances)
        terms *= -0.5
        terms += logits
        highest = terms.max(axis=1)
        terms -= highest[:, None]
        values = np.log(np.exp(terms, out=terms).sum(axis=1)) + highest
        values -= np.log(np.exp(logits).sum(axis=0)) + 0.5 * np.log(2.0 * np.pi)
        return np.tensordot(values, weights, axes=(2, 0))

    def log_densities(self, outputs, shared, targets):
        """Log density, or log probability, of every row and target under each depth.

        Parameters
        ----------
        outputs : ndarray of shape (depth, n, n_outputs)
        shared : ndarray of shape (depth, n_shared)
        targets : ndarray of shape (n, n_targets) or (n, 1)
            Regression targets, or class numbers.

        Returns
        -------
        log_densities : ndarray of shape (depth, n, n_targets), or (depth, n, 1) of classes
        """
        if self.code == SOFTMAX:
            codes = np.asarray(targets)[:, 0].astype(int)
            return log_softmax(outputs, axis=2)[:, np.arange(len(codes)), codes, None]
        if self.code == STUDENT_T:
            columns = outputs.reshape(*outputs.shape[:2], self.n_targets, 2)
            log_squares = self._log_squares(columns[..., 1:], shared)[..., 0]
            dof = 1.0 + np.exp(shared[:, None, self.n_targets :])
            u = (targets - columns[..., 0]) ** 2 * np.exp(-log_squares) / dof
            constant = gammaln(0.5 * dof + 0.5) - gammaln(0.5 * dof) - 0.5 * np.log(dof * np.pi)
            return constant - 0.5 * (log_squares + (dof + 1.0) * np.log1p(u))
        log_weights, means, log_variances = self.gaussians(outputs, shared)
        squares = (means - np.asarray(targets)[None, :, :, None]) ** 2
        terms = squares * np.exp(-log_variances) + log_variances + np.log(2.0 * np.pi)
        return log_sum_exp(log_weights - 0.5 * terms, axis=3)


def best_temperature(logits, q, codes, weights):
    """What logits are best divided by, for the log loss of these rows; at least 1.

    Not below: training stopped where held-out rows were predicted best, so that they look easier
    than they are.

    Parameters
    ----------
    logits : ndarray of shape (depth, n, n_classes)
    q : ndarray of shape (depth,)
        Probability of each depth.
    codes, weights : ndarray of shape (n,)
        Class number and weight of each row.
    """

    def loss(log_temperature):
        log_p = log_softmax(logits / np.exp(log_temperature), axis=2)
        return -weights @ log_mean(log_p[:, np.arange(len(codes)), codes], q)

    return float(np.exp(minimize_scalar(loss, bounds=(0, 3)).x))

"""Families of standardised noise, each a mixture of Gaussians with a few parameters.

What is left of a target is σ(x) ε (:mod:`skbayesnn.gaussian_process.noise`). Here are the laws that
ε may have: Student's t, which may be skewed, and a mixture of two or three Gaussians, for two
modes, for noise of two scales, or with an edge. Logits of the latter may be linear in features of a
row, as those of a mixture of experts are (Jacobs, Jordan, Nowlan and Hinton, Neural Computation 3,
1991). Not in any of the papers.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import softmax

from skbayesnn.numerics.student_t import MASSES, student_variances

MOST_SKEWED = 100.0
"""The constant c, up to which v skews the noise."""
SKEW_RIDGE = 1.0
"""Precision of the prior of a and b."""
CHANCE_RIDGE, SHIFT_RIDGE, WIDTH_RIDGE = 0.25, 0.1, 0.1
"""Those of the logits, the shifts and the log variances of a mixture."""
LOG_VARIANCES = -5.0, 4.0
"""Bounds of the latter: a density that may be narrow without bound would put spikes on rows."""


@dataclass(frozen=True)
class SkewT:
    """Student's t: ε = a + b min(v, c) + √v z, 1/v ~ Gamma(κ/2, rate κ/2); parameters a and b.

    Attributes
    ----------
    degrees : float
        κ; infinity is a Gaussian.
    skewed : bool
        Whether a and b are not zero.
    """

    degrees: float
    skewed: bool = False

    name = "student_t"
    n_gates = 1
    bounds = ((None, None),) * 2

    @property
    def complications(self):
        """How many complications it is, of which each has to be favoured by some nats."""
        return int(self.skewed)

    def ridges(self):
        """Precisions of the normal prior of the parameters; an infinite one says that it is 0."""
        return np.full(2, SKEW_RIDGE if self.skewed else np.inf)

    def components(self, parameters, design):
        """Probabilities, shifts and variances of the Gaussians.

        Parameters
        ----------
        parameters : ndarray of shape (n_parameters,)
        design : ndarray of shape (n, n_features)
            Features of rows, which probabilities may depend on.

        Returns
        -------
        chances : ndarray of shape (K,) or (n, K)
        shifts, variances : ndarray of shape (K,)
        """
        v, (shift, skew) = student_variances(self.degrees), parameters
        return MASSES, shift + skew * np.minimum(v, MOST_SKEWED), v

    def pull(self, parameters, design, masses, by_shifts, by_log_variances):
        """The derivative with respect to the parameters.

        Parameters
        ----------
        parameters, design
            As above.
        masses : ndarray of shape (n, K)
            Derivatives with respect to the logs of the probabilities, were they independent.
        by_shifts, by_log_variances : ndarray of shape (K,)
            Those with respect to the shifts and the log variances of the Gaussians.

        Returns
        -------
        gradient : ndarray of shape (n_parameters,)
        """
        v = student_variances(self.degrees)
        return np.array([by_shifts.sum(), by_shifts @ np.minimum(v, MOST_SKEWED)])


@dataclass(frozen=True)
class Mixture:
    """A mixture of Gaussians; parameters are their logits, shifts and log variances.

    Attributes
    ----------
    size : int
        Number of Gaussians.
    narrowest : float, default=-inf
        The least log variance, where :data:`LOG_VARIANCES` allows a smaller one: targets that are
        rounded say nothing of smaller errors.
    n_gates : int, default=1
        Features that the logits are linear in; the first is one.
    gate_ridge : float, default=1.0
        Precision of the prior of their slopes.
    """

    size: int
    narrowest: float = -np.inf
    n_gates: int = 1
    gate_ridge: float = 1.0

    name = "mixture"

    @property
    def bounds(self):
        """Bounds of the parameters."""
        low, high = LOG_VARIANCES
        free = ((None, None),) * (self.size * (self.n_gates + 1))
        return free + ((max(low, self.narrowest), high),) * self.size

    @property
    def complications(self):
        """As in :class:`SkewT`."""
        return self.size - 1 + (self.n_gates > 1)

    def ridges(self):
        """As in :class:`SkewT`."""
        ridges = CHANCE_RIDGE, self.gate_ridge, SHIFT_RIDGE, WIDTH_RIDGE
        return np.repeat(ridges, self.size * np.array([1, self.n_gates - 1, 1, 1]))

    def starts(self):
        """Parameters to start a search from: modes, and scales; probabilities are constant."""
        places = np.linspace(-1.0, 1.0, self.size)
        narrow = np.full(self.size, np.log(0.3))
        yield np.concatenate([np.zeros(self.size), places, narrow])
        yield np.concatenate([-places, np.zeros(self.size), 1.5 * places - 0.5])

    def gated(self, parameters, n_gates, gate_ridge):
        """The family with probabilities that depend on features, and parameters to start from."""
        slopes = np.zeros((n_gates - 1) * self.size)
        family = replace(self, n_gates=n_gates, gate_ridge=gate_ridge)
        return family, np.insert(parameters, self.size, slopes)

    def _parts(self, parameters):
        logits, shifts, log_variances = np.split(parameters, [-2 * self.size, -self.size])
        return logits.reshape(self.n_gates, self.size), shifts, log_variances

    def components(self, parameters, design):
        """As in :class:`SkewT`."""
        gates, shifts, log_variances = self._parts(parameters)
        chances = softmax(gates[0] if self.n_gates == 1 else self._gates(design) @ gates, axis=-1)
        return chances, shifts, np.exp(log_variances)

    def _gates(self, design):
        return design[:, : self.n_gates]

    def pull(self, parameters, design, masses, by_shifts, by_log_variances):
        """As in :class:`SkewT`."""
        chances = self.components(parameters, design)[0]
        by_logits = masses - masses.sum(axis=1, keepdims=True) * chances
        by_gates = self._gates(design).T @ by_logits
        return np.concatenate([by_gates.ravel(), by_shifts, by_log_variances])

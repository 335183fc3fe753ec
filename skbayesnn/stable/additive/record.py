"""The state of a chain of the additive model, and the record of its draws."""

from dataclasses import dataclass, replace

import numpy as np

from skbayesnn.stable.noise.rows import RowNoise


@dataclass(kw_only=True)
class AdditiveState(RowNoise):
    """The state of a chain: all that it needs to continue.

    Attributes
    ----------
    alpha, log_noise, log_amplitude : float
        α, log σ², and the log variance of g.
    log_nu : ndarray of shape (n_axes,)
    log_variances, f : ndarray of shape (n_values,)
        log v and f_k at the values of all axes, one axis after the other.
    theta : ndarray of shape (n_basis,)
        Coefficients of g.
    g : ndarray of shape (n,)
        g at the rows.
    chances, spreads : ndarray of shape (n_axes,)
        Probability that a sweep updates an axis, and variance of its f_k in the last sweeps of the
        warm-up.
    n_sweeps, n_failed : int
        Number of sweeps so far, and of joint draws that failed.
    """

    alpha: float
    log_noise: float
    log_amplitude: float
    log_nu: np.ndarray
    log_variances: np.ndarray
    f: np.ndarray
    theta: np.ndarray
    g: np.ndarray
    chances: np.ndarray
    spreads: np.ndarray
    n_sweeps: int = 0
    n_failed: int = 0


_OF_SWEEPS = "f", "parts", "log_nu", "log_factors", "numbers"


@dataclass
class AdditiveRecord:
    """The record of a chain after its warm-up.

    Attributes
    ----------
    mode : int
        Number of the chain's mode.
    thin : int
        Sweeps per draw.
    monitored : ndarray of int
        Rows at which f and g are monitored.
    places : ndarray of int, shape (3, n_axes)
        Values at which each f_k is monitored.
    draws : dict of str to ndarray of shape (n_draws, ...), float32
        f, log v, θ and β.
    f : ndarray of shape (n_sweeps, n_monitored)
    parts : ndarray of shape (n_sweeps, 3 * n_axes + n_monitored)
        Each f_k minus the mean of its three values, and g.
    log_nu : ndarray of shape (n_sweeps, n_axes)
    log_factors : ndarray of shape (n_sweeps, n_monitored)
        h; no columns if the noise is the same everywhere.
    numbers : ndarray of shape (n_sweeps, 4)
        log σ², α, the inverse of the degrees of freedom, and log a.
    """

    mode: int
    thin: int
    monitored: np.ndarray
    places: np.ndarray
    draws: dict
    f: np.ndarray
    parts: np.ndarray
    log_nu: np.ndarray
    log_factors: np.ndarray
    numbers: np.ndarray

    @property
    def log_noise(self):
        return self.numbers[:, 0]

    @property
    def n_draws(self):
        return len(self.draws["f"])

    def first(self, n_draws):
        """The record of the first draws, at least one."""
        n_sweeps = n_draws * self.thin
        return replace(
            self,
            draws={name: values[:n_draws] for name, values in self.draws.items()},
            **{name: getattr(self, name)[:n_sweeps] for name in _OF_SWEEPS},
        )

    def write(self, sweep, state, fit):
        """Record the state after a sweep."""
        at = state.f[self.places]
        self.f[sweep] = fit[self.monitored]
        self.parts[sweep, : at.size] = (at - at.mean(axis=0)).ravel()
        self.parts[sweep, at.size :] = state.g[self.monitored]
        self.log_nu[sweep] = state.log_nu
        if self.log_factors.shape[1]:
            self.log_factors[sweep] = state.log_factors[self.monitored]
        self.numbers[sweep] = (
            state.log_noise, state.alpha, 1.0 / state.degrees, state.log_amplitude
        )  # fmt: skip
        if (sweep + 1) % self.thin == 0:
            for name, values in self.draws.items():
                values[sweep // self.thin] = getattr(state, name)

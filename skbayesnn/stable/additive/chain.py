"""One Markov chain of the model for tables.

A sweep draws g given the rest (:mod:`dense`), then each f_k in random order with its ν_k
(:mod:`axes`), then the levels of the f_k, the index α, and the noise (:mod:`noise`). Every few
sweeps all parts are drawn at once (:mod:`joint`) where there are not too many rows.
"""

from math import log
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from skbayesnn.numerics.stable_laws import positive_stable_table
from skbayesnn.stable.additive.axes import (
    log_half_cauchy,
    log_prior_of_variances,
    move_levels,
    update_axis,
)
from skbayesnn.stable.additive.dense import update_dense
from skbayesnn.stable.additive.joint import parts_given_variances
from skbayesnn.stable.additive.noise import DEGREES, log_constants, update_noise
from skbayesnn.stable.hyper import ALPHAS
from skbayesnn.stable.updates import draw_log_noise

MAX_JOINT = 1200
"""Rows up to which all parts are drawn at once every few sweeps."""

_SWEEPS_A_JOINT_DRAW = 4
_MOVES = 3
_EULER = 0.5772156649015329


class Prior(NamedTuple):
    """What is known; None is sampled.

    Attributes
    ----------
    alpha : float or None
    log_nu, log_amplitude, log_noise : float or None
        Half-Cauchy priors of ν_k, of the variance a of g, and of σ².
    degrees : float or None
        Of freedom of the noise: infinity is Gaussian noise.
    """

    alpha: float | None = None
    log_nu: float | None = None
    log_amplitude: float | None = None
    log_noise: float | None = None
    degrees: float | None = None


class Model:
    """What all chains of a fit share.

    Parameters
    ----------
    axes : list of Axis
    basis : DenseBasis or None
    y, weights : ndarray of shape (n,)
        Standardised targets, and sample weights above zero.
    prior : Prior

    Attributes
    ----------
    starts, ends : ndarray of int, shape (n_axes,)
        Where each axis has its values in arrays of all, one after the other.
    joint : bool
        Whether all parts are drawn at once now and then.
    """

    def __init__(self, axes, basis, y, weights, prior):
        self.axes, self.basis, self.y, self.weights, self.prior = axes, basis, y, weights, prior
        self.n_rows = float(weights.sum())
        sizes = np.array([axis.values.size for axis in axes])
        self.ends = np.cumsum(sizes)
        self.starts = self.ends - sizes
        self.log_masses = np.concatenate([axis.log_masses for axis in axes])
        self.n_basis = 0 if basis is None else basis.squares.size
        self.joint = y.size <= MAX_JOINT
        self.gram = basis.train @ basis.train.T if basis is not None and self.joint else None
        # The mean of log q under the masses, for each axis: that of a typical cell.
        self.typical = np.array([np.exp(a.log_masses) @ a.log_masses for a in axes])

    def parts(self):
        """Each axis, and its place in arrays of all."""
        for axis, start, end in zip(self.axes, self.starts, self.ends, strict=True):
            yield axis, slice(start, end)

    def log_units(self, alpha, log_nu):
        """log(ν_k q^{2/α}) of all values."""
        return np.repeat(log_nu, self.ends - self.starts) + 2.0 / alpha * self.log_masses


class Chain:
    """State and sweeps of one chain; it starts at random, spread wide.

    Parameters
    ----------
    model : Model
    rng : numpy.random.Generator
    """

    def __init__(self, model, rng):
        self.model, self.rng, prior = model, rng, model.prior
        n_axes = len(model.axes)
        self.alpha = float(rng.choice(ALPHAS)) if prior.alpha is None else prior.alpha
        self.log_nu = (
            rng.normal(-2.0, 1.0, n_axes)
            if prior.log_nu is None
            else np.full(n_axes, float(prior.log_nu))
        )
        self.log_variances = model.log_units(self.alpha, self.log_nu)
        if self.alpha < 2.0:
            self.log_variances += np.abs(rng.normal(size=self.log_variances.size))
        self.log_amplitude = (
            rng.normal(-1.0, 1.0) if prior.log_amplitude is None else prior.log_amplitude
        )
        self.log_noise = rng.uniform(-4.0, 0.0) if prior.log_noise is None else prior.log_noise
        self.degrees = float(rng.choice(DEGREES)) if prior.degrees is None else prior.degrees
        self.precisions = model.weights.copy()
        self.f, self.theta = np.zeros(model.log_masses.size), np.zeros(model.n_basis)
        self.g = np.zeros(model.y.size)
        self.n_sweeps, self.n_failed = 0, 0
        self._constants = log_constants()
        self._sum_up()

    def sweep(self):
        """One sweep."""
        model, rng = self.model, self.rng
        if model.basis is not None:
            self._update_dense()
        for k in rng.permutation(len(model.axes)):
            self._update_axis(k)
        self._move_levels()
        if model.prior.alpha is None:
            for _ in range(_MOVES):
                self._move_alpha()
        self.n_sweeps += 1
        if model.joint and self.n_sweeps % _SWEEPS_A_JOINT_DRAW == 0:
            self._draw_jointly()
        # Sums of many changes drift.
        self._sum_up()
        self._update_noise()

    def _sum_up(self):
        self.fit = self.g.copy()
        for axis, part in self.model.parts():
            self.fit += self.f[part][axis.index]

    def _update_dense(self):
        model, prior = self.model, self.model.prior
        g, self.theta, self.log_amplitude, self.log_noise = update_dense(
            model.basis, model.y - self.fit + self.g, self.g, self.precisions, model.n_rows,
            self.log_amplitude, self.log_noise, prior.log_amplitude is None,
            prior.log_noise is None, 1 if model.joint else 4, self.rng,
        )  # fmt: skip
        self.fit += g - self.g
        self.g = g

    def _update_axis(self, k):
        model, prior = self.model, self.model.prior
        axis, part = model.axes[k], slice(model.starts[k], model.ends[k])
        a = self.alpha / 2.0 if self.alpha < 2.0 else 0.5
        width = max(1.0, np.pi * np.sqrt((1.0 / a**2 - 1.0) / 6.0))
        state = np.array([self.log_nu[k], self.log_noise])
        update_axis(
            model.y, self.fit, self.precisions, model.n_rows, axis.index, axis.log_masses,
            self.log_variances[part], self.f[part], state, self.alpha, positive_stable_table(a),
            width, self.alpha < 2.0, prior.log_nu is None, prior.log_noise is None, _MOVES,
            self.rng,
        )  # fmt: skip
        self.log_nu[k], self.log_noise = state

    def _move_levels(self):
        model = self.model
        shifts = np.empty(len(model.axes))
        outer = self.log_variances[model.starts]
        move_levels(self.f[model.starts], self.f[model.ends - 1], outer, self.rng, shifts)
        self.f += np.repeat(shifts, model.ends - model.starts)

    def _move_alpha(self):
        """A Metropolis step of α that keeps all v; each ν_k goes where typical v stay."""
        model, rng = self.model, self.rng
        step = round(rng.normal(scale=np.exp(rng.uniform(0.0, log(10.0)))))
        i = int(np.searchsorted(ALPHAS, self.alpha - 1e-9)) + step
        if not 0 <= i < ALPHAS.size:
            return
        alpha, log_nu = float(ALPHAS[i]), self.log_nu
        if model.prior.log_nu is None and rng.random() < 0.7:
            # E log s = γ (2/α - 1), with γ Euler's constant.
            change = 2.0 / self.alpha - 2.0 / alpha
            log_nu = log_nu + change * (model.typical + _EULER)
        old, new = (
            log_prior_of_variances(
                self.log_variances, model.log_masses, model.starts, nu, index,
                positive_stable_table(index / 2.0),
            )
            + sum(log_half_cauchy(x) for x in nu)
            for nu, index in ((self.log_nu, self.alpha), (log_nu, alpha))
        )  # fmt: skip
        if -rng.standard_exponential() < new - old:
            self.alpha, self.log_nu = alpha, log_nu

    def _draw_jointly(self):
        noise = np.exp(self.log_noise) / self.precisions
        try:
            self.f, self.theta = parts_given_variances(
                self.model, np.exp(self.log_variances), self.log_amplitude, noise, self.model.y,
                self.rng,
            )  # fmt: skip
        except LinAlgError:
            self.n_failed += 1
            return
        if self.model.basis is not None:
            self.g = self.model.basis.train @ self.theta

    def _update_noise(self):
        model, prior = self.model, self.model.prior
        residuals = model.y - self.fit
        if prior.degrees != np.inf:
            self.degrees, self.log_noise = update_noise(
                residuals, model.weights, model.n_rows, DEGREES, self._constants, self.degrees,
                self.log_noise, prior.degrees is None, prior.log_noise is None, _MOVES,
                self.precisions, self.rng,
            )  # fmt: skip
        if prior.log_noise is None:
            rss = float(self.precisions @ residuals**2)
            self.log_noise = draw_log_noise(self.log_noise, model.n_rows, rss, self.rng)

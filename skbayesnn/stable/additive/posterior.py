"""Fitting the model for tables, and the record of its draws with which it predicts."""

from typing import NamedTuple

import numpy as np

from skbayesnn.numerics.diagnostics import effective_sample_size, r_hat
from skbayesnn.numerics.stable_laws import positive_stable_table
from skbayesnn.stable.additive.axes import Axis
from skbayesnn.stable.additive.chain import Chain, Model
from skbayesnn.stable.additive.dense import DenseBasis
from skbayesnn.stable.additive.prediction import axis_moments, noise_scales
from skbayesnn.stable.additive.scales import best_inverse_lengths

_MAX_MONITORED = 50


class Draws(NamedTuple):
    """Posterior draws by name, the first axis over draws.

    ``f`` and ``log_variances`` (n_draws, n_values) have the values of all axes one after the
    other, ``theta`` (n_draws, n_basis) the coefficients of g; ``log_nu`` (n_draws, n_axes),
    ``log_amplitude``, ``log_noise``, ``alpha`` and ``degrees`` (n_draws,) the parameters.
    """

    f: np.ndarray
    log_variances: np.ndarray
    theta: np.ndarray
    log_nu: np.ndarray
    log_amplitude: np.ndarray
    log_noise: np.ndarray
    alpha: np.ndarray
    degrees: np.ndarray


_SINGLE = {"f", "log_variances", "theta"}


class AdditivePosterior:
    """Draws of the model for tables.

    Parameters
    ----------
    model : Model
    inverse_lengths : ndarray of shape (n_features,)
        Of the dense part.
    draws : Draws
    followed : dict of str to ndarray of shape (n_chains, n_sweeps, n_quantities)
        What convergence is judged by.

    Attributes
    ----------
    r_hat, effective : dict of str to ndarray of shape (n_quantities,)
        Of what is followed.
    """

    def __init__(self, model, inverse_lengths, draws, followed):
        self.model, self.inverse_lengths, self.draws = model, inverse_lengths, draws
        self.r_hat = {name: r_hat(values) for name, values in followed.items()}
        self.effective = {n: effective_sample_size(values) for n, values in followed.items()}
        n_draws, fixed = len(draws.f), np.random.default_rng(0)
        self._levels = np.stack(
            [(fixed.permutation(n_draws) + 0.5) / n_draws for _ in range(len(model.axes) + 1)]
        )

    def axis_moments(self, k, x):
        """Means and variances (n_rows, n_draws) of f_k at new values."""
        model, draws = self.model, self.draws
        part = slice(model.starts[k], model.ends[k])
        axis, means, variances = model.axes[k], *np.empty((2, x.size, len(draws.f)))
        for alpha in np.unique(draws.alpha):
            here = np.flatnonzero(draws.alpha == alpha)
            log_variances = draws.log_variances[here, part]
            units = draws.log_nu[here, k : k + 1] + 2.0 / alpha * axis.log_masses
            table = positive_stable_table(alpha / 2.0) if alpha < 2.0 else None
            means[:, here], variances[:, here] = axis_moments(
                axis, draws.f[here, part], log_variances, log_variances - units, table, x,
                self._levels[k][here],
            )  # fmt: skip
        return means, variances

    def dense_moments(self, X):
        """Means and variances (n_rows, n_draws) of g at new rows."""
        psi, left = self.model.basis.features(X * self.inverse_lengths)
        return psi @ self.draws.theta.T, np.outer(left, np.exp(self.draws.log_amplitude))

    def predict(self, X):
        """Means and variances (n_rows, n_draws) of new observations, noise included."""
        draws = self.draws
        means = np.zeros((len(X), len(draws.f)))
        noise = noise_scales(draws.degrees, self._levels[-1]) * np.exp(draws.log_noise)
        variances = np.tile(noise, (len(X), 1))
        for k in range(len(self.model.axes)):
            for total, part in zip((means, variances), self.axis_moments(k, X[:, k]), strict=True):
                total += part
        if self.model.basis is not None:
            for total, part in zip((means, variances), self.dense_moments(X), strict=True):
                total += part
        return means, variances


def build_model(X, y, weights, prior, dense, rng):
    """What all chains share, and the inverse length scales (n_features,) of the dense part.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Standardised, as y.
    y, weights : ndarray of shape (n,)
        Sample weights are above zero.
    prior : Prior
    dense : bool
        Whether there is a dense part.
    rng : numpy.random.Generator

    Returns
    -------
    model : Model
    inverse_lengths : ndarray of shape (n_features,)
    """
    inverse_lengths, basis = np.zeros(X.shape[1]), None
    if dense:
        inverse_lengths = best_inverse_lengths(X, y, rng)
        basis = DenseBasis(X * inverse_lengths, rng)
    return Model([Axis(x) for x in X.T], basis, y, weights, prior), inverse_lengths


def run_chain(model, n_warmup, n_draws, thin, rng):
    """Run one chain.

    Returns
    -------
    draws : Draws
    followed : dict of str to ndarray of shape (n_sweeps, n_quantities)
    n_failed : int
        Joint draws that could not be made.
    """
    chain = Chain(model, rng)
    n, n_sweeps = model.y.size, n_draws * thin
    rows = np.unique(np.linspace(0, n - 1, min(n, _MAX_MONITORED)).astype(int))
    # Of each f_k, its values at the ends and in the middle, less their mean.
    places = np.stack([model.starts, (model.starts + model.ends - 1) // 2, model.ends - 1])
    shapes = {"f": rows.size, "g": rows.size, "f_k": places.size, "nu": len(model.axes)}
    shapes |= dict.fromkeys(("noise_variance", "alpha", "degrees", "amplitude"), 1)
    followed = {name: np.empty((n_sweeps, size)) for name, size in shapes.items()}
    kept = {}
    for name in Draws._fields:
        dtype = np.float32 if name in _SINGLE else np.float64
        kept[name] = np.empty((n_draws, *np.shape(getattr(chain, name))), dtype)
    for sweep in range(-n_warmup, n_sweeps):
        chain.sweep()
        if sweep < 0:
            continue
        followed["f"][sweep], followed["g"][sweep] = chain.fit[rows], chain.g[rows]
        at = chain.f[places]
        followed["f_k"][sweep] = (at - at.mean(axis=0)).ravel()
        followed["nu"][sweep] = chain.log_nu
        followed["noise_variance"][sweep] = chain.log_noise
        followed["alpha"][sweep] = chain.alpha
        followed["degrees"][sweep] = 1.0 / chain.degrees
        followed["amplitude"][sweep] = chain.log_amplitude
        if (sweep + 1) % thin == 0:
            for name, values in kept.items():
                values[sweep // thin] = getattr(chain, name)
    return Draws(**kept), followed, chain.n_failed


def fit_additive(X, y, weights, prior, dense, n_warmup, n_draws, thin, generators):
    """Fit the model: one chain for each generator but the last, which sets up what is shared.

    The arguments are those of :func:`build_model` and :func:`run_chain`.

    Returns
    -------
    posterior : AdditivePosterior
    """
    *chains, rng = generators
    model, inverse_lengths = build_model(X, y, weights, prior, dense, rng)
    runs = [run_chain(model, n_warmup, n_draws, thin, rng) for rng in chains]
    by_name = zip(*(run[0] for run in runs), strict=True)
    draws = Draws(*(np.concatenate(values) for values in by_name))
    followed = {name: np.stack([run[1][name] for run in runs]) for name in runs[0][1]}
    return AdditivePosterior(model, inverse_lengths, draws, followed)

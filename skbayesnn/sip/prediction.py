"""Predictions of a sparse implicit process (eq. 14), from fixed draws.

The draws of u come from one stored seed, and so do the networks for the moments of the prior if
training has not kept its own. Every prediction of a fitted model therefore uses the same mixture,
row by row.
"""

import numpy as np

from skbayesnn.predictive import PredictiveMixture
from skbayesnn.sip.conditional import FeatureConditional
from skbayesnn.sip.model import N_POSTERIOR_NOISE
from skbayesnn.sip.noise import PREDICTION, scales_of, variance_of

# Rows times networks times units are in memory at once.
_ROWS_AT_ONCE = 256
LEAST_WEIGHT, LEAST_DRAWS = 1e-10, 2
"""Scales of the noise that are as good as never met are left out; others have a few draws."""


class Predictor:
    """Mixtures and joint functions, in the model's standardised units.

    Parameters
    ----------
    model : skbayesnn.sip.model.SparseImplicitProcess
        Its shapes and networks are used; its parameters are not.
    parameters : ndarray of shape (n_parameters,), float64
    n_components : int
        Draws of u.
    seed : int
    spread : float, default=1.0
        Factor on the distances of the draws of u from their mean.
    noise : float or ndarray of shape (n_components,), default=1.0
        Factor on the noise variance of each component.

    Attributes
    ----------
    noise_variance : ndarray of shape (n_components,)
        σ² of each draw.
    draws : ndarray of int
        Draw of u of each Gaussian of the mixture.
    weights, offsets, factors : ndarray
        Of each Gaussian: its weight, the mean of its noise over σ, and its variance over σ².
    """

    def __init__(self, model, parameters, n_components, seed, spread=1.0, noise=1.0):
        self.prior, self.posterior = model.prior, model.posterior
        self.theta, self.phi, self.Z, of_noise = (part.copy() for part in model.parts(parameters))
        self.spread, variance = spread, variance_of(of_noise)
        self.noise_variance = variance * np.broadcast_to(noise, n_components)
        scales = scales_of(of_noise, PREDICTION)
        self.scales = (
            np.exp(scales.log_weights), scales.offsets / np.sqrt(variance),
            scales.variances / variance,
        )  # fmt: skip
        self._share_out(n_components)
        fixed = np.random.default_rng([seed, 0])
        self.networks = model.networks
        if self.networks is None:
            self.networks = self.prior.draw_noise(fixed, model.n_draws, np.float64)
        ((mean, features),) = self._prior_moments(self.Z)
        self.conditional = FeatureConditional(mean, features, model.jitter_at(variance))
        w = self._network(np.random.default_rng(seed), n_components)
        self.mean_w = w.mean(axis=0)
        self.w = self._spread_out(w)

    def _share_out(self, n):
        """Every scale of the noise has its share of the draws, a few at least.

        All pairs would be ten times as many Gaussians, and the draws are independent.
        """
        kept = self.scales[0] > LEAST_WEIGHT
        weights, offsets, factors = (part[kept] for part in self.scales)
        weights = weights / weights.sum()
        counts = np.round(n * weights).astype(int)
        counts = np.clip(counts, min(LEAST_DRAWS, n), n)
        self.draws = np.arange(counts.sum()) % n
        self.weights = np.repeat(weights / counts, counts)
        self.offsets, self.factors = np.repeat(offsets, counts), np.repeat(factors, counts)

    def _network(self, generator, n):
        """Whitened draws of u."""
        noise = generator.standard_normal((n, N_POSTERIOR_NOISE))
        return self.posterior.forward(self.phi, noise)[-1]

    def _spread_out(self, w):
        return self.mean_w + self.spread * (w - self.mean_w)

    def _blocks(self, X):
        return [X[begin : begin + _ROWS_AT_ONCE] for begin in range(0, len(X), _ROWS_AT_ONCE)]

    def _prior_moments(self, X):
        """Moments of the prior, block by block of rows."""
        # With buffers of its own, so that threads may predict at the same time.
        prior = self.prior.copy()
        for rows in self._blocks(X):
            mean, features = prior.moments(self.theta, rows, self.networks)
            yield mean, features.copy()

    def moments(self, X):
        """Means (n_rows, n_components) of f given each draw of u, and variances (n_rows,)."""
        # One at a time: the conditional keeps what its adjoint would need.
        blocks = [self.conditional.moments(*b, self.w) for b in self._prior_moments(X)]
        self.conditional.kept = None
        return np.concatenate([m.T for m, _ in blocks]), np.concatenate([v for _, v in blocks])

    def mixture(self, X):
        """Predictive distribution of the targets at rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_inputs)

        Returns
        -------
        law : PredictiveMixture
        """
        means, variances = self.moments(X)
        means, variances = means[:, self.draws], np.maximum(variances, 0.0)[:, None]
        own = self.noise_variance[self.draws]
        return PredictiveMixture(
            self.weights, means + np.sqrt(own) * self.offsets, variances + own * self.factors
        )

    def log_densities(self, X, y, noise):
        """Log densities of targets under distributions that differ in their noise.

        With a factor of one that of :meth:`mixture`, to rounding, in a third of the time: training
        asks for it again and again. At a row all draws that share a noise variance and a scale
        have one variance, so that few logarithms are taken.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_inputs)
        y : ndarray of shape (n_rows,)
        noise : sequence of float
            Factors on the noise variance.

        Returns
        -------
        log_densities : ndarray of shape (n_noise, n_rows)
        """
        means, variances = self.moments(X)
        residuals = y[:, None] - means[:, self.draws]
        variances = np.maximum(variances, 0.0)[:, None]
        # Every pair of a noise variance and a scale once, and which of them a Gaussian has.
        pairs = np.stack([self.noise_variance[self.draws], self.factors])
        (own, factors), which = np.unique(pairs, axis=1, return_inverse=True)
        shifts = np.sqrt(self.noise_variance[self.draws]) * self.offsets
        log_weights = np.log(self.weights)
        found = np.empty((len(noise), len(y)))
        for c, out in zip(noise, found, strict=True):
            spreads = variances + c * own * factors
            terms = (residuals - np.sqrt(c) * shifts) ** 2
            terms *= (-0.5 / spreads)[:, which]
            terms += log_weights - (0.5 * np.log(2 * np.pi * spreads))[:, which]
            top = terms.max(axis=1)
            terms -= top[:, None]
            out[:] = top + np.log(np.exp(terms, out=terms).sum(axis=1))
        return found

    def observations(self, X, n, generator):
        """Joint draws of f from the posterior, each row with noise of its own; (n_rows, n)."""
        w = self._spread_out(self._network(generator, n))
        draw = self.conditional.drawer(w, generator)
        f = np.concatenate([draw(*block).T for block in self._prior_moments(X)])
        deviations = np.sqrt(generator.choice(self.noise_variance, size=n))
        weights, offsets, factors = self.scales
        scale = generator.choice(len(weights), p=weights, size=f.shape)
        noise = np.sqrt(factors[scale]) * generator.standard_normal(f.shape)
        return f + deviations * (offsets[scale] + noise)

    def prior_functions(self, X, n, generator):
        """Joint draws of f from the prior; (n_rows, n)."""
        kept = self.networks if self.prior.keeps_networks else None
        noise = self.prior.noise_of_functions(generator, n, kept)
        prior = self.prior.copy()
        return np.concatenate([prior.functions(self.theta, b, noise).T for b in self._blocks(X)])

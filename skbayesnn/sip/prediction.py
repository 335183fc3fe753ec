"""Predictions of a sparse implicit process (eq. 14), from draws that are fixed once.

The prior draws that the conditional is estimated from, and the draws of u, come from one
stored seed: every prediction of a fitted model is of the same mixture, row by row.
"""

import numpy as np

from skbayesnn.sip.conditional import EmpiricalConditional
from skbayesnn.sip.model import N_POSTERIOR_NOISE

# Rows times draws times units are in memory at once.
_ROWS_AT_ONCE = 256


class Predictor:
    """Mixtures and joint functions, in the model's standardised units.

    Parameters
    ----------
    model : skbayesnn.sip.model.SparseImplicitProcess
        Its shapes are used; its parameters are not.
    parameters : ndarray of shape (n_parameters,), float64
    n_draws : int
        Prior draws behind the conditional.
    n_components : int
        Draws of u.
    seed : int
    """

    def __init__(self, model, parameters, n_draws, n_components, seed):
        self.prior, self.posterior = model.prior, model.posterior
        self.theta, self.phi, self.Z, log_noise = (part.copy() for part in model.parts(parameters))
        self.noise_variance = float(np.exp(log_noise[0]))
        self.n_draws, self.seed = n_draws, seed
        f_z = self._prior_draws(self.Z)
        self.conditional = EmpiricalConditional(f_z, model.jitter)
        generator = np.random.default_rng([seed, 1])
        self.coefficients = self.conditional.coefficients(self._draw_u(generator, n_components))

    def _draw_u(self, generator, n):
        noise = generator.standard_normal((n, N_POSTERIOR_NOISE))
        return self.posterior.forward(self.phi, noise)[-1]

    def _prior_draws(self, X):
        """The fixed prior draws at rows, (n_draws, n_rows)."""
        noise = self.prior.draw_noise(np.random.default_rng(self.seed), self.n_draws, np.float64)
        return self.functions_of(noise, X)

    def functions_of(self, noise, X):
        """Functions of the prior, block by block of rows; (len(noise), n_rows)."""
        out = np.empty((len(noise), len(X)))
        # With buffers of its own, so that threads may predict at the same time.
        prior = self.prior.copy()
        for begin in range(0, len(X), _ROWS_AT_ONCE):
            rows = slice(begin, begin + _ROWS_AT_ONCE)
            out[:, rows] = prior.forward(self.theta, X[rows], noise)
        return out

    def moments(self, X):
        """Means (n_rows, n_components) and variances (n_rows,) of f given each draw of u."""
        means, variances = self.conditional.moments(self._prior_draws(X), self.coefficients)
        self.conditional.kept = None
        return means.T, variances

    def functions(self, X, n, generator):
        """Joint draws of f from the posterior; (n_rows, n)."""
        coefficients = self.conditional.coefficients(self._draw_u(generator, n))
        normals = generator.standard_normal(coefficients.shape)
        return self.conditional.functions(self._prior_draws(X), coefficients, normals).T

    def prior_functions(self, X, n, generator):
        """Joint draws of f from the prior; (n_rows, n)."""
        noise = self.prior.draw_noise(generator, n, np.float64)
        return self.functions_of(noise, X).T

"""Predictions of a sparse implicit process (eq. 14), from draws that are fixed once.

The prior draws that the conditional is estimated from, and the draws of u, come from one
stored seed: every prediction of a fitted model is of the same mixture, row by row. Training
takes new prior draws at every step, so a prediction should not hang on one set of them
either: the draws of u are dealt to a few sets.
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
        Prior draws of a set.
    n_components : int
        Draws of u.
    seed : int
    n_sets : int, default=5
        Sets of prior draws, no more than there are components.
    """

    def __init__(self, model, parameters, n_draws, n_components, seed, n_sets=5):
        self.prior, self.posterior = model.prior, model.posterior
        self.theta, self.phi, self.Z, log_noise = (part.copy() for part in model.parts(parameters))
        self.noise_variance = float(np.exp(log_noise[0]))
        self.n_draws, self.seed = n_draws, seed
        self.n_sets = min(n_sets, n_components)
        jitter = model.jitter_at(log_noise[0])
        self.conditionals = [
            EmpiricalConditional(self._prior_draws(self.Z, k), jitter) for k in range(self.n_sets)
        ]
        self.coefficients = self._coefficients(np.random.default_rng(seed), n_components)

    def _coefficients(self, generator, n):
        """Draws of u, dealt to the sets: a list of arrays (n_draws, n / n_sets)."""
        noise = generator.standard_normal((n, N_POSTERIOR_NOISE))
        u = self.posterior.forward(self.phi, noise)[-1]
        return [
            conditional.coefficients(part)
            for conditional, part in zip(
                self.conditionals, np.array_split(u, self.n_sets), strict=True
            )
        ]

    def _prior_draws(self, X, k):
        """The fixed prior draws of set k at rows, (n_draws, n_rows)."""
        generator = np.random.default_rng([self.seed, k])
        return self.functions_of(self.prior.draw_noise(generator, self.n_draws, np.float64), X)

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
        """Means and variances of f given each draw of u, each (n_rows, n_components)."""
        means, variances = [], []
        for k, (conditional, a) in enumerate(
            zip(self.conditionals, self.coefficients, strict=True)
        ):
            mean, variance = conditional.moments(self._prior_draws(X, k), a)
            conditional.kept = None
            means.append(mean.T)
            variances.append(np.broadcast_to(variance[:, None], mean.T.shape))
        return np.concatenate(means, axis=1), np.concatenate(variances, axis=1)

    def functions(self, X, n, generator):
        """Joint draws of f from the posterior; (n_rows, n)."""
        columns = []
        for k, a in enumerate(self._coefficients(generator, n)):
            if a.shape[1]:
                normals = generator.standard_normal(a.shape)
                f_x = self._prior_draws(X, k)
                columns.append(self.conditionals[k].functions(f_x, a, normals).T)
        return np.concatenate(columns, axis=1)

    def prior_functions(self, X, n, generator):
        """Joint draws of f from the prior; (n_rows, n)."""
        noise = self.prior.draw_noise(generator, n, np.float64)
        return self.functions_of(noise, X).T

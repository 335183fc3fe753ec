"""Pseudo-observations in closed form: natural-gradient steps of the output's posterior.

The posterior of the function's values u at the inducing points is the prior N(0, K) times a
Gaussian factor of precision Λ = R R' and linear term R v (:mod:`skbayesnn.dwp.output`). With
a_i = K⁻¹ k_i, a row whose log density has, in the mean over the posterior, the gradient g_i and
the curvature c_i at the mean m_i of its function value, is best stood for by the factor of

    precision Σ c_i a_i a_i' and linear term Σ (g_i + c_i m_i) a_i

(Khan and Lin, 2017). Going part of the way there is a natural-gradient step; with Gaussian noise
all of the way is the maximum, with other laws a few steps lead to it. Draws of the hidden layers
share the pseudo-observations, which take the mean over draws.
"""

import numpy as np
from scipy.linalg import blas

from skbayesnn.dwp.layers import JITTER
from skbayesnn.gaussian_process.factors import cholesky, inverse

RIDGE = 1e-3
"""Directions that no row informs of get the little that this part of a row of mean curvature
does."""


class Sites:
    """Sums over rows and draws, for one step.

    Parameters
    ----------
    n_targets, n_inducing : int
    """

    def __init__(self, n_targets, n_inducing):
        self.precision = np.zeros((n_targets, n_inducing, n_inducing))
        self.shift = np.zeros((n_targets, n_inducing))
        self.curvature, self.n_rows = np.zeros(n_targets), 0.0

    def add(self, outputs, expected, share, n_rows):
        """Add a draw of the hidden layers.

        Parameters
        ----------
        outputs : list of Output
            One a target.
        expected : Expected
        share : float
            What a unit of weight of a row counts.
        n_rows : float
            The sum of these weights.
        """
        first = outputs[0]
        inv = inverse(cholesky(first.gram, JITTER)[0])
        interpolation = (first.cross @ inv.T) @ inv
        means = np.stack([o.mean for o in outputs], axis=1)
        pulls = expected.curvature * means - expected.d_means
        self.shift += share * (pulls.T @ interpolation)
        for t in range(len(outputs)):
            rows = np.sqrt(share * expected.curvature[:, t])[:, None] * interpolation
            self.precision[t] += blas.dsyrk(1.0, rows.T, lower=0)
        self.curvature += share * expected.curvature.sum(axis=0)
        self.n_rows += share * n_rows

    def merge(self, other):
        """Add the sums of others."""
        self.precision += other.precision
        self.shift += other.shift
        self.curvature += other.curvature
        self.n_rows += other.n_rows

    def step(self, parameters, part):
        """Move ``root`` and ``values`` by this part of the way; one is all of it.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Changed.
        part : float
        """
        for t, curvature in enumerate(self.curvature):
            new = np.triu(self.precision[t])
            new = new + np.triu(new, 1).T
            mean_curvature = max(curvature / self.n_rows, 1e-6)
            new.ravel()[:: len(new) + 1] += RIDGE * mean_curvature
            old = np.tril(parameters["root"][t])
            shift = part * self.shift[t]
            if part < 1.0:
                shift += (1.0 - part) * (old @ parameters["values"][t])
                new = part * new + (1.0 - part) * (old @ old.T)
            root, _, _ = cholesky(new, 0.0)
            parameters["root"][t] = root
            parameters["values"][t] = inverse(root) @ shift

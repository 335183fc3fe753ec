"""Pseudo-observations in closed form: natural-gradient steps of the output's posterior.

The posterior of the function values u at the inducing points is the prior N(0, K) times a Gaussian
factor with precision Λ = R R' and linear term R v (:mod:`skbayesnn.dwp.output`). Let a_i = K⁻¹ k_i,
and let g_i and c_i be the gradient and the negative curvature of the log density of row i at its
function value, averaged over the posterior, whose mean there is m_i. The best Gaussian factor has

    precision Σ c_i a_i a_i' and linear term Σ (g_i + c_i m_i) a_i

(Khan and Lin, 2017). A partial move towards it is a natural-gradient step. With Gaussian noise, a
full step reaches the maximum; with other likelihoods, a few steps do. All draws of the hidden
layers share the pseudo-observations, which use the mean over draws.
"""

import numpy as np
from scipy.linalg import blas

from skbayesnn.dwp.layers import JITTER
from skbayesnn.gaussian_process.factors import cholesky, inverse, symmetric

RIDGE = 1e-3
"""Precision of directions about which no row is informative, as a fraction of the mean curvature of
a row."""


class Sites:
    """Sums over rows and draws for one natural-gradient step.

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
            One per target.
        expected : Expected
        share : float
            Weight of one row in the sums.
        n_rows : float
            Sum of the row weights.
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
        """Add the sums of other rows and draws."""
        self.precision += other.precision
        self.shift += other.shift
        self.curvature += other.curvature
        self.n_rows += other.n_rows

    def step(self, parameters, part):
        """Move ``root`` and ``values`` this fraction of the way; one is a full step.

        Parameters
        ----------
        parameters : dict of str to ndarray
            Changed.
        part : float
        """
        for t, curvature in enumerate(self.curvature):
            new = symmetric(np.triu(self.precision[t]))
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

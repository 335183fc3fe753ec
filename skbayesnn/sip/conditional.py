"""The Gaussian conditional p(f | u) with the moments of the prior (eqs 6 and 13).

The moments come as a mean and as features whose products are covariances (``priors.py``): with
Φ_x (n, R) and Φ_z (M, R) and the jitter j,

    K = Φ_z Φ_z' + j I,    k = Φ_z Φ_x',
    f | u ~ N(m_x + k' K⁻¹ (u − m_z), Φ_x Φ_x' − k' K⁻¹ k),

solved in the space of the M inducing values.
"""

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular


class FeatureConditional:
    """Moments of f given several draws of u, and their adjoint; all in float64.

    Parameters
    ----------
    mean_z : ndarray of shape (n_inducing,)
    features_z : ndarray of shape (n_inducing, n_features)
    jitter : float

    Attributes
    ----------
    covariance_z : ndarray of shape (n_inducing, n_inducing)
        Without the jitter.

    Raises
    ------
    FloatingPointError
        If a feature is not finite.
    """

    def __init__(self, mean_z, features_z, jitter):
        self.mean_z, self.features_z, self.jitter = mean_z, features_z, jitter
        self.covariance_z = features_z @ features_z.T
        if not np.isfinite(self.covariance_z).all():
            raise FloatingPointError("A moment of the prior is not finite.")
        covariance = self.covariance_z.copy()
        covariance.flat[:: len(mean_z) + 1] += jitter
        self.factor = cholesky(covariance, lower=True, overwrite_a=True, check_finite=False)

    def _solve(self, b):
        return cho_solve((self.factor, True), b, check_finite=False)

    def coefficients(self, u):
        """K⁻¹ (u − m_z) for each draw of u.

        Parameters
        ----------
        u : ndarray of shape (n_u, n_inducing)

        Returns
        -------
        a : ndarray of shape (n_inducing, n_u)
        """
        return self._solve((u - self.mean_z).T)

    def moments(self, mean_x, features_x, coefficients):
        """Means and variances of f at rows.

        Parameters
        ----------
        mean_x : ndarray of shape (n_rows,)
        features_x : ndarray of shape (n_rows, n_features)
        coefficients : ndarray of shape (n_inducing, n_u)

        Returns
        -------
        means : ndarray of shape (n_u, n_rows)
        variances : ndarray of shape (n_rows,)
            The same for all u.
        """
        cross = self.features_z @ features_x.T
        half = solve_triangular(self.factor, cross, lower=True, check_finite=False)
        self.kept = features_x, cross, half
        variances = np.einsum("ir,ir->i", features_x, features_x)
        variances -= np.einsum("mi,mi->i", half, half)
        return mean_x + coefficients.T @ cross, variances

    def drawer(self, u, generator):
        """Joint draws of f, one for each u, by Matheron's rule.

        A draw of the prior is moved by what it lacks at the inducing inputs.

        Parameters
        ----------
        u : ndarray of shape (n_u, n_inducing)
        generator : numpy.random.Generator

        Returns
        -------
        draw : callable
            From means and features of rows, as :meth:`moments` takes them, to the draws there,
            (n_u, n_rows): the same functions at every call.
        """
        weights = generator.standard_normal((len(u), self.features_z.shape[1]))
        u = u - weights @ self.features_z.T
        u -= np.sqrt(self.jitter) * generator.standard_normal(u.shape)
        weights += self.coefficients(u).T @ self.features_z
        return lambda mean_x, features_x: mean_x + weights @ features_x.T

    def adjoint(self, coefficients, d_means, d_variances, d_covariance_z):
        """Gradients in the moments of the prior and in u.

        Parameters
        ----------
        coefficients : ndarray of shape (n_inducing, n_u)
        d_means : ndarray of shape (n_u, n_rows)
        d_variances : ndarray of shape (n_rows,)
        d_covariance_z : ndarray of shape (n_inducing, n_inducing)
            More gradient in :attr:`covariance_z`, symmetric.

        Returns
        -------
        d_mean, d_features : ndarray of shape (n_rows + n_inducing, ...)
            At the rows of the last :meth:`moments`, then at the inducing inputs.
        d_u : ndarray of shape (n_u, n_inducing)
        """
        features_x, cross, half = self.kept
        solved = solve_triangular(self.factor, half, trans="T", lower=True, check_finite=False)
        weighted = solved * d_variances
        d_cross = coefficients @ d_means
        d_cross -= 2.0 * weighted
        d_u = self._solve(cross @ d_means.T).T
        d_k = weighted @ solved.T
        d_k -= coefficients @ d_u
        d_k += d_covariance_z
        n = len(features_x)
        d_features = np.empty((n + len(cross), features_x.shape[1]))
        np.matmul(d_cross.T, self.features_z, out=d_features[:n])
        d_features[:n] += (2.0 * d_variances)[:, None] * features_x
        np.matmul(d_cross, features_x, out=d_features[n:])
        d_features[n:] += (d_k + d_k.T) @ self.features_z
        d_mean = np.concatenate([d_means.sum(axis=0), -d_u.sum(axis=0)])
        return d_mean, d_features, d_u

"""The Gaussian conditional p(f | u) with the moments of the prior (eqs 6 and 13).

The moments come as a mean and as features whose products are covariances (``priors.py``): with Φ_x
(n, R), Φ_z (M, R) and the jitter j,

    K = Φ_z Φ_z' + j I = L L',    k = Φ_z Φ_x',
    f | u ~ N(m_x + k' K⁻¹ (u − m_z), Φ_x Φ_x' − k' K⁻¹ k).

The inducing values are whitened, u = m_z + L w, so that the mean is m_x + (L⁻¹ k)' w. If the prior
is narrow, K⁻¹ multiplies differences between u and m_z by a thousand. A step that moves the prior
without u, or u without the prior, then throws the mean function off the data. With w, a step of the
prior moves u as well.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs

from skbayesnn.gaussian_process.factors import cholesky_adjoint, inverse

# LAPACK itself: what SciPy checks around it takes several times as long for so small matrices.


def solve(factor, b, trans=0):
    """L⁻¹b, or L'⁻¹b with ``trans=1``, for a lower triangular L with a positive diagonal."""
    return dtrtrs(factor, b, lower=1, trans=trans)[0]


class FeatureConditional:
    """Moments of f given several draws of u, and their adjoint.

    Moments are float64 whatever the precision of the features: they are small differences of
    large numbers. In fits of few rows with little noise the prior's variance at an inducing input
    reaches 10⁵, and what is left of it given u is 10⁻⁴. Rounded features are those of a process
    nearby. Rounded products of features are those of none: in float32 their error is more than the
    jitter, and they are not positive definite. Gradients in the features, which are most of the
    work, are products in the precision of the features: in such fits they were wrong by less than
    10⁻³ of their norm, for steps of Adam.

    Parameters
    ----------
    mean_z : ndarray of shape (n_inducing,)
    features_z : ndarray of shape (n_inducing, n_features)
    jitter : float

    Attributes
    ----------
    covariance_z : ndarray of shape (n_inducing, n_inducing)
        Without the jitter.
    factor : ndarray of shape (n_inducing, n_inducing)
        L, lower.

    Raises
    ------
    FloatingPointError
        If a feature is not finite.
    """

    def __init__(self, mean_z, features_z, jitter):
        self.mean_z, self.features_z, self.jitter = mean_z, features_z, jitter
        self.wide_z = features_z.astype(np.float64, copy=False)
        self.covariance_z = self.wide_z @ self.wide_z.T
        if not np.isfinite(self.covariance_z).all():
            raise FloatingPointError("A moment of the prior is not finite.")
        covariance = self.covariance_z.copy()
        covariance.flat[:: len(mean_z) + 1] += jitter
        self.factor, failed = dpotrf(covariance, lower=1)
        if failed:
            raise np.linalg.LinAlgError("The prior's covariance is not positive definite.")

    def values(self, w):
        """The inducing values u (n_u, n_inducing) of whitened ones."""
        return self.mean_z + w @ self.factor.T

    def moments(self, mean_x, features_x, w):
        """Means and variances of f at rows.

        Parameters
        ----------
        mean_x : ndarray of shape (n_rows,)
        features_x : ndarray of shape (n_rows, n_features)
        w : ndarray of shape (n_u, n_inducing)
            Whitened draws of u.

        Returns
        -------
        means : ndarray of shape (n_u, n_rows)
        variances : ndarray of shape (n_rows,)
            The same for all u.
        """
        wide_x = features_x.astype(np.float64, copy=False)
        half = solve(self.factor, self.wide_z @ wide_x.T)
        self.kept = features_x, half
        variances = np.einsum("ir,ir->i", wide_x, wide_x)
        variances -= np.einsum("mi,mi->i", half, half)
        return mean_x + w @ half, variances

    def drawer(self, w, generator):
        """Joint draws of f, one for each u, by Matheron's rule.

        A draw of the prior is moved by what it lacks at the inducing inputs.

        Parameters
        ----------
        w : ndarray of shape (n_u, n_inducing)
            Whitened draws of u.
        generator : numpy.random.Generator

        Returns
        -------
        draw : callable
            From means and features of rows, as :meth:`moments` takes them, to the draws there,
            (n_u, n_rows): the same functions at every call.
        """
        weights = generator.standard_normal((len(w), self.features_z.shape[1]))
        drawn = weights @ self.wide_z.T
        drawn += np.sqrt(self.jitter) * generator.standard_normal(w.shape)
        missing = w.T - solve(self.factor, drawn.T)
        weights += solve(self.factor, missing, trans=1).T @ self.wide_z
        return lambda mean_x, features_x: mean_x + weights @ features_x.T

    def adjoint(self, w, d_means, d_variances):
        """Gradients in the moments of the prior and in the whitened draws.

        Parameters
        ----------
        w : ndarray of shape (n_u, n_inducing)
        d_means : ndarray of shape (n_u, n_rows)
        d_variances : ndarray of shape (n_rows,)

        Returns
        -------
        d_mean : ndarray of shape (n_rows,)
            At the rows of the last :meth:`moments`; the mean at the inducing inputs does not
            matter to whitened values.
        d_features : ndarray of shape (n_rows + n_inducing, n_features)
            At those rows, then at the inducing inputs; in the precision of the features.
        d_w : ndarray of shape (n_u, n_inducing)
        """
        features_x, half = self.kept
        d_half = w.T @ d_means
        d_half -= 2.0 * half * d_variances
        d_cross = solve(self.factor, d_half, trans=1)
        d_k = cholesky_adjoint(self.factor, inverse(self.factor), -d_cross @ half.T)
        n, dtype, features_z = len(features_x), features_x.dtype, self.features_z
        cross = d_cross.astype(dtype)
        d_features = np.empty((n + len(half), features_x.shape[1]), dtype)
        np.matmul(cross.T, features_z, out=d_features[:n])
        np.matmul(cross, features_x, out=d_features[n:])
        d_features[n:] += (2.0 * d_k).astype(dtype) @ features_z
        d_features[:n] += features_x * (2.0 * d_variances).astype(dtype)[:, None]
        return d_means.sum(axis=0), d_features, d_means @ half.T

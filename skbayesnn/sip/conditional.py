"""The Gaussian conditional p(f | u) with moments from draws of the prior (eqs 6 and 13).

With the S prior draws in the rows of F_x (S, n) and F_z (S, M), D = (F − mean)/√(S−1), the
Gaussian with their empirical mean and covariance is the law of

    f = m_x + D_x' a,    u = m_z + D_z' a + √j e,    a ~ N(0, I_S), e ~ N(0, I_M),

a Bayesian linear model in the S coefficients a, j the jitter. So the conditional is solved
in the space of the draws: with A = I + D_z D_z'/j,

    a | u ~ N(A⁻¹ D_z (u − m_z)/j, A⁻¹),

f given u is the same Gaussian as by K_xz (K_zz + j I)⁻¹, for any number of inducing points,
with variances that are sums of squares, and a draw of a is a draw of the whole function.
"""

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular


class EmpiricalConditional:
    """Moments of f given several draws of u, and their adjoint; all in float64.

    Parameters
    ----------
    f_z : array-like of shape (n_draws, n_inducing)
        Prior draws at the inducing inputs.
    jitter : float

    Raises
    ------
    FloatingPointError
        If a prior draw is not finite.
    """

    def __init__(self, f_z, jitter):
        f_z = np.asarray(f_z, dtype=np.float64)
        self.n_draws, self.jitter = len(f_z), jitter
        self.mean_z = f_z.mean(axis=0)
        self.d_z = self._deviations(f_z, self.mean_z)
        precision = self.d_z @ self.d_z.T
        precision /= jitter
        precision.flat[:: self.n_draws + 1] += 1.0
        if not np.isfinite(precision).all():
            raise FloatingPointError("A draw of the prior is not finite.")
        self.factor = cholesky(precision, lower=True, overwrite_a=True, check_finite=False)

    def _deviations(self, f, mean):
        return (f - mean) / np.sqrt(self.n_draws - 1.0)

    def _solve(self, b):
        return cho_solve((self.factor, True), b, check_finite=False)

    def coefficients(self, u):
        """Mean of a given each draw of u.

        Parameters
        ----------
        u : ndarray of shape (n_u, n_inducing)

        Returns
        -------
        a : ndarray of shape (n_draws, n_u)
        """
        return self._solve(self.d_z @ (u - self.mean_z).T / self.jitter)

    def moments(self, f_x, coefficients):
        """Means and variances of f at rows.

        Parameters
        ----------
        f_x : ndarray of shape (n_draws, n_rows)
            Prior draws, the same as at the inducing inputs.
        coefficients : ndarray of shape (n_draws, n_u)

        Returns
        -------
        means : ndarray of shape (n_u, n_rows)
        variances : ndarray of shape (n_rows,)
            The same for all u.
        """
        f_x = np.asarray(f_x, dtype=np.float64)
        mean_x = f_x.mean(axis=0)
        d_x = self._deviations(f_x, mean_x)
        half = solve_triangular(self.factor, d_x, lower=True, check_finite=False)
        self.kept = d_x, half
        return mean_x + coefficients.T @ d_x, np.einsum("si,si->i", half, half)

    def functions(self, f_x, coefficients, normals):
        """Joint draws of f at rows, one for each u.

        Parameters
        ----------
        f_x : ndarray of shape (n_draws, n_rows)
        coefficients, normals : ndarray of shape (n_draws, n_u)
            From :meth:`coefficients`, and standard normal variables.

        Returns
        -------
        f : ndarray of shape (n_u, n_rows)
        """
        f_x = np.asarray(f_x, dtype=np.float64)
        mean_x = f_x.mean(axis=0)
        rest = solve_triangular(self.factor, normals, trans="T", lower=True, check_finite=False)
        return mean_x + (coefficients + rest).T @ self._deviations(f_x, mean_x)

    def adjoint(self, u, coefficients, d_means, d_variances):
        """Gradients in the prior draws and in u.

        Parameters
        ----------
        u : ndarray of shape (n_u, n_inducing)
        coefficients : ndarray of shape (n_draws, n_u)
        d_means : ndarray of shape (n_u, n_rows)
        d_variances : ndarray of shape (n_rows,)

        Returns
        -------
        d_f_x, d_f_z, d_u : ndarray
            In the shapes of the prior draws at the rows of the last :meth:`moments`, at the
            inducing inputs, and of u.
        """
        d_x, half = self.kept
        solved = solve_triangular(self.factor, half, trans="T", lower=True, check_finite=False)
        d_d_x = coefficients @ d_means
        weighted = solved * d_variances
        d_d_x += 2.0 * weighted
        # C = D_z (u - m_z)'/j and a = A⁻¹C; dA from both the means and the variances.
        d_c = self._solve(d_x @ d_means.T)
        d_c /= self.jitter
        d_a = d_c @ coefficients.T
        d_a += weighted @ solved.T / self.jitter
        d_d_z = d_c @ (u - self.mean_z)
        d_d_z -= (d_a + d_a.T) @ self.d_z
        d_u = d_c.T @ self.d_z
        return (
            self._to_draws(d_d_x, d_means.sum(axis=0)),
            self._to_draws(d_d_z, -d_u.sum(axis=0)),
            d_u,
        )

    def _to_draws(self, d_deviations, d_mean):
        """From deviations and means back to the draws they were taken of."""
        out = d_deviations - d_deviations.mean(axis=0)
        out /= np.sqrt(self.n_draws - 1.0)
        out += d_mean / self.n_draws
        return out

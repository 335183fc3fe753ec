"""Laplace's approximation of a Gaussian process for classes (Rasmussen and Williams, 2006).

Functions f_c, independent a priori with the same covariance K, are the logits of the classes: the
probability of class c is softmax(f)_c (section 3.5), or, with two classes, that of the second is
the logistic function of one f (section 3.4). A row of weight w counts as w equal rows. With p the
probabilities of a row and D = w p (for two classes w p (1 − p)), W = −∇∇ log p(y | f) is

    W = D − D R (R'DR)⁻¹ R'D,    R = (I, …, I)',

and without the second term for two classes. At the mode f = K a, a = ∇ log p(y | f) = w (y − p).
Everything follows from

    S = (K + W⁻¹)⁻¹ = E − E R (R'ER)⁻¹ R'E,    E = D (I + K D)⁻¹,

and the log evidence (eqs 3.32 and 3.44), whose determinant has the factor of the second term, is

    log q(y) = log p(y | f) − ½ a'f − ½ Σ_c log |I + K D_c| − ½ log |R'ER| + ½ Σ_i log w_i.
"""

import numpy as np
from scipy.linalg import blas, lapack
from scipy.special import log_expit, log_softmax
from scipy.stats import norm, qmc

from skbayesnn.gaussian_process.factors import cholesky, symmetric

MOST_STEPS, TOLERANCE, LEAST_SIZE = 200, 1e-10, 1e-6
"""Of the search of the mode: steps, how much the log posterior rises in the last, and the least
part of a step that is tried."""
SLOW = 0.3
"""A step that raises the log posterior by more than this part of what the last did is followed by
a new factorisation."""
LEAST = 1e-12
"""Of D, beside the weight: what rounding leaves of a certain row."""
POINTS = 256
"""By which probabilities are averaged over the functions."""


class Laplace:
    """The mode of the functions given labels, and the Gaussian there.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Covariance of each function at the rows.
    codes : ndarray of int of shape (n,)
        Number of the class of each row.
    weights : ndarray of shape (n,)
        How many rows each row stands for.
    n_classes : int
        At least two.
    start : ndarray of shape (n_functions, n), optional
        A guess of ``solved``.

    Attributes
    ----------
    functions : ndarray of shape (n_functions, n)
        The mode: of one function with two classes, of one for each class with more.
    solved : ndarray of shape (n_functions, n)
        K⁻¹ of it, which is the gradient of the log likelihood there.
    log_evidence : float

    Raises
    ------
    scipy.linalg.LinAlgError
        The covariance is not finite.
    """

    def __init__(self, gram, codes, weights, n_classes, start=None):
        self.gram, self.weights, self.two = gram, weights, n_classes == 2
        self.indicators = (np.arange(n_classes)[:, None] == codes).astype(float)
        self.indicators = self.indicators[1:] if self.two else self.indicators
        self.solved = np.zeros(self.indicators.shape) if start is None else start
        self.functions = self.solved @ gram
        value = self._log_posterior(self.functions, self.solved)
        if start is not None:
            zero = self._log_posterior(0.0 * self.functions, 0.0 * self.solved)
            if not value > zero:
                value, self.solved, self.functions = zero, 0.0 * start, 0.0 * self.functions
        rise = 0.0
        for _ in range(MOST_STEPS):
            if not rise:
                self._linearise()
            before, last = value, rise
            step = self._newton()
            along, size = step @ gram, 1.0
            while size > LEAST_SIZE:
                functions, solved = self.functions + size * along, self.solved + size * step
                value = self._log_posterior(functions, solved)
                if value > before:
                    break
                size *= 0.5
            else:
                value = before
                break
            self.functions, self.solved, rise = functions, solved, value - before
            if rise < TOLERANCE:
                break
            if size < 1.0 or (last and rise > SLOW * last):
                rise = 0.0
        self._linearise()
        self.log_evidence = value - self._half_log_determinant

    def _log_probabilities(self, functions):
        """Of all classes, (n_classes, n)."""
        if self.two:
            return np.concatenate([log_expit(-functions), log_expit(functions)])
        return log_softmax(functions, axis=0)

    def _log_posterior(self, functions, solved):
        logs = self._log_probabilities(functions)
        if self.two:
            own = np.where(self.indicators[0] > 0, logs[1], logs[0])
        else:
            own = (self.indicators * logs).sum(axis=0)
        return self.weights @ own - 0.5 * np.sum(functions * solved)

    def _linearise(self):
        """E, the factor of R'ER, and half the log determinant, at the functions as they are."""
        p = np.exp(self._log_probabilities(self.functions))
        self.probabilities = p[-len(self.indicators) :]
        d = self.weights * (p[:1] * p[1:] if self.two else p)
        self.precisions = np.maximum(d, LEAST * self.weights)
        n, self.parts, half = len(self.gram), [], 0.0
        for number, own in enumerate(self.precisions):
            # At a start of zero all classes are alike.
            if number == 0 or not np.array_equal(own, self.precisions[number - 1]):
                root = np.sqrt(own)
                b = self.gram * root
                b *= root[:, None]
                b.ravel()[:: n + 1] += 1.0
                factor, _, _ = cholesky(b.T, 0.0)
                part, _ = lapack.dpotri(factor, lower=1)  # the lower half alone
                part *= root
                part *= root[:, None]
            half += np.log(np.diagonal(factor)).sum()
            self.parts.append(part)
        self.factor = None
        if not self.two:
            self.factor, _, _ = cholesky(sum(self.parts), 0.0)
            half += np.log(np.diagonal(self.factor)).sum() - 0.5 * np.log(self.weights).sum()
        self._half_log_determinant = half

    def _sandwich(self, right):
        """S times vectors, (n_functions, n)."""
        out = np.array([_times(each, x) for each, x in zip(self.parts, right, strict=True)])
        if not self.two:
            common = lapack.dpotrs(self.factor, out.sum(axis=0), lower=1)[0]
            out -= np.array([_times(each, common) for each in self.parts])
        return out

    def _newton(self):
        """Step of K⁻¹ f, (K⁻¹ + W)⁻¹ = K − K S K being that of the last linearisation."""
        p = np.exp(self._log_probabilities(self.functions))
        slope = self.weights * (self.indicators - p[-len(self.indicators) :]) - self.solved
        return slope - self._sandwich(slope @ self.gram)

    def gradient(self):
        """Of the log evidence in the covariance (their section 5.5.1); (n, n), symmetric.

        With the mode where it is it has ½ (a a' − S) of each function. But the mode moves by
        (I + K W)⁻¹ dK a, and with it the determinant. That is, with Σ the posterior covariance of
        the functions at one row, and its h = diag(Σ) − 2 Σ p,

            −½ tr(Σ ∂W/∂f_c) = −½ D_c (h_c − p'h),    Σ_cd = δ_cd (1 − E_c / D_c) / D_c + r_c'r_d,
            (r_c) = L⁻¹ (I − E_c D_c⁻¹),    L L' = R'ER.
        """
        n, d, p = len(self.gram), self.precisions, self.probabilities
        left = (1.0 - np.array([np.diagonal(each) for each in self.parts]) / d) / d
        if self.two:
            slopes, halves = d * (1.0 - 2.0 * p) * left, None
        else:
            wholes = map(symmetric, self.parts)
            halves = [lapack.dtrtrs(self.factor, whole, lower=1)[0] for whole in wholes]
            root = lapack.dtrtri(self.factor, lower=1)[0]
            shared = np.array([root - half / own for half, own in zip(halves, d, strict=True)])
            h = left + np.einsum("cij,cij->cj", shared, shared)
            h -= 2.0 * p * left
            h -= 2.0 * np.einsum("cij,ij->cj", shared, np.einsum("cij,cj->ij", shared, p))
            slopes = d * (h - (p * h).sum(axis=0))
        moved = -0.5 * (slopes - self._sandwich(slopes @ self.gram))
        out = np.zeros((n, n), order="F")
        for i, part in enumerate(self.parts):
            out -= 0.5 * part
            if halves is not None:
                out = blas.dsyrk(0.5, halves[i], beta=1.0, c=out, trans=1, lower=1, overwrite_c=1)
        out = symmetric(out)
        both = self.solved + moved
        out += 0.5 * (both.T @ both - moved.T @ moved)
        return out

    def predict(self, cross, variance):
        """Means and covariances of the functions at other rows.

        Parameters
        ----------
        cross : ndarray of shape (n, m)
            Covariance with the rows.
        variance : float
            Of each function.

        Returns
        -------
        means : ndarray of shape (m, n_functions)
        covariances : ndarray of shape (m, n_functions, n_functions)
        """
        means = (self.solved @ cross).T
        moved = [_times(part, cross) for part in self.parts]
        left = variance - np.array([np.einsum("im,im->m", cross, each) for each in moved])
        if self.two:
            covariances = left.T[:, :, None]
        else:
            shared = np.array([lapack.dtrtrs(self.factor, each, lower=1)[0] for each in moved])
            covariances = np.einsum("cim,dim->mcd", shared, shared, optimize=True)
            c = np.arange(len(moved))
            covariances[:, c, c] += left.T
        return means, covariances


def _times(half, right):
    """A symmetric matrix, of which the lower half is given, times a vector or a matrix."""
    if right.ndim == 1:
        return blas.dsymv(1.0, half, right, lower=1)
    return blas.dsymm(1.0, half, right, lower=1)


def class_draws(means, covariances):
    """Probabilities of the classes at some points of the law of their functions.

    The points are those of Sobol's sequence, the same for all rows, so that the mean over them is
    the integral to about a thousandth.

    Parameters
    ----------
    means : ndarray of shape (m, n_functions)
    covariances : ndarray of shape (m, n_functions, n_functions)

    Returns
    -------
    probabilities : ndarray of shape (n_points, m, n_classes)
    """
    k = means.shape[1]
    points = qmc.Sobol(k, scramble=False).random(POINTS) + 0.5 / POINTS
    normals = norm.ppf(points)
    # Rounding can leave the covariance of a row on the training rows short of positive definite.
    jitter = 1e-9 * np.maximum(np.einsum("mcc->m", covariances), 1e-300)
    factors = np.linalg.cholesky(covariances + jitter[:, None, None] * np.eye(k))
    logits = means + np.einsum("pd,mcd->pmc", normals, factors, optimize=True)
    if k == 1:
        return np.exp(np.concatenate([log_expit(-logits), log_expit(logits)], axis=2))
    return np.exp(log_softmax(logits, axis=2))

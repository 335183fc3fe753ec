"""½[KL(q‖p) + KL(p‖q)] from the log-odds T(u) of a classifier (eq. 10 and section 3.2).

The paper's T is a network alone. Where q and p hardly overlap, such a network tells their
draws apart at once, its loss vanishes, and its log-odds stop growing far below the true ones.
Here T is a Gaussian discriminant, the log-ratio of two Gaussians with the running moments of
the draws of q and of p, plus a network that learns what is not Gaussian. The moments have
the right size at once, whatever the overlap.

Both see u + b e, e ~ N(0, I): with b the standard deviation of the noise of y the
distributions are compared at the resolution at which the data could tell them apart.
Without it their divergence is infinite where the prior is of low rank. By the data-processing
inequality it is at most that of u itself.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skbayesnn.numerics.adam import Adam
from skbayesnn.numerics.leaky_network import LeakyNetwork

MEMORY = 0.9
"""Weight of the past in the running moments, a step."""


class Discriminator:
    """Classifier T(u): log-odds that u is a draw of q rather than of p.

    Parameters
    ----------
    n_inducing, width : int
        Values of u, and units of each of the two hidden layers.
    generator : numpy.random.Generator
        For the start.
    dtype : numpy dtype
        Of the network; the Gaussian part is float64.
    """

    def __init__(self, n_inducing, width, generator, dtype=np.float32):
        self.network = LeakyNetwork([n_inducing, width, width, 1])
        theta = self.network.start(generator)
        # Nothing on top of the Gaussian part at the start.
        self.network.layers(theta)[-1][0][:] = 0
        self.theta = theta.astype(dtype)
        self.gradient = np.empty_like(self.theta)
        self.adam = Adam([self.theta.size], dtype=dtype)
        self.means = np.zeros((2, n_inducing))
        self.seconds = np.zeros((2, n_inducing, n_inducing))
        self.mass = 0.0
        self.gaussians = []

    def learn_moments(self, u_q, u_p, blur):
        """Update the running moments; ``blur`` is b, the noise that T is to see on u."""
        self.mass = MEMORY * self.mass + 1.0 - MEMORY
        part = (1.0 - MEMORY) / self.mass
        self.gaussians = []
        for mean, second, u in zip(self.means, self.seconds, (u_q, u_p), strict=True):
            u = u.astype(np.float64)
            mean += part * (u.mean(axis=0) - mean)
            second += part * (u.T @ u / len(u) - second)
            covariance = second - np.outer(mean, mean)
            covariance.flat[:: len(mean) + 1] += blur**2
            factor = cho_factor(covariance, lower=True, check_finite=False)
            log_determinant = 2.0 * np.log(np.diag(factor[0])).sum()
            self.gaussians.append((mean.copy(), factor, log_determinant))

    def _gaussian_part(self, u):
        """Log-ratio of the two Gaussians at u, and its gradient."""
        value, gradient = 0.0, 0.0
        for sign, (mean, factor, log_determinant) in zip((1, -1), self.gaussians, strict=True):
            distance = u - mean
            solved = cho_solve(factor, distance.T, check_finite=False).T
            squares = np.einsum("ij,ij->i", distance, solved)
            value = value - sign * 0.5 * (squares + log_determinant)
            gradient = gradient - sign * solved
        return value, gradient

    def look(self, u_q, u_p):
        """What the methods below take: as many draws of q as of p, and the Gaussian part there.

        Parameters
        ----------
        u_q, u_p : ndarray of shape (n_draws, n_inducing)
        """
        u = np.concatenate([u_q, u_p])
        return u, *self._gaussian_part(u)

    def loss_and_gradient(self, seen):
        """Mean logistic loss of telling q from p; ln 2 is a guess.

        The gradient in the network's parameters is left in ``gradient``.
        """
        u, gaussian, _ = seen
        n = len(u) // 2
        kept = self.network.forward(self.theta, u)
        margins = kept[-1][:, 0] + gaussian
        margins[n:] *= -1.0
        losses = np.logaddexp(0.0, -margins)
        d_out = np.exp(-margins - losses) / len(u)
        d_out[:n] *= -1.0
        self.network.adjoint(
            self.theta, kept, d_out[:, None].astype(self.theta.dtype), self.gradient
        )
        return float(losses.mean())

    def step(self, seen, rate):
        """One step of Adam; the loss before it."""
        loss = self.loss_and_gradient(seen)
        self.adam.step(self.theta, self.gradient, np.array([rate]))
        return loss

    def divergence(self, seen):
        """½ mean(T(u_q) − T(u_p)), and its gradients in the draws, T held fixed.

        Returns
        -------
        value : float
            In nats.
        d_u_q, d_u_p : ndarray of shape (n_draws, n_inducing)
        """
        u, gaussian, d_gaussian = seen
        n = len(u) // 2
        kept = self.network.forward(self.theta, u)
        d_out = np.full((len(u), 1), -0.5 / n, self.theta.dtype)
        d_out[:n] *= -1.0
        d_u = self.network.adjoint(self.theta, kept, d_out) + d_out * d_gaussian
        return float(d_out[:, 0] @ (kept[-1][:, 0] + gaussian)), d_u[:n], d_u[n:]

    def state(self):
        """Copy of what training changes, but for the moments of Adam."""
        return self.theta.copy(), self.means.copy(), self.seconds.copy(), self.mass

    def restore(self, state):
        """Put back a state; Adam starts afresh."""
        self.theta[:], self.means[:], self.seconds[:], self.mass = state
        self.adam.reset()

"""KL(q‖p) of the inducing values, estimated with a classifier (eq. 10) around two Gaussians.

The paper takes ½[KL(q‖p) + KL(p‖q)] from the log odds T(u) of a network that distinguishes draws of
q from draws of p, held fixed in the gradient. Three things go wrong with that. First, if q and p
hardly overlap, the network separates them at once, its loss vanishes, and its log odds stop growing
far below the true ones. Second, with T held fixed, q follows the gradient of KL(q‖p) alone and p
that of KL(p‖q) alone, which together are not the gradient of any function. Each moves inside the
other, so both shrink, and if the noise is small they chase each other until the mean function
leaves the data. Third, KL(p‖q) is thousands of nats if the rows determine u well.

Here T is a Gaussian discriminant, the log ratio of two Gaussians with the running moments of the
draws of q and of p, plus a network that learns what is not Gaussian. The divergence of the two
Gaussians has a closed form, which has the right size whatever the overlap. The divergence is
KL(q‖p), as in the evidence lower bound. The posterior produces whitened inducing values
(``conditional.py``), whose prior has mean zero and variance one whatever its parameters are. Only
the posterior therefore follows the gradient of the divergence, and the prior follows the data.

Both see u + b e, e ~ N(0, I), where b is the standard deviation of the noise of y: the
distributions are compared at the resolution at which the data could distinguish them. Without it
their divergence is infinite if the prior is of low rank. By the data-processing inequality, the
divergence with noise is at most that of u itself.
"""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from skbayesnn.gaussian_process.factors import symmetric
from skbayesnn.numerics.adam import Adam
from skbayesnn.numerics.random import normals_like
from skbayesnn.sip.leaky_network import LeakyNetwork

MEMORY = 0.9
"""Weight of the past in the running moments, a step."""
LEAST_SLOPE = 1e-20
"""Of the loss in the margin of a draw; less is none, and moves nothing: Adam adds 1e-11 to norms.
Draws that are told apart without doubt have slopes down to 1e-45, and products with numbers below
1e-38 take a processor ten times as long."""


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

    def learn_moments(self, u_q, mean_p, covariance_p, blur):
        """Update the running moments.

        Parameters
        ----------
        u_q : ndarray of shape (n_draws, n_inducing)
        mean_p, covariance_p : ndarray
            Moments of the prior at the inducing inputs.
        blur : float
            b, the noise that T is to see on u.
        """
        self.mass = MEMORY * self.mass + 1.0 - MEMORY
        part = (1.0 - MEMORY) / self.mass
        self.blur, self.gaussians = blur, []
        u_q = u_q.astype(np.float64)
        now = (
            (u_q.mean(axis=0), u_q.T @ u_q / len(u_q)),
            (mean_p, covariance_p + mean_p[:, None] * mean_p),
        )
        diagonal = slice(None, None, len(mean_p) + 1)
        for mean, second, (new_mean, new_second) in zip(self.means, self.seconds, now, strict=True):
            mean += part * (new_mean - mean)
            second += part * (new_second - second)
            covariance = second - mean[:, None] * mean
            covariance.flat[diagonal] += blur**2
            factor, failed = dpotrf(covariance)
            if failed:
                raise np.linalg.LinAlgError("A covariance is not positive definite.")
            log_determinant = 2.0 * np.log(factor.diagonal()).sum()
            precision = symmetric(dpotri(factor)[0])
            self.gaussians.append((mean.copy(), covariance, precision, log_determinant))

    def gaussian_divergence(self, u_q):
        """KL(q‖p) of the two Gaussians, and its gradient in the draws that the first is of.

        Returns
        -------
        value : float
        d_u_q : ndarray of shape (n_draws, n_inducing)
        """
        (m_q, c_q, p_q, log_q), (m_p, _, p_p, log_p) = self.gaussians
        shift = m_q - m_p
        from_p = p_p @ shift
        value = 0.5 * (np.sum(p_p * c_q) - len(m_q) + from_p @ shift + log_p - log_q)
        return float(value), ((u_q - m_q) @ (p_p - p_q) + from_p) / len(u_q)

    def look(self, u_q, u_p, generator):
        """What the methods below take: blurred draws, and the log-ratio of the Gaussians there.

        Parameters
        ----------
        u_q, u_p : ndarray of shape (n_draws, n_inducing)
            As many of each.
        generator : numpy.random.Generator
        """
        u = np.concatenate([u_q, u_p])
        u += u.dtype.type(self.blur) * normals_like(generator, u.shape, u.dtype)
        (m_q, _, p_q, log_q), (m_p, _, p_p, log_p) = self.gaussians
        # Both quadratic forms by one product: (d + s)ᵀ P_p (d + s) − dᵀ P_q d for s = m_q − m_p.
        distance, shift = u - m_q, m_q - m_p
        from_p = p_p @ shift
        forms = distance @ (p_p - p_q) + 2.0 * from_p
        squares = np.einsum("ij,ij->i", forms, distance) + from_p @ shift
        return u, 0.5 * (squares + log_p - log_q)

    def loss_and_gradient(self, seen):
        """Mean logistic loss of telling q from p; ln 2 is a guess.

        The gradient in the network's parameters is left in ``gradient``.
        """
        u, gaussian = seen
        n = len(u) // 2
        kept = self.network.forward(self.theta, u)
        margins = kept[-1][:, 0] + gaussian
        margins[n:] *= -1.0
        losses = np.logaddexp(0.0, -margins)
        d_out = np.exp(-margins - losses) / len(u)
        d_out[d_out < LEAST_SLOPE] = 0.0
        d_out[:n] *= -1.0
        d_out = d_out[:, None].astype(self.theta.dtype)
        self.network.adjoint(self.theta, kept, d_out, self.gradient, in_inputs=False)
        return float(losses.mean())

    def step(self, seen, rate):
        """One step of Adam; the loss before it."""
        loss = self.loss_and_gradient(seen)
        self.adam.step(self.theta, self.gradient, np.array([rate]))
        return loss

    def divergence(self, seen, u_q):
        """KL(q‖p), and its gradient with T and p held fixed.

        Parameters
        ----------
        seen : tuple
            From :meth:`look`.
        u_q : ndarray of shape (n_draws, n_inducing)

        Returns
        -------
        value : float
            In nats.
        d_u_q : ndarray of shape (n_draws, n_inducing)
        """
        value, d_u_q = self.gaussian_divergence(u_q)
        n = len(u_q)
        kept = self.network.forward(self.theta, seen[0][:n])
        d_u = self.network.adjoint(self.theta, kept, np.full((n, 1), 1.0 / n, self.theta.dtype))
        return value + float(kept[-1].mean()), d_u_q + d_u

    def state(self):
        """Copy of what training changes, but for the moments of Adam."""
        return self.theta.copy(), self.means.copy(), self.seconds.copy(), self.mass

    def restore(self, state):
        """Put back a state; Adam starts afresh."""
        self.theta[:], self.means[:], self.seconds[:], self.mass = state
        self.adam.reset()

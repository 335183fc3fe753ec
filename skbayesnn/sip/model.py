"""All parameters of a sparse implicit process in one vector, and the gradient of eq. 12."""

import numpy as np

from skbayesnn.numerics.random import normals_like
from skbayesnn.sip.conditional import FeatureConditional
from skbayesnn.sip.leaky_network import LeakyNetwork
from skbayesnn.sip.noise import START, gradient_of, penalty_of, scales_of, variance_of
from skbayesnn.sip.objective import power_log_likelihood
from skbayesnn.sip.priors import BNNPrior, SmoothPrior
from skbayesnn.sip.sampler import SamplerPrior

N_POSTERIOR_NOISE = 100
PRIORS = {"bnn": BNNPrior, "smooth": SmoothPrior, "sampler": SamplerPrior}


class SparseImplicitProcess:
    """Prior process, posterior of the inducing values, inducing inputs and noise.

    The posterior q(u) is a network whose inputs are 100 standard normal variables (the scales
    that the paper learns for them are in the first layer's weights here), and whose outputs are
    whitened inducing values (``conditional.py``).

    Parameters
    ----------
    prior : {"bnn", "smooth", "sampler"}
    Z : ndarray of shape (n_inducing, n_inputs)
        Inducing inputs at the start.
    X : ndarray of shape (n_rows, n_inputs)
        Rows over which the prior's draws have variance one at the start.
    width : int
        Units of each hidden layer, of both networks.
    noise_variance : float
        At the start.
    alpha, jitter : float
        α of the objective, and the least jitter: see :meth:`jitter_at`.
    n_draws : int
        Of the prior and of the posterior, a step.
    generator : numpy.random.Generator
    dtype : numpy dtype, default=numpy.float32
        Of the networks, of the prior's features and of gradients in these; the conditional and the
        likelihood are float64 always.
    likelihood : {"gaussian", "student_t"}, default="gaussian"
        Law of the noise.

    Attributes
    ----------
    theta, gradient : ndarray of shape (n_parameters,)
    networks : ndarray of shape (n_networks, n_noise) or None
        Noise of the prior's networks, where they stay the same.
    blur : float or None
        Noise with which the discriminator sees inducing values; None for that of y.
    blocks : dict of str to int
        Sizes of the blocks of ``theta``, in order.
    """

    def __init__(
        self, prior, Z, X, width, noise_variance, alpha, jitter, n_draws, generator,
        hyperprior_weight=0.0, dtype=np.float32, likelihood="gaussian",
    ):  # fmt: skip
        self.n_inducing, self.n_inputs = Z.shape
        self.alpha, self.jitter, self.dtype = alpha, jitter, np.dtype(dtype)
        self.prior = PRIORS[prior](self.n_inputs, width)
        self.posterior = LeakyNetwork([N_POSTERIOR_NOISE, width, width, self.n_inducing])
        self.n_draws, self.hyperprior_weight = n_draws, hyperprior_weight
        theta = self.prior.start(X, generator)
        self.networks = None
        if self.prior.keeps_networks:
            n = self.prior.n_networks(n_draws)
            self.networks = self.prior.draw_noise(generator, n, np.float64)
            self.noise = self.networks.astype(dtype)
        self.blocks = {
            **self.prior.blocks(),
            "posterior": self.posterior.n_parameters,
            "inducing inputs": Z.size,
            **({} if likelihood == "gaussian" else {"shape of the noise": len(START)}),
            "log noise variance": 1,
        }
        shape = [] if likelihood == "gaussian" else START
        noise = np.append(shape, np.log(noise_variance))
        self.n_noise = len(noise)
        self.theta = np.concatenate(
            [theta, self._start_posterior(generator), Z.ravel(), noise]
        ).astype(dtype)
        self.prior.hyper_scales = self.prior.hyper_scales.astype(dtype)
        self.gradient = np.zeros_like(self.theta)
        self.blur = None

    def parts(self, vector):
        """Views: prior, posterior, inducing inputs (n_inducing, n_inputs), noise."""
        a = self.prior.n_parameters
        b = a + self.posterior.n_parameters
        c = len(vector) - self.n_noise
        return vector[:a], vector[a:b], vector[b:c].reshape(self.n_inducing, -1), vector[c:]

    def _start_posterior(self, generator):
        """A posterior with the first two moments of the prior, so that it starts as smooth.

        Whitened inducing values: of mean zero and, as far as the hidden units go, variance one and
        without correlation.
        """
        phi = self.posterior.start(generator)
        noise = generator.standard_normal((1000, N_POSTERIOR_NOISE))
        hidden = self.posterior.forward(phi, noise)[-2]
        weights, bias = self.posterior.layers(phi)[-1]
        _, scales, directions = np.linalg.svd(hidden - hidden.mean(axis=0), full_matrices=False)
        whiten = directions.T / np.maximum(scales, 1e-3 * scales[0]) * np.sqrt(len(hidden))
        mixed = generator.standard_normal((max(weights.shape), min(weights.shape)))
        mixed = np.linalg.qr(mixed)[0]
        if mixed.shape != weights.shape:
            mixed = mixed.T * np.sqrt(weights.shape[1] / weights.shape[0])
        weights[:] = whiten @ mixed
        bias[:] = -hidden.mean(axis=0) @ weights
        return phi

    def jitter_at(self, noise_variance):
        """Jitter on the inducing values: a hundredth of the noise variance, if not less.

        Differences of u far below the noise carry no information, but where inducing inputs
        lie close together the conditional would extrapolate from them: with the least jitter
        alone, training blew up when all inducing inputs started at one point.
        """
        return max(self.jitter, 0.01 * noise_variance)

    def draw_posterior(self, generator, n_draws, phi):
        """Arrays of the posterior's network, whitened draws of u (n_draws, n_inducing) last."""
        noise = normals_like(generator, (n_draws, N_POSTERIOR_NOISE), self.dtype)
        return self.posterior.forward(phi, noise)

    def loss_and_gradient(self, X, y, weights, n_total, kl_weight, generator, discriminator, learn):
        """−(eq. 12)/n on a batch, and its gradient, left in ``gradient``.

        Parameters
        ----------
        X : ndarray of shape (n, n_inputs)
        y, weights : ndarray of shape (n,), float64
            Targets, and how much each row counts, with a mean of one over all rows.
        n_total : float
            Rows of the data that the batch stands for.
        kl_weight : float
            β.
        generator : numpy.random.Generator
        discriminator : Discriminator
        learn : callable
            Called with what the discriminator sees before the divergence is taken, to
            train it.

        Returns
        -------
        loss, divergence : float
            The loss, and its KL term in nats (without β).
        """
        theta, phi, Z, of_noise = self.parts(self.theta)
        d_theta, d_phi, d_Z, d_of_noise = self.parts(self.gradient)
        scales, noise_variance = scales_of(of_noise), variance_of(of_noise)
        n = len(X)
        n_draws = self.n_draws
        if self.networks is None:
            noise = self.prior.draw_noise(generator, n_draws, self.dtype)
        else:
            noise = self.noise
        mean, features = self.prior.moments(theta, np.concatenate([X, Z]), noise)
        f_z = self.prior.draws(theta, len(Z), n_draws, generator)
        kept = self.draw_posterior(generator, n_draws, phi)
        w = kept[-1].astype(np.float64)
        blur = np.sqrt(noise_variance) if self.blur is None else self.blur
        conditional = FeatureConditional(mean[n:], features[n:], self.jitter_at(noise_variance))
        u = conditional.values(w).astype(self.dtype)
        # Of whitened values the prior is the same whatever its parameters, but for its shape:
        # the divergence is the posterior's concern alone.
        discriminator.learn_moments(u, mean[n:], conditional.covariance_z, blur)
        seen = discriminator.look(u, f_z, generator)
        learn(seen)
        fit, d_means, d_variances, *d_scales = power_log_likelihood(
            y, *conditional.moments(mean[:n], features[:n], w), scales, self.alpha, weights
        )
        divergence, kl_u = discriminator.divergence(seen, u)
        weight = kl_weight / n_total
        d_mean, d_features, d_w = conditional.adjoint(
            w, d_means * (-1.0 / n), d_variances * (-1.0 / n)
        )
        d_w += weight * kl_u @ conditional.factor
        d_mean = np.concatenate([d_mean, np.zeros(len(Z))])
        d_Z[:] = self.prior.adjoint(theta, d_mean, d_features, len(Z), d_theta)
        self.posterior.adjoint(phi, kept, d_w.astype(self.dtype), d_phi, in_inputs=False)
        surprise, d_of_noise[:] = penalty_of(of_noise)
        d_of_noise /= n_total
        d_of_noise -= gradient_of(of_noise, scales, *d_scales) / n
        penalty, d_penalty = self.prior.hyperprior(theta)
        d_theta += self.hyperprior_weight / n_total * d_penalty
        penalty = self.hyperprior_weight * penalty + surprise
        loss = weight * divergence + penalty / n_total - fit / n
        return loss, divergence

"""The evidence lower bound of a deep Wishart process and its gradient.

    ELBO = E[Σ log p(y | f)] − Σ_ℓ KL(Q(G_ℓ | G_ℓ₋₁) ‖ P(G_ℓ | G_ℓ₋₁)) − E[KL(q(u) ‖ p(u))],

the expectations over draws of the Gram matrices. The divergences of the hidden layers do
not depend on the draws (see :mod:`skbayesnn.dwp.wishart`); that of the output does.
"""

import numpy as np

from skbayesnn.dwp.layers import condition, condition_adjoint, features, features_adjoint
from skbayesnn.dwp.output import grams_adjoint, output, output_adjoint, output_divergence
from skbayesnn.dwp.scale_mixture import mix, mix_adjoint, mixed_divergence


class Pass:
    """One evaluation of the model on a batch of rows: what all draws share.

    Parameters
    ----------
    sizes : LayerSizes
    parameters : dict of str to ndarray
        As :meth:`LayerSizes.views` gives them.
    X : ndarray of shape (n, n_inputs)
    noise : Noise
    """

    def __init__(self, sizes, parameters, X, noise):
        self.a, self.p, self.noise = sizes, parameters, noise
        p, n_layers = parameters, sizes.n_layers
        self.n_draws = noise.uniform.shape[1] if n_layers else 1
        self.draws = [
            sizes.family.Draws(sizes.layer(p, k), noise.uniform[k], noise.normal[k])
            for k in range(n_layers)
        ]
        inverse_scales = np.exp(-p["log_length_scales"])
        self.left, self.right = p["inducing"] * inverse_scales, X * inverse_scales
        self.lengths = np.exp(p["log_lengths"])
        self.scale_heights = p["log_heights"][:n_layers] - np.log(sizes.freedom)
        self.roots = [np.tril(r) for r in p["root"]]
        self.n_failures = 0
        if n_layers:
            self.stem = self._condition(self.left, self.right, 0)

    def _condition(self, left, right, k):
        c = condition(left, right, self.scale_heights[k])
        if self.a.own_scale:
            names = f"scale_base_{k}", f"scale_{k}", f"scale_logit_{k}"
            c.mixture = mix(c, *(self.p[name] for name in names))
        self.n_failures += c.n_failures
        return c

    def factors(self, c, k, d):
        """Draw d of S in layer k, for the scale matrix of the prior."""
        own = self.draws[k].factors[d]
        return c.mixture.ratio @ own if self.a.own_scale else own

    def hidden(self, d):
        """Draw d: conditionals of the hidden layers, and the features after the last.

        Returns
        -------
        conditionals : list of Conditional
        left, right : ndarray of shapes (P, k) and (n, k)
            In units of the length scale of the output layer.
        """
        left, right, conditionals = self.left, self.right, []
        for k in range(self.a.n_layers):
            c = self._condition(left, right, k) if k else self.stem
            conditionals.append(c)
            left, right = features(c, self.factors(c, k, d), self._row_noise(k, d))
            left /= self.lengths[k]
            right /= self.lengths[k]
        return conditionals, left, right

    def _row_noise(self, k, d):
        return np.broadcast_to(self.noise.rows[k, d], (len(self.right), self.a.freedom))

    def forward(self, d):
        """Draw d: conditionals of the hidden layers and an Output for each target."""
        conditionals, left, right = self.hidden(d)
        outputs, grams = [], None
        for t in range(self.a.n_targets):
            outputs.append(
                output(
                    left, right, self.p["log_heights"][-1], self.roots[t], self.p["values"][t],
                    grams,
                )
            )  # fmt: skip
            grams = outputs[0].gram, outputs[0].cross
            self.n_failures += outputs[-1].n_failures
        return conditionals, outputs

    def expected(self, outputs, d, y, weights):
        """What the likelihood makes of the outputs of draw d, an Expected."""
        means = np.stack([o.mean for o in outputs], axis=1)
        variances = np.stack([o.variance for o in outputs], axis=1)
        nodes = self.noise.nodes_of(d)
        return self.a.law.expected(means, variances, y, weights, self.p["log_noise"], nodes)


class HiddenAdjoint:
    """Gradient of a :class:`Pass` in all that is below the output layer.

    Parameters
    ----------
    run : Pass
    gradient : dict of str to ndarray
        Views of the gradient, which is added to.
    n_total : float
        Rows that the divergences are weighed against.
    weight : float
        Factor on the gradients of the divergences.
    """

    def __init__(self, run, gradient, n_total, weight):
        self.run, self.g, self.n_total, self.weight = run, gradient, n_total, weight
        self.loss = 0.0
        self.d_factors = [np.empty_like(draws.factors) for draws in run.draws]
        self.d_left, self.d_right = np.zeros_like(run.left), np.zeros_like(run.right)
        self.stem = None

    def add(self, d, conditionals, left, right, d_left, d_right):
        """Add draw d, from what :meth:`Pass.hidden` gave and the gradients in its features."""
        run, g = self.run, self.g
        for k in range(run.a.n_layers - 1, -1, -1):
            c = conditionals[k]
            # The features above are in units of the length scale.
            g["log_lengths"][k] -= (d_left * left).sum() + (d_right * right).sum()
            d_left = d_left / run.lengths[k]
            d_right = d_right / run.lengths[k]
            d_draw, *parts = features_adjoint(
                c, run.factors(c, k, d), run._row_noise(k, d), d_left, d_right
            )
            if run.a.own_scale:
                d_draw = self._mixture(c.mixture, k, d, d_draw, parts)
            self.d_factors[k][d] = d_draw
            if k == 0:  # what all draws share waits for the last of them
                stem = self.stem
                self.stem = parts if stem is None else [
                    x + y for x, y in zip(stem, parts, strict=True)
                ]  # fmt: skip
                return
            d_left, d_right, d_log_height = condition_adjoint(c, *parts)
            g["log_heights"][k] += d_log_height
            left, right = c.left, c.right
        self.d_left += d_left
        self.d_right += d_right

    def _mixture(self, m, k, d, d_draw, parts):
        """Pass on through a scale mixture: to S, to its parameters, and to L in ``parts``."""
        run, g, draws = self.run, self.g, self.run.draws[k]
        value, d_divergence, d_ratio = mixed_divergence(m, draws.parameters, run.a.freedom)
        self.loss += value / (self.n_total * run.n_draws)
        weight = self.weight / (self.n_total * run.n_draws)
        for name in run.a.layer_names:
            g[f"{name}_{k}"] += weight * d_divergence[name]
        d_ratio = weight * d_ratio + d_draw @ draws.factors[d].T
        d_factor, d_base, d_raw, d_logit = mix_adjoint(m, d_ratio)
        g[f"scale_base_{k}"] += d_base
        g[f"scale_{k}"] += d_raw
        g[f"scale_logit_{k}"] += d_logit
        parts[0] = parts[0] + d_factor
        return m.ratio.T @ d_draw

    def finish(self):
        """Add the divergences of the hidden layers, and pass on what draws share.

        Returns
        -------
        divergence : float
            Of all hidden layers, a row.
        """
        run, g, p, loss = self.run, self.g, self.run.p, self.loss
        if run.a.n_layers:
            self.d_left, self.d_right, d_log_height = condition_adjoint(run.stem, *self.stem)
            g["log_heights"][0] += d_log_height
        g["inducing"] += self.d_left * np.exp(-p["log_length_scales"])
        g["log_length_scales"] -= (self.d_left * run.left).sum(axis=0)
        g["log_length_scales"] -= (self.d_right * run.right).sum(axis=0)
        for k, draws in enumerate(run.draws):
            for name, part in draws.adjoint(self.d_factors[k]).items():
                g[f"{name}_{k}"] += part
            if run.a.own_scale:
                continue  # the divergence is a draw's
            value, d_divergence = run.a.family.divergence(draws.parameters, run.a.freedom)
            loss += value / self.n_total
            for name, part in d_divergence.items():
                g[f"{name}_{k}"] += self.weight / self.n_total * part
        return loss


def predict(sizes, parameters, X, noise):
    """Marginals of the function, without noise, for each draw.

    Returns
    -------
    means, variances : ndarray of shape (n_draws, n_targets, n)
    """
    run = Pass(sizes, parameters, X, noise)
    out = np.empty((2, run.n_draws, sizes.n_targets, len(X)))
    for d in range(run.n_draws):
        for t, o in enumerate(run.forward(d)[1]):
            out[:, d, t] = o.mean, o.variance
    return out[0], out[1]


def loss_and_gradient(sizes, theta, X, y, weights, noise, n_total, prior_weight=1.0, *, sites=None):
    """−ELBO a row, with its gradient.

    Parameters
    ----------
    sizes : LayerSizes
    theta : ndarray of shape (n_parameters,)
    X : ndarray of shape (n, n_inputs)
    y : ndarray of shape (n, n_targets) or (n, n_classes)
        Targets as the likelihood wants them.
    weights : ndarray of shape (n,)
        How many rows each stands for, over the mean of that in the whole table.
    noise : Noise
    n_total : float
        Rows that the divergences are weighed against.
    prior_weight : float, default=1.0
        Factor on the divergences.
    sites : Sites, optional
        Takes what a natural-gradient step of the pseudo-observations needs.

    Returns
    -------
    loss : float
        With the divergences in full, whatever ``prior_weight``.
    gradient : ndarray of shape (n_parameters,)
        Of the loss with the divergences times ``prior_weight``.
    n_failures : int
        Factorisations that needed more jitter.
    """
    a, p = sizes, sizes.views(theta)
    gradient = np.zeros(theta.size)
    g = a.views(gradient)
    run = Pass(a, p, X, noise)
    n, weight = len(X), prior_weight / n_total
    share, loss = 1.0 / run.n_draws, 0.0  # of a draw in the mean over draws

    hidden = HiddenAdjoint(run, g, n_total, prior_weight)
    for d in range(run.n_draws):
        conditionals, outputs = run.forward(d)
        expected = run.expected(outputs, d, y, weights)
        loss += share / n * expected.loss
        g["log_noise"] += share / n * expected.d_log_noise
        if sites is not None:
            sites.add(outputs, expected, share * n_total / n, weights.sum())
        d_gram, d_cross = 0.0, 0.0
        for t, o in enumerate(outputs):
            value, d_precision, d_values = output_divergence(o)
            loss += share / n_total * value
            d_root, d_values, part_gram, part_cross, d_log_height = output_adjoint(
                o,
                share / n * expected.d_means[:, t],
                share / n * expected.d_variances[:, t],
                share * weight * d_precision,
                share * weight * d_values,
            )
            g["root"][t] += np.tril(d_root)
            g["values"][t] += d_values
            g["log_heights"][-1] += d_log_height
            d_gram, d_cross = d_gram + part_gram, d_cross + part_cross
        d_left, d_right, d_log_height = grams_adjoint(outputs[0], d_gram, d_cross)
        g["log_heights"][-1] += d_log_height
        o = outputs[0]
        hidden.add(d, conditionals, o.left, o.right, d_left, d_right)
    loss += hidden.finish()
    return loss, gradient, run.n_failures

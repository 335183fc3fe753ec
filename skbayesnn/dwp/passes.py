"""One evaluation of the hidden layers, and its adjoint.

In a draw, the inducing points do not depend on the rows, and each row depends only on the inducing
points. Rows therefore pass through all layers in chunks, which several threads may share. The
chunks' contributions to gradients are summed in the order of the rows, whichever thread finishes
first.
"""

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np

from skbayesnn.dwp.layers import (
    condition,
    condition_adjoint,
    condition_rows,
    condition_rows_adjoint,
    features,
    row_features,
    row_features_adjoint,
)
from skbayesnn.dwp.output import output
from skbayesnn.dwp.scale_mixture import mix, mix_adjoint, mixed_divergence
from skbayesnn.numerics.workers import ALONE

FEW_ROWS, CHUNK = 1500, 512
"""Up to ``FEW_ROWS`` rows form a single chunk; more rows form chunks of at most ``CHUNK`` rows."""
SIDE_BY_SIDE = 4
"""Number of draws whose gradients for the row weights are stored until they are summed."""


def chunks(n_rows):
    """Slices of rows; they depend only on the number of rows.

    Examples
    --------
    >>> chunks(1000)
    [slice(0, 1000, None)]
    >>> len(chunks(7373))
    15
    """
    n_chunks = 1 if n_rows <= FEW_ROWS else -(-n_rows // CHUNK)
    ends = [i * n_rows // n_chunks for i in range(n_chunks + 1)]
    return [slice(begin, end) for begin, end in pairwise(ends)]


@dataclass
class Hidden:
    """The hidden layers of a draw.

    Attributes
    ----------
    conditionals : list of Conditional
        One per layer.
    rows : list of list of RowConditional
        For each chunk of rows, a list with one element per layer.
    lefts : list of ndarray of shape (P, ν)
        Features of the inducing points after each layer, in units of the next length scale.
    left, right : ndarray of shapes (P, k) and (n, k)
        Features of the inducing points and of all rows after the last layer.
    """

    conditionals: list
    rows: list
    lefts: list
    left: np.ndarray
    right: np.ndarray


class Pass:
    """One evaluation of the model on a batch of rows, and the quantities that all draws share.

    Parameters
    ----------
    sizes : LayerSizes
    parameters : dict of str to ndarray
        The result of :meth:`LayerSizes.views`.
    X : ndarray of shape (n, n_inputs)
    noise : Noise
    workers : Workers, default=ALONE
        Threads that share the draws, or the rows of a single draw.
    """

    def __init__(self, sizes, parameters, X, noise, workers=ALONE):
        self.a, self.p, self.noise, self.workers = sizes, parameters, noise, workers
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
        self.failures = []
        self.chunks = chunks(len(X))
        # Threads within a draw: a thread that is itself a worker never waits for others.
        self.inner = workers if self.n_draws == 1 else ALONE
        if n_layers:
            self.stem = self._condition(self.left, 0)
            self.stem_rows = self.each_chunk(
                lambda i, part: condition_rows(self.stem, self.right[part]), workers
            )

    def each_chunk(self, piece, workers):
        """Results of ``piece(i, rows)`` for each chunk, in order."""
        return workers.map(lambda i: piece(i, self.chunks[i]), len(self.chunks))

    def each_draw(self, piece, gather):
        """Results of ``piece(d)`` for each draw, in order; ``gather()`` runs after every few."""
        workers, out = self.workers if self.n_draws > 1 else ALONE, []
        for begin in range(0, self.n_draws, SIDE_BY_SIDE):
            some = range(begin, min(begin + SIDE_BY_SIDE, self.n_draws))
            out += workers.map(lambda i, some=some: piece(some[i]), len(some))
            gather()
        return out

    @property
    def n_failures(self):
        """Number of factorisations that needed more jitter."""
        return sum(self.failures)

    def _condition(self, left, k):
        c = condition(left, self.scale_heights[k])
        if self.a.own_scale:
            names = f"scale_base_{k}", f"scale_{k}", f"scale_logit_{k}"
            c.mixture = mix(c, *(self.p[name] for name in names))
        self.failures.append(c.n_failures)
        return c

    def factors(self, c, k, d):
        """Draw d of S in layer k, relative to the prior's scale matrix."""
        own = self.draws[k].factors[d]
        return c.mixture.ratio @ own if self.a.own_scale else own

    def hidden(self, d):
        """Draw d of the hidden layers, a :class:`Hidden`."""
        a, n_layers = self.a, self.a.n_layers
        if not n_layers:
            return Hidden([], [[] for _ in self.chunks], [], self.left, self.right)
        left, conditionals, lefts, factors = self.left, [], [], []
        for k in range(n_layers):
            c = self._condition(left, k) if k else self.stem
            factors.append(self.factors(c, k, d))
            left = features(c, factors[k], a.freedom) / self.lengths[k]
            conditionals.append(c)
            lefts.append(left)
        right = np.empty((len(self.right), a.freedom))

        def piece(i, part):
            own = [self.stem_rows[i]]
            for k in range(n_layers):
                moved = row_features(own[k], factors[k], self.row_noise(k, d, part))
                moved /= self.lengths[k]
                if k + 1 < n_layers:
                    own.append(condition_rows(conditionals[k + 1], moved))
            right[part] = moved
            return own

        return Hidden(conditionals, self.each_chunk(piece, self.inner), lefts, left, right)

    def row_noise(self, k, d, part):
        """Random numbers of the rows in layer k."""
        noise = self.noise.rows[k, d]
        if len(noise) == len(self.right):
            return noise[part]
        return np.broadcast_to(noise, (part.stop - part.start, self.a.freedom))

    def forward(self, d):
        """Draw d: the hidden layers, and an ``Output`` for each target."""
        hidden, outputs, grams = self.hidden(d), [], None
        for t in range(self.a.n_targets):
            outputs.append(
                output(
                    hidden.left, hidden.right, self.p["log_heights"][-1], self.roots[t],
                    self.p["values"][t], grams,
                )
            )  # fmt: skip
            grams = outputs[0].gram, outputs[0].cross
            self.failures.append(outputs[-1].n_failures)
        return hidden, outputs

    def expected(self, outputs, d, y, weights):
        """Expected log-likelihood terms for the outputs of draw d, an ``Expected``."""
        means = np.stack([o.mean for o in outputs], axis=1)
        variances = np.stack([o.variance for o in outputs], axis=1)
        nodes = self.noise.nodes_of(d)
        return self.a.law.expected(means, variances, y, weights, self.p["log_noise"], nodes)


class HiddenAdjoint:
    """Gradient of a :class:`Pass` with respect to everything below the output layer.

    Parameters
    ----------
    run : Pass
    n_total : float
        Number of rows by which the divergences are divided.
    weight : float
        Factor on the gradients of the divergences.
    """

    def __init__(self, run, n_total, weight):
        self.run, self.n_total, self.weight = run, n_total, weight
        self.d_factors = [np.empty_like(draws.factors) for draws in run.draws]
        # For each draw: its divergence, and the gradients with respect to quantities that draws
        # share.
        self.losses, self.stem_factors = np.zeros(run.n_draws), [None] * run.n_draws
        self.stem_rows, self.stem_sums = {}, {}
        self.d_left, self.d_right = np.zeros_like(run.left), np.zeros_like(run.right)

    def add(self, d, g, hidden, d_left, d_right):
        """Add draw d, given the result of :meth:`Pass.hidden` and the gradients for its features.

        Several threads may add draws at the same time. ``g`` holds views of a gradient that belongs
        to this draw, for the parameters whose contributions are not shared between draws.
        """
        run, n_layers = self.run, self.run.a.n_layers
        if not n_layers:
            self.d_left += d_left
            self.d_right += d_right
            return
        factors = [run.factors(c, k, d) for k, c in enumerate(hidden.conditionals)]
        parts = run.each_chunk(
            lambda i, part: self._rows(d, i, part, hidden, factors, d_right[part]), run.inner
        )
        lengths, sums = (reduce(_add_all, layers) for layers in zip(*parts, strict=True))
        for k in range(n_layers - 1, -1, -1):
            c = hidden.conditionals[k]
            # The features above this layer are in units of its length scale.
            g["log_lengths"][k] -= (d_left * hidden.lefts[k]).sum() + lengths[k]
            d_left = (d_left / run.lengths[k])[:, : factors[k].shape[1]]
            d_draw = sums[k].d_factors if k else sums[0]
            d_draw += c.factor.T @ d_left
            d_factor = d_left @ factors[k].T
            if run.a.own_scale:
                d_draw, more = self._mixture(g, c.mixture, k, d, d_draw)
                d_factor = d_factor + more
            self.d_factors[k][d] = d_draw
            if k == 0:
                self.stem_factors[d] = d_factor
                return
            d_left, d_log_height = condition_adjoint(c, d_factor, sums[k])
            g["log_heights"][k] += d_log_height

    def _rows(self, d, i, part, hidden, factors, d_right):
        """Gradients of the log length scales from chunk i, and a RowSums per layer.

        For the first layer, only the gradient with respect to the draw of S.
        """
        run, n_layers = self.run, self.run.a.n_layers
        lengths, sums = [0.0] * n_layers, [None] * n_layers
        right = hidden.right[part]
        for k in range(n_layers - 1, -1, -1):
            rows = hidden.rows[i][k]
            lengths[k] = (d_right * right).sum()
            d_right = d_right / run.lengths[k]
            d_draw, d_weights, d_variance = row_features_adjoint(
                rows, factors[k], run.row_noise(k, d, part), d_right
            )
            if k == 0:
                self.stem_rows[d, i] = d_weights, d_variance
                sums[0] = d_draw
                return lengths, sums
            d_right, sums[k] = condition_rows_adjoint(
                hidden.conditionals[k], rows, d_weights, d_variance, d_draw
            )
            right = rows.right

    def _mixture(self, g, m, k, d, d_draw):
        """Propagate a gradient through a scale mixture: to S, to its parameters, and to L."""
        run, draws = self.run, self.run.draws[k]
        value, d_divergence, d_ratio = mixed_divergence(m, draws.parameters, run.a.freedom)
        self.losses[d] += value / (self.n_total * run.n_draws)
        weight = self.weight / (self.n_total * run.n_draws)
        for name in run.a.layer_names:
            g[f"{name}_{k}"] += weight * d_divergence[name]
        d_ratio = weight * d_ratio + d_draw @ draws.factors[d].T
        d_factor, d_base, d_raw, d_logit = mix_adjoint(m, d_ratio)
        g[f"scale_base_{k}"] += d_base
        g[f"scale_{k}"] += d_raw
        g[f"scale_logit_{k}"] += d_logit
        return m.ratio.T @ d_draw, d_factor

    def gather(self):
        """Sum the pending gradients of the draws added so far, in their order."""
        for d, i in sorted(self.stem_rows):
            own = self.stem_rows.pop((d, i))
            known = self.stem_sums.get(i)
            self.stem_sums[i] = own if known is None else _add_all(known, own)

    def finish(self, g):
        """Add the divergences of the hidden layers, and propagate the gradients that draws share.

        Parameters
        ----------
        g : dict of str to ndarray
            Views of the whole gradient.

        Returns
        -------
        divergence : float
            Sum over the hidden layers, per row.
        """
        run, p = self.run, self.run.p
        if run.a.n_layers:
            self._stem(g)
        g["inducing"] += self.d_left * np.exp(-p["log_length_scales"])
        g["log_length_scales"] -= (self.d_left * run.left).sum(axis=0)
        g["log_length_scales"] -= (self.d_right * run.right).sum(axis=0)
        values = [0.0] * run.a.n_layers

        def layer(k):
            draws = run.draws[k]
            for name, part in draws.adjoint(self.d_factors[k]).items():
                g[f"{name}_{k}"] += part
            if run.a.own_scale:
                return  # the divergence depends on the draw
            values[k], d_divergence = run.a.family.divergence(draws.parameters, run.a.freedom)
            for name, part in d_divergence.items():
                g[f"{name}_{k}"] += self.weight / self.n_total * part

        run.workers.run(layer, len(values))
        return sum((value / self.n_total for value in values), start=sum(self.losses.tolist()))

    def _stem(self, g):
        run = self.run

        def piece(i, part):
            self.d_right[part], sums = condition_rows_adjoint(
                run.stem, run.stem_rows[i], *self.stem_sums[i]
            )
            return sums

        sums = reduce(add, run.each_chunk(piece, run.workers))
        factor = reduce(add, self.stem_factors)
        self.d_left, d_log_height = condition_adjoint(run.stem, factor, sums)
        g["log_heights"][0] += d_log_height


def _add_all(left, right):
    """Elementwise sums of two lists."""
    return [x + y for x, y in zip(left, right, strict=True)]

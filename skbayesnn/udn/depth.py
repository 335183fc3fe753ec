"""Posteriors of the depth ℓ (Nazaret and Blei, 2022).

All share one small interface: ``support`` (the largest depth with mass, m(q) in the
paper), ``probabilities()``, ``elbo(values)`` given the value of each depth (expected
log-likelihood less the divergence of the weights), and ``update(values, limit)``, which
moves q towards the best one for these values. Depth 1 is entry 0 of every array.
"""

from functools import lru_cache

import numpy as np
from scipy.special import gammaln, log_softmax, pdtr, pdtri, pdtrik


class DepthPosterior:
    """What the three posteriors share."""

    def elbo(self, values):
        """Objective in q(ℓ) alone: Σ q_ℓ (values_ℓ + log p(ℓ) − log q_ℓ), eq. 7.

        Parameters
        ----------
        values : ndarray of shape (m,), m at least ``support``
            In nats, over the whole training set.

        Returns
        -------
        elbo : float
        """
        log_q = self.log_probabilities()
        m = len(log_q)
        return float(np.exp(log_q) @ (np.asarray(values)[:m] + self.log_prior(m) - log_q))

    def probabilities(self):
        """Probability of each depth from 1 to ``support``."""
        return np.exp(self.log_probabilities())

    def expected_depth(self):
        """Mean of ℓ under q."""
        q = self.probabilities()
        return float(q @ np.arange(1, len(q) + 1))


class TruncatedPoisson(DepthPosterior):
    """A Poisson shifted to start at 1, cut at its ``quantile`` and renormalised.

    The prior is ℓ − 1 ~ Poisson(``prior_depth``), not truncated. For quantile 0.95 the
    support obeys λ − ln 2 ≤ m(q) ≤ 1.3 λ + 5 (Theorem 3.2). All arithmetic is in logs,
    so that no λ overflows.

    Parameters
    ----------
    prior_depth : float
        Mean of ℓ − 1 under the prior.
    rate : float, default=1.0
        The parameter λ to start from.
    quantile : float, default=0.95
        δ of the paper.

    Examples
    --------
    >>> TruncatedPoisson(0.5, rate=2.0).probabilities().round(3)
    array([0.138, 0.275, 0.275, 0.183, 0.092, 0.037])
    >>> TruncatedPoisson(0.5, rate=0.01).support
    1
    """

    def __init__(self, prior_depth, rate=1.0, quantile=0.95):
        self.prior_depth = float(prior_depth)
        self.quantile = float(quantile)
        self.restore(float(rate))

    def _supports(self, rates):
        upper = np.ceil(pdtrik(self.quantile, rates))
        lower = np.maximum(upper - 1.0, 0.0)  # pdtrik is continuous; its last digit is not exact
        return np.where(pdtr(lower, rates) >= self.quantile, lower, upper).astype(int) + 1

    def log_probabilities(self):
        """Logarithm of :meth:`probabilities`."""
        return self._log_q

    def log_prior(self, m):
        """Log prior probability of depths 1 to ``m``."""
        steps = np.arange(m)
        return steps * np.log(self.prior_depth) - self.prior_depth - gammaln(steps + 1)

    def update(self, values, limit, step=0.1):
        """Move λ towards the maximiser of :meth:`elbo` for these values.

        The objective is a function of one number, with small jumps where the support
        grows, so it is searched on a grid over all λ, finer around the present one, that
        holds the foot of every jump: a maximum is often there. One call changes log λ by
        at most ``step``; repeated calls end at the maximiser, wherever they start and
        however many there are.

        Parameters
        ----------
        values : ndarray of shape (n_known,)
            Value of each depth that was evaluated.
        limit : int
            Largest support allowed; at most ``n_known`` depths have a value.
        step : float, default=0.1
            Largest change of log λ.
        """
        values = np.asarray(values, dtype=float)
        limit = min(limit, len(values))
        near = self.rate * np.exp(np.linspace(-step, step, 11))
        tables = poisson_grid(self.prior_depth, self.quantile), self._table(near[near > 1e-3])
        best, best_elbo = self.rate, -np.inf
        for rates, supports, q, constants in tables:
            n = np.searchsorted(supports, limit, side="right")  # rates, so supports, rise
            if n:
                elbos = q[:n, :limit] @ values[: q.shape[1]][:limit] + constants[:n]
                if elbos.max() > best_elbo:
                    best, best_elbo = rates[np.argmax(elbos)], elbos.max()
        self.restore(float(np.clip(best, self.rate * np.exp(-step), self.rate * np.exp(step))))

    def _table(self, rates):
        """For each λ the support, the probabilities, and eq. 7 at values of zero."""
        supports = self._supports(rates)
        steps = np.arange(supports[-1])
        log_q = steps * np.log(rates)[:, None] - gammaln(steps + 1)
        inside = steps < supports[:, None]
        log_q = log_softmax(np.where(inside, log_q, -np.inf), axis=1)
        q = np.exp(log_q)
        constants = (q * (self.log_prior(len(steps)) - np.where(inside, log_q, 0.0))).sum(axis=1)
        return rates, supports, q, constants

    def state(self):
        """What :meth:`restore` takes."""
        return self.rate

    def restore(self, state):
        """Put back a state."""
        self.rate = state
        self.support = int(self._supports(np.array([state]))[0])
        steps = np.arange(self.support)
        self._log_q = log_softmax(steps * np.log(state) - gammaln(steps + 1))


@lru_cache(maxsize=8)
def poisson_grid(prior_depth, quantile):
    """The table of all λ from 0.005 to 300: ten a factor of e, and the largest of each support."""
    rates = np.exp(np.arange(np.log(5e-3), np.log(300.0), 0.1))
    feet = pdtri(np.arange(320), quantile) * (1.0 - 1e-9)  # just short of a larger support
    rates = np.sort(np.concatenate([rates, feet[(feet > rates[0]) & (feet < rates[-1])]]))
    return TruncatedPoisson(prior_depth, quantile=quantile)._table(rates)


class CategoricalDepth(DepthPosterior):
    """Free probabilities of depths 1 to ``max_depth``, uniform prior: a depth-uncertainty
    network (Antorán, Allingham and Hernández-Lobato, 2020).

    Parameters
    ----------
    max_depth : int

    Examples
    --------
    >>> q = CategoricalDepth(3)
    >>> q.update([0.0, 5.0, 0.0], limit=3, step=10.0)
    >>> q.probabilities().round(3)
    array([0.007, 0.987, 0.007])
    """

    def __init__(self, max_depth):
        self.logits = np.zeros(int(max_depth))

    @property
    def support(self):
        """Largest depth with mass: always ``max_depth``."""
        return len(self.logits)

    def log_probabilities(self):
        """Logarithm of :meth:`probabilities`."""
        return log_softmax(self.logits)

    def log_prior(self, m):
        """Log prior probability of depths 1 to ``m``."""
        return np.full(m, -np.log(len(self.logits)))

    def update(self, values, limit, step=0.1):
        """Move each logit towards the exact posterior, log p(ℓ) + values, by at most ``step``."""
        target = np.asarray(values, dtype=float)[: self.support]
        self.logits += np.clip(log_softmax(target) - self.log_probabilities(), -step, step)
        self.logits = log_softmax(self.logits)

    def state(self):
        """What :meth:`restore` takes."""
        return self.logits.copy()

    def restore(self, state):
        """Put back a state."""
        self.logits = state.copy()


class PointMass(DepthPosterior):
    """All mass on one depth: a plain finite network Ω_depth.

    Parameters
    ----------
    depth : int

    Examples
    --------
    >>> PointMass(3).probabilities()
    array([0., 0., 1.])
    """

    def __init__(self, depth):
        self.support = int(depth)

    def probabilities(self):
        """Probability of each depth."""
        return np.eye(self.support)[-1]

    def elbo(self, values):
        """Value of the one depth."""
        return float(values[self.support - 1])

    def update(self, values, limit, step=0.1):
        """Nothing to learn."""

    def state(self):
        """What :meth:`restore` takes."""
        return self.support

    def restore(self, state):
        """Put back a state."""
        self.support = state

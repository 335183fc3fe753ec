"""Posterior draws of the hyperparameters of a Gaussian process, for tables with few rows.

Twenty to a hundred rows do not determine a length scale for every input, and neither do a few
hundred rows with more inputs. The posterior mode attributes the targets to whichever inputs happen
to correlate with them, and predictions that treat its length scales as known are overconfident.
With fewer than a hundred rows, or fewer than two rows per input, a second model therefore takes
part in predictions: the Gaussian process without hidden layers, averaged over posterior draws of
its settings (:mod:`skbayesnn.gaussian_process.drawn_settings`). Not in the paper.

Of many inputs, chains that begin anywhere do not find the few that matter. There, a further chain
begins where the search for the start of training ended, which selects inputs
(:mod:`skbayesnn.gaussian_process.few_inputs`). It may stay at inputs that matter by chance only. So
left-out rows say how many of the draws are taken from it, as in stacking of chains that do not mix
(Yao, Vehtari and Gelman, 2022).
"""

import numpy as np

from skbayesnn.dwp.prediction import ExactOutput
from skbayesnn.dwp.sizes import LayerSizes, draw_noise
from skbayesnn.dwp.width import best_width
from skbayesnn.gaussian_process.drawn_settings import (
    FEW_ROWS,
    NOISE,
    STARTS,
    Length,
    counted,
    draw_settings,
)
from skbayesnn.gaussian_process.evidence import start_of
from skbayesnn.gaussian_process.few_inputs import FEW_TO_SEARCH
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.training.shares import posterior_share

ROWS_AN_INPUT = 2
"""From this many rows per input on, and :data:`FEW_ROWS`, the hidden layers alone predict."""
# Precision of the start of a chain, in decimals.
_START_DIGITS = 2

LONG, SHORT = Length(50, 50, 2, 12), Length(10, 20, 1, 8)
"""Lengths of chains below and from :data:`FEW_ROWS` rows. With more rows, a step costs as much as
an iteration of the search for the start, and the chain begins where that search ends."""


def chance_of_settings(weights, n_inputs):
    """Weight of the second model, which falls linearly from one (no rows) to zero.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        How many rows each stands for.
    n_inputs : int

    Examples
    --------
    >>> import numpy as np
    >>> [chance_of_settings(np.ones(n), n_inputs=8) for n in (25, 50, 100)]
    [0.75, 0.5, 0.0]
    >>> chance_of_settings(np.ones(300), n_inputs=600)
    0.75
    """
    return max(0.0, 1.0 - counted(weights) / max(FEW_ROWS, ROWS_AN_INPUT * n_inputs))


def log_densities_left_out(processes, log_noises):
    """Log density of the first target of each row given all other rows, averaged over processes."""
    moments = zip(*(process.left_out(1) for process in processes), strict=True)
    means, variances = (np.stack(part, axis=1) for part in moments)
    shares = np.full(len(processes), 1.0 / len(processes))
    law = PredictiveMixture(shares, means, variances + np.exp(log_noises))
    return law.logpdf(processes[0].Y[:, 0])


def evenly(draws, n):
    """So many of the draws, evenly spaced."""
    return draws[np.arange(n) * len(draws) // max(n, 1)]


class SettingsOutput:
    """Gaussian processes conditioned on all rows, one for each draw of the hyperparameters.

    Parameters
    ----------
    X, Y : ndarray of shapes (n, n_inputs) and (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)
        How many rows each stands for.
    found : ndarray of shape (n_inputs + 2,)
        Log length scales, log signal variance and log noise variance from the start of training.
    generator : numpy.random.Generator

    Examples
    --------
    >>> import numpy as np
    >>> X, rng = np.linspace(-1.5, 1.5, 20)[:, None], np.random.default_rng(0)
    >>> output = SettingsOutput(X, np.sin(X), np.ones(20), np.zeros(3), rng)
    >>> means, variances = output.functions(np.array([[0.5], [1.0]]))
    >>> means.shape, bool(0.47 < means[:, 0, 0].mean() < 0.49)  # sin(0.5) is 0.479
    ((50, 1, 2), True)
    """

    def __init__(self, X, Y, weights, found, generator):
        p, n_targets = X.shape[1], Y.shape[1]
        few_rows = counted(weights) < FEW_ROWS
        if few_rows:
            begins, length = [start_of(p, part, NOISE) for part in STARTS], LONG
        else:
            begins, length = [np.round(found, _START_DIGITS)], SHORT
        drawn = [draw_settings(X, Y, weights, begins, length, generator)]
        if few_rows and p > FEW_TO_SEARCH and n_targets == 1:
            begins, length = [np.round(found, _START_DIGITS)], length._replace(thinning=1)
            drawn.append(draw_settings(X, Y, weights, begins, length, generator))
        sizes = LayerSizes(p, n_targets, 1, 1, 0, "gw")
        noise = draw_noise(sizes, generator, 1, 1)
        settings, processes = np.concatenate(drawn), []
        for each in settings:
            theta = np.zeros(sizes.size())
            parameters = sizes.views(theta)
            parameters["log_length_scales"][:] = each[:p]
            parameters["log_heights"][:] = each[p]
            parameters["log_noise"][:] = each[p + 1 :]
            processes.append(ExactOutput(sizes, theta, noise, X, Y, weights))
        n, kept = len(drawn[0]), np.arange(len(drawn[0]))
        if len(drawn) > 1:
            others, own = (
                log_densities_left_out(processes[part], settings[part, -1])
                for part in (slice(n), slice(n, None))
            )
            n_few = round(n * posterior_share(own, others, weights))
            further = np.arange(n, len(settings))
            kept = np.concatenate([evenly(kept, n - n_few), evenly(further, n_few)])
        self.settings, self.log_noise = settings[kept], settings[kept, p + 1 :]
        self.processes, self.width = [processes[i] for i in kept], None

    @property
    def noise(self):
        """Noise variance of the first target for each draw of the hyperparameters."""
        return np.exp(self.log_noise[:, 0])

    def learn_width(self):
        """Learn from left-out rows how much narrower the predictions should be."""
        parts = [process.left_out(1) for process in self.processes]
        means, variances = map(np.array, zip(*parts, strict=True))
        variance = variances.mean(axis=0) + means.var(axis=0)
        some = self.processes[0]
        errors = some.Y[:, 0] - means.mean(axis=0)
        self.width = best_width(errors, variance, float(self.noise.mean()), some.weights)

    def functions(self, X):
        """Means and variances of the functions, each (n_draws, n_targets, n_new)."""
        parts = [process.predict(X) for process in self.processes]
        return tuple(np.concatenate(each) for each in zip(*parts, strict=True))

    def sample(self, X, generator, n_samples):
        """Joint draws of the function of the first target, each from a randomly chosen process.

        Parameters
        ----------
        X : ndarray of shape (n_new, n_inputs)
            Standardised.
        generator : numpy.random.Generator
        n_samples : int

        Returns
        -------
        samples : ndarray of shape (n_new, n_samples)
        noise : ndarray of shape (n_samples,)
            Noise variance of the process that was chosen for each draw.
        """
        samples = np.empty((len(X), n_samples))
        chosen = generator.integers(len(self.processes), size=n_samples)
        for i in np.unique(chosen):
            columns = np.flatnonzero(chosen == i)
            samples[:, columns] = self.processes[i].sample(X, generator, len(columns))
        return samples, self.noise[chosen]

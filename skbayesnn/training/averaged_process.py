"""A Gaussian process beside networks, averaged over its settings, where rows are few.

Twenty to a hundred rows do not determine a length scale for each input: what maximises the
evidence follows whichever inputs happen to correlate with the targets, and predictions that take it
for known are too certain. Here the settings are drawn from their posterior given all rows
(:mod:`skbayesnn.gaussian_process.drawn_settings`), and predictions are averaged over the draws.
Held-out rows judge the networks as trained on the others, perhaps half of all, and this process as
it is without one row. What favours it thereby is what networks that hold out rows lose where rows
are few. Not in the papers.
"""

import numpy as np

from skbayesnn._validation import location_and_scale
from skbayesnn.gaussian_process.conditioned import Process
from skbayesnn.gaussian_process.drawn_settings import (
    FEW_ROWS,
    NOISE,
    STARTS,
    Length,
    counted,
    draw_settings,
    merged,
)
from skbayesnn.gaussian_process.evidence import start_of
from skbayesnn.numerics.copies import counted_once
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.training.process import ROWS_AT_ONCE
from skbayesnn.training.shares import posterior_share

LENGTH = Length(warm_up=50, n_states=50, thinning=2, n_steps=12)
"""Of each of two chains."""
PRIOR_ROWS = 4.0
"""As many rows as the prior of the weight is worth, a Beta distribution."""
PRIOR_PART = 0.5
"""Its mean with next to no rows; it falls to zero at ``FEW_ROWS``."""


class AveragedProcess:
    """Gaussian processes with Gaussian noise, one for each draw of the settings.

    Parameters
    ----------
    settings : ndarray of shape (n_draws, n_inputs + 2)
        Logs of the length scales, of the height, and of the noise variance, of the targets
        standardised.
    X : ndarray of shape (n, n_inputs)
    targets, weights : ndarray of shape (n,)
        How many rows each row stands for. All together count as many as differ: equal rows say
        nothing of the noise (:mod:`skbayesnn.numerics.copies`).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1.5, 1.5, 20)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> settings = settings_of(X, y, np.ones(20), np.random.default_rng(0))
    >>> process = AveragedProcess(settings, X, y, np.ones(20))
    >>> process(np.array([[0.5]])).mean().round(2)  # sin(0.5) is 0.479
    array([0.48])
    """

    without_noise = False

    def __init__(self, settings, X, targets, weights):
        self.settings = settings
        self.location, self.scale, *self.data, self.of_rows = _standardised(X, targets, weights)
        self.known = None

    def __getstate__(self):
        return {**vars(self), "known": None}

    @property
    def noises(self):
        """Noise variance of each draw, of the standardised targets."""
        return np.exp(self.settings[:, -1])

    def _processes(self):
        if self.known is None:
            X, z, weights = self.data
            self.known = [Process(each, X, z, weights, weights) for each in self.settings]
        return self.known

    def __call__(self, X):
        """Predictive distribution of the targets at these inputs.

        Parameters
        ----------
        X : ndarray of shape (m, n_inputs)

        Returns
        -------
        law : PredictiveMixture
        """
        return self._law([each.predict(X) for each in self._processes()])

    def left_out(self):
        """Predictive distribution of each row given the others that differ from it.

        Returns
        -------
        law : PredictiveMixture
            Of n rows.
        """
        moments = [each.left_out() for each in self._processes()]
        return self._law([[part[self.of_rows] for part in each] for each in moments])

    def _law(self, moments):
        means, variances = (np.stack(part, axis=1) for part in zip(*moments, strict=True))
        weights = np.full(len(self.noises), 1.0 / len(self.noises))
        law = PredictiveMixture(weights, means, variances + self.noises)
        return law.scaled(self.location, self.scale)

    def draws(self, X, n, generator):
        """Functions given the rows, plus noise, each with one draw of the settings.

        A function is one among a thousand rows at a time.

        Parameters
        ----------
        X : ndarray of shape (m, n_inputs)
        n : int
        generator : numpy.random.Generator

        Returns
        -------
        draws : ndarray of shape (m, n)
        """
        out, processes = np.empty((len(X), n)), self._processes()
        which = generator.integers(len(processes), size=n)
        for i in np.unique(which):
            own = which == i
            for begin in range(0, len(X), ROWS_AT_ONCE):
                rows = slice(begin, begin + ROWS_AT_ONCE)
                means, _, gaps = processes[i].draws(X[rows], int(own.sum()), generator)
                noise = np.sqrt(self.noises[i]) * generator.standard_normal(gaps.shape)
                out[rows, own] = means[:, None] + gaps + noise
        return self.location + self.scale * out


def _standardised(X, targets, weights):
    """Location and scale of the targets, distinct rows with what they count, and whose each is."""
    weights = counted_once(X, targets, weights)
    location, scale = map(float, location_and_scale(targets, "y", weights))
    *rows, of_rows = merged(X, ((targets - location) / scale)[:, None], weights)
    return location, scale, rows[0], rows[1][:, 0], rows[2], of_rows


def settings_of(X, targets, weights, generator):
    """Draws of the settings, for :class:`AveragedProcess`; the other parameters as there."""
    _, _, X, z, weights, _ = _standardised(X, targets, weights)
    starts = [start_of(X.shape[1], part, NOISE) for part in STARTS]
    return draw_settings(X, z[:, None], weights, starts, LENGTH, generator)


def averaged_part(weights, own, others, counts):
    """The weight of an averaged process.

    Its prior is a Beta distribution, worth ``PRIOR_ROWS`` rows.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        How many rows each row stands for, of all rows.
    own, others : ndarray of shape (n_held_out,)
        Log densities of held-out rows under the process and without it.
    counts : ndarray of shape (n_held_out,)
        How many rows each of these stands for.

    Returns
    -------
    part : float
    """
    mean = PRIOR_PART * max(0.0, 1.0 - counted(weights) / FEW_ROWS)
    return posterior_share(own, others, counts, mean, PRIOR_ROWS)

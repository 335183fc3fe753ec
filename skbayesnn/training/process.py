"""A Gaussian process beside a network: what it predicts, and its part of the prediction.

An infinitely wide network is a Gaussian process. Where the function is smooth, such a process
predicts better than networks of a few units, and where it is not it predicts much worse. So it is
fitted to the rows that a network is trained on, and both are judged by the rows that are held out.
The density of row i under the pool of the two is

    (1 − v) p_i + v g_i

for the network's density p_i and the process's g_i, and with a uniform prior of v the part that is
predicted with is the mean of v given the held-out rows. Then the process is given all rows. It has
squared exponential covariance, with a length scale for each input, which maximise the evidence with
weak priors. Its noise is Gaussian unless rows that are left out favour a law with tails, skewness
or a scale that depends on the inputs (:mod:`skbayesnn.gaussian_process.learned_noise`). Not in the
papers.
"""

import numpy as np
from scipy.linalg import LinAlgError

from skbayesnn._validation import location_and_scale
from skbayesnn.gaussian_process.conditioned import Process
from skbayesnn.gaussian_process.evidence import JITTER, search, start_of
from skbayesnn.gaussian_process.factors import cholesky
from skbayesnn.gaussian_process.stand_ins import seen_through, start_with_law, with_noise
from skbayesnn.predictive import PredictiveMixture, linear_pool

SEARCH_ROWS, RACE_ROWS, MOST_ROWS = 400, 200, 2000
"""Rows by which length scales and noise are learned, by which starts race before that, and that the
process is given."""
STARTS = (1.0, 0.1), (3.0, 0.01), (0.2, 0.03)
"""Length scales, as a part of the typical distance of two rows, and noise variances."""
RACE_ITERATIONS, ITERATIONS = 10, 40
LEAST_LOG_NOISE = -14.0
PARTS = (np.arange(100) + 0.5) / 100
LEAST_PART = 0.01
"""A process with a smaller part is left out."""
FARTHEST = 8.0
"""Deviations from what is predicted for them, beyond which held-out rows are outliers: a process
follows every row that it is given."""
ROWS_AT_ONCE = 1000
"""Rows of which functions are drawn jointly."""
ROUNDS = 2
"""Of rows left out, and what the law of the noise makes of them."""


class GaussianProcess:
    """A Gaussian process with a length scale for each input.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Of about unit scale.
    targets : ndarray of shape (n,)
    weights : ndarray of shape (n,)
        How many rows each row stands for.
    generator : numpy.random.Generator
        Chooses rows where there are too many.

    Attributes
    ----------
    settings : ndarray of shape (n_inputs + 2,)
        Logs of the length scales, of the height, and of the noise variance, of the targets
        standardised.
    law : NoiseLaw or None
        None where the noise is Gaussian.

    Raises
    ------
    scipy.linalg.LinAlgError
        The covariance is singular wherever the search could start.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> process = GaussianProcess(X, np.sin(2 * X[:, 0]), np.ones(100), rng)
    >>> bool(process.settings[0] < process.settings[1])  # the second input does nothing
    True
    >>> process(np.array([[0.5, 0.0]])).mean().round(2)
    array([0.84])
    """

    def __init__(self, X, targets, weights, generator):
        self.location, self.scale = map(float, location_and_scale(targets, "y", weights))
        data = X, (targets - self.location) / self.scale, weights
        some = self._some(data, SEARCH_ROWS, generator)
        few = self._some(some, RACE_ROWS, generator)
        starts = [self._search(start_of(X.shape[1], *s), few, RACE_ITERATIONS) for s in STARTS]
        found = [each for each in starts if each is not None]
        if not found:
            raise LinAlgError("The covariance of the rows is singular.")
        best = min(found, key=lambda each: each.fun)
        best = self._search(best.x, some, ITERATIONS) or best
        rows = np.arange(len(some[0]))
        self.settings, _, self.law = start_with_law(
            *some, rows, best.x, LEAST_LOG_NOISE, gaussian=True
        )
        self.give(X, targets, weights, generator)

    @staticmethod
    def _some(data, most, generator):
        n = len(data[0])
        if n <= most:
            return data
        rows = generator.permutation(n)[:most]
        return tuple(part[rows] for part in data)

    @staticmethod
    def _search(start, data, max_iter):
        X, z, weights = data
        return search(start, X, z[:, None], weights, max_iter, LEAST_LOG_NOISE)

    def give(self, X, targets, weights, generator):
        """Condition on these rows, with the settings as they are; parameters as at the start."""
        data = X, (targets - self.location) / self.scale, weights
        self.data, self.known = self._some(data, MOST_ROWS, generator), None

    def __getstate__(self):
        return {**vars(self), "known": None}

    def _process(self):
        """The process given the rows."""
        if self.known is None:
            X, z, weights = self.data
            known = Process(self.settings, X, z, weights, weights)
            for _ in range(ROUNDS if self.law is not None else 0):
                seen = seen_through(self.law, X, z, *known.left_out(), weights)
                settings = np.append(self.settings[:-1], np.log(seen.unit))
                known = Process(settings, X, seen.targets[:, 0], seen.weights, weights)
            self.known = known
        return self.known

    def __call__(self, X):
        """The law of the targets at these inputs.

        Parameters
        ----------
        X : ndarray of shape (m, n_inputs)

        Returns
        -------
        law : PredictiveMixture
        """
        known = self._process()
        means, variances = known.predict(X)
        if self.law is None:
            noise = np.exp(self.settings[-1]) + JITTER * np.exp(self.settings[-2])
            law = [1.0], means[:, None], variances[:, None] + noise
        else:
            law = with_noise(self.law, X, means, means[None], variances[None])
        return PredictiveMixture(*law).scaled(self.location, self.scale)

    def draws(self, X, n, generator):
        """Functions given the rows, plus noise; a function is one among a thousand rows at a time.

        Parameters
        ----------
        X : ndarray of shape (m, n_inputs)
        n : int
        generator : numpy.random.Generator

        Returns
        -------
        draws : ndarray of shape (m, n)
        """
        known, blocks = self._process(), []
        for begin in range(0, len(X), ROWS_AT_ONCE):
            rows = X[begin : begin + ROWS_AT_ONCE]
            mean, covariance = known.joint(rows)
            factor = cholesky(covariance, 0.0)[0]
            functions = mean[:, None] + factor @ generator.standard_normal((len(rows), n))
            if self.law is None:
                noise = np.exp(0.5 * self.settings[-1]) * generator.standard_normal(functions.shape)
            else:
                noise = self.law.sample(rows, mean, n, generator)
            blocks.append(functions + noise)
        return self.location + self.scale * np.concatenate(blocks)


def log_chances(log_densities, other_log_densities, weights):
    """Logs of the chances of each of ``PARTS`` of the second of two laws, given rows.

    Parameters
    ----------
    log_densities, other_log_densities : ndarray of shape (n,)
        Of the rows under the two laws.
    weights : ndarray of shape (n,)
        How many rows each row stands for.

    Returns
    -------
    logs : ndarray of shape (n_parts,)
        But for a constant.
    """
    logs = np.logaddexp(
        np.log1p(-PARTS)[:, None] + log_densities, np.log(PARTS)[:, None] + other_log_densities
    )
    return logs @ weights


def expected_part(logs):
    """Mean part, with a uniform prior; zero where it is below ``LEAST_PART``.

    Parameters
    ----------
    logs : ndarray of shape (n_parts,)
        See :func:`log_chances`.

    Returns
    -------
    part : float
        In [0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> round(expected_part(log_chances(np.zeros(8), np.full(8, 1.0), np.ones(8))), 2)
    0.84
    """
    chances = np.exp(logs - logs.max())
    part = float(chances @ PARTS / chances.sum())
    return part if part >= LEAST_PART else 0.0


class ProcessBeside:
    """A Gaussian process of each target beside one network, with its part of the prediction.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Of about unit scale.
    targets : ndarray of shape (n, n_targets)
    weights : ndarray of shape (n,)
        How many rows each row stands for.
    rows, other : ndarray of int
        Rows that the network was trained on, and that were held out.
    log_densities : ndarray of shape (n_other, n_targets)
        Of the held-out targets under the network, in the units of the targets.
    generator : numpy.random.Generator
        Chooses rows where there are too many.

    Attributes
    ----------
    parts : ndarray of shape (n_targets,)
        Zero where there is no process.
    """

    def __init__(self, X, targets, weights, rows, other, log_densities, generator):
        n_targets = targets.shape[1]
        self.parts, self.processes = np.zeros(n_targets), [None] * n_targets
        self.logs = np.zeros((n_targets, len(PARTS)))
        for t, (column, known) in enumerate(zip(targets.T, log_densities.T, strict=True)):
            try:
                process = GaussianProcess(X[rows], column[rows], weights[rows], generator)
                law = process(X[other])
                judged = law.logpdf(column[other])
            except LinAlgError:
                continue  # the network is left alone
            if np.isfinite(judged).all() and np.isfinite(known).all():
                self.logs[t] = log_chances(known, judged, weights[other])
                self.parts[t] = expected_part(self.logs[t])
                far = np.abs(column[other] - law.mean()) > FARTHEST * law.std()
                given = np.concatenate([rows, other[~far]])
                process.give(X[given], column[given], weights[given], generator)
                self.processes[t] = process

    @staticmethod
    def agree(several):
        """Let the processes beside pooled networks have one part, by all held-out rows together.

        Parameters
        ----------
        several : list of ProcessBeside
            Of the same targets; changed.
        """
        for t in range(len(several[0].parts)):
            some = [each for each in several if each.processes[t] is not None]
            for each in some:
                each.parts[t] = expected_part(sum(other.logs[t] for other in some))

    def replace_draws(self, draws, X, generator):
        """Put functions of the process, with noise, in place of its part of the draws.

        Parameters
        ----------
        draws : ndarray of shape (m, n_draws)
            Of the network, the first target; changed.
        X : ndarray of shape (m, n_inputs)
        generator : numpy.random.Generator
        """
        which = generator.random(draws.shape[1]) < self.parts[0]
        if which.any():
            draws[:, which] = self.processes[0].draws(X, int(which.sum()), generator)


def pooled(known, beside, inputs, target=0):
    """The law of networks, pooled with those of the processes beside them.

    Parameters
    ----------
    known : PredictiveMixture
        Of all networks, of m rows.
    beside : list of ProcessBeside or None
        One for each network; None where a network has none.
    inputs : list of ndarray of shape (m, n_inputs)
        As each of them was given inputs.
    target : int, default=0

    Returns
    -------
    law : PredictiveMixture
    """
    pairs = [
        (each.parts[target] / len(beside), each.processes[target](X))
        for each, X in zip(beside, inputs, strict=True)
        if each is not None and each.parts[target] > 0
    ]
    parts = [part for part, _ in pairs]
    return linear_pool([known, *(law for _, law in pairs)], [1.0 - sum(parts), *parts])

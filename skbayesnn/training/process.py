"""Fit the Gaussian process that is pooled with a network.

An infinitely wide network is a Gaussian process. If the function is smooth, such a process predicts
better than networks of finite width, and otherwise much worse: :mod:`skbayesnn.training.beside`
decides. It has squared exponential covariance with a length scale for each input, and its
hyperparameters maximise the evidence with weak priors. With many inputs, the evidence finds some
use for each of them, so if few matter there is a second process of those alone. The noise is
Gaussian unless left-out rows favour a distribution with heavy tails, skewness or a scale that
depends on the inputs (:mod:`skbayesnn.gaussian_process.learned_noise`). Not in the papers.
"""

import numpy as np
from scipy.linalg import LinAlgError

from skbayesnn._validation import location_and_scale
from skbayesnn.gaussian_process.conditioned import Process
from skbayesnn.gaussian_process.evidence import JITTER, search, start_of
from skbayesnn.gaussian_process.few_inputs import FEW, fast_along_one, few_inputs
from skbayesnn.gaussian_process.stand_ins import seen_through, start_with_law, with_noise
from skbayesnn.gaussian_process.tails import draw_scales, with_tails
from skbayesnn.numerics.copies import counted_once
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.training.normal_scores import unchanged

RACE_ROWS, SEARCH_ROWS, FINE_ROWS, MOST_ROWS = 200, 400, 1000, 2000
"""Rows by which starts race, by which the best one's length scales and noise are learned, by which
they are learned where there is next to no noise, and that the process is given."""
STARTS = (1.0, 0.1), (3.0, 0.01), (0.2, 0.03)
"""Length scales, as a part of the typical distance of two rows, and noise variances. Two further
starts have the inputs that matter, and a short length scale along one input
(:mod:`skbayesnn.gaussian_process.few_inputs`)."""
RACE_ITERATIONS, ITERATIONS = 10, 40
LEAST_LOG_NOISE = -26.0
"""A deviation of 2e-6 of the targets', where there is no noise: a little above what is always added
to the covariance."""
NEXT_TO_NO_NOISE, NO_NOISE = -12.0, -18.0
"""A process whose log noise variance is below finds next to none, or none."""
ROWS_AT_ONCE = 1000
"""Rows of which functions are drawn jointly."""
ROUNDS = 2
"""Of leaving rows out, and of what the noise model makes of them."""


def at_most(data, most, generator):
    """At most so many rows of arrays of one length, chosen at random."""
    n = len(data[0])
    if n <= most:
        return data
    rows = generator.permutation(n)[:most]
    return tuple(part[rows] for part in data)


def race(X, Y, weights, least_log_noise, starts=()):
    """The best settings of all inputs after a few steps from ``STARTS`` and others.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    Y : ndarray of shape (n, n_targets)
        Standardised.
    weights : ndarray of shape (n,)
    least_log_noise : float
        Bound of the log of the noise variance.
    starts : list of ndarray of shape (n_inputs + 2,), default=()
        Further ones.

    Returns
    -------
    settings : ndarray of shape (n_inputs + 2,)

    Raises
    ------
    scipy.linalg.LinAlgError
        The covariance is singular wherever the search could start.
    """
    starts = [*(start_of(X.shape[1], *start) for start in STARTS), *starts]
    found = [search(each, X, Y, weights, RACE_ITERATIONS, least_log_noise) for each in starts]
    found = [each for each in found if each is not None]
    if not found:
        raise LinAlgError("The covariance of the rows is singular.")
    return min(found, key=lambda each: each.fun).x


class FittedProcess:
    """What processes beside networks share: how they predict, once they have settings and a law.

    Attributes
    ----------
    location, scale : float
        Of the targets.
    inputs, scaling
        The process is one of these inputs, after this scaling of all.
    settings : ndarray of shape (n_inputs + 2,)
        Logs of the length scales, of the height, and of the noise variance, of the targets
        standardised.
    law : NoiseLaw or None
        None where the noise is Gaussian.
    data : tuple of ndarray
        Inputs, standardised targets and weights of the rows that it is given.
    known
        The process given these rows, once it is needed.
    """

    def _inputs_of(self, X):
        return self.scaling(X)[:, self.inputs]

    def _noise_inputs(self, X, variances):
        """What the law of the noise may depend on, for inputs and variances of the function."""
        return X

    @property
    def without_noise(self):
        """Whether the targets are a function of the inputs, as far as the rows tell."""
        return self.law is None and self.settings[-1] < NO_NOISE

    @property
    def has_shape(self):
        """Whether the noise has a law of its own, which is not Gaussian."""
        return self.law is not None

    def __getstate__(self):
        return {**vars(self), "known": None}

    def __call__(self, X):
        """Predictive distribution of the targets at these inputs.

        Parameters
        ----------
        X : ndarray of shape (m, n_inputs)

        Returns
        -------
        law : PredictiveMixture
        """
        known, X = self._process(), self._inputs_of(X)
        means, variances = known.predict(X)
        if self.law is None:
            jitter = JITTER * np.exp(self.settings[-2])
            law = with_tails(means, variances, self.noise_variance + jitter)
        else:
            at = self._noise_inputs(X, variances)
            law = with_noise(self.law, at, means, means[None], variances[None])
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
        known, X, blocks = self._process(), self._inputs_of(X), []
        scales = draw_scales(n, generator) if self.law is None else 1.0
        for begin in range(0, len(X), ROWS_AT_ONCE):
            rows = X[begin : begin + ROWS_AT_ONCE]
            means, variances, gaps = known.draws(rows, n, generator)
            functions = means[:, None] + scales * gaps
            if self.law is None:
                noise = generator.standard_normal(functions.shape) * np.sqrt(self.noise_variance)
            else:
                at = self._noise_inputs(rows, variances)
                noise = self.law.sample(at, means, n, generator)
            blocks.append(functions + noise)
        return self.location + self.scale * np.concatenate(blocks)


class GaussianProcess(FittedProcess):
    """A Gaussian process with a length scale for each input.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Of about unit scale.
    targets : ndarray of shape (n,)
    weights : ndarray of shape (n,)
        How many rows each row stands for. All together count as many as differ: equal rows say
        nothing of the noise (:mod:`skbayesnn.numerics.copies`).
    generator : numpy.random.Generator
        Chooses rows where there are too many.
    few : FewInputs, optional
        The process is one of these inputs alone; by default it is one of all.
    scaling : callable, optional
        Replaces inputs by those that the process is one of; by default they are unchanged.

    Attributes
    ----------
    settings : ndarray of shape (n_inputs + 2,)
        Logs of the length scales of the inputs that the process is one of, of the height, and of
        the noise variance, of the targets standardised.
    few : FewInputs
        What was given, or found.
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

    def __init__(self, X, targets, weights, generator, few=None, scaling=unchanged):
        given, weights = weights, counted_once(X, targets, weights)
        self.location, self.scale = map(float, location_and_scale(targets, "y", weights))
        self.n_candidates = X.shape[1]
        self.inputs, self.scaling = slice(None) if few is None else few.inputs, scaling
        data = self._inputs_of(X), (targets - self.location) / self.scale, weights
        some = at_most(data, SEARCH_ROWS, generator)
        self.few, start = self._race(some, generator) if few is None else (few, few.settings)
        start = self._search(start, some)
        if start[-1] < NEXT_TO_NO_NOISE and len(X) > SEARCH_ROWS:
            # Errors are those of the length scales, which more rows tell more precisely.
            some = at_most(data, FINE_ROWS, generator)
            start = self._search(start, some)
        rows = np.arange(len(some[0]))
        self.settings, _, self.law = start_with_law(
            *some, rows, start, LEAST_LOG_NOISE, gaussian=True, n_candidates=self.n_candidates
        )
        self.give(X, targets, given, generator)

    def _race(self, data, generator):
        """Inputs that matter, and the best settings after a few steps from every start."""
        data = at_most(data, RACE_ROWS, generator)
        X, z, weights = data
        rows = X, z[:, None], weights
        few = few_inputs(*rows, LEAST_LOG_NOISE)
        starts = [*few.starts(self.n_candidates), *fast_along_one(*rows)]
        return few, race(*rows, LEAST_LOG_NOISE, starts)

    def _search(self, start, data):
        """The best settings from this start, or the start itself where they are not found."""
        X, z, weights = data
        rows = X, z[:, None], weights
        best = search(start, *rows, ITERATIONS, LEAST_LOG_NOISE, self.n_candidates)
        return start if best is None else best.x

    @property
    def noise_variance(self):
        """Of the standardised targets, if the noise is Gaussian."""
        return np.exp(self.settings[-1])

    def give(self, X, targets, weights, generator):
        """Condition on these rows, with the settings as they are; parameters as at the start."""
        weights = counted_once(X, targets, weights)
        data = self._inputs_of(X), (targets - self.location) / self.scale, weights
        self.data, self.known = at_most(data, MOST_ROWS, generator), None

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


def processes(X, targets, weights, generator, scaling=unchanged):
    """A process of all inputs and, where few of them matter, one of those alone.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        See :class:`GaussianProcess`, as for the others.
    targets, weights : ndarray of shape (n,)
    generator : numpy.random.Generator
    scaling : callable, optional

    Returns
    -------
    processes : list of GaussianProcess
        One or two.

    Raises
    ------
    scipy.linalg.LinAlgError
        The covariance is singular wherever the search could start.
    """
    whole = GaussianProcess(X, targets, weights, generator, scaling=scaling)
    if not 0 < len(whole.few.inputs) <= FEW * X.shape[1]:
        return [whole]
    return [whole, GaussianProcess(X, targets, weights, generator, whole.few, scaling)]

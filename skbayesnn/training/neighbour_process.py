"""Fit a process that is given the nearest rows, beside the one with squared exponential covariance.

The latter is for smooth functions and at most 2000 rows. This one has rougher functions, and knows
all rows of a large table (:mod:`skbayesnn.gaussian_process.neighbours`). It also finds groups that
an input names. Not in the papers.
"""

from typing import NamedTuple

import numpy as np

from skbayesnn._validation import location_and_scale
from skbayesnn.gaussian_process.evidence import start_of
from skbayesnn.gaussian_process.learned_noise import choose_law
from skbayesnn.gaussian_process.neighbours import (
    JITTER,
    SMOOTHNESS,
    LeftOut,
    NearRows,
    objective,
    search,
)
from skbayesnn.numerics.workers import ALONE
from skbayesnn.predictive import linear_pool
from skbayesnn.training.normal_scores import unchanged
from skbayesnn.training.process import FittedProcess
from skbayesnn.training.rows import MOST_COPIES, has_few_values


class Steps(NamedTuple):
    """How settings are looked for.

    Attributes
    ----------
    race_rows, race : int
        Rows, each left out, by which the smoothness is chosen, and steps of this search.
    rounds, steps : int
        Rounds of the search for settings, and steps of each. In each round the nearest rows are
        those of the last settings.
    """

    race_rows: int
    race: int
    rounds: int
    steps: int


OFTEN, OF_FEW, OF_MANY = 10_000, Steps(200, 10, 2, 10), Steps(500, 5, 6, 5)
"""From so many rows on, the nearest are looked for more often. The more rows there are, the smaller
is the part of them that is known to the search, and the sooner others are nearer."""
SEARCH_ROWS, LAW_ROWS = (500, 2000), 2000
"""Rows, each left out, by which settings are learned (a tenth of all, within these limits), and by
which the law of the noise is."""
RACE_NEAR, SEARCH_NEAR = 20, 30
"""Rows that predict each of them."""
SHORT, LONG, LITTLE_NOISE = -3.5, 9.0, -4.6
"""Log length scale along one input that a search starts from, and that of the others and the log
noise variance by which the input is chosen."""
HANDICAP = 0.5
"""Nats a row by which this start has to lead: groups gain much more, and a race is short."""
MOST_SHORT, SEVERAL_VALUES = 50, 3
"""The most inputs of which each is tried, and the values that they have at least: what those of two
do is told by any length scale."""
LEAST_ROWS, MANY_ROWS = 50, 1000
"""With fewer rows there is no such process, or the noise does not depend on the variance of the
function. This variance is small among copies and near-copies, which often have equal targets."""
LEAST_VARIANCE = 1e-6
"""Added to it before the logarithm is taken."""


def merged(X, targets, weights):
    """Rows with the same inputs as one, and the targets of each, to be left out.

    Where all targets of equal inputs are equal, they are copies, and all of them are left out at
    once, as :func:`skbayesnn.training.rows.copies` keeps them together. Of others, one row is.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
    targets, weights : ndarray of shape (n,)

    Returns
    -------
    X : ndarray of shape (n_merged, n_inputs)
    targets, weights : ndarray of shape (n_merged,)
        Mean of the targets and sum of the weights.
    out : LeftOut
        One for each pair of inputs and target that differs from others.
    number : ndarray of int of shape (n,)
        Of the merged row that each row is a part of.
    """
    pairs, of_pairs = np.unique(np.column_stack([X, targets]), axis=0, return_inverse=True)
    own, counts = pairs[:, -1], np.bincount(of_pairs, weights)
    X, rows = np.unique(pairs[:, :-1], axis=0, return_inverse=True)
    totals, first = np.bincount(rows, counts), np.unique(rows, return_index=True)[1]
    # From the first target of each on: where all are equal, the mean has no rounding error.
    means = own[first] + np.bincount(rows, counts * (own - own[first][rows])) / totals
    alone = np.bincount(rows)[rows] == 1
    if has_few_values(X, totals.sum()):
        alone &= counts <= MOST_COPIES
    taken = np.where(alone, counts, np.minimum(counts, 1.0))
    rest = np.where(alone, 0.0, totals[rows] - taken)
    left = np.divide(taken * (means[rows] - own), rest, out=np.zeros(len(own)), where=rest > 0)
    out = LeftOut(rows, own, counts, means[rows] + left, rest)
    return X, means, totals, out, rows[of_pairs]


def candidates(X):
    """Inputs that a short length scale may be tried for; none of more than ``MOST_SHORT``."""
    several = [j for j, x in enumerate(X.T) if len(np.unique(x)) >= SEVERAL_VALUES]
    return several if len(several) <= MOST_SHORT else []


class NearFunction(FittedProcess):
    """A function with Matérn covariance, as the nearest rows tell it.

    It has no law of the noise, so that only its moments are of use.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        Of about unit scale.
    targets : ndarray of shape (n,)
    weights : ndarray of shape (n,)
        How many rows each row stands for.
    generator : numpy.random.Generator
        Chooses the rows that settings are learned from.
    scaling : callable, optional
        Replaces inputs by those that the function is one of; by default they are unchanged.
    workers : skbayesnn.numerics.workers.Workers, optional

    Attributes
    ----------
    smoothness : {0.5, 1.5, 2.5}
    location, scale, settings, data, known
        As :class:`~skbayesnn.training.process.FittedProcess` has them.
    out : LeftOut
        Targets of the data (:func:`merged`).
    number : ndarray of int of shape (n,)
        The row of the data that each given row is a part of.
    """

    def __init__(self, X, targets, weights, generator, scaling=unchanged, workers=ALONE):
        self.location, self.scale = map(float, location_and_scale(targets, "y", weights))
        self.inputs, self.scaling = slice(None), scaling
        self.give(X, targets, weights, generator)
        n = len(self.out.rows)
        steps = OF_MANY if n >= OFTEN else OF_FEW
        self._race(steps, generator, workers)
        for _ in range(steps.rounds):
            some = self._some(int(np.clip(n // 10, *SEARCH_ROWS)), generator)
            self.settings, _ = search(self._process(), some, SEARCH_NEAR, steps.steps, workers)
            self.known = None

    def _some(self, most, generator):
        return self.out.take(np.sort(generator.permutation(len(self.out.rows))[:most]))

    def _race(self, steps, generator, workers):
        """The smoothness, and the settings that lead after a few steps from either start."""
        start = start_of(self.data[0].shape[1], 1.0, 0.1)
        some, found = self._some(steps.race_rows, generator), []
        starts = [(start, 0.0), *self._short_along_one(start, some, workers)]
        for begin, handicap in starts:
            rows = NearRows(begin, SMOOTHNESS[0], *self.data)
            for smoothness in SMOOTHNESS:
                rows.smoothness = smoothness
                settings, loss = search(rows, some, RACE_NEAR, steps.race, workers)
                found.append((loss + handicap, smoothness, settings))
        _, self.smoothness, self.settings = min(found, key=lambda each: each[0])

    def _short_along_one(self, start, some, workers):
        """Settings with a short length scale along the best single input, and their handicap.

        Rows of one group, person or place are alike, and only the input that numbers them says so.
        The best is the one whose nearest rows are most alike, whatever the others are.
        """
        X, found = self.data[0], []
        for j in candidates(X):
            alone = start.copy()
            alone[:-2], alone[j], alone[-1] = LONG, SHORT, LITTLE_NOISE
            rows = NearRows(alone, SMOOTHNESS[0], *self.data)
            found.append((objective(rows, some, RACE_NEAR, workers)(alone)[0], j))
        if not found:
            return []
        settings = start.copy()
        settings[min(found)[1]] = SHORT
        return [(settings, HANDICAP)]

    def give(self, X, targets, weights, generator=None):
        """Condition on these rows, with the settings as they are; parameters as at the start.

        ``generator`` is not used: all rows are taken.
        """
        z = (targets - self.location) / self.scale
        *self.data, self.out, self.number = merged(self._inputs_of(X), z, weights)
        self.known = None

    def moments(self, X):
        """Mean and variance of the standardised function at inputs; (m,) each."""
        return self._process().predict(self._inputs_of(X))

    def moments_left_out(self, workers=ALONE):
        """The same at the rows that it is given, each left out with all that have its inputs."""
        known = self._process()
        moments = known.predict(known.X, known.whole(np.arange(len(known.X))), workers)
        return tuple(each[self.number] for each in moments)

    def _process(self):
        """The process given the rows."""
        if self.known is None:
            self.known = NearRows(self.settings, self.smoothness, *self.data)
        return self.known


class NeighbourProcess(NearFunction):
    """A Gaussian process with Matérn covariance that is given the nearest rows.

    Parameters
    ----------
    X, targets, weights, generator, scaling, workers
        See :class:`NearFunction`; the noise is learned from some of the rows, too.

    Attributes
    ----------
    smoothness : {0.5, 1.5, 2.5}
    many_rows : bool
        Whether the noise may depend on the variance of the function.
    noise_variance : float
        Of predictions, if the noise is Gaussian. Heavy tails make it larger than that of the rows
        that are near, which ``settings`` have.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(300, 1))
    >>> process = NeighbourProcess(X, np.sign(X[:, 0]), np.ones(300), rng)
    >>> process.smoothness
    0.5
    >>> process(np.array([[-0.5], [0.5]])).mean().round(1)
    array([-1.,  1.])
    """

    def __init__(self, X, targets, weights, generator, scaling=unchanged, workers=ALONE):
        super().__init__(X, targets, weights, generator, scaling, workers)
        self.many_rows = len(self.out.rows) >= MANY_ROWS
        out, known = self._some(LAW_ROWS, generator), self._process()
        X = known.X[out.rows]
        means, variances = known.predict(X, out, workers)
        at = self._noise_inputs(X, variances)
        self.law, _, variance = choose_law(at, out.targets, means, variances, out.weights)
        self.noise_variance = max(variance, JITTER * np.exp(self.settings[-2]))

    def _noise_inputs(self, X, variances):
        return np.column_stack([X, np.log(variances + LEAST_VARIANCE)]) if self.many_rows else X


class PooledSearches:
    """Processes with the settings that several searches found, pooled with equal weights.

    Searches begin with other rows, and end at other maxima.

    Parameters
    ----------
    processes : list of NeighbourProcess
        Of the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(100, 1))
    >>> rows = X, X[:, 0] ** 2, np.ones(100)
    >>> pool = PooledSearches([NeighbourProcess(*rows, rng) for _ in range(2)])
    >>> pool(np.array([[0.5]])).mean().round(2)
    array([0.25])
    """

    def __init__(self, processes):
        self.processes = processes

    @property
    def without_noise(self):
        """Whether the targets are a function of the inputs, as far as all of them tell."""
        return all(each.without_noise for each in self.processes)

    @property
    def has_shape(self):
        """Whether the noise of any has a law of its own."""
        return any(each.has_shape for each in self.processes)

    def give(self, X, targets, weights, generator):
        """Condition all on these rows, see :meth:`NearFunction.give`."""
        for each in self.processes:
            each.give(X, targets, weights, generator)

    def __call__(self, X):
        """Predictive distribution of the targets at these inputs, (m, n_inputs)."""
        laws = [each(X) for each in self.processes]
        return linear_pool(laws, np.full(len(laws), 1.0 / len(laws)))

    def draws(self, X, n, generator):
        """Functions given the rows, plus noise; each is one of any of the processes, (m, n)."""
        which, draws = generator.integers(len(self.processes), size=n), np.empty((len(X), n))
        for i, each in enumerate(self.processes):
            own = which == i
            if own.any():
                draws[:, own] = each.draws(X, int(own.sum()), generator)
        return draws


def neighbour_processes(
    X, targets, weights, generator, scaling=unchanged, workers=ALONE, n_searches=1
):
    """The process as a list, as :func:`skbayesnn.training.process.processes` gives others.

    Parameters
    ----------
    X : ndarray of shape (n, n_inputs)
        See :class:`NeighbourProcess`, as for the others.
    targets, weights : ndarray of shape (n,)
    generator : numpy.random.Generator
    scaling : callable, optional
    workers : skbayesnn.numerics.workers.Workers, optional
    n_searches : int, default=1
        How many searches for its settings are pooled, if they differ: up to 200 rows they all begin
        with the same ones. From ``OFTEN`` rows on there is one.

    Returns
    -------
    processes : list of NeighbourProcess or PooledSearches
        None of fewer than ``LEAST_ROWS`` rows.
    """
    if len(X) < LEAST_ROWS:
        return []
    several = OF_FEW.race_rows < len(X) < OFTEN
    found = [
        NeighbourProcess(X, targets, weights, generator, scaling, workers)
        for _ in range(n_searches if several else 1)
    ]
    return found if len(found) == 1 else [PooledSearches(found)]

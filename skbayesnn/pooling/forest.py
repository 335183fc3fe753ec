"""``ForestDistributionRegressor``: scikit-learn's random forest, with a predictive distribution.

The prediction of a random forest is a weighted mean of training targets,

    μ(x) = Σ_i w_i(x) y_i,   w_i(x) = 1/T Σ_t 1{x and x_i in the same leaf of tree t} c_ti / n_t(x),

with c_ti the number of times that row i was drawn for tree t, and n_t(x) the sum of those in the
leaf. The same weights estimate the whole distribution (Meinshausen 2006). What is added here turns
that into a density: the targets are shrunk towards μ(x) by a factor a and smoothed by Gaussians of
a width that may follow the spread σ(x) of the weighted targets, with σ that of all,

    p(y | x) = Σ_i w_i(x) N(y | μ(x) + a (y_i - μ(x)), (b σ^(1-e) σ(x)^e)²).

Leaves mix rows with different means, so without shrinkage (a = 1) the distribution is wider than
the noise where the function is steep; a = 0 is a Gaussian. Factor, width and exponent are those of
a grid with the best log density of training rows, each under the trees that were not fitted to it.
"""

from itertools import pairwise
from numbers import Integral
from typing import Literal, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn._extremes import clipped_targets
from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, Seed
from skbayesnn._validation import (
    N_JOBS,
    check_parameters,
    check_sample_weight,
    location_and_scale,
    positive,
)
from skbayesnn.base import POINT_ESTIMATES, ProbabilisticRegressorMixin
from skbayesnn.pooling.copies import distinct_rows
from skbayesnn.pooling.unseen import part_unseen, unseen_targets, with_unseen
from skbayesnn.predictive import PredictiveMixture

N_COMPONENTS = 100
"""Gaussians that stand for the weighted targets of a row, each for the same part of the weight."""
_ALIKE = np.full(N_COMPONENTS, 1.0 / N_COMPONENTS)

SHRINKAGES = (0.0, 0.25, 0.5, 0.75, 1.0)
WIDTHS = 2.0 ** np.arange(-7.0, 1.5, 0.5)
EXPONENTS = (0.0, 0.5, 1.0)
"""What is tried for a, b and e."""

_UNJUDGED = (1.0, 0.25, 0.5)
"""The same where no row was left out by any tree."""

_LEAST_WIDTH = 1e-3
"""Least width of a Gaussian, in standard deviations of the targets: where targets repeat each
other, the best width would be zero."""

_N_JUDGES = 1000
"""Training rows that judge the grid, at most."""

_ROWS_A_BLOCK = 512
"""Rows whose weights are worked out at once: each has about a thousand."""


class ForestDistributionRegressor(ProbabilisticRegressorMixin, RegressorMixin, BaseEstimator):
    """Random forest that predicts distributions.

    This is a member of the default :class:`~skbayesnn.StackingDistributionRegressor`. Use it alone
    if a network is too slow, or if the targets jump, repeat or come in clusters. The distribution
    of a new row consists of the training targets, weighted by how often they share a leaf with it,
    and smoothed. How much they are smoothed is estimated from the training rows, each under the
    trees that were not fitted to it. A few extremes that would make all other targets look the same
    are clipped, with a warning, and predictions have a wide part for targets like them.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of trees.
    min_samples_leaf : int, default=2
        Least number of training rows in a leaf.
    point_estimate : {"mean", "median"}, default="mean"
        Point of the predictive distribution that ``predict`` returns.
    n_jobs : int or None, default=None
        Number of cores to use in ``fit``. None means one, unless a joblib context says otherwise.
        The result does not depend on it.
    random_state : int, numpy.random.RandomState or None, default=None
        Seed of all random choices.

    Attributes
    ----------
    forest_ : RandomForestRegressor
        The fitted forest of scikit-learn, of targets that are standardised, and of inputs minus
        their median, in units of their interquartile range.
    shrinkage_ : float
        Factor a by which targets are shrunk towards the mean.
    width_ : float
        Width b of a Gaussian, for a row whose weighted targets have the spread of all targets.
    exponent_ : float
        Exponent e: with 0 all rows have the same width, with 1 it is proportional to the spread of
        the weighted targets.
    oob_log_density_ : float
        Mean log density of up to 1000 training rows, each under the trees that were not fitted to
        it, with the chosen factor, width and exponent; NaN if there are none. In nats.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the inputs, if X has names that are all strings.

    Notes
    -----
    The weighted targets of a row are sorted and cut into a hundred parts of equal weight. Each part
    becomes a Gaussian with the mean and variance of the part. Student's t distribution with three
    degrees of freedom, as wide as all targets and with weight 1 / (n + 1) for n rows, stands for
    what the forest never saw.

    Inputs may be sparse, and may have missing values, as in scikit-learn's forest. Sparse inputs
    are not scaled.

    References
    ----------
    N. Meinshausen, "Quantile regression forests", Journal of Machine Learning Research 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn.pooling.forest import ForestDistributionRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (300, 1))
    >>> y = np.where(rng.random(300) < 0.5, 1.0, -1.0) + 0.1 * rng.normal(size=300)
    >>> law = ForestDistributionRegressor(random_state=0).fit(X, y).predict_distribution([[0.0]])
    >>> density = np.exp(law.logpdf(np.array([[-1.0, 0.0, 1.0]])))
    >>> bool(density[0, 1] < 0.1 * min(density[0, 0], density[0, 2]))
    True
    """

    def __init__(
        self,
        n_estimators: int = 300,
        *,
        min_samples_leaf: int = 2,
        point_estimate: Literal["mean", "median"] = "mean",
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.min_samples_leaf = min_samples_leaf
        self.point_estimate = point_estimate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags

    @whole_or_not_at_all
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the trees, and estimate how much their targets are to be smoothed.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Inputs; missing values as NaN.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each row: trees draw it with a probability proportional to it. If weights sum
            to less than the number of rows, that is the number n of the notes.

        Returns
        -------
        self : ForestDistributionRegressor

        Raises
        ------
        InvalidParameterError
            If a parameter is outside its range.
        ValueError
            If the square of the spread of the targets is outside the range of floats.

        Warns
        -----
        UserWarning
            If a few targets are so far outside that all others would look the same; they are
            clipped.
        """
        check_parameters(
            self,
            {
                "n_estimators": [positive(Integral)],
                "min_samples_leaf": [positive(Integral)],
                "point_estimate": POINT_ESTIMATES,
                "n_jobs": N_JOBS,
            },
        )
        rng = check_random_state(self.random_state)
        X, y = validate_data(self, X, y, y_numeric=True, **_TABLE)
        y = y.astype(np.float64)
        rows, weights = check_sample_weight(sample_weight, y)
        X = X[rows]
        self._X_scales = None if issparse(X) else _robust_scales(X)
        X = self._scaled(X)
        y, self._y_far = clipped_targets(y[rows], weights)
        # Whatever the units: the grid, and squares that no float holds.
        given = None if np.ptp(weights) == 0 else weights
        self._loc, self._scale = map(float, location_and_scale(y, "y", given))
        self._n_rows = min(float(weights.sum()), len(y))
        y = (y - self._loc) / self._scale
        self.forest_ = RandomForestRegressor(
            self.n_estimators,
            min_samples_leaf=self.min_samples_leaf,
            n_jobs=self.n_jobs,
            random_state=rng.randint(2**31 - 1),
        ).fit(X, y, sample_weight=given)
        order = np.argsort(y, kind="stable")
        self._targets = y[order]
        drawn = [np.bincount(d, minlength=len(y)) for d in self.forest_.estimators_samples_]
        drawn = np.array(drawn, dtype=np.int32)
        leaves = self.forest_.apply(X)
        self._first_leaf = np.append(0, np.cumsum([t.tree_.node_count for t in self.forest_]))
        self._leaf_weights = _leaf_weights(leaves, drawn, self._first_leaf, np.argsort(order))
        self._judge(leaves, _unseen(drawn, X, y), y, weights)
        return self

    def _scaled(self, X):
        """Inputs as the trees see them."""
        if self._X_scales is None:
            return X.astype(np.float32)
        location, scale = self._X_scales
        X = X.toarray() if issparse(X) else X  # fitted to dense rows
        return ((X - location) / scale).astype(np.float32)

    def _judge(self, leaves, unseen, y, weights):
        """Set what smooths the targets best, by rows under the trees that did not see them."""
        (judges,) = np.nonzero(unseen.any(axis=0))
        # Evenly spaced in the order of the targets, whatever the order of the rows.
        judges = judges[np.argsort(y[judges], kind="stable")]
        judges = judges[np.linspace(0, len(judges) - 1, min(len(judges), _N_JUDGES)).astype(int)]
        self.shrinkage_, self.width_, self.exponent_ = _UNJUDGED
        self.oob_log_density_ = np.nan
        if not len(judges):
            return
        parts = _parts(self._weights(leaves[judges], unseen[:, judges].T), self._targets)
        part, best = part_unseen(self._n_rows), -np.inf
        of_unseen = np.log(part) + unseen_targets(len(judges), 0.0, 1.0).logpdf(y[judges])
        for exponent in EXPONENTS:
            for shrinkage in SHRINKAGES:
                for width in WIDTHS:
                    seen = PredictiveMixture(_ALIKE, *_smoothed(*parts, shrinkage, width, exponent))
                    of_seen = np.log1p(-part) + seen.logpdf(y[judges])
                    densities = np.logaddexp(of_seen, of_unseen)
                    score = np.average(densities, weights=weights[judges])
                    if score > best:
                        best = score
                        self.shrinkage_, self.width_ = shrinkage, float(width)
                        self.exponent_ = exponent
        self.oob_log_density_ = float(best - np.log(self._scale))

    def _weights(self, leaves, used=None):
        """Weights of the training targets, in increasing order, for rows in these leaves.

        Parameters
        ----------
        leaves : ndarray of shape (n_samples, n_trees)
        used : ndarray of bool of shape (n_samples, n_trees) or None, default=None
            Trees that count, at least one for each row; None for all.

        Returns
        -------
        weights : csr_array of shape (n_samples, n_targets)
        """
        columns = leaves + self._first_leaf[:-1]
        used = np.ones(leaves.shape, dtype=bool) if used is None else used
        n_trees = used.sum(axis=1)
        share = np.repeat(1.0 / n_trees, n_trees)
        ends = np.append(0, np.cumsum(n_trees))
        shape = len(leaves), self._first_leaf[-1]
        weights = csr_array((share, columns[used], ends), shape=shape) @ self._leaf_weights
        weights.sort_indices()
        return weights

    def predict_distribution(self, X: ArrayLike) -> PredictiveMixture:
        """Predictive distribution of the target.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        distribution : PredictiveMixture
        """
        check_is_fitted(self)
        X = self._scaled(validate_data(self, X, reset=False, **_TABLE))
        n, shape = X.shape[0], (X.shape[0], N_COMPONENTS)
        means, variances = np.empty(shape), np.empty(shape)
        for begin in range(0, n, _ROWS_A_BLOCK):
            block = slice(begin, begin + _ROWS_A_BLOCK)
            parts = _parts(self._weights(self.forest_.apply(X[block])), self._targets)
            chosen = self.shrinkage_, self.width_, self.exponent_
            means[block], variances[block] = _smoothed(*parts, *chosen)
        seen = PredictiveMixture(_ALIKE, means, variances)
        law = with_unseen(seen, 0.0, 1.0, self._n_rows)
        return self._y_far(law.scaled(self._loc, self._scale))


_TABLE = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}
"""What a table of inputs may be, as for scikit-learn's forest."""


def _robust_scales(X):
    """Median and interquartile range of each column; where this is 0, the standard deviation, or 1.

    scikit-learn's trees see float32, and take values that differ by less than 1e-7 for equal: a
    time in seconds since 1970 would be known to a minute or two.
    """
    location, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    for j in np.flatnonzero(~np.isnan(X).all(axis=0)):
        column = X[~np.isnan(X[:, j]), j]
        low, location[j], high = np.quantile(column, [0.25, 0.5, 0.75])
        scale[j] = high - low or column.std() or 1.0
    return location, scale


def _leaf_weights(leaves, drawn, first_leaf, place):
    """What each training target has of the mean of each leaf.

    Parameters
    ----------
    leaves : ndarray of shape (n_samples, n_trees)
        Of the training rows.
    drawn : ndarray of int of shape (n_trees, n_samples)
        How often a tree drew a row.
    first_leaf : ndarray of shape (n_trees + 1,)
        Number of nodes in the trees before.
    place : ndarray of shape (n_samples,)
        Of each row in the order of the targets.

    Returns
    -------
    weights : csr_array of shape (n_nodes, n_samples)
        The rows of leaves have sum one.
    """
    data, nodes, columns = [], [], []
    for t, counts in enumerate(drawn):
        (rows,) = np.nonzero(counts)
        at, counts = leaves[rows, t], counts[rows]
        data.append((counts / np.bincount(at, counts)[at]).astype(np.float32))
        nodes.append((at + first_leaf[t]).astype(np.int32))
        columns.append(place[rows].astype(np.int32))
    parts = (np.concatenate(part) for part in (data, nodes, columns))
    data, nodes, columns = parts
    return csr_array((data, (nodes, columns)), shape=(first_leaf[-1], len(place)))


def _unseen(drawn, X, y):
    """Which trees saw neither a row nor a copy of it, (n_trees, n_samples).

    A row whose copy is in the tree would favour a distribution that is too narrow. If every row has
    been seen in this sense, because all are copies of a few, copies count as new observations.
    """
    place = distinct_rows(X, y)
    seen = np.zeros((len(drawn), place.max() + 1), dtype=bool)
    for of_tree, counts in zip(seen, drawn, strict=True):
        of_tree[place[counts > 0]] = True
    unseen = ~seen[:, place]
    return unseen if unseen.any() else drawn == 0


def _parts(weights, targets):
    """The weighted targets of each row, cut into parts of equal weight.

    Parameters
    ----------
    weights : csr_array of shape (n_samples, n_targets)
        With sorted columns; the sum of a row is one but for rounding.
    targets : ndarray of shape (n_targets,)
        Increasing.

    Returns
    -------
    centres : ndarray of shape (n_samples,)
        The weighted means.
    means, variances : ndarray of shape (n_samples, 100)
        Of each part; the means are relative to the centre.
    """
    n, cuts = weights.shape[0], np.arange(1, N_COMPONENTS) / N_COMPONENTS
    centres, sums = np.empty(n), np.zeros((2, n, N_COMPONENTS + 1))
    # Each row by itself, so that its last digits do not depend on the others.
    for i, (begin, end) in enumerate(pairwise(weights.indptr)):
        levels = np.cumsum(weights.data[begin:end], dtype=np.float64)
        w, levels = weights.data[begin:end] / levels[-1], levels / levels[-1]
        y = targets[weights.indices[begin:end]]
        centres[i] = np.cumsum(w * y)[-1]
        y = y - centres[i]
        at = np.minimum(np.searchsorted(levels, cuts), len(y) - 1)
        for powers, of_row in zip((y, y * y), sums[:, i], strict=True):
            total = np.cumsum(w * powers)
            # A target that a cut goes through is shared out.
            of_row[1:-1] = total[at] - (levels[at] - cuts) * powers[at]
            of_row[-1] = total[-1]
    means, squares = np.diff(sums, axis=2) * N_COMPONENTS
    return centres, means, np.maximum(squares - means**2, 0.0)


def _smoothed(centres, means, variances, shrinkage, width, exponent):
    """Means and variances of the Gaussians of each row, in standardised units."""
    spreads = np.sqrt(np.mean(means**2 + variances, axis=1, keepdims=True))
    widths = np.maximum(width * np.maximum(spreads, _LEAST_WIDTH) ** exponent, _LEAST_WIDTH)
    return centres[:, None] + shrinkage * means, shrinkage**2 * variances + widths**2

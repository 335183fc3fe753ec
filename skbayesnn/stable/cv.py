"""``StableNNRegressorCV``: the stable network with α and ν chosen by cross-validation.

The cells depend on the inputs alone: those of a fold are found once and shared by every
(α, ν). The grid runs through joblib, one task for each fold, α and ν, so that its backends
spread it over threads, processes or a cluster.
"""

import time
import warnings
from collections.abc import Callable
from itertools import product
from numbers import Integral, Real
from typing import Any, Literal, Self

import joblib
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, FloatArray, Seed
from skbayesnn._validation import (
    Interval,
    InvalidParameterError,
    Options,
    check_parameters,
    positive,
)
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.metrics import crps_scorer
from skbayesnn.numerics.random import spawn_generators
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.stable.cv_results import results_table
from skbayesnn.stable.estimator import _MAX_R_HAT, _MIN_EFFECTIVE, StableNNRegressor

_ALPHA_RANGE = Interval(Real, 0, 2, "right")


class StableNNRegressorCV(
    CallbackSupportMixin, ProbabilisticRegressorMixin, RegressorMixin, BaseEstimator
):
    """Stable network with α and ν chosen by cross-validation, refitted on all rows.

    Gives what ``GridSearchCV(StableNNRegressor(...), {"alpha": alphas, "nu": nus})`` gives
    for the same folds, seed and scorer, but finds the cells of each fold once.

    Parameters
    ----------
    alphas : array-like of float, default=(0.7, 1.1, 1.5, 2.0)
        Indices of stability to try, each in (0, 2].
    nus : array-like of float, default=(0.3, 1.0, 3.0)
        Scales of the squared weights to try, each above 0.
    cv : int, cross-validation splitter or iterable of splits, default=None
        None is 5 folds. For None and for a number the rows are dealt to the folds at
        random, by `random_state`: rows are often sorted by their inputs, and folds of
        neighbours would ask for extrapolation. Pass
        :class:`~sklearn.model_selection.KFold` for folds of neighbours.
    scoring : str or callable, default=None
        Scikit-learn's name of a scorer, or ``scorer(estimator, X, y)``; the largest mean
        over the folds is chosen. None is :data:`skbayesnn.metrics.crps_scorer`, the
        negative continuous ranked probability score. It is proper, so that the truth
        scores best, and judges the whole distribution as α decides on its tails; unlike
        the log predictive density it grows only linearly with the distance of an
        outlier, so that no single row decides. For a median it is the absolute error.
    input_scale, cells, n_units, activation, move_units, sampler
        As in :class:`StableNNRegressor`.
    noise_variance, normalize_y, point_estimate
        As in :class:`StableNNRegressor`.
    n_chains, n_warmup, n_draws, thin
        As in :class:`StableNNRegressor`, for the grid and for the refit.
    n_jobs : int, default=None
        Tasks that run at the same time, each a fit of one (fold, α, ν); then, in the
        refit, chains. The result depends neither on it nor on joblib's backend.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, the chains and the sampled hyperplanes. All fits use the same
        seed, so that chance favours no (α, ν).

    Attributes
    ----------
    alpha_, nu_ : float
        The choice.
    best_estimator_ : StableNNRegressor
        Fitted on all rows; its attributes tell about convergence and noise.
    best_score_ : float
        Mean score of the choice over the folds.
    best_params_ : dict
        The choice, as parameters.
    best_index_ : int
        Its place in `cv_results_`.
    cv_results_ : dict of ndarray
        Named as in :class:`~sklearn.model_selection.GridSearchCV`: "param_alpha",
        "param_nu", "params", "split0_test_score" …, "mean_test_score",
        "std_test_score", "rank_test_score" and times in seconds; and "max_r_hat", the
        largest R-hat of any fold.
    n_splits_ : int
        Number of folds.
    scorer_ : callable
        The scorer.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the inputs, where X has them all as strings.

    See Also
    --------
    StableNNRegressor : The network with α and ν given.

    Notes
    -----
    Under another joblib backend the same code runs on a cluster::

        with joblib.parallel_config(backend="dask"):
            model.fit(X, y)

    Only the cells, X and y travel. Inputs are used as they are, see
    :class:`StableNNRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn import StableNNRegressorCV
    >>> X = np.linspace(-2, 2, 30).reshape(-1, 1)
    >>> noise = np.random.default_rng(0).normal(size=30)
    >>> y = np.where(X[:, 0] < 0.5, 20.0, 30.0) + noise
    >>> model = StableNNRegressorCV(alphas=[1.1, 2.0], nus=[1.0], cv=3, random_state=0)
    >>> model.fit(X, y).alpha_
    1.1
    >>> model.predict([[0.3], [0.7]]).round()
    array([20., 30.])
    """

    def __init__(
        self,
        alphas: ArrayLike = (0.7, 1.1, 1.5, 2.0),
        nus: ArrayLike = (0.3, 1.0, 3.0),
        *,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        input_scale: float | ArrayLike | Literal["evidence"] = 1.0,
        cells: Literal["auto", "line", "plane", "sampled"] = "auto",
        n_units: int = 1000,
        activation: Literal["sign", "erf", "cosine"] = "sign",
        move_units: bool = False,
        sampler: Literal["gibbs", "metropolis"] = "gibbs",
        noise_variance: float | Literal["sample"] = "sample",
        normalize_y: bool = True,
        point_estimate: Literal["median", "mean"] = "median",
        n_chains: int = 4,
        n_warmup: int = 500,
        n_draws: int = 250,
        thin: int = 4,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.alphas = alphas
        self.nus = nus
        self.cv = cv
        self.scoring = scoring
        self.input_scale = input_scale
        self.cells = cells
        self.n_units = n_units
        self.activation = activation
        self.move_units = move_units
        self.sampler = sampler
        self.noise_variance = noise_variance
        self.normalize_y = normalize_y
        self.point_estimate = point_estimate
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.thin = thin
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _grid(self):
        """All candidates, in the order of ``ParameterGrid``."""
        for name, allowed in (("alphas", _ALPHA_RANGE), ("nus", positive())):
            values = getattr(self, name)
            good = not isinstance(values, str) and np.iterable(values) and len(values) > 0
            if not good or not all(value in allowed for value in values):
                raise InvalidParameterError(
                    f"The {name!r} parameter of {type(self).__name__} must be a list of "
                    f"numbers, each {allowed}. Got {values!r} instead."
                )
        pairs = product(self.alphas, self.nus)
        return [{"alpha": float(alpha), "nu": float(nu)} for alpha, nu in pairs]

    def _member(self, estimator_class, seed, **parameters):
        """A network with the parameters of this estimator that it shares."""
        names = set(StableNNRegressor._get_param_names()) - {"alpha", "nu", "random_state"}
        shared = {name: getattr(self, name) for name in names}
        return estimator_class(**{**shared, "random_state": seed, **parameters})

    def _splits(self, X, y, seed):
        number = 5 if self.cv is None else self.cv
        if isinstance(number, Integral):
            if isinstance(number, bool) or number < 2:
                raise InvalidParameterError(
                    f"The 'cv' parameter of {type(self).__name__} must be at least 2 folds, a "
                    f"cross-validation splitter or an iterable of splits. Got {number!r} instead."
                )
            number = KFold(number, shuffle=True, random_state=seed)
        return list(check_cv(number, y, classifier=False).split(X, y))

    @with_callbacks
    @whole_or_not_at_all
    @one_blas_thread
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Score every (α, ν) on every fold, choose, and fit on all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, used as they are.
        y : array-like of shape (n_samples,)
            Targets.

        Returns
        -------
        self : StableNNRegressorCV
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is outside its range, if X or y is not finite or of the wrong
            shape, if there are fewer rows than folds, or if no (α, ν) has a score that is
            a number.

        Warns
        -----
        ConvergenceWarning
            If chains of the grid or of the refit disagree or have too few effective draws.
        """
        candidates = self._grid()
        check_parameters(self, {"n_jobs": [Interval(Integral, None, None), Options((None,))]})
        table, targets = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, ensure_min_samples=2
        )
        X, y = indexable(X, y)
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        for candidate in candidates:
            self._member(StableNNRegressor, seed, **candidate)._check_parameters()
        splits = self._splits(X, y, seed)
        member = self._member(_GridMember, seed, n_jobs=1)
        scoring = crps_scorer if self.scoring is None else self.scoring
        scorer = check_scoring(member, scoring)

        # The generator of the cells is the one that the fit of a fold would make.
        folds = []
        for train, _ in splits:
            rng = spawn_generators(seed, self.n_chains + 1)[-1]
            folds.append(member._geometry(table[train], targets[train], rng))

        root = self._init_callback_context(max_subtasks=2)
        root.call_on_fit_task_begin(estimator=self, X=X, y=y)
        tasks = list(product(candidates, range(len(splits))))
        search = root.subcontext(
            task_name="search", max_subtasks=len(tasks), sequential_subtasks=False
        ).call_on_fit_task_begin(estimator=self)
        contexts = [
            search.subcontext(task_name="candidate-split-evaluation", task_id=i)
            for i in range(len(tasks))
        ]
        # Without memory maps: arrays that are read-only would be compiled for once more.
        out = Parallel(n_jobs=self.n_jobs, max_nbytes=None)(
            delayed(_evaluate)(
                clone(member).set_params(**candidate),
                folds[fold],
                X,
                y,
                *splits[fold],
                scorer,
                self,
                context,
            )
            for (candidate, fold), context in zip(tasks, contexts, strict=True)
        )
        search.call_on_fit_task_end(estimator=self)
        self.cv_results_ = results_table(candidates, np.array(out).reshape(-1, len(splits), 5))
        self.n_splits_, self.scorer_ = len(splits), scorer
        self.best_index_ = int(np.argmin(self.cv_results_["rank_test_score"]))
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_params_ = candidates[self.best_index_]
        self.alpha_, self.nu_ = self.best_params_["alpha"], self.best_params_["nu"]
        if np.isnan(self.best_score_):
            raise ValueError(
                "No (alpha, nu) has a score that is a number on every fold. Use another scoring."
            )
        n_unconverged = sum(not row[-1] for row in out)
        if n_unconverged:
            warnings.warn(
                f"In {n_unconverged} of {len(out)} fits of the grid the chains may not have "
                "converged; their scores are noisy. Increase n_warmup and thin, or look at "
                "cv_results_['max_r_hat'].",
                ConvergenceWarning,
                stacklevel=2,
            )

        refit = root.subcontext(task_name="refit-with-best-params")
        best = self._member(StableNNRegressor, seed, **self.best_params_)
        with refit.propagate_callback_context(best):
            refit.call_on_fit_task_begin(estimator=self, X=X, y=y)
            self.best_estimator_ = best.fit(X, y)
        refit.call_on_fit_task_end(estimator=self, X=X, y=y)
        root.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _checked(self, X):
        check_is_fitted(self, "best_estimator_")
        validate_data(self, X, dtype=np.float64, reset=False)
        return X

    def predict_distribution(self, X: ArrayLike) -> PredictiveMixture:
        """Predictive distribution of the refitted network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        distribution : PredictiveMixture
            As :meth:`StableNNRegressor.predict_distribution` gives it.
        """
        X = self._checked(X)
        return self.best_estimator_.predict_distribution(X)

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        """Draw new observations, see :meth:`StableNNRegressor.sample_y`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Inputs.
        n_samples : int, default=1
            Draws.
        random_state : int, RandomState instance or None, default=0
            Seed.

        Returns
        -------
        draws : ndarray of shape (n_rows, n_samples)
            In the units of y.
        """
        X = self._checked(X)
        return self.best_estimator_.sample_y(X, n_samples, random_state)


class _GridMember(StableNNRegressor):
    """A fit of the grid, with cells that are there already; the grid warns for all."""

    _geometry_given = None

    def _geometry(self, X, y, rng):
        return self._geometry_given or super()._geometry(X, y, rng)

    def _warn_unless_converged(self):
        pass


def _evaluate(model, geometry, X, y, train, test, scorer, caller, context):
    """Fit one (α, ν) on one fold and score it.

    Returns
    -------
    row : tuple
        Score, times of the fit and of the score in seconds, largest R-hat, and whether
        the chains have converged.
    """
    model._geometry_given = geometry
    X_train, y_train = _safe_indexing(X, train), _safe_indexing(y, train)
    told = {"estimator": caller, "X": X_train, "y": y_train}
    # Chains stay in their task: a cluster's backend would send each on a journey.
    with (
        joblib.parallel_config(backend="sequential"),
        context.propagate_callback_context(model),
    ):
        context.call_on_fit_task_begin(**told)
        start = time.perf_counter()
        model.fit(X_train, y_train)
        fitted = time.perf_counter()
        score = scorer(model, _safe_indexing(X, test), _safe_indexing(y, test))
        scored = time.perf_counter()
    context.call_on_fit_task_end(**told)
    worst, fewest = model._convergence()
    converged = worst <= _MAX_R_HAT and fewest >= _MIN_EFFECTIVE
    return float(score), fitted - start, scored - fitted, float(worst), bool(converged)

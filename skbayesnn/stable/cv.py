"""``StableNNRegressorCV``: the stable network with α and ν chosen by cross-validation.

The cells depend only on the inputs, so those of a fold are found once and shared by all pairs (α,
ν). The grid runs through joblib with one task for each fold and pair, so any backend can distribute
it over threads, processes or a cluster.
"""

from collections.abc import Callable
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import check_random_state, indexable
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayesnn._blocks import take_rows
from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, FloatArray, Seed
from skbayesnn._validation import (
    N_JOBS,
    Interval,
    InvalidParameterError,
    check_parameters,
    check_sample_weight,
    positive,
)
from skbayesnn._warnings import warn_user
from skbayesnn.base import ProbabilisticRegressorMixin
from skbayesnn.metrics import crps_scorer
from skbayesnn.numerics.threads import one_blas_thread
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.stable.cv_fits import (
    GridMember,
    best_index,
    evaluate,
    results_table,
    routed,
    warn_of_failures,
)
from skbayesnn.stable.estimator import StableNNRegressor
from skbayesnn.stable.partitions.choice import kind_of_cells

_ALPHA_RANGE = Interval(Real, 0, 2, "right")


class StableNNRegressorCV(
    CallbackSupportMixin, ProbabilisticRegressorMixin, RegressorMixin, BaseEstimator
):
    """Stable network with α and ν chosen by cross-validation, refitted to all rows.

    The scores are those of ``GridSearchCV(StableNNRegressor(gaussian_process=False, ...), {"alpha":
    alphas, "nu": nus})`` for the same folds, seed and scorer: networks are compared by their own
    predictions, and a Gaussian process takes part in those of the refit alone. This class does less
    work, because it finds the cells of each fold only once. All fits use the same seed, so that
    chance favours no pair (α, ν).

    Parameters
    ----------
    alphas : array-like of float, default=(0.7, 1.1, 1.5, 2.0)
        Indices of stability to try, each in (0, 2].
    nus : array-like of float, default=(0.3, 1.0, 3.0)
        Scales of the squared weights to try, each above 0.
    cv : int, cross-validation splitter, iterable of splits or None, default=None
        How to split the rows into folds. None means 5 folds of rows in random order, which
        `random_state` determines: rows are often sorted by their inputs, and folds of neighbours
        would require extrapolation. A number means folds in the order of the rows, as in
        scikit-learn's searches.
    scoring : str or callable, default=None
        Name of a scikit-learn scorer, or a callable ``scorer(estimator, X, y)``. The pair with the
        largest mean score over the folds is chosen. None means
        :data:`skbayesnn.metrics.crps_scorer`, minus the continuous ranked probability score: it is
        proper, and a single outlier does not decide it.
    input_scale, likelihood, dense_units, n_units, activation, move_units, sampler
        As in :class:`StableNNRegressor`.
    extrapolation, gaussian_process, noise_variance
        As in :class:`StableNNRegressor`.
    cells : {"auto", "line", "plane", "additive", "sampled"}, default="auto"
        As in :class:`StableNNRegressor`. "auto" is resolved once, on all rows.
    normalize_X : bool, default=True
        Standardise the inputs internally. A unit changes sign at -b/w, where b and w are standard
        normal, so inputs need a mean near zero and a scale near one. False uses them as they are,
        as the paper does; a fit warns if they are far from that.
    normalize_y : bool, default=True
        Standardise the targets internally. All outputs are in the units of y either way. A few
        extremes that would make all other targets look the same are clipped, with a warning, and
        predictions have a wide part for targets like them.
    point_estimate : {"mean", "median"}, default="median"
        Point of the predictive distribution that ``predict`` returns. For α ≤ 1 the predictive mean
        and variance do not exist far from the data; the median, the quantiles and the density
        always do.
    n_chains, n_warmup, thin
        As in :class:`StableNNRegressor`, for the grid and for the refit.
    n_posterior_draws : int, default=1000
        Number of posterior draws in the predictive mixture. Each chain keeps its share of them,
        rounded up.
    n_jobs : int or None, default=None
        Number of cores to use. None means one, unless a joblib context says otherwise. The result
        does not depend on it. Chains run in parallel threads.
    random_state : int, numpy.random.RandomState or None, default=None
        Seed of all random choices.

    Attributes
    ----------
    alpha_, nu_ : float
        The chosen pair.
    best_estimator_ : StableNNRegressor
        The network fitted to all rows; its attributes describe convergence and noise.
    best_score_ : float
        Mean score of the chosen pair over the folds.
    best_params_ : dict
        The chosen pair, as parameters.
    best_index_ : int
        Index of the chosen pair in `cv_results_`.
    cv_results_ : dict of ndarray
        Scores of all pairs, with the keys of :class:`~sklearn.model_selection.GridSearchCV`:
        "param_alpha", "param_nu", "params", "split0_test_score" …, "mean_test_score",
        "std_test_score", "rank_test_score" and times in seconds. In addition, "max_r_hat" is the
        largest R-hat of any fold.
    n_splits_ : int
        Number of folds.
    scorer_ : callable
        The scorer.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the inputs, if X has names that are all strings.

    See Also
    --------
    StableNNRegressor : The network with given or sampled α and ν.

    Notes
    -----
    To run the fits on a cluster, choose another joblib backend, for example with
    ``with joblib.parallel_config(backend="dask")``. Only the cells, X and y are sent.

    With metadata routing, ``groups`` are passed to the splitter, and ``sample_weight`` to the
    networks, and to the scorer if it requests them. Without it, the scorer receives the weights if
    its signature has ``sample_weight``.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn import StableNNRegressorCV
    >>> X = np.linspace(-2, 2, 30).reshape(-1, 1)
    >>> noise = np.random.default_rng(0).normal(size=30)
    >>> y = np.where(X[:, 0] < 0.5, 20.0, 30.0) + noise
    >>> model = StableNNRegressorCV([1.1, 2.0], nus=[1.0], thin=8, random_state=0)
    >>> model.fit(X, y).alpha_
    1.1
    >>> model.predict([[0.3], [0.7]]).round()
    array([20., 30.])
    """

    # The splitter has them, this estimator does nothing with them.
    __metadata_request__fit: ClassVar = {"groups": UNUSED}

    def __init__(
        self,
        alphas: ArrayLike = (0.7, 1.1, 1.5, 2.0),
        nus: ArrayLike = (0.3, 1.0, 3.0),
        *,
        cv: Any = None,
        scoring: str | Callable[..., float] | None = None,
        input_scale: float | ArrayLike | Literal["evidence"] = 1.0,
        cells: Literal["auto", "line", "plane", "additive", "sampled"] = "auto",
        likelihood: Literal["auto", "gaussian", "student_t"] = "auto",
        dense_units: bool = True,
        n_units: int = 1000,
        activation: Literal["sign", "erf", "cosine"] = "sign",
        move_units: bool = False,
        sampler: Literal["gibbs", "metropolis"] = "gibbs",
        extrapolation: Literal["stacked", "posterior"] = "stacked",
        gaussian_process: bool = True,
        noise_variance: float | Literal["sample"] = "sample",
        normalize_X: bool = True,
        normalize_y: bool = True,
        point_estimate: Literal["mean", "median"] = "median",
        n_chains: int = 4,
        n_warmup: int = 500,
        n_posterior_draws: int = 1000,
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
        self.likelihood = likelihood
        self.dense_units = dense_units
        self.n_units = n_units
        self.activation = activation
        self.move_units = move_units
        self.sampler = sampler
        self.extrapolation = extrapolation
        self.gaussian_process = gaussian_process
        self.noise_variance = noise_variance
        self.normalize_X = normalize_X
        self.normalize_y = normalize_y
        self.point_estimate = point_estimate
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.n_posterior_draws = n_posterior_draws
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
        names = set(self.get_params(deep=False)) & set(StableNNRegressor().get_params())
        shared = {name: getattr(self, name) for name in names - {"random_state"}}
        return estimator_class(**{**shared, "random_state": seed, **parameters})

    def _splits(self, X, y, rows, seed, metadata):
        """Pairs of training and test rows; `rows` are those whose weight is not zero."""
        folds = KFold(5, shuffle=True, random_state=seed) if self.cv is None else self.cv
        if self.cv is None or isinstance(self.cv, Integral):
            # Rows without weight are not there: a fold of them alone would have no score.
            of_rows = {name: take_rows(values, rows) for name, values in metadata.items()}
            splits = check_cv(folds, classifier=False).split(rows, **of_rows)
            splits = [(rows[train], rows[test]) for train, test in splits]
        else:  # its numbers are those of all rows
            splits = list(check_cv(folds, y, classifier=False).split(X, y, **metadata))
        if not splits:
            raise InvalidParameterError(
                "The 'cv' parameter of StableNNRegressorCV must give at least one fold. Got "
                f"{self.cv!r} instead."
            )
        return splits

    def _scorer(self):
        default = crps_scorer.set_score_request(sample_weight=True)
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise InvalidParameterError(
                "The 'scoring' parameter of StableNNRegressorCV must be a str, a callable or None. "
                f"Got {self.scoring!r} instead."
            )
        return check_scoring(self, default if self.scoring is None else self.scoring)

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata routing: which object receives the further arguments of ``fit``.

        Returns
        -------
        routing : MetadataRouter
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        to_split = MethodMapping().add(caller="fit", callee="split")
        to_score = MethodMapping().add(caller="fit", callee="score")
        router.add(splitter=check_cv(self.cv), method_mapping=to_split)
        return router.add(scorer=self._scorer(), method_mapping=to_score)

    @with_callbacks
    @whole_or_not_at_all
    @one_blas_thread
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Score every pair (α, ν) on every fold, choose one, and fit it to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            A weight of k counts as k equal rows, and a row of weight 0 is ignored: in every fit,
            and in the scores if the scorer accepts weights. Such rows are in no fold, unless a
            splitter or splits are given as `cv`.
        groups : array-like of shape (n_samples,) or None, default=None
            Groups of rows, for splitters such as
            :class:`~sklearn.model_selection.GroupKFold`.

        Returns
        -------
        self : StableNNRegressorCV
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter is outside its range, if X or y is not finite or has the wrong shape, if
            there are fewer rows than folds, or if all scores are NaN.

        Warns
        -----
        ConvergenceWarning
            If chains of the grid or of the refit disagree, or have too few effective draws.
        FitFailedWarning
            If fits or scores of the grid failed. Their score is NaN, and such a pair (α, ν) is not
            chosen.
        """
        candidates = self._grid()
        check_parameters(self, {"n_jobs": N_JOBS})
        table, targets = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, ensure_min_samples=2
        )
        targets = targets.astype(np.float64)
        weighted, weights = check_sample_weight(sample_weight, table)
        X, y = indexable(X, y)
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        for candidate in candidates:
            self._member(StableNNRegressor, seed, **candidate)._check_parameters()
        scorer = self._scorer()
        to_splitter, to_scorer = routed(self, scorer, sample_weight, groups)
        splits = self._splits(X, y, np.arange(len(table))[weighted], seed, to_splitter)
        # Decided on all rows: folds of fewer rows would be allowed what the refit is not.
        kind = kind_of_cells(self, table[weighted])
        # Networks are compared by their own predictions.
        own = {"n_jobs": 1, "cells": kind, "gaussian_process": False}
        member = self._member(GridMember, seed, **own)

        every = np.zeros(len(table))
        every[weighted] = weights
        folds = [member.partition_of(table, targets, every, train) for train, _ in splits]

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
        fit_weights = None if sample_weight is None else every
        # Without memory maps: arrays that are read-only would be compiled for once more.
        out = Parallel(n_jobs=self.n_jobs, max_nbytes=None)(
            delayed(evaluate)(
                clone(member).set_params(**candidate),
                folds[fold],
                (X, y, fit_weights),
                *splits[fold],
                (scorer, to_scorer),
                self,
                context,
            )
            for (candidate, fold), context in zip(tasks, contexts, strict=True)
        )
        search.call_on_fit_task_end(estimator=self)
        self._choose(candidates, out)
        self.n_splits_, self.scorer_ = len(splits), scorer

        refit = root.subcontext(task_name="refit-with-best-params")
        best = self._member(StableNNRegressor, seed, **self.best_params_)
        with refit.propagate_callback_context(best):
            refit.call_on_fit_task_begin(estimator=self, X=X, y=y)
            self.best_estimator_ = best.fit(X, y, sample_weight=fit_weights)
        refit.call_on_fit_task_end(estimator=self, X=X, y=y)
        root.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _choose(self, candidates, evaluations):
        """Set the results of the search from one tuple for each candidate and fold."""
        *scores, errors = zip(*evaluations, strict=True)
        warn_of_failures([error for error in errors if error])
        scores = np.array(scores, dtype=float).T.reshape(len(candidates), -1, 5)
        self.cv_results_ = results_table(candidates, scores)
        self.best_index_ = best_index(self.cv_results_, errors)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_params_ = candidates[self.best_index_]
        self.alpha_, self.nu_ = self.best_params_["alpha"], self.best_params_["nu"]
        n_unconverged = int((scores[..., -1] == 0.0).sum())
        if n_unconverged:
            warn_user(
                f"In {n_unconverged} of {len(evaluations)} fits of the grid the chains may not "
                "have converged; their scores are noisy. Increase n_warmup and thin, or look at "
                "cv_results_['max_r_hat'].",
                ConvergenceWarning,
            )

    def _refitted(self, X):
        """The refitted network, for rows that are like those of the fit."""
        check_is_fitted(self, "best_estimator_")
        validate_data(self, X, dtype=np.float64, reset=False)
        return self.best_estimator_

    def predict_distribution(self, X: ArrayLike) -> PredictiveMixture:
        """Predictive distribution of the refitted network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.

        Returns
        -------
        distribution : PredictiveMixture
            See :meth:`StableNNRegressor.predict_distribution`.
        """
        return self._refitted(X).predict_distribution(X)

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> FloatArray:
        """Draw new observations; see :meth:`StableNNRegressor.sample_y`.

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
        return self._refitted(X).sample_y(X, n_samples, random_state)

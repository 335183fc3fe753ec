"""``StackingDistributionRegressor``: predictive distributions of several models, stacked.

Stacking of predictive distributions (Yao, Vehtari, Simpson and Gelman, Bayesian Analysis 2018): the
weights of a linear pool are those with the best score on rows that the members were not fitted to.
Weights that vary with the inputs follow Yao, Pirš, Vehtari and Gelman (Bayesian Analysis 2022).
"""

from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import issparse
from sklearn.base import MetaEstimatorMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from skbayesnn._blocks import take_rows
from skbayesnn._extremes import clipped_targets
from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, FloatArray, Seed
from skbayesnn._validation import (
    BOOLEAN,
    Options,
    check_sample_weight,
    location_and_scale,
)
from skbayesnn.pooling.default_members import default_members
from skbayesnn.pooling.laws import MemberLaw, TargetSpread
from skbayesnn.pooling.linear_pool import LinearPoolMixin
from skbayesnn.pooling.member_fits import MemberFits
from skbayesnn.pooling.members import is_estimator, named_members
from skbayesnn.pooling.out_of_fold import (
    are_points,
    error_law,
    folds_of,
    mixtures_by_fold,
)
from skbayesnn.pooling.weighing import Weighing
from skbayesnn.predictive import PredictiveMixture
from skbayesnn.training.members import report_warnings, weight_keyword


class StackingDistributionRegressor(
    MemberFits, Weighing, CallbackSupportMixin, LinearPoolMixin, MetaEstimatorMixin,
    RegressorMixin, _BaseComposition,
):  # fmt: skip
    """Predictive distributions of several regressors, stacked into one.

    Use it if you do not know which model suits your data. Cross-validation predicts every row with
    members that were fitted to other rows. The weights of the members are those with the best score
    for these predictions; they may depend on the inputs. Each member that has a weight is then
    fitted to all rows. The prediction is again a mixture of Gaussians.

    Members can be any regressors. The estimators of this package contribute their predictive
    distribution, regressors with ``predict(return_std=True)`` a Gaussian, and regressors with
    ``predict(quantiles=...)`` a smoothed density through their quantiles. For all other regressors,
    the stack uses the distribution of their out-of-fold errors, with a scale that depends on the
    prediction.

    A few extremes that would make all other targets look the same are clipped, with a warning, and
    predictions have a wide part for targets like them.

    Parameters
    ----------
    estimators : list of (str, estimator) or None, default=None
        Members with their names; "drop" in place of a member leaves it out. None means a default
        list, see :func:`~skbayesnn.pooling.default_members.default_members`.
    cv : int, cross-validation splitter, iterable of splits or None, default=None
        How to split the rows into folds. None means folds of rows in random order, whose number
        depends only on the number of rows; see
        :func:`~skbayesnn.pooling.default_members.default_splitter`. Copies of a row, targets
        included, are then in the same fold, so that members are not judged by what they remember. A
        number means folds in the order of the rows, as in scikit-learn's searches.
    objective : {"log_score", "crps"}, default="log_score"
        What the weights maximise: the mean log predictive density, or minus the CRPS.
    varying_weights : bool, default=True
        Let the weights vary with the inputs, because different members may be better in different
        regions. This needs the log score and numeric inputs; only the numeric columns of a
        dataframe are used. With False, each member has one weight.
    adjust_spread : bool, default=True
        Scale the pool about its median by one factor, because a linear pool is too wide where its
        members disagree. The factor has the best log score on the held-out rows. This needs the log
        score.
    refit : bool, default=True
        Fit to all rows at the end. With False, the fits to the folds are pooled. That saves one fit
        of each member, but every prediction then needs the fits of all folds.
    point_estimate : {"mean", "median"}, default="median"
        Point of the predictive distribution that ``predict`` returns.
    n_jobs : int or None, default=None
        Number of cores to use. None means one, unless a joblib context says otherwise. The result
        does not depend on it. Fits of members to folds run in parallel.
    random_state : int, numpy.random.RandomState or None, default=None
        Seed of all random choices: the folds, and the members' own ``random_state`` where
        that is None.

    Attributes
    ----------
    names_ : list of str
        Names of all members.
    weights_ : ndarray of shape (n_members,)
        Weights of all members; 0 for those that failed, or were dropped because their weight was
        below 0.01. If weights vary, these are their means over the rows; see ``member_weights``.
    spread_factor_ : float
        Factor by which the distances of the pool from its median are multiplied; 1 without
        ``adjust_spread``.
    estimators_ : list of estimator
        The fitted members that have a weight; with ``refit=False``, a list of fits for each.
    cv_log_densities_ : ndarray of shape (n_members, n_samples)
        Log predictive density of each row under fits to other rows; NaN for rows in no test fold,
        for rows without weight, and for members that failed.
    failures_ : dict of str to str
        Error messages of the members that failed.
    n_splits_ : int
        Number of folds.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the inputs, if X has names that are all strings.

    See Also
    --------
    skbayesnn.EnsembleRegressor : One model from several seeds, with equal weights.
    skbayesnn.pooling.forest.ForestDistributionRegressor : The forest of the default list.
    sklearn.ensemble.StackingRegressor : Stacks point predictions.

    Notes
    -----
    Members are judged by fits to a part of the rows. With fewer folds that part is smaller, which
    favours members that learn quickly from few rows.

    References
    ----------
    Y. Yao, A. Vehtari, D. Simpson and A. Gelman, "Using stacking to average Bayesian predictive
    distributions", Bayesian Analysis 2018.

    Y. Yao, G. Pirš, A. Vehtari and A. Gelman, "Bayesian hierarchical stacking: some models are
    (somewhere) useful", Bayesian Analysis 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from sklearn.linear_model import BayesianRidge
    >>> from skbayesnn import StackingDistributionRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, (200, 1))
    >>> y = 2 * X[:, 0] + 0.3 * rng.normal(size=200)
    >>> members = [("line", BayesianRidge()), ("forest", RandomForestRegressor(20))]
    >>> model = StackingDistributionRegressor(members, cv=3, random_state=0).fit(X, y)
    >>> bool(model.weights_[0] > 0.8)
    True
    >>> model.predict_interval(X[:4]).shape
    (4, 2)
    """

    def __init__(
        self,
        estimators: list[tuple[str, Any]] | None = None,
        *,
        cv: Any = None,
        objective: Literal["log_score", "crps"] = "log_score",
        varying_weights: bool = True,
        adjust_spread: bool = True,
        refit: bool = True,
        point_estimate: Literal["mean", "median"] = "median",
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimators = estimators
        self.cv = cv
        self.objective = objective
        self.varying_weights = varying_weights
        self.adjust_spread = adjust_spread
        self.refit = refit
        self.point_estimate = point_estimate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # What is no list of members is refused by name in fit.
        pairs = self.estimators if isinstance(self.estimators, list | tuple) else []
        members = [pair[-1] for pair in pairs if isinstance(pair, list | tuple) and pair]
        inner = [get_tags(m).input_tags for m in members if is_estimator(m)]
        tags.input_tags.sparse = bool(inner) and all(t.sparse for t in inner)
        tags.input_tags.allow_nan = bool(inner) and all(t.allow_nan for t in inner)
        return tags

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters of the stack and, by name, its members and theirs.

        Parameters
        ----------
        deep : bool, default=True
            Include the members, such as ``forest``, and their parameters, such as
            ``forest__max_depth``, if members are given.

        Returns
        -------
        parameters : dict
        """
        return self._get_params("estimators", deep=deep)

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters of the stack, members by their names, or parameters of members.

        Parameters
        ----------
        **parameters : dict
            As :meth:`get_params` names them. A member may become "drop", which leaves it out.

        Returns
        -------
        self : StackingDistributionRegressor
        """
        self._set_params("estimators", **parameters)
        return self

    @with_callbacks
    @whole_or_not_at_all
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the members to the folds, find the weights, and fit the members to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs, in any form that the members accept.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each row, in the fits of the members, which must all accept weights, and in
            the score of the pool.

        Returns
        -------
        self : StackingDistributionRegressor

        Raises
        ------
        InvalidParameterError
            If a parameter is outside its range.
        ValueError
            If weights are given and a member does not accept them.
        Exception
            The error of the first member, if all members failed.

        Warns
        -----
        FitFailedWarning
            If a member failed; it is left out.
        UserWarning
            If a few targets are so far outside that all others would look the same; they are
            clipped.
        Warning
            Warnings of the members' fits, such as ``ConvergenceWarning``: once for each member and
            kind. The member stays in the stack: its score shows how good it is.
        """
        self._check_parameters(
            objective=[Options(("log_score", "crps"))],
            varying_weights=BOOLEAN,
            adjust_spread=BOOLEAN,
            refit=BOOLEAN,
        )
        X, y = self._validated(X, y)
        y, rows, weights = self._weighted(y, sample_weight)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        given = default_members(len(rows)) if self.estimators is None else self.estimators
        self.names_, members = named_members(given, seed, reserved=self.get_params(deep=False))
        for member in members if weights is not None else []:
            weight_keyword(member, weights)
        splits = folds_of(self.cv, X, y, rows, seed)
        tests = [test for _, test in splits]
        self.n_splits_ = len(splits)

        root = self._init_callback_context(max_subtasks=2)
        root.call_on_fit_task_begin(estimator=self, X=X, y=y)
        all_rows = (take_rows(X, rows), y[rows], take_rows(weights, rows)) if self.refit else None
        folds, done = self._fit_to_folds(members, splits, X, y, weights, all_rows, root)
        said = [[fold.said for fold in of_member] for of_member in folds]
        self.failures_ = {}
        used = self._leave_out(self._judge(folds, tests, y, weights), range(len(members)))
        used = self._weigh(used, folds, tests, X, y, weights)
        fitted, spread = {}, None
        if self.refit:
            done = done or self._fit_to_all(members, used, folds, all_rows, root)
            for k in used:
                fitted[k], complaints = done[k]
                said[k].append(complaints)
            failed = {k: fit for k, fit in fitted.items() if isinstance(fit, Exception)}
            if failed:
                used = self._leave_out(failed, used)
                used = self._weigh(used, folds, tests, X, y, weights)
            spread = TargetSpread(*all_rows[1:])
        report_warnings(self.names_, said)
        self.spread_factor_ = 1.0
        if self.adjust_spread and self.objective == "log_score":
            held_out = mixtures_by_fold([folds[k] for k in used], tests, y, weights)
            self.spread_factor_ = self._spread_of(held_out, used, X, y, weights)
        self._laws = []
        for k in used:
            points = are_points(folds[k])
            errors = error_law(folds[k], tests, y, weights) if points else None
            fits = [(fitted[k], spread)] if self.refit else [f[1:3][::-1] for f in folds[k]]
            self._laws.append([MemberLaw(*fit, errors) for fit in fits])
        self.estimators_ = [[law.member for law in of_member] for of_member in self._laws]
        if self.refit:
            self.estimators_ = [fits[0] for fits in self.estimators_]
        root.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _weighted(self, y, sample_weight):
        """Targets without extremes, rows that have a weight, and all weights, None for none."""
        y, weights = y.copy(), None
        rows, given = check_sample_weight(sample_weight, y)
        rows = np.arange(len(y))[rows]
        if sample_weight is not None:
            weights = np.zeros(len(y))
            weights[rows] = given
        # One typing error would decide all scores.
        y[rows], self._y_far = clipped_targets(y[rows], given)
        location_and_scale(y[rows], "y", given)  # refuses what no density can be computed of
        return y, rows, weights

    def _validated(self, X, y):
        """The table as the members take it, and the targets; what X holds the members check."""
        if y is None:
            raise ValueError(
                "StackingDistributionRegressor requires y to be passed, but the target y is None."
            )
        if issparse(X):
            X = check_array(X, accept_sparse="csr" if get_tags(self).input_tags.sparse else False)
        elif not isinstance(X, list) and not hasattr(X, "iloc"):
            X = np.asarray(X)
        validate_data(self, X, skip_check_array=True)
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        return X, y

    def _check_table(self, X):
        """Raise for a table that is not like that of the fit; members check what it holds."""
        check_is_fitted(self)
        if getattr(X, "ndim", 2) == 1:
            check_array(X)  # which says how to reshape it
        validate_data(self, X, skip_check_array=True, reset=False)

    def member_weights(self, X: ArrayLike) -> FloatArray:
        """Weight of each member at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        weights : ndarray of shape (n_samples, n_members)
            Equal to ``weights_`` in each row, unless weights vary with the inputs.
        """
        self._check_table(X)
        n_rows = X.shape[0] if hasattr(X, "shape") else len(np.asarray(X))
        weights = np.tile(self.weights_, (n_rows, 1))
        if self._varying is not None:
            weights[:, self.weights_ > 0] = self._varying(X)
        return weights

    def _pool(self, X):
        laws = [law for of_member in self._laws for law in of_member]
        weights = self.weights_ if self._varying is None else self.member_weights(X)
        weights = weights[..., self.weights_ > 0]
        n_laws = [len(of_member) for of_member in self._laws]
        return laws, np.repeat(weights / n_laws, n_laws, axis=-1), self.spread_factor_

    def predict_distribution(self, X: ArrayLike) -> PredictiveMixture:
        """Predictive distribution: the members' distributions, pooled by their weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        distribution : PredictiveMixture
            With the components of all members that have a weight.
        """
        self._check_table(X)
        return super().predict_distribution(X)

"""``EnsembleRegressor``: several fits of one model from different seeds, as one mixture.

The linear pool f(y) = (1/K) Σ_k f_k(y) of the predictions of K fits: a deep ensemble
(Lakshminarayanan, Pritzel and Blundell, NeurIPS 2017). It helps most if a fit is a single optimum
among many, as for networks of unbounded depth.
"""

from copy import deepcopy
from numbers import Integral
from typing import Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, is_regressor
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if

from skbayesnn._pipelines import final_step
from skbayesnn._safety import whole_or_not_at_all
from skbayesnn._typing import ArrayLike, Seed
from skbayesnn._validation import (
    InvalidParameterError,
    Options,
    check_sample_weight,
    positive,
)
from skbayesnn.base import POINT_ESTIMATES
from skbayesnn.pooling.laws import MemberLaw
from skbayesnn.pooling.linear_pool import LinearPoolMixin
from skbayesnn.pooling.members import is_estimator, with_seed
from skbayesnn.training.members import fit_side_by_side


def _can_go_on(ensemble):
    members = getattr(ensemble, "estimators_", [ensemble.estimator])
    return hasattr(members[0], "partial_fit")


class EnsembleRegressor(
    CallbackSupportMixin,
    LinearPoolMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    BaseEstimator,
):
    """Several fits of one regressor of this package, pooled into one distribution.

    Every member is fitted to all rows, from its own seed. The predictive distribution is the
    mixture of the members' distributions with equal weights, so disagreement between members widens
    it. Use it for models whose fits differ from seed to seed, above all
    :class:`~skbayesnn.UDNRegressor` and :class:`~skbayesnn.SIPRegressor`. Fits and predictions cost
    as much as those of all members together.

    Parameters
    ----------
    estimator : estimator
        A regressor of this package, or a pipeline that ends in one.
    n_estimators : int, default=5
        Number of members. More make predictions more accurate and more reliable, and take
        proportionally longer.
    point_estimate : {"mean", "median"} or None, default=None
        Point of the predictive distribution that ``predict`` returns. None means that of the
        members.
    n_jobs : int or None, default=None
        Number of cores to use. None means one, unless a joblib context says otherwise. The result
        does not depend on it. Members are fitted in parallel.
    random_state : int, numpy.random.RandomState or None, default=None
        Seed of all random choices. The members' seeds are drawn from it and replace every
        ``random_state`` in ``estimator``.

    Attributes
    ----------
    estimators_ : list of estimator
        The fitted members.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the inputs, if X has names that are all strings.

    See Also
    --------
    StackingDistributionRegressor : Several different models, weighted by their scores.
    sklearn.ensemble.VotingClassifier : With ``voting="soft"``, the same for classifiers.

    References
    ----------
    B. Lakshminarayanan, A. Pritzel and C. Blundell, "Simple and scalable predictive
    uncertainty estimation using deep ensembles", NeurIPS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayesnn import EnsembleRegressor, UDNRegressor
    >>> X = np.linspace(-2, 2, 100)[:, None]
    >>> y = np.sin(3 * X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=100)
    >>> model = EnsembleRegressor(UDNRegressor(max_iter=50), n_estimators=2, random_state=0)
    >>> mean, std = model.fit(X, y).predict(X, return_std=True)
    >>> mean.shape, len(model.estimators_)
    ((100,), 2)
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        n_estimators: int = 5,
        point_estimate: Literal["mean", "median"] | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.point_estimate = point_estimate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.target_tags.multi_output = inner.target_tags.multi_output
        return tags

    def _check_parameters(self):
        super()._check_parameters(
            n_estimators=[positive(Integral)], point_estimate=[*POINT_ESTIMATES, Options((None,))]
        )
        good = is_estimator(self.estimator) and is_regressor(self.estimator)
        if not good or not hasattr(final_step(self.estimator), "predict_distribution"):
            raise InvalidParameterError(
                "The 'estimator' parameter of EnsembleRegressor must be a regressor of skbayesnn "
                f"or a pipeline that ends in one. Got {self.estimator!r} instead."
            )

    def _new_members(self):
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_estimators)
        return [with_seed(self.estimator, seed) for seed in seeds]

    def _train(self, members, method, X, y, sample_weight, contexts):
        if sample_weight is not None:
            check_sample_weight(sample_weight, X)
        tasks = [
            (member, method, X, y, sample_weight, context, self)
            for member, context in zip(members, contexts, strict=True)
        ]
        self.estimators_ = fit_side_by_side(tasks, self.n_jobs)
        first = self.estimators_[0]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        y = np.asarray(y)
        self._y_ndim = 2 if y.ndim == 2 and y.shape[1] > 1 else 1
        return self

    @with_callbacks
    @whole_or_not_at_all
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit every member to all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets; several if the estimator accepts them.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each row, for every member.

        Returns
        -------
        self : EnsembleRegressor

        Raises
        ------
        InvalidParameterError
            If a parameter is outside its range, or ``estimator`` does not predict distributions.

        Warns
        -----
        Warning
            Warnings of the members' fits, once for each kind.
        """
        self._check_parameters()
        members = self._new_members()
        root = self._init_callback_context(max_subtasks=len(members), sequential_subtasks=False)
        root.call_on_fit_task_begin(estimator=self, X=X, y=y)
        contexts = [root.subcontext(task_name="member", task_id=i) for i in range(len(members))]
        self._train(members, "fit", X, y, sample_weight, contexts)
        root.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    @available_if(_can_go_on)
    @whole_or_not_at_all
    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Continue training every member, on new rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weight of each row, for every member.

        Returns
        -------
        self : EnsembleRegressor
        """
        self._check_parameters()
        # Copies go on: where one fails, all members stay as they were.
        fitted = hasattr(self, "estimators_")
        members = deepcopy(self.estimators_) if fitted else self._new_members()
        return self._train(members, "partial_fit", X, y, sample_weight, [None] * len(members))

    def _point_estimate(self):
        if self.point_estimate is None:
            return final_step(self.estimators_[0])._point_estimate()
        return self.point_estimate

    def _pool(self, X):
        laws = [MemberLaw(member) for member in self.estimators_]
        return laws, np.full(len(laws), 1.0 / len(laws)), 1.0

"""Several targets: a fit of each, behind the methods of one estimator."""

from copy import deepcopy
from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state

from skbayesnn.training.members import fit_member

_OF_ONE_TARGET = (
    "_inference", "_generator", "_predictor", "inducing_inputs_", "loss_curve_",
    "divergence_curve_", "discriminator_loss_curve_", "validation_scores_",
)  # fmt: skip


class SeveralTargets:
    """What ``SIPRegressor`` does where y has several columns."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _forget(self):
        """Drop what an earlier fit, to one target or to several, has left."""
        for name in (*_OF_ONE_TARGET, "estimators_", "_y_ndim"):
            vars(self).pop(name, None)

    def _started(self):
        return hasattr(self, "_inference") or hasattr(self, "estimators_")

    def _check_n_targets(self, y):
        """Raise if a later batch has another number of targets than the first."""
        before = len(self.estimators_) if hasattr(self, "estimators_") else 1
        now = 1 if y.ndim == 1 else y.shape[1]
        if now != before:
            raise ValueError(f"y has {now} targets, but {before} at the first call.")

    def _new_members(self, n_targets):
        """Estimators with these parameters and one seed: the same rows are held out for all."""
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        parameters = {**self.get_params(deep=False), "random_state": seed}
        return [type(self)(**parameters) for _ in range(n_targets)]

    def _fit_targets(self, X, y, weights):
        root = self._init_callback_context(max_subtasks=y.shape[1], sequential_subtasks=False)
        root.call_on_fit_task_begin(estimator=self, X=X, y=y)
        members = self._new_members(y.shape[1])
        contexts = [root.subcontext(task_name="target", task_id=t) for t in range(len(members))]
        self._train_members(members, "fit", X, y, weights, contexts)
        root.call_on_fit_task_end(estimator=self, X=X, y=y)

    def _stream_targets(self, X, y, weights, first):
        # Copies go on: where one fails, all targets stay as they were.
        members = self._new_members(y.shape[1]) if first else deepcopy(self.estimators_)
        self._train_members(members, "partial_fit", X, y, weights, [None] * len(members))

    def _train_members(self, members, method, X, y, weights, contexts):
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_member)(
                member, method, X, np.ascontiguousarray(y[:, t]), weights, context, self
            )
            for t, (member, context) in enumerate(zip(members, contexts, strict=True))
        )
        self._y_ndim = 2
        self.noise_variance_ = np.array([member.noise_variance_ for member in self.estimators_])
        self.n_iter_ = max(member.n_iter_ for member in self.estimators_)
        self.n_samples_seen_ = self.estimators_[0].n_samples_seen_

"""Several fits behind the methods of one estimator: one for each target, or for each network."""

from copy import copy, deepcopy
from itertools import cycle
from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from skbayesnn.numerics.random import systematic
from skbayesnn.predictive import linear_pool
from skbayesnn.sip.settings import PRIORS_IN_TURN
from skbayesnn.training.beside import ProcessBeside
from skbayesnn.training.loop import CallbackTasks
from skbayesnn.training.members import fit_side_by_side

_OF_THE_FIRST_NETWORK = (
    "inducing_inputs_", "loss_curve_", "divergence_curve_", "discriminator_loss_curve_",
    "validation_scores_", "n_iter_",
)  # fmt: skip
_OF_ONE_FIT = ("_inference", "_generator", "_predictor", *_OF_THE_FIRST_NETWORK)


class SeveralFits:
    """What ``SIPRegressor`` does where y has several columns, or networks are pooled.

    Each target has a fit of its own, and so has each network of a target.
    """

    def _forget(self):
        """Drop what an earlier fit, or several, has left."""
        for name in (*_OF_ONE_FIT, "estimators_", "_y_ndim"):
            vars(self).pop(name, None)

    def _started(self):
        return hasattr(self, "_inference") or hasattr(self, "estimators_")

    @property
    def gaussian_process_weight_(self):
        """Part of the Gaussian process in predictions, of each target."""
        if not hasattr(self, "estimators_"):
            return 0.0 if self._process is None else self._process.part()
        parts = np.array([member.gaussian_process_weight_ for member in self.estimators_])
        return float(parts.mean()) if self._y_ndim == 1 else parts

    def _new_members(self, y, n_networks):
        """Estimators with these parameters, unfitted; none where one fit is all.

        Those of targets have one seed: the same rows are held out for all. Those of networks have
        one each, the first that of this estimator, share the posterior draws out, and by "auto"
        have one prior and the other in turn.
        """
        if y.ndim == 1 and n_networks == 1:
            return []
        seed = self.random_state
        if not isinstance(seed, Integral):
            seed = int(check_random_state(seed).randint(2**31 - 1))
        if y.ndim == 2:
            # The cores are shared out among the targets.
            own = [{"random_state": seed, "n_jobs": 1}] * y.shape[1]
        else:
            others = np.random.RandomState(seed).randint(2**31 - 1, size=n_networks - 1)
            n_draws = -(-self.n_posterior_draws // n_networks)
            own = [
                {"random_state": int(s), "n_networks": 1, "n_posterior_draws": n_draws}
                for s in (seed, *others)
            ]
            if self.prior == "auto":
                for changed, prior in zip(own, cycle(PRIORS_IN_TURN), strict=False):
                    changed["prior"] = prior
        parameters = self.get_params(deep=False)
        return [type(self)(**{**parameters, **changed}) for changed in own]

    def _fit_members(self, members, X, y, weights):
        n = len(members)
        root = self._init_callback_context(max_subtasks=n, sequential_subtasks=False)
        root.call_on_fit_task_begin(estimator=self, X=X, y=y)
        contexts = [None] * n
        if y.ndim == 2:
            contexts = [root.subcontext(task_name="target", task_id=i) for i in range(n)]
        else:
            for number, member in enumerate(members):
                member._reports_to = self, root, number
        self._train_members(members, "fit", X, y, weights, contexts)
        root.call_on_fit_task_end(estimator=self, X=X, y=y)

    def _of_a_pool(self):
        """Whether this estimator, before its fit, is a network of another's pool."""
        return hasattr(self, "_reports_to")

    def _callback_tasks(self, X, y, n_epochs):
        """Epochs as tasks of this estimator's callbacks, or of those of the pool it is of."""
        if not self._of_a_pool():
            return CallbackTasks(self, X, y, n_epochs, self._fitted_so_far)
        owner, root, number = vars(self).pop("_reports_to")
        return CallbackTasks(owner, X, y, n_epochs, self._pool_so_far, root, number)

    def _pool_so_far(self):
        """Attributes with which an estimator predicts that pools this network alone."""
        member = copy(self)
        vars(member).update(self._fitted_so_far())
        return {
            "estimators_": [member], "_y_ndim": 1, "n_features_in_": self.n_features_in_,
        }  # fmt: skip

    def _stream_members(self, members, X, y, weights):
        # Copies go on: where one fails, all stay as they were.
        members = members or deepcopy(self.estimators_)
        self._train_members(members, "partial_fit", X, y, weights, [None] * len(members))

    def _train_members(self, members, method, X, y, weights, contexts):
        targets = [y] * len(members) if y.ndim == 1 else map(np.ascontiguousarray, y.T)
        tasks = [
            (member, method, X, target, weights, context, self)
            for member, target, context in zip(members, targets, contexts, strict=True)
        ]
        self.estimators_ = fit_side_by_side(tasks, self.n_jobs)
        self._y_ndim = y.ndim
        first = self.estimators_[0]
        self.n_samples_seen_ = first.n_samples_seen_
        noise = np.array([member.noise_variance_ for member in self.estimators_])
        if y.ndim == 1:
            self.noise_variance_ = float(noise.mean())
            beside = [member._process for member in self.estimators_]
            if all(each is not None for each in beside):
                ProcessBeside.agree(beside)
            for name in _OF_THE_FIRST_NETWORK:
                setattr(self, name, getattr(first, name))
        else:
            self.noise_variance_ = noise
            self.n_iter_ = max(member.n_iter_ for member in self.estimators_)

    def _predictions_of_members(self, X):
        """A mixture for each target, or one of all networks in equal parts."""
        mixtures = [member.predict_distribution(X) for member in self.estimators_]
        if self._y_ndim > 1:
            return mixtures
        return linear_pool(mixtures, np.full(len(mixtures), 1.0 / len(mixtures)))

    def _functions_of_members(self, method, X, n_samples, random_state):
        """Joint draws, each of one network: every network makes its share, give or take one."""
        rng = check_random_state(random_state)
        weights = np.full(len(self.estimators_), 1.0 / len(self.estimators_))
        (of_network,) = systematic(weights, n_samples, rng)
        of_network = rng.permutation(of_network)
        draws = np.empty((len(X), n_samples))
        for k, member in enumerate(self.estimators_):
            own, seed = of_network == k, rng.randint(2**31 - 1)
            if own.any():
                draws[:, own] = getattr(member, method)(X, int(own.sum()), seed)
        return draws

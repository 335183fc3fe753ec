"""Fits of a stack's members: to folds and to all rows, side by side, without those that fail."""

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning

from skbayesnn._warnings import warn_user
from skbayesnn.pooling.default_members import EXPECTED_COSTS
from skbayesnn.pooling.out_of_fold import fit_to_all, log_densities_of, predict_fold
from skbayesnn.pooling.schedule import run_longest_first

FEW_FITS = 2
"""Fits to folds, in all, up to which the fits to all rows do not wait for the weights. Two cores
would be idle, and few members are left out."""


class MemberFits:
    """How ``StackingDistributionRegressor`` fits its members, and what it does if one fails."""

    def _fit_to_folds(self, members, splits, X, y, weights, all_rows, root):
        """Fit the members to the folds and, if these fits are few, to all rows at the same time.

        Returns
        -------
        folds : list of list of FoldPrediction
            What each member predicts for the test rows of each fold.
        done : dict
            As :meth:`_fit_to_all` returns it, of all members; empty if they are still to be fitted.
        """
        pairs = [(k, split) for k in range(len(members)) for split in splits]
        contexts = self._subtasks(root, "out of fold", len(pairs))
        keep, n = not self.refit, len(splits)
        tasks = [
            (predict_fold, clone(members[k]), X, y, weights, *split, keep, context, self)
            for (k, split), context in zip(pairs, contexts, strict=True)
        ]
        expected = EXPECTED_COSTS if self.estimators is None else {}
        costs = [expected.get(self.names_[k], 0.0) for k, _ in pairs]
        if self.refit and len(pairs) <= FEW_FITS:
            every = range(len(members))
            tasks += self._tasks_of_all_rows(members, every, all_rows, root)
            costs += [expected.get(self.names_[k], 0.0) for k in every]
        results = run_longest_first(tasks, costs, self.n_jobs)
        of_folds, whole = results[: len(pairs)], results[len(pairs) :]
        folds = [of_folds[begin : begin + n] for begin in range(0, len(of_folds), n)]
        return folds, dict(enumerate(whole))

    def _judge(self, folds, tests, y, weights):
        """Set the log densities of all members, and return the errors of those that have none."""
        failed, self.cv_log_densities_ = {}, np.full((len(folds), len(y)), np.nan)
        for k, of_member in enumerate(folds):
            try:
                self.cv_log_densities_[k] = log_densities_of(of_member, tests, y, weights)
            except Exception as error:  # whatever a member fails with
                failed[k] = error
        return failed

    def _fit_to_all(self, members, used, folds, all_rows, root):
        """Each of these members fitted to all rows, or its error, and what it warned of."""
        tasks = self._tasks_of_all_rows(members, used, all_rows, root)
        costs = [sum(fold.seconds for fold in folds[k]) for k in used]
        results = run_longest_first(tasks, costs, self.n_jobs)
        return dict(zip(used, results, strict=True))

    def _tasks_of_all_rows(self, members, used, all_rows, root):
        contexts = self._subtasks(root, "all rows", len(used))
        return [
            (fit_to_all, members[k], *all_rows, context, self)
            for k, context in zip(used, contexts, strict=True)
        ]

    def _subtasks(self, root, name, n_tasks):
        """Callback contexts of tasks that run side by side."""
        parent = root.subcontext(task_name=name, max_subtasks=n_tasks, sequential_subtasks=False)
        parent.call_on_fit_task_begin(estimator=self)
        return [parent.subcontext(task_name="member", task_id=i) for i in range(n_tasks)]

    def _leave_out(self, failed, members):
        """Report members that failed, and return the others; raise if there are none."""
        alive = [k for k in members if k not in failed]
        told = {self.names_[k]: f"{type(e).__name__}: {e}" for k, e in failed.items()}
        self.failures_ = {**self.failures_, **told}
        if not alive:
            # Most often it is the data: the first error says what a member would say alone.
            error = next(iter(failed.values()))
            error.add_note(f"All members of the stack failed: {self.failures_}")
            raise error
        for k, error in failed.items():
            warn_user(
                f"The member {self.names_[k]!r} failed and is left out: {error}",
                FitFailedWarning,
            )
        return alive

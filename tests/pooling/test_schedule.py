"""The order of a stack's fits: it changes neither results nor their places."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import BayesianRidge

from skbayesnn import StackingDistributionRegressor
from skbayesnn.pooling.default_members import EXPECTED_COSTS, default_members
from skbayesnn.pooling.schedule import run_longest_first


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_results_are_in_the_order_of_the_tasks(n_jobs):
    tasks = [(pow, k, 7) for k in range(9)]
    costs = np.random.default_rng(0).permutation(9) // 2
    assert run_longest_first(tasks, costs, n_jobs) == [k**7 for k in range(9)]


def test_the_longest_begin_first_and_equals_in_their_order():
    begun = []
    run_longest_first([(begun.append, k) for k in range(6)], [1.0, 5.0, 0.0, 5.0, 1.0, 9.0], None)
    assert begun == [5, 1, 3, 0, 4, 2]


def test_no_task_at_all():
    assert run_longest_first([], [], None) == []


FITS = []


class Noted(RegressorMixin, BaseEstimator):
    """Notes every fit in ``FITS``."""

    def __init__(self, name="a", random_state=None):
        self.name, self.random_state = name, random_state

    def fit(self, X, y):
        FITS.append(self.name)
        self.inner_ = BayesianRidge().fit(X, y)
        return self

    def predict(self, X, return_std=False):
        return self.inner_.predict(X, return_std=return_std)


def test_the_stack_begins_with_the_longest_default_members(monkeypatch):
    members = [(name, Noted(name)) for name in ("forest", "udn", "stable")]
    monkeypatch.setattr("skbayesnn.pooling.stacking.default_members", lambda _: members)
    FITS.clear()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    model = StackingDistributionRegressor(cv=2, random_state=0).fit(X, X[:, 0])
    assert FITS[:6] == ["stable", "stable", "udn", "udn", "forest", "forest"]
    assert model.names_ == ["forest", "udn", "stable"]
    # Members that are alike have the same densities, each row those of a fit to the other rows.
    np.testing.assert_array_equal(model.cv_log_densities_[0], model.cv_log_densities_[2])


def test_costs_of_all_default_members_are_known():
    assert {name for name, _ in default_members(100)} == set(EXPECTED_COSTS)

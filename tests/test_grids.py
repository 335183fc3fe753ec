"""Searches over a grid: the same result on every backend of joblib.

Estimators are compared to the last bit: the data are large enough for BLAS to split its products
among threads if it may, which would show.
"""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.ensemble import RandomForestRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import GridSearchCV, HalvingRandomSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayesnn import (
    DeepWishartClassifier,
    DeepWishartRegressor,
    SIPRegressor,
    StableNNRegressor,
    StackingDistributionRegressor,
    UDNClassifier,
    UDNRegressor,
)
from skbayesnn.metrics import crps_scorer

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    # Workers that shut down leave sockets for the collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
CASES = {
    "stable": (
        StableNNRegressor(
            dense_units=False, n_warmup=20, n_posterior_draws=20, thin=1, n_chains=2, random_state=0
        ),
        {"alpha": [1.2, 2.0]},
        GridSearchCV,
    ),
    "udn": (UDNRegressor(max_iter=10, random_state=0), {"width": [8, 32]}, HalvingRandomSearchCV),
    "udn classifier": (
        UDNClassifier(max_iter=10, random_state=0),
        {"width": [8, 32]},
        GridSearchCV,
    ),
    "sip": (
        SIPRegressor(n_draws=15, width=20, max_iter=50, random_state=0),
        {"n_inducing": [5, 10]},
        HalvingRandomSearchCV,
    ),
    "dwp": (
        DeepWishartRegressor(n_inducing=20, max_iter=5, random_state=0),
        {"n_layers": [1, 2]},
        GridSearchCV,
    ),
    "dwp classifier": (
        DeepWishartClassifier(n_inducing=20, max_iter=5, random_state=0),
        {"n_layers": [1, 2]},
        GridSearchCV,
    ),
    # Its folds are tasks within the search's. A forest of several jobs, which a cluster would
    # give it, adds its trees up in the order in which they end.
    "stack": (
        StackingDistributionRegressor(
            [("udn", UDNRegressor(max_iter=3)), ("forest", RandomForestRegressor(5, n_jobs=1))],
            random_state=0,
        ),
        {"objective": ["log_score", "crps"]},
        GridSearchCV,
    ),
}


def data(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 5))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=150)
    return X, (y > 0).astype(int) if name.endswith("classifier") else y


def outcome(name):
    """Scores of all candidates, and predictions of the best."""
    model, grid, kind = CASES[name]
    pipe = make_pipeline(StandardScaler(), model)
    grid = {f"{pipe.steps[-1][0]}__{key}": values for key, values in grid.items()}
    halving = {"n_candidates": 2, "factor": 2, "min_resources": 70, "random_state": 0}
    search = kind(
        pipe,
        grid,
        cv=2,
        scoring="neg_log_loss" if name.endswith("classifier") else crps_scorer,
        **(halving if kind is HalvingRandomSearchCV else {}),
    ).fit(*data(name))
    predict = getattr(search, "predict_proba", search.predict)
    scores = search.cv_results_["mean_test_score"]
    return np.concatenate([scores, predict(data(name)[0]).ravel()])


@pytest.fixture(scope="module")
def expected():
    """Each outcome in this process, found once."""
    return {name: outcome(name) for name in CASES}


@pytest.fixture(scope="module")
def dask_client():
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_processes_and_threads_give_the_same(name, backend, expected):
    with parallel_config(backend=backend, n_jobs=2):
        np.testing.assert_array_equal(outcome(name), expected[name])


@pytest.mark.parametrize("name", CASES)
def test_a_cluster_gives_the_same(name, expected, dask_client):
    with parallel_config(backend="dask"):
        np.testing.assert_array_equal(outcome(name), expected[name])

"""Every estimator of the package, with settings that make a fit quick."""

from sklearn.linear_model import LinearRegression, Ridge

from skbayesnn import (
    DeepWishartClassifier,
    DeepWishartRegressor,
    EnsembleRegressor,
    SIPRegressor,
    StableNNRegressor,
    StableNNRegressorCV,
    StackingDistributionRegressor,
    UDNClassifier,
    UDNRegressor,
)

SHORT_CHAIN = {"n_chains": 1, "n_warmup": 20, "n_posterior_draws": 20}
CLASSIFIERS = [
    DeepWishartClassifier(max_iter=2, n_posterior_draws=5, random_state=0),
    UDNClassifier(max_iter=5, random_state=0),
]
REGRESSORS = [
    DeepWishartRegressor(max_iter=2, n_posterior_draws=5, random_state=0),
    EnsembleRegressor(UDNRegressor(max_iter=3), n_estimators=2, random_state=0),
    SIPRegressor(max_iter=3, n_draws=30, n_posterior_draws=50, random_state=0),
    StableNNRegressor(**SHORT_CHAIN, random_state=0),
    StableNNRegressorCV(alphas=(1.0,), nus=(1.0,), cv=2, **SHORT_CHAIN, random_state=0),
    StackingDistributionRegressor(
        [("ols", LinearRegression()), ("ridge", Ridge())], cv=2, random_state=0
    ),
    UDNRegressor(max_iter=5, random_state=0),
]


def name(estimator):
    """A short name for the test's report."""
    return type(estimator).__name__

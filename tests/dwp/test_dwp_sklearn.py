"""scikit-learn's own checks, whole."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn.dwp import DeepWishartRegressor


@parametrize_with_checks([DeepWishartRegressor(n_epochs=10)])
def test_sklearn(estimator, check):
    check(estimator)

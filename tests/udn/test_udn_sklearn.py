"""scikit-learn's own checks, whole."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn.udn import UDNClassifier, UDNRegressor


@parametrize_with_checks([UDNClassifier(max_iter=60), UDNRegressor(max_iter=60)])
def test_sklearn(estimator, check):
    check(estimator)

"""scikit-learn's own checks, whole."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn.sip import SIPRegressor


@parametrize_with_checks([SIPRegressor(max_iter=50, n_draws=50)])
def test_sklearn(estimator, check):
    check(estimator)

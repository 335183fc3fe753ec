"""scikit-learn's own checks, whole."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn.dwp import DeepWishartClassifier, DeepWishartRegressor

QUICK = {"max_iter": 10, "n_posterior_draws": 10}


@parametrize_with_checks([DeepWishartRegressor(**QUICK), DeepWishartClassifier(**QUICK)])
def test_sklearn(estimator, check):
    check(estimator)

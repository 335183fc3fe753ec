"""scikit-learn's own checks, whole."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn.dwp import DeepWishartRegressor

ROUNDING = (
    "The law is the same, but rounding grows over the steps: 3e-6, not 1e-7 (test_weights.py)."
)


@parametrize_with_checks(
    [DeepWishartRegressor(max_iter=10, n_posterior_draws=10)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": ROUNDING,
    },
)
def test_sklearn(estimator, check):
    check(estimator)

"""scikit-learn's own checks, whole."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn.sip import SIPRegressor

RANDOM = (
    "Weighted and repeated rows take different draws; test_weights_are_numbers_of_rows shows "
    "that they give the same fit within Monte Carlo error."
)


@parametrize_with_checks(
    [SIPRegressor(max_iter=30, n_draws=30)],
    expected_failed_checks=lambda _: {
        "check_sample_weight_equivalence_on_dense_data": RANDOM,
    },
)
def test_sklearn(estimator, check):
    check(estimator)

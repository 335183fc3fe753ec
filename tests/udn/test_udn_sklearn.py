"""scikit-learn's own checks, whole."""

import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayesnn.udn import UDNClassifier, UDNRegressor

RANDOM = "a row that stands for three is shuffled, batched and held out as one"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": RANDOM,
    "check_sample_weight_equivalence_on_sparse_data": RANDOM,
}


@parametrize_with_checks(
    [UDNClassifier(max_iter=40), UDNRegressor(max_iter=40)],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_sklearn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", [UDNClassifier, UDNRegressor])
def test_weights_are_routed_through_a_pipeline(model):
    X, y, weights = [[float(i)] for i in range(20)], [0, 1, 0, 1] * 5, [0.5, 1.0, 0.0, 0.5] * 5
    with sklearn.config_context(enable_metadata_routing=True):
        inner = model(max_iter=2, random_state=0).set_fit_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), inner).fit(
            X, y, sample_weight=weights
        )
    assert pipe[-1].n_samples_seen_ == sum(weights)

"""What SIPRegressor refuses, what it warns about, and hard data that it takes."""

import numpy as np
import pytest
from sip_models import SMALL, wave
from sklearn.exceptions import ConvergenceWarning

from skbayesnn._validation import InvalidParameterError
from skbayesnn.sip import SIPRegressor

HARD = {
    "unscaled": lambda X, y: (1e6 + 1e4 * X, y),
    "fewer rows than inducing points": lambda X, y: (X[:6], y[:6]),
    "two rows": lambda X, y: (X[:2], y[:2]),
    "each row five times": lambda X, y: (np.repeat(X[:20], 5, axis=0), np.repeat(y[:20], 5)),
    "all rows equal": lambda X, y: (np.ones((30, 1)), y[:30]),
    "constant target": lambda X, y: (X, np.full(len(y), 3.0)),
    "100 inputs": lambda X, y: (np.random.default_rng(0).normal(size=(len(y), 100)), y),
    "an outlier": lambda X, y: (X, np.where(np.arange(len(y)) == 3, 1e6, y)),
}


@pytest.mark.parametrize("case", HARD)
@pytest.mark.filterwarnings("ignore:The classifier is saturated", "ignore:y has 1 of 60 values")
def test_hard_data(case):
    X, y = HARD[case](*wave(60))
    model = SIPRegressor(**SMALL, max_iter=100, random_state=0).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
    assert np.isfinite(model.loss_curve_).all()
    assert np.isfinite(model.sample_y(X)).all()
    if case == "constant target":
        np.testing.assert_allclose(mean, 3, atol=0.3)


def test_a_saturated_classifier_warns():
    # Rows without noise and a large weight of the data: the posterior leaves the prior.
    X = np.linspace(-2, 2, 12)[:, None]
    y = np.sign(np.sin(40 * X[:, 0]))
    model = SIPRegressor(**SMALL, kl_weight=1e-6, learning_rate=0.02, max_iter=400, random_state=0)
    with pytest.warns(ConvergenceWarning, match="classifier is saturated"):
        model.fit(X, y)
    assert np.isfinite(model.loss_curve_).all()
    assert model.discriminator_loss_curve_[-1] < 0.01
    assert model.divergence_curve_[-1] > 12


@pytest.mark.filterwarnings("ignore:The classifier is saturated")
def test_diverging_rate_recovers_or_names_the_cause():
    X, y = wave(60)
    model = SIPRegressor(**SMALL, learning_rate=1e4, max_iter=20, random_state=0)
    with pytest.warns(ConvergenceWarning, match="made training diverge"):
        model.fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    with pytest.raises(FloatingPointError, match="learning_rate"):
        SIPRegressor(**SMALL, learning_rate=1e30, max_iter=20, random_state=0).fit(X, y)
    # With few epochs there are more cuts left than epochs to undo.
    with pytest.warns(ConvergenceWarning, match="made training diverge"):
        model = SIPRegressor(**SMALL, learning_rate=1e30, max_iter=2, random_state=0).fit(X, y)
    assert model.divergence_curve_ == []
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize(
    "wrong",
    [
        {"prior": "gp"},
        {"n_inducing": 0},
        {"n_draws": 1},
        {"alpha_divergence": 0.0},
        {"alpha_warmup": -0.1},
        {"total_samples": 0},
        {"kl_warmup": 1.5},
        {"learning_rate": 0.0},
        {"batch_size": 0.5},
        {"point_estimate": "mode"},
        {"tol": -1.0},
        {"normalize_y": "yes"},
    ],
)
def test_parameters_are_checked(wrong):
    X, y = wave(20)
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        SIPRegressor(**wrong).fit(X, y)


def test_an_extreme_input_is_refused():
    X, y = wave(30)
    X[3, 0] = 1e200
    with pytest.raises(ValueError, match="X has a standard deviation"):
        SIPRegressor(**SMALL, max_iter=3).fit(X, y)

"""`partial_fit`: streams, repeated rows, and batches that fail."""

import pickle

import numpy as np
import pytest
from sip_models import SMALL, wave

from skbayesnn.sip import SIPRegressor


def test_streams():
    model = SIPRegressor(**SMALL, random_state=0)
    for seed in range(120):
        model.partial_fit(*wave(300, seed))
    X, y = wave(300, 999)
    assert model.n_samples_seen_ == 36_000
    assert model.n_iter_ == 120
    assert model._inference.n_steps == 360
    assert len(model.loss_curve_) == 120
    assert model.score(X, y) > 0.9
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    for m in (model, other):
        m.partial_fit(X, y)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    size = len(pickle.dumps(model))
    for _ in range(3):
        model.partial_fit(X, y)
    assert len(pickle.dumps(model)) < size + 2000  # bounded memory


def test_passes_over_the_same_rows_count_once_if_asked():
    X, y = wave(60)
    divergences = []
    for total in (None, 60):
        model = SIPRegressor(**SMALL, max_iter=30, total_samples=total, random_state=0)
        for _ in range(60):
            model.partial_fit(X, y)
        assert model.n_samples_seen_ == 3600
        assert model._inference.n_total == (total or 3600)
        divergences.append(np.mean(model.divergence_curve_[-10:]))
    # Against 3600 rows the divergence hardly counts, and grows.
    assert divergences[1] < 0.8 * divergences[0]


def test_alpha_rises():
    X, y = wave(60)
    model = SIPRegressor(**SMALL, max_iter=100, alpha_divergence=0.8, random_state=0)
    seen = []
    for _ in range(3):
        model.partial_fit(X, y)
        seen.append(model._inference.model.alpha)
    # From a fifth of 0.8, 1/50 of the rest a step.
    np.testing.assert_allclose(seen, [0.8 * (0.2 + 0.8 * k / 50) for k in (1, 2, 3)])
    assert model.fit(X, y)._inference.model.alpha == 0.8


def test_a_bad_batch_leaves_the_model_unchanged():
    X, y = wave(300)
    model = SIPRegressor(**{**SMALL, "early_stopping": True}, max_iter=20, random_state=0).fit(X, y)
    assert model.gaussian_process_weight_ > 0
    before = model.predict(X)
    model._inference.settings.kl_weight = np.nan
    with pytest.raises(FloatingPointError, match="unchanged"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)
    model._inference.settings.kl_weight = 1.0
    assert np.isfinite(model.partial_fit(X, y).predict(X)).all()


def test_fit_forgets_and_partial_fit_goes_on():
    X, y = wave(60)
    model = SIPRegressor(**SMALL, max_iter=20, random_state=0)
    first = model.fit(X, y).predict(X)
    model.partial_fit(X, y)
    assert model.n_iter_ == 21
    assert model.n_samples_seen_ == 120
    np.testing.assert_array_equal(model.fit(X, y).predict(X), first)

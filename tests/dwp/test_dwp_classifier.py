"""The classifier: probabilities, attributes, guards, weights, and hard cases."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.callback import ScoringMonitor
from sklearn.datasets import make_moons
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV

from skbayesnn import DeepWishartClassifier
from skbayesnn._validation import InvalidParameterError


def quick(**options):
    """A model that is quick to fit."""
    defaults = {"max_iter": 60, "n_inducing": 15, "n_posterior_draws": 20, "random_state": 0}
    return DeepWishartClassifier(**{**defaults, **options})


def thirds(n=120, seed=0):
    """Three classes, by the angle of two inputs; a third does not matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    angle = np.arctan2(X[:, 1], X[:, 0]) / (2 * np.pi)
    return X, np.array(["b", "c", "a"])[np.floor(3 * angle).astype(int) % 3]


@pytest.fixture(scope="module")
def fitted():
    return quick(max_iter=100).fit(*thirds())


def test_predictions(fitted):
    X, y = thirds(300, seed=1)
    p = fitted.predict_proba(X)
    np.testing.assert_array_equal(fitted.predict_log_proba(X), np.log(p))
    assert list(fitted.classes_) == ["a", "b", "c"]
    assert p.shape == (300, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[p.argmax(axis=1)])
    assert fitted.score(X, y) > 0.85
    assert log_loss(y, p) < 0.45  # nothing learned: 1.10
    # Rows are predicted each by itself.
    np.testing.assert_allclose(fitted.predict_proba(X[5:6]), p[5:6], rtol=1e-9)


def test_attributes(fitted):
    assert len(fitted.loss_curve_) == fitted.n_iter_ == 100
    assert np.mean(fitted.loss_curve_[-10:]) < np.mean(fitted.loss_curve_[:10])
    assert fitted.feature_relevance_[2] < 0.1
    np.testing.assert_allclose(fitted.feature_relevance_.sum(), 1.0)
    assert fitted.inducing_inputs_.shape == (15, 3)
    assert isinstance(fitted.signal_variance_, float)
    assert not hasattr(fitted, "noise_variance_")
    assert fitted.n_samples_seen_ == 120
    assert fitted.n_features_in_ == 3


@pytest.mark.parametrize("n_layers", [0, 2])
def test_as_good_as_laplace(n_layers):
    X, y = make_moons(300, noise=0.25, random_state=0)
    new, truth = make_moons(1000, noise=0.25, random_state=1)
    peer = GaussianProcessClassifier(1.0 * RBF()).fit(X, y)
    model = quick(n_layers=n_layers, n_inducing=40, max_iter=100).fit(X, y)
    own = log_loss(truth, model.predict_proba(new))
    assert own < log_loss(truth, peer.predict_proba(new)) + 0.01


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_copies(n_classes):
    X, y = thirds(40)
    if n_classes == 2:
        y = y == "a"
    counts = np.random.default_rng(0).integers(0, 4, size=40)
    again = np.repeat(np.arange(40), counts)
    weighted = quick(max_iter=20).fit(X, y, sample_weight=counts).predict_proba(X)
    copied = quick(max_iter=20).fit(X[again], y[again]).predict_proba(X)
    # Rounding, which twenty steps of training magnify.
    np.testing.assert_allclose(weighted, copied, atol=1e-4)
    plain = quick(max_iter=20).fit(X, y).predict_proba(X)
    assert np.abs(weighted - plain).max() > 0.03


def test_a_single_class_is_certain():
    X, _ = thirds(20)
    model = quick().fit(X, np.full(20, "only"))
    np.testing.assert_array_equal(model.predict_proba(X), 1.0)
    assert set(model.predict(X)) == {"only"}


def test_early_stopping_holds_rows_out():
    X, y = thirds()
    model = quick(early_stopping=True, n_iter_no_change=10, max_iter=100).fit(X, y)
    assert model.validation_scores_
    assert model.n_samples_seen_ == 108
    assert model.score(X, y) > 0.8


def test_callbacks_see_labels_and_predict():
    X, y = thirds(60)
    monitor = ScoringMonitor(scoring="neg_log_loss")
    quick(max_iter=5).set_callbacks(monitor).fit(X, y)
    scores = monitor.get_logs().data_as_pandas["neg_log_loss"]
    assert len(scores) >= 5
    assert scores.nunique() >= 5  # the estimator it sees changes with every epoch


def test_frames_pickles_and_searches():
    X, y = thirds(60)
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    model = quick(max_iter=10).fit(frame, pd.Series(y))
    assert list(model.feature_names_in_) == ["u", "v", "w"]
    p = model.predict_proba(frame)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(frame), p)
    np.testing.assert_array_equal(quick(max_iter=10).fit(X, y).predict_proba(X), p)
    grid = {"n_layers": [0, 1]}
    search = GridSearchCV(quick(max_iter=5), grid, scoring="neg_log_loss", cv=2, n_jobs=2)
    assert np.isfinite(search.fit(frame, y).best_score_)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_few_rows(n_rows):
    X, y = thirds(n_rows)
    p = quick().fit(X, y).predict_proba(thirds(10)[0])
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_awkward_tables():
    X, y = thirds(40)
    X[:, 2] = 7.0  # a constant column
    twice = np.vstack([X, X]), np.concatenate([y, y[::-1]])  # equal rows of different labels
    p = quick().fit(*twice).predict_proba(X)
    assert np.isfinite(p).all()
    single = quick(max_iter=5).fit(X.astype(np.float32), y).predict_proba(X.astype(np.float32))
    assert single.dtype == np.float64
    listed = quick(max_iter=5).fit(X.tolist(), y.tolist()).predict(X.tolist())
    np.testing.assert_array_equal(listed, quick(max_iter=5).fit(X, y).predict(X))


def test_errors_name_the_cause():
    X, y = thirds(20)
    with pytest.raises(InvalidParameterError, match="'n_layers'"):
        quick(n_layers=-1).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        quick().fit(np.where(X > 1, np.nan, X), y)
    with pytest.raises(ValueError, match="Unknown label type"):
        quick().fit(X, np.random.default_rng(0).normal(size=20))
    model = quick(max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="3 features"):
        model.predict_proba(X[:, :2])


def test_labels_that_inputs_say_nothing_of_have_their_frequencies():
    """With a prior mean of zero the log loss was 0.03 above that of the frequencies."""
    rng = np.random.default_rng(0)
    shares = np.array([0.6, 0.3, 0.1])
    X, y = rng.normal(size=(1500, 4)), rng.choice(3, 1500, p=shares)
    p = DeepWishartClassifier(random_state=0).fit(X[:1000], y[:1000]).predict_proba(X[1000:])
    # In expectation over labels, so that only what was learned counts.
    divergence = -(shares @ np.log(p).T).mean() + shares @ np.log(shares)
    assert divergence < 0.01

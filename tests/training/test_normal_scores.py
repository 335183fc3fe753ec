"""Normal scores: against scikit-learn's, their inverse, and what two models make of them."""

import numpy as np
from sklearn.preprocessing import QuantileTransformer

from skbayesnn import DeepWishartClassifier
from skbayesnn.training.normal_scores import NormalScores, heavy_columns


def test_normal_scores(rng):
    X = rng.exponential(size=(400, 2)) ** 2
    X[:, 1] = 7.0
    scores = NormalScores(X, np.ones(400))
    found = scores(X)
    np.testing.assert_allclose(found[:, 0].mean(), 0, atol=1e-9)
    np.testing.assert_allclose(found[:, 0].std(), 1)
    np.testing.assert_array_equal(found[:, 1], 0)
    theirs = QuantileTransformer(n_quantiles=400, output_distribution="normal").fit_transform(X)
    inside = np.abs(theirs[:, 0]) < 2
    assert np.corrcoef(found[inside, 0], theirs[inside, 0])[0, 1] > 0.9999
    far = scores(np.array([[1e3, 8.0], [1e4, 8.0]]))
    assert far[1, 0] > far[0, 0] > found[:, 0].max()
    np.testing.assert_array_equal(far[:, 1], 1)
    # Weights are copies.
    weights = rng.integers(1, 4, 400)
    copies = NormalScores(np.repeat(X, weights, axis=0), np.ones(weights.sum()))
    np.testing.assert_allclose(NormalScores(X, weights)(X), copies(X), atol=1e-9)


def test_inverse_scores_are_the_values(rng):
    X = rng.standard_t(2, size=(1500, 3))
    X[:, 1] = 7.0
    scores = NormalScores(X, np.ones(1500), np.array([0, 1]))
    new = np.vstack([X[:50], [[40.0, 8.0, 0.0], [-1e3, 7.0, 2.0]]])
    np.testing.assert_array_equal(scores(new)[:, 2], new[:, 2])
    np.testing.assert_allclose(scores.inverse(scores(new)), new, rtol=1e-9, atol=1e-9)


def test_heavy_tails_are_those_of_a_kurtosis_above_ten(rng):
    X = np.column_stack([rng.normal(size=2000), rng.exponential(size=2000), rng.normal(size=2000)])
    X[0, 2] = 15.0
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kurtosis = (X**4).mean(axis=0)
    np.testing.assert_array_equal(heavy_columns(X, np.ones(2000)), np.flatnonzero(kurtosis > 10))
    assert 2 in heavy_columns(X, np.ones(2000))
    rare = (np.arange(2000) < 20) / np.sqrt(0.01 * 0.99)
    assert heavy_columns((rare - rare.mean())[:, None], np.ones(2000)).size == 0
    np.testing.assert_allclose(
        NormalScores(rare[:, None], np.ones(2000))(rare[:, None])[:, 0], rare - rare.mean()
    )
    # Weights are copies.
    weights = rng.integers(1, 4, 2000)
    copies = np.repeat(X, weights, axis=0)
    np.testing.assert_array_equal(
        heavy_columns(X, weights), heavy_columns(copies, np.ones(len(copies)))
    )


def test_classes_do_not_depend_on_the_scale_of_heavy_tails(rng):
    """Any increasing function of a column with heavy tails gives the same scores."""
    Z = rng.normal(size=(80, 2))
    y = (Z[:, 0] + Z[:, 1] + 0.5 * rng.normal(size=80) > 0).astype(int)
    found = []
    for power in (2.5, 3.0):
        X = Z.copy()
        X[:, 0] = np.exp(power * Z[:, 0])
        assert (heavy_columns((X - X.mean(axis=0)) / X.std(axis=0), np.ones(80)) == [0]).all()
        model = DeepWishartClassifier(max_iter=40, n_posterior_draws=20, random_state=0).fit(X, y)
        found.append(model.predict_proba(X))
        assert np.isfinite(model.inducing_inputs_).all()
        assert (model.inducing_inputs_[:, 0] > X[:, 0].min() - 10 * X[:, 0].std()).all()
    np.testing.assert_allclose(*found, atol=1e-6)

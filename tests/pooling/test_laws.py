"""What a member of a stack predicts as a distribution, against known laws."""

import numpy as np
from quantiles import Quantiles
from scipy import stats

from skbayesnn.pooling.laws import LEVELS, ErrorLaw, MemberLaw, TargetSpread


def test_a_density_from_quantiles_is_close_to_the_density():
    X, y = np.zeros((2000, 1)), np.random.default_rng(0).normal(size=2000)
    law = MemberLaw(Quantiles().fit(X, y), TargetSpread(y)).predict_distribution(X)
    # Kernels by Silverman's rule for a tenth of the rows, 200, add their variance; a hundred
    # quantiles in place of the law cost some per cent in the tails.
    wider = stats.norm(scale=np.sqrt(1.0 + (0.9 * 200**-0.2) ** 2))
    points = np.linspace(-2, 2, 9)
    density = np.exp(law[:1].logpdf(points[None]))[0]
    np.testing.assert_allclose(density, wider.pdf(points), rtol=0.08)
    assert stats.norm.logpdf(y).mean() - 0.02 < law.logpdf(y).mean() < stats.norm.logpdf(y).mean()


def test_errors_that_grow_with_the_prediction_are_followed():
    rng = np.random.default_rng(0)
    predictions = rng.uniform(1, 3, 5000)
    law = ErrorLaw(predictions, predictions * rng.standard_t(5, 5000))
    points = np.array([[1.3], [2.7]])
    # The scale is a mean of 500 absolute errors, right to about 5 %.
    errors = law.values(points[:, 0])[:, [5, 94]] - points
    np.testing.assert_allclose(errors, points * stats.t.ppf(LEVELS[[5, 94]], 5), rtol=0.15)


def test_errors_of_weighted_rows_count_as_often():
    """Of one group of rows: with more groups, repeated rows move the borders between them."""
    rng = np.random.default_rng(0)
    predictions, errors = rng.normal(size=(2, 30))
    counts = rng.integers(1, 4, 30)[:15]
    law = ErrorLaw(predictions[:15], errors[:15], counts.astype(float))
    copied = ErrorLaw(np.repeat(predictions[:15], counts), np.repeat(errors[:15], counts))
    assert law.n_errors == copied.n_errors
    np.testing.assert_allclose(law.values(predictions), copied.values(predictions), rtol=1e-12)


def test_a_constant_has_one_unit_whatever_rounding_leaves():
    for value in (0.1, 0.5, -1e8 / 3):
        assert TargetSpread(np.full(30, value)).std == 1.0
        assert TargetSpread(np.full(30, value), np.full(30, 0.3)).std == 1.0
